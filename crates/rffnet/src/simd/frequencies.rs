//! The frequencies, laid out for the kernels.

use super::{Aligned, LINE, PANEL};

/// `omega` and `phase`, packed.
///
/// The columns of `omega` (one per random feature) are cut into panels of 48, the width of a register tile; a panel
/// holds its `d` rows one after the other, so that the inner loops read memory in order. The number of features is
/// rounded up to a multiple of 16 with zero columns.
#[derive(Clone, Debug)]
pub struct Frequencies {
    columns: usize,
    features: usize,
    omega: Aligned,
    phase: Aligned,
}

/// One panel: up to 48 features, beginning at feature `first`.
#[derive(Clone, Copy)]
pub(super) struct Panel<'a> {
    pub(super) first: usize,
    pub(super) width: usize,
    /// `d` rows of `width`.
    pub(super) omega: &'a [f32],
    pub(super) phase: &'a [f32],
}

impl Frequencies {
    /// Packs `omega` (`d x s`, row-major) and `phase` (`s`); `d` is `omega.len() / phase.len()`.
    ///
    /// # Panics
    /// If there is no feature or no column, or if `omega` does not hold a whole number of rows.
    pub fn new(omega: &[f32], phase: &[f32]) -> Self {
        let features = phase.len();
        assert!(features > 0 && !omega.is_empty(), "no random features, or no columns");
        assert_eq!(omega.len() % features, 0, "omega is not a whole number of rows");
        let (columns, padded) = (omega.len() / features, features.next_multiple_of(LINE));
        let mut packed = Self {
            columns,
            features,
            omega: Aligned::zeros(columns * padded),
            phase: Aligned::zeros(padded),
        };
        packed.set(omega, phase);
        packed
    }

    /// Replaces the values, for a spectrum that is learned; the shape stays.
    ///
    /// # Panics
    /// If the shapes differ from those given to [`Frequencies::new`].
    pub fn set(&mut self, omega: &[f32], phase: &[f32]) {
        let (d, s) = (self.columns, self.features);
        assert_eq!(omega.len(), d * s, "omega");
        assert_eq!(phase.len(), s, "phase");
        self.phase[..s].copy_from_slice(phase);
        for first in (0..s).step_by(PANEL) {
            let (width, live) = (self.width(first), PANEL.min(s - first));
            let panel = &mut self.omega[first * d..][..width * d];
            for (to, from) in panel.chunks_exact_mut(width).zip(omega.chunks_exact(s)) {
                to[..live].copy_from_slice(&from[first..first + live]);
            }
        }
    }

    /// Input columns, `d`.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Random features, `s`.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Length of a row of `beta`: `s` rounded up to a multiple of 16.
    pub fn padded(&self) -> usize {
        self.phase.len()
    }

    /// The panels, from the left.
    pub(super) fn panels(&self) -> impl Iterator<Item = Panel<'_>> {
        (0..self.padded()).step_by(PANEL).map(|first| {
            let width = self.width(first);
            let omega = &self.omega[first * self.columns..][..width * self.columns];
            Panel { first, width, omega, phase: &self.phase[first..first + width] }
        })
    }

    fn width(&self, first: usize) -> usize {
        PANEL.min(self.padded() - first)
    }
}
