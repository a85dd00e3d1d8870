//! Which method is best on these rows, and what does it cost?
//!
//! A [`Job`] names a method, the rows to learn from and the rows to be scored on; an [`Outcome`] holds scores, times,
//! memory and relevances. [`run`] does a job here, [`run_apart`] in a process of its own, so that the peak of memory is the
//! job's alone and a crash is an outcome too.
//!
//! ```text
//! Job ── Source ──> Sample (train), Sample (test)
//!     ── ModelSpec ──> Fitted ──> Prediction ──> Scores ──> Outcome
//! ```
//!
//! ```
//! use rffnet_compare::{Job, Kind, ModelSpec, Part, Source, run};
//! use rffnet_data::Simulated;
//!
//! let part = |part| Source::Simulated { set: Simulated::Jse3, rows: 500, test_rows: 200, seed: 1, part };
//! let job = Job::new(ModelSpec::new(Kind::Constant), part(Part::Train), part(Part::Test));
//! let outcome = run(&job);
//! let r2 = outcome.scores.and_then(|s| s.r2()).ok_or("not scored")?;
//! assert!(r2.abs() < 0.1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Jobs and outcomes are serde values: a program that wants `run_apart` hands what it reads on standard input after the
//! argument [`JOB`] to [`answer`].
#![deny(missing_docs)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod apart;
mod encode;
mod error;
mod job;
mod snapshot;
mod source;
mod spec;
mod summary;

pub use apart::{JOB, answer, run_apart};
pub use encode::Preparation;
pub use error::Error;
pub use job::{Job, Outcome, run};
pub use snapshot::{read_snapshot, write_snapshot};
pub use source::{Part, Source, read_pair};
pub use spec::{Fitted, Kind, ModelSpec, Setting};
pub use summary::{Row, Summary, summarise};
