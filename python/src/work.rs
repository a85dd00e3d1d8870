//! Running work beside Python: thread pools that survive a fork, Ctrl-C, callbacks, panics.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{env, mem, process, thread};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use rffnet::{Error, Observer, Progress};

use crate::error::{exception, panicked};

/// How often Python is asked whether Ctrl-C was pressed.
const PAUSE: Duration = Duration::from_millis(50);

/// How many threads to work with; None is what [`threads`] says.
pub(crate) type Threads = Option<usize>;

/// The pools made so far, by size, and the process they belong to.
static POOLS: Mutex<(u32, Vec<Arc<ThreadPool>>)> = Mutex::new((0, Vec::new()));

/// Threads to work with when nothing is said: what the environment says (joblib sets `OMP_NUM_THREADS` for its worker
/// processes), or all cores.
#[pyfunction]
pub(crate) fn threads() -> usize {
    let named = |name| env::var(name).ok()?.parse().ok().filter(|&n: &usize| n > 0);
    let all = || thread::available_parallelism().map_or(1, NonZero::get);
    named("RAYON_NUM_THREADS").or_else(|| named("OMP_NUM_THREADS")).unwrap_or_else(all)
}

/// A pool of so many threads. Threads do not survive a fork, so a child process makes its own.
fn pool(size: Threads) -> PyResult<Arc<ThreadPool>> {
    let size = size.unwrap_or_else(threads);
    let make = || {
        let pool = ThreadPoolBuilder::new().num_threads(size).thread_name(|i| format!("rffnet-{i}")).build();
        pool.map(Arc::new)
            .map_err(|e| PyRuntimeError::new_err(format!("{size} threads could not be started: {e}")))
    };
    // Another thread may have held the lock when this process was forked: then it is never given back.
    let Ok(mut pools) = POOLS.try_lock() else { return make() };
    if pools.0 != process::id() {
        // The parent's pools have no threads here; even dropping them could wait for one.
        mem::take(&mut pools.1).into_iter().for_each(mem::forget);
        pools.0 = process::id();
    }
    if let Some(pool) = pools.1.iter().find(|pool| pool.current_num_threads() == size) {
        return Ok(Arc::clone(pool));
    }
    let made = make()?;
    pools.1.push(Arc::clone(&made));
    Ok(made)
}

/// Runs `work` on `threads` threads, without the GIL.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    threads: Threads,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    let pool = pool(threads)?;
    let outcome = py.detach(|| catch_unwind(AssertUnwindSafe(|| pool.install(work))));
    outcome.map_err(panicked)?.map_err(exception)
}

/// The observer of a fit: tells the waiting thread of each epoch, and breaks when that one says so.
pub(crate) struct FitObserver<'a> {
    interrupted: &'a AtomicBool,
    tell: Sender<Progress>,
    /// What the callback says; none without a callback, and then nothing is told.
    answer: Option<Receiver<bool>>,
}

impl Observer for FitObserver<'_> {
    fn epoch(&mut self, progress: &Progress) -> ControlFlow<()> {
        let stop = self
            .answer
            .as_ref()
            .is_some_and(|answer| self.tell.send(*progress).is_err() || answer.recv().unwrap_or(true));
        if stop || self.interrupted.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// As [`run`], for a fit. The calling thread waits: it hears Ctrl-C, which reaches the main thread alone, and calls
/// `callback(epoch, epochs, train_loss, validation_loss)`, which stops the fit by returning true.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    threads: Threads,
    callback: Option<&Py<PyAny>>,
    work: impl FnOnce(&mut FitObserver<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let pool = pool(threads)?;
    let interrupted = AtomicBool::new(false);
    let (tell, told) = channel();
    let (reply, answer) = channel();
    let mut observer = FitObserver { interrupted: &interrupted, tell, answer: callback.map(|_| answer) };
    let (pool, interrupted) = (&pool, &interrupted);
    let (raised, outcome) = py.detach(move || {
        let (mut raised, mut outcome) = (None, None);
        let done = &mut outcome;
        pool.in_place_scope(|scope| {
            // The observer goes with the work: the channel ends when that does.
            scope.spawn(move |_| *done = Some(catch_unwind(AssertUnwindSafe(move || work(&mut observer)))));
            loop {
                match told.recv_timeout(PAUSE) {
                    Ok(progress) => {
                        let stop = Python::attach(|py| call(py, callback, &progress));
                        let stop = stop.unwrap_or_else(|error| {
                            raised.get_or_insert(error);
                            true
                        });
                        // A fit that has ended meanwhile needs no answer.
                        let _ = reply.send(stop);
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
                            raised.get_or_insert(error);
                            interrupted.store(true, Ordering::Relaxed);
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
        });
        (raised, outcome)
    });
    match (raised, outcome) {
        (Some(error), _) => Err(error),
        (None, Some(outcome)) => outcome.map_err(panicked)?.map_err(exception),
        (None, None) => Err(PyRuntimeError::new_err("the fit ended without a result")),
    }
}

fn call(py: Python<'_>, callback: Option<&Py<PyAny>>, progress: &Progress) -> PyResult<bool> {
    py.check_signals()?;
    let Some(callback) = callback else { return Ok(false) };
    let numbers = (progress.epoch, progress.epochs, progress.train_loss, progress.validation_loss);
    callback.bind(py).call1(numbers)?.is_truthy()
}
