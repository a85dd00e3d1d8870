//! Categories of many levels: the mean target of a level and the logarithm of its count.
//!
//! A level's mean is shrunk to the overall mean by as much as its rows are too few to tell (empirical Bayes: the variance within levels
//! over that between them is the number of rows that the overall mean counts for). The rows of the fit get the mean over the
//! other folds, so that no row sees its own target (Micci-Barreca 2001; Pargent et al. 2022).

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::category::{is_rare, level};
use crate::numerics::random::{Use, permutation, stream};
use crate::{Data, Target};

/// A level has a mean for each class, but for no more than the most frequent ones.
const MOST_CLASSES: usize = 10;

/// Parts the rows are cut into, and the mark of a row that is in none of them.
const FOLDS: usize = 5;
const HELD: usize = FOLDS;

/// Means of the target by level, for rows that were not there in the fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TargetMeans {
    /// `(levels + 1) x outputs`; the last row is of levels that are not known.
    means: Vec<f32>,
    /// The logarithm of 1 + count of each level; 0 for those that are not known.
    counts: Vec<f32>,
}

impl TargetMeans {
    fn outputs(&self) -> usize {
        self.means.len() / self.counts.len().max(1)
    }

    pub(super) fn width(&self) -> usize {
        self.outputs() + 1
    }

    /// A gap is missing in all of its columns.
    pub(super) fn encode(&self, cell: f32, out: &mut [f32]) {
        if cell.is_nan() {
            return out.fill(f32::NAN);
        }
        let (outputs, unknown) = (self.outputs(), self.counts.len() - 1);
        let level = level(cell, unknown).unwrap_or(unknown);
        out[..outputs].copy_from_slice(&self.means[level * outputs..(level + 1) * outputs]);
        out[outputs] = self.counts[level];
    }

    /// Whether it can have come from a fit to a column of so many levels.
    pub(super) fn fits(&self, levels: usize) -> bool {
        let whole = self.outputs() > 0 && self.means.len() == self.outputs() * self.counts.len();
        self.counts.len() == levels + 1
            && whole
            && self.means.iter().chain(&self.counts).all(|v| v.is_finite())
    }
}

/// Means for new rows, and for the rows of the fit.
pub(super) struct Fitted {
    pub(super) means: TargetMeans,
    /// `rows x outputs`, for the rows of the fit in their order; NaN in a gap.
    out_of_fold: Vec<f32>,
}

/// Weighted sums of the standardised target, by group.
#[derive(Clone)]
struct Sums {
    weight: Vec<f64>,
    /// `groups x outputs`.
    sum: Vec<f64>,
}

/// The target as levels are described by it, and the fold of each row.
pub(super) struct OutOfFold {
    /// `rows x outputs`, standardised; for several classes an indicator of each.
    y: Vec<f64>,
    outputs: usize,
    weight: Vec<f64>,
    /// Rows that the fit does not learn from belong to none.
    fold: Vec<usize>,
}

impl OutOfFold {
    /// The last `held` rows are in no fold.
    pub(super) fn new(data: &Data<'_>, rows: &[usize], held: usize, seed: u64) -> Self {
        let n = data.x.rows();
        let (mut y, outputs): (Vec<f64>, usize) = match data.y {
            Target::Values { values, outputs } => (values.to_vec(), outputs),
            Target::Labels { codes, classes } if classes.len() <= 2 => {
                (codes.iter().map(|&c| f64::from(c)).collect(), 1)
            }
            Target::Labels { codes, classes } => {
                let described = most_frequent(codes, classes.len(), rows);
                let of_row = |code: &u32| described.iter().map(|c| f64::from(c == code)).collect::<Vec<_>>();
                (codes.iter().flat_map(of_row).collect(), described.len())
            }
        };
        let total: f64 = rows.iter().map(|&i| data.weight.map_or(1.0, |w| w[i] as f64)).sum();
        let unit = rows.len() as f64 / total;
        let weight = (0..n).map(|i| data.weight.map_or(1.0, |w| w[i] as f64) * unit).collect::<Vec<_>>();
        for c in 0..outputs {
            let values = || rows.iter().map(|&i| (y[i * outputs + c], weight[i] / rows.len() as f64));
            let mean: f64 = values().map(|(v, w)| v * w).sum();
            let deviation = values().map(|(v, w)| (v - mean).powi(2) * w).sum::<f64>().sqrt();
            let scale = if deviation > 0.0 && deviation.is_finite() { 1.0 / deviation } else { 0.0 };
            y.iter_mut().skip(c).step_by(outputs).for_each(|v| *v = (*v - mean) * scale);
        }
        let mut fold = vec![HELD; n];
        let rows = &rows[..rows.len() - held];
        let rng = &mut stream(seed, Use::Encoding);
        match data.validation.groups() {
            None => {
                let order = permutation(rows.len(), rng);
                order.iter().enumerate().for_each(|(k, &at)| fold[rows[at]] = k % FOLDS);
            }
            // A group is in one fold: its rows may tell each other's targets.
            Some(groups) => {
                let distinct: BTreeSet<u32> = rows.iter().map(|&i| groups[i]).collect();
                let order = permutation(distinct.len(), rng);
                let of_group: HashMap<u32, usize> =
                    distinct.into_iter().zip(order).map(|(group, k)| (group, k % FOLDS)).collect();
                rows.iter().for_each(|&i| fold[i] = of_group[&groups[i]]);
            }
        }
        Self { y, outputs, weight, fold }
    }

    #[cfg(test)]
    pub(super) fn fold_of(&self, i: usize) -> usize {
        self.fold[i]
    }

