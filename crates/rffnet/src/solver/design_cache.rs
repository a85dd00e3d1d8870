//! The cached design matrix: while the head of a classifier is optimised, its features are computed once, not at every
//! step.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::backend::{MAX_BLOCKS, dot};
use crate::fold::block_rows;
use crate::loss::LossRows;
use crate::problem::Problem;
use crate::ridge::{Design, DualForm};

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
        let b: Vec<f32> = coefficients.iter().map(|&v| v as f32).collect();
        let heads = b.chunks_exact(b.len() / outputs);
        self.z.chunks_exact(self.columns).flat_map(|z| heads.clone().map(|b| dot(z, b))).collect()
    }

    /// Mean loss over the rows, and its gradient by the coefficients.
    pub(crate) fn gradient(
        &self,
        problem: &Problem<'_>,
        rows: &[usize],
        coefficients: &[f64],
    ) -> (f64, Vec<f64>) {
        let (m, k) = (self.columns, problem.outputs);
        let factor = 1.0 / rows.len() as f64;
        let b: Vec<f32> = coefficients.iter().map(|&v| v as f32).collect();
        let block = block_rows(rows.len(), MAX_BLOCKS);
        let parts: Vec<(f64, Vec<f32>)> = self
            .z
            .par_chunks(block * m)
            .zip(rows.par_chunks(block))
            .map(|(z, rows)| {
                let (mut loss, mut gradient) = (0.0, vec![0.0f32; k * m]);
                let some = (CACHED / m).clamp(8, 64);
                let mut residual = vec![0.0; some * k];
                for (z, rows) in z.chunks(some * m).zip(rows.chunks(some)) {
                    let heads = b.chunks_exact(m);
                    let f: Vec<f32> =
                        z.chunks_exact(m).flat_map(|z| heads.clone().map(|b| dot(z, b))).collect();
                    let residual = &mut residual[..f.len()];
                    let block = LossRows {
                        y: &problem.targets(rows),
                        f: &f,
                        weight: &problem.weights(rows),
                        factor,
                        outputs: k,
                        gradient: residual,
                    };
                    problem.loss.block(block, &mut loss);
                    for (z, residual) in z.chunks_exact(m).zip(residual.chunks_exact(k)) {
                        for (gradient, &r) in gradient.chunks_exact_mut(m).zip(residual) {
                            gradient.iter_mut().zip(z).for_each(|(g, z)| *g += r * z);
                        }
                    }
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
