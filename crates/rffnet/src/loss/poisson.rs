//! The Poisson loss of counts, with a log link.

use super::location::weighted_mean;
use super::{Link, Loss};

/// exp(f) - y f, less what it is at best: half the Poisson deviance, zero where exp(f) = y.
pub(crate) struct Poisson;

impl Loss for Poisson {
    fn row(&self, y: &[f64], f: &[f64], gradient: &mut [f64]) -> f64 {
        let mut loss = 0.0;
        for ((y, f), g) in y.iter().zip(f).zip(gradient) {
            let mean = f.exp();
            *g = mean - y;
            let best = if *y > 0.0 { y - y * y.ln() } else { 0.0 };
            loss += mean - y * f - best;
        }
        loss
    }

    fn link(&self) -> Link {
        Link::Log
    }

    fn constant(&self, y: &[f32], weights: &[f32], outputs: usize) -> Vec<f64> {
        (0..outputs).map(|c| weighted_mean(y, weights, outputs, c).max(1e-12).ln()).collect()
    }

    fn refuses(&self, y: f64) -> Option<&'static str> {
        (y < 0.0).then_some("has a negative target; counts are needed for poisson")
    }
}
