//! Derivatives of the network along the columns, for importances.

use rayon::prelude::*;

use super::{FeatureMap, MAX_SLOTS, WORKSPACE, Weights, slot_rows};
use crate::Matrix;
use crate::scale::Scale;
use crate::simd::{self, CHUNK, Path};

/// For each column the weighted mean, over rows, of the squared derivative (summed over outputs) of the averaged
/// networks along the standardised column.
pub(crate) fn mean_squared_slopes(
    x: Matrix<'_>,
    scale: &Scale,
    networks: &[(&FeatureMap, &Weights)],
    rows: &[usize],
    weight: impl Fn(usize) -> f32 + Sync,
) -> Vec<f64> {
    let path = simd::path();
    let d = x.columns();
    let share = 1.0 / networks.len() as f32;
    let partials: Vec<(Vec<f64>, f64)> = rows
        .par_chunks(slot_rows(rows.len(), MAX_SLOTS))
        .map(|rows| {
            let (mut sums, mut mass) = (vec![0.0; d], 0.0);
            let k = networks[0].1.intercept.len();
            let mut slopes = Vec::new();
            for rows in rows.chunks(CHUNK) {
                slopes.clear();
                slopes.resize(k * rows.len() * d, 0.0f32);
                for &(map, weights) in networks {
                    add_slopes(path, x, scale, map, weights, rows, share, &mut slopes);
                }
                for slopes in slopes.chunks_exact(rows.len() * d) {
                    for (slopes, &i) in slopes.chunks_exact(d).zip(rows) {
                        let w = weight(i) as f64;
                        sums.iter_mut().zip(slopes).for_each(|(s, &v)| *s += w * (v as f64).powi(2));
                    }
                }
                mass += rows.iter().map(|&i| weight(i) as f64).sum::<f64>();
            }
            (sums, mass)
        })
        .collect();
    let mut total = vec![0.0; d];
    for (sums, _) in &partials {
        total.iter_mut().zip(sums).for_each(|(t, s)| *t += s);
    }
    let mass: f64 = partials.iter().map(|p| p.1).sum();
    total.iter_mut().for_each(|t| *t /= mass);
    total
}

/// Adds `share` times the derivatives of one network, `outputs x rows x columns`.
fn add_slopes(
    path: Path,
    x: Matrix<'_>,
    scale: &Scale,
    map: &FeatureMap,
    weights: &Weights,
    rows: &[usize],
    share: f32,
    into: &mut [f32],
) {
    let (d, count, width) = (x.columns(), rows.len(), map.support.len());
    let k = weights.intercept.len();
    WORKSPACE.with_borrow_mut(|w| {
        w.load(path, x, rows, scale, map, weights);
        simd::forward(path, &map.packed, &w.scaled, count, &weights.beta, k, &mut w.outputs, &mut w.tape);
        w.slopes.resize(count * width, 0.0);
        for (c, into) in into.chunks_exact_mut(count * d).enumerate() {
            let beta = &weights.beta[c * map.padded()..(c + 1) * map.padded()];
            simd::slopes(path, &map.packed, count, beta, &w.tape, &mut w.slopes);
            for (into, slopes) in into.chunks_exact_mut(d).zip(w.slopes.chunks_exact(width)) {
                for ((&j, &theta), &slope) in map.support.iter().zip(&weights.theta).zip(slopes) {
                    into[j] -= share * theta * slope;
                }
                if !weights.linear.is_empty() {
                    let linear = &weights.linear[c * d..(c + 1) * d];
                    into.iter_mut().zip(linear).for_each(|(t, l)| *t += share * l);
                }
            }
        }
    });
}
