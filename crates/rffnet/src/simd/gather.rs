//! Standardised rows of a chunk.
#![allow(unsafe_code)]

use super::dispatch::Kernel;
use super::lanes::Simd;

/// See [`super::gather`].
pub(super) struct Gather<'a> {
    pub(super) x: &'a [f32],
    pub(super) columns: usize,
    pub(super) rows: &'a [usize],
    pub(super) mean: &'a [f32],
    pub(super) inv_std: &'a [f32],
    pub(super) theta: &'a [f32],
    pub(super) out: &'a mut [f32],
    pub(super) scaled: &'a mut [f32],
}

impl Gather<'_> {
    /// The standardised values, and the same times `theta`.
    #[inline(always)]
    fn step<S: Simd>(s: S, x: S::V, mean: S::V, inv_std: S::V, theta: S::V) -> (S::V, S::V) {
        let x = s.nan_to_zero(s.mul(s.sub(x, mean), inv_std));
        (x, s.mul(x, theta))
    }
}

impl Kernel for Gather<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { x, columns, rows, mean, inv_std, theta, out, scaled } = self;
        assert!(columns > 0);
        let n = x.len() / columns;
        assert!(mean.len() == columns && inv_std.len() == columns && theta.len() == columns);
        assert!(out.len() == rows.len() * columns && scaled.len() == out.len());
        assert!(rows.iter().all(|&row| row < n), "row out of range");
        let whole = columns - columns % S::LANES;
        for (i, &row) in rows.iter().enumerate() {
            let (from, to) = (row * columns, i * columns);
            // SAFETY: the lengths and rows just asserted.
            unsafe {
                for j in (0..whole).step_by(S::LANES) {
                    let (mean, inv_std) = (s.load(mean, j), s.load(inv_std, j));
                    let (x, tx) = Self::step(s, s.load(x, from + j), mean, inv_std, s.load(theta, j));
                    s.store(x, out, to + j);
                    s.store(tx, scaled, to + j);
                }
                let (j, n) = (whole, columns - whole);
                if n > 0 {
                    let (mean, inv_std) = (s.load_part(mean, j, n), s.load_part(inv_std, j, n));
                    let (x, theta) = (s.load_part(x, from + j, n), s.load_part(theta, j, n));
                    let (x, tx) = Self::step(s, x, mean, inv_std, theta);
                    s.store_part(x, out, to + j, n);
                    s.store_part(tx, scaled, to + j, n);
                }
            }
        }
    }
}
