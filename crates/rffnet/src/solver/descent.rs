//! Stochastic proximal descent: Algorithm 2 of the paper, with Adam or plain gradient steps, in one block of
//! coordinates or alternating between head and relevances (PALM).

use crate::features::{FeatureMap, GradientEngine, Problem, Wanted, Weights, mean_loss};
use crate::numerics::random::{Stream, Use, shuffle, stream};
use crate::params::{Plan, SolverKind};
use crate::penalty::Penalty;
use crate::simd::{self, Path, Prox};
use crate::solver::stop::{EpochLoss, History, Observer, Progress, Stopped};

/// Rows to learn from and rows to choose by; indices into the caller's matrix.
pub(crate) struct Split {
    pub(crate) train: Vec<usize>,
    pub(crate) validation: Vec<usize>,
}

impl Split {
    /// Holds out a share of the rows, at random.
    pub(crate) fn new(rows: &[usize], validation_fraction: f64, seed: u64) -> Self {
        let mut order = rows.to_vec();
        shuffle(&mut order, &mut stream(seed, Use::Split));
        let held_out = (validation_fraction * rows.len() as f64) as usize;
        let train = order.split_off(held_out);
        Self { train, validation: order }
    }

    /// With the first of its training rows only.
    pub(crate) fn with_fewer(&self, rows: usize) -> Self {
        Self { train: self.train[..rows.min(self.train.len())].to_vec(), validation: self.validation.clone() }
    }

    /// What a fit is judged on: the rows held out, or all where there are none.
    pub(crate) fn judges(&self) -> &[usize] {
        if self.validation.is_empty() { &self.train } else { &self.validation }
    }
}

/// What a descent leaves behind.
pub(crate) struct Outcome {
    /// The best epoch by validation loss; the last one without a validation part.
    pub(crate) weights: Weights,
    pub(crate) stopped: Stopped,
    /// Epochs made, complete or not.
    pub(crate) epochs: usize,
    pub(crate) best_epoch: usize,
    /// Validation loss of the weights kept; training loss without a validation part.
    pub(crate) loss: f64,
    pub(crate) history: History,
}

/// A block of coordinates with its optimiser state.
struct Block {
    first: Vec<f32>,
    second: Vec<f32>,
    steps: i32,
    penalty: Penalty,
    adam: bool,
}

impl Block {
    fn new(len: usize, penalty: Penalty, adam: bool) -> Self {
        let state = if adam { len } else { 0 };
        Self { first: vec![0.0; state], second: vec![0.0; state], steps: 0, penalty, adam }
    }

    /// One gradient step, then the penalty's proximal step with the same rate.
    fn step(&mut self, path: Path, w: &mut [f32], g: &[f32], lr: f64) {
        let (l1, shrink) = self.penalty.prox_factors(lr);
        let prox = Prox { l1, shrink };
        if self.adam {
            self.steps += 1;
            let bias = |beta: f64| (1.0 - beta.powi(self.steps)) as f32;
            let (m, v) = (&mut self.first, &mut self.second);
            simd::adam(path, w, g, m, v, lr as f32, bias(0.9), bias(0.999), prox);
        } else {
            simd::sgd(path, w, g, lr as f32, prox);
        }
    }
}

/// A descent in progress.
pub(crate) struct Descent<'a> {
    problem: &'a Problem<'a>,
    map: &'a FeatureMap,
    plan: &'a Plan,
    engine: GradientEngine,
    beta: Block,
    theta: Block,
    intercept: Block,
    linear: Block,
    order: Vec<usize>,
    batch: usize,
    step: usize,
    steps: usize,
    pub(crate) weights: Weights,
}

impl<'a> Descent<'a> {
    pub(crate) fn new(
        problem: &'a Problem<'a>,
        map: &'a FeatureMap,
        plan: &'a Plan,
        start: Weights,
        train: &[usize],
        epochs: usize,
    ) -> Self {
        let adam = matches!(plan.solver, SolverKind::Adam | SolverKind::PalmAdam);
        let batch = plan.batch_size.min(train.len());
        let batches = if plan.drop_last { train.len() / batch } else { train.len().div_ceil(batch) };
        Self {
            engine: GradientEngine::new(map, &start, batch, Wanted::Relevances),
            // The head is trained with the cosines' factor folded in; its penalty is stated without.
            beta: Block::new(start.beta.len(), plan.penalty.in_units(plan.feature_scale()), adam),
            theta: Block::new(start.theta.len(), plan.penalty_theta, adam),
            intercept: Block::new(start.intercept.len(), Penalty::default(), adam),
            linear: Block::new(start.linear.len(), Penalty::default(), adam),
            order: train.to_vec(),
            batch,
            step: 0,
            steps: batches.saturating_mul(epochs),
            weights: start,
            problem,
            map,
            plan,
        }
    }

