//! Product ARD kernels and their spectral densities.
//!
//! A product kernel k(x, x') = prod_j G(theta_j (x_j - x'_j)) has a spectral density that factorises over columns
//! (Proposition 2 of the paper), so a [`Spectrum`] is one-dimensional: the law of one frequency, and the factor G it
//! stands for.

use rand::Rng;
use rand_distr::{Cauchy, Distribution, Exp1, StandardNormal, StudentT};
use serde::{Deserialize, Serialize};

use crate::numerics::random::uniform;
use crate::{Error, names::named_enum};

/// The law of one frequency and the kernel factor that belongs to it.
///
/// Implement it to use a kernel of your own:
///
/// ```
/// use rffnet::Spectrum;
/// use rand::Rng;
///
/// /// Two frequencies only: the kernel factor is a cosine.
/// struct Tone;
/// impl Spectrum for Tone {
///     fn sample(&self, rng: &mut dyn Rng) -> f64 { if rng.next_u32() % 2 == 0 { 1.0 } else { -1.0 } }
///     fn kernel(&self, delta: f64) -> f64 { delta.cos() }
/// }
/// ```
pub trait Spectrum: Sync {
    /// Draws one coordinate of a frequency.
    fn sample(&self, rng: &mut dyn Rng) -> f64;
    /// The kernel factor G at distance `delta`; G(0) = 1.
    fn kernel(&self, delta: f64) -> f64;
}

named_enum! {
    /// The built-in kernels.
    #[non_exhaustive]
    pub enum Kernel "kernel" {
        /// exp(-delta^2 / 2); normal frequencies.
        Gaussian => "gaussian",
        /// exp(-|delta|); Cauchy frequencies.
        Laplace => "laplace",
        /// 1 / (1 + delta^2); frequencies of density exp(-|w|) / 2.
        Cauchy => "cauchy",
        /// (1 + sqrt(3) |delta|) exp(-sqrt(3) |delta|); Student-t frequencies, 3 degrees of freedom.
        Matern32 => "matern32",
        /// (1 + sqrt(5) |delta| + 5 delta^2 / 3) exp(-sqrt(5) |delta|); Student-t, 5 degrees of freedom.
        Matern52 => "matern52",
    }
}

named_enum! {
    /// How the frequencies are drawn.
    #[non_exhaustive]
    pub enum Sampling "sampling" {
        /// Independently.
        Iid => "iid",
        /// In orthogonal blocks: less variance, for the Gaussian kernel only.
        Orthogonal => "orthogonal",
    }
}

impl Spectrum for Kernel {
    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        match self {
            Kernel::Gaussian => StandardNormal.sample(rng),
            Kernel::Laplace => Cauchy::new(0.0, 1.0).expect("scale 1 is valid").sample(rng),
            Kernel::Cauchy => {
                let size: f64 = Exp1.sample(rng);
                if uniform(rng) < 0.5 { size } else { -size }
            }
            Kernel::Matern32 => StudentT::new(3.0).expect("3 degrees are valid").sample(rng),
            Kernel::Matern52 => StudentT::new(5.0).expect("5 degrees are valid").sample(rng),
        }
    }

    fn kernel(&self, delta: f64) -> f64 {
        let t = delta.abs();
        match self {
            Kernel::Gaussian => (-0.5 * t * t).exp(),
            Kernel::Laplace => (-t).exp(),
            Kernel::Cauchy => 1.0 / (1.0 + t * t),
            Kernel::Matern32 => {
                let u = 3f64.sqrt() * t;
                (1.0 + u) * (-u).exp()
            }
            Kernel::Matern52 => {
                let u = 5f64.sqrt() * t;
                (1.0 + u + u * u / 3.0) * (-u).exp()
            }
        }
    }
}

/// Draws omega, `columns x features` row-major, entries independent.
pub(crate) fn sample_iid(
    spectrum: &dyn Spectrum,
    columns: usize,
    features: usize,
    rng: &mut dyn Rng,
) -> Vec<f32> {
    // Feature by feature: the first s features stay the same when more are asked for.
    let mut omega = vec![0.0; columns * features];
    for k in 0..features {
        for j in 0..columns {
            omega[j * features + k] = spectrum.sample(rng) as f32;
        }
    }
    omega
}

