//! Cross-entropy: the logistic loss of two classes, the softmax loss of more.

use super::location::weighted_mean;
use super::{ExactHead, Link, Loss};

/// log(1 + exp(-+f)) for labels 0 and 1.
pub(crate) struct Logistic;

impl Loss for Logistic {
    fn row(&self, y: &[f64], f: &[f64], gradient: &mut [f64]) -> f64 {
        let (y, f) = (y[0], f[0]);
        // log(1 + e^f) - y f without overflow; the logistic function from the same exponential.
        let e = (-f.abs()).exp();
        let softplus = f.max(0.0) + (1.0 + e).ln();
        gradient[0] = if f >= 0.0 { 1.0 } else { e } / (1.0 + e) - y;
        softplus - y * f
    }

    fn link(&self) -> Link {
        Link::Logistic
    }

    fn constant(&self, y: &[f32], weights: &[f32], _outputs: usize) -> Vec<f64> {
        let p = weighted_mean(y, weights, 1, 0).clamp(1e-12, 1.0 - 1e-12);
        vec![(p / (1.0 - p)).ln()]
    }

    fn exact_head(&self) -> ExactHead {
        ExactHead::Newton(|f| {
            let p = logistic(f[0] as f64);
            p * (1.0 - p)
        })
    }
}

/// Minus log softmax of the label's output; the target is the class index.
pub(crate) struct Softmax {
    pub(crate) classes: usize,
}

impl Loss for Softmax {
    fn row(&self, y: &[f64], f: &[f64], gradient: &mut [f64]) -> f64 {
        let top = f.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut total = 0.0;
        for (g, f) in gradient.iter_mut().zip(f) {
            *g = (f - top).exp();
            total += *g;
        }
        gradient.iter_mut().for_each(|g| *g /= total);
        let label = y[0] as usize;
        gradient[label] -= 1.0;
        total.ln() + top - f[label]
    }

    fn link(&self) -> Link {
        Link::Softmax
    }

    fn constant(&self, y: &[f32], weights: &[f32], outputs: usize) -> Vec<f64> {
        debug_assert_eq!(outputs, self.classes);
        let mut mass = vec![0.0; outputs];
        y.iter().zip(weights).for_each(|(&y, &w)| mass[y as usize] += w as f64);
        let total: f64 = mass.iter().sum();
        mass.iter().map(|m| (m / total).max(1e-12).ln()).collect()
    }

    fn exact_head(&self) -> ExactHead {
        ExactHead::Newton(|f| {
            let top = f.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let e: Vec<f64> = f.iter().map(|&v| ((v - top) as f64).exp()).collect();
            let total: f64 = e.iter().sum();
            e.iter().map(|e| e / total * (1.0 - e / total)).sum::<f64>() / f.len() as f64
        })
    }
}

/// 1 / (1 + exp(-f)), without overflow.
pub(crate) fn logistic(f: f64) -> f64 {
    if f >= 0.0 {
        1.0 / (1.0 + (-f).exp())
    } else {
        let e = f.exp();
        e / (1.0 + e)
    }
}
