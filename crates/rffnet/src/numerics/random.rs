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
    Encoding = 6,
    Partitions = 7,
}

/// The stream of `seed` for one use.
pub fn stream(seed: u64, purpose: Use) -> Stream {
    // An odd multiplier keeps (seed, use) pairs distinct; seed_from_u64 then scrambles them.
    Stream::seed_from_u64(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(purpose as u64))
}

/// The one stream of a seed, where there is only one use.
pub fn seeded(seed: u64) -> Stream {
    Stream::seed_from_u64(seed)
}

/// Uniform on [0, 1).
pub fn uniform(rng: &mut (impl Rng + ?Sized)) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A whole number below `n`: Lemire's multiply-shift of the upper 32 bits.
pub fn below(n: usize, rng: &mut (impl Rng + ?Sized)) -> usize {
    // Bias below 2^-32 times n, which stays below 2^32.
    (((rng.next_u64() >> 32) * n as u64) >> 32) as usize
}

/// Fisher and Yates' shuffle, by the rule of this crate.
pub fn shuffle<T>(items: &mut [T], rng: &mut (impl Rng + ?Sized)) {
    shuffle_by(items, |n| below(n, rng));
}

/// Fisher and Yates' shuffle; `below(n)` draws an index below `n`. Each caller's rule is part of what its seeds promise.
pub fn shuffle_by<T>(items: &mut [T], mut below: impl FnMut(usize) -> usize) {
    for i in (1..items.len()).rev() {
        items.swap(i, below(i + 1));
    }
}

/// 0, 1, ... in random order.
pub fn permutation(n: usize, rng: &mut (impl Rng + ?Sized)) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    shuffle(&mut order, rng);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A seed is a promise: these orders never change.
    #[test]
    fn a_seed_gives_the_same_order_for_good() {
        assert_eq!(permutation(10, &mut seeded(7)), [3, 8, 9, 4, 6, 7, 2, 5, 1, 0]);
        let order = permutation(1 << 18, &mut seeded(7));
        assert_eq!(order.iter().enumerate().map(|(i, v)| i * v).sum::<usize>(), 4_505_137_920_890_118);
    }

    #[test]
    fn a_permutation_holds_every_number_once_and_every_order_occurs() {
        let rng = &mut seeded(3);
        let mut order = permutation(50, rng);
        order.sort_unstable();
        assert!(order.into_iter().eq(0..50));
        let orders: std::collections::BTreeSet<_> = (0..200).map(|_| permutation(3, rng)).collect();
        assert_eq!(orders.len(), 6);
    }
}
