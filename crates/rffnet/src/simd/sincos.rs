//! Sine and cosine of a vector, both at once.
//!
//! With `n = round(x / pi)` and `r = x - n pi` in `[-pi/2, pi/2]`, `sin x = (-1)^n sin r` and
//! `cos x = (-1)^n cos r`: one reduction and one sign for both, and no choice between two polynomials. The
//! coefficients are minimax in absolute error over that interval, each rounded to `f32` before the next was fitted.
#![allow(unsafe_code)]

use super::LINE;
use super::dispatch::Kernel;
use super::lanes::Simd;
use std::f32::consts::FRAC_1_PI;

/// Up to here the error stays below 1.5e-7; beyond, the rare lane is computed in double precision.
pub(super) const LIMIT: f32 = 1e4;

/// Adding 1.5 * 2^23 rounds to a whole number and leaves its parity in the lowest bit.
const ROUND: f32 = 12_582_912.0;
const SIN: [f32; 4] = [-0.166_666_57, 0.008_333_01, -0.000_198_061_27, 2.599_074_8e-6];
const COS: [f32; 5] = [-0.5, 0.041_666_657, -0.001_388_858_5, 2.477_017_6e-5, -2.620_884_6e-7];

/// `(sin x, cos x)` where `|x| <= LIMIT`, anything elsewhere. Several vectors go through each step together, since
/// every step waits for the one before.
///
/// Plain loops: a closure is a function of its own, compiled without the instructions of the one around it, and where
/// the compiler does not happen to inline it, each operation becomes a call.
#[inline(always)]
fn near<S: Simd, const N: usize>(s: S, x: [S::V; N]) -> ([S::V; N], [S::V; N]) {
    let round = s.splat(ROUND);
    let (mut parity, mut r, mut r2) = (x, x, x);
    for v in 0..N {
        parity[v] = s.fma(x[v], s.splat(FRAC_1_PI), round);
        r[v] = s.minus_pi_times(x[v], s.sub(parity[v], round));
        r2[v] = s.mul(r[v], r[v]);
    }
    let mut sin = [s.splat(SIN[3]); N];
    let mut cos = [s.splat(COS[4]); N];
    for (sin_c, cos_c) in [(SIN[2], COS[3]), (SIN[1], COS[2]), (SIN[0], COS[1])] {
        for v in 0..N {
            sin[v] = s.fma(sin[v], r2[v], s.splat(sin_c));
            cos[v] = s.fma(cos[v], r2[v], s.splat(cos_c));
        }
    }
    for v in 0..N {
        sin[v] = s.flip(s.fma(sin[v], s.mul(r2[v], r[v]), r[v]), parity[v]);
        cos[v] = s.fma(s.fma(cos[v], r2[v], s.splat(COS[0])), r2[v], s.splat(1.0));
        cos[v] = s.flip(cos[v], parity[v]);
    }
    (sin, cos)
}

/// Recomputes the lanes that [`near`] cannot do.
#[cold]
#[inline(never)]
pub(super) fn far(x: &[f32], mut sin: Option<&mut [f32]>, cos: &mut [f32]) {
    for (i, &x) in x.iter().enumerate() {
        if x.abs() <= LIMIT {
            continue;
        }
        let (sin_x, cos_x) = f64::from(x).sin_cos();
        cos[i] = cos_x as f32;
        if let Some(sin) = &mut sin {
            sin[i] = sin_x as f32;
        }
    }
}

/// Turns the `N` vectors of arguments at `cos[i..]` into their cosines, and writes the sines, where wanted, to
/// `sin[i_sin..]`.
///
/// # Safety
/// `i + N * LANES <= cos.len()` and, with `SINE`, `i_sin + N * LANES <= sin.len()`.
#[inline(always)]
pub(super) unsafe fn in_place<S: Simd, const N: usize, const SINE: bool>(
    s: S,
    cos: &mut [f32],
    i: usize,
    sin: &mut [f32],
    i_sin: usize,
) {
    let mut x = [s.zero(); N];
    for (v, x) in x.iter_mut().enumerate() {
        // SAFETY: the caller's promise, here and below.
        *x = unsafe { s.load(cos, i + v * S::LANES) };
    }
    let (sin_x, cos_x) = near(s, x);
    for v in 0..N {
        // SAFETY: as above.
        unsafe { s.store(cos_x[v], cos, i + v * S::LANES) };
        if SINE {
            // SAFETY: as above.
            unsafe { s.store(sin_x[v], sin, i_sin + v * S::LANES) };
        }
    }
    for (v, &x) in x.iter().enumerate() {
        if !s.within(x, LIMIT) {
            let mut arguments = [0.0; LINE];
            // SAFETY: no vector is longer than LINE.
            unsafe { s.store(x, &mut arguments, 0) };
            let (n, at, at_sin) = (S::LANES, i + v * S::LANES, i_sin + v * S::LANES);
            far(&arguments[..n], SINE.then(|| &mut sin[at_sin..at_sin + n]), &mut cos[at..at + n]);
        }
    }
}

/// See [`super::sincos`].
pub(super) struct SinCos<'a> {
    pub(super) x: &'a [f32],
    pub(super) sin: &'a mut [f32],
    pub(super) cos: &'a mut [f32],
}

impl Kernel for SinCos<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { x, sin, cos } = self;
        assert!(x.len() == sin.len() && x.len() == cos.len());
        cos.copy_from_slice(x);
        let whole = x.len() - x.len() % S::LANES;
        let triples = whole - whole % (3 * S::LANES);
        for i in (0..triples).step_by(3 * S::LANES) {
            // SAFETY: `i + 3 * LANES <= whole`, which is no more than each length.
            unsafe { in_place::<S, 3, true>(s, cos, i, sin, i) };
        }
        for i in (triples..whole).step_by(S::LANES) {
            // SAFETY: `i + LANES <= whole`, which is no more than each length.
            unsafe { in_place::<S, 1, true>(s, cos, i, sin, i) };
        }
        let (mut sin_end, mut cos_end) = ([0.0; LINE], [0.0; LINE]);
        let rest = x.len() - whole;
        cos_end[..rest].copy_from_slice(&x[whole..]);
        // SAFETY: no vector is longer than LINE.
        unsafe { in_place::<S, 1, true>(s, &mut cos_end, 0, &mut sin_end, 0) };
        sin[whole..].copy_from_slice(&sin_end[..rest]);
        cos[whole..].copy_from_slice(&cos_end[..rest]);
    }
}
