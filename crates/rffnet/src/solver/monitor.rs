//! Progress of a fit by variable projection: steps counted, the observer told, the time budget kept.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::solver::stop::{EpochLoss, History, Observer, Progress, Stopped};

/// Steps counted, the observer told, the clock watched.
pub(crate) struct Monitor<'a> {
    observer: &'a mut dyn Observer,
    deadline: Option<Instant>,
    pub(crate) steps: usize,
    /// Steps planned, for the observer.
    planned: usize,
    unit: f64,
    reason: Option<Stopped>,
    pub(crate) history: History,
}

impl<'a> Monitor<'a> {
    pub(crate) fn new(
        observer: &'a mut dyn Observer,
        budget: Option<f64>,
        planned: usize,
        unit: f64,
    ) -> Self {
        let deadline = budget.and_then(|s| Instant::now().checked_add(Duration::try_from_secs_f64(s).ok()?));
        Self { observer, deadline, steps: 0, planned, unit, reason: None, history: History::default() }
    }

    /// After a step.
    pub(crate) fn step(
        &mut self,
        train: f64,
        validation: f64,
        theta: impl Fn() -> Vec<f32>,
    ) -> ControlFlow<()> {
        if self.stopped() {
            return ControlFlow::Break(());
        }
        self.steps += 1;
        let (train, validation) = (train * self.unit, validation * self.unit);
        self.history.push(EpochLoss { epoch: self.steps, train, validation: Some(validation) }, &theta());
        let progress = Progress {
            epoch: self.steps,
            epochs: self.planned.max(self.steps),
            train_loss: train,
            validation_loss: Some(validation),
        };
        if self.observer.epoch(&progress).is_break() {
            self.reason = Some(Stopped::Interrupted);
        }
        if self.overdue() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Between steps that nobody is told of: whether the fit has to end.
    pub(crate) fn overdue(&mut self) -> bool {
        if !self.stopped() && self.deadline.is_some_and(|end| Instant::now() >= end) {
            self.reason = Some(Stopped::Budget);
        }
        self.stopped()
    }

    /// Whether something outside the fit has ended it.
    pub(crate) fn stopped(&self) -> bool {
        self.reason.is_some()
    }

    pub(crate) fn reason(&self) -> Option<Stopped> {
        self.reason
    }
}
