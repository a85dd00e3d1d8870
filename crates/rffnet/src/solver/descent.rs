//! Stochastic proximal descent: Algorithm 2 of the paper, with Adam or plain gradient steps, in one block of
//! coordinates or alternating between head and relevances (PALM).

use crate::backend::{GradientBuffers, Wanted};
use crate::features::{FeatureMap, Network, Weights};
use crate::numerics::random::{Stream, shuffle};
use crate::params::{Common, Descent};
use crate::penalty::Penalty;
use crate::problem::Problem;
use crate::solver::stop::{EpochLoss, History, Observer, Progress, Stopped};
use crate::validation::Split;

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
pub(crate) struct Moving {
    pub(crate) first: Vec<f32>,
    pub(crate) second: Vec<f32>,
    pub(crate) steps: i32,
    pub(crate) penalty: Penalty,
    pub(crate) adam: bool,
}

impl Moving {
    fn new(len: usize, penalty: Penalty, adam: bool) -> Self {
        let state = if adam { len } else { 0 };
        Self { first: vec![0.0; state], second: vec![0.0; state], steps: 0, penalty, adam }
    }
}

/// A descent in progress: weights, the optimiser's state, and what an epoch needs to know.
pub(crate) struct DescentState<'a> {
    pub(crate) problem: &'a Problem<'a>,
    pub(crate) map: &'a FeatureMap,
    pub(crate) settings: &'a Descent,
    pub(crate) buffers: GradientBuffers,
    pub(crate) beta: Moving,
    pub(crate) theta: Moving,
    pub(crate) intercept: Moving,
    pub(crate) linear: Moving,
    pub(crate) intercept_moves: bool,
    pub(crate) batch: usize,
    pub(crate) weights: Weights,
    order: Vec<usize>,
    step: usize,
    steps: usize,
}

impl<'a> DescentState<'a> {
    /// Before the first of so many epochs.
    pub(crate) fn new(
        problem: &'a Problem<'a>,
        map: &'a FeatureMap,
        (common, settings): (&'a Common, &'a Descent),
        start: Weights,
        train: &[usize],
        epochs: usize,
    ) -> Self {
        let adam = settings.is_adam();
        let batch = settings.batch_size.min(train.len());
        let batches = if settings.drop_last { train.len() / batch } else { train.len().div_ceil(batch) };
        Self {
            buffers: GradientBuffers::new(Wanted::Relevances),
            // The head is trained with the cosines' factor folded in; its penalty is stated without.
            beta: Moving::new(start.beta.len(), common.penalty.in_units(common.feature_scale()), adam),
            theta: Moving::new(start.theta.len(), settings.penalty_theta, adam),
            intercept: Moving::new(start.intercept.len(), Penalty::default(), adam),
            linear: Moving::new(start.linear.len(), Penalty::default(), adam),
            intercept_moves: common.intercept,
            order: train.to_vec(),
            batch,
            step: 0,
            steps: batches.saturating_mul(epochs),
            weights: start,
            problem,
            map,
            settings,
        }
    }

    /// The learning rate of the next step.
    pub(crate) fn next_rate(&mut self) -> f64 {
        let rate = self.settings.lr * self.settings.schedule.factor(self.step, self.steps);
        self.step += 1;
        rate
    }

    /// One pass over the shuffled rows; returns the mean loss over its batches.
    pub(crate) fn epoch(&mut self, rng: &mut Stream) -> f64 {
        shuffle(&mut self.order, rng);
        let order = std::mem::take(&mut self.order);
        let loss = self.problem.backend.epoch(self, &order);
        self.order = order;
        loss
    }
}

/// Algorithm 2: descend, watch the validation loss, keep the best epoch, stop early when patience runs out.
///
/// Patience counts only once the fit has beaten `baseline`, the loss of the best constant: relevances can take twenty
/// epochs to find the columns that matter while the loss stands still (3 % of the paper's gse2 fits), and a model
/// worse than a constant is nothing to stop for.
pub(crate) fn descend(
    mut state: DescentState<'_>,
    split: &Split,
    baseline: f64,
    rng: &mut Stream,
    observer: &mut dyn Observer,
) -> Outcome {
    let (problem, map, settings) = (state.problem, state.map, state.settings);
    let mut best = Outcome {
        weights: state.weights.clone(),
        stopped: Stopped::Epochs,
        epochs: 0,
        best_epoch: 0,
        loss: f64::INFINITY,
        history: History::default(),
    };
    let mut lowest: Option<(usize, f64, Weights)> = None;
    for epoch in 1..=settings.epochs {
        let train = state.epoch(rng) * problem.unit;
        best.epochs = epoch;
        let validating = !split.validation.is_empty();
        let network = Network::new(map, &state.weights);
        let validation = validating.then(|| problem.unit * problem.mean_loss(network, &split.validation));
        let loss = validation.unwrap_or(train);
        if !(train.is_finite() && loss.is_finite() && state.weights.is_finite()) {
            best.stopped = Stopped::Diverged;
            if let Some((epoch, loss, weights)) = lowest.take() {
                (best.best_epoch, best.loss, best.weights) = (epoch, loss, weights);
            }
            break;
        }
        // Without validation rows the last epoch is kept; should it come to divergence, the one of the lowest loss.
        if !validating && lowest.as_ref().is_none_or(|l| loss < l.1) {
            lowest = Some((epoch, loss, state.weights.clone()));
        }
        best.history.push(EpochLoss { epoch, train, validation }, &map.spread(&state.weights.theta));
        if !validating || loss < best.loss {
            best.weights.clone_from(&state.weights);
            best.loss = loss;
            best.best_epoch = epoch;
        }
        let progress = Progress {
            epoch,
            epochs: settings.epochs,
            train_loss: train,
            validation_loss: validation,
            stage: "epochs",
            done: Some(epoch as f64 / settings.epochs as f64),
        };
        if observer.epoch(&progress).is_break() {
            best.stopped = Stopped::Interrupted;
            break;
        }
        let waiting = epoch - best.best_epoch;
        let impatient = settings.patience.is_some_and(|patience| waiting >= patience);
        if validating && best.loss < baseline && impatient {
            best.stopped = Stopped::Patience;
            break;
        }
    }
    best
}
