//! One pass forward: outputs, losses, random features, designs.

use rayon::prelude::*;

use super::workspace::with_workspace;
use crate::features::{FeatureMap, Network};
use crate::fold::{Fold, fold};
use crate::problem::{Columns, Problem};
use crate::ridge::Design;
use crate::simd::{self, CHUNK, Path};

pub(super) fn outputs(path: Path, columns: Columns<'_>, network: Network<'_>, rows: &[usize]) -> Vec<f32> {
    let Network { map, weights } = network;
    let k = network.outputs();
    let mut all = vec![0.0; rows.len() * k];
    all.par_chunks_mut(CHUNK * k).zip(rows.par_chunks(CHUNK)).for_each(|(out, rows)| {
        with_workspace(|w| {
            w.load(path, columns, network, rows);
            simd::predict(path, &map.packed, &w.scaled, rows.len(), &weights.beta, k, &mut w.outputs);
            out.copy_from_slice(&w.outputs);
        });
    });
    all
}

/// Loss and weight of rows.
pub(super) struct Losses<'a> {
    pub(super) path: Path,
    pub(super) problem: &'a Problem<'a>,
    pub(super) network: Network<'a>,
}

impl Fold for Losses<'_> {
    type Sum = (f64, f64);

    fn empty(&self) -> (f64, f64) {
        (0.0, 0.0)
    }

    fn add(&self, sum: &mut (f64, f64), rows: &[usize]) {
        let Network { map, weights } = self.network;
        let (problem, k) = (self.problem, self.problem.outputs);
        for rows in rows.chunks(CHUNK) {
            with_workspace(|w| {
                w.load(self.path, problem.columns, self.network, rows);
                simd::predict(
                    self.path,
                    &map.packed,
                    &w.scaled,
                    rows.len(),
                    &weights.beta,
                    k,
                    &mut w.outputs,
                );
                w.losses(problem, rows, 1.0, &mut sum.0);
            });
            rows.iter().for_each(|&i| sum.1 += problem.weight(i) as f64);
        }
    }

    fn merge(&self, sum: &mut (f64, f64), next: &(f64, f64)) {
        *sum = (sum.0 + next.0, sum.1 + next.1);
    }
}

pub(super) fn mean_loss(path: Path, problem: &Problem<'_>, network: Network<'_>, rows: &[usize]) -> f64 {
    let losses = Losses { path, problem, network };
    let mut total = losses.empty();
    fold(&losses, &mut total, rows, CHUNK);
    total.0 / total.1
}

pub(super) fn features(
    path: Path,
    columns: Columns<'_>,
    map: &FeatureMap,
    theta: &[f32],
    rows: &[usize],
    mut take: impl FnMut(usize, &[f32]),
) {
    let (s, padded) = (map.features(), map.padded());
    with_workspace(|w| {
        w.gather(path, columns, map, theta, rows);
        w.outputs.resize(rows.len() * padded, 0.0);
        simd::features(path, &map.packed, &w.scaled, rows.len(), &mut w.outputs);
        w.outputs.chunks_exact(padded).enumerate().for_each(|(row, cosines)| take(row, &cosines[..s]));
    });
}

/// Cosines, the transformed columns if there are linear terms, each times its factor, and 1.
pub(super) fn design(
    path: Path,
    columns: Columns<'_>,
    design: &Design<'_>,
    rows: &[usize],
    stride: usize,
    z: &mut [f32],
) {
    let (map, theta) = (&design.features.map, &design.features.theta);
    let (s, terms) = (map.features(), design.linear_terms());
    let (cosine, slope) = (design.cosine() as f32, design.slope() as f32);
    let transforms = columns.transforms.columns();
    z.par_chunks_mut(CHUNK * stride).zip(rows.par_chunks(CHUNK)).for_each(|(z, rows)| {
        features(path, columns, map, theta, rows, |row, cosines| {
            let row = &mut z[row * stride..];
            row[..s].iter_mut().zip(cosines).for_each(|(z, c)| *z = cosine * c);
            row[s + terms] = 1.0;
        });
        if terms > 0 {
            let mut places = z.chunks_exact_mut(stride);
            columns.x.for_each_row(rows, |row| {
                let place = &mut places.next().expect("as many as rows")[s..s + terms];
                let cells = row.iter().zip(transforms);
                place.iter_mut().zip(cells).for_each(|(z, (&v, t))| *z = slope * t.apply(v));
            });
        }
    });
}
