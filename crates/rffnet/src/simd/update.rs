//! Parameter updates: one pass over memory for the optimiser's step and the proximal map after it.
#![allow(unsafe_code)]

use super::dispatch::Kernel;
use super::lanes::Simd;

/// The proximal map `w -> soft(w, l1) * shrink`, where `soft` moves `w` towards zero by `l1` and stops there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prox {
    /// Threshold; zero for none.
    pub l1: f32,
    /// Factor; one for none.
    pub shrink: f32,
}

impl Prox {
    /// The map that changes nothing.
    pub const NONE: Self = Self { l1: 0.0, shrink: 1.0 };

    #[inline(always)]
    fn apply<S: Simd>(self, s: S, w: S::V) -> S::V {
        let inside = s.max(s.min(w, s.splat(self.l1)), s.splat(-self.l1));
        s.mul(s.sub(w, inside), s.splat(self.shrink))
    }
}

/// What Adam's averages of the gradient and of its square take from the newest, the second average's decay, and the
/// guard of the division. `1.0 - 0.999` would be off in the fifth digit.
const NEWEST1: f32 = 0.1;
const NEWEST2: f32 = 0.001;
const DECAY2: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// See [`super::adam`].
pub(super) struct Adam<'a> {
    pub(super) w: &'a mut [f32],
    pub(super) g: &'a [f32],
    pub(super) m: &'a mut [f32],
    pub(super) v: &'a mut [f32],
    pub(super) lr: f32,
    pub(super) bias1: f32,
    pub(super) bias2: f32,
    pub(super) prox: Prox,
}

impl Adam<'_> {
    /// The new `w`, `m` and `v`.
    #[inline(always)]
    fn step<S: Simd>(&self, s: S, w: S::V, g: S::V, m: S::V, v: S::V) -> [S::V; 3] {
        let m = s.fma(s.splat(NEWEST1), s.sub(g, m), m);
        let v = s.fma(s.mul(s.splat(NEWEST2), g), g, s.mul(s.splat(DECAY2), v));
        let scale = s.fma(s.sqrt(v), s.splat(1.0 / self.bias2.sqrt()), s.splat(EPSILON));
        let w = s.sub(w, s.mul(s.splat(self.lr / self.bias1), s.div(m, scale)));
        [self.prox.apply(s, w), m, v]
    }
}

impl Kernel for Adam<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let n = self.w.len();
        assert!(self.g.len() == n && self.m.len() == n && self.v.len() == n);
        let whole = n - n % S::LANES;
        // SAFETY: every place is below the common length just asserted.
        unsafe {
            for i in (0..whole).step_by(S::LANES) {
                let (w, g) = (s.load(self.w, i), s.load(self.g, i));
                let [w, m, v] = self.step(s, w, g, s.load(self.m, i), s.load(self.v, i));
                s.store(w, self.w, i);
                s.store(m, self.m, i);
                s.store(v, self.v, i);
            }
            let (i, n) = (whole, n - whole);
            let (w, g) = (s.load_part(self.w, i, n), s.load_part(self.g, i, n));
            let [w, m, v] = self.step(s, w, g, s.load_part(self.m, i, n), s.load_part(self.v, i, n));
            s.store_part(w, self.w, i, n);
            s.store_part(m, self.m, i, n);
            s.store_part(v, self.v, i, n);
        }
    }
}

/// See [`super::sgd`].
pub(super) struct Sgd<'a> {
    pub(super) w: &'a mut [f32],
    pub(super) g: &'a [f32],
    pub(super) lr: f32,
    pub(super) prox: Prox,
}

impl Sgd<'_> {
    #[inline(always)]
    fn step<S: Simd>(&self, s: S, w: S::V, g: S::V) -> S::V {
        self.prox.apply(s, s.fma(s.splat(-self.lr), g, w))
    }
}

impl Kernel for Sgd<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let n = self.w.len();
        assert_eq!(self.g.len(), n);
        let whole = n - n % S::LANES;
        // SAFETY: every place is below the common length just asserted.
        unsafe {
            for i in (0..whole).step_by(S::LANES) {
                let w = self.step(s, s.load(self.w, i), s.load(self.g, i));
                s.store(w, self.w, i);
            }
            let (i, n) = (whole, n - whole);
            let w = self.step(s, s.load_part(self.w, i, n), s.load_part(self.g, i, n));
            s.store_part(w, self.w, i, n);
        }
    }
}
