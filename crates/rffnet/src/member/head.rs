//! The head with the penalty that does best on held-out rows, and the head on all rows.

use crate::features::{Problem, Weights, mean_loss};
use crate::loss::Link;
use crate::normal::{Design, Linear, Moments, Span};
use crate::solver::descent::Split;
use crate::solver::reduced::{HeadPlan, Reduced};
use crate::solver::varpro::Frame;

/// Steps of the penalty, up and down.
const PENALTY_STEP: f64 = 3.162_277_660_168_379_5;

/// A head on the training rows.
pub(crate) struct Chosen {
    pub(crate) weights: Weights,
    pub(crate) alpha: f64,
    /// On the held-out rows; on the training rows where there are none.
    pub(crate) loss: f64,
    /// Of the training rows, where the head is a regression's and has fewer columns than there are rows.
    moments: Option<Moments>,
    /// Where a classifier's head on more rows starts.
    coefficients: Vec<f64>,
}

/// The head on the training rows with the penalty that does best on the held-out ones, if there is a range to choose
/// from; else with that of the plan.
pub(crate) fn choose(
    problem: &Problem<'_>,
    split: &Split,
    frame: &Frame,
    plan: HeadPlan,
    range: Option<(f64, f64)>,
) -> Chosen {
    let Frame { map, theta } = frame;
    let judges = split.judges();
    let regression = problem.loss.link() == Link::Identity;
    let span = if regression { Span::new(problem, map, theta, &split.train, plan.linear) } else { None };
    let moments = regression.then(|| match &span {
        Some(span) => span.moments(problem, &split.train, None),
        None => Moments::new(problem, map, theta, &split.train, plan.linear, None),
    });
    let mut reduced = Reduced::new(problem, &split.train, plan);
    let mut best: Option<(f64, Weights, Vec<f64>)> = None;
    let mut loss = |alpha: f64| {
        let (weights, coefficients) = match &moments {
            Some(moments) => {
                let plan = HeadPlan { alpha, ..plan };
                (ridge(problem, frame, moments, span.as_ref(), plan), Vec::new())
            }
            None => {
                reduced.plan.alpha = alpha;
                reduced.head(map, theta)
            }
        };
        let loss = mean_loss(problem, map, &weights, judges);
        if best.as_ref().is_none_or(|b| loss < b.0) {
            best = Some((loss, weights, coefficients));
        }
        loss
    };
    let (alpha, _) = match range {
        Some(range) => climb(plan.alpha, range, &mut loss),
        None => (plan.alpha, loss(plan.alpha)),
    };
    // Every loss may be NaN, and every comparison false.
    let (loss, weights, coefficients) =
        best.unwrap_or_else(|| (f64::INFINITY, Weights::zeros(map, problem.outputs), Vec::new()));
    Chosen { weights, alpha, loss, moments: moments.filter(|_| span.is_none()), coefficients }
}

impl Chosen {
    /// The head on all rows, with the same penalty.
    pub(crate) fn on_all(
        &self,
        problem: &Problem<'_>,
        split: &Split,
        all: &[usize],
        frame: &Frame,
        linear: Linear,
    ) -> Weights {
        let plan = HeadPlan { alpha: self.alpha, linear };
        match &self.moments {
            Some(moments) if split.validation.is_empty() => ridge(problem, frame, moments, None, plan),
            Some(moments) => {
                let held_out =
                    Moments::new(problem, &frame.map, &frame.theta, &split.validation, linear, None);
                ridge(problem, frame, &moments.merged(&held_out), None, plan)
            }
            None => {
                let start = self.coefficients.clone();
                Reduced::new(problem, all, plan).starting_at(start).head(&frame.map, &frame.theta).0
            }
        }
    }
}

fn ridge(
    problem: &Problem<'_>,
    frame: &Frame,
    moments: &Moments,
    span: Option<&Span>,
    plan: HeadPlan,
) -> Weights {
    let mut weights = Weights { theta: frame.theta.clone(), ..Weights::zeros(&frame.map, problem.outputs) };
    let found = moments.ridge(plan.alpha);
    let coefficients = span.map_or_else(|| found.clone(), |span| span.expand(&found));
    Design::new(&frame.map, plan.linear).apply(&coefficients, &mut weights);
    weights
}

/// Walks the penalty up or down as long as the loss falls.
fn climb(start: f64, range: (f64, f64), mut loss: impl FnMut(f64) -> f64) -> (f64, f64) {
    let mut best = (start, loss(start));
    for factor in [PENALTY_STEP, 1.0 / PENALTY_STEP] {
        let mut moved = false;
        loop {
            let alpha = best.0 * factor;
            if !(range.0..=range.1).contains(&alpha) {
                break;
            }
            let next = loss(alpha);
            if next >= best.1 || !next.is_finite() {
                break;
            }
            best = (alpha, next);
            moved = true;
        }
        if moved {
            break;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn climbing_finds_the_valley() {
        for (start, valley) in [(1e-3, 1e-5), (1e-5, 1e-2), (1e-4, 1e-4)] {
            let (alpha, _) = climb(start, (1e-8, 10.0), |a: f64| (a / valley).ln().powi(2));
            assert!((alpha / valley).ln().abs() < 0.7, "{start} {valley} {alpha}");
        }
        assert_eq!(climb(1e-3, (1e-8, 10.0), |_| f64::NAN).0, 1e-3);
    }
}
