//! The handful of vector operations the kernels are written in.
//!
//! A value of a type implementing [`Simd`] is a token: it can only be made where the instructions are known to
//! exist, so the arithmetic methods are safe to call. Every method is `#[inline(always)]`, so that a generic
//! kernel is compiled anew, with the right instructions, inside each entry function of `dispatch.rs`.
#![allow(unsafe_code)]

/// Vectors of `f32` and the arithmetic on them.
pub(super) trait Simd: Copy {
    /// Numbers in a vector; divides [`super::LINE`].
    const LANES: usize;
    /// Height of a register tile, 4, 6 or 8.
    const ROWS: usize;
    /// Width of a register tile in vectors, 2 or 3. `ROWS * WIDTH` sums, `WIDTH` vectors and a broadcast or two should
    /// just fit the registers: one spilled sum costs more than half of the speed.
    const WIDTH: usize;
    /// A vector.
    type V: Copy;

    /// `x` in every lane.
    fn splat(self, x: f32) -> Self::V;
    /// `a + b`.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a - b`.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a * b`.
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a / b`.
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a * b + c`, with one rounding where the machine has it.
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// Square root.
    fn sqrt(self, a: Self::V) -> Self::V;
    /// The smaller one; of the two when one is NaN, any.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// The larger one; of the two when one is NaN, any.
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// `x`, with zero in the place of NaN.
    fn nan_to_zero(self, x: Self::V) -> Self::V;
    /// `x - n * pi` for whole `n` with `n * pi` near `x`, exact but for the last rounding.
    fn minus_pi_times(self, x: Self::V, n: Self::V) -> Self::V;
    /// `x` with its sign flipped where the lowest bit of `parity`'s representation is set.
    fn flip(self, x: Self::V, parity: Self::V) -> Self::V;
    /// Whether `|x| <= limit` in every lane (never true of NaN).
    fn within(self, x: Self::V, limit: f32) -> bool;
    /// Sum over the lanes, always in the same order.
    fn sum(self, x: Self::V) -> f32;

    /// The vector at `from[i..]`.
    ///
    /// # Safety
    /// `i + LANES <= from.len()`.
    unsafe fn load(self, from: &[f32], i: usize) -> Self::V;
    /// The whole numbers at `from[i..]`.
    ///
    /// # Safety
    /// `i + LANES <= from.len()`.
    unsafe fn load_short(self, from: &[i16], i: usize) -> Self::V;
    /// Writes the vector to `to[i..]`.
    ///
    /// # Safety
    /// `i + LANES <= to.len()`.
    unsafe fn store(self, x: Self::V, to: &mut [f32], i: usize);
    /// The `n < LANES` numbers at `from[i..]`, zero in the other lanes.
    ///
    /// # Safety
    /// `n < LANES` and `i + n <= from.len()`.
    unsafe fn load_part(self, from: &[f32], i: usize, n: usize) -> Self::V;
    /// Writes the first `n < LANES` lanes to `to[i..]`.
    ///
    /// # Safety
    /// `n < LANES` and `i + n <= to.len()`.
    unsafe fn store_part(self, x: Self::V, to: &mut [f32], i: usize, n: usize);
    /// Adds the vector to `to[i..]` in double precision.
    ///
    /// # Safety
    /// `i + LANES <= to.len()`.
    unsafe fn add_wide(self, x: Self::V, to: &mut [f64], i: usize);

    /// `from[i]` in every lane.
    ///
    /// # Safety
    /// `i < from.len()`.
    #[inline(always)]
    unsafe fn broadcast(self, from: &[f32], i: usize) -> Self::V {
        // SAFETY: the caller's promise.
        self.splat(unsafe { *at(from, i, 1) })
    }

    /// Zero in every lane.
    #[inline(always)]
    fn zero(self) -> Self::V {
        self.splat(0.0)
    }
}

/// The address of `from[i..i + n]`; in debug builds the bounds are checked, so that the tests find a wrong index on
/// every path, those that memory checkers cannot run included.
///
/// # Safety
/// `i + n <= from.len()`.
#[inline(always)]
pub(super) unsafe fn at<T>(from: &[T], i: usize, n: usize) -> *const T {
    if cfg!(debug_assertions) && i + n > from.len() {
        outside();
    }
    // SAFETY: the caller's promise.
    unsafe { from.as_ptr().add(i) }
}

/// [`at`] for writing.
///
/// # Safety
/// `i + n <= to.len()`.
#[inline(always)]
pub(super) unsafe fn at_mut<T>(to: &mut [T], i: usize, n: usize) -> *mut T {
    if cfg!(debug_assertions) && i + n > to.len() {
        outside();
    }
    // SAFETY: the caller's promise.
    unsafe { to.as_mut_ptr().add(i) }
}

/// Asks for the cache line of `from[i]`, where there is such an instruction and such a place.
#[inline(always)]
pub(super) fn prefetch<T>(from: &[T], i: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is part of the architecture's baseline and never faults, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(from.as_ptr().wrapping_add(i).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, i);
}

/// Out of line and without a message to format: it is compiled into every load and store of a debug build.
#[cold]
#[inline(never)]
fn outside() -> ! {
    panic!("a kernel reached outside its slice");
}
