//! Derivatives of the network along the columns, in which a step counts by its height where it is near: for importances. And
//! those of the cosines alone: for the average gradient outer product (AGOP) of recursive feature machines (Radhakrishnan et
//! al. 2024).

use super::workspace::with_workspace;
use crate::features::Network;
use crate::fold::Fold;
use crate::problem::{Columns, Problem};
use crate::simd::{self, CHUNK, LINE, Path, gram_panels};

/// Squared derivatives of averaged networks by column, and the weight of their rows.
pub(super) struct SquaredSlopes<'a> {
    pub(super) path: Path,
    pub(super) columns: Columns<'a>,
    pub(super) networks: &'a [Network<'a>],
    pub(super) weight: &'a (dyn Fn(usize) -> f32 + Sync),
}

impl Fold for SquaredSlopes<'_> {
    type Sum = (Vec<f64>, f64);

    fn empty(&self) -> Self::Sum {
        (vec![0.0; self.columns.x.columns()], 0.0)
    }

    fn add(&self, (sums, mass): &mut Self::Sum, rows: &[usize]) {
        let (d, k) = (sums.len(), self.networks[0].outputs());
        let mut slopes = Vec::new();
        for rows in rows.chunks(CHUNK) {
            slopes.clear();
            slopes.resize(k * rows.len() * d, 0.0f32);
            for &network in self.networks {
                self.add_slopes(network, rows, &mut slopes);
            }
            for slopes in slopes.chunks_exact(rows.len() * d) {
                for (slopes, &i) in slopes.chunks_exact(d).zip(rows) {
                    let w = (self.weight)(i) as f64;
                    sums.iter_mut().zip(slopes).for_each(|(s, &v)| *s += w * (v as f64).powi(2));
                }
            }
            *mass += rows.iter().map(|&i| (self.weight)(i) as f64).sum::<f64>();
        }
    }

    fn merge(&self, (sums, mass): &mut Self::Sum, (next, next_mass): &Self::Sum) {
        sums.iter_mut().zip(next).for_each(|(s, n)| *s += n);
        *mass += next_mass;
    }
}

impl SquaredSlopes<'_> {
    /// Adds the share of one network in the derivatives of their average, `outputs x rows x columns`.
    fn add_slopes(&self, network: Network<'_>, rows: &[usize], into: &mut [f32]) {
        let Network { map, weights } = network;
        let (d, width) = (map.columns(), map.support.len());
        let share = 1.0 / self.networks.len() as f32;
        if let Some(partitions) = map.partitions.as_ref().filter(|_| !weights.cells.is_empty()) {
            let mut transformed = Vec::with_capacity(d);
            self.columns.x.for_each_row(rows, |at, row| {
                transformed.clear();
                transformed.extend(self.columns.transforms.of_row(row));
                partitions.changes(&transformed, &weights.cells, |j, output, change| {
                    into[(output * rows.len() + at) * d + j] += share * change;
                });
            });
        }
        for_each_output(self.path, self.columns, network, rows, |c, slopes| {
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
}

/// Outer products of the derivatives of the cosines' part, over the weight of all rows.
pub(super) struct OuterSlopes<'a> {
    pub(super) path: Path,
    pub(super) problem: &'a Problem<'a>,
    pub(super) network: Network<'a>,
    pub(super) mass: f64,
}

impl Fold for OuterSlopes<'_> {
    type Sum = Vec<f64>;

    fn empty(&self) -> Vec<f64> {
        vec![0.0; self.network.map.support.len().pow(2)]
    }

    fn add(&self, sum: &mut Vec<f64>, rows: &[usize]) {
        let Self { path, problem, network, mass } = *self;
        let width = network.map.support.len();
        let mut products = self.empty();
        let mut panels = Vec::new();
        for rows in rows.chunks(CHUNK) {
            for_each_output(path, problem.columns, network, rows, |_, slopes| {
                for (slopes, &i) in slopes.chunks_exact_mut(width).zip(rows) {
                    let root = problem.weight(i).sqrt();
                    slopes.iter_mut().for_each(|slope| *slope *= root);
                }
                panels.resize(rows.len() * width.next_multiple_of(LINE), 0.0);
                gram_panels(slopes, width, width, &mut panels);
                simd::gram(path, &panels, width, 0..width, &mut products);
            });
        }
        sum.iter_mut().zip(&products).for_each(|(s, p)| *s += p / mass);
    }

    fn merge(&self, sum: &mut Vec<f64>, next: &Vec<f64>) {
        sum.iter_mut().zip(next).for_each(|(s, n)| *s += n);
    }
}

/// Hands over, output by output, the derivatives of the cosines' part along the columns in the network's support,
/// `rows x columns`.
fn for_each_output(
    path: Path,
    columns: Columns<'_>,
    network: Network<'_>,
    rows: &[usize],
    mut take: impl FnMut(usize, &mut [f32]),
) {
    let Network { map, weights } = network;
    let (count, width) = (rows.len(), map.support.len());
    with_workspace(|w| {
        w.forward(path, columns, network, rows);
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
