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

use crate::numerics::cholesky::Cholesky;
use crate::problem::Problem;

pub(crate) use design::{Design, Linear, LinearTerm};
pub(crate) use dual::{DualForm, MANY_COLUMNS};
pub(crate) use moments::{Gram, Moments};

/// The exact head of a regression on some rows, for any penalty.
pub(crate) struct Ridge {
    moments: Moments,
    dual: Option<DualForm>,
}

impl Ridge {
    pub(crate) fn new(problem: &Problem<'_>, design: &Design<'_>, rows: &[usize]) -> Self {
        let dual = DualForm::new(problem, design, rows);
        let moments = match &dual {
            Some(dual) => dual.moments(problem, rows, None),
            None => problem.backend.moments(problem, design, rows, None),
        };
        Self { moments, dual }
    }

    /// The same on all of the given rows, of which those before the `from`-th have been seen.
    pub(crate) fn on_more(
        mut self,
        problem: &Problem<'_>,
        design: &Design<'_>,
        rows: &[usize],
        from: usize,
    ) -> Self {
        if from == rows.len() {
            return self;
        }
        if self.dual.is_some() {
            return Self::new(problem, design, rows);
        }
        self.moments.merge(&problem.backend.moments(problem, design, &rows[from..], None));
        self
    }

    /// The factor of the normal equations, in the coordinates of the dual form where that is used.
    pub(crate) fn factor(&self, alpha: f64) -> Cholesky {
        self.moments.factor(alpha)
    }

    pub(crate) fn dual(&self) -> Option<&DualForm> {
        self.dual.as_ref()
    }

    /// The coefficients of the design, one vector per target.
    pub(crate) fn head(&self, alpha: f64) -> Vec<f64> {
        let found = self.moments.ridge(alpha);
        match &self.dual {
            Some(dual) => dual.expand(&found),
            None => found,
        }
    }
}
