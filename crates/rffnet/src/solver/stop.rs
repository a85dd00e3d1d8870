//! Watching a fit: progress, history, and the reason it ended.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::{Error, names::named_enum};

named_enum! {
    /// Why a fit ended.
    #[non_exhaustive]
    pub enum Stopped "stopped" {
        /// All epochs were made.
        Epochs => "epochs",
        /// The validation loss had not improved for `patience` epochs.
        Patience => "patience",
        /// The observer asked for it (Ctrl-C in the command).
        Interrupted => "interrupted",
        /// A parameter or the loss became infinite; the best earlier epoch was kept.
        Diverged => "diverged",
        /// The target is the same everywhere: there was nothing to learn.
        ConstantTarget => "constant-target",
        /// The exact solver had nothing left to gain.
        Converged => "converged",
        /// The time allowed ran out.
        Budget => "budget",
    }
}

/// Where a fit stands after an epoch.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Progress {
    /// Epochs made.
    pub epoch: usize,
    /// Epochs at most.
    pub epochs: usize,
    /// Mean loss over the epoch's batches.
    pub train_loss: f64,
    /// Loss on the validation rows, if there are any.
    pub validation_loss: Option<f64>,
    /// What the fit is at: `epochs` of a descent; `relevances`, `AGOP metric`, `learned frequencies` or `head` of the
    /// default algorithm.
    pub stage: &'static str,
    /// The share of the planned work that is done, by counted multiplications, where it is known.
    pub done: Option<f64>,
}

/// Told after every epoch; may end the fit.
pub trait Observer {
    /// Return `Break` to stop now and keep the best model so far.
    fn epoch(&mut self, progress: &Progress) -> ControlFlow<()>;
}

/// An observer that lets every fit run to its end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn epoch(&mut self, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<F: FnMut(&Progress) -> ControlFlow<()>> Observer for F {
    fn epoch(&mut self, progress: &Progress) -> ControlFlow<()> {
        self(progress)
    }
}

/// The losses of one epoch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EpochLoss {
    /// Counted from 1.
    pub epoch: usize,
    /// Mean loss over the epoch's batches.
    pub train: f64,
    /// Loss on the validation rows.
    pub validation: Option<f64>,
}

/// How losses and relevances went from epoch to epoch, of bounded size.
///
/// When it holds [`History::LIMIT`] epochs, every other one is dropped and from then on only every second (fourth, ...)
/// epoch is kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    losses: Vec<EpochLoss>,
    relevances: Vec<Vec<f32>>,
    skip: u32,
}

impl History {
    /// More epochs than this are never held.
    pub const LIMIT: usize = 256;

    pub(crate) fn of(steps: &[(EpochLoss, Vec<f32>)]) -> Self {
        let mut history = Self::default();
        steps.iter().for_each(|(loss, theta)| history.push(*loss, theta));
        history
    }

    pub(crate) fn push(&mut self, loss: EpochLoss, theta: &[f32]) {
        if !loss.epoch.is_multiple_of(1 << self.skip) {
            return;
        }
        if self.losses.len() == Self::LIMIT {
            self.skip += 1;
            let keep = |epoch: usize| epoch.is_multiple_of(1 << self.skip);
            let mut epochs = self.losses.iter().map(|l| l.epoch);
            self.relevances.retain(|_| epochs.next().is_some_and(keep));
            self.losses.retain(|l| keep(l.epoch));
            if !keep(loss.epoch) {
                return;
            }
        }
        self.losses.push(loss);
        self.relevances.push(theta.iter().map(|t| t.abs()).collect());
    }

    /// The losses, oldest first.
    pub fn losses(&self) -> &[EpochLoss] {
        &self.losses
    }

    /// The relevances |theta| after the same epochs.
    pub fn relevances(&self) -> &[Vec<f32>] {
        &self.relevances
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_is_bounded_and_even() {
        let mut history = History::default();
        for epoch in 1..=5000 {
            history.push(EpochLoss { epoch, train: 1.0, validation: None }, &[epoch as f32]);
            assert!(history.losses().len() <= History::LIMIT);
            assert_eq!(history.losses().len(), history.relevances().len());
        }
        let epochs: Vec<usize> = history.losses().iter().map(|l| l.epoch).collect();
        assert!(epochs.len() > History::LIMIT / 2 && epochs.windows(2).all(|w| w[1] - w[0] == 32));
        for (loss, theta) in history.losses().iter().zip(history.relevances()) {
            assert_eq!(theta[0], loss.epoch as f32);
        }
    }
}
