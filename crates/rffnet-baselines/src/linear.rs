//! Ridge and logistic regression on the columns themselves.

use std::ops::Range;

use crate::heads::{Features, Head, Headed};
use crate::{Error, Method, Need, Rows, Trained, Training};

/// `f(x) = intercept + beta . x`. Relevances are the lengths of the coefficients of each column.
#[derive(Debug, Clone, Copy)]
pub struct Linear {
    /// The penalty for values.
    pub alpha: f64,
    /// One over the penalty for classes.
    pub c: f64,
}

impl Linear {
    /// The penalties that the paper's tables give to every linear head.
    pub fn paper() -> Self {
        let Head { alpha, c } = Head::paper();
        Self { alpha, c }
    }
}

impl Default for Linear {
    fn default() -> Self {
        Self { alpha: 1.0, c: 1.0 }
    }
}

impl Linear {
    fn head(&self) -> Head {
        Head { alpha: self.alpha, c: self.c }
    }
}

impl Method for Linear {
    fn memory(&self, training: &Training<'_>) -> Need {
        self.head().memory(training, training.rows.columns)
    }

    fn train(&self, training: &Training<'_>) -> Result<Box<dyn Trained>, Error> {
        let map = Columns(training.rows.columns);
        let coefficients = self.head().fit(&map, training)?;
        Ok(Box::new(Model(Headed { map, coefficients })))
    }
}

struct Columns(usize);

impl Features for Columns {
    fn width(&self) -> usize {
        self.0
    }

    fn make(&self, rows: &Rows, range: Range<usize>, out: &mut [f64]) {
        let x = &rows.values[range.start * self.0..range.end * self.0];
        out.iter_mut().zip(x).for_each(|(out, &x)| *out = x.into());
    }
}

struct Model(Headed<Columns>);

impl Trained for Model {
    fn decision(&self, rows: &Rows) -> Vec<f64> {
        self.0.decision(rows)
    }

    fn relevances(&self) -> Option<Vec<f64>> {
        let (beta, _) = self.0.coefficients.split();
        let length = |b: &[f64]| b.iter().map(|b| b * b).sum::<f64>().sqrt();
        Some(beta.chunks_exact(self.0.coefficients.outputs).map(length).collect())
    }
}
