//! The head with the penalty chosen on validation, and the head on all rows.

use super::Fitter;
use crate::features::{FeatureMap, Network, ScaledFeatures, Weights};
use crate::solver::monitor::Monitor;
use crate::solver::reduced::{HeadSettings, Reduced};
use crate::training::Training;

/// The factor between neighbouring penalties.
const ALPHA_STEP: f64 = 3.16;

/// Features and their head on the training rows.
pub(super) struct Solved<'a> {
    pub(super) features: ScaledFeatures,
    pub(super) weights: Weights,
    pub(super) alpha: f64,
    /// On the validation rows; on the training rows where there are none.
    pub(super) loss: f64,
    pub(super) reduced: Reduced<'a>,
    pub(super) fitter: &'a Fitter<'a>,
}

impl Solved<'_> {
    /// The head of the cosines alone.
    pub(super) fn without_partitions(self) -> Self {
        let mut features = self.features;
        features.map.partitions = None;
        let mut reduced = self.reduced.without_partitions();
        let weights = reduced.penalised(&features, self.alpha);
        let Fitter { training, split, .. } = self.fitter;
        let loss = training.problem.mean_loss(Network::new(&features.map, &weights), split.judged_on());
        Self { features, weights, loss, reduced, ..self }
    }

    pub(super) fn network(&self) -> Network<'_> {
        Network::new(&self.features.map, &self.weights)
    }

    /// The loss of every row that is judged on.
    pub(super) fn losses(&self) -> Vec<f64> {
        let Fitter { training, split, .. } = self.fitter;
        training.problem.row_losses(self.network(), split.judged_on())
    }

    /// The same head on all rows that the member gets.
    pub(super) fn on_more(self, rows: &[usize], monitor: &mut Monitor<'_>) -> (FeatureMap, Weights) {
        let Fitter { sizes, split, .. } = self.fitter;
        let features = self.features;
        monitor.count(sizes.evaluation(rows.len() - split.train.len(), features.map.features()));
        let weights = self.reduced.on_more(rows, &features).penalised(&features, self.alpha);
        (features.map, weights)
    }
}

impl Fitter<'_> {
    /// The head on the training rows: with the penalty chosen around this one, if there is something to choose by; `None` for
    /// the penalty while relevances are found.
    pub(super) fn solve(
        &self,
        features: ScaledFeatures,
        around: Option<f64>,
        monitor: &mut Monitor<'_>,
    ) -> Solved<'_> {
        let Self { training: Training { problem, common, .. }, split, sizes, .. } = self;
        monitor.count(sizes.evaluation(split.train.len(), features.map.features()));
        let alpha = around.unwrap_or(self.alpha());
        let settings = HeadSettings { alpha, linear: self.linear() };
        let mut reduced = Reduced::new(problem, &split.train, settings);
        let chooses = around.is_some() && common.fixed_alpha.is_none() && self.validates();
        let mut best: Option<(f64, f64, Weights)> = None;
        // Whether the loss falls.
        let mut lower = |alpha: f64| {
            if best.is_some() && monitor.stopped() {
                return false;
            }
            let weights = reduced.penalised(&features, alpha);
            let loss = problem.mean_loss(Network::new(&features.map, &weights), split.judged_on());
            let lower = best.as_ref().is_none_or(|b| loss < b.0);
            if lower {
                best = Some((loss, alpha, weights));
            }
            lower && loss.is_finite()
        };
        if lower(alpha) && chooses {
            // Few validation rows cannot tell weak penalties apart.
            let weakest = sizes.constants.weakest / split.validation.len() as f64;
            walk(alpha, (weakest.min(self.alpha()), sizes.constants.strongest), lower);
        }
        let (loss, alpha, weights) = best.expect("the first one is taken");
        Solved { features, weights, alpha, loss, reduced, fitter: self }
    }
}

/// Up from a penalty for as long as the next one lowers the loss or, where the first does not, down.
fn walk(start: f64, (least, most): (f64, f64), mut lower: impl FnMut(f64) -> bool) {
    let up = (1..).map(|k| start * ALPHA_STEP.powi(k)).take_while(|&alpha| alpha <= most);
    if up.take_while(|&alpha| lower(alpha)).count() == 0 {
        let down = (1..).map(|k| start / ALPHA_STEP.powi(k)).take_while(|&alpha| alpha >= least);
        down.take_while(|&alpha| lower(alpha)).count();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_ends_in_the_valley_or_at_an_end() {
        for (start, valley, end) in
            [(1e-3, 1e-5, 1e-5), (1e-5, 1e-2, 1e-2), (1e-4, 1e-4, 1e-4), (1e-3, 1e-9, 1e-6), (1.0, 1e3, 10.0)]
        {
            let loss = |alpha: f64| (alpha / valley).ln().powi(2);
            let (mut best, mut steps) = (start, 0);
            walk(start, (0.99e-6, 10.1), |alpha| {
                steps += 1;
                let lower = loss(alpha) < loss(best);
                if lower {
                    best = alpha;
                }
                lower
            });
            assert!((best / end).ln().abs() < 0.1, "{start} {valley}: {best}");
            assert!(steps <= 9, "{start} {valley}: {steps} steps");
        }
    }
}
