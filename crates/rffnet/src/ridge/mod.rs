//! Ridge regression on random features: the exact head of a squared loss, and the Hessians of other losses' heads.
//!
//! | file | subject |
//! |---|---|
//! | `design.rs` | the columns of the regression: random features, linear terms, intercept |
//! | `moments.rs` | the normal equations: Gram matrix, moments with the targets |
//! | `dual.rs` | the dual (kernel) form, where there are fewer rows than columns |

mod design;
mod dual;
mod moments;
#[cfg(test)]
mod tests;

pub(crate) use design::{Design, Linear, penalty};
pub(crate) use dual::{DualForm, MANY_COLUMNS, Ridge};
pub(crate) use moments::{Gram, Moments};
