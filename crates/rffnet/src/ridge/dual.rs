//! The dual (kernel) form: with fewer rows than columns of the design, the head is a combination of the rows.
//!
//! No penalised head has a part outside of their span (the representer theorem). With K = ZZ' = LL', the rows of L are
//! those of Z in other coordinates: a head c on L is the head b = Z' L'^-1 c on Z, with the same predictions and the same
//! length. So the normal equations have as many unknowns as there are rows, however many features and linear terms.

use super::{Design, Gram, Moments};
use crate::numerics::cholesky::Cholesky;
use crate::problem::Problem;

/// Columns of the design that are multiplied at a time.
const BLOCK: usize = 1024;

/// The share of the mean of K's diagonal that is added to it: products are summed in f32.
const JITTER: f64 = 1e-7;

/// Columns per row beyond which this costs less than the normal equations of the columns.
pub(crate) const MANY_COLUMNS: f64 = 1.5;

/// The design matrix in coordinates of the span of its rows.
pub(crate) struct DualForm {
    /// The design, `rows x columns`, the intercept's last.
    z: Vec<f32>,
    rows: usize,
    factor: Cholesky,
    /// The design in the new coordinates and the intercept, `rows x (rows + 1)`.
    pub(crate) design: Vec<f32>,
}

impl DualForm {
    /// `None` unless there are many more columns than rows.
    pub(crate) fn new(problem: &Problem<'_>, design: &Design<'_>, rows: &[usize]) -> Option<Self> {
        let (n, m) = (rows.len(), design.columns());
        if m as f64 <= MANY_COLUMNS * n as f64 + 1.0 {
            return None;
        }
        let z = design.rows(problem, rows);
        let mut gram = Gram::new(n);
        let mut block = Vec::new();
        for first in (0..m - 1).step_by(BLOCK) {
            let columns = first..(first + BLOCK).min(m - 1);
            block.clear();
            block.extend(columns.flat_map(|j| z.iter().skip(j).step_by(m)));
            problem.backend.add_gram(&mut gram, &block);
        }
        let jitter = JITTER * (0..n).map(|i| gram.products[i * n + i]).sum::<f64>() / n as f64;
        let factor = Cholesky::new(&gram.products, n, n, |_| jitter);
        let design = factor.rows().chunks_exact(n).flat_map(|row| row.iter().copied().chain([1.0])).collect();
        Some(Self { z, rows: n, factor, design })
    }

    /// Columns of the design in the new coordinates.
    pub(crate) fn columns(&self) -> usize {
        self.rows + 1
    }

    /// Moments of the design in the new coordinates; see [`Backend::moments`](crate::backend::Backend::moments).
    pub(crate) fn moments(
        &self,
        problem: &Problem<'_>,
        rows: &[usize],
        curvature: Option<&[f32]>,
    ) -> Moments {
        let columns = self.columns();
        let m = columns + if curvature.is_some() { 0 } else { problem.outputs };
        let mut gram = Gram::new(m);
        let mut z = Vec::new();
        for (rows, design) in rows.chunks(BLOCK).zip(self.design.chunks(BLOCK * columns)) {
            z.resize(rows.len() * m, 0.0);
            for ((z, design), &i) in z.chunks_exact_mut(m).zip(design.chunks_exact(columns)).zip(rows) {
                z[..columns].copy_from_slice(design);
                problem.complete(z, columns, i, curvature);
            }
            problem.backend.add_gram(&mut gram, &z);
        }
        Moments::new(gram, rows.len(), columns)
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
