//! Features and predictions of a chunk.
#![allow(unsafe_code)]

use super::dispatch::Kernel;
use super::frequencies::Panel;
use super::lanes::Simd;
use super::sincos::in_place;
use super::tape::Scratch;
use super::tile::{Scalars, Tiles, cover, dots, product};
use super::{CHUNK, Frequencies, PANEL, Tape};

/// Columns of `x` per pass: a panel's block of `omega` (24 KiB) then stays in the first-level cache while all rows of
/// the chunk use it.
const DEPTH: usize = 128;

/// Tiles of `P = x omega + phase` for one panel and one block of columns.
struct Arguments<'a> {
    panel: Panel<'a>,
    x: &'a [f32],
    columns: usize,
    from: usize,
    steps: usize,
    out: &'a mut [f32],
    stride: usize,
}

impl<S: Simd> Tiles<S> for Arguments<'_> {
    #[inline(always)]
    unsafe fn tile<const R: usize, const N: usize>(&mut self, s: S, row: usize, unit: usize) {
        let at = unit * S::LANES;
        let x = Scalars { data: self.x, first: row * self.columns + self.from, row: self.columns, step: 1 };
        // SAFETY: rows and columns lie inside `x`, `out` and the panel by the conditions of `arguments`.
        unsafe {
            let mut sum = [[s.zero(); N]; R];
            for (r, sum) in sum.iter_mut().enumerate() {
                for (v, sum) in sum.iter_mut().enumerate() {
                    let column = at + v * S::LANES;
                    *sum = if self.from == 0 {
                        s.load(self.panel.phase, column)
                    } else {
                        s.load(self.out, (row + r) * self.stride + column)
                    };
                }
            }
            let omega = (self.from * self.panel.width + at, self.panel.width);
            let sum = product(s, self.steps, x, self.panel.omega, omega, sum);
            for (r, sum) in sum.iter().enumerate() {
                for (v, &sum) in sum.iter().enumerate() {
                    s.store(sum, self.out, (row + r) * self.stride + at + v * S::LANES);
                }
            }
        }
    }
}

/// Writes `P` of one panel to rows of `out` that are `stride` apart.
///
/// # Safety
/// `x` has `rows` rows of `columns`, which the panel has too; `out` has `rows - 1` strides and a width.
#[inline(always)]
unsafe fn arguments<S: Simd>(
    s: S,
    panel: Panel<'_>,
    x: &[f32],
    columns: usize,
    rows: usize,
    out: &mut [f32],
    stride: usize,
) {
    for from in (0..columns).step_by(DEPTH) {
        let steps = DEPTH.min(columns - from);
        let mut tiles = Arguments { panel, x, columns, from, steps, out, stride };
        // SAFETY: the caller's promise.
        unsafe { cover(s, rows, panel.width / S::LANES, &mut tiles) };
    }
}

/// Turns the arguments in `cos` into cosines, and writes the sines to `sin` (rows of `width`) if they are wanted.
///
/// # Safety
/// `cos` has `rows - 1` strides and a width, `sin` (with `SINE`) `rows` widths.
#[inline(always)]
unsafe fn waves<S: Simd, const SINE: bool>(
    s: S,
    rows: usize,
    width: usize,
    cos: &mut [f32],
    stride: usize,
    sin: &mut [f32],
) {
    for row in 0..rows {
        let mut column = 0;
        while column + 3 * S::LANES <= width {
            // SAFETY: the caller's promise.
            unsafe { in_place::<S, 3, SINE>(s, cos, row * stride + column, sin, row * width + column) };
            column += 3 * S::LANES;
        }
        while column < width {
            // SAFETY: the caller's promise.
            unsafe { in_place::<S, 1, SINE>(s, cos, row * stride + column, sin, row * width + column) };
            column += S::LANES;
        }
    }
}

/// Tiles of rows x outputs: adds one panel's part of `beta . cos P` to `lanes`, one vector per row and output.
struct Head<'a> {
    cos: &'a [f32],
    width: usize,
    beta: &'a [f32],
    first: usize,
    padded: usize,
    outputs: usize,
    lanes: &'a mut [f32],
}

