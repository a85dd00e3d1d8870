//! The head with the penalty chosen on validation, and the head on all rows.

use super::Fitter;
use crate::features::{Network, ScaledFeatures, Weights};
use crate::loss::ExactHead;
use crate::ridge::{Design, Ridge};
use crate::solver::monitor::Monitor;
use crate::solver::reduced::{HeadSettings, Reduced};

/// The factor between neighbouring penalties: half a decade.
const PENALTY_STEP: f64 = 3.162_277_660_168_379_5;

/// Features and their head on the training rows.
pub(super) struct Solved {
    pub(super) features: ScaledFeatures,
    pub(super) weights: Weights,
    pub(super) alpha: f64,
    /// On the validation rows; on the training rows where there are none.
    pub(super) loss: f64,
    /// Of the training rows, where the head is a regression's.
    ridge: Option<Ridge>,
    /// Where a classifier's head on more rows starts.
    coefficients: Vec<f64>,
}

impl Solved {
    pub(super) fn network(&self) -> Network<'_> {
        Network::new(&self.features.map, &self.weights)
    }
}

impl Fitter<'_> {
    /// The head on the training rows with the penalty chosen on validation around `alpha`, if there is a range to choose from;
    /// else with `alpha`.
    pub(super) fn solve(
        &self,
        features: ScaledFeatures,
        alpha: f64,
        range: Option<(f64, f64)>,
        monitor: &mut Monitor<'_>,
    ) -> Solved {
        let (problem, split, map) = (self.training.problem, &self.split, &features.map);
        monitor.count(self.sizes.evaluation(split.train.len(), map.features()));
        let design = Design::new(&features, self.linear);
        let least_squares = matches!(problem.loss.exact_head(), ExactHead::LeastSquares);
        let ridge = least_squares.then(|| Ridge::new(problem, &design, &split.train));
        let settings = HeadSettings { alpha, linear: self.linear };
        let mut reduced = Reduced::new(problem, &split.train, settings);
        let mut best: Option<(f64, Weights, Vec<f64>)> = None;
        let mut loss = |alpha: f64| {
            let (weights, coefficients) = match &ridge {
                Some(ridge) => (design.weights(&ridge.head(alpha)), Vec::new()),
                None => {
                    reduced.settings.alpha = alpha;
                    reduced.head(&features)
                }
            };
            let loss = problem.mean_loss(Network::new(map, &weights), split.judged_on());
            if best.as_ref().is_none_or(|b| loss < b.0) {
                best = Some((loss, weights, coefficients));
            }
            loss
        };
        let (alpha, _) = match range.filter(|_| !monitor.stopped()) {
            Some(range) => walk_penalty(alpha, range, &mut loss),
            None => (alpha, loss(alpha)),
        };
        // Every loss may be NaN, and every comparison false.
        let (loss, weights, coefficients) =
            best.unwrap_or_else(|| (f64::INFINITY, Weights::zeros(map, problem.outputs), Vec::new()));
        Solved { features, weights, alpha, loss, ridge, coefficients }
    }

    /// The loss of every row that is judged on.
    pub(super) fn losses(&self, solved: &Solved) -> Vec<f64> {
        self.training.problem.row_losses(solved.network(), self.split.judged_on())
    }

    /// The head on all rows, with the same penalty.
    pub(super) fn on_all_rows(&self, solved: &Solved) -> Weights {
        let Solved { features, ridge, alpha, .. } = solved;
        let (problem, split) = (self.training.problem, &self.split);
        let design = Design::new(features, self.linear);
        if let Some(ridge) = ridge {
            if split.validation.is_empty() {
                return design.weights(&ridge.head(*alpha));
            }
            if let Some(ridge) = ridge.with(problem, &design, &split.validation) {
                return design.weights(&ridge.head(*alpha));
            }
        }
        let settings = HeadSettings { alpha: *alpha, linear: self.linear };
        let reduced = Reduced::new(problem, self.training.rows, settings);
        reduced.starting_at(solved.coefficients.clone()).head(features).0
    }
}

/// A line search on a grid: goes up or, where that does not lower the loss, down, while the loss falls. `step` is told the
/// direction and the steps taken in it, and ends the search with `None`.
pub(super) fn walk<T>(
    start: T,
    loss: impl Fn(&T) -> f64,
    mut step: impl FnMut(&T, Direction, usize) -> Option<T>,
) -> T {
    let mut best = start;
    for direction in [Direction::Up, Direction::Down] {
        let mut taken = 0;
        while let Some(next) = step(&best, direction, taken) {
            if loss(&next) >= loss(&best) || !loss(&next).is_finite() {
                break;
            }
            best = next;
            taken += 1;
        }
        if taken > 0 {
            break;
        }
    }
    best
}

#[derive(Clone, Copy)]
pub(super) enum Direction {
    Up,
    Down,
}

impl Direction {
    /// The factor of a step.
    pub(super) fn factor(self, up: f64) -> f64 {
        match self {
            Self::Up => up,
            Self::Down => 1.0 / up,
        }
    }
}

/// Raises or lowers the penalty while the loss falls.
fn walk_penalty(start: f64, range: (f64, f64), mut loss: impl FnMut(f64) -> f64) -> (f64, f64) {
    let start = (start, loss(start));
    walk(
        start,
        |at| at.1,
        |at, direction, _| {
            let alpha = at.0 * direction.factor(PENALTY_STEP);
            (range.0..=range.1).contains(&alpha).then(|| (alpha, loss(alpha)))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn climbing_finds_the_valley() {
        for (start, valley) in [(1e-3, 1e-5), (1e-5, 1e-2), (1e-4, 1e-4)] {
            let (alpha, _) = walk_penalty(start, (1e-8, 10.0), |a: f64| (a / valley).ln().powi(2));
            assert!((alpha / valley).ln().abs() < 0.7, "{start} {valley} {alpha}");
        }
        assert_eq!(walk_penalty(1e-3, (1e-8, 10.0), |_| f64::NAN).0, 1e-3);
    }
}
