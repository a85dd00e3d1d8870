//! Every table and figure of the paper, and a few beyond it, from one call.
//!
//! An [`Experiment`] is a table or a figure; [`reproduce`] runs some of them into a folder: Markdown with the paper's
//! figures beside ours, CSV with the raw figures, SVG drawings, and an index of all that stands there.
//!
//! ```text
//! Request ── settings ──> cells ── Cache ──> figures ──> Page (table | chart) ──> folder, index
//!                           └─ method x set x replica, each in a process of its own (rffnet-compare)
//! ```
//!
//! A cell that has been computed is read from disk, so a run that was killed goes on where it stopped.
#![deny(missing_docs)]

mod axis;
mod bench;
mod cache;
mod calibration;
mod chart;
mod convergence;
mod curves;
mod describe;
mod experiment;
mod grid;
mod landscape;
mod page;
mod published;
mod real;
mod relevance;
mod reliability;
mod scores;
mod selection;
mod settings;
mod stats;
mod svg;

pub use bench::{Request, reproduce};
pub use experiment::Experiment;
pub use published::{Described, Published, REAL_SETS, published};
pub use rffnet_compare::Error;
