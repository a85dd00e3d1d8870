//! Variable projection (Golub and Pereyra 1973): L-BFGS over the relevances, and over the frequencies once the relevances
//! have been optimised, with the head solved exactly at every step.

use std::cell::Cell;

use crate::backend::Wanted;
use crate::features::{FeatureMap, Network, ScaledFeatures, Weights};
use crate::numerics::lbfgs::{Lbfgs, Point};
use crate::problem::Problem;
use crate::ridge::Linear;
use crate::solver::monitor::Monitor;
use crate::solver::reduced::{HeadSettings, Reduced};
use crate::validation::Split;

/// The smallest relative decrease of the validation loss that counts.
const IMPROVEMENT: f64 = 1e-4;
/// A stage also ends when a step lowers the objective by less than this share.
const STALL: f64 = 1e-5;

/// Length of a stage's first step: relevances are of the order of one.
const FIRST_STEP: f64 = 0.1;

/// What a stage is to do.
pub(crate) struct Stage<'a> {
    pub(crate) alpha: f64,
    pub(crate) steps: usize,
    /// Steps without a better validation loss before it ends early.
    pub(crate) patience: usize,
    /// Frequencies and phases move too.
    pub(crate) spectrum: bool,
    pub(crate) linear: Linear<'a>,
    /// Multiplications of an evaluation.
    pub(crate) work: f64,
}

/// Minimises the reduced objective from `start`, and returns the point with the smallest validation loss; with the smallest
/// objective where there is no validation part.
pub(crate) fn optimise(
    problem: &Problem<'_>,
    split: &Split,
    start: ScaledFeatures,
    stage: &Stage<'_>,
    monitor: &mut Monitor<'_>,
) -> ScaledFeatures {
    let Stage { alpha, linear, spectrum, .. } = *stage;
    let wanted = if spectrum { Wanted::Spectrum } else { Wanted::Relevances };
    let mut reduced = Reduced::new(problem, &split.train, HeadSettings { alpha, linear });
    let shared = monitor.shared;
    let evaluations = Cell::new(0);
    let mut evaluate = |x: Vec<f64>| {
        // Beyond the deadline only the first point is looked at.
        if shared.stopped() && evaluations.get() > 0 {
            return Point { gradient: vec![0.0; x.len()], x, value: f64::INFINITY, note: None };
        }
        evaluations.set(evaluations.get() + 1);
        let features = unpack(&start, &x, spectrum);
        let e = reduced.evaluate(&features, wanted);
        // The gradient within the subspace in which tied relevances are equal.
        let mut gradient = e.theta;
        problem.tie(&features.map.support, &mut gradient, |g| g.iter().sum::<f64>() / g.len() as f64);
        gradient.extend(e.omega);
        gradient.extend(e.phase);
        Point { x, value: e.value, gradient, note: Some(e.weights) }
    };
    let mut best = (f64::INFINITY, start.clone());
    let mut judge = |point: &mut Point<Option<Weights>>| -> f64 {
        let features = unpack(&start, &point.x, spectrum);
        let weights = point.note.take().expect("every evaluation leaves its head");
        let loss = if split.validation.is_empty() {
            point.value
        } else {
            problem.mean_loss(Network::new(&features.map, &weights), &split.validation)
        };
        if loss < best.0 {
            best = (loss, features);
        }
        loss
    };
    let mut at = evaluate(pack(&start, spectrum));
    let mut lowest = judge(&mut at);
    let mut solver = Lbfgs::default();
    let mut waited = 0;
    for _ in 0..stage.steps {
        let Some(mut next) = solver.step(&at, FIRST_STEP, &mut evaluate) else { break };
        let loss = judge(&mut next);
        let stalled = at.value - next.value < STALL * at.value.abs();
        at = next;
        if loss < lowest * (1.0 - IMPROVEMENT) {
            (lowest, waited) = (loss, 0);
        } else {
            waited += 1;
        }
        monitor.count(evaluations.take() as f64 * stage.work);
        let relevances = unpack(&start, &at.x, spectrum).relevances();
        let ended = monitor.step(at.value, loss, relevances).is_break();
        if ended || stalled || waited >= stage.patience {
            break;
        }
    }
    best.1
}

/// The variables of a stage, in one vector.
fn pack(features: &ScaledFeatures, spectrum: bool) -> Vec<f64> {
    let ScaledFeatures { map, theta } = features;
    let spectrum = if spectrum { [&map.omega[..], &map.phase[..]] } else { [&[][..], &[][..]] };
    theta.iter().chain(spectrum[0]).chain(spectrum[1]).map(|&v| v as f64).collect()
}

/// The other way, with whatever does not move from `base`.
fn unpack(base: &ScaledFeatures, x: &[f64], spectrum: bool) -> ScaledFeatures {
    let narrow = |v: &[f64]| v.iter().map(|&v| v as f32).collect::<Vec<_>>();
    let (theta, rest) = x.split_at(base.theta.len());
    let map = if spectrum {
        let (omega, phase) = rest.split_at(base.map.omega.len());
        FeatureMap::on(base.map.columns(), base.map.support.to_vec(), narrow(omega), narrow(phase))
    } else {
        base.map.clone()
    };
    ScaledFeatures { map, theta: narrow(theta) }
}
