//! One file per subcommand.

#[cfg(feature = "compare")]
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod eval;
pub(crate) mod export;
pub(crate) mod fit;
pub(crate) mod generate;
pub(crate) mod inspect;
#[cfg(feature = "compare")]
pub(crate) mod job;
pub(crate) mod predict;
#[cfg(feature = "reproduce")]
pub(crate) mod reproduce;
pub(crate) mod select;
