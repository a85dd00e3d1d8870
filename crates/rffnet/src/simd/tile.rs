//! The register tile: the inner loop of every matrix product here.
#![allow(unsafe_code)]

use super::lanes::Simd;

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
                for (sum, vector) in sum.iter_mut().zip(vectors) {
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
pub(super) fn height<S: Simd>(left: usize) -> usize {
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
        // SAFETY: `unit` grows by the width of the strip just done.
        unsafe {
            match S::WIDTH.min(units - unit) {
                1 => strip::<S, 1>(s, rows, unit, work),
                2 => strip::<S, 2>(s, rows, unit, work),
                _ => strip::<S, 3>(s, rows, unit, work),
            }
        }
        unit += S::WIDTH;
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
