//! Progress of a fit by variable projection: steps counted, the observer told, the time budget kept.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Instant;

use crate::solver::stop::{EpochLoss, History, Observer, Progress, Stopped};

/// What the threads of a fit share: the deadline, whether the fit is to end, how much has been done.
pub(crate) struct Shared {
    begun: Instant,
    deadline: Option<Deadline>,
    interrupted: AtomicBool,
    /// Something was left out for lack of time.
    cut: AtomicBool,
    /// The first member of the ensemble is the whole model.
    alone: AtomicBool,
    /// Multiplications done, and planned.
    done: AtomicU64,
    planned: f64,
    unit: f64,
}

/// When a fit has to end: seconds in all, those of them that its last heads take, and multiplications per second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    pub(crate) seconds: f64,
    pub(crate) last: f64,
    pub(crate) rate: f64,
}

impl Shared {
    pub(crate) fn new(deadline: Option<Deadline>, planned: f64, unit: f64) -> Self {
        Self {
            begun: Instant::now(),
            deadline,
            interrupted: AtomicBool::new(false),
            cut: AtomicBool::new(false),
            alone: AtomicBool::new(false),
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

    /// Less was planned, or done, than would have been without a budget.
    pub(crate) fn cut(&self) {
        self.cut.store(true, Relaxed);
    }

    /// The other members are not needed.
    pub(crate) fn one_is_enough(&self) {
        self.alone.store(true, Relaxed);
    }

    pub(crate) fn is_one_enough(&self) -> bool {
        self.alone.load(Relaxed)
    }

    /// Whether everything but the last heads has to end, for the first member or another.
    pub(crate) fn stopped(&self, first: bool) -> bool {
        let late = self.left().is_some_and(|seconds| seconds <= 0.0);
        if late {
            self.cut();
        }
        late || self.interrupted.load(Relaxed) || !first && self.is_one_enough()
    }

    /// Seconds that are left before the last heads.
    fn left(&self) -> Option<f64> {
        self.deadline.map(|d| d.seconds - d.last - self.begun.elapsed().as_secs_f64())
    }
}

/// One thread's view of the fit; the caller's has the observer.
pub(crate) struct Monitor<'a> {
    pub(crate) shared: &'a Shared,
    /// The thread is at the first member.
    pub(crate) first: bool,
    observer: Option<&'a mut dyn Observer>,
    stage: &'static str,
    /// Multiplications planned for the stage and not yet done, and those of an evaluation.
    left: f64,
    each: f64,
    history: Steps,
    /// This thread's steps in all.
    made: usize,
}

/// The losses and relevances of steps.
pub(crate) type Steps = Vec<(EpochLoss, Vec<f32>)>;

impl<'a> Monitor<'a> {
    pub(crate) fn new(shared: &'a Shared, observer: Option<&'a mut dyn Observer>) -> Self {
        Self { shared, first: true, observer, stage: "", left: 0.0, each: 0.0, history: Vec::new(), made: 0 }
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

    /// Whether there is time for so many multiplications.
    pub(crate) fn affords(&self, work: f64) -> bool {
        let time = self.shared.deadline.zip(self.shared.left());
        let affords = time.is_none_or(|(deadline, seconds)| work <= seconds * deadline.rate);
        if !affords {
            self.shared.cut();
        }
        affords && !self.stopped()
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
        self.made += 1;
        let epoch = self.made;
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
        if self.stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Whether everything but the last heads has to end.
    pub(crate) fn stopped(&self) -> bool {
        self.shared.stopped(self.first)
    }

    /// Steps of the members that are part of the model, once they were put together.
    pub(crate) fn steps(&self) -> usize {
        self.history.len()
    }

    /// This thread's steps, which start anew.
    pub(crate) fn take_steps(&mut self) -> Steps {
        std::mem::take(&mut self.history)
    }

    /// Steps that come after this thread's own.
    pub(crate) fn put_steps(&mut self, steps: Steps) {
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
