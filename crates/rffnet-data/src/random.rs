//! Chance, written out where a library's algorithm could change between versions: the same seed gives the
//! same rows for good.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use rffnet::numerics::random::shuffle_by;
pub(crate) use rffnet::numerics::random::{Stream, seeded, uniform};

pub(crate) fn normal(rng: &mut Stream) -> f64 {
    StandardNormal.sample(rng)
}

/// Fisher and Yates' shuffle, by the rule of this crate: the high half of a 128-bit product.
pub(crate) fn shuffle<T>(items: &mut [T], rng: &mut Stream) {
    shuffle_by(items, |n| ((u128::from(rng.next_u64()) * n as u128) >> 64) as usize);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A seed is a promise: this order never changes. So many rows tell the rule from that of the library.
    #[test]
    fn a_seed_gives_the_same_order_for_good() {
        let mut order: Vec<usize> = (0..1 << 18).collect();
        shuffle(&mut order, &mut seeded(7));
        assert_eq!(order.iter().enumerate().map(|(i, v)| i * v).sum::<usize>(), 4_505_138_125_489_541);
    }
}
