//! The Gaussian kernel between rows, in tiles.
//!
//! `|a - b|^2 = |a|^2 + |b|^2 - 2 a.b`: a product of matrices and a pass of exponentials, tile by tile while the tile is
//! in the cache. Tiles are the same for any number of threads, so the bits are too.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use pulp::Arch;
use rayon::prelude::*;

use crate::Rows;

/// Rows and columns of a tile: 128 KiB of output.
const TILE: (usize, usize) = (64, 256);

/// `exp(-gamma |a_i - b_j|^2)`, row-major, `a.len() x b.len()`.
pub(crate) fn gaussian(a: &Rows, b: &Rows, gamma: f64) -> Vec<f64> {
    let mut out = vec![0.0; a.len() * b.len()];
    fill(&Points::new(a, gamma), &Points::new(b, gamma), &mut out, false);
    out
}

/// The kernel between `a` and itself, right of the diagonal and on it; zero elsewhere. Read column by column, that is the
/// lower triangle.
pub(crate) fn gaussian_triangle(a: &Rows, gamma: f64) -> Vec<f64> {
    let points = Points::new(a, gamma);
    let mut out = vec![0.0; a.len() * a.len()];
    fill(&points, &points, &mut out, true);
    out
}

/// Products of the kernel with `coefficients` (`b.len() x outputs`, row-major) without the kernel itself in memory.
pub(crate) fn gaussian_times(a: &Rows, b: &Rows, gamma: f64, coefficients: &[f64]) -> Vec<f64> {
    let outputs = coefficients.len() / b.len().max(1);
    let mut out = vec![0.0; a.len() * outputs];
    if out.is_empty() {
        return out;
    }
    let (left, right) = (Points::new(a, gamma), Points::new(b, gamma));
    let coefficients = MatRef::from_row_major_slice(coefficients, b.len(), outputs);
    out.par_chunks_mut(TILE.0 * outputs).enumerate().for_each_init(
        || vec![0.0; TILE.0 * TILE.1],
        |tile, (t, out)| {
            let rows = out.len() / outputs;
            let mut out = MatMut::from_row_major_slice_mut(out, rows, outputs);
            for first in (0..b.len()).step_by(TILE.1) {
                let columns = TILE.1.min(b.len() - first);
                let tile = &mut tile[..rows * columns];
                let top = t * TILE.0;
                left.tile(top..top + rows, &right, first..first + columns, columns, tile);
                let tile = MatRef::from_row_major_slice(tile, rows, columns);
                let part = coefficients.subrows(first, columns);
                matmul(out.as_mut(), Accum::Add, tile, part, 1.0, Par::Seq);
            }
        },
    );
    out
}

/// All tiles of the kernel between `a` and `b`; with `triangle`, those that reach the diagonal or lie right of it.
fn fill(a: &Points, b: &Points, out: &mut [f64], triangle: bool) {
    let m = b.rows();
    if m == 0 {
        return;
    }
    out.par_chunks_mut(TILE.0 * m).enumerate().for_each(|(t, out)| {
        let (top, rows) = (t * TILE.0, out.len() / m);
        let start = if triangle { top } else { 0 };
        for left in (start..m).step_by(TILE.1) {
            let columns = TILE.1.min(m - left);
            let end = (rows - 1) * m + left + columns;
            a.tile(top..top + rows, b, left..left + columns, m, &mut out[left..end]);
        }
        if triangle {
            for (i, row) in out.chunks_exact_mut(m).enumerate() {
                row[top..top + i].fill(0.0);
                row[top + i] = 1.0;
            }
        }
    });
}

/// Rows times `sqrt(2 gamma)`, and half of their squared lengths: `exp(a.b - |a|^2/2 - |b|^2/2)` is the kernel.
pub(crate) struct Points {
    values: Vec<f64>,
    halves: Vec<f64>,
    columns: usize,
}

impl Points {
    pub(crate) fn new(rows: &Rows, gamma: f64) -> Self {
        let root = (2.0 * gamma).sqrt();
        let values: Vec<f64> = rows.values.iter().map(|&v| f64::from(v) * root).collect();
        let half = |row: &[f64]| 0.5 * row.iter().map(|v| v * v).sum::<f64>();
        Self { halves: values.chunks_exact(rows.columns).map(half).collect(), values, columns: rows.columns }
    }

    fn rows(&self) -> usize {
        self.halves.len()
    }

    fn matrix(&self, first: usize, rows: usize) -> MatRef<'_, f64> {
        let part = &self.values[first * self.columns..(first + rows) * self.columns];
        MatRef::from_row_major_slice(part, rows, self.columns)
    }

    /// One tile of the kernel, between some rows of `self` and some of `other`, in rows that are `stride` apart.
    pub(crate) fn tile(
        &self,
        mine: Range<usize>,
        other: &Self,
        others: Range<usize>,
        stride: usize,
        out: &mut [f64],
    ) {
        let (rows, columns) = (mine.len(), others.len());
        // As columns and then transposed: the view by rows that faer 0.24 offers mixes up its strides.
        let product =
            MatMut::from_column_major_slice_with_stride_mut(out, columns, rows, stride).transpose_mut();
        let right = other.matrix(others.start, columns).transpose();
        matmul(product, Accum::Replace, self.matrix(mine.start, rows), right, 1.0, Par::Seq);
        let (a, b) = (&self.halves[mine], &other.halves[others]);
        for (row, a) in out.chunks_mut(stride).zip(a) {
            exponentials(&mut row[..columns], *a, b);
        }
    }
}

