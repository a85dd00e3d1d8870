//! Cholesky factors of symmetric positive definite matrices.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::buffers;

/// How often the diagonal is raised, a hundredfold each time, before a matrix is given up as not finite.
const ATTEMPTS: usize = 12;

/// Columns of a tile, which one thread works on.
const TILE: usize = 96;

/// Columns that are transposed at a time: a cache line of their rows.
const STRIP: usize = 8;

/// A Cholesky factor L, LL' = A.
pub struct Cholesky {
    n: usize,
    /// Column-major.
    lower: Vec<f64>,
}

impl Drop for Cholesky {
    fn drop(&mut self) {
        buffers::keep(std::mem::take(&mut self.lower));
    }
}

impl Cholesky {
    /// Of a matrix given by its lower triangle (row-major, `stride` from row to row), with `added` on its diagonal. Where
    /// rounding has made it indefinite, the diagonal grows until it is not.
    pub fn new(a: &[f64], n: usize, stride: usize, added: impl Fn(usize) -> f64) -> Self {
        let average = (0..n).map(|i| a[i * stride + i]).sum::<f64>() / n as f64;
        let mut boost = 0.0;
        for _ in 0..ATTEMPTS {
            // faer works column by column: the row-major lower triangle is the column-major upper one, so transpose.
            let mut lower = buffers::zeros(n * n);
            lower.par_chunks_mut(STRIP * n).enumerate().for_each(|(strip, columns)| {
                let first = strip * STRIP;
                for i in first..n {
                    let row = &a[i * stride + first..=i * stride + i];
                    columns.iter_mut().skip(i).step_by(n).zip(row).for_each(|(l, &v)| *l = v);
                }
            });
            (0..n).for_each(|i| lower[i * n + i] += added(i) + boost);
            if factorise_tiles(&mut lower, n) {
                return Self { n, lower };
            }
            boost = if boost == 0.0 { 1e-10 * average.max(f64::MIN_POSITIVE) } else { 100.0 * boost };
        }
        // Only numbers that are not finite get here; the solution is then not finite either, and nobody takes it.
        Self { n, lower: vec![f64::NAN; n * n] }
    }

    /// Of the matrix whose lower triangle stands in `a`, column by column; `None` if it is not positive definite.
    pub fn tiled(mut a: Vec<f64>, n: usize) -> Option<Self> {
        factorise_tiles(&mut a, n).then_some(Self { n, lower: a })
    }

    /// L, row-major.
    pub fn rows(&self) -> Vec<f32> {
        let n = self.n;
        let mut rows = vec![0.0; n * n];
        for i in 0..n {
            rows[i * n..=i * n + i]
                .iter_mut()
                .enumerate()
                .for_each(|(j, r)| *r = self.lower[j * n + i] as f32);
        }
        rows
    }

    fn matrix(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.lower, self.n, self.n)
    }

    /// A^-1 b for each vector in `b`, in place.
    pub fn solve(&self, b: &mut [f64]) {
        self.solve_lower(b);
        self.solve_upper(b);
    }

    /// L^-1 b, in place.
    pub fn solve_lower(&self, b: &mut [f64]) {
        let columns = b.len() / self.n;
        let b = MatMut::from_column_major_slice_mut(b, self.n, columns);
        solve_lower_triangular_in_place(self.matrix(), b, Par::Seq);
    }

    /// L'^-1 b, in place.
    pub fn solve_upper(&self, b: &mut [f64]) {
        let columns = b.len() / self.n;
        let b = MatMut::from_column_major_slice_mut(b, self.n, columns);
        solve_upper_triangular_in_place(self.matrix().transpose(), b, Par::Seq);
    }

    /// Rows of A.
    #[allow(clippy::len_without_is_empty)] // no factor is empty
    pub fn len(&self) -> usize {
        self.n
    }

    /// L' b for each vector, in place of `b`.
    pub fn multiply_upper(&self, b: &mut [f64]) {
        for b in b.chunks_exact_mut(self.n) {
            for i in 0..self.n {
                let column = &self.lower[i * self.n + i..(i + 1) * self.n];
                b[i] = column.iter().zip(&b[i..]).map(|(l, b)| l * b).sum();
            }
        }
    }

    /// `rows L'^-1` for a matrix of A's width, column by column; threads share its rows.
    pub fn divide(&self, rows: &mut [f64]) {
        divide(MatMut::from_column_major_slice_mut(rows, rows.len() / self.n, self.n), self.matrix());
    }

    /// The logarithm of A's determinant.
    pub fn log_determinant(&self) -> f64 {
        2.0 * (0..self.n).map(|i| self.lower[i * self.n + i].ln()).sum::<f64>()
    }

    /// Rows and columns `at..` of A^-1, the first `width` columns of them. Nothing above them is needed on the way.
    pub fn inverse_block(&self, at: usize, width: usize) -> Vec<f64> {
        let m = self.n - at;
        let lower = self.matrix().submatrix(at, at, m, m);
        let mut block = vec![0.0; m * width];
        (0..width).for_each(|i| block[i * m + i] = 1.0);
        let mut out = MatMut::from_column_major_slice_mut(&mut block, m, width);
        solve_lower_triangular_in_place(lower, out.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(lower.transpose(), out, Par::Seq);
        block
    }
}

