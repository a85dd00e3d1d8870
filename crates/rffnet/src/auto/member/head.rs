//! The head with the penalty chosen on validation, and the head on all rows.

use crate::features::{Network, ScaledFeatures, Weights};
use crate::loss::ExactHead;
use crate::problem::Problem;
use crate::ridge::{Design, Linear, Ridge};
use crate::solver::reduced::{HeadSettings, Reduced};
use crate::validation::Split;

/// The factor between neighbouring penalties: half a decade.
const PENALTY_STEP: f64 = 3.162_277_660_168_379_5;

/// A head on the training rows.
pub(crate) struct Chosen {
    pub(crate) weights: Weights,
    pub(crate) alpha: f64,
    /// On the validation rows; on the training rows where there are none.
    pub(crate) loss: f64,
    /// Of the training rows, where the head is a regression's.
    ridge: Option<Ridge>,
    /// Where a classifier's head on more rows starts.
    coefficients: Vec<f64>,
}

/// The head on the training rows with the penalty chosen on validation, if there is a range to choose from; else with the
/// given one.
pub(crate) fn choose(
    problem: &Problem<'_>,
    split: &Split,
    features: &ScaledFeatures,
    settings: HeadSettings,
    range: Option<(f64, f64)>,
) -> Chosen {
    let (map, judged_on) = (&features.map, split.judged_on());
    let design = Design::new(features, settings.linear);
    let least_squares = matches!(problem.loss.exact_head(), ExactHead::LeastSquares);
    let ridge = least_squares.then(|| Ridge::new(problem, &design, &split.train));
    let mut reduced = Reduced::new(problem, &split.train, settings);
    let mut best: Option<(f64, Weights, Vec<f64>)> = None;
    let mut loss = |alpha: f64| {
        let (weights, coefficients) = match &ridge {
            Some(ridge) => (design.weights(&ridge.head(alpha)), Vec::new()),
            None => {
                reduced.settings.alpha = alpha;
                reduced.head(features)
            }
        };
        let loss = problem.mean_loss(Network::new(map, &weights), judged_on);
        if best.as_ref().is_none_or(|b| loss < b.0) {
            best = Some((loss, weights, coefficients));
        }
        loss
    };
    let (alpha, _) = match range {
        Some(range) => walk_penalty(settings.alpha, range, &mut loss),
        None => (settings.alpha, loss(settings.alpha)),
    };
    // Every loss may be NaN, and every comparison false.
    let (loss, weights, coefficients) =
        best.unwrap_or_else(|| (f64::INFINITY, Weights::zeros(map, problem.outputs), Vec::new()));
    Chosen { weights, alpha, loss, ridge, coefficients }
}

impl Chosen {
    /// The head on all rows, with the same penalty.
    pub(crate) fn on_all(
        &self,
        problem: &Problem<'_>,
        split: &Split,
        all: &[usize],
        features: &ScaledFeatures,
        linear: Linear,
    ) -> Weights {
        let design = Design::new(features, linear);
        if let Some(ridge) = &self.ridge {
            if split.validation.is_empty() {
                return design.weights(&ridge.head(self.alpha));
            }
            if let Some(ridge) = ridge.with(problem, &design, &split.validation) {
                return design.weights(&ridge.head(self.alpha));
            }
        }
        let settings = HeadSettings { alpha: self.alpha, linear };
        Reduced::new(problem, all, settings).starting_at(self.coefficients.clone()).head(features).0
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