/// `exp(row_j - a - b_j)`, which is never above 1.
fn exponentials(row: &mut [f64], a: f64, b: &[f64]) {
    Arch::new().dispatch(
        #[inline(always)]
        || row.iter_mut().zip(b).for_each(|(v, b)| *v = exp((*v - a - b).min(0.0))),
    );
}

/// The exponential of a number that is at most 0, in a form that compiles to vectors: within 3e-16 of the result, and
/// 3e-308 for what is smaller than that.
#[inline(always)]
fn exp(x: f64) -> f64 {
    // Adding this rounds to whole numbers, which then stand in the lowest bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    /// 1/12!, 1/11!, ... 1/0!.
    const SERIES: [f64; 13] = [
        2.087_675_698_786_81e-9,
        2.505_210_838_544_172e-8,
        2.755_731_922_398_589e-7,
        2.755_731_922_398_589_3e-6,
        2.480_158_730_158_73e-5,
        1.984_126_984_126_984e-4,
        1.388_888_888_888_889e-3,
        8.333_333_333_333_333e-3,
        4.166_666_666_666_666_4e-2,
        1.666_666_666_666_666_6e-1,
        0.5,
        1.0,
        1.0,
    ];
    let x = x.max(-708.0);
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let power = shifted - ROUND;
    let rest = (x - power * LN_2_HIGH) - power * LN_2_LOW;
    let series = SERIES[1..].iter().fold(SERIES[0], |sum, c| sum * rest + c);
    f64::from_bits(series.to_bits().wrapping_add(shifted.to_bits() << 52))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{normal_rows, threads};

    fn exact(a: &Rows, b: &Rows, gamma: f64) -> Vec<f64> {
        let value = |a: &[f32], b: &[f32]| {
            let square: f64 = a.iter().zip(b).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum();
            (-gamma * square).exp()
        };
        (0..a.len()).flat_map(|i| (0..b.len()).map(move |j| value(a.row(i), b.row(j)))).collect()
    }

    fn close(a: &[f64], b: &[f64], tolerance: f64) {
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() <= tolerance, "{a} {b}");
        }
    }

    #[test]
    fn the_exponential_is_right_to_the_last_digits() {
        for i in 0..=70_000 {
            let x = -0.01 * f64::from(i);
            let (ours, exact) = (exp(x), x.exp());
            assert!((ours - exact).abs() <= 4e-16 * exact + 4e-308, "{x}: {ours} {exact}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(f64::NEG_INFINITY) < 1e-300 && exp(-1e9) < 1e-300);
    }

    #[test]
    fn tiles_are_the_kernel() {
        for (n, m, d) in [(1, 1, 1), (3, 300, 2), (130, 257, 5), (65, 512, 33)] {
            let (a, b) = (normal_rows(n, d, 1), normal_rows(m, d, 2));
            close(&gaussian(&a, &b, 0.3), &exact(&a, &b, 0.3), 1e-14);
        }
    }

    #[test]
    fn the_triangle_is_the_upper_half() {
        let a = normal_rows(333, 7, 3);
        let (half, whole) = (gaussian_triangle(&a, 0.2), exact(&a, &a, 0.2));
        for i in 0..333 {
            assert!(half[i * 333..i * 333 + i].iter().all(|&v| v == 0.0));
            close(&half[i * 334..(i + 1) * 333], &whole[i * 334..(i + 1) * 333], 1e-14);
        }
    }

    #[test]
    fn products_are_those_of_the_whole_kernel() {
        let (a, b) = (normal_rows(100, 4, 4), normal_rows(600, 4, 5));
        let c: Vec<f64> = (0..1200).map(|i| f64::from(i % 7) - 3.0).collect();
        let whole = exact(&a, &b, 0.5);
        let product = |i: usize, k: usize| (0..600).map(|j| whole[i * 600 + j] * c[2 * j + k]).sum::<f64>();
        let expected: Vec<f64> = (0..200).map(|at| product(at / 2, at % 2)).collect();
        close(&gaussian_times(&a, &b, 0.5, &c), &expected, 1e-11);
    }

    #[test]
    fn no_rows_make_no_kernel() {
        let (none, some) = (normal_rows(0, 3, 1), normal_rows(4, 3, 2));
        assert!(gaussian(&none, &some, 1.0).is_empty() && gaussian(&some, &none, 1.0).is_empty());
        assert!(gaussian_times(&none, &some, 1.0, &[0.0; 4]).is_empty());
    }

    #[test]
    fn equal_bits_for_any_number_of_threads() {
        let (a, b) = (normal_rows(200, 9, 6), normal_rows(300, 9, 7));
        let c = vec![0.7; 300];
        let work = || (gaussian(&a, &b, 0.1), gaussian_triangle(&a, 0.1), gaussian_times(&a, &b, 0.1, &c));
        assert_eq!(threads(1, work), threads(2, work));
    }
}