    #[cfg(test)]
    pub(super) fn target_of(&self, i: usize) -> f64 {
        self.y[i]
    }

    fn target(&self, i: usize) -> &[f64] {
        &self.y[i * self.outputs..(i + 1) * self.outputs]
    }

    /// Means by level; `cells` are those of `rows`.
    pub(super) fn means(&self, cells: &[f32], rows: &[usize], counts: &[usize]) -> Fitted {
        let levels = counts.len();
        // Group 0 is of rare and unknown levels.
        let mut next = 1..;
        let own = |&count: &usize| if is_rare(count) { None } else { next.next() };
        let groups: Vec<usize> = counts.iter().map(own).map(|group| group.unwrap_or(0)).collect();
        let size = groups.iter().max().map_or(1, |last| last + 1);
        let empty = Sums { weight: vec![0.0; size], sum: vec![0.0; size * self.outputs] };
        let (mut all, mut in_folds, mut by_fold) = (empty.clone(), empty.clone(), vec![empty; FOLDS]);
        for (&cell, &i) in cells.iter().zip(rows) {
            let Some(level) = level(cell, levels) else { continue };
            let add = |sums: &mut Sums| sums.add(groups[level], self.weight[i], self.target(i));
            add(&mut all);
            if let Some(fold) = by_fold.get_mut(self.fold[i]) {
                add(&mut in_folds);
                add(fold);
            }
        }
        let prior_rows: Vec<f64> =
            (0..self.outputs).map(|c| self.prior_rows(c, &all, cells, rows, levels)).collect();
        let others = |group, i: usize| in_folds.shrunk(group, by_fold.get(self.fold[i]), &prior_rows);
        let means =
            groups.iter().chain([&0]).flat_map(|&group| all.shrunk(group, None, &prior_rows)).collect();
        let counts = counts.iter().chain([&0]).map(|&count| (count as f32).ln_1p()).collect();
        let of_row = |(&cell, &i): (&f32, &usize)| match level(cell, levels) {
            Some(level) => others(groups[level], i),
            None if cell.is_nan() => vec![f32::NAN; self.outputs],
            None => others(0, i),
        };
        let out_of_fold = cells.iter().zip(rows).flat_map(of_row).collect();
        Fitted { means: TargetMeans { means, counts }, out_of_fold }
    }

    /// The variance within groups over that between them (the estimates of a one-way analysis of variance).
    fn prior_rows(&self, c: usize, sums: &Sums, cells: &[f32], rows: &[usize], levels: usize) -> f64 {
        let squares: f64 = cells
            .iter()
            .zip(rows)
            .filter(|&(&cell, _)| level(cell, levels).is_some())
            .map(|(_, &i)| self.weight[i] * self.target(i)[c].powi(2))
            .sum();
        let groups = || sums.weight.iter().enumerate().filter(|&(_, &w)| w > 0.0);
        let sum = |group: usize| sums.sum[group * self.outputs + c];
        let (total, many) = (groups().map(|(_, w)| w).sum::<f64>(), groups().count() as f64);
        let mean = groups().map(|(g, _)| sum(g)).sum::<f64>() / total;
        let explained: f64 = groups().map(|(g, w)| sum(g).powi(2) / w).sum();
        let within = (squares - explained) / (total - many).max(1.0);
        let between = explained - total * mean * mean;
        let size = total - groups().map(|(_, w)| w * w).sum::<f64>() / total;
        let variance = (between - (many - 1.0) * within) / size;
        if variance > 0.0 && within > 0.0 {
            within / variance
        } else if variance > 0.0 {
            0.0
        } else {
            f64::INFINITY
        }
    }
}

/// The classes that a level is described by: all, or the most frequent of many.
fn most_frequent(codes: &[u32], classes: usize, rows: &[usize]) -> Vec<u32> {
    let mut counts = vec![0usize; classes];
    rows.iter().for_each(|&i| counts[codes[i] as usize] += 1);
    let mut order: Vec<u32> = (0..classes as u32).collect();
    order.sort_by_key(|&c| std::cmp::Reverse(counts[c as usize]));
    order.truncate(MOST_CLASSES);
    order.sort_unstable();
    order
}

impl Sums {
    fn add(&mut self, group: usize, weight: f64, target: &[f64]) {
        self.weight[group] += weight;
        let sums = &mut self.sum[group * target.len()..(group + 1) * target.len()];
        sums.iter_mut().zip(target).for_each(|(sum, y)| *sum += weight * y);
    }

    /// The means of a group, without the rows of a fold. The overall mean of a standardised target is 0.
    fn shrunk(&self, group: usize, without: Option<&Self>, prior_rows: &[f64]) -> Vec<f32> {
        let weight = self.weight[group] - without.map_or(0.0, |fold| fold.weight[group]);
        let mean = |(c, &prior): (usize, &f64)| {
            let at = group * prior_rows.len() + c;
            let sum = self.sum[at] - without.map_or(0.0, |fold| fold.sum[at]);
            let mean = (sum / (weight + prior)) as f32;
            if weight > 0.0 && mean.is_finite() { mean } else { 0.0 }
        };
        prior_rows.iter().enumerate().map(mean).collect()
    }
}

impl Fitted {
    /// Puts the means of other folds in place of those of all rows, in the columns of `x` from `at` on.
    pub(super) fn put_out_of_fold(&self, x: &mut [f32], width: usize, at: usize, rows: &[usize]) {
        let outputs = self.means.outputs();
        for (means, &i) in self.out_of_fold.chunks_exact(outputs).zip(rows) {
            x[i * width + at..i * width + at + outputs].copy_from_slice(means);
        }
    }
}
