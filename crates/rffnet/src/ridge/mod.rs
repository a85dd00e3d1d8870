//! Normal equations of the exact head: the Gram matrix of its design, and its Cholesky factor.
//!
//! The design has a column per random feature, per linear term, and one for the intercept. Targets stand behind them,
//! so that one symmetric product gives every moment. Blocks of rows are multiplied in f32 and added in f64.

use std::ops::Range;

use rayon::prelude::*;

use crate::features::{FeatureMap, Problem, Weights, design};
use crate::simd::{self, GramScratch, gram_ranges};

/// Rows whose design is in memory at a time.
const BLOCK: usize = 1024;

/// Linear terms beside the features: none, or all columns, times a factor. The larger it is the less they are penalised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Linear(pub(crate) f64);

impl From<bool> for Linear {
    fn from(wanted: bool) -> Self {
        Self(f64::from(wanted))
    }
}

/// How the columns of the design are scaled against one penalty: sqrt(2/s) for cosines, 1/sqrt(d) times their factor for
/// linear terms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Design {
    features: usize,
    /// Linear terms: all columns, or none.
    linear: usize,
    factor: f64,
    padded: usize,
}

impl Design {
    pub(crate) fn new(map: &FeatureMap, Linear(factor): Linear) -> Self {
        Self {
            features: map.features(),
            linear: if factor > 0.0 { map.columns() } else { 0 },
            factor,
            padded: map.padded(),
        }
    }

    /// Columns, the intercept's included.
    pub(crate) fn columns(&self) -> usize {
        self.features + self.linear + 1
    }

    pub(crate) fn cosine(&self) -> f64 {
        (2.0 / self.features as f64).sqrt()
    }

    pub(crate) fn slope(&self) -> f64 {
        if self.linear == 0 { 0.0 } else { self.factor / (self.linear as f64).sqrt() }
    }

    /// Sets head, linear terms and intercept from coefficients, `outputs` vectors of `columns()`.
    pub(crate) fn apply(&self, coefficients: &[f64], weights: &mut Weights) {
        self.make_room(weights);
        for (c, b) in coefficients.chunks_exact(self.columns()).enumerate() {
            let (cosines, rest) = b.split_at(self.features);
            let beta = &mut weights.beta[c * self.padded..][..self.features];
            beta.iter_mut().zip(cosines).for_each(|(w, b)| *w = (b * self.cosine()) as f32);
            let linear = &mut weights.linear[c * self.linear..][..self.linear];
            linear.iter_mut().zip(rest).for_each(|(w, b)| *w = (b * self.slope()) as f32);
            weights.intercept[c] = rest[self.linear] as f32;
        }
    }

    /// Linear terms where the design has them.
    pub(crate) fn make_room(&self, weights: &mut Weights) {
        weights.linear.resize(weights.intercept.len() * self.linear, 0.0);
    }

    /// Writes rows of the design, `stride` from one to the next.
    pub(crate) fn write(
        &self,
        problem: &Problem<'_>,
        map: &FeatureMap,
        theta: &[f32],
        rows: &[usize],
        stride: usize,
        z: &mut [f32],
    ) {
        let (cosine, slope) = (self.cosine() as f32, self.slope() as f32);
        design(problem.x, &problem.scale, map, theta, rows, cosine, slope, stride, z);
    }

    /// A gradient by the weights, as a gradient by the coefficients.
    pub(crate) fn pull_back(&self, gradient: &Weights) -> Vec<f64> {
        let k = gradient.intercept.len();
        let mut out = Vec::with_capacity(k * self.columns());
        for c in 0..k {
            let beta = &gradient.beta[c * self.padded..][..self.features];
            out.extend(beta.iter().map(|&g| g as f64 * self.cosine()));
            let linear = &gradient.linear[c * self.linear..][..self.linear];
            out.extend(linear.iter().map(|&g| g as f64 * self.slope()));
            out.push(gradient.intercept[c] as f64);
        }
        out
    }

    /// The penalty's value.
    pub(crate) fn penalty(&self, coefficients: &[f64], alpha: f64) -> f64 {
        penalty(coefficients, self.columns(), alpha)
    }
}

/// The penalty of coefficients, vectors of `columns` each: the intercept, the last one, is free.
pub(crate) fn penalty(coefficients: &[f64], columns: usize, alpha: f64) -> f64 {
    alpha * coefficients.chunks_exact(columns).flat_map(|b| &b[..columns - 1]).map(|b| b * b).sum::<f64>()
}

/// Means over rows: `Z'WZ / n`, targets included.
#[derive(Clone)]
pub(crate) struct Moments {
    rows: usize,
    columns: usize,
    targets: usize,
    /// `(columns + targets)` squared, lower triangle, row-major.
    gram: Vec<f64>,
}

