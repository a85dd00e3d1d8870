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

use super::{Backend, GradientBuffers};
use crate::features::{FeatureMap, Network};
use crate::problem::{Columns, Problem};
use crate::ridge::{Design, Gram, Moments};
use crate::simd::{self, Path};
use crate::solver::descent::DescentState;

pub(crate) use workspace::dot;

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
        take: impl FnMut(usize, &[f32]),
    ) {
        predict::features(self.path, columns, map, theta, rows, take);
    }
}

impl Backend for Cpu {
    fn outputs(&self, columns: Columns<'_>, network: Network<'_>, rows: &[usize]) -> Vec<f32> {
        predict::outputs(self.path, columns, network, rows)
    }

    fn mean_loss(&self, problem: &Problem<'_>, network: Network<'_>, rows: &[usize]) -> f64 {
        predict::mean_loss(self.path, problem, network, rows)
    }

    fn gradient(
        &self,
        problem: &Problem<'_>,
        network: Network<'_>,
        rows: &[usize],
        buffers: &mut GradientBuffers,
    ) -> f64 {
        gradient::gradient(self.path, problem, network, rows, buffers)
    }

    fn epoch(&self, state: &mut DescentState<'_>, order: &[usize]) -> f64 {
        epoch::epoch(self.path, state, order)
    }

    fn design(
        &self,
        columns: Columns<'_>,
        design: &Design<'_>,
        rows: &[usize],
        stride: usize,
        z: &mut [f32],
    ) {
        predict::design(self.path, columns, design, rows, stride, z);
    }

    fn moments(
        &self,
        problem: &Problem<'_>,
        design: &Design<'_>,
        rows: &[usize],
        curvature: Option<&[f32]>,
    ) -> Moments {
        gram::moments(self, problem, design, rows, curvature)
    }

    fn add_gram(&self, gram: &mut Gram, z: &[f32]) {
        gram::add(self.path, gram, z);
    }

    fn squared_slopes(
        &self,
        columns: Columns<'_>,
        networks: &[Network<'_>],
        rows: &[usize],
        weight: &(dyn Fn(usize) -> f32 + Sync),
    ) -> Vec<f64> {
        slopes::squared_slopes(self.path, columns, networks, rows, weight)
    }

    fn agop(&self, problem: &Problem<'_>, network: Network<'_>, rows: &[usize]) -> Vec<f64> {
        slopes::agop(self.path, problem, network, rows)
    }
}
