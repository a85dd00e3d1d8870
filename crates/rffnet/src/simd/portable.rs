//! Vectors as arrays, for every machine: the compiler turns the loops into what the target's baseline offers.
#![allow(unsafe_code)]

use super::lanes::{Simd, at, at_mut};
use std::array::from_fn;

const LANES: usize = 4;

/// Token of the portable path; can be made anywhere.
#[derive(Clone, Copy)]
pub(super) struct Portable;

/// Where the baseline has a fused multiply-add; elsewhere `mul_add` would be a call into the C library.
const FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

/// An array that compilers keep in one register.
#[derive(Clone, Copy)]
#[repr(align(16))]
pub(super) struct Quad([f32; LANES]);

#[inline(always)]
fn map2(a: Quad, b: Quad, f: impl Fn(f32, f32) -> f32) -> Quad {
    Quad(from_fn(|l| f(a.0[l], b.0[l])))
}

impl Simd for Portable {
    const LANES: usize = LANES;
    const ROWS: usize = if cfg!(target_arch = "aarch64") { 8 } else { 4 };
    const WIDTH: usize = if cfg!(target_arch = "aarch64") { 3 } else { 2 };
    type V = Quad;

    #[inline(always)]
    fn splat(self, x: f32) -> Quad {
        Quad([x; LANES])
    }
    #[inline(always)]
    fn add(self, a: Quad, b: Quad) -> Quad {
        map2(a, b, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, a: Quad, b: Quad) -> Quad {
        map2(a, b, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, a: Quad, b: Quad) -> Quad {
        map2(a, b, |a, b| a * b)
    }
    #[inline(always)]
    fn div(self, a: Quad, b: Quad) -> Quad {
        map2(a, b, |a, b| a / b)
    }
    #[inline(always)]
    fn fma(self, a: Quad, b: Quad, c: Quad) -> Quad {
        if FUSED {
            Quad(from_fn(|l| a.0[l].mul_add(b.0[l], c.0[l])))
        } else {
            Quad(from_fn(|l| a.0[l] * b.0[l] + c.0[l]))
        }
    }
    #[inline(always)]
    fn sqrt(self, a: Quad) -> Quad {
        Quad(a.0.map(f32::sqrt))
    }
    #[inline(always)]
    fn min(self, a: Quad, b: Quad) -> Quad {
        map2(a, b, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    fn max(self, a: Quad, b: Quad) -> Quad {
        map2(a, b, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    fn nan_to_zero(self, x: Quad) -> Quad {
        Quad(x.0.map(|x| if x.is_nan() { 0.0 } else { x }))
    }
    #[inline(always)]
    fn minus_pi_times(self, x: Quad, n: Quad) -> Quad {
        // Two rounded products would lose what the subtraction uncovers; double precision keeps it.
        Quad(from_fn(|l| (f64::from(x.0[l]) - f64::from(n.0[l]) * std::f64::consts::PI) as f32))
    }
    #[inline(always)]
    fn flip(self, x: Quad, parity: Quad) -> Quad {
        map2(x, parity, |x, p| f32::from_bits(x.to_bits() ^ (p.to_bits() << 31)))
    }
    #[inline(always)]
    fn within(self, x: Quad, limit: f32) -> bool {
        x.0.iter().fold(true, |all, x| all & (x.abs() <= limit))
    }
    #[inline(always)]
    fn sum(self, x: Quad) -> f32 {
        (x.0[0] + x.0[2]) + (x.0[1] + x.0[3])
    }
    #[inline(always)]
    unsafe fn load(self, from: &[f32], i: usize) -> Quad {
        // SAFETY: the caller's promise; arrays of f32 need no more alignment than f32.
        Quad(unsafe { at(from, i, LANES).cast::<[f32; LANES]>().read() })
    }
    #[inline(always)]
    unsafe fn load_short(self, from: &[i16], i: usize) -> Quad {
        // SAFETY: as above.
        Quad(unsafe { at(from, i, LANES).cast::<[i16; LANES]>().read() }.map(f32::from))
    }
    #[inline(always)]
    unsafe fn store(self, x: Quad, to: &mut [f32], i: usize) {
        // SAFETY: as above.
        unsafe { at_mut(to, i, LANES).cast::<[f32; LANES]>().write(x.0) }
    }
    #[inline(always)]
    unsafe fn load_part(self, from: &[f32], i: usize, n: usize) -> Quad {
        let mut x = [0.0; LANES];
        x[..n].copy_from_slice(&from[i..i + n]);
        Quad(x)
    }
    #[inline(always)]
    unsafe fn store_part(self, x: Quad, to: &mut [f32], i: usize, n: usize) {
        to[i..i + n].copy_from_slice(&x.0[..n]);
    }
    #[inline(always)]
    unsafe fn add_wide(self, x: Quad, to: &mut [f64], i: usize) {
        // SAFETY: the caller's promise.
        let to = unsafe { &mut *at_mut(to, i, LANES).cast::<[f64; LANES]>() };
        for (to, x) in to.iter_mut().zip(x.0) {
            *to += f64::from(x);
        }
    }
}