impl<S: Simd> Tiles<S> for Head<'_> {
    #[inline(always)]
    unsafe fn tile<const R: usize, const N: usize>(&mut self, s: S, row: usize, output: usize) {
        // SAFETY: `cos` has a row of `width`, `lanes` a vector per output and `beta` a row of `padded`, for all of
        // the rows and outputs that are covered.
        unsafe {
            let mut sum = [[s.zero(); N]; R];
            for (r, sum) in sum.iter_mut().enumerate() {
                for (c, sum) in sum.iter_mut().enumerate() {
                    *sum = s.load(self.lanes, ((row + r) * self.outputs + output + c) * S::LANES);
                }
            }
            let (cos, beta) =
                ((row * self.width, self.width), (output * self.padded + self.first, self.padded));
            let sum = dots(s, self.width, self.cos, cos, self.beta, beta, &[], sum);
            for (r, sum) in sum.iter().enumerate() {
                for (c, &sum) in sum.iter().enumerate() {
                    s.store(sum, self.lanes, ((row + r) * self.outputs + output + c) * S::LANES);
                }
            }
        }
    }
}

/// See [`super::predict`] and, with a tape, [`super::forward`].
pub(super) struct Predict<'a> {
    pub(super) frequencies: &'a Frequencies,
    pub(super) scaled: &'a [f32],
    pub(super) rows: usize,
    pub(super) beta: &'a [f32],
    pub(super) outputs: usize,
    pub(super) pred: &'a mut [f32],
    pub(super) tape: Option<&'a mut Tape>,
}

impl Kernel for Predict<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { frequencies, scaled, rows, beta, outputs, pred, tape } = self;
        let (columns, padded) = (frequencies.columns(), frequencies.padded());
        assert!(rows <= CHUNK);
        assert_eq!(scaled.len(), rows * columns);
        assert_eq!(beta.len(), outputs * padded);
        assert_eq!(pred.len(), rows * outputs);

        let mut own = Tape::default();
        let (keep, tape) = match tape {
            Some(tape) => (true, tape),
            None => (false, &mut own),
        };
        // Without a tape to keep, one panel's place serves all.
        tape.prepare(rows, if keep { padded } else { PANEL });
        tape.scratch.lanes.resize(rows * outputs * S::LANES);
        tape.scratch.lanes.fill(0.0);

        for panel in frequencies.panels() {
            let Panel { first, width, .. } = panel;
            let (cos, sin, Scratch { lanes, .. }) = tape.panel_mut(if keep { first } else { 0 }, width);
            // SAFETY: the lengths asserted above; a panel of the tape holds CHUNK rows of `width`.
            unsafe {
                arguments(s, panel, scaled, columns, rows, cos, width);
                if keep {
                    waves::<S, true>(s, rows, width, cos, width, sin);
                } else {
                    waves::<S, false>(s, rows, width, cos, width, sin);
                }
                cover(s, rows, outputs, &mut Head { cos, width, beta, first, padded, outputs, lanes });
            }
        }
        let lanes = &tape.scratch.lanes;
        for (i, pred) in pred.iter_mut().enumerate() {
            // SAFETY: there is a vector per row and output.
            *pred += s.sum(unsafe { s.load(lanes, i * S::LANES) });
        }
    }
}

/// See [`super::features`].
pub(super) struct Features<'a> {
    pub(super) frequencies: &'a Frequencies,
    pub(super) scaled: &'a [f32],
    pub(super) rows: usize,
    pub(super) z: &'a mut [f32],
}

impl Kernel for Features<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { frequencies, scaled, rows, z } = self;
        let (columns, features, padded) =
            (frequencies.columns(), frequencies.features(), frequencies.padded());
        assert_eq!(scaled.len(), rows * columns);
        assert_eq!(z.len(), rows * padded);
        for panel in frequencies.panels() {
            let z = &mut z[panel.first.min(rows * padded)..];
            // SAFETY: the lengths asserted above.
            unsafe {
                arguments(s, panel, scaled, columns, rows, z, padded);
                waves::<S, false>(s, rows, panel.width, z, padded, &mut []);
            }
        }
        for z in z.chunks_exact_mut(padded) {
            z[features..].fill(0.0); // the cosine of the padding is one
        }
    }
}
