//! One file per subcommand.

pub(crate) mod completions;
pub(crate) mod eval;
pub(crate) mod export;
pub(crate) mod fit;
pub(crate) mod generate;
pub(crate) mod inspect;
pub(crate) mod predict;
pub(crate) mod select;
