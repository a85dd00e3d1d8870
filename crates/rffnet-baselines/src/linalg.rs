//! Products and eigenvalues of matrices on several threads, with bits that do not depend on the threads.
//!
//! Work is cut into tiles of fixed size; each is done by one thread, with faer's kernels.

use std::ops::Range;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Columns of a block that one thread multiplies.
pub(crate) const BLOCK: usize = 128;

/// Columns of a tile of a Gram matrix, and rows that are multiplied at a time.
const GRAM: (usize, usize) = (64, 512);

/// `0..n` in blocks.
pub(crate) fn blocks(n: usize) -> Vec<Range<usize>> {
    (0..n).step_by(BLOCK).map(|at| at..n.min(at + BLOCK)).collect()
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

/// `scale a b`, row by row, in place of `out` or added to it, on this thread.
pub(crate) fn multiply(
    out: &mut [f64],
    accumulate: Accum,
    a: MatRef<'_, f64>,
    b: MatRef<'_, f64>,
    scale: f64,
) {
    let out = MatMut::from_row_major_slice_mut(out, a.nrows(), b.ncols());
    matmul(out, accumulate, a, b, scale, Par::Seq);
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
    multiply(&mut root, Accum::Replace, scaled.as_ref(), vectors.transpose(), 1.0);
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
    use crate::kernel::gaussian;
    use crate::testing::{normal_rows, threads};

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
        let z: Vec<f64> = (0..900 * 200).map(|i| (i as f64).cos()).collect();
        let work = || {
            let mut gram = vec![0.0; 200 * 200];
            add_gram(&z, 200, &[0.5; 900], &mut gram);
            gram
        };
        assert_eq!(threads(1, work), threads(2, work));
    }
}