impl Moments {
    /// Moments of design and targets over the rows; each row weighs its own weight times `curvature` (1 without). With
    /// `curvature`, targets are left out.
    pub(crate) fn new(
        problem: &Problem<'_>,
        map: &FeatureMap,
        theta: &[f32],
        rows: &[usize],
        linear: Linear,
        curvature: Option<&[f32]>,
    ) -> Self {
        let shape = Design::new(map, linear);
        Self::of(problem, rows, shape.columns(), curvature, |_, rows, stride, z| {
            shape.write(problem, map, theta, rows, stride, z);
        })
    }

    /// The same for a design that `write` writes: rows from a number on, each `stride` long.
    pub(crate) fn of(
        problem: &Problem<'_>,
        rows: &[usize],
        columns: usize,
        curvature: Option<&[f32]>,
        write: impl Fn(usize, &[usize], usize, &mut [f32]),
    ) -> Self {
        let targets = if curvature.is_some() { 0 } else { problem.outputs };
        let m = columns + targets;
        let mut sums = Sums::new(m);
        let mut z = vec![0.0; BLOCK.min(rows.len()) * m];
        for (b, rows) in rows.chunks(BLOCK).enumerate() {
            let z = &mut z[..rows.len() * m];
            write(b * BLOCK, rows, m, z);
            for (at, (row, &i)) in z.chunks_exact_mut(m).zip(rows).enumerate() {
                if targets > 0 {
                    row[columns..].copy_from_slice(problem.target(i));
                }
                let weight = problem.weight(i);
                let root = (weight * curvature.map_or(1.0, |h| h[b * BLOCK + at])).sqrt();
                if root != 1.0 {
                    row.iter_mut().for_each(|z| *z *= root);
                }
            }
            sums.add(z);
        }
        let count = rows.len() as f64;
        let mut gram = sums.gram;
        gram.iter_mut().for_each(|g| *g /= count);
        Self { rows: rows.len(), columns, targets, gram }
    }

    /// Moments of both sets of rows together.
    pub(crate) fn merged(&self, other: &Self) -> Self {
        let (a, b) = (self.rows as f64, other.rows as f64);
        let mean = |(x, y): (&f64, &f64)| (a * x + b * y) / (a + b);
        let gram = self.gram.iter().zip(&other.gram).map(mean).collect();
        Self { rows: self.rows + other.rows, gram, ..*self }
    }

    /// `Z'Wy / n`, one vector per target.
    pub(crate) fn cross(&self) -> Vec<f64> {
        let m = self.columns + self.targets;
        (self.columns..m).flat_map(|a| &self.gram[a * m..a * m + self.columns]).copied().collect()
    }

    /// The coefficients of the ridge regression on these moments, one vector per target.
    pub(crate) fn ridge(&self, alpha: f64) -> Vec<f64> {
        let mut coefficients = self.cross();
        self.factor(alpha).solve(&mut coefficients);
        coefficients
    }

    /// The factor of `Z'WZ / n + alpha I`, the intercept's diagonal left free.
    pub(crate) fn factor(&self, alpha: f64) -> Factor {
        let (n, m) = (self.columns, self.columns + self.targets);
        let free = 1e-9 * self.gram[(n - 1) * m + n - 1];
        Factor::new(&self.gram, n, m, |a| if a + 1 == n { free } else { alpha })
    }
}

/// Sums of products of columns: blocks of rows are multiplied in f32 and added in f64. Threads share the rows of the
/// output, so that their number does not change a sum.
struct Sums {
    columns: usize,
    gram: Vec<f64>,
    ranges: Vec<(Range<usize>, GramScratch)>,
}

impl Sums {
    fn new(columns: usize) -> Self {
        let ranges = gram_ranges(columns, rayon::current_num_threads());
        Self {
            columns,
            gram: vec![0.0; columns * columns],
            ranges: ranges.into_iter().map(|range| (range, GramScratch::default())).collect(),
        }
    }

    fn add(&mut self, z: &[f32]) {
        let (path, m) = (simd::path(), self.columns);
        let mut parts = Vec::with_capacity(self.ranges.len());
        let mut rest = self.gram.as_mut_slice();
        for (range, scratch) in &mut self.ranges {
            let (part, tail) = rest.split_at_mut(range.len() * m);
            parts.push((range.clone(), part, scratch));
            rest = tail;
        }
        parts.into_par_iter().for_each(|(range, part, scratch)| {
            simd::gram(path, z, z.len() / m, m, m, range, part, scratch);
        });
    }
}

mod dual;

pub(crate) use dual::{MANY_COLUMNS, Ridge, Span};

use crate::numerics::cholesky::Factor;

#[cfg(test)]
mod tests;
