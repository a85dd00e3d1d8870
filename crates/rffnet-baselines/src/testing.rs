//! What the tests of several methods share.

use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::Rows;

/// Independent standard normal columns.
pub(crate) fn normal_rows(n: usize, d: usize, seed: u64) -> Rows {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let values = (0..n * d).map(|_| StandardNormal.sample(&mut rng)).collect();
    Rows { values, columns: d }
}

/// Runs `work` on so many threads.
pub(crate) fn threads<R: Send>(count: usize, work: impl Fn() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(count).build().expect("a pool of threads").install(work)
}
