//! Partial derivatives of the predictions, for importances.
#![allow(unsafe_code)]

use super::dispatch::Kernel;
use super::frequencies::Panel;
use super::lanes::Simd;
use super::tile::{Tiles, cover, dots};
use super::{CHUNK, Frequencies, Tape};

/// Tiles of rows x columns: `out_ij = sum_s omega_js beta_s sin P_is` for one output.
struct Output<'a> {
    frequencies: &'a Frequencies,
    beta: &'a [f32],
    tape: &'a Tape,
    columns: usize,
    out: &'a mut [f32],
}

impl<S: Simd> Tiles<S> for Output<'_> {
    #[inline(always)]
    unsafe fn tile<const R: usize, const N: usize>(&mut self, s: S, row: usize, column: usize) {
        let mut sum = [[s.zero(); N]; R];
        for panel in self.frequencies.panels() {
            let Panel { first, width, omega, .. } = panel;
            let (_, sin) = self.tape.panel(first, width);
            let beta = &self.beta[first..first + width];
            // SAFETY: a panel of the tape holds CHUNK rows of its width, one of the frequencies a row per column.
            sum = unsafe {
                dots(s, width, sin, (row * width, width), omega, (column * width, width), beta, sum)
            };
        }
        for (i, sum) in sum.iter().enumerate() {
            for (j, &sum) in sum.iter().enumerate() {
                self.out[(row + i) * self.columns + column + j] = s.sum(sum);
            }
        }
    }
}

/// See [`super::slopes`].
pub(super) struct Slopes<'a> {
    pub(super) frequencies: &'a Frequencies,
    pub(super) rows: usize,
    pub(super) beta: &'a [f32],
    pub(super) tape: &'a Tape,
    pub(super) out: &'a mut [f32],
}

impl Kernel for Slopes<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { frequencies, rows, beta, tape, out } = self;
        let (columns, padded) = (frequencies.columns(), frequencies.padded());
        assert!(rows <= CHUNK);
        assert_eq!(beta.len(), padded);
        assert_eq!(out.len(), rows * columns);
        tape.check(rows, padded);
        let mut tiles = Output { frequencies, beta, tape, columns, out };
        // SAFETY: the lengths just asserted, and those of the tape that `check` implies.
        unsafe { cover(s, rows, columns, &mut tiles) };
    }
}
