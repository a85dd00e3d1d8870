//! Symmetric matrices on several threads: Gram matrices and Cholesky factors whose bits do not depend on the threads.
//!
//! Work is cut into tiles of fixed size; each is done by one thread, with faer's kernels.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::prelude::IntoConst;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Columns of a tile of the factor.
const TILE: usize = 192;

/// Columns of a block that one thread solves for or multiplies.
pub(crate) const BLOCK: usize = 128;

/// Columns of a tile of a Gram matrix, and rows that are multiplied at a time.
const GRAM: (usize, usize) = (64, 512);

/// A Cholesky factor L, LL' = A.
pub(crate) struct Factor {
    n: usize,
    /// Column-major.
    lower: Vec<f64>,
}

impl Factor {
    /// Factors the matrix whose lower triangle stands in `a`, column by column; none if it is not positive definite.
    pub(crate) fn new(mut a: Vec<f64>, n: usize) -> Option<Self> {
        for first in (0..n).step_by(TILE) {
            let width = TILE.min(n - first);
            let (panel, rest) = a[first * n..].split_at_mut(width * n);
            let panel_matrix = MatMut::from_column_major_slice_mut(&mut *panel, n, width);
            let (diagonal, below) = panel_matrix.subrows_mut(first, n - first).split_at_row_mut(width);
            let diagonal = diagonal_factor(diagonal)?;
            divide(below, diagonal);
            let panel = MatRef::from_column_major_slice(&*panel, n, width);
            rest.par_chunks_mut(TILE * n).enumerate().for_each(|(t, tile)| {
                let top = first + width + t * TILE;
                let columns = tile.len() / n;
                let tile = MatMut::from_column_major_slice_mut(tile, n, columns).subrows_mut(top, n - top);
                let (left, right) = (panel.subrows(top, n - top), panel.subrows(top, columns).transpose());
                matmul(tile, Accum::Add, left, right, -1.0, Par::Seq);
            });
        }
        Some(Self { n, lower: a })
    }

    /// A^-1 b for each vector in `b`, in place.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        let columns = b.len() / self.n;
        let lower = MatRef::from_column_major_slice(&self.lower, self.n, self.n);
        let mut b = MatMut::from_column_major_slice_mut(b, self.n, columns);
        solve_lower_triangular_in_place(lower, b.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(lower.transpose(), b, Par::Seq);
    }

    /// L^-1 b for each vector in `b`, in place; threads share the vectors.
    pub(crate) fn solve_lower(&self, b: &mut [f64]) {
        let lower = MatRef::from_column_major_slice(&self.lower, self.n, self.n);
        b.par_chunks_mut(BLOCK * self.n).for_each(|part| {
            let columns = part.len() / self.n;
            let part = MatMut::from_column_major_slice_mut(part, self.n, columns);
            solve_lower_triangular_in_place(lower, part, Par::Seq);
        });
    }

    /// `rows L'^-1`, for columns as long as `rows` makes them.
    pub(crate) fn divide(&self, rows: &mut [f64]) {
        let lower = MatRef::from_column_major_slice(&self.lower, self.n, self.n);
        divide(MatMut::from_column_major_slice_mut(rows, rows.len() / self.n, self.n), lower);
    }

    /// The logarithm of A's determinant.
    pub(crate) fn log_determinant(&self) -> f64 {
        2.0 * (0..self.n).map(|i| self.lower[i * self.n + i].ln()).sum::<f64>()
    }

