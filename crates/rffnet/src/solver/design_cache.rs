//! The design of a head, kept in memory while the head of a classifier is sought: its features are computed once, not at
//! every step.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::features::{FeatureMap, MAX_SLOTS, Problem, RowScratch, dot, slot_rows};
use crate::ridge::{Design, Span};

/// A larger design is computed anew at every step.
const MOST_BYTES: usize = 256 << 20;

pub(crate) struct Kept<'a> {
    /// `rows x columns`.
    z: Cow<'a, [f32]>,
    columns: usize,
}

impl<'a> Kept<'a> {
    /// `None` if it would be too large.
    pub(crate) fn new(
        problem: &Problem<'_>,
        map: &FeatureMap,
        theta: &[f32],
        rows: &[usize],
        shape: Design,
    ) -> Option<Self> {
        let columns = shape.columns();
        if 4 * rows.len() * columns > MOST_BYTES {
            return None;
        }
        let mut z = vec![0.0; rows.len() * columns];
        shape.write(problem, map, theta, rows, columns, &mut z);
        Some(Self { z: z.into(), columns })
    }

    /// In the coordinates of the rows' span.
    pub(crate) fn of(span: &'a Span) -> Self {
        Self { z: (&span.design).into(), columns: span.columns() }
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
        let slot = slot_rows(rows.len(), MAX_SLOTS);
        let parts: Vec<(f64, Vec<f32>)> = self
            .z
            .par_chunks(slot * m)
            .zip(rows.par_chunks(slot))
            .map(|(z, rows)| {
                let (mut loss, mut gradient) = (0.0, vec![0.0f32; k * m]);
                let (mut f, mut residual) = (vec![0.0; k], vec![0.0; k]);
                let mut scratch = RowScratch::default();
                for (z, &i) in z.chunks_exact(m).zip(rows) {
                    f.iter_mut().zip(b.chunks_exact(m)).for_each(|(f, b)| *f = dot(z, b));
                    loss += problem.row_loss(i, &f, factor, &mut scratch, &mut residual);
                    for (gradient, &r) in gradient.chunks_exact_mut(m).zip(&residual) {
                        gradient.iter_mut().zip(z).for_each(|(g, z)| *g += r * z);
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
