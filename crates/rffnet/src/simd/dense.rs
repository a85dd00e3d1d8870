//! Products with rows of a matrix in memory, `Z b` and `Z' r`: heads that are found by iteration.
//!
//! Some heads at a time share what is loaded of the matrix, whose numbers are `f32` or, where half the memory counts, whole
//! numbers of 16 bits.
#![allow(unsafe_code)]

use super::dispatch::Kernel;
use super::lanes::Simd;

/// A number of the matrix.
pub(super) trait Number: Copy {
    /// The vector at `from[i..]`.
    ///
    /// # Safety
    /// `i + LANES <= from.len()`.
    unsafe fn load<S: Simd>(s: S, from: &[Self], i: usize) -> S::V;
    /// The `n < LANES` numbers at `from[i..]`, zero in the other lanes.
    ///
    /// # Safety
    /// `i + n <= from.len()`.
    unsafe fn load_part<S: Simd>(s: S, from: &[Self], i: usize, n: usize) -> S::V;
}

impl Number for f32 {
    #[inline(always)]
    unsafe fn load<S: Simd>(s: S, from: &[Self], i: usize) -> S::V {
        // SAFETY: the caller's promise.
        unsafe { s.load(from, i) }
    }
    #[inline(always)]
    unsafe fn load_part<S: Simd>(s: S, from: &[Self], i: usize, n: usize) -> S::V {
        // SAFETY: the caller's promise.
        unsafe { s.load_part(from, i, n) }
    }
}

impl Number for i16 {
    #[inline(always)]
    unsafe fn load<S: Simd>(s: S, from: &[Self], i: usize) -> S::V {
        // SAFETY: the caller's promise.
        unsafe { s.load_short(from, i) }
    }
    #[inline(always)]
    unsafe fn load_part<S: Simd>(s: S, from: &[Self], i: usize, n: usize) -> S::V {
        let mut some = [0; super::LINE];
        some[..n].copy_from_slice(&from[i..i + n]);
        // SAFETY: LANES is at most LINE.
        unsafe { s.load_short(&some, 0) }
    }
}

/// See [`super::dense_outputs`].
pub(super) struct Outputs<'a, T> {
    pub(super) z: &'a [T],
    pub(super) columns: usize,
    pub(super) heads: &'a [f32],
    pub(super) f: &'a mut [f32],
}

impl<T: Number> Kernel for Outputs<'_, T> {
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        let (m, k) = (self.columns, self.heads.len() / self.columns);
        let rows = self.z.len() / m;
        assert!(self.z.len() == rows * m && self.heads.len() == k * m && self.f.len() == rows * k);
        for i in 0..rows {
            let mut c = 0;
            while c < k {
                // The fewer heads, the more sums for each, so that additions need not wait for one another.
                match k - c {
                    1 => self.row::<S, 1, 4>(s, i, c),
                    2 => self.row::<S, 2, 4>(s, i, c),
                    3 => self.row::<S, 3, 2>(s, i, c),
                    _ => self.row::<S, 4, 2>(s, i, c),
                }
                c += 4;
            }
        }
    }
}

impl<T: Number> Outputs<'_, T> {
    /// Adds the outputs of `H` heads, from the `c`-th on, for a row; `U` vectors at a time.
    #[inline(always)]
    fn row<S: Simd, const H: usize, const U: usize>(&mut self, s: S, i: usize, c: usize) {
        let Self { z, columns: m, heads, ref mut f } = *self;
        let k = heads.len() / m;
        assert!(z.len() >= (i + 1) * m && heads.len() >= (c + H) * m);
        let whole = m - m % S::LANES;
        let mut sums = [[s.zero(); H]; U];
        let mut j = 0;
        // SAFETY: `j + LANES <= whole <= m` (`U` times that in the first loop), and the slices hold whole rows of `m`, as
        // asserted.
        unsafe {
            while j + U * S::LANES <= whole {
                for (v, sums) in sums.iter_mut().enumerate() {
                    let at = j + v * S::LANES;
                    let cells = T::load(s, z, i * m + at);
                    for (h, sum) in sums.iter_mut().enumerate() {
                        *sum = s.fma(cells, s.load(heads, (c + h) * m + at), *sum);
                    }
                }
                j += U * S::LANES;
            }
            while j < whole {
                let cells = T::load(s, z, i * m + j);
                for (h, sum) in sums[0].iter_mut().enumerate() {
                    *sum = s.fma(cells, s.load(heads, (c + h) * m + j), *sum);
                }
                j += S::LANES;
            }
            let n = m - whole;
            let cells = T::load_part(s, z, i * m + whole, n);
            for (h, sum) in sums[1].iter_mut().enumerate() {
                *sum = s.fma(cells, s.load_part(heads, (c + h) * m + whole, n), *sum);
            }
        }
        for h in 0..H {
            let mut total = sums[0][h];
            sums[1..].iter().for_each(|sums| total = s.add(total, sums[h]));
            f[i * k + c + h] += s.sum(total);
        }
    }
}

