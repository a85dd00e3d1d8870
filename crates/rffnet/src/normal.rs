//! Normal equations of the exact head: the Gram matrix of its design, and its Cholesky factor.
//!
//! The design has a column per random feature, per linear term, and one for the intercept. Targets stand behind them,
//! so that one symmetric product gives every moment. Blocks of rows are multiplied in f32 and added in f64.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::features::{FeatureMap, Problem, Weights, design};
use crate::simd::{self, GramScratch, gram_ranges};

/// Times the diagonal may grow, a hundredfold each.
const ATTEMPTS: usize = 12;

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

    /// The penalty's value: the intercept is free.
    pub(crate) fn penalty(&self, coefficients: &[f64], alpha: f64) -> f64 {
        let m = self.columns();
        alpha * coefficients.chunks_exact(m).flat_map(|b| &b[..m - 1]).map(|b| b * b).sum::<f64>()
    }
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
        let columns = shape.columns();
        let targets = if curvature.is_some() { 0 } else { problem.outputs };
        let m = columns + targets;
        let path = simd::path();
        let mut gram = vec![0.0; m * m];
        let mut z = vec![0.0; BLOCK.min(rows.len()) * m];
        let ranges = gram_ranges(m, rayon::current_num_threads());
        let mut scratch: Vec<GramScratch> = ranges.iter().map(|_| GramScratch::default()).collect();
        for (b, rows) in rows.chunks(BLOCK).enumerate() {
            let z = &mut z[..rows.len() * m];
            let (cosine, slope) = (shape.cosine() as f32, shape.slope() as f32);
            design(problem.x, &problem.scale, map, theta, rows, cosine, slope, m, z);
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
            // Threads share the rows of the output, so that their number does not change a sum.
            let mut parts = Vec::with_capacity(ranges.len());
            let mut rest = gram.as_mut_slice();
            for (range, scratch) in ranges.iter().zip(&mut scratch) {
                let (part, tail) = rest.split_at_mut(range.len() * m);
                parts.push((range.clone(), part, scratch));
                rest = tail;
            }
            parts.into_par_iter().for_each(|(range, part, scratch)| {
                simd::gram(path, z, rows.len(), m, m, range, part, scratch);
            });
        }
        let count = rows.len() as f64;
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

    /// The factor of `Z'WZ / n + alpha I`, the intercept's diagonal left free. Where rounding has made the matrix
    /// indefinite, the diagonal grows until it is not.
    pub(crate) fn factor(&self, alpha: f64) -> Factor {
        let (n, m) = (self.columns, self.columns + self.targets);
        let average = (0..n).map(|i| self.gram[i * m + i]).sum::<f64>() / n as f64;
        let mut boost = 0.0;
        for _ in 0..ATTEMPTS {
            // faer works column by column: the row-major lower triangle is the column-major upper one, so transpose.
            let mut lower = vec![0.0; n * n];
            for a in 0..n {
                let row = &self.gram[a * m..a * m + a + 1];
                row.iter().enumerate().for_each(|(b, &g)| lower[b * n + a] = g);
                let free = if a + 1 == n { 1e-9 * self.gram[a * m + a] } else { alpha };
                lower[a * n + a] += free + boost;
            }
            if cholesky(&mut lower, n) {
                return Factor { n, lower };
            }
            boost = if boost == 0.0 { 1e-10 * average.max(f64::MIN_POSITIVE) } else { 100.0 * boost };
        }
        // Only numbers that are not finite get here; the solution is then not finite either, and nobody takes it.
        Factor { n, lower: vec![f64::NAN; n * n] }
    }
}

fn cholesky(a: &mut [f64], n: usize) -> bool {
    let mut memory =
        MemBuffer::new(llt::factor::cholesky_in_place_scratch::<f64>(n, Par::Seq, Default::default()));
    let matrix = MatMut::from_column_major_slice_mut(a, n, n);
    let stack = MemStack::new(&mut memory);
    // One thread: the factor must not depend on their number.
    let done =
        llt::factor::cholesky_in_place(matrix, Default::default(), Par::Seq, stack, Default::default());
    done.is_ok() && (0..n).all(|i| a[i * n + i].is_finite())
}

/// A Cholesky factor L, LL' = A.
pub(crate) struct Factor {
    n: usize,
    lower: Vec<f64>,
}

impl Factor {
    fn matrix(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.lower, self.n, self.n)
    }

    /// A^-1 b for each vector in `b`, in place.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        self.solve_lower(b);
        self.solve_upper(b);
    }

    /// L^-1 b, in place.
    pub(crate) fn solve_lower(&self, b: &mut [f64]) {
        let columns = b.len() / self.n;
        let b = MatMut::from_column_major_slice_mut(b, self.n, columns);
        solve_lower_triangular_in_place(self.matrix(), b, Par::Seq);
    }

    /// L'^-1 b, in place.
    pub(crate) fn solve_upper(&self, b: &mut [f64]) {
        let columns = b.len() / self.n;
        let b = MatMut::from_column_major_slice_mut(b, self.n, columns);
        solve_upper_triangular_in_place(self.matrix().transpose(), b, Par::Seq);
    }

    /// Rows of A.
    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// L' b for each vector, in place of `b`.
    pub(crate) fn multiply_upper(&self, b: &mut [f64]) {
        for b in b.chunks_exact_mut(self.n) {
            for i in 0..self.n {
                let column = &self.lower[i * self.n + i..(i + 1) * self.n];
                b[i] = column.iter().zip(&b[i..]).map(|(l, b)| l * b).sum();
            }
        }
    }
}

#[cfg(test)]
mod tests;
