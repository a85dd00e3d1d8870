//! Minimisers of the objective, and when they stop.

pub(crate) mod cells;
pub(crate) mod descent;
pub(crate) mod design_rows;
mod iterate;
pub(crate) mod kept_design;
pub(crate) mod monitor;
pub(crate) mod reduced;
pub(crate) mod schedule;
pub(crate) mod stop;
pub(crate) mod varpro;

pub use stop::{EpochLoss, History, Observer, Progress, Silent, Stopped};
