//! The CPU: fused kernels on chunks of 64 rows, threads over blocks of chunks.
//!
//! Everything that touches rows is cut at fixed boundaries (chunks of 64 rows, grouped into blocks by a rule that knows the
//! number of rows only), and partial sums are added in order. So the number of threads never changes a bit.
//!
//! | file | subject |
//! |---|---|
//! | `workspace.rs` | buffers of one thread: transformed rows, outputs, residuals |
//! | `predict.rs` | outputs, losses, random features |
//! | `gradient.rs` | gradients of batches and of whole samples |
//! | `epoch.rs` | mini-batches of descent |
//! | `slopes.rs` | derivatives along the columns, and their outer products (AGOP) |
//! | `gram.rs` | Gram matrices of designs |

mod epoch;
mod gradient;
mod gram;
mod predict;
mod slopes;
#[cfg(test)]
mod tests;
mod workspace;

use rayon::prelude::*;

use super::{Backend, GradientBuffers, MAX_BLOCKS, MAX_SPECTRUM_BLOCKS};
use crate::features::{FeatureMap, Network};
use crate::fold::{Fold, block_rows, fold};
use crate::problem::{Columns, Problem};
use crate::ridge::{Design, Gram, Moments};
use crate::simd::{self, CHUNK, Path};
use crate::solver::descent::DescentState;
use epoch::epoch;
use gradient::gradient;
use gram::{DesignProducts, add_products};
use predict::{Losses, write_design};
use slopes::{OuterSlopes, SquaredSlopes};
use workspace::with_workspace;

/// The processor's vector units, chosen once.
pub(crate) struct Cpu {
    path: Path,
}

impl Cpu {
    pub(crate) fn new() -> Self {
        Self { path: simd::path() }
    }

    /// Hands over the cosines of each row (without a factor), and the number of the row among the given ones. At most a
    /// chunk of rows.
    pub(crate) fn features(
        &self,
        columns: Columns<'_>,
        map: &FeatureMap,
        theta: &[f32],
        rows: &[usize],
        mut take: impl FnMut(usize, &[f32]),
    ) {
        let (s, padded) = (map.features(), map.padded());
        with_workspace(|w| {
            w.gather(self.path, columns, map, theta, rows);
            w.outputs.resize(rows.len() * padded, 0.0);
            simd::features(self.path, &map.packed, &w.scaled, rows.len(), &mut w.outputs);
            w.outputs.chunks_exact(padded).enumerate().for_each(|(row, cosines)| take(row, &cosines[..s]));
        });
    }
}

impl Backend for Cpu {
    fn outputs(&self, columns: Columns<'_>, network: Network<'_>, rows: &[usize]) -> Vec<f32> {
        let k = network.outputs();
        let mut all = vec![0.0; rows.len() * k];
        all.par_chunks_mut(CHUNK * k).zip(rows.par_chunks(CHUNK)).for_each(|(out, rows)| {
            with_workspace(|w| {
                w.predict(self.path, columns, network, rows);
                out.copy_from_slice(&w.outputs);
            });
        });
        all
    }

    fn mean_loss(&self, problem: &Problem<'_>, network: Network<'_>, rows: &[usize]) -> f64 {
        let losses = Losses { path: self.path, problem, network };
        let mut total = losses.empty();
        fold(&losses, &mut total, rows, CHUNK);
        total.0 / total.1
    }

    fn gradient(
        &self,
        problem: &Problem<'_>,
        network: Network<'_>,
        rows: &[usize],
        buffers: &mut GradientBuffers,
    ) -> f64 {
        gradient(self.path, problem, network, rows, buffers)
    }

    fn epoch(&self, state: &mut DescentState<'_>, order: &[usize]) -> f64 {
        epoch(self.path, state, order)
    }

    fn design(
        &self,
        columns: Columns<'_>,
        design: &Design<'_>,
        rows: &[usize],
        stride: usize,
        z: &mut [f32],
    ) {
        z.par_chunks_mut(CHUNK * stride)
            .zip(rows.par_chunks(CHUNK))
            .for_each(|(z, rows)| write_design(self, columns, design, rows, z));
    }

    fn moments(
        &self,
        problem: &Problem<'_>,
        design: &Design<'_>,
        rows: &[usize],
        curvature: Option<&[f32]>,
    ) -> Moments {
        let products = DesignProducts { cpu: self, problem, design, curvature };
        let mut total = products.empty();
        products.add(&mut total, rows);
        Moments::new(total, rows.len(), design.columns())
    }

    fn add_gram(&self, gram: &mut Gram, z: &[f32]) {
        add_products(self.path, gram, z);
    }

    fn squared_slopes(
        &self,
        columns: Columns<'_>,
        networks: &[Network<'_>],
        rows: &[usize],
        weight: &(dyn Fn(usize) -> f32 + Sync),
    ) -> Vec<f64> {
        let slopes = SquaredSlopes { path: self.path, columns, networks, weight };
        let mut total = slopes.empty();
        fold(&slopes, &mut total, rows, block_rows(rows.len(), MAX_BLOCKS));
        total.0.iter().map(|sum| sum / total.1).collect()
    }

    fn agop(&self, problem: &Problem<'_>, network: Network<'_>, rows: &[usize]) -> Vec<f64> {
        let mass = rows.iter().map(|&i| problem.weight(i) as f64).sum();
        let outer = OuterSlopes { path: self.path, problem, network, mass };
        let mut total = outer.empty();
        fold(&outer, &mut total, rows, block_rows(rows.len(), MAX_SPECTRUM_BLOCKS));
        total
    }
}