/// See [`super::dense_gradient`].
pub(super) struct Gradient<'a, T> {
    pub(super) z: &'a [T],
    pub(super) columns: usize,
    pub(super) r: &'a [f32],
    pub(super) gradient: &'a mut [f32],
}

impl<T: Number> Kernel for Gradient<'_, T> {
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        let (m, k) = (self.columns, self.gradient.len() / self.columns);
        let rows = self.z.len() / m;
        assert!(self.z.len() == rows * m && self.gradient.len() == k * m && self.r.len() == rows * k);
        let mut c = 0;
        while c < k {
            match k - c {
                1 => self.heads::<S, 1, 4>(s, c),
                2 => self.heads::<S, 2, 4>(s, c),
                3 => self.heads::<S, 3, 2>(s, c),
                _ => self.heads::<S, 4, 2>(s, c),
            }
            c += 4;
        }
    }
}

impl<T: Number> Gradient<'_, T> {
    /// Adds the gradient of `H` heads, from the `c`-th on; `U` vectors at a time.
    #[inline(always)]
    fn heads<S: Simd, const H: usize, const U: usize>(&mut self, s: S, c: usize) {
        let Self { z, columns: m, r, ref mut gradient } = *self;
        let (rows, k) = (z.len() / m, gradient.len() / m);
        assert!(r.len() == rows * k && c + H <= k);
        let mut j = 0;
        // SAFETY: `j + LANES <= m` (`U` times that in the first loop), and the slices hold whole rows of `m` and of `k`, as
        // asserted.
        unsafe {
            while j + U * S::LANES <= m {
                let mut sums = [[s.zero(); H]; U];
                for i in 0..rows {
                    let residuals: [S::V; H] = std::array::from_fn(|h| s.broadcast(r, i * k + c + h));
                    for (v, sums) in sums.iter_mut().enumerate() {
                        let cells = T::load(s, z, i * m + j + v * S::LANES);
                        for (sum, residual) in sums.iter_mut().zip(residuals) {
                            *sum = s.fma(residual, cells, *sum);
                        }
                    }
                }
                for (v, sums) in sums.into_iter().enumerate() {
                    for (h, sum) in sums.into_iter().enumerate() {
                        let at = (c + h) * m + j + v * S::LANES;
                        s.store(s.add(s.load(gradient, at), sum), gradient, at);
                    }
                }
                j += U * S::LANES;
            }
            while j < m {
                let n = S::LANES.min(m - j);
                let mut sums = [s.zero(); H];
                for i in 0..rows {
                    let at = i * m + j;
                    let cells = if n == S::LANES { T::load(s, z, at) } else { T::load_part(s, z, at, n) };
                    for (h, sum) in sums.iter_mut().enumerate() {
                        *sum = s.fma(s.broadcast(r, i * k + c + h), cells, *sum);
                    }
                }
                for (h, sum) in sums.into_iter().enumerate() {
                    let at = (c + h) * m + j;
                    if n == S::LANES {
                        s.store(s.add(s.load(gradient, at), sum), gradient, at);
                    } else {
                        s.store_part(s.add(s.load_part(gradient, at, n), sum), gradient, at, n);
                    }
                }
                j += n;
            }
        }
    }
}