/// Puts L in the place of a lower triangle, column by column; false if it is not positive definite. Threads share the tiles,
/// whose bounds depend on `n` alone, and so do the bits.
fn factorise_tiles(a: &mut [f64], n: usize) -> bool {
    for first in (0..n).step_by(TILE) {
        let width = TILE.min(n - first);
        let (panel, rest) = a[first * n..].split_at_mut(width * n);
        let columns = MatMut::from_column_major_slice_mut(&mut *panel, n, width);
        let (mut diagonal, below) = columns.subrows_mut(first, n - first).split_at_row_mut(width);
        if !factorise(diagonal.as_mut()) {
            return false;
        }
        divide(below, diagonal.as_ref());
        let panel = MatRef::from_column_major_slice(&*panel, n, width);
        rest.par_chunks_mut(TILE * n).enumerate().for_each(|(t, tile)| {
            let top = first + width + t * TILE;
            let columns = tile.len() / n;
            let tile = MatMut::from_column_major_slice_mut(tile, n, columns).subrows_mut(top, n - top);
            subtract(tile, panel.subrows(top, n - top), panel.subrows(top, columns));
        });
    }
    true
}

/// Takes `left right'` from a tile, in parts of at most a few tiles.
fn subtract(tile: MatMut<'_, f64>, left: MatRef<'_, f64>, right: MatRef<'_, f64>) {
    let n = tile.nrows();
    if n > 4 * TILE {
        let middle = (n / 2).next_multiple_of(TILE);
        let (top, bottom) = tile.split_at_row_mut(middle);
        let (above, below) = left.split_at_row(middle);
        rayon::join(|| subtract(top, above, right), || subtract(bottom, below, right));
    } else {
        matmul(tile, Accum::Add, left, right.transpose(), -1.0, Par::Seq);
    }
}

/// Factors a lower triangle in place; whether it is positive definite. On one thread: the factor must not depend on their
/// number.
fn factorise(mut a: MatMut<'_, f64>) -> bool {
    let n = a.nrows();
    let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(n, Par::Seq, Default::default()));
    let stack = MemStack::new(&mut memory);
    let done = cholesky_in_place(a.as_mut(), Default::default(), Par::Seq, stack, Default::default());
    done.is_ok() && (0..n).all(|i| a[(i, i)].is_finite())
}

/// `rows L'^-1`, in parts of at most a tile.
fn divide(rows: MatMut<'_, f64>, lower: MatRef<'_, f64>) {
    let n = rows.nrows();
    if n > TILE {
        let middle = (n / 2).next_multiple_of(TILE);
        let (top, bottom) = rows.split_at_row_mut(middle.min(n));
        rayon::join(|| divide(top, lower), || divide(bottom, lower));
    } else if n > 0 {
        solve_lower_triangular_in_place(lower, rows.transpose_mut(), Par::Seq);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel matrix with a ridge: column-major lower triangle.
    fn positive(n: usize) -> Vec<f64> {
        let x = |i: usize| (i as f64 * 0.37).sin() * 3.0;
        let entry = |i: usize, j: usize| (-(x(i) - x(j)).powi(2)).exp() + if i == j { 0.1 } else { 0.0 };
        (0..n * n).map(|at| if at % n < at / n { 0.0 } else { entry(at % n, at / n) }).collect()
    }

    fn tiled(n: usize) -> Cholesky {
        Cholesky::tiled(positive(n), n).expect("positive definite")
    }

    #[test]
    fn a_solution_solves_also_across_tiles() {
        for n in [1, 2, TILE - 1, TILE, TILE + 1, 2 * TILE, 3 * TILE + 17] {
            let a = positive(n);
            let by_rows: Vec<f64> = (0..n * n).map(|at| a[at % n * n + at / n]).collect();
            let b: Vec<f64> = (0..2 * n).map(|i| (i as f64).sin()).collect();
            for factor in [tiled(n), Cholesky::new(&by_rows, n, n, |_| 0.0)] {
                let mut x = b.clone();
                factor.solve(&mut x);
                for (x, b) in x.chunks_exact(n).zip(b.chunks_exact(n)) {
                    for i in 0..n {
                        let entry = |j: usize| if i >= j { a[j * n + i] } else { a[i * n + j] };
                        let product: f64 = (0..n).map(|j| entry(j) * x[j]).sum();
                        assert!((product - b[i]).abs() < 1e-9, "{n} {i}: {product} {}", b[i]);
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_of_the_inverse_are_solutions() {
        for n in [1, 5, 128, 300] {
            let factor = tiled(n);
            for at in (0..n).step_by(100) {
                let (m, width) = (n - at, 100.min(n - at));
                let block = factor.inverse_block(at, width);
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
    fn the_determinant_is_that_of_the_diagonal() {
        let factor = Cholesky::tiled(vec![4.0, 0.0, 0.0, 9.0], 2).expect("positive definite");
        assert!((factor.log_determinant() - 36f64.ln()).abs() < 1e-14);
    }

    #[test]
    fn what_is_not_positive_definite_has_no_factor_or_a_raised_diagonal() {
        let n = TILE + 5;
        let mut a = positive(n);
        a[n * n - 1] = -1.0;
        assert!(Cholesky::tiled(a.clone(), n).is_none());
        a[n * n - 1] = f64::NAN;
        assert!(Cholesky::tiled(a, n).is_none());
        assert!(Cholesky::tiled(vec![1.0, 1.0, 0.0, 1.0 - 1e-9], 2).is_none());
        let raised = Cholesky::new(&[1.0, 0.0, 1.0, 1.0 - 1e-9], 2, 2, |_| 0.0);
        assert!(raised.lower.iter().all(|v| v.is_finite()));
    }

    #[test]
    fn equal_bits_for_any_number_of_threads() {
        let n = 3 * TILE + 50;
        let threads = |count: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().expect("threads");
            pool.install(|| {
                let (factor, mut rows) = (tiled(n), vec![0.5; 500 * n]);
                factor.divide(&mut rows);
                (factor.lower.clone(), rows)
            })
        };
        assert!(threads(1) == threads(2));
    }
}
