//! The register tile: the inner loop of every matrix product here.
#![allow(unsafe_code)]

use super::lanes::Simd;
use std::ops::Range;

/// Numbers to be broadcast: the one for tile row `r` and step `t` is `data[first + r * row + t * step]`.
#[derive(Clone, Copy)]
pub(super) struct Scalars<'a> {
    pub(super) data: &'a [f32],
    pub(super) first: usize,
    pub(super) row: usize,
    pub(super) step: usize,
}

/// `sum[r][v] + sum over t of a(r, t) * b[first + t * stride + v * LANES..]`, the steps taken in order: an entry's
/// value does not depend on the shape of the tile it is computed in.
///
/// # Safety
/// All of those places are inside `a.data` and `b` for `r < R`, `v < N` and `t < steps`.
#[inline(always)]
pub(super) unsafe fn product<S: Simd, const R: usize, const N: usize>(
    s: S,
    steps: usize,
    a: Scalars<'_>,
    b: &[f32],
    (first, stride): (usize, usize),
    mut sum: [[S::V; N]; R],
) -> [[S::V; N]; R] {
    for t in 0..steps {
        // SAFETY: the caller's promise.
        unsafe {
            let mut vectors = [s.zero(); N];
            for (v, vector) in vectors.iter_mut().enumerate() {
                *vector = s.load(b, first + t * stride + v * S::LANES);
            }
            for (r, sum) in sum.iter_mut().enumerate() {
                let a = s.broadcast(a.data, a.first + r * a.row + t * a.step);
                for (sum, &vector) in sum.iter_mut().zip(&vectors) {
                    *sum = s.fma(a, vector, *sum);
                }
            }
        }
    }
    sum
}

/// `sum[r][n] + sum over t of a[first_a + r * row_a + t] * b[first_b + n * row_b + t] * weight[t]`, for `t < length`, in
/// lanes that are still to be summed; an empty `weight` stands for ones.
///
/// # Safety
/// All of those places are inside their slices for `r < R` and `n < N`; `length` is a multiple of `LANES`.
#[inline(always)]
pub(super) unsafe fn dots<S: Simd, const R: usize, const N: usize>(
    s: S,
    length: usize,
    a: &[f32],
    (first_a, row_a): (usize, usize),
    b: &[f32],
    (first_b, row_b): (usize, usize),
    weight: &[f32],
    mut sum: [[S::V; N]; R],
) -> [[S::V; N]; R] {
    for t in (0..length).step_by(S::LANES) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut vectors = [s.zero(); N];
            for (n, vector) in vectors.iter_mut().enumerate() {
                *vector = s.load(b, first_b + n * row_b + t);
                if !weight.is_empty() {
                    *vector = s.mul(*vector, s.load(weight, t));
                }
            }
            for (r, sum) in sum.iter_mut().enumerate() {
                let a = s.load(a, first_a + r * row_a + t);
                for (sum, &vector) in sum.iter_mut().zip(&vectors) {
                    *sum = s.fma(a, vector, *sum);
                }
            }
        }
    }
    sum
}

/// Work that is cut into tiles.
pub(super) trait Tiles<S: Simd> {
    /// Does the tile of `R` rows and `N` units that begins at (`row`, `unit`).
    ///
    /// # Safety
    /// `row + R` and `unit + N` do not exceed what was given to [`cover`], and the implementor's own conditions hold.
    unsafe fn tile<const R: usize, const N: usize>(&mut self, s: S, row: usize, unit: usize);
}

/// Height of the next tile when `left` rows remain: few shapes, since each is compiled for every path and product.
#[inline(always)]
fn height<S: Simd>(left: usize) -> usize {
    if left >= S::ROWS { S::ROWS } else { left.min(2) }
}

/// Covers `rows` x `units` (vectors, or whatever a tile counts in) with tiles, top to bottom and then left to right.
///
/// # Safety
/// The conditions of [`Tiles::tile`].
#[inline(always)]
pub(super) unsafe fn cover<S: Simd>(s: S, rows: usize, units: usize, work: &mut impl Tiles<S>) {
    let mut unit = 0;
    while unit < units {
        let width = if units - unit >= S::WIDTH { S::WIDTH } else { 1 };
        // SAFETY: `unit + width <= units`.
        unsafe {
            match width {
                1 => strip::<S, 1>(s, rows, unit, work),
                2 => strip::<S, 2>(s, rows, unit, work),
                _ => strip::<S, 3>(s, rows, unit, work),
            }
        }
        unit += width;
    }
}

#[inline(always)]
unsafe fn strip<S: Simd, const N: usize>(s: S, rows: usize, unit: usize, work: &mut impl Tiles<S>) {
    let mut row = 0;
    while row < rows {
        let height = height::<S>(rows - row);
        // SAFETY: `row + height <= rows`.
        unsafe {
            match height {
                1 => work.tile::<1, N>(s, row, unit),
                2 => work.tile::<2, N>(s, row, unit),
                4 => work.tile::<4, N>(s, row, unit),
                6 => work.tile::<6, N>(s, row, unit),
                _ => work.tile::<8, N>(s, row, unit),
            }
        }
        row += height;
    }
}

/// Copies columns of `x` (rows `stride` apart) into blocks of the heights that [`cover`] takes, each block row by row:
/// the broadcasts of a tile then come from one short stretch of memory. Rows are multiplied by their `weight`.
#[inline(always)]
pub(super) fn pack<S: Simd>(
    x: &[f32],
    stride: usize,
    columns: Range<usize>,
    weight: Option<&[f32]>,
    to: &mut [f32],
) {
    let rows = x.len() / stride;
    let mut column = columns.start;
    while column < columns.end {
        let height = height::<S>(columns.end - column);
        let block = &mut to[(column - columns.start) * rows..][..height * rows];
        match height {
            1 => pack_block::<1>(x, stride, column, weight, block),
            2 => pack_block::<2>(x, stride, column, weight, block),
            4 => pack_block::<4>(x, stride, column, weight, block),
            6 => pack_block::<6>(x, stride, column, weight, block),
            _ => pack_block::<8>(x, stride, column, weight, block),
        }
        column += height;
    }
}

#[inline(always)]
fn pack_block<const R: usize>(
    x: &[f32],
    stride: usize,
    column: usize,
    weight: Option<&[f32]>,
    to: &mut [f32],
) {
    let (to, _) = to.as_chunks_mut::<R>();
    let rows = x.chunks_exact(stride).map(|x| &x[column..column + R]);
    match weight {
        None => to.iter_mut().zip(rows).for_each(|(to, x)| to.copy_from_slice(x)),
        Some(weight) => {
            for ((to, x), weight) in to.iter_mut().zip(rows).zip(weight) {
                for (to, x) in to.iter_mut().zip(x) {
                    *to = x * weight;
                }
            }
        }
    }
}
