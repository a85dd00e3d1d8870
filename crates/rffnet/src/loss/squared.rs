//! The squared loss.

use super::location::weighted_mean;
use super::{ExactHead, Link, Loss};

/// (f - y)^2, summed over outputs.
pub(crate) struct Squared;

impl Loss for Squared {
    fn row(&self, y: &[f64], f: &[f64], gradient: &mut [f64]) -> f64 {
        let mut loss = 0.0;
        for ((y, f), g) in y.iter().zip(f).zip(gradient) {
            let r = f - y;
            *g = 2.0 * r;
            loss += r * r;
        }
        loss
    }

    fn link(&self) -> Link {
        Link::Identity
    }

    fn constant(&self, y: &[f32], weights: &[f32], outputs: usize) -> Vec<f64> {
        (0..outputs).map(|c| weighted_mean(y, weights, outputs, c)).collect()
    }

    fn standardises_target(&self) -> bool {
        true
    }

    fn unit(&self, deviation: f64) -> f64 {
        deviation * deviation
    }

    fn exact_head(&self) -> ExactHead {
        ExactHead::LeastSquares
    }
}
