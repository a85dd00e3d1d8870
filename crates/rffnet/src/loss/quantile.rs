//! The pinball loss of a quantile.

use super::location::weighted_quantile;
use super::{Link, Loss};

/// tau r for r = y - f >= 0, (tau - 1) r below.
pub(crate) struct Quantile {
    pub(crate) tau: f64,
}

impl Loss for Quantile {
    fn row(&self, y: &[f64], f: &[f64], gradient: &mut [f64]) -> f64 {
        let mut loss = 0.0;
        for ((y, f), g) in y.iter().zip(f).zip(gradient) {
            let r = y - f;
            *g = if r >= 0.0 { -self.tau } else { 1.0 - self.tau };
            loss -= *g * r;
        }
        loss
    }

    fn link(&self) -> Link {
        Link::Identity
    }

    fn constant(&self, y: &[f32], weights: &[f32], outputs: usize) -> Vec<f64> {
        (0..outputs).map(|c| weighted_quantile(y, weights, outputs, c, self.tau)).collect()
    }

    fn standardises_target(&self) -> bool {
        true
    }

    fn unit(&self, deviation: f64) -> f64 {
        deviation
    }
}
