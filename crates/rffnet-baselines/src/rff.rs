//! Plain random Fourier features with a linear head: what rffnet is without learned relevances.

use std::f64::consts::TAU;
use std::ops::Range;

use faer::{Accum, MatRef};
use rffnet::numerics::random::{seeded, uniform};
use rffnet::{Kernel, Spectrum, simd};

use crate::heads::{Features, Head, Headed};
use crate::krr::bandwidth;
use crate::linalg::multiply;
use crate::{Error, Method, Need, Rows, Trained, Training};

/// Features `sqrt(2/s) cos(omega . x + phase)` of a Gaussian kernel, then a ridge or logistic head.
#[derive(Debug, Clone, Copy)]
pub struct Rff {
    /// Random features, s.
    pub features: usize,
    /// Of the kernel `exp(-gamma |x - y|^2)`; one over the number of columns where none is given.
    pub gamma: Option<f64>,
    /// The penalties of the head.
    pub head: Head,
}

impl Rff {
    /// As many features as the paper gives the other methods, with the same head.
    pub fn paper() -> Self {
        Self { features: 300, gamma: None, head: Head::paper() }
    }
}

impl Default for Rff {
    fn default() -> Self {
        Self::paper()
    }
}

impl Method for Rff {
    fn memory(&self, training: &Training<'_>) -> Need {
        self.head.memory(training, self.features)
    }

    fn train(&self, training: &Training<'_>) -> Result<Box<dyn Trained>, Error> {
        at_least_one("features", self.features)?;
        let gamma = bandwidth(self.gamma, training.rows.columns)?;
        let map = Map::new(training.rows.columns, self.features, gamma, training.seed);
        let coefficients = self.head.fit(&map, training)?;
        Ok(Box::new(Headed { map, coefficients }))
    }
}

/// A count that must not be 0.
pub(crate) fn at_least_one(name: &str, count: usize) -> Result<(), Error> {
    if count == 0 {
        return Err(Error::Unsupported(format!("{name} is 0, but at least 1 is needed")));
    }
    Ok(())
}

/// Frequencies and phases.
struct Map {
    /// Feature after feature.
    omega: Vec<f64>,
    phase: Vec<f64>,
    columns: usize,
}

impl Map {
    fn new(columns: usize, features: usize, gamma: f64, seed: u64) -> Self {
        let mut rng = seeded(seed);
        let scale = (2.0 * gamma).sqrt();
        let omega = (0..features * columns).map(|_| scale * Kernel::Gaussian.sample(&mut rng)).collect();
        let phase = (0..features).map(|_| TAU * uniform(&mut rng)).collect();
        Self { omega, phase, columns }
    }
}

impl Features for Map {
    fn width(&self) -> usize {
        self.phase.len()
    }

    fn make(&self, rows: &Rows, range: Range<usize>, out: &mut [f64]) {
        let (s, d, count) = (self.width(), self.columns, range.len());
        let x: Vec<f64> = rows.values[range.start * d..range.end * d].iter().map(|&v| v.into()).collect();
        let omega = MatRef::from_row_major_slice(&self.omega, s, d);
        let x = MatRef::from_row_major_slice(&x, count, d);
        multiply(out, Accum::Replace, x, omega.transpose(), 1.0);
        let scale = (2.0 / s as f64).sqrt();
        let (mut angle, mut sin, mut cos) = (vec![0.0; s], vec![0.0; s], vec![0.0; s]);
        for out in out.chunks_exact_mut(s) {
            let sums = out.iter().zip(&self.phase).map(|(p, b)| p + b);
            angle.iter_mut().zip(sums).for_each(|(a, p)| *a = p as f32);
            simd::sincos(simd::path(), &angle, &mut sin, &mut cos);
            out.iter_mut().zip(&cos).for_each(|(out, &c)| *out = scale * f64::from(c));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::gaussian;
    use crate::testing::{inner_products, normal_rows};

    #[test]
    fn inner_products_of_features_are_the_kernel() {
        let (rows, s) = (normal_rows(12, 6, 1), 20_000);
        let exact = gaussian(&rows, &rows, 0.1);
        for (ours, exact) in inner_products(&Map::new(6, s, 0.1, 2), &rows).iter().zip(&exact) {
            // Four standard errors.
            assert!((ours - exact).abs() < 4.0 / (s as f64).sqrt(), "{ours} {exact}");
        }
    }
}
