//! The largest eigenvalues of a symmetric positive semidefinite matrix, and their vectors.
//!
//! A whole eigensystem of some thousand rows takes minutes where a few hundred vectors are wanted, so these are found by
//! subspace iteration: multiply, rotate to the best basis (Rayleigh and Ritz), make orthonormal again.

use faer::MatRef;
use rand_distr::{Distribution, StandardNormal};
use rffnet::numerics::cholesky::Cholesky;
use rffnet::numerics::random::seeded;

use crate::linalg::{eigensystem, product};

/// Below this many rows the whole eigensystem is as quick.
const SMALL: usize = 600;

/// Vectors to start with; twice as many where they do not suffice.
const WIDTH: usize = 128;

/// Multiplications before the whole eigensystem is computed after all.
const PATIENCE: usize = 30;

/// A vector will do when the matrix takes it no further from itself than this part of the smallest value wanted.
const RESIDUAL: f64 = 0.1;

/// Eigenvalues, largest first, and their vectors one after another.
pub(crate) struct Eigen {
    pub(crate) values: Vec<f64>,
    pub(crate) vectors: Vec<f64>,
}

/// What is wanted of a spectrum.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// All values above this,
    pub(crate) above: f64,
    /// at least so many,
    pub(crate) least: usize,
    /// and no more than so many.
    pub(crate) most: usize,
}

impl Wanted {
    fn count(&self, values: &[f64]) -> usize {
        let above = values.iter().filter(|&&v| v > self.above).count();
        above.max(self.least).min(self.most).min(values.len())
    }
}

/// The top of the eigensystem of `a`, `n x n`; `None` if it has no finite one.
pub(crate) fn top(a: &[f64], n: usize, wanted: Wanted, seed: u64) -> Option<Eigen> {
    let mut width = WIDTH;
    while n > SMALL && 2 * width < n {
        if let Some(found) = iterate(a, n, wanted, width, seed) {
            return Some(found);
        }
        width *= 2;
    }
    let (values, vectors) = eigensystem(a, n)?;
    let values: Vec<f64> = (0..n).rev().map(|i| values[i]).collect();
    let count = wanted.count(&values);
    let column = |k: usize| (0..n).map(move |i| (i, n - 1 - k));
    let vectors: Vec<f64> = (0..count).flat_map(column).map(|at| vectors[at]).collect();
    let finite = vectors.iter().all(|v| v.is_finite());
    finite.then(|| Eigen { values: values[..count].to_vec(), vectors })
}

/// Subspace iteration with `width` vectors; `None` if more are needed, or more patience.
fn iterate(a: &[f64], n: usize, wanted: Wanted, width: usize, seed: u64) -> Option<Eigen> {
    let a = MatRef::from_column_major_slice(a, n, n);
    let mut rng = seeded(seed);
    let mut basis: Vec<f64> = (0..n * width).map(|_| StandardNormal.sample(&mut rng)).collect();
    for round in 0..PATIENCE {
        // Twice: the first pass leaves what rounding made of nearly parallel vectors.
        orthonormalise(&mut basis, n, width)?;
        orthonormalise(&mut basis, n, width)?;
        let v = MatRef::from_column_major_slice(&basis, n, width);
        let image = product(a, v);
        let image = MatRef::from_column_major_slice(&image, n, width);
        let (values, rotation) = eigensystem(&product(v.transpose(), image), width)?;
        let values: Vec<f64> = (0..width).rev().map(|i| values[i]).collect();
        let rotation = rotation.as_ref().reverse_cols();
        let count = wanted.count(&values);
        // Half as many again keep what lies below the last wanted value apart.
        if round >= 2 && 3 * count > 2 * width {
            return None;
        }
        let mut image = product(image, rotation);
        let vectors = product(v, rotation);
        let limit = RESIDUAL * values[count - 1];
        let residual = |k: usize| {
            let pairs = image[k * n..][..n].iter().zip(&vectors[k * n..][..n]);
            pairs.map(|(y, v)| (y - values[k] * v).powi(2)).sum::<f64>().sqrt()
        };
        if round >= 2 && (0..count).all(|k| residual(k) <= limit) {
            let vectors = vectors[..count * n].to_vec();
            return Some(Eigen { values: values[..count].to_vec(), vectors });
        }
        // Divided by their values, vectors that have converged stay as they are.
        let floor = 1e-7 * values[0].max(f64::MIN_POSITIVE);
        for (column, value) in image.chunks_exact_mut(n).zip(&values) {
            column.iter_mut().for_each(|v| *v /= value.max(floor));
        }
        basis = image;
    }
    None
}

fn orthonormalise(basis: &mut [f64], n: usize, width: usize) -> Option<()> {
    let v = MatRef::from_column_major_slice(&*basis, n, width);
    let factor = Cholesky::tiled(product(v.transpose(), v), width)?;
    factor.divide(basis);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::gaussian;
    use crate::testing::{normal_rows, threads};

    #[test]
    fn the_top_of_a_large_matrix_is_that_of_its_whole_eigensystem() {
        let n = 900;
        let rows = normal_rows(n, 3, 1);
        let kernel: Vec<f64> = gaussian(&rows, &rows, 0.2).iter().map(|k| k / n as f64).collect();
        let wanted = Wanted { above: 1e-3, least: 3, most: 500 };
        let found = iterate(&kernel, n, wanted, WIDTH, 0).expect("converges");
        let (exact, _) = eigensystem(&kernel, n).expect("finite");
        let count = (0..n).filter(|&i| exact[i] > 1e-3).count();
        assert_eq!(found.values.len(), count);
        assert!(count > 10, "{count}");
        for (k, value) in found.values.iter().enumerate() {
            let exact = exact[n - 1 - k];
            assert!((value - exact).abs() < 1e-2 * exact, "{k}: {value} {exact}");
        }
    }

    #[test]
    fn small_matrices_are_done_exactly() {
        let found =
            top(&[2.0, 1.0, 1.0, 2.0], 2, Wanted { above: 0.0, least: 1, most: 1 }, 0).expect("finite");
        assert!((found.values[0] - 3.0).abs() < 1e-14);
        assert!((found.vectors[0] - found.vectors[1]).abs() < 1e-14 && found.vectors.len() == 2);
    }

    #[test]
    fn equal_bits_for_any_number_of_threads() {
        let rows = normal_rows(700, 3, 2);
        let kernel = gaussian(&rows, &rows, 0.1);
        let work = || {
            let found = top(&kernel, 700, Wanted { above: 1.0, least: 3, most: 500 }, 5).expect("finite");
            (found.values, found.vectors)
        };
        assert_eq!(threads(1, work), threads(2, work));
    }
}
