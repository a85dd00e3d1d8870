//! Losses: what a prediction costs, its gradient, and the constant to beat.
//!
//! A loss sees one row at a time, in f64: the target `y`, the outputs `f` of the network, and writes the derivative
//! along each output. Everything else a fit must know of a loss stands on its trait, so that adding one is a file of its
//! own and an arm in `kind.rs`.

mod cross_entropy;
mod huber;
mod kind;
mod location;
mod poisson;
mod quantile;
mod squared;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::{Error, names::named_enum};

pub(crate) use cross_entropy::logistic;
pub use kind::LossKind;

named_enum! {
    /// From the network's output to what is predicted.
    #[non_exhaustive]
    pub enum Link "link" {
        /// The output itself.
        Identity => "identity",
        /// exp(output): a positive mean.
        Log => "log",
        /// One output; its logistic function is the probability of the second class.
        Logistic => "logistic",
        /// One output per class.
        Softmax => "softmax",
    }
}

/// How the head that minimises a loss is found exactly, for fixed features.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum ExactHead {
    /// It is not: the loss is minimised by descent.
    None,
    /// By the normal equations: the loss is the squared one.
    LeastSquares,
    /// By L-BFGS, preconditioned with a Hessian in which a row weighs what this function makes of its outputs.
    Newton(fn(&[f32]) -> f64),
}

/// A differentiable loss.
///
/// Implement it to train with a loss of your own (see [`Fit::loss`](crate::Fit::loss)).
pub trait Loss: Sync {
    /// The loss of one row; writes d loss / d f into `gradient`.
    fn row(&self, y: &[f64], f: &[f64], gradient: &mut [f64]) -> f64;

    /// From output to prediction.
    fn link(&self) -> Link;

    /// The best constant output for weighted targets (`y` is `weights.len() x width`): where the intercept starts, and
    /// what a fit has to beat.
    fn constant(&self, y: &[f32], weights: &[f32], outputs: usize) -> Vec<f64>;

    /// Whether the target is standardised before training.
    fn standardises_target(&self) -> bool {
        false
    }

    /// What the loss of a target divided by `deviation` is multiplied with to be in the target's own units.
    fn unit(&self, _deviation: f64) -> f64 {
        1.0
    }

    /// Why the target value `y` cannot be learned, as the end of a sentence that begins with its row.
    fn refuses(&self, _y: f64) -> Option<&'static str> {
        None
    }

    /// How the head is solved exactly. Built-in losses alone are: a loss of the caller's is minimised by descent.
    fn exact_head(&self) -> ExactHead {
        ExactHead::None
    }

    /// Losses and gradients of a block of rows; the one call that training makes. The default asks [`Loss::row`] row by
    /// row.
    fn block(&self, rows: LossRows<'_>, total: &mut f64) {
        let LossRows { y, f, weight, factor, outputs, gradient } = rows;
        let width = y.len() / weight.len().max(1);
        // One number per row is the common case, and worth keeping in registers.
        if (width, outputs) == (1, 1) {
            for (((&y, &f), &weight), out) in y.iter().zip(f).zip(weight).zip(gradient) {
                let mut gradient = [0.0];
                let loss = self.row(&[y as f64], &[f as f64], &mut gradient);
                *out = (weight as f64 * factor * gradient[0]) as f32;
                *total += weight as f64 * loss;
            }
            return;
        }
        let (mut y64, mut f64s, mut g64) = (vec![0.0; width], vec![0.0; outputs], vec![0.0; outputs]);
        let rows = y.chunks_exact(width).zip(f.chunks_exact(outputs)).zip(weight);
        for (((y, f), &weight), out) in rows.zip(gradient.chunks_exact_mut(outputs)) {
            y64.iter_mut().zip(y).for_each(|(wide, &v)| *wide = v as f64);
            f64s.iter_mut().zip(f).for_each(|(wide, &v)| *wide = v as f64);
            let loss = self.row(&y64, &f64s, &mut g64);
            out.iter_mut().zip(&g64).for_each(|(out, g)| *out = (weight as f64 * factor * g) as f32);
            *total += weight as f64 * loss;
        }
    }
}

/// A block of rows whose losses are wanted.
pub struct LossRows<'a> {
    /// Targets as they are trained on: the class index, or the outputs of a regression.
    pub y: &'a [f32],
    /// Outputs of the network.
    pub f: &'a [f32],
    /// One weight per row.
    pub weight: &'a [f32],
    /// What gradients are multiplied with beside the weights.
    pub factor: f64,
    /// Outputs per row.
    pub outputs: usize,
    /// Receives the gradients, as long as `f`.
    pub gradient: &'a mut [f32],
}
