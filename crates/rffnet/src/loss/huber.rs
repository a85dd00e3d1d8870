//! The Huber loss: squared for small residuals, absolute for large ones.

use super::location::weighted_quantile;
use super::{Link, Loss};

/// r^2 / 2 for |r| <= delta, delta (|r| - delta / 2) beyond.
pub(crate) struct Huber {
    pub(crate) delta: f64,
}

impl Loss for Huber {
    fn row(&self, y: &[f64], f: &[f64], gradient: &mut [f64]) -> f64 {
        let mut loss = 0.0;
        for ((y, f), g) in y.iter().zip(f).zip(gradient) {
            let r = f - y;
            *g = r.clamp(-self.delta, self.delta);
            loss += g.abs() * (r.abs() - 0.5 * g.abs());
        }
        loss
    }

    fn link(&self) -> Link {
        Link::Identity
    }

    fn constant(&self, y: &[f32], weights: &[f32], outputs: usize) -> Vec<f64> {
        (0..outputs).map(|c| self.location(y, weights, outputs, c)).collect()
    }

    fn standardises_target(&self) -> bool {
        true
    }

    fn unit(&self, deviation: f64) -> f64 {
        deviation * deviation
    }
}

impl Huber {
    /// The minimiser, from the median by reweighted means: residuals beyond delta count less the larger they are.
    fn location(&self, y: &[f32], weights: &[f32], width: usize, column: usize) -> f64 {
        let mut centre = weighted_quantile(y, weights, width, column, 0.5);
        for _ in 0..100 {
            let (mut sum, mut mass) = (0.0, 0.0);
            for (row, &w) in y.chunks_exact(width).zip(weights) {
                let value = row[column] as f64;
                let w = w as f64 * (self.delta / (value - centre).abs()).min(1.0);
                sum += w * value;
                mass += w;
            }
            let next = sum / mass;
            let moved = (next - centre).abs();
            centre = next;
            if moved <= 1e-9 * self.delta {
                break;
            }
        }
        centre
    }
}
