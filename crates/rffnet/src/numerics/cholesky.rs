//! Cholesky factors of symmetric positive definite matrices.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{MatMut, MatRef, Par};

/// How often the diagonal is raised, a hundredfold each time, before a matrix is given up as not finite.
const ATTEMPTS: usize = 12;

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
pub struct Factor {
    n: usize,
    lower: Vec<f64>,
}

impl Factor {
    /// Of a matrix given by its lower triangle (row-major, `stride` from row to row), with `added` on its diagonal. Where
    /// rounding has made it indefinite, the diagonal grows until it is not.
    pub fn new(a: &[f64], n: usize, stride: usize, added: impl Fn(usize) -> f64) -> Self {
        let average = (0..n).map(|i| a[i * stride + i]).sum::<f64>() / n as f64;
        let mut boost = 0.0;
        for _ in 0..ATTEMPTS {
            // faer works column by column: the row-major lower triangle is the column-major upper one, so transpose.
            let mut lower = vec![0.0; n * n];
            for i in 0..n {
                let row = &a[i * stride..i * stride + i + 1];
                row.iter().enumerate().for_each(|(j, &v)| lower[j * n + i] = v);
                lower[i * n + i] += added(i) + boost;
            }
            if cholesky(&mut lower, n) {
                return Self { n, lower };
            }
            boost = if boost == 0.0 { 1e-10 * average.max(f64::MIN_POSITIVE) } else { 100.0 * boost };
        }
        // Only numbers that are not finite get here; the solution is then not finite either, and nobody takes it.
        Self { n, lower: vec![f64::NAN; n * n] }
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
}