    /// Rows and columns `at..` of A^-1, the first `width` columns of them. Nothing above them is needed on the way.
    pub(crate) fn inverse_block(&self, at: usize, width: usize) -> Vec<f64> {
        let m = self.n - at;
        let lower = MatRef::from_column_major_slice(&self.lower, self.n, self.n).submatrix(at, at, m, m);
        let mut block = vec![0.0; m * width];
        (0..width).for_each(|i| block[i * m + i] = 1.0);
        let mut out = MatMut::from_column_major_slice_mut(&mut block, m, width);
        solve_lower_triangular_in_place(lower, out.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(lower.transpose(), out, Par::Seq);
        block
    }
}

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

/// Factors one tile in place.
fn diagonal_factor(mut tile: MatMut<'_, f64>) -> Option<MatRef<'_, f64>> {
    let n = tile.nrows();
    let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(n, Par::Seq, Default::default()));
    let stack = MemStack::new(&mut memory);
    cholesky_in_place(tile.as_mut(), Default::default(), Par::Seq, stack, Default::default()).ok()?;
    let tile = tile.into_const();
    (0..n).all(|i| tile[(i, i)].is_finite()).then_some(tile)
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

/// Adds `Z' diag(weight) Z` to the lower triangle of `gram` (column-major, `m x m`); `z` is row-major with `m` columns.
pub(crate) fn add_gram(z: &[f64], m: usize, weight: &[f64], gram: &mut [f64]) {
    gram.par_chunks_mut(GRAM.0 * m).enumerate().for_each_init(Vec::new, |scaled, (t, tile)| {
        let (first, width) = (t * GRAM.0, tile.len() / m);
        let mut tile = MatMut::from_column_major_slice_mut(tile, m, width).subrows_mut(first, m - first);
        for (z, weight) in z.chunks(GRAM.1 * m).zip(weight.chunks(GRAM.1)) {
            scaled.clear();
            for (row, w) in z.chunks_exact(m).zip(weight) {
                scaled.extend(row[first..first + width].iter().map(|z| w * z));
            }
            let left = MatRef::from_row_major_slice(z, weight.len(), m).subcols(first, m - first);
            let right = MatRef::from_row_major_slice(&*scaled, weight.len(), width);
            matmul(tile.as_mut(), Accum::Add, left.transpose(), right, 1.0, Par::Seq);
        }
    });
}

/// The inverse square root of a symmetric positive semidefinite matrix; eigenvalues below `floor` count as `floor`.
pub(crate) fn inverse_root(a: &[f64], n: usize, floor: f64) -> Option<Vec<f64>> {
    let (values, vectors) = eigensystem(a, n)?;
    let scaled = faer::Mat::from_fn(n, n, |i, j| vectors[(i, j)] / values[j].max(floor).sqrt());
    let mut root = vec![0.0; n * n];
    let out = MatMut::from_row_major_slice_mut(&mut root, n, n);
    matmul(out, Accum::Replace, scaled.as_ref(), vectors.transpose(), 1.0, Par::Seq);
    Some(root)
}

/// Eigenvalues of a symmetric matrix, smallest first, and their vectors.
pub(crate) fn eigensystem(a: &[f64], n: usize) -> Option<(faer::Col<f64>, faer::Mat<f64>)> {
    let mut values = faer::Col::<f64>::zeros(n);
    let mut vectors = faer::Mat::<f64>::zeros(n, n);
    let need = self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::Yes, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(need);
    self_adjoint_evd(
        MatRef::from_row_major_slice(a, n, n),
        values.as_mut().as_diagonal_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    )
    .ok()?;
    Some((values, vectors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{gaussian, gaussian_triangle};
    use crate::testing::{normal_rows, threads};

    /// A kernel matrix with a ridge: column-major lower triangle.
    fn positive(n: usize) -> Vec<f64> {
        let mut a = gaussian_triangle(&normal_rows(n, 5, 1), 0.2);
        (0..n).for_each(|i| a[i * n + i] += 0.1);
        a
    }

    #[test]
    fn a_solution_solves_also_across_tiles() {
        for n in [1, 2, TILE - 1, TILE, TILE + 1, 2 * TILE, 3 * TILE + 17] {
            let a = positive(n);
            let b: Vec<f64> = (0..2 * n).map(|i| (i as f64).sin()).collect();
            let mut x = b.clone();
            Factor::new(a.clone(), n).expect("positive definite").solve(&mut x);
            for (x, b) in x.chunks_exact(n).zip(b.chunks_exact(n)) {
                for i in 0..n {
                    let entry = |j: usize| if i >= j { a[j * n + i] } else { a[i * n + j] };
                    let product: f64 = (0..n).map(|j| entry(j) * x[j]).sum();
                    assert!((product - b[i]).abs() < 1e-10, "{n} {i}: {product} {}", b[i]);
                }
            }
        }
    }

    #[test]
    fn blocks_of_the_inverse_are_solutions() {
        for n in [1, 5, BLOCK, 2 * BLOCK + 44] {
            let factor = Factor::new(positive(n), n).expect("positive definite");
            for (at, width) in blocks(n) {
                let (block, m) = (factor.inverse_block(at, width), n - at);
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
        let factor = Factor::new(vec![4.0, 0.0, 0.0, 9.0], 2).expect("positive definite");
        assert!((factor.log_determinant() - 36f64.ln()).abs() < 1e-14);
    }

    #[test]
    fn what_is_not_positive_definite_has_no_factor() {
        let n = TILE + 5;
        let mut a = positive(n);
        a[n * n - 1] = -1.0;
        assert!(Factor::new(a.clone(), n).is_none());
        a[n * n - 1] = f64::NAN;
        assert!(Factor::new(a, n).is_none());
        assert!(Factor::new(vec![1.0, 1.0, 0.0, 1.0 - 1e-9], 2).is_none());
    }

    #[test]
    fn gram_matrices_are_sums_over_rows() {
        let (n, m) = (GRAM.1 + 100, GRAM.0 + 30);
        let z: Vec<f64> = normal_rows(n, m, 2).values.iter().map(|&v| v.into()).collect();
        let weight: Vec<f64> = (0..n).map(|i| (i % 3) as f64).collect();
        let mut gram = vec![1.0; m * m];
        add_gram(&z, m, &weight, &mut gram);
        for a in 0..m {
            for b in 0..=a {
                let sum: f64 = (0..n).map(|i| weight[i] * z[i * m + a] * z[i * m + b]).sum();
                assert!((gram[b * m + a] - 1.0 - sum).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn the_root_of_the_inverse_undoes_the_matrix() {
        let (n, rows) = (70, normal_rows(70, 8, 3));
        let a = gaussian(&rows, &rows, 0.3);
        let root = inverse_root(&a, n, 1e-12).expect("eigenvalues");
        let (root, a) = (MatRef::from_row_major_slice(&root, n, n), MatRef::from_row_major_slice(&a, n, n));
        let one = root * a * root;
        for i in 0..n {
            for j in 0..n {
                assert!((one[(i, j)] - f64::from(i == j)).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn equal_bits_for_any_number_of_threads() {
        let n = 3 * TILE + 50;
        let (a, z) = (positive(n), (0..900 * 200).map(|i| (i as f64).cos()).collect::<Vec<_>>());
        let work = || {
            let mut gram = vec![0.0; 200 * 200];
            add_gram(&z, 200, &[0.5; 900], &mut gram);
            (Factor::new(a.clone(), n).expect("positive definite").lower, gram)
        };
        assert_eq!(threads(1, work), threads(2, work));
    }
}
