//! Columns that act through products alone, with themselves or with others: all pairs are looked at.

use std::borrow::Cow;

use rayon::prelude::*;

use super::{Table, add, centre, dot, norm};
use crate::simd;

/// Columns whose products are looked at, at most: those of the largest correlations of their values or their squares.
const MOST_PAIRED: usize = 5_000;
/// Columns that are paired with all others at a time.
const BLOCK: usize = 32;
/// How often all products are looked at, and how many are taken each time, at most.
const SCANS: usize = 3;
const PRODUCTS: usize = 8;
/// Share of the threshold, as rough norms have it, from which on a product is looked at closely, and how many of a block are, at
/// most: the largest.
const CLOSE: f32 = 0.6;
const LOOKED_AT: usize = 64;

impl Table {
    /// Columns whose product with another or with themselves goes with the residual: the largest first, each taken from the
    /// residual before the next.
    pub(super) fn products(&self, mut residual: Vec<f32>) -> Vec<usize> {
        // Errors out of fold have a mean of their own.
        let mean = dot(&residual, &self.roots);
        add(&mut residual, -mean, &self.roots);
        let paired = self.paired(&residual);
        let thresholds = Thresholds::new(paired.len());
        let (mut found, mut taken): (Vec<usize>, Vec<Vec<f32>>) = (Vec::new(), Vec::new());
        for _ in 0..SCANS {
            let mut candidates = self.scan(&paired, &residual, thresholds);
            candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
            let before = taken.len();
            for (_, j, k) in candidates {
                if taken.len() == before + PRODUCTS {
                    break;
                }
                // Those before may have explained it.
                if self.significance(j, k, &residual) < thresholds.of(j, k) {
                    continue;
                }
                // In the metric of the rows' weights, at right angles to those before.
                let mut product: Vec<f32> = self.product(j, k).collect();
                centre(&mut product, &self.roots);
                for other in &taken {
                    let share = dot(&product, other);
                    add(&mut product, -share, other);
                }
                let length = norm(&product);
                if length > 1e-6 {
                    product.iter_mut().for_each(|p| *p /= length);
                    let share = dot(&residual, &product);
                    add(&mut residual, -share, &product);
                    taken.push(product);
                    found.extend([j, k]);
                }
            }
            if taken.len() == before {
                break;
            }
        }
        found
    }

    /// Columns to be paired: all, or those of the largest correlations.
    fn paired(&self, residual: &[f32]) -> Vec<usize> {
        let mut columns: Vec<usize> = (0..self.columns.len()).collect();
        if columns.len() > MOST_PAIRED {
            let squares = |v: &[f32]| {
                v.iter().zip(&self.roots).map(|(v, root)| v * v / root.max(1e-20)).collect::<Vec<_>>()
            };
            let mut squared = squares(residual);
            let mass = squared.iter().zip(&self.roots).map(|(s, root)| s * root).sum::<f32>();
            squared.iter_mut().zip(&self.roots).for_each(|(s, root)| *s -= mass * root);
            let scale = norm(residual) / norm(&squared).max(f32::MIN_POSITIVE);
            let size = |j: usize| {
                let square = squares(self.column(j));
                let length = norm(&square).max(f32::MIN_POSITIVE);
                let with_square = dot(residual, &square).abs().max(scale * dot(&squared, &square).abs());
                dot(residual, self.column(j)).abs().max(with_square / length)
            };
            let sizes: Vec<f32> = columns.par_iter().map(|&j| size(j)).collect();
            columns.sort_by(|&a, &b| sizes[b].total_cmp(&sizes[a]));
            columns.truncate(MOST_PAIRED);
            columns.sort_unstable();
        }
        columns
    }

    /// Pairs whose products go with the residual, with their significance.
    fn scan(&self, paired: &[usize], residual: &[f32], thresholds: Thresholds) -> Vec<(f32, usize, usize)> {
        let n = self.rows();
        // Of a row, without the root that the columns have.
        let plain: Vec<f32> = residual.iter().zip(&self.roots).map(|(r, root)| r / root.max(1e-20)).collect();
        let close = CLOSE * thresholds.square * norm(residual) / self.effective_rows.sqrt();
        let x = match paired.len() == self.columns.len() {
            true => Cow::from(&self.x),
            false => paired.iter().flat_map(|&j| self.column(j)).copied().collect::<Vec<_>>().into(),
        };
        let blocks: Vec<usize> = (0..paired.len()).step_by(BLOCK).collect();
        let of_block = |&first: &usize| {
            let block = first..(first + BLOCK).min(paired.len());
            let weighted = |k: usize| x[k * n..(k + 1) * n].iter().zip(&plain).map(|(x, r)| x * r);
            let heads: Vec<f32> = block.clone().flat_map(weighted).collect();
            // Each pair once: those before the end of the block.
            let mut products = vec![0.0; block.end * block.len()];
            simd::dense_outputs(simd::path(), &x[..block.end * n], n, &heads, &mut products);
            let mut pairs = Vec::new();
            for (j, products) in products.chunks_exact(block.len()).enumerate() {
                for (k, product) in block.clone().zip(products) {
                    if product.abs() >= close && j <= k {
                        pairs.push((product.abs(), paired[j], paired[k]));
                    }
                }
            }
            if pairs.len() > LOOKED_AT {
                pairs.select_nth_unstable_by(LOOKED_AT, |a, b| b.0.total_cmp(&a.0));
                pairs.truncate(LOOKED_AT);
            }
            pairs.iter_mut().for_each(|(size, j, k)| *size = self.significance(*j, *k, residual));
            pairs.retain(|&(significance, j, k)| significance >= thresholds.of(j, k));
            pairs
        };
        blocks.par_iter().flat_map_iter(of_block).collect()
    }

    /// The products of two columns, row by row, without the rows' shares.
    fn product(&self, j: usize, k: usize) -> impl Iterator<Item = f32> {
        let of = self.column(j).iter().zip(self.column(k)).zip(&self.roots);
        of.map(|((a, b), root)| a * b / (root * root).max(1e-20))
    }

    /// The correlation of the residual with the product of two columns, in standard errors of one that is zero.
    fn significance(&self, j: usize, k: usize, residual: &[f32]) -> f32 {
        let (mut sum, mut mean, mut squares) = (0.0, 0.0, 0.0);
        for ((product, r), root) in self.product(j, k).zip(residual).zip(&self.roots) {
            sum += product * root * r;
            mean += product * root * root;
            squares += (product * root).powi(2);
        }
        // A product that hardly varies is a constant but for rounding.
        let varies = squares - mean * mean > 1e-4 * squares;
        let length = (squares - mean * mean).max(0.0).sqrt() * norm(residual);
        if varies && length > 0.0 { sum.abs() / length * self.effective_rows.sqrt() } else { 0.0 }
    }
}

/// What the largest of so many standard normal numbers is about: of the squares of all columns, and of all pairs.
#[derive(Clone, Copy)]
struct Thresholds {
    square: f32,
    pair: f32,
}

impl Thresholds {
    fn new(columns: usize) -> Self {
        let largest = |count: f32| (2.0 * count.ln()).max(1.0).sqrt();
        let columns = columns as f32;
        Self { square: largest(columns), pair: largest(columns * columns / 2.0) }
    }

    fn of(self, j: usize, k: usize) -> f32 {
        if j == k { self.square } else { self.pair }
    }
}
