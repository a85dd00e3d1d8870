//! What the tests of several methods share.

use rand_distr::{Distribution, StandardNormal};
use rffnet::numerics::random::seeded;

use crate::Rows;
use crate::heads::Features;

/// Independent standard normal columns.
pub(crate) fn normal_rows(n: usize, d: usize, seed: u64) -> Rows {
    let mut rng = seeded(seed);
    let values = (0..n * d).map(|_| StandardNormal.sample(&mut rng)).collect();
    Rows { values, columns: d }
}

/// Runs `work` on so many threads.
pub(crate) fn threads<R: Send>(count: usize, work: impl Fn() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(count).build().expect("a pool of threads").install(work)
}

/// Inner products of the features of all pairs of rows.
pub(crate) fn inner_products(map: &dyn Features, rows: &Rows) -> Vec<f64> {
    let (n, width) = (rows.len(), map.width());
    let mut z = vec![0.0; n * width];
    map.make(rows, 0..n, &mut z);
    let product = |i: usize, j: usize| {
        z[i * width..(i + 1) * width].iter().zip(&z[j * width..(j + 1) * width]).map(|(a, b)| a * b).sum()
    };
    (0..n * n).map(|at| product(at / n, at % n)).collect()
}
