//! What every step of a member works with, and the one rule by which candidates are compared.

use super::screen::Screened;
use super::sizes::Sizes;
use crate::features::{FeatureMap, ScaledFeatures};
use crate::numerics::random::{Use, shuffle, stream};
use crate::ridge::Linear;
use crate::solver::monitor::Monitor;
use crate::solver::varpro::{Stage, optimise};
use crate::training::Training;
use crate::validation::{Split, significantly_smaller};

/// The problem, the sizes, and a member's own rows to learn from and to validate on.
pub(crate) struct Fitter<'a> {
    pub(super) training: Training<'a>,
    pub(super) sizes: &'a Sizes,
    pub(super) number: usize,
    pub(super) split: Split,
    /// The columns that are looked at, if not all are.
    pub(super) screened: Option<Screened>,
}

impl<'a> Fitter<'a> {
    /// Of a member, by its number: members differ in everything that is drawn.
    pub(crate) fn new(training: Training<'a>, sizes: &'a Sizes, number: usize) -> Self {
        let common = training.common;
        let seed = member_seed(common.seed, number);
        let sample = share(training.rows, sizes.rows, (number, sizes.members), common.seed);
        let split = Split::new(&sample, common.validation_fraction, training.held_out, seed);
        Self { training, sizes, number, split, screened: None }
    }

    /// The rows of the last head, the training rows first: large tables are divided among the members (Zhang, Duchi &
    /// Wainwright 2015).
    pub(super) fn head_rows(&self) -> Vec<usize> {
        let (rows, members) = (self.training.rows, self.sizes.members);
        let count = self.sizes.rows.max(rows.len().div_ceil(members));
        let mut others = share(rows, count, (self.number, members), self.training.common.seed);
        let mut trained = self.split.train.clone();
        trained.sort_unstable();
        others.retain(|row| trained.binary_search(row).is_err());
        [&self.split.train[..], &others].concat()
    }

    /// Independent frequencies on the given columns, for features that come behind so many others.
    pub(super) fn draw(&self, features: usize, support: &[usize], behind: usize) -> FeatureMap {
        let seed = member_seed(self.training.common.seed, self.number).wrapping_add(behind as u64);
        let map = self.training.draw(features, &mut stream(seed, Use::Frequencies));
        let drawn = ScaledFeatures { theta: vec![1.0; map.support.len()], map };
        drawn.keep(|j, _| support.binary_search(&j).is_ok()).map
    }

    /// Columns that vary and are looked at.
    pub(super) fn support(&self) -> Vec<usize> {
        self.screened.as_ref().map_or_else(|| self.training.support(), |screened| screened.columns.clone())
    }

    /// Linear terms beside the features.
    pub(super) fn linear(&self) -> Linear<'_> {
        match &self.screened {
            Some(screened) if self.training.common.linear => Linear::Some(&screened.terms),
            _ => self.training.common.linear.into(),
        }
    }

    /// Whether there are validation rows.
    pub(super) fn validates(&self) -> bool {
        !self.split.validation.is_empty()
    }

    /// The one rule: whether a candidate is better than a simpler one, by half a standard error (`judge_errors`) of the
    /// difference of their validation losses. Without validation rows nothing is.
    pub(super) fn better(&self, candidate: &[f64], simpler: &[f64]) -> bool {
        let finite = |losses: &[f64]| losses.iter().all(|loss| loss.is_finite());
        let errors = self.sizes.constants.judge_errors;
        let lower = || self.validates() && significantly_smaller(candidate, simpler, errors);
        finite(candidate) && (!finite(simpler) || lower())
    }

    /// L-BFGS over the relevances, and over frequencies and phases too where `spectrum` says so.
    pub(super) fn optimise(
        &self,
        features: ScaledFeatures,
        alpha: f64,
        spectrum: bool,
        monitor: &mut Monitor<'_>,
    ) -> ScaledFeatures {
        let Sizes { steps, ref constants, .. } = *self.sizes;
        let work = self.sizes.evaluation(self.split.train.len(), features.map.features());
        let patience = constants.patience as usize;
        let stage = Stage { alpha, steps, patience, spectrum, linear: self.linear(), work };
        optimise(self.training.problem, &self.split, features, &stage, monitor)
    }
}

/// So many rows for one of the members, in their order. Where the rows suffice, those of all members together are all rows.
fn share(rows: &[usize], count: usize, (number, members): (usize, usize), seed: u64) -> Vec<usize> {
    let mut order = rows.to_vec();
    if count < rows.len() {
        shuffle(&mut order, &mut stream(seed, Use::Shuffle));
        order.rotate_left(number * rows.len() / members);
        order.truncate(count);
        order.sort_unstable();
    }
    order
}

/// The seed of a member; the first one has the plan's own.
pub(crate) fn member_seed(seed: u64, number: usize) -> u64 {
    seed.wrapping_add((number as u64) << 40)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_share_the_rows_of_a_large_table() {
        let rows: Vec<usize> = (0..1003).map(|i| 3 * i).collect();
        let of = |count, number| share(&rows, count, (number, 4), 7);
        let mut all: Vec<usize> = (0..4).flat_map(|number| of(251, number)).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all, rows, "together they are all rows");
        for number in 0..4 {
            let (sample, more) = (of(100, number), of(600, number));
            assert!(more.is_sorted() && more.len() == 600);
            assert!(sample.len() == 100 && sample.iter().all(|row| more.contains(row)));
            assert_eq!(of(1003, number), rows);
        }
        assert_ne!(of(100, 0), of(100, 1));
    }
}
