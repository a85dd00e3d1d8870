//! Vectors of AVX2 (with FMA) and AVX-512F.
#![allow(unsafe_code)]

use super::lanes::{Simd, at, at_mut};
use std::arch::x86_64::*;

/// The high part of pi is the `f32` nearest to it; with a fused multiply-add `x - n * PI_HIGH` is exact.
const PI_HIGH: f32 = std::f32::consts::PI;
const PI_LOW: f32 = -8.742_278e-8;

/// Token of the AVX-512 path: proof that the instructions exist.
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

impl Avx512 {
    /// # Safety
    /// The CPU has AVX-512F.
    #[inline(always)]
    pub(super) unsafe fn new() -> Self {
        Self(())
    }
}

/// Token of the AVX2 path: proof that the instructions exist.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

impl Avx2 {
    /// # Safety
    /// The CPU has AVX2 and FMA.
    #[inline(always)]
    pub(super) unsafe fn new() -> Self {
        Self(())
    }
}

/// Operations that are one instruction.
macro_rules! one_instruction {
    ($($name:ident($($x:ident: $type:ty),+) => $instruction:ident,)+) => {
        $(
            #[inline(always)]
            fn $name(self $(, $x: $type)+) -> Self::V {
                // SAFETY: the token proves that the instruction exists.
                unsafe { $instruction($($x),+) }
            }
        )+
    };
}

impl Simd for Avx512 {
    const LANES: usize = 16;
    const ROWS: usize = 8;
    const WIDTH: usize = 3;
    type V = __m512;

    one_instruction! {
        splat(x: f32) => _mm512_set1_ps,
        add(a: Self::V, b: Self::V) => _mm512_add_ps,
        sub(a: Self::V, b: Self::V) => _mm512_sub_ps,
        mul(a: Self::V, b: Self::V) => _mm512_mul_ps,
        div(a: Self::V, b: Self::V) => _mm512_div_ps,
        fma(a: Self::V, b: Self::V, c: Self::V) => _mm512_fmadd_ps,
        sqrt(a: Self::V) => _mm512_sqrt_ps,
        min(a: Self::V, b: Self::V) => _mm512_min_ps,
        max(a: Self::V, b: Self::V) => _mm512_max_ps,
    }
    #[inline(always)]
    fn nan_to_zero(self, x: __m512) -> __m512 {
        // SAFETY: token.
        unsafe { _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_ORD_Q>(x, x), x) }
    }
    #[inline(always)]
    fn minus_pi_times(self, x: __m512, n: __m512) -> __m512 {
        // SAFETY: token.
        unsafe { _mm512_fnmadd_ps(n, self.splat(PI_LOW), _mm512_fnmadd_ps(n, self.splat(PI_HIGH), x)) }
    }
    #[inline(always)]
    fn flip(self, x: __m512, parity: __m512) -> __m512 {
        // SAFETY: token. Integer xor, since that of floats needs AVX-512DQ.
        unsafe {
            let sign = _mm512_slli_epi32::<31>(_mm512_castps_si512(parity));
            _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(x), sign))
        }
    }
    #[inline(always)]
    fn within(self, x: __m512, limit: f32) -> bool {
        // SAFETY: token.
        unsafe { _mm512_cmp_ps_mask::<_CMP_NLE_UQ>(_mm512_abs_ps(x), self.splat(limit)) == 0 }
    }
    #[inline(always)]
    fn sum(self, x: __m512) -> f32 {
        // SAFETY: token.
        unsafe { _mm512_reduce_add_ps(x) }
    }
    #[inline(always)]
    unsafe fn load(self, from: &[f32], i: usize) -> __m512 {
        // SAFETY: token, and the caller's promise.
        unsafe { _mm512_loadu_ps(at(from, i, Self::LANES)) }
    }
    #[inline(always)]
    unsafe fn load_short(self, from: &[i16], i: usize) -> __m512 {
        // SAFETY: token, and the caller's promise. AVX-512F has the conversion of 16 numbers in a 256-bit register.
        unsafe {
            let short = _mm256_loadu_si256(at(from, i, Self::LANES).cast());
            _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(short))
        }
    }
    #[inline(always)]
    unsafe fn store(self, x: __m512, to: &mut [f32], i: usize) {
        // SAFETY: token, and the caller's promise.
        unsafe { _mm512_storeu_ps(at_mut(to, i, Self::LANES), x) }
    }
    #[inline(always)]
    unsafe fn load_part(self, from: &[f32], i: usize, n: usize) -> __m512 {
        // SAFETY: token, and the caller's promise; lanes outside the mask are not read.
        unsafe { _mm512_maskz_loadu_ps((1 << n) - 1, at(from, i, n)) }
    }
    #[inline(always)]
    unsafe fn store_part(self, x: __m512, to: &mut [f32], i: usize, n: usize) {
        // SAFETY: token, and the caller's promise; lanes outside the mask are not written.
        unsafe { _mm512_mask_storeu_ps(at_mut(to, i, n), (1 << n) - 1, x) }
    }
    #[inline(always)]
    unsafe fn add_wide(self, x: __m512, to: &mut [f64], i: usize) {
        // SAFETY: token, and the caller's promise.
        unsafe {
            let to = at_mut(to, i, Self::LANES);
            let low = _mm512_cvtps_pd(_mm512_castps512_ps256(x));
            let high = _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(x))));
            _mm512_storeu_pd(to, _mm512_add_pd(_mm512_loadu_pd(to), low));
            _mm512_storeu_pd(to.add(8), _mm512_add_pd(_mm512_loadu_pd(to.add(8)), high));
        }
    }
}

