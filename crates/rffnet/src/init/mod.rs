//! Where the relevances start: Constant, Restarter, Regressor, Varpro.

mod lasso;

use rand_distr::{Distribution, StandardNormal};

use crate::auto::Fitter;
use crate::auto::sizes::Sizes;
use crate::features::{FeatureMap, Network, ScaledFeatures, Weights};
use crate::loss::{Link, LossKind};
use crate::numerics::random::{Stream, Use, stream, uniform};
use crate::params::{Descent, Init, Schedule, VarPro};
use crate::problem::{Problem, root_mean_square};
use crate::solver::descent::DescentState;
use crate::solver::monitor::{Monitor, Shared};
use crate::solver::reduced::{HeadSettings, Reduced};
use crate::solver::{Observer, Progress};
use crate::training::Training;
use crate::validation::Split;
use lasso::lasso;

/// Epochs the Restarter gives to each start, as in the paper.
const RESTART_EPOCHS: usize = 10;

/// Strength of the Regressor's lasso, as a share of the smallest strength at which every coefficient is zero.
const LASSO_SHARE: f64 = 0.01;

/// L-BFGS steps per penalty before a descent.
const SEARCH_STEPS: usize = 40;

/// Added to counts before their logarithm is taken.
const HALF_A_COUNT: f32 = 0.5;

/// The weights a descent starts from.
pub(crate) fn start(
    training: Training<'_>,
    map: &FeatureMap,
    settings: &Descent,
    split: &Split,
    observer: &mut dyn Observer,
) -> Weights {
    let mut start = training.constant_weights(map);
    if !training.common.intercept {
        start.intercept.fill(0.0);
    }
    if settings.random_head {
        let mut rng = stream(training.common.seed, Use::Head);
        let bound = 1.0 / (map.features() as f64).sqrt();
        for output in start.beta.chunks_exact_mut(map.padded()) {
            let head = output[..map.features()].iter_mut();
            head.for_each(|b| *b = (bound * (2.0 * uniform(&mut rng) - 1.0)) as f32);
        }
    }
    let range: Vec<f32> = map.support.iter().map(|&j| training.range[j]).collect();
    start.theta = constant(&range, map.columns());
    match settings.init {
        Init::Constant => start,
        Init::Restarter => {
            let theta = restarter(training, map, settings, &start, &split.train, observer);
            Weights { theta, ..start }
        }
        Init::Regressor => {
            let all = regressor(training.problem, &split.train);
            let mut theta: Vec<f32> = map.support.iter().map(|&j| all[j]).collect();
            training.problem.tie(&map.support, &mut theta, root_mean_square);
            Weights { theta, ..start }
        }
        Init::Varpro => varpro(training, map, settings, start, split, observer),
    }
}

/// theta = range / d, column by column: a column that varies over a wide range is expected to matter on a short scale.
/// `columns` is d, the constant ones (which have no range and are left out) included.
pub(crate) fn constant(range: &[f32], columns: usize) -> Vec<f32> {
    range.iter().map(|r| r / columns as f32).collect()
}

/// Draws starts around the Constant one, where `start` is (variance 1/d), descends a few epochs from each, and returns
/// the relevances of the run with the smallest training loss. The first starts are the same whatever their number.
fn restarter(
    training: Training<'_>,
    map: &FeatureMap,
    settings: &Descent,
    start: &Weights,
    train: &[usize],
    observer: &mut dyn Observer,
) -> Vec<f32> {
    let (problem, common) = (training.problem, training.common);
    let mut rng = stream(common.seed, Use::Restarts);
    let settings = Descent { schedule: Schedule::Constant, ..settings.clone() };
    let centre = &start.theta;
    let spread = 1.0 / (map.columns() as f64).sqrt();
    let mut best = (f64::INFINITY, centre.clone());
    for restart in 0..settings.restarts {
        let mut theta = draw(centre, spread, &mut rng);
        problem.tie(&map.support, &mut theta, |drawn| drawn[0]);
        let start = Weights { theta, ..start.clone() };
        let mut descent = DescentState::new(problem, map, (common, &settings), start, train, RESTART_EPOCHS);
        let mut loss = f64::INFINITY;
        for epoch in 1..=RESTART_EPOCHS {
            loss = descent.epoch(&mut rng);
            let progress = Progress {
                epoch: restart * RESTART_EPOCHS + epoch,
                epochs: settings.restarts * RESTART_EPOCHS,
                train_loss: loss * problem.unit,
                validation_loss: None,
                stage: "restarts",
                done: None,
            };
            if observer.epoch(&progress).is_break() {
                return best.1;
            }
        }
        if loss < best.0 && descent.weights.is_finite() {
            best = (loss, descent.weights.theta);
        }
    }
    best.1
}

