//! Fastfood: random features whose frequencies are products of Hadamard and diagonal matrices.

use std::ops::Range;

use rand::Rng;
use rand_distr::{ChiSquared, Distribution, StandardNormal};
use rffnet::numerics::random::{Stream, permutation, seeded};
use rffnet::simd;

use crate::heads::{Features, Head, Headed};
use crate::krr::positive;
use crate::rff::at_least_one;
use crate::{Error, Method, Need, Rows, Trained, Training};

/// Features `cos(v . x)` and `sin(v . x)` over `sqrt(s)`, then a ridge or logistic head. The rows v are those of
/// `S H G P H B / (sigma sqrt(p))`: B has random signs, P is a permutation, G is normal, S gives each row the length of
/// a normal one, and H is the Hadamard matrix, applied in `p log p` steps.
///
/// Columns are padded with zeros to p, a power of two; blocks of p frequencies are stacked until there are `features` or
/// more, so their number s is a multiple of p, and there are 2 s numbers per row.
#[derive(Debug, Clone, Copy)]
pub struct Fastfood {
    /// Frequencies, at least.
    pub features: usize,
    /// Bandwidth of the kernel `exp(-|x - y|^2 / (2 sigma^2))`.
    pub sigma: Sigma,
    /// The penalties of the head.
    pub head: Head,
}

/// The bandwidth of a kernel `exp(-|x - y|^2 / (2 sigma^2))`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sigma {
    /// This number.
    Fixed(f64),
    /// The number of columns d, as in the paper's tables: gamma = 1/(2 d^2), a kernel so wide that the features are
    /// close to linear.
    Columns,
    /// `sqrt(d/2)`: gamma = 1/d, as in the other methods.
    Matched,
}

impl Sigma {
    fn value(self, columns: usize) -> Result<f64, Error> {
        let d = columns as f64;
        match self {
            Self::Fixed(sigma) => positive("sigma", sigma),
            Self::Columns => Ok(d),
            Self::Matched => Ok((d / 2.0).sqrt()),
        }
    }
}

impl Fastfood {
    /// The setting behind the paper's tables.
    pub fn paper() -> Self {
        Self { features: 300, sigma: Sigma::Columns, head: Head::paper() }
    }

    fn blocks(&self, columns: usize) -> usize {
        self.features.div_ceil(columns.next_power_of_two())
    }
}

impl Default for Fastfood {
    fn default() -> Self {
        Self { sigma: Sigma::Matched, ..Self::paper() }
    }
}

impl Method for Fastfood {
    fn memory(&self, training: &Training<'_>) -> Need {
        let d = training.rows.columns;
        self.head.memory(training, self.blocks(d).saturating_mul(2 * d.next_power_of_two()))
    }

    fn train(&self, training: &Training<'_>) -> Result<Box<dyn Trained>, Error> {
        at_least_one("features", self.features)?;
        let d = training.rows.columns;
        let map = Map::new(d, self.blocks(d), self.sigma.value(d)?, training.seed);
        let coefficients = self.head.fit(&map, training)?;
        Ok(Box::new(Headed { map, coefficients }))
    }
}

/// One block of frequencies.
struct Block {
    signs: Vec<f32>,
    order: Vec<usize>,
    normal: Vec<f32>,
    /// S, with all constants.
    scale: Vec<f32>,
}

struct Map {
    blocks: Vec<Block>,
    columns: usize,
    padded: usize,
}

impl Map {
    fn new(columns: usize, blocks: usize, sigma: f64, seed: u64) -> Self {
        let mut rng = seeded(seed);
        let padded = columns.next_power_of_two();
        let blocks = (0..blocks).map(|_| Block::new(padded, sigma, &mut rng)).collect();
        Self { blocks, columns, padded }
    }
}

impl Block {
    fn new(p: usize, sigma: f64, rng: &mut Stream) -> Self {
        let signs = (0..p).map(|_| if rng.next_u64() >> 63 == 1 { 1.0 } else { -1.0 }).collect();
        let order = permutation(p, rng);
        let normal: Vec<f64> = (0..p).map(|_| StandardNormal.sample(rng)).collect();
        let norm = normal.iter().map(|g| g * g).sum::<f64>().sqrt();
        let squared = ChiSquared::new(p as f64).expect("p is at least 1");
        let constant = 1.0 / (sigma * (p as f64).sqrt() * norm);
        let scale = (0..p).map(|_| (squared.sample(rng).sqrt() * constant) as f32).collect();
        Self { signs, order, normal: normal.iter().map(|&g| g as f32).collect(), scale }
    }

