//! The Gram matrix of the random features, in double precision.
//!
//! Blocks of rows are multiplied in `f32`, where the arithmetic is fast, and added up in `f64`, where sums of
//! millions of rows stay exact enough for a Cholesky factorisation. Only the lower triangle is computed.
#![allow(unsafe_code)]

use super::dispatch::Kernel;
use super::lanes::{Simd, prefetch};
use super::tile::{Scalars, Tiles, cover, pack, product};
use super::{Aligned, LINE, PANEL};
use std::ops::Range;

/// Rows summed in `f32`: few enough for rounding, and enough to make up for the traffic of the output, which is read
/// and written once per block. The panels (48 KiB) come from the second-level cache, which is fast enough.
const BLOCK: usize = 256;

/// Packed blocks of rows, reused from call to call; one per thread.
#[derive(Clone, Debug, Default)]
pub struct GramScratch {
    /// The columns that the output's rows stand for, in blocks of a tile's height.
    left: Aligned,
    /// The columns that the output's columns stand for, in panels.
    right: Aligned,
}

/// Ranges of rows of an `m x m` lower triangle with about the same number of entries each, one per thread: at most
/// `parts` of them, none empty.
pub fn gram_ranges(m: usize, parts: usize) -> Vec<Range<usize>> {
    // A common multiple of the tile heights, so that no tile is cut.
    const STEP: usize = 24;
    let mut ranges = Vec::with_capacity(parts);
    let mut start = 0;
    for part in 1..=parts {
        let share = m as f64 * (part as f64 / parts as f64).sqrt();
        let end = if part == parts { m } else { m.min((share / STEP as f64).round() as usize * STEP) };
        if end > start {
            ranges.push(start..end);
            start = end;
        }
    }
    ranges
}

/// Tiles of the output: rows from `top`, one panel of columns from `first`.
struct Triangle<'a> {
    rows: usize,
    left: &'a [f32],
    right: &'a [f32],
    width: usize,
    /// The row of the matrix where `gram` begins, and the one where the tiles do.
    start: usize,
    top: usize,
    first: usize,
    m: usize,
    gram: &'a mut [f64],
}

impl<S: Simd> Tiles<S> for Triangle<'_> {
    #[inline(always)]
    unsafe fn tile<const R: usize, const N: usize>(&mut self, s: S, row: usize, unit: usize) {
        let a = self.top + row;
        let at = unit * S::LANES;
        let left = Scalars { data: self.left, first: (a - self.start) * self.rows, row: 1, step: R };
        // The output is far larger than the caches: without this, waiting for it takes a third of the time.
        for r in 0..R {
            for b in (at..at + N * S::LANES).step_by(LINE / 2) {
                prefetch(self.gram, (a + r - self.start) * self.m + self.first + b);
            }
        }
        // SAFETY: `left` is packed in blocks of the heights that `cover` takes, `right` has `rows` rows of `width`.
        let sum = unsafe {
            product::<S, R, N>(s, self.rows, left, self.right, (at, self.width), [[s.zero(); N]; R])
        };
        for (r, sum) in sum.iter().enumerate() {
            let a = a + r;
            let row = &mut self.gram[(a - self.start) * self.m..][..self.m];
            for (v, &sum) in sum.iter().enumerate() {
                let b = self.first + at + v * S::LANES;
                if b + S::LANES <= a + 1 {
                    // SAFETY: `b + LANES <= a + 1 <= m`.
                    unsafe { s.add_wide(sum, row, b) };
                } else {
                    let mut lanes = [0.0; LINE];
                    // SAFETY: no vector is longer than LINE.
                    unsafe { s.store(sum, &mut lanes, 0) };
                    for (b, lane) in (b..=a).zip(lanes) {
                        row[b] += f64::from(lane);
                    }
                }
            }
        }
    }
}

/// See [`super::gram`].
pub(super) struct Gram<'a> {
    pub(super) z: &'a [f32],
    pub(super) rows: usize,
    pub(super) stride: usize,
    pub(super) m: usize,
    pub(super) range: Range<usize>,
    pub(super) gram: &'a mut [f64],
    pub(super) scratch: &'a mut GramScratch,
}

impl Kernel for Gram<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { z, rows, stride, m, range: Range { start, end }, gram, scratch } = self;
        assert!(m <= stride && start <= end && end <= m);
        assert_eq!(z.len(), rows * stride);
        assert_eq!(gram.len(), (end - start) * m);
        let GramScratch { left, right } = scratch;
        left.resize(BLOCK * (end - start));
        right.resize(BLOCK * end.next_multiple_of(LINE));
        for z in z.chunks(BLOCK * stride) {
            let rows = z.len() / stride;
            pack::<S>(z, stride, start..end, None, left);
            for first in (0..end).step_by(PANEL) {
                let width = PANEL.min(end.next_multiple_of(LINE) - first);
                let live = width.min(end - first);
                let right = &mut right[first * BLOCK..][..width * rows];
                for (to, z) in right.chunks_exact_mut(width).zip(z.chunks_exact(stride)) {
                    to[..live].copy_from_slice(&z[first..first + live]);
                    to[live..].fill(0.0);
                }
                // Tiles wholly above the diagonal are left out.
                let top = start + first.saturating_sub(start) / S::ROWS * S::ROWS;
                let mut tiles = Triangle { rows, left, right, width, start, top, first, m, gram };
                // SAFETY: the lengths asserted above and the packing just done; `top` is a whole number of tiles below
                // `start`, so the tiles are those of the packing.
                unsafe { cover(s, end - top, width / S::LANES, &mut tiles) };
            }
        }
    }
}
