//! Variable projection: L-BFGS over the relevances (and, once they have settled, the frequencies) with the head solved
//! exactly at every step.

use crate::features::{FeatureMap, Problem, Wanted, Weights, mean_loss};
use crate::numerics::lbfgs::{Lbfgs, Point};
use crate::ridge::Linear;
use crate::solver::descent::Split;
use crate::solver::monitor::Watch;
use crate::solver::reduced::{HeadPlan, Reduced};

/// Steps without a better validation loss before a stage ends, and the smallest decrease that counts.
const PATIENCE: usize = 6;
const IMPROVEMENT: f64 = 1e-4;
const STALL: f64 = 1e-5;

/// Length of a stage's first step: relevances are of the order of one.
const FIRST_STEP: f64 = 0.1;

/// A weaker penalty is not tried when the last one was worse than the best by more than this share.
const HOPELESS: f64 = 0.02;

/// Relevances and the frequencies they scale.
#[derive(Clone)]
pub(crate) struct Frame {
    pub(crate) map: FeatureMap,
    pub(crate) theta: Vec<f32>,
}

impl Frame {
    /// The frequencies of the `a`-th column it looks at.
    pub(crate) fn frequencies(&self, a: usize) -> &[f32] {
        let s = self.map.features();
        &self.map.omega[a * s..(a + 1) * s]
    }

    /// The same on fewer columns.
    pub(crate) fn keep(&self, keep: impl Fn(usize, f32) -> bool) -> Self {
        let kept: Vec<usize> =
            (0..self.theta.len()).filter(|&a| keep(self.map.support[a], self.theta[a])).collect();
        let support = kept.iter().map(|&a| self.map.support[a]).collect();
        let omega = kept.iter().flat_map(|&a| self.frequencies(a)).copied().collect();
        let map = FeatureMap::on(self.map.columns(), support, omega, self.map.phase.to_vec());
        Self { map, theta: kept.iter().map(|&a| self.theta[a]).collect() }
    }

    /// Frequencies on scales from their own to `reach` times it, evenly on a logarithmic scale.
    pub(crate) fn spread(self, reach: f32) -> Self {
        if reach == 1.0 {
            return self;
        }
        let s = self.map.features();
        let factor = |i: usize| reach.powf((i % s) as f32 / s as f32);
        let omega = self.map.omega.iter().enumerate().map(|(i, w)| w * factor(i)).collect();
        let map =
            FeatureMap::on(self.map.columns(), self.map.support.to_vec(), omega, self.map.phase.to_vec());
        Self { map, ..self }
    }

    /// theta spread over all columns.
    fn relevances(&self) -> Vec<f32> {
        self.map.spread(&self.theta)
    }

    fn pack(&self, spectrum: bool) -> Vec<f64> {
        let wide = |v: &[f32]| v.iter().map(|&v| v as f64).collect::<Vec<_>>();
        let mut x = wide(&self.theta);
        if spectrum {
            x.extend(wide(&self.map.omega));
            x.extend(wide(&self.map.phase));
        }
        x
    }

    fn unpack(&self, x: &[f64], spectrum: bool) -> Self {
        let narrow = |v: &[f64]| v.iter().map(|&v| v as f32).collect::<Vec<_>>();
        let (theta, rest) = x.split_at(self.theta.len());
        let map = if spectrum {
            let (omega, phase) = rest.split_at(self.map.omega.len());
            FeatureMap::on(self.map.columns(), self.map.support.to_vec(), narrow(omega), narrow(phase))
        } else {
            self.map.clone()
        };
        Self { map, theta: narrow(theta) }
    }
}

/// What a stage is to do.
pub(crate) struct Stage<'a> {
    /// Penalties from strong to weak; each starts where the best so far ended.
    pub(crate) alphas: &'a [f64],
    /// Steps per penalty.
    pub(crate) steps: usize,
    /// Frequencies and phases move too.
    pub(crate) spectrum: bool,
    pub(crate) linear: Linear,
}

/// The best point of a stage.
#[derive(Clone)]
pub(crate) struct Settled {
    pub(crate) frame: Frame,
    pub(crate) alpha: f64,
    /// Validation loss; the reduced objective where there is no validation part.
    pub(crate) loss: f64,
}

/// Minimises the reduced objective from `start`, and returns the point with the smallest validation loss.
pub(crate) fn settle(
    problem: &Problem<'_>,
    split: &Split,
    start: Frame,
    stage: &Stage<'_>,
    watch: &mut Watch<'_>,
) -> Settled {
    let wanted = if stage.spectrum { Wanted::Spectrum } else { Wanted::Relevances };
    let mut best: Option<Settled> = None;
    for &alpha in stage.alphas {
        let base = best.as_ref().map_or(&start, |b| &b.frame).clone();
        let mut reduced = Reduced::new(problem, &split.train, HeadPlan { alpha, linear: stage.linear });
        let mut evaluate = |x: Vec<f64>| {
            let frame = base.unpack(&x, stage.spectrum);
            let e = reduced.evaluate(&frame.map, &frame.theta, wanted);
            let mut gradient = e.theta;
            gradient.extend(e.omega);
            gradient.extend(e.phase);
            Point { x, value: e.value, gradient, note: Some(e.weights) }
        };
        let judge = |point: &mut Point<Option<Weights>>, best: &mut Option<Settled>| -> f64 {
            let frame = base.unpack(&point.x, stage.spectrum);
            let weights = point.note.take().expect("every evaluation leaves its head");
            let loss = if split.validation.is_empty() {
                point.value
            } else {
                mean_loss(problem, &frame.map, &weights, &split.validation)
            };
            if best.as_ref().is_none_or(|b| loss < b.loss) && loss.is_finite() {
                *best = Some(Settled { frame, alpha, loss });
            }
            loss
        };
        let mut at = evaluate(base.pack(stage.spectrum));
        let mut lowest = judge(&mut at, &mut best);
        if watch.stopped() {
            break;
        }
        let mut solver = Lbfgs::default();
        let mut waited = 0;
        for _ in 0..stage.steps {
            let Some(mut next) = solver.step(&at, FIRST_STEP, &mut evaluate) else { break };
            let loss = judge(&mut next, &mut best);
            let stalled = at.value - next.value < STALL * at.value.abs();
            at = next;
            if loss < lowest * (1.0 - IMPROVEMENT) {
                (lowest, waited) = (loss, 0);
            } else {
                waited += 1;
            }
            if watch.step(at.value, loss, || base.unpack(&at.x, stage.spectrum).relevances()).is_break() {
                break;
            }
            if stalled || waited >= PATIENCE {
                break;
            }
        }
        let hopeless = best.as_ref().is_some_and(|b| lowest > b.loss * (1.0 + HOPELESS));
        if hopeless || watch.stopped() {
            break;
        }
    }
    best.unwrap_or_else(|| Settled { frame: start, alpha: stage.alphas[0], loss: f64::INFINITY })
}
