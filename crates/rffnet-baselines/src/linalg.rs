//! Dense algebra in f64, column after column. Work is cut into fixed blocks of columns that threads share, so that
//! their number changes no sum.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Columns in a block.
pub(crate) const BLOCK: usize = 128;

/// Where blocks of `n` columns start, and how wide they are.
pub(crate) fn blocks(n: usize) -> Vec<(usize, usize)> {
    (0..n).step_by(BLOCK).map(|at| (at, BLOCK.min(n - at))).collect()
}

/// `a b`, column by column.
pub(crate) fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Vec<f64> {
    let (m, n) = (a.nrows(), b.ncols());
    let mut out = vec![0.0; m * n];
    if out.is_empty() {
        return out;
    }
    out.par_chunks_mut(m * BLOCK).enumerate().for_each(|(i, part)| {
        let columns = part.len() / m;
        let target = MatMut::from_column_major_slice_mut(part, m, columns);
        matmul(target, Accum::Replace, a, b.subcols(i * BLOCK, columns), 1.0, Par::Seq);
    });
    out
}

/// A Cholesky factor L, LL' = A.
pub(crate) struct Factor {
    n: usize,
    lower: Vec<f64>,
}

impl Factor {
    /// Factors the symmetric matrix whose lower triangle is in `a`; `None` where it is not positive definite.
    pub(crate) fn new(mut a: Vec<f64>, n: usize) -> Option<Self> {
        for (at, width) in blocks(n) {
            let (panel, rest) = a[at * n..].split_at_mut(width * n);
            if !factor_panel(panel, n, at, width) {
                return None;
            }
            let panel = MatRef::from_column_major_slice(panel, n, width);
            rest.par_chunks_mut(BLOCK * n).enumerate().for_each(|(i, part)| {
                let (row, columns) = (at + width + i * BLOCK, part.len() / n);
                let part = MatMut::from_column_major_slice_mut(part, n, columns);
                let left = panel.submatrix(row, 0, n - row, width);
                let right = panel.submatrix(row, 0, columns, width).transpose();
                matmul(part.subrows_mut(row, n - row), Accum::Add, left, right, -1.0, Par::Seq);
            });
        }
        Some(Self { n, lower: a })
    }

    fn matrix(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.lower, self.n, self.n)
    }

    /// The logarithm of A's determinant.
    pub(crate) fn log_determinant(&self) -> f64 {
        2.0 * (0..self.n).map(|i| self.lower[i * self.n + i].ln()).sum::<f64>()
    }

    /// A^-1 b for each vector in `b`, in place.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        let columns = b.len() / self.n;
        let mut b = MatMut::from_column_major_slice_mut(b, self.n, columns);
        solve_lower_triangular_in_place(self.matrix(), b.rb_mut(), Par::Seq);
        solve_upper_triangular_in_place(self.matrix().transpose(), b, Par::Seq);
    }

    /// L^-1 b for each vector in `b`, in place; threads share the vectors.
    pub(crate) fn solve_lower(&self, b: &mut [f64]) {
        b.par_chunks_mut(BLOCK * self.n).for_each(|part| {
            let columns = part.len() / self.n;
            let part = MatMut::from_column_major_slice_mut(part, self.n, columns);
            solve_lower_triangular_in_place(self.matrix(), part, Par::Seq);
        });
    }

    /// Rows and columns `at..` of A^-1, its first `width` columns alone. What stands above them is not needed to get there.
    pub(crate) fn inverse_block(&self, at: usize, width: usize) -> Vec<f64> {
        let m = self.n - at;
        let lower = self.matrix().submatrix(at, at, m, m);
        let mut block = vec![0.0; m * width];
        (0..width).for_each(|i| block[i * m + i] = 1.0);
        let mut out = MatMut::from_column_major_slice_mut(&mut block, m, width);
        solve_lower_triangular_in_place(lower, out.rb_mut(), Par::Seq);
        solve_upper_triangular_in_place(lower.transpose(), out, Par::Seq);
        block
    }
}

/// Factors columns `at..at + width`, what is left of them already subtracted.
fn factor_panel(panel: &mut [f64], n: usize, at: usize, width: usize) -> bool {
    let panel = MatMut::from_column_major_slice_mut(panel, n, width);
    let (top, below) = panel.split_at_row_mut(at + width);
    let mut corner = top.subrows_mut(at, width);
    let scratch = llt::factor::cholesky_in_place_scratch::<f64>(width, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut memory);
    let done = llt::factor::cholesky_in_place(
        corner.rb_mut(),
        Default::default(),
        Par::Seq,
        stack,
        Default::default(),
    );
    if done.is_err() || !(0..width).all(|i| corner[(i, i)].is_finite()) {
        return false;
    }
    solve_lower_triangular_in_place(corner.rb(), below.transpose_mut(), Par::Seq);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B'B + I for a B of whole numbers, column by column.
    fn positive(n: usize) -> Vec<f64> {
        let b: Vec<f64> = (0..n * n).map(|i| ((i * i + 3 * i) % 11) as f64 / 11.0 - 0.5).collect();
        let b = MatRef::from_column_major_slice(&b, n, n);
        let mut a = product(b.transpose(), b);
        (0..n).for_each(|i| a[i * n + i] += 1.0);
        a
    }

    #[test]
    fn a_solution_solves_and_an_inverse_inverts() {
        for n in [1, 5, 127, 128, 300] {
            let a = positive(n);
            let factor = Factor::new(a.clone(), n).expect("positive definite");
            let b: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
            let mut x = b.clone();
            factor.solve(&mut x);
            for i in 0..n {
                let sum: f64 = (0..n).map(|j| a[j * n + i] * x[j]).sum();
                assert!((sum - b[i]).abs() < 1e-10, "{n}");
            }
            for (at, width) in blocks(n) {
                let block = factor.inverse_block(at, width);
                let m = n - at;
                for c in 0..width {
                    let mut e = vec![0.0; n];
                    e[at + c] = 1.0;
                    factor.solve(&mut e);
                    let same = block[c * m..][..m].iter().zip(&e[at..]).all(|(a, b)| (a - b).abs() < 1e-12);
                    assert!(same, "{n} {at} {c}");
                }
            }
        }
    }

    #[test]
    fn an_indefinite_matrix_has_no_factor() {
        assert!(Factor::new(vec![1.0, 2.0, 2.0, 1.0], 2).is_none());
        assert!(Factor::new(vec![f64::NAN], 1).is_none());
        let mut a = positive(200);
        a[150 * 200 + 150] = -1.0;
        assert!(Factor::new(a, 200).is_none());
    }

    #[test]
    fn the_determinant_is_that_of_the_diagonal() {
        let factor = Factor::new(vec![4.0, 0.0, 0.0, 9.0], 2).expect("positive definite");
        assert!((factor.log_determinant() - 36f64.ln()).abs() < 1e-14);
    }
}