/// `MASKS[8 - n..]` selects the first `n` lanes.
static MASKS: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

impl Avx2 {
    #[inline(always)]
    fn first(self, n: usize) -> __m256i {
        assert!(n <= Self::LANES);
        // SAFETY: token; `8 - n + 8 <= 16`.
        unsafe { _mm256_loadu_si256(MASKS.as_ptr().add(Self::LANES - n).cast()) }
    }
}

impl Simd for Avx2 {
    const LANES: usize = 8;
    const ROWS: usize = 6;
    const WIDTH: usize = 2;
    type V = __m256;

    one_instruction! {
        splat(x: f32) => _mm256_set1_ps,
        add(a: Self::V, b: Self::V) => _mm256_add_ps,
        sub(a: Self::V, b: Self::V) => _mm256_sub_ps,
        mul(a: Self::V, b: Self::V) => _mm256_mul_ps,
        div(a: Self::V, b: Self::V) => _mm256_div_ps,
        fma(a: Self::V, b: Self::V, c: Self::V) => _mm256_fmadd_ps,
        sqrt(a: Self::V) => _mm256_sqrt_ps,
        min(a: Self::V, b: Self::V) => _mm256_min_ps,
        max(a: Self::V, b: Self::V) => _mm256_max_ps,
    }
    #[inline(always)]
    fn nan_to_zero(self, x: __m256) -> __m256 {
        // SAFETY: token.
        unsafe { _mm256_and_ps(x, _mm256_cmp_ps::<_CMP_ORD_Q>(x, x)) }
    }
    #[inline(always)]
    fn minus_pi_times(self, x: __m256, n: __m256) -> __m256 {
        // SAFETY: token.
        unsafe { _mm256_fnmadd_ps(n, self.splat(PI_LOW), _mm256_fnmadd_ps(n, self.splat(PI_HIGH), x)) }
    }
    #[inline(always)]
    fn flip(self, x: __m256, parity: __m256) -> __m256 {
        // SAFETY: token.
        unsafe {
            let sign = _mm256_slli_epi32::<31>(_mm256_castps_si256(parity));
            _mm256_xor_ps(x, _mm256_castsi256_ps(sign))
        }
    }
    #[inline(always)]
    fn within(self, x: __m256, limit: f32) -> bool {
        // SAFETY: token.
        unsafe {
            let size = _mm256_andnot_ps(self.splat(-0.0), x);
            _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_NLE_UQ>(size, self.splat(limit))) == 0
        }
    }
    #[inline(always)]
    fn sum(self, x: __m256) -> f32 {
        // SAFETY: token.
        unsafe {
            let x = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x));
            let x = _mm_add_ps(x, _mm_movehl_ps(x, x));
            _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)))
        }
    }
    #[inline(always)]
    unsafe fn load(self, from: &[f32], i: usize) -> __m256 {
        // SAFETY: token, and the caller's promise.
        unsafe { _mm256_loadu_ps(at(from, i, Self::LANES)) }
    }
    #[inline(always)]
    unsafe fn load_short(self, from: &[i16], i: usize) -> __m256 {
        // SAFETY: token, and the caller's promise.
        unsafe {
            let short = _mm_loadu_si128(at(from, i, Self::LANES).cast());
            _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(short))
        }
    }
    #[inline(always)]
    unsafe fn store(self, x: __m256, to: &mut [f32], i: usize) {
        // SAFETY: token, and the caller's promise.
        unsafe { _mm256_storeu_ps(at_mut(to, i, Self::LANES), x) }
    }
    #[inline(always)]
    unsafe fn load_part(self, from: &[f32], i: usize, n: usize) -> __m256 {
        // SAFETY: token, and the caller's promise; lanes outside the mask are not read.
        unsafe { _mm256_maskload_ps(at(from, i, n), self.first(n)) }
    }
    #[inline(always)]
    unsafe fn store_part(self, x: __m256, to: &mut [f32], i: usize, n: usize) {
        // SAFETY: token, and the caller's promise; lanes outside the mask are not written.
        unsafe { _mm256_maskstore_ps(at_mut(to, i, n), self.first(n), x) }
    }
    #[inline(always)]
    unsafe fn add_wide(self, x: __m256, to: &mut [f64], i: usize) {
        // SAFETY: token, and the caller's promise.
        unsafe {
            let to = at_mut(to, i, Self::LANES);
            let low = _mm256_cvtps_pd(_mm256_castps256_ps128(x));
            let high = _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(x));
            _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), low));
            _mm256_storeu_pd(to.add(4), _mm256_add_pd(_mm256_loadu_pd(to.add(4)), high));
        }
    }
}
