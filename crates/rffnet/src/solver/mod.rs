//! Minimisers of the objective, and when they stop.

pub(crate) mod budget;
pub(crate) mod descent;
pub(crate) mod kept;
pub(crate) mod lbfgs;
pub(crate) mod reduced;
pub(crate) mod schedule;
pub(crate) mod stop;
pub(crate) mod varpro;

pub use stop::{EpochLoss, History, Observer, Progress, Silent, Stopped};
