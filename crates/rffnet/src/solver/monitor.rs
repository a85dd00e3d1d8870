//! Progress of a fit by variable projection: steps counted, the observer told, the time budget kept.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::time::{Duration, Instant};

use crate::solver::stop::{EpochLoss, History, Observer, Progress, Stopped};

/// What the threads of a fit share: the deadline, whether the fit is to end, how much has been done.
pub(crate) struct Shared {
    begun: Instant,
    budget: Option<Duration>,
    /// Nanoseconds after the beginning at which the stage at hand has to end.
    stage_end: AtomicU64,
    interrupted: AtomicBool,
    /// Something was left out for lack of time.
    cut: AtomicBool,
    steps: AtomicUsize,
    /// Multiplications done, and planned.
    done: AtomicU64,
    planned: f64,
    unit: f64,
}

impl Shared {
    pub(crate) fn new(budget: Option<f64>, planned: f64, unit: f64) -> Self {
        Self {
            begun: Instant::now(),
            budget: budget.and_then(|s| Duration::try_from_secs_f64(s).ok()),
            stage_end: AtomicU64::new(u64::MAX),
            interrupted: AtomicBool::new(false),
            cut: AtomicBool::new(false),
            steps: AtomicUsize::new(0),
            done: AtomicU64::new(0),
            planned,
            unit,
        }
    }

    /// What ended the fit before its time.
    pub(crate) fn reason(&self) -> Option<Stopped> {
        match (self.interrupted.load(Relaxed), self.cut.load(Relaxed)) {
            (true, _) => Some(Stopped::Interrupted),
            (_, true) => Some(Stopped::Budget),
            _ => None,
        }
    }

    /// Whether the stage at hand has to end.
    pub(crate) fn overdue(&self) -> bool {
        let late = self.budget.is_some_and(|budget| {
            let elapsed = self.begun.elapsed();
            elapsed >= budget || elapsed.as_nanos() >= u128::from(self.stage_end.load(Relaxed))
        });
        if late {
            self.cut.store(true, Relaxed);
        }
        late || self.interrupted.load(Relaxed)
    }

    /// Whether the fit has to end.
    pub(crate) fn stopped(&self) -> bool {
        self.interrupted.load(Relaxed) || self.budget.is_some_and(|budget| self.begun.elapsed() >= budget)
    }

    /// Less was planned than would have been without a budget.
    pub(crate) fn cut(&self) {
        self.cut.store(true, Relaxed);
    }

    /// The stage at hand has to end after this share of the budget, and so early that there is time for `work` more
    /// multiplications at the rate so far.
    pub(crate) fn end_stage(&self, share: f64, work: f64) {
        if let (Some(budget), Some((_, rate))) = (self.budget, self.left()) {
            let end = (share * budget.as_secs_f64() - work / rate).max(0.0);
            self.stage_end.store((1e9 * end) as u64, Relaxed);
        }
    }

    /// Seconds left of the budget, and multiplications per second so far.
    pub(crate) fn left(&self) -> Option<(f64, f64)> {
        let elapsed = self.begun.elapsed();
        let left = self.budget?.saturating_sub(elapsed).as_secs_f64();
        Some((left, (self.done.load(Relaxed) as f64 / elapsed.as_secs_f64()).max(1.0)))
    }
}

/// One thread's view of the fit; the caller's has the observer.
pub(crate) struct Monitor<'a> {
    pub(crate) shared: &'a Shared,
    observer: Option<&'a mut dyn Observer>,
    stage: &'static str,
    /// Multiplications planned for the stage and not yet done, and those of an evaluation.
    left: f64,
    each: f64,
    history: Vec<(EpochLoss, Vec<f32>)>,
}

impl<'a> Monitor<'a> {
    pub(crate) fn new(shared: &'a Shared, observer: Option<&'a mut dyn Observer>) -> Self {
        Self { shared, observer, stage: "", left: 0.0, each: 0.0, history: Vec::new() }
    }

    /// A stage begins, and the one before has ended, perhaps early.
    pub(crate) fn stage(&mut self, name: &'static str, work: f64) {
        self.count(self.left);
        (self.stage, self.left) = (name, work);
    }

    /// From here on an evaluation takes so many multiplications.
    pub(crate) fn each_evaluation(&mut self, work: f64) {
        self.each = work;
    }

    /// So many multiplications are done.
    pub(crate) fn count(&mut self, work: f64) {
        self.left = (self.left - work).max(0.0);
        self.shared.done.fetch_add(work as u64, Relaxed);
    }

    /// Whether there is time for so many multiplications, at the rate so far.
    pub(crate) fn affords(&self, work: f64) -> bool {
        self.shared.left().is_none_or(|(seconds, rate)| work <= seconds * rate)
    }

    /// After so many evaluations.
    pub(crate) fn evaluated(&mut self, evaluations: usize) {
        self.count(evaluations as f64 * self.each);
    }

    /// After a step.
    pub(crate) fn step(&mut self, train: f64, validation: f64, theta: Vec<f32>) -> ControlFlow<()> {
        if self.stopped() {
            return ControlFlow::Break(());
        }
        let shared = self.shared;
        let epoch = shared.steps.fetch_add(1, Relaxed) + 1;
        let (train, validation) = (train * shared.unit, validation * shared.unit);
        self.history.push((EpochLoss { epoch, train, validation: Some(validation) }, theta));
        if let Some(observer) = &mut self.observer {
            let done = (shared.done.load(Relaxed) as f64 / shared.planned).min(1.0);
            let progress = Progress {
                epoch,
                // As many in all as the share of the work suggests.
                epochs: if done > 0.0 { epoch.max((epoch as f64 / done) as usize) } else { epoch },
                train_loss: train,
                validation_loss: Some(validation),
                stage: self.stage,
                done: Some(done),
            };
            if observer.epoch(&progress).is_break() {
                shared.interrupted.store(true, Relaxed);
            }
        }
        if self.overdue() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Whether the stage at hand has to end.
    pub(crate) fn overdue(&self) -> bool {
        self.shared.overdue()
    }

    /// Whether the fit has to end.
    pub(crate) fn stopped(&self) -> bool {
        self.shared.stopped()
    }

    /// Steps of all threads.
    pub(crate) fn steps(&self) -> usize {
        self.shared.steps.load(Relaxed)
    }

    /// This thread's steps, which start anew.
    pub(crate) fn take_history(&mut self) -> Vec<(EpochLoss, Vec<f32>)> {
        std::mem::take(&mut self.history)
    }

    /// Steps that come after this thread's own.
    pub(crate) fn put_history(&mut self, steps: Vec<(EpochLoss, Vec<f32>)>) {
        self.history.extend(steps);
    }

    /// The steps in the order of stages and members, whichever thread made them.
    pub(crate) fn history(self) -> History {
        let mut history = History::default();
        for (epoch, (loss, theta)) in self.history.into_iter().enumerate() {
            history.push(EpochLoss { epoch: epoch + 1, ..loss }, &theta);
        }
        history
    }
}
