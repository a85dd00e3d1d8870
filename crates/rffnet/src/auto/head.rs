//! The head with the penalty chosen on validation, and the head on all rows.

use super::Fitter;
use crate::features::{FeatureMap, Network, ScaledFeatures, Weights};
use crate::problem::Problem;
use crate::solver::monitor::Monitor;
use crate::solver::reduced::{HeadSettings, Reduced};

/// Features and their head on the training rows.
pub(super) struct Solved<'a> {
    pub(super) features: ScaledFeatures,
    pub(super) weights: Weights,
    pub(super) alpha: f64,
    /// On the validation rows; on the training rows where there are none.
    pub(super) loss: f64,
    reduced: Reduced<'a>,
    problem: &'a Problem<'a>,
    judged_on: &'a [usize],
}

impl Solved<'_> {
    pub(super) fn network(&self) -> Network<'_> {
        Network::new(&self.features.map, &self.weights)
    }

    /// The loss of every row that is judged on.
    pub(super) fn losses(&self) -> Vec<f64> {
        self.problem.row_losses(self.network(), self.judged_on)
    }
}

impl Fitter<'_> {
    /// The penalties to choose from, if there is something to choose by: few validation rows cannot tell weak ones apart.
    pub(super) fn range(&self) -> Option<(f64, f64)> {
        let (common, constants) = (self.training.common, &self.sizes.constants);
        let weakest = constants.weakest / self.split.validation.len() as f64;
        let chosen = common.fixed_alpha.is_none() && self.validates();
        chosen.then_some((weakest.min(self.alpha()), constants.strongest))
    }

    /// The head on the training rows with the penalty chosen on validation around `alpha`, if there is a range to choose from;
    /// else with `alpha`.
    pub(super) fn solve(
        &self,
        features: ScaledFeatures,
        alpha: f64,
        range: Option<(f64, f64)>,
        monitor: &mut Monitor<'_>,
    ) -> Solved<'_> {
        let (problem, split) = (self.training.problem, &self.split);
        monitor.count(self.sizes.evaluation(split.train.len(), features.map.features()));
        let settings = HeadSettings { alpha, linear: self.training.common.linear.into() };
        let mut reduced = Reduced::new(problem, &split.train, settings);
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
        if lower(alpha)
            && let Some(range) = range
        {
            walk(alpha, range, self.sizes.constants.alpha_step, lower);
        }
        let (loss, alpha, weights) = best.expect("the first one is taken");
        Solved { features, weights, alpha, loss, reduced, problem, judged_on: split.judged_on() }
    }

    /// The same head on all rows that the member gets.
    pub(super) fn finish(
        &self,
        solved: Solved<'_>,
        rows: &[usize],
        monitor: &mut Monitor<'_>,
    ) -> (FeatureMap, Weights) {
        let Solved { features, alpha, reduced, .. } = solved;
        monitor.count(self.sizes.evaluation(rows.len() - self.split.train.len(), features.map.features()));
        let weights = reduced.on_more(rows, &features).penalised(&features, alpha);
        (features.map, weights)
    }
}

/// Up from a penalty for as long as the next one lowers the loss or, where the first does not, down.
fn walk(start: f64, (least, most): (f64, f64), step: f64, mut lower: impl FnMut(f64) -> bool) {
    let up = (1..).map(|k| start * step.powi(k)).take_while(|&alpha| alpha <= most);
    if up.take_while(|&alpha| lower(alpha)).count() == 0 {
        let down = (1..).map(|k| start / step.powi(k)).take_while(|&alpha| alpha >= least);
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
            walk(start, (0.99e-6, 10.1), 10f64.sqrt(), |alpha| {
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