    /// One pass over the shuffled rows; returns the mean loss over its batches. Ends early, with a loss that is not
    /// finite, when the descent has left the real numbers.
    pub(crate) fn epoch(&mut self, rng: &mut Stream) -> f64 {
        shuffle(&mut self.order, rng);
        let order = std::mem::take(&mut self.order);
        let (mut sum, mut batches) = (0.0, 0);
        for rows in order.chunks(self.batch) {
            if self.plan.drop_last && rows.len() < self.batch {
                break;
            }
            sum += self.batch(rows);
            batches += 1;
            if !f64::is_finite(sum) {
                break;
            }
        }
        self.order = order;
        sum / batches as f64
    }

    fn batch(&mut self, rows: &[usize]) -> f64 {
        let path = simd::path();
        let lr = self.plan.lr * self.plan.schedule.factor(self.step, self.steps);
        self.step += 1;
        let w = &mut self.weights;
        let (loss, g) = self.engine.gradient(self.problem, self.map, w, rows);
        let g = &g.weights;
        self.beta.step(path, &mut w.beta, &g.beta, lr);
        self.linear.step(path, &mut w.linear, &g.linear, lr);
        if self.plan.intercept {
            self.intercept.step(path, &mut w.intercept, &g.intercept, lr);
        }
        match self.plan.solver {
            SolverKind::PalmAdam | SolverKind::PalmSgd => {
                let (_, g) = self.engine.gradient(self.problem, self.map, w, rows);
                self.theta.step(path, &mut w.theta, &g.weights.theta, lr);
            }
            _ => self.theta.step(path, &mut w.theta, &g.theta, lr),
        }
        loss
    }
}

/// Algorithm 2: descend, watch the validation loss, keep the best epoch, stop when patience runs out.
///
/// Patience counts only once the fit has beaten `baseline`, the loss of the best constant: relevances can take twenty
/// epochs to find the columns that matter while the loss stands still (3 % of the paper's gse2 fits), and a model
/// worse than a constant is nothing to stop for.
pub(crate) fn descend(
    problem: &Problem<'_>,
    map: &FeatureMap,
    plan: &Plan,
    start: Weights,
    split: &Split,
    baseline: f64,
    rng: &mut Stream,
    observer: &mut dyn Observer,
) -> Outcome {
    let mut descent = Descent::new(problem, map, plan, start.clone(), &split.train, plan.epochs);
    let mut best = Outcome {
        weights: start,
        stopped: Stopped::Epochs,
        epochs: 0,
        best_epoch: 0,
        loss: f64::INFINITY,
        history: History::default(),
    };
    let mut lowest: Option<(usize, f64, Weights)> = None;
    for epoch in 1..=plan.epochs {
        let train = descent.epoch(rng) * problem.unit;
        best.epochs = epoch;
        let validating = !split.validation.is_empty();
        let validation =
            validating.then(|| problem.unit * mean_loss(problem, map, &descent.weights, &split.validation));
        let loss = validation.unwrap_or(train);
        if !(train.is_finite() && loss.is_finite() && descent.weights.is_finite()) {
            best.stopped = Stopped::Diverged;
            if let Some((epoch, loss, weights)) = lowest.take() {
                (best.best_epoch, best.loss, best.weights) = (epoch, loss, weights);
            }
            break;
        }
        // Without validation rows the last epoch is kept; should it come to divergence, the one of the lowest loss.
        if !validating && lowest.as_ref().is_none_or(|l| loss < l.1) {
            lowest = Some((epoch, loss, descent.weights.clone()));
        }
        best.history.push(EpochLoss { epoch, train, validation }, &map.spread(&descent.weights.theta));
        if !validating || loss < best.loss {
            best.weights.clone_from(&descent.weights);
            best.loss = loss;
            best.best_epoch = epoch;
        }
        let progress =
            Progress { epoch, epochs: plan.epochs, train_loss: train, validation_loss: validation };
        if observer.epoch(&progress).is_break() {
            best.stopped = Stopped::Interrupted;
            break;
        }
        let waiting = epoch - best.best_epoch;
        if validating && best.loss < baseline && plan.patience.is_some_and(|patience| waiting >= patience) {
            best.stopped = Stopped::Patience;
            break;
        }
    }
    best
}