    /// `S H G P H B x`.
    fn project(&self, x: &[f32], space: &mut [f32], out: &mut [f32]) {
        space.fill(0.0);
        space.iter_mut().zip(x.iter().zip(&self.signs)).for_each(|(s, (x, sign))| *s = x * sign);
        hadamard(space);
        out.iter_mut()
            .zip(self.order.iter().zip(&self.normal))
            .for_each(|(out, (&j, g))| *out = space[j] * g);
        hadamard(out);
        out.iter_mut().zip(&self.scale).for_each(|(out, s)| *out *= s);
    }
}

/// The Walsh-Hadamard transform, not normalised, in place.
fn hadamard(v: &mut [f32]) {
    let mut half = 1;
    while half < v.len() {
        for pair in v.chunks_exact_mut(2 * half) {
            let (a, b) = pair.split_at_mut(half);
            a.iter_mut().zip(b).for_each(|(a, b)| (*a, *b) = (*a + *b, *a - *b));
        }
        half *= 2;
    }
}

impl Features for Map {
    fn width(&self) -> usize {
        2 * self.blocks.len() * self.padded
    }

    fn make(&self, rows: &Rows, range: Range<usize>, out: &mut [f64]) {
        let s = self.width() / 2;
        let mut space = vec![0.0; self.padded];
        let (mut angle, mut sin, mut cos) = (vec![0.0; s], vec![0.0; s], vec![0.0; s]);
        let scale = 1.0 / (s as f64).sqrt();
        debug_assert_eq!(rows.columns, self.columns);
        for (i, out) in range.zip(out.chunks_exact_mut(2 * s)) {
            for (block, angle) in self.blocks.iter().zip(angle.chunks_exact_mut(self.padded)) {
                block.project(rows.row(i), &mut space, angle);
            }
            simd::sincos(simd::path(), &angle, &mut sin, &mut cos);
            out.iter_mut().zip(cos.iter().chain(&sin)).for_each(|(out, &v)| *out = scale * f64::from(v));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::gaussian;
    use crate::testing::{inner_products, normal_rows};

    #[test]
    fn the_transform_is_the_hadamard_matrix() {
        for p in [1, 2, 8, 32] {
            for j in 0..p {
                let mut v = vec![0.0; p];
                v[j] = 1.0;
                hadamard(&mut v);
                let sign = |i: usize| if (i & j).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
                assert!(v.iter().enumerate().all(|(i, &v)| v == sign(i)));
            }
        }
    }

    /// Sigma is the bandwidth: `gamma = 1 / (2 sigma^2)`. Columns below, at and between powers of two.
    #[test]
    fn inner_products_of_features_are_the_kernel() {
        for d in [1, 3, 8, 11] {
            let (rows, sigma) = (normal_rows(12, d, 1), 2.0);
            let exact = gaussian(&rows, &rows, 1.0 / (2.0 * sigma * sigma));
            let blocks = 20_000 / d.next_power_of_two();
            for (ours, exact) in inner_products(&Map::new(d, blocks, sigma, 2), &rows).iter().zip(&exact) {
                assert!((ours - exact).abs() < 0.05, "{d}: {ours} {exact}");
            }
        }
    }

    /// Each frequency has the squared length of a normal one, p / sigma^2 in the mean, whatever the block.
    #[test]
    fn frequencies_have_the_lengths_of_normal_ones() {
        let (p, sigma, mut rng) = (16, 3.0, seeded(4));
        let mut squares = vec![];
        for _ in 0..500 {
            let block = Block::new(p, sigma, &mut rng);
            let mut lengths = vec![0.0; p];
            for j in 0..p {
                let (mut unit, mut space, mut out) = (vec![0.0; p], vec![0.0; p], vec![0.0; p]);
                unit[j] = 1.0;
                block.project(&unit, &mut space, &mut out);
                lengths.iter_mut().zip(&out).for_each(|(l, v)| *l += f64::from(v * v));
            }
            squares.extend(lengths.iter().map(|l| l * sigma * sigma));
        }
        let mean = squares.iter().sum::<f64>() / squares.len() as f64;
        let variance = squares.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / squares.len() as f64;
        assert!((mean - 16.0).abs() < 0.3 && (variance - 32.0).abs() < 3.0, "{mean} {variance}");
    }

    #[test]
    fn blocks_are_stacked_until_there_are_enough() {
        let blocks = |features, d| Fastfood { features, ..Fastfood::paper() }.blocks(d);
        assert_eq!([blocks(300, 18), blocks(32, 32), blocks(33, 32), blocks(1, 5)], [10, 1, 2, 1]);
    }
}
