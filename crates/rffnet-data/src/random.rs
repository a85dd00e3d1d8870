//! Chance, written out where a library's algorithm could change between versions: the same seed gives the
//! same rows for good.

use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The generator used everywhere in this crate.
pub(crate) type Stream = Xoshiro256PlusPlus;

pub(crate) fn stream(seed: u64) -> Stream {
    Stream::seed_from_u64(seed)
}

pub(crate) fn normal(rng: &mut Stream) -> f64 {
    StandardNormal.sample(rng)
}

/// Uniform on [0, 1).
pub(crate) fn uniform(rng: &mut Stream) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A whole number below `n`; 0 if `n` is 0.
pub(crate) fn below(rng: &mut Stream, n: usize) -> usize {
    // The high half of a 128-bit product: bias below 2^-32 for any array that fits in memory.
    ((u128::from(rng.next_u64()) * n as u128) >> 64) as usize
}

/// Fisher and Yates' shuffle.
pub(crate) fn shuffle<T>(items: &mut [T], rng: &mut Stream) {
    for i in (1..items.len()).rev() {
        items.swap(i, below(rng, i + 1));
    }
}
