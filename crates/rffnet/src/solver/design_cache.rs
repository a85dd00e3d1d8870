//! The cached design matrix: while the head of a classifier is optimised, its features are computed once, not at every
//! step.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::backend::MAX_BLOCKS;
use crate::fold::block_rows;
use crate::loss::LossRows;
use crate::problem::Problem;
use crate::ridge::{Design, DualForm};
use crate::simd;

/// A larger design is computed anew at every step.
const MOST_BYTES: usize = 256 << 20;

/// Numbers of the design whose rows' outputs are computed before their losses: they stay in the first-level cache.
const CACHED: usize = 8192;

pub(crate) struct DesignCache<'a> {
    /// `rows x columns`.
    z: Cow<'a, [f32]>,
    columns: usize,
}

impl<'a> DesignCache<'a> {
    /// `None` if it would be too large.
    pub(crate) fn new(problem: &Problem<'_>, rows: &[usize], design: &Design<'_>) -> Option<Self> {
        let columns = design.columns();
        let fits = 4 * rows.len() * columns <= MOST_BYTES;
        fits.then(|| Self { z: design.rows(problem, rows).into(), columns })
    }

    /// In the coordinates of the dual form.
    pub(crate) fn of(dual: &'a DualForm) -> Self {
        Self { z: (&dual.design).into(), columns: dual.columns() }
    }

    /// `outputs` numbers a row.
    pub(crate) fn outputs(&self, coefficients: &[f64], outputs: usize) -> Vec<f32> {
        let heads: Vec<f32> = coefficients.iter().map(|&v| v as f32).collect();
        let mut f = vec![0.0; self.z.len() / self.columns * outputs];
        simd::dense_outputs(simd::path(), &self.z, self.columns, &heads, &mut f);
        f
    }

    /// Mean loss over the rows, and its gradient by the coefficients.
    pub(crate) fn gradient(
        &self,
        problem: &Problem<'_>,
        rows: &[usize],
        coefficients: &[f64],
    ) -> (f64, Vec<f64>) {
        let (m, k, width, path) = (self.columns, problem.outputs, problem.width, simd::path());
        let factor = 1.0 / rows.len() as f64;
        let heads: Vec<f32> = coefficients.iter().map(|&v| v as f32).collect();
        let block = block_rows(rows.len(), MAX_BLOCKS);
        let parts: Vec<(f64, Vec<f32>)> = self
            .z
            .par_chunks(block * m)
            .zip(rows.par_chunks(block))
            .map(|(z, rows)| {
                let (mut loss, mut gradient) = (0.0, vec![0.0f32; k * m]);
                let some = (CACHED / m).clamp(8, 64);
                let mut buffer = vec![0.0; some * (width + 1 + 2 * k)];
                let (y, rest) = buffer.split_at_mut(some * width);
                let (weight, rest) = rest.split_at_mut(some);
                let (f, residual) = rest.split_at_mut(some * k);
                for (z, rows) in z.chunks(some * m).zip(rows.chunks(some)) {
                    let n = rows.len();
                    for ((&i, y), weight) in rows.iter().zip(y.chunks_exact_mut(width)).zip(&mut *weight) {
                        y.copy_from_slice(problem.target(i));
                        *weight = problem.weight(i);
                    }
                    simd::dense_outputs(path, z, m, &heads, &mut f[..n * k]);
                    let block = LossRows {
                        y: &y[..n * width],
                        f: &f[..n * k],
                        weight: &weight[..n],
                        factor,
                        outputs: k,
                        gradient: &mut residual[..n * k],
                    };
                    problem.loss.block(block, &mut loss);
                    simd::dense_gradient(path, z, m, &residual[..n * k], &mut gradient);
                }
                (loss, gradient)
            })
            .collect();
        let mut total = vec![0.0; k * m];
        for (_, part) in &parts {
            total.iter_mut().zip(part).for_each(|(t, &g)| *t += g as f64);
        }
        (factor * parts.iter().map(|p| p.0).sum::<f64>(), total)
    }
}
