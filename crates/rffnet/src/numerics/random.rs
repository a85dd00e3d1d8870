//! One seed, several independent streams.
//!
//! Each use of chance (split, frequencies, shuffling, ...) draws from a stream of its own, so that changing one does
//! not disturb the others. xoshiro256++ is specified, hence the same on every machine and in every version.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The generator used everywhere in this crate.
pub type Stream = Xoshiro256PlusPlus;

/// What a stream is for.
#[derive(Clone, Copy)]
#[repr(u64)]
pub enum Use {
    Split = 1,
    Frequencies = 2,
    Head = 3,
    Shuffle = 4,
    Restarts = 5,
}

/// The stream of `seed` for one use.
pub fn stream(seed: u64, purpose: Use) -> Stream {
    // An odd multiplier keeps (seed, use) pairs distinct; seed_from_u64 then scrambles them.
    Stream::seed_from_u64(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(purpose as u64))
}

/// Uniform on [0, 1).
pub fn uniform(rng: &mut (impl Rng + ?Sized)) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Fisher-Yates.
pub fn shuffle<T>(items: &mut [T], rng: &mut (impl Rng + ?Sized)) {
    for i in (1..items.len()).rev() {
        // Lemire's multiply-shift: bias below 2^-32 for any array that fits in memory.
        let j = ((rng.next_u64() >> 32) * (i as u64 + 1)) >> 32;
        items.swap(i, j as usize);
    }
}
