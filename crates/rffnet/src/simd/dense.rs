//! Products with rows of a matrix in memory: `Z b` and `Z' r`, for the head of a classifier.
#![allow(unsafe_code)]

use super::dispatch::Kernel;
use super::lanes::Simd;

/// See [`super::dense_outputs`].
pub(super) struct Outputs<'a> {
    pub(super) z: &'a [f32],
    pub(super) columns: usize,
    pub(super) heads: &'a [f32],
    pub(super) f: &'a mut [f32],
}

impl Kernel for Outputs<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { z, columns: m, heads, f } = self;
        let (rows, k) = (z.len() / m, heads.len() / m);
        assert!(z.len() == rows * m && heads.len() == k * m && f.len() == rows * k);
        let whole = m - m % S::LANES;
        for i in 0..rows {
            for c in 0..k {
                let (row, head) = (i * m, c * m);
                // Four sums, so that the additions need not wait for one another.
                let mut sums = [s.zero(); 4];
                let mut j = 0;
                // SAFETY: `j + LANES <= whole <= m` (four times that in the first loop), and the slices hold whole rows of
                // `m`, as asserted.
                unsafe {
                    while j + 4 * S::LANES <= whole {
                        for (v, sum) in sums.iter_mut().enumerate() {
                            let at = j + v * S::LANES;
                            *sum = s.fma(s.load(z, row + at), s.load(heads, head + at), *sum);
                        }
                        j += 4 * S::LANES;
                    }
                    while j < whole {
                        sums[0] = s.fma(s.load(z, row + j), s.load(heads, head + j), sums[0]);
                        j += S::LANES;
                    }
                    let n = m - whole;
                    let (a, b) = (s.load_part(z, row + whole, n), s.load_part(heads, head + whole, n));
                    sums[1] = s.fma(a, b, sums[1]);
                }
                f[i * k + c] = s.sum(s.add(s.add(sums[0], sums[1]), s.add(sums[2], sums[3])));
            }
        }
    }
}

/// See [`super::dense_gradient`].
pub(super) struct Gradient<'a> {
    pub(super) z: &'a [f32],
    pub(super) columns: usize,
    pub(super) r: &'a [f32],
    pub(super) gradient: &'a mut [f32],
}

impl Kernel for Gradient<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { z, columns: m, r, gradient } = self;
        let (rows, k) = (z.len() / m, gradient.len() / m);
        assert!(z.len() == rows * m && gradient.len() == k * m && r.len() == rows * k);
        let whole = m - m % S::LANES;
        for c in 0..k {
            let mut j = 0;
            // SAFETY: `j + LANES <= whole <= m` (four times that in the first loop), and the slices hold whole rows of `m` and
            // of `k`, as asserted.
            unsafe {
                while j + 4 * S::LANES <= whole {
                    let mut sums = [s.zero(); 4];
                    for i in 0..rows {
                        let residual = s.broadcast(r, i * k + c);
                        for (v, sum) in sums.iter_mut().enumerate() {
                            *sum = s.fma(residual, s.load(z, i * m + j + v * S::LANES), *sum);
                        }
                    }
                    for (v, sum) in sums.into_iter().enumerate() {
                        let at = c * m + j + v * S::LANES;
                        s.store(s.add(s.load(gradient, at), sum), gradient, at);
                    }
                    j += 4 * S::LANES;
                }
                while j < m {
                    let n = S::LANES.min(m - j);
                    let mut sum = s.zero();
                    for i in 0..rows {
                        let at = i * m + j;
                        let cells = if n == S::LANES { s.load(z, at) } else { s.load_part(z, at, n) };
                        sum = s.fma(s.broadcast(r, i * k + c), cells, sum);
                    }
                    let at = c * m + j;
                    if n == S::LANES {
                        s.store(s.add(s.load(gradient, at), sum), gradient, at);
                    } else {
                        s.store_part(s.add(s.load_part(gradient, at, n), sum), gradient, at, n);
                    }
                    j += n;
                }
            }
        }
    }
}
