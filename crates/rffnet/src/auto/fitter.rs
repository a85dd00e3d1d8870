//! What every step of the default algorithm works with, and the one rule by which candidates are compared.

use super::sizes::Sizes;
use crate::features::{FeatureMap, ScaledFeatures};
use crate::numerics::random::{Stream, Use, stream};
use crate::ridge::Linear;
use crate::solver::monitor::Monitor;
use crate::solver::varpro::{Optimum, Stage, optimise};
use crate::training::Training;
use crate::validation::{Split, significantly_smaller};

use super::member::member_seed;

/// Penalties from strong to weak.
const ALPHAS: [f64; 2] = [1e-3, 1e-4];
/// Without validation rows, one penalty in the middle has to do.
pub(super) const DEFAULT_ALPHA: f64 = 1e-4;
/// The strongest penalty.
const STRONGEST: f64 = 10.0;

/// The problem, the sizes, the rows to learn from and to validate on, and the penalties in question.
pub(crate) struct Fitter<'a> {
    pub(super) training: Training<'a>,
    pub(super) sizes: &'a Sizes,
    pub(super) number: usize,
    pub(super) split: Split,
    pub(super) linear: Linear,
    /// Penalties from strong to weak.
    pub(super) alphas: Vec<f64>,
    /// For the final penalty, if there is something to choose by.
    pub(super) range: Option<(f64, f64)>,
}

impl<'a> Fitter<'a> {
    /// Of a member, by its number: members differ in everything that is drawn.
    pub(crate) fn new(training: Training<'a>, sizes: &'a Sizes, number: usize) -> Self {
        let common = training.common;
        let seed = member_seed(common.seed, number);
        let split = Split::new(training.rows, common.validation_fraction, training.held_out, seed);
        let choosing = common.fixed_alpha.is_none() && !split.validation.is_empty();
        // Few validation rows cannot tell weak penalties apart.
        let classes = if common.loss.is_classification() { 10.0 } else { 1.0 };
        let weakest = classes * sizes.constants.weakest / split.validation.len() as f64;
        let alphas = if choosing {
            ALPHAS.into_iter().filter(|&a| a >= weakest || a == ALPHAS[0]).collect()
        } else {
            vec![common.fixed_alpha.unwrap_or(DEFAULT_ALPHA)]
        };
        let range = choosing.then_some((weakest.min(ALPHAS[0]), STRONGEST));
        let linear = common.linear.into();
        Self { training, sizes, number, split, linear, alphas, range }
    }

    /// Where this member's frequencies are drawn from.
    pub(super) fn frequencies(&self) -> Stream {
        stream(member_seed(self.training.common.seed, self.number), Use::Frequencies)
    }

    /// Independent frequencies on the given columns.
    pub(super) fn draw(&self, features: usize, support: &[usize], rng: &mut Stream) -> FeatureMap {
        let map = self.training.draw(features, rng);
        if *support == *map.support {
            return map;
        }
        let drawn = ScaledFeatures { theta: vec![1.0; map.support.len()], map };
        drawn.keep(|j, _| support.binary_search(&j).is_ok()).map
    }

    /// Whether there are validation rows.
    pub(super) fn validates(&self) -> bool {
        !self.split.validation.is_empty()
    }

    /// The one rule: whether a candidate is better than a simpler one, by half a standard error (`judge_errors`) of the
    /// difference of their validation losses. Without validation rows nothing is.
    pub(super) fn better(&self, candidate: &[f64], simpler: &[f64]) -> bool {
        let finite = |losses: &[f64]| losses.iter().all(|loss| loss.is_finite());
        match (finite(candidate), finite(simpler)) {
            (true, true) => {
                self.validates()
                    && significantly_smaller(candidate, simpler, self.sizes.constants.judge_errors)
            }
            (candidate, simpler) => candidate && !simpler,
        }
    }

    /// L-BFGS over the relevances, and over frequencies and phases too where `spectrum` says so.
    pub(super) fn optimise(
        &self,
        rows: usize,
        features: ScaledFeatures,
        (alphas, steps, spectrum): (&[f64], usize, bool),
        monitor: &mut Monitor<'_>,
    ) -> Optimum {
        let split = self.split.with_fewer(rows);
        let patience = self.sizes.constants.patience as usize;
        let stage = Stage { alphas, steps, patience, spectrum, linear: self.linear };
        monitor.each_evaluation(self.sizes.evaluation(split.train.len(), features.map.features()));
        optimise(self.training.problem, &split, features, &stage, monitor)
    }
}
