//! Fewer rows than columns of the design: the head is sought among the combinations of its rows.
//!
//! No penalised head has a part outside of them. With K = ZZ' = LL', the rows of L are those of Z in other coordinates:
//! a head c on L is the head b = Z' L'^-1 c on Z, with the same predictions and the same length. So the normal equations
//! have as many unknowns as there are rows, however many features and linear terms there are.

use super::{BLOCK, Design, Linear, Moments, Sums};
use crate::features::{FeatureMap, Problem};
use crate::numerics::cholesky::Factor;

/// The share of the mean of K's diagonal that is added to it: products are summed in f32.
const JITTER: f64 = 1e-7;

/// Columns per row beyond which this costs less than the normal equations of the columns.
pub(crate) const MANY_COLUMNS: f64 = 1.5;

/// The exact head of a regression on some rows, for any penalty.
pub(crate) struct Ridge {
    moments: Moments,
    span: Option<Span>,
}

impl Ridge {
    pub(crate) fn new(
        problem: &Problem<'_>,
        map: &FeatureMap,
        theta: &[f32],
        rows: &[usize],
        linear: Linear,
    ) -> Self {
        let span = Span::new(problem, map, theta, rows, linear);
        let moments = match &span {
            Some(span) => span.moments(problem, rows, None),
            None => Moments::new(problem, map, theta, rows, linear, None),
        };
        Self { moments, span }
    }

    /// The coefficients of the design, one vector per target.
    pub(crate) fn head(&self, alpha: f64) -> Vec<f64> {
        let found = self.moments.ridge(alpha);
        match &self.span {
            Some(span) => span.expand(&found),
            None => found,
        }
    }

    /// On more rows; `None` in the coordinates of a span, which are the rows' own.
    pub(crate) fn with(
        &self,
        problem: &Problem<'_>,
        map: &FeatureMap,
        theta: &[f32],
        more: &[usize],
        linear: Linear,
    ) -> Option<Self> {
        if self.span.is_some() {
            return None;
        }
        let moments = self.moments.merged(&Moments::new(problem, map, theta, more, linear, None));
        Some(Self { moments, span: None })
    }
}

/// Coordinates of the rows' span.
pub(crate) struct Span {
    /// The design, `rows x columns`, the intercept's last.
    z: Vec<f32>,
    rows: usize,
    factor: Factor,
    /// The design in the new coordinates and the intercept, `rows x (rows + 1)`.
    pub(crate) design: Vec<f32>,
}

impl Span {
    /// `None` unless there are many more columns than rows.
    pub(crate) fn new(
        problem: &Problem<'_>,
        map: &FeatureMap,
        theta: &[f32],
        rows: &[usize],
        linear: Linear,
    ) -> Option<Self> {
        let shape = Design::new(map, linear);
        let (n, m) = (rows.len(), shape.columns());
        if m as f64 <= MANY_COLUMNS * n as f64 + 1.0 {
            return None;
        }
        let mut z = vec![0.0; n * m];
        shape.write(problem, map, theta, rows, m, &mut z);
        let mut sums = Sums::new(n);
        let mut block = Vec::new();
        for first in (0..m - 1).step_by(BLOCK) {
            let columns = first..(first + BLOCK).min(m - 1);
            block.clear();
            block.extend(columns.flat_map(|j| z.iter().skip(j).step_by(m)));
            sums.add(&block);
        }
        let jitter = JITTER * (0..n).map(|i| sums.gram[i * n + i]).sum::<f64>() / n as f64;
        let factor = Factor::new(&sums.gram, n, n, |_| jitter);
        let design = factor.rows().chunks_exact(n).flat_map(|row| row.iter().copied().chain([1.0])).collect();
        Some(Self { z, rows: n, factor, design })
    }

    /// Columns of the design in the new coordinates.
    pub(crate) fn columns(&self) -> usize {
        self.rows + 1
    }

    /// Moments of the design in the new coordinates.
    pub(crate) fn moments(
        &self,
        problem: &Problem<'_>,
        rows: &[usize],
        curvature: Option<&[f32]>,
    ) -> Moments {
        let m = self.columns();
        Moments::of(problem, rows, m, curvature, |first, rows, stride, z| {
            let design = self.design[first * m..].chunks_exact(m);
            for (z, row) in z.chunks_exact_mut(stride).zip(design).take(rows.len()) {
                z[..m].copy_from_slice(row);
            }
        })
    }

    /// Heads on the design as heads in the new coordinates.
    pub(crate) fn compress(&self, heads: &[f64]) -> Vec<f64> {
        let m = self.z.len() / self.rows;
        let mut out = Vec::with_capacity(heads.len() / m * self.columns());
        for b in heads.chunks_exact(m) {
            let (b, intercept) = (&b[..m - 1], b[m - 1]);
            let product = |row: &[f32]| row.iter().zip(b).map(|(&z, b)| z as f64 * b).sum::<f64>();
            let mut c: Vec<f64> = self.z.chunks_exact(m).map(product).collect();
            self.factor.solve_lower(&mut c);
            out.extend(c);
            out.push(intercept);
        }
        out
    }

    /// Heads in the new coordinates as heads on the design.
    pub(crate) fn expand(&self, heads: &[f64]) -> Vec<f64> {
        let m = self.z.len() / self.rows;
        let mut out = Vec::with_capacity(heads.len() / self.columns() * m);
        for c in heads.chunks_exact(self.columns()) {
            let mut a = c[..self.rows].to_vec();
            self.factor.solve_upper(&mut a);
            let mut b = vec![0.0; m - 1];
            for (row, a) in self.z.chunks_exact(m).zip(&a) {
                b.iter_mut().zip(row).for_each(|(b, &z)| *b += a * z as f64);
            }
            out.extend(b);
            out.push(c[self.rows]);
        }
        out
    }
}
