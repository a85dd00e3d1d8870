//! Derivatives of the network along the columns: for importances, and for the directions in which it changes.

use rayon::prelude::*;

use super::{FeatureMap, MAX_SLOTS, MAX_SPECTRUM_SLOTS, Problem, WORKSPACE, Weights, slot_rows};
use crate::Matrix;
use crate::simd::{self, CHUNK, GramScratch, Path};
use crate::transform::Scale;

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
    let (d, width) = (x.columns(), map.support.len());
    for_each_output(path, x, scale, map, weights, rows, |c, slopes| {
        let into = &mut into[c * rows.len() * d..(c + 1) * rows.len() * d];
        for (into, slopes) in into.chunks_exact_mut(d).zip(slopes.chunks_exact(width)) {
            map.support.iter().zip(slopes).for_each(|(&j, &slope)| into[j] += share * slope);
            if !weights.linear.is_empty() {
                let linear = &weights.linear[c * d..(c + 1) * d];
                into.iter_mut().zip(linear).for_each(|(t, l)| *t += share * l);
            }
        }
    });
}

/// The weighted mean, over rows, of the outer product of the derivatives (summed over outputs) of the cosines' part along
/// the columns the network looks at: lower triangle, row-major.
pub(crate) fn mean_outer_slopes(
    problem: &Problem<'_>,
    map: &FeatureMap,
    weights: &Weights,
    rows: &[usize],
) -> Vec<f64> {
    let path = simd::path();
    let width = map.support.len();
    let partials: Vec<Vec<f64>> = rows
        .par_chunks(slot_rows(rows.len(), MAX_SPECTRUM_SLOTS))
        .map(|rows| {
            let mut sums = vec![0.0; width * width];
            let mut scratch = GramScratch::default();
            for rows in rows.chunks(CHUNK) {
                for_each_output(path, problem.x, &problem.scale, map, weights, rows, |_, slopes| {
                    for (slopes, &i) in slopes.chunks_exact_mut(width).zip(rows) {
                        let root = problem.weight(i).sqrt();
                        slopes.iter_mut().for_each(|slope| *slope *= root);
                    }
                    simd::gram(path, slopes, rows.len(), width, width, 0..width, &mut sums, &mut scratch);
                });
            }
            sums
        })
        .collect();
    let mass: f64 = rows.iter().map(|&i| problem.weight(i) as f64).sum();
    let mut total = vec![0.0; width * width];
    for sums in &partials {
        total.iter_mut().zip(sums).for_each(|(t, s)| *t += s / mass);
    }
    total
}

/// Hands over, output by output, the derivatives of the cosines' part along the columns the network looks at,
/// `rows x columns`.
fn for_each_output(
    path: Path,
    x: Matrix<'_>,
    scale: &Scale,
    map: &FeatureMap,
    weights: &Weights,
    rows: &[usize],
    mut take: impl FnMut(usize, &mut [f32]),
) {
    let (count, width) = (rows.len(), map.support.len());
    let k = weights.intercept.len();
    WORKSPACE.with_borrow_mut(|w| {
        w.load(path, x, rows, scale, map, weights);
        simd::forward(path, &map.packed, &w.scaled, count, &weights.beta, k, &mut w.outputs, &mut w.tape);
        w.slopes.resize(count * width, 0.0);
        for (c, beta) in weights.beta.chunks_exact(map.padded()).enumerate() {
            simd::slopes(path, &map.packed, count, beta, &w.tape, &mut w.slopes);
            for slopes in w.slopes.chunks_exact_mut(width) {
                slopes.iter_mut().zip(&weights.theta).for_each(|(slope, theta)| *slope *= -theta);
            }
            take(c, &mut w.slopes);
        }
    });
}
