//! Where the relevances start: Constant, Restarter, Regressor.

use rand_distr::{Distribution, StandardNormal};

use crate::features::{FeatureMap, Problem, Weights};
use crate::lasso::lasso;
use crate::loss::Link;
use crate::params::{Plan, Schedule};
use crate::rng::{Stream, Use, stream};
use crate::solver::descent::Descent;

/// The paper's numbers: starts tried by the Restarter, and epochs given to each.
const RESTARTS: usize = 10;
const RESTART_EPOCHS: usize = 10;

/// Strength of the Regressor's lasso, as a share of the smallest strength that would kill every coefficient.
const LASSO_SHARE: f64 = 0.01;

/// theta = range / d, column by column: a column that varies over a wide range is expected to matter on a short scale.
pub(crate) fn constant(range: &[f32]) -> Vec<f32> {
    range.iter().map(|r| r / range.len() as f32).collect()
}

/// Draws starts around the Constant one (variance 1/d), descends a few epochs from each, and returns the relevances
/// of the run with the smallest training loss.
pub(crate) fn restarter(
    problem: &Problem<'_>,
    map: &FeatureMap,
    plan: &Plan,
    start: &Weights,
    range: &[f32],
    train: &[usize],
) -> Vec<f32> {
    let mut rng = stream(plan.seed, Use::Restarts);
    let plan = Plan { schedule: Schedule::Constant, ..plan.clone() };
    let centre = constant(range);
    let spread = 1.0 / (centre.len() as f64).sqrt();
    let mut best = (f64::INFINITY, centre.clone());
    for _ in 0..RESTARTS {
        let theta = draw(&centre, range, spread, &mut rng);
        let start = Weights { theta, ..start.clone() };
        let mut descent = Descent::new(problem, map, &plan, start, train, RESTART_EPOCHS);
        let loss = (0..RESTART_EPOCHS).map(|_| descent.epoch(&mut rng)).last().unwrap_or(f64::INFINITY);
        if loss < best.0 && descent.weights.is_finite() {
            best = (loss, descent.weights.theta);
        }
    }
    best.1
}

fn draw(centre: &[f32], range: &[f32], spread: f64, rng: &mut Stream) -> Vec<f32> {
    let noisy = centre.iter().zip(range).map(|(&c, &r)| {
        let noise: f64 = StandardNormal.sample(rng);
        // A constant column has no range and stays out.
        if r == 0.0 { 0.0 } else { (c as f64 + spread * noise) as f32 }
    });
    noisy.collect()
}

/// The size of each column's coefficients in a lasso fit of the target; labels are coded -1/+1 against the rest.
pub(crate) fn regressor(problem: &Problem<'_>, train: &[usize]) -> Vec<f32> {
    let code = |i: usize, c: usize| -> f64 {
        match problem.loss.link() {
            Link::Softmax => 2.0 * f64::from(problem.target(i)[0] as usize == c) - 1.0,
            Link::Logistic => 2.0 * problem.target(i)[0] as f64 - 1.0,
            Link::Identity | Link::Log => problem.target(i)[c] as f64,
        }
    };
    let coefficients = lasso(problem, train, LASSO_SHARE, code);
    let d = problem.x.columns();
    (0..d).map(|j| coefficients.iter().map(|b| b[j] * b[j]).sum::<f64>().sqrt() as f32).collect()
}
