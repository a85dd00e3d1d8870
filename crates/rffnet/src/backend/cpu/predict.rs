//! One pass forward: losses, and designs of exact heads.

use super::Cpu;
use super::workspace::with_workspace;
use crate::features::Network;
use crate::fold::Fold;
use crate::problem::{Columns, Problem};
use crate::ridge::{Design, LinearTerm};
use crate::simd::{CHUNK, Path};

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
        let problem = self.problem;
        for rows in rows.chunks(CHUNK) {
            with_workspace(|w| {
                w.predict(self.path, problem.columns, self.network, rows);
                w.losses(problem, rows, 1.0, &mut sum.0);
            });
            rows.iter().for_each(|&i| sum.1 += problem.weight(i) as f64);
        }
    }

    fn merge(&self, sum: &mut (f64, f64), next: &(f64, f64)) {
        *sum = (sum.0 + next.0, sum.1 + next.1);
    }
}

/// Rows of a design: cosines, the transformed columns if there are linear terms, each times its factor, and 1.
pub(super) fn write_design(
    cpu: &Cpu,
    columns: Columns<'_>,
    design: &Design<'_>,
    rows: &[usize],
    z: &mut [f32],
) {
    let (map, theta) = (&design.features.map, &design.features.theta);
    let (s, terms, stride) = (map.features(), design.linear_terms(), z.len() / rows.len());
    let cosine = design.cosine() as f32;
    cpu.features(columns, map, theta, rows, |row, cosines| {
        let row = &mut z[row * stride..];
        row[..s].iter_mut().zip(cosines).for_each(|(z, c)| *z = cosine * c);
        row[s + terms] = 1.0;
    });
    if terms > 0 {
        let transforms = columns.transforms.columns();
        columns.x.for_each_row(rows, |at, row| {
            let place = &mut z[at * stride + s..][..terms];
            for (z, LinearTerm { column, factor }) in place.iter_mut().zip(design.terms()) {
                *z = factor as f32 * transforms[column].apply(row[column]);
            }
        });
    }
}