/// Draws Gaussian frequencies in blocks of `columns` mutually orthogonal directions, each with the length of an
/// independent Gaussian vector, so that every single frequency is still normal.
pub(crate) fn sample_orthogonal(columns: usize, features: usize, rng: &mut dyn Rng) -> Vec<f32> {
    let d = columns;
    let mut omega = vec![0.0; d * features];
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(d);
    for k in 0..features {
        if k % d == 0 {
            basis.clear();
        }
        let direction = loop {
            let mut v: Vec<f64> = (0..d).map(|_| StandardNormal.sample(rng)).collect();
            // Two rounds of Gram-Schmidt: "twice is enough" for orthogonality to rounding.
            for _ in 0..2 {
                for b in &basis {
                    let along: f64 = dot(&v, b);
                    v.iter_mut().zip(b).for_each(|(v, b)| *v -= along * b);
                }
            }
            let norm = dot(&v, &v).sqrt();
            if norm > 1e-6 {
                v.iter_mut().for_each(|v| *v /= norm);
                break v;
            }
        };
        let length = (0..d).map(|_| StandardNormal.sample(rng)).map(|g: f64| g * g).sum::<f64>().sqrt();
        for j in 0..d {
            omega[j * features + k] = (length * direction[j]) as f32;
        }
        basis.push(direction);
    }
    omega
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::random::{Use, stream};

    fn frequency(omega: &[f32], columns: usize, features: usize, k: usize) -> Vec<f64> {
        (0..columns).map(|j| omega[j * features + k] as f64).collect()
    }

    /// Mean over the features of cos(omega . delta): what k(x, x') is estimated by, the phases averaged out.
    fn estimate(omega: &[f32], delta: &[f64], features: usize) -> f64 {
        let cosine = |k| dot(&frequency(omega, delta.len(), features, k), delta).cos();
        (0..features).map(cosine).sum::<f64>() / features as f64
    }

    #[test]
    fn blocks_of_d_orthogonal_frequencies_are_orthogonal_also_the_last_partial_one() {
        let mut rng = stream(3, Use::Frequencies);
        for (d, s) in [(1, 3), (2, 5), (7, 7), (7, 40), (40, 25)] {
            let omega = sample_orthogonal(d, s, &mut rng);
            for block in (0..s).step_by(d) {
                for a in block..(block + d).min(s) {
                    for b in block..a {
                        let (a, b) = (frequency(&omega, d, s, a), frequency(&omega, d, s, b));
                        let cosine = dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt();
                        assert!(cosine.abs() < 1e-5, "{d} {s}: {cosine}");
                    }
                }
            }
        }
    }

    /// The squared length is chi-square with d degrees: mean d, variance 2 d. Each coordinate is standard normal.
    #[test]
    fn lengths_are_chi_and_coordinates_normal() {
        let (d, s) = (5, 20_000);
        let omega = sample_orthogonal(d, s, &mut stream(4, Use::Frequencies));
        let squares: Vec<f64> = (0..s)
            .map(|k| {
                let w = frequency(&omega, d, s, k);
                dot(&w, &w)
            })
            .collect();
        let mean = squares.iter().sum::<f64>() / s as f64;
        let variance = squares.iter().map(|q| (q - mean).powi(2)).sum::<f64>() / s as f64;
        assert!((mean - 5.0).abs() < 0.15 && (variance - 10.0).abs() < 1.0, "{mean} {variance}");
        for row in omega.chunks_exact(s) {
            let moment = |p: i32| row.iter().map(|&w| (w as f64).powi(p)).sum::<f64>() / s as f64;
            assert!(
                moment(1).abs() < 0.05 && (moment(2) - 1.0).abs() < 0.06 && (moment(4) - 3.0).abs() < 0.4
            );
        }
    }

    /// Over 2,000 draws the mean is the Gaussian kernel, and the variance is well below that of independent draws.
    #[test]
    fn orthogonal_frequencies_are_unbiased_with_less_variance_than_independent_ones() {
        let (d, draws) = (6, 2000);
        let delta = [0.5, -0.4, 0.3, 0.6, -0.2, 0.4];
        let exact = (-0.5 * dot(&delta, &delta)).exp();
        let mut rng = stream(5, Use::Frequencies);
        let mut spread = |orthogonal: bool| {
            let errors: Vec<f64> = (0..draws)
                .map(|_| {
                    let omega = if orthogonal {
                        sample_orthogonal(d, d, &mut rng)
                    } else {
                        sample_iid(&Kernel::Gaussian, d, d, &mut rng)
                    };
                    estimate(&omega, &delta, d) - exact
                })
                .collect();
            let mean = errors.iter().sum::<f64>() / draws as f64;
            let variance = dot(&errors, &errors) / draws as f64;
            assert!(mean.abs() < 5.0 * (variance / draws as f64).sqrt(), "biased by {mean}");
            variance
        };
        let (orthogonal, independent) = (spread(true), spread(false));
        assert!(orthogonal < 0.6 * independent, "{orthogonal} {independent}");
    }

    #[test]
    fn the_first_features_stay_when_more_are_asked_for() {
        let draw = |s: usize| sample_iid(&Kernel::Matern32, 3, s, &mut stream(6, Use::Frequencies));
        let (few, many) = (draw(4), draw(9));
        for k in 0..4 {
            assert_eq!(frequency(&few, 3, 4, k), frequency(&many, 3, 9, k));
        }
    }
}
