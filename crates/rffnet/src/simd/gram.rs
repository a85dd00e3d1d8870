//! The Gram matrix of the random features, in double precision.
//!
//! Blocks of rows are multiplied in `f32`, where the arithmetic is fast, and added up in `f64`, where sums of
//! millions of rows stay exact enough for a Cholesky factorisation. Only the lower triangle is computed.
#![allow(unsafe_code)]

use super::dispatch::Kernel;
use super::lanes::{Simd, prefetch};
use super::tile::{Scalars, Tiles, cover, product};
use super::{LINE, PANEL};
use std::ops::Range;

/// Rows summed in `f32`: few enough for rounding, and enough to make up for the traffic of the output, which is read
/// and written once per block. The panels (48 KiB) come from the second-level cache, which is fast enough.
pub const GRAM_BLOCK: usize = 256;

/// A common multiple of the tile heights that divides a panel, so that neither a range nor a panel cuts a tile.
const STEP: usize = 24;

/// Packs at most [`GRAM_BLOCK`] rows of `z`, `stride` apart, into panels of columns, each row by row, zeros behind column `m`:
/// `rows * m.next_multiple_of(16)` numbers. Once for all threads.
pub fn gram_panels(z: &[f32], stride: usize, m: usize, panels: &mut [f32]) {
    let (rows, padded) = (z.len() / stride, m.next_multiple_of(LINE));
    assert!(m <= stride && rows <= GRAM_BLOCK);
    assert_eq!((z.len(), panels.len()), (rows * stride, rows * padded));
    for (panel, first) in panels.chunks_mut(PANEL * rows).zip((0..m).step_by(PANEL)) {
        let width = PANEL.min(padded - first);
        let live = width.min(m - first);
        for (to, z) in panel.chunks_exact_mut(width).zip(z.chunks_exact(stride)) {
            to[..live].copy_from_slice(&z[first..first + live]);
            to[live..].fill(0.0);
        }
    }
}

/// Ranges of rows of an `m x m` lower triangle with about the same number of entries each, one per thread: at most
/// `parts` of them, none empty.
pub fn gram_ranges(m: usize, parts: usize) -> Vec<Range<usize>> {
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
    /// All panels of a block of rows.
    panels: &'a [f32],
    /// Columns of the panels, with padding.
    padded: usize,
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
        // The panel of the columns that the tile's rows stand for.
        let panel = a / PANEL * PANEL;
        let step = PANEL.min(self.padded - panel);
        let left = Scalars { data: self.panels, first: panel * self.rows + a - panel, row: 1, step };
        let (right, width) = (&self.panels[self.first * self.rows..], PANEL.min(self.padded - self.first));
        // The output is far larger than the caches: without this, waiting for it takes a third of the time.
        for r in 0..R {
            for b in (at..at + N * S::LANES).step_by(LINE / 2) {
                prefetch(self.gram, (a + r - self.start) * self.m + self.first + b);
            }
        }
        // SAFETY: both panels have `rows` rows, `step` and `width` numbers apart, and no tile straddles two of them.
        let sum = unsafe { product::<S, R, N>(s, self.rows, left, right, (at, width), [[s.zero(); N]; R]) };
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
    pub(super) panels: &'a [f32],
    pub(super) m: usize,
    pub(super) range: Range<usize>,
    pub(super) gram: &'a mut [f64],
}

impl Kernel for Gram<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { panels, m, range: Range { start, end }, gram } = self;
        const { assert!(STEP.is_multiple_of(S::ROWS) && PANEL.is_multiple_of(STEP)) };
        let padded = m.next_multiple_of(LINE);
        assert!(start <= end && end <= m && start.is_multiple_of(STEP));
        assert!(panels.len().is_multiple_of(padded));
        assert_eq!(gram.len(), (end - start) * m);
        for panels in panels.chunks(GRAM_BLOCK * padded) {
            let rows = panels.len() / padded;
            for first in (0..end).step_by(PANEL) {
                let width = PANEL.min(end.next_multiple_of(LINE) - first);
                // Tiles wholly above the diagonal are left out.
                let top = start + first.saturating_sub(start) / S::ROWS * S::ROWS;
                let mut tiles = Triangle { rows, panels, padded, start, top, first, m, gram };
                // SAFETY: the lengths asserted above; `top` is a whole number of tiles below `start`.
                unsafe { cover(s, end - top, width / S::LANES, &mut tiles) };
            }
        }
    }
}
