//! Progress of a fit by variable projection: steps counted, the observer told, the time budget kept.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Instant;

use crate::solver::stop::{EpochLoss, Observer, Progress, Stopped};

/// What the threads of a fit share: the deadline, whether the fit is to end, how much has been done.
pub(crate) struct Shared {
    begun: Instant,
    /// Seconds after which everything but the heads has to end.
    end: Option<f64>,
    interrupted: AtomicBool,
    /// Something was left out for lack of time.
    cut: AtomicBool,
    /// Multiplications done, and planned.
    done: AtomicU64,
    planned: f64,
    unit: f64,
    /// Losses and relevances after each step, with the number of the member that made it.
    steps: Mutex<Vec<(usize, EpochLoss, Vec<f32>)>>,
}

impl Shared {
    pub(crate) fn new(end: Option<f64>, planned: f64, unit: f64) -> Self {
        Self {
            begun: Instant::now(),
            end,
            interrupted: AtomicBool::new(false),
            cut: AtomicBool::new(false),
            done: AtomicU64::new(0),
            planned,
            unit,
            steps: Mutex::default(),
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

    /// Whether everything but the heads has to end.
    pub(crate) fn stopped(&self) -> bool {
        let late = self.end.is_some_and(|end| self.begun.elapsed().as_secs_f64() >= end);
        if late {
            self.cut();
        }
        late || self.interrupted.load(Relaxed)
    }

    /// Takes the steps of these members, one member after the other, whichever threads made them.
    pub(crate) fn steps(&self, members: impl Iterator<Item = usize>) -> Vec<(EpochLoss, Vec<f32>)> {
        let mut steps = std::mem::take(&mut *self.steps.lock().expect("no thread panics"));
        let members: Vec<usize> = members.collect();
        steps.retain(|step| members.contains(&step.0));
        steps.sort_by_key(|step| step.0);
        let numbered = |(at, (_, loss, theta))| (EpochLoss { epoch: at + 1, ..loss }, theta);
        steps.into_iter().enumerate().map(numbered).collect()
    }
}

/// One thread's view of the fit; the caller's has the observer.
pub(crate) struct Monitor<'a> {
    pub(crate) shared: &'a Shared,
    /// The member that the thread is at.
    pub(crate) member: usize,
    observer: Option<&'a mut dyn Observer>,
    stage: &'static str,
    /// Multiplications planned for the stage and not yet done.
    left: f64,
    /// This thread's steps.
    made: usize,
}

impl<'a> Monitor<'a> {
    pub(crate) fn new(shared: &'a Shared, observer: Option<&'a mut dyn Observer>) -> Self {
        Self { shared, member: 0, observer, stage: "", left: 0.0, made: 0 }
    }

    /// A stage begins, and the one before has ended, perhaps early.
    pub(crate) fn stage(&mut self, name: &'static str, work: f64) {
        self.count(self.left);
        (self.stage, self.left) = (name, work);
    }

    /// So many multiplications are done.
    pub(crate) fn count(&mut self, work: f64) {
        self.left = (self.left - work).max(0.0);
        self.shared.done.fetch_add(work as u64, Relaxed);
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
        let loss = EpochLoss { epoch, train, validation: Some(validation) };
        shared.steps.lock().expect("no thread panics").push((self.member, loss, theta));
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

    /// Whether everything but the heads has to end.
    pub(crate) fn stopped(&self) -> bool {
        self.shared.stopped()
    }
}
