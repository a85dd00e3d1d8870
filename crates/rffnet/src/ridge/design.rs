//! The design of the exact head: a column per random feature, per linear term, and one for the intercept.

use crate::features::{ScaledFeatures, Weights};
use crate::problem::Problem;

/// Linear terms beside the features. The larger the factor of a column the less its term is penalised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Linear<'a> {
    None,
    /// Of all columns, the squares of their factors adding up to the square of this.
    All(f64),
    Some(&'a [LinearTerm]),
}

/// A column and its factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LinearTerm {
    pub(crate) column: usize,
    pub(crate) factor: f64,
}

impl From<bool> for Linear<'_> {
    fn from(wanted: bool) -> Self {
        if wanted { Self::All(1.0) } else { Self::None }
    }
}

/// How the columns of the design are scaled against one penalty: sqrt(2/s) for cosines, 1/sqrt(d) or factors
/// of their own for linear terms.
#[derive(Clone, Copy)]
pub(crate) struct Design<'a> {
    pub(crate) features: &'a ScaledFeatures,
    linear: Linear<'a>,
}

impl<'a> Design<'a> {
    pub(crate) fn new(features: &'a ScaledFeatures, linear: Linear<'a>) -> Self {
        Self { features, linear }
    }

    fn cosines(&self) -> usize {
        self.features.map.features()
    }

    /// How many linear terms there are.
    pub(crate) fn linear_terms(&self) -> usize {
        match self.linear {
            Linear::None => 0,
            Linear::All(_) => self.features.map.columns(),
            Linear::Some(terms) => terms.len(),
        }
    }

    /// The columns of the linear terms, and what they are multiplied with.
    pub(crate) fn terms(&self) -> impl Iterator<Item = LinearTerm> + '_ {
        let count = self.linear_terms();
        (0..count).map(move |at| match self.linear {
            Linear::Some(terms) => terms[at],
            Linear::All(factor) => LinearTerm { column: at, factor: factor / (count as f64).sqrt() },
            Linear::None => unreachable!("there are no terms"),
        })
    }

    /// Columns, the intercept's included.
    pub(crate) fn columns(&self) -> usize {
        self.cosines() + self.linear_terms() + 1
    }

    /// What cosines are multiplied with.
    pub(crate) fn cosine(&self) -> f64 {
        (2.0 / self.cosines() as f64).sqrt()
    }

    /// The weights with these coefficients, vectors of `columns()`, one per output.
    pub(crate) fn weights(&self, coefficients: &[f64]) -> Weights {
        let (s, terms, padded) = (self.cosines(), self.linear_terms(), self.features.map.padded());
        let outputs = coefficients.len() / self.columns();
        let mut weights = Weights::zeros(&self.features.map, outputs);
        weights.theta.copy_from_slice(&self.features.theta);
        // Also where no column has a term: members of an ensemble are alike.
        let columns = if self.linear == Linear::None { 0 } else { self.features.map.columns() };
        weights.linear.resize(outputs * columns, 0.0);
        for (c, b) in coefficients.chunks_exact(self.columns()).enumerate() {
            let (cosines, rest) = b.split_at(s);
            let beta = &mut weights.beta[c * padded..][..s];
            beta.iter_mut().zip(cosines).for_each(|(w, b)| *w = (b * self.cosine()) as f32);
            let linear = &mut weights.linear[c * columns..][..columns];
            self.terms().zip(rest).for_each(|(term, b)| linear[term.column] = (b * term.factor) as f32);
            weights.intercept[c] = rest[terms] as f32;
        }
        weights
    }

    /// The design of the given rows, `rows x columns`.
    pub(crate) fn rows(&self, problem: &Problem<'_>, rows: &[usize]) -> Vec<f32> {
        let m = self.columns();
        let mut z = vec![0.0; rows.len() * m];
        problem.backend.design(problem.columns, self, rows, m, &mut z);
        z
    }

    /// The penalty's value: the intercept, the last coefficient of each output, is free.
    pub(crate) fn penalty(&self, coefficients: &[f64], alpha: f64) -> f64 {
        let of_output = coefficients.chunks_exact(self.columns());
        alpha * of_output.flat_map(|b| &b[..self.columns() - 1]).map(|b| b * b).sum::<f64>()
    }
}