fn draw(centre: &[f32], spread: f64, rng: &mut Stream) -> Vec<f32> {
    let noisy = |&c: &f32| {
        let noise: f64 = StandardNormal.sample(rng);
        (c as f64 + spread * noise) as f32
    };
    centre.iter().map(noisy).collect()
}

/// The size of each column's coefficients in a lasso fit of the target; labels are coded -1/+1 against the rest.
fn regressor(problem: &Problem<'_>, train: &[usize]) -> Vec<f32> {
    let code = |i: usize, c: usize| -> f64 {
        match problem.loss.link() {
            Link::Softmax => 2.0 * f64::from(problem.target(i)[0] as usize == c) - 1.0,
            Link::Logistic => 2.0 * problem.target(i)[0] as f64 - 1.0,
            Link::Identity | Link::Log => problem.target(i)[c] as f64,
        }
    };
    let coefficients = lasso(problem, train, LASSO_SHARE, code);
    let d = problem.columns.x.columns();
    (0..d).map(|j| coefficients.iter().map(|b| b[j] * b[j]).sum::<f64>().sqrt() as f32).collect()
}

/// The relevances that variable projection finds and, unless the head is to start at random, the exact head that goes
/// with them if that does better than the start's. Losses of numbers have the squared loss in their place, of counts that
/// of their logarithms, losses of classes the cross-entropy; that is the loss an observer sees.
fn varpro(
    training: Training<'_>,
    map: &FeatureMap,
    settings: &Descent,
    start: Weights,
    split: &Split,
    observer: &mut dyn Observer,
) -> Weights {
    let own = training.problem;
    let exact = match own.loss.link() {
        Link::Identity | Link::Log => LossKind::Squared.build(0),
        Link::Logistic | Link::Softmax => LossKind::CrossEntropy.build(own.outputs.max(2)),
    };
    let y = match own.loss.link() {
        Link::Log => own.y.iter().map(|y| (y + HALF_A_COUNT).ln()).collect(),
        _ => own.y.clone(),
    };
    let stand_in = Problem { y, loss: exact.as_ref(), ..own.clone() };
    let training = Training { problem: &stand_in, ..training };
    let search = VarPro::of_steps(SEARCH_STEPS);
    let shape = (training.rows.len(), map.support.len());
    let sizes = Sizes::new(training.common, &search, shape, own.outputs, f64::INFINITY);
    let shared = Shared::new(None, sizes.stage(sizes.searched), own.unit);
    let mut monitor = Monitor::new(&shared, Some(observer));
    let fitter = Fitter::new(training, &sizes, 0);
    let start = Weights { theta: fitter.relevances(&mut monitor).theta, ..start };
    if settings.random_head {
        return start;
    }
    // The head is the stand-in's: it may be no good for the loss itself.
    let head = HeadSettings { alpha: fitter.alpha(), linear: false.into() };
    let features = ScaledFeatures { map: map.clone(), theta: start.theta.clone() };
    let found = Reduced::new(&stand_in, &split.train, head).head(&features);
    let loss = |weights: &Weights| own.mean_loss(Network::new(map, weights), split.judged_on());
    if loss(&found) < loss(&start) && found.is_finite() { found } else { start }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::Matrix;
    use crate::params::{Method, Params, Plan, Shape};
    use crate::problem::Columns;
    use crate::spectrum::{Kernel, sample_iid};
    use crate::transform::statistics::ColumnStatistics;
    use crate::validation::Validation;

    /// The runs once more, one by one: the relevances returned are those the best of the first n ended with. So one
    /// restart is the first draw, and more restarts never give a worse start.
    #[test]
    fn the_restarter_returns_the_best_of_its_runs() {
        let mut rng = stream(1, Use::Head);
        let x: Vec<f32> =
            (0..120).map(|_| Distribution::<f64>::sample(&StandardNormal, &mut rng) as f32).collect();
        let y: Vec<f32> = x.chunks_exact(3).map(|r| (2.0 * r[0]).sin()).collect();
        let matrix = Matrix::new(&x, 40, 3).expect("shape");
        let train: Vec<usize> = (0..40).collect();
        let ColumnStatistics { transforms, range, .. } = ColumnStatistics::new(matrix, &train, |_| 1.0);
        let loss = LossKind::Squared.build(0);
        let columns = Columns { x: matrix, transforms: &transforms };
        let problem = Problem::for_tests(columns, &y, None, 1, loss.as_ref());
        let map = FeatureMap::new(sample_iid(&Kernel::Gaussian, 3, 20, &mut rng), vec![0.5; 20]);
        let (mut improved, mut last_was_best) = (0, 0);
        for seed in 0..5 {
            let params = Params::new().seed(seed).init(Init::Restarter).random_features(20);
            let shape = Shape { rows: 40, columns: 3, classification: false };
            let Plan { common, method: Method::Descent(settings) } = params.plan(shape).expect("valid")
            else {
                panic!("a start is for descent")
            };
            let settings = Descent { schedule: Schedule::Constant, ..settings };
            let spectrum = &Kernel::Gaussian;
            let training = Training {
                problem: &problem,
                rows: &train,
                table_columns: range.len(),
                range: &range,
                spectrum,
                common: &common,
                held_out: Validation::Random,
            };
            let start = Weights { theta: constant(&range, 3), ..Weights::zeros(&map, 1) };
            let mut rng = stream(seed, Use::Restarts);
            let runs: Vec<(f64, Vec<f32>)> = (0..12)
                .map(|_| {
                    let theta = draw(&constant(&range, 3), 1.0 / 3f64.sqrt(), &mut rng);
                    let start = Weights { theta, ..start.clone() };
                    let mut descent = DescentState::new(
                        &problem,
                        &map,
                        (&common, &settings),
                        start,
                        &train,
                        RESTART_EPOCHS,
                    );
                    let losses: Vec<f64> = (0..RESTART_EPOCHS).map(|_| descent.epoch(&mut rng)).collect();
                    (losses[RESTART_EPOCHS - 1], descent.weights.theta)
                })
                .collect();
            let mut reached = f64::INFINITY;
            for restarts in [1, 2, settings.restarts, 12] {
                let settings = Descent { restarts, ..settings.clone() };
                let mut epochs = Vec::new();
                let mut watch = |p: &Progress| {
                    epochs.push((p.epoch, p.epochs));
                    ControlFlow::Continue(())
                };
                let theta = restarter(training, &map, &settings, &start, &train, &mut watch);
                let all = restarts * RESTART_EPOCHS;
                assert_eq!(epochs, (1..=all).map(|epoch| (epoch, all)).collect::<Vec<_>>());
                let tried = &runs[..restarts];
                let (loss, _) = tried.iter().find(|run| run.1 == theta).expect("one of the runs");
                assert!(tried.iter().all(|run| *loss <= run.0), "the best of {restarts}");
                assert!(*loss <= reached, "{restarts} restarts: {loss}, fewer: {reached}");
                reached = *loss;
                last_was_best += u32::from(restarts == 12 && theta == runs[11].1);
            }
            improved += u32::from(reached < runs[0].0);
        }
        assert!(improved > 0 && last_was_best < 5, "the seeds tell nothing apart");
    }
}
