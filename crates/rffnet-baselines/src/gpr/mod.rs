//! Gaussian process regression with one lengthscale per column.

mod likelihood;
mod minimise;

use rayon::prelude::*;
use rffnet::Target;

use self::likelihood::{Hyper, MarginalLikelihood, Points, Posterior};
use self::minimise::{adam, lbfgs};
use crate::linalg::BLOCK;
use crate::{Error, Method, Need, Rows, Trained, Training};

/// Gaussian process regression: `scale exp(-sum_j (x_j - x'_j)^2 / (2 lengthscale_j^2))` plus noise, around a constant
/// mean, every number chosen by the marginal likelihood.
///
/// Regression alone. Several outputs share the kernel. A row of weight w has a noise w times smaller, as the mean of w
/// observations would; a row of weight 0 is left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Gpr {
    /// How the likelihood is climbed.
    pub optimiser: Optimiser,
    /// Where lengthscales start; the root of the number of columns if `None`.
    pub lengthscale: Option<f64>,
    /// Where the noise's variance starts.
    pub noise: f64,
    /// Where the kernel's scale starts.
    pub scale: f64,
    /// Whether the scale is learned.
    pub learn_scale: bool,
    /// Whether targets are brought to mean 0 and deviation 1 first.
    pub scale_target: bool,
}

/// How a marginal likelihood is climbed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Optimiser {
    /// A fixed number of Adam's steps; positive numbers go through a softplus.
    Adam {
        /// How many.
        steps: usize,
        /// How long each is.
        rate: f64,
    },
    /// L-BFGS on the logarithms of positive numbers.
    Lbfgs {
        /// At most so many iterations.
        steps: usize,
        /// Stops when five iterations together gain less than this, per row.
        tolerance: f64,
    },
}

impl Default for Gpr {
    fn default() -> Self {
        Self::converged()
    }
}

impl Gpr {
    /// As in the paper's tables: GPyTorch's start, a kernel of scale 1, the raw target and 100 steps of Adam at this
    /// rate (1e-3 on simulated sets), which end long before the maximum.
    pub fn paper(rate: f64) -> Self {
        Self {
            optimiser: Optimiser::Adam { steps: 100, rate },
            lengthscale: Some(std::f64::consts::LN_2),
            noise: std::f64::consts::LN_2 + NOISE_FLOOR,
            scale: 1.0,
            learn_scale: false,
            scale_target: false,
        }
    }

    /// At a maximum of the likelihood.
    pub fn converged() -> Self {
        Self {
            optimiser: Optimiser::Lbfgs { steps: 200, tolerance: 1e-4 },
            lengthscale: None,
            noise: 0.1,
            scale: 1.0,
            learn_scale: true,
            scale_target: true,
        }
    }
}

/// The least variance of the noise under a softplus, as in GPyTorch.
const NOISE_FLOOR: f64 = 1e-4;

/// The least variance of the noise under a logarithm: K stays positive definite in f64.
const LOG_FLOOR: f64 = 1e-8;

/// How a positive number is written as one without bounds.
#[derive(Clone, Copy)]
enum Link {
    Softplus,
    Exp,
}

impl Link {
    fn value(self, raw: f64) -> f64 {
        match self {
            Self::Softplus => raw.max(0.0) + (-raw.abs()).exp().ln_1p(),
            Self::Exp => raw.exp(),
        }
    }

    fn slope(self, raw: f64) -> f64 {
        match self {
            Self::Softplus => 1.0 / (1.0 + (-raw).exp()),
            Self::Exp => raw.exp(),
        }
    }

    fn raw(self, value: f64) -> f64 {
        match self {
            Self::Softplus => value + (-(-value).exp_m1()).ln(),
            Self::Exp => value.ln(),
        }
    }

    fn floor(self) -> f64 {
        match self {
            Self::Softplus => NOISE_FLOOR,
            Self::Exp => LOG_FLOOR,
        }
    }

    /// Lengthscales, noise, scale, means.
    fn pack(self, hyper: &Hyper) -> Vec<f64> {
        let mut raw: Vec<f64> = hyper.lengthscale.iter().map(|&l| self.raw(l)).collect();
        raw.push(self.raw((hyper.noise - self.floor()).max(1e-12)));
        raw.push(self.raw(hyper.scale));
        raw.extend(&hyper.mean);
        raw
    }

    fn unpack(self, raw: &[f64], d: usize) -> Hyper {
        Hyper {
            lengthscale: raw[..d].iter().map(|&r| self.value(r)).collect(),
            noise: self.floor() + self.value(raw[d]),
            scale: self.value(raw[d + 1]),
            mean: raw[d + 2..].to_vec(),
        }
    }

    fn pull_back(self, gradient: &Hyper, raw: &[f64]) -> Vec<f64> {
        let positive = gradient.lengthscale.iter().chain([&gradient.noise, &gradient.scale]);
        let mut out: Vec<f64> = positive.zip(raw).map(|(g, &r)| g * self.slope(r)).collect();
        out.extend(&gradient.mean);
        out
    }
}

impl Method for Gpr {
    fn memory(&self, training: &Training<'_>) -> Need {
        Need::array(training.rows.len(), training.rows.len(), "kernel matrix")
    }

    fn train(&self, training: &Training<'_>) -> Result<Box<dyn Trained>, Error> {
        let Target::Values { values, outputs } = training.target else {
            return Err(Error::Unsupported(
                "Gaussian process regression learns numbers: choose another method for classes".into(),
            ));
        };
        self.check()?;
        let (likelihood, units) = self.likelihood(training, values, outputs);
        let hyper = self.maximise(&likelihood).ok_or_else(diverged)?;
        let points = likelihood.points(&hyper.lengthscale);
        let Posterior { factor, alpha } = likelihood.posterior(&points, &hyper).ok_or_else(diverged)?;
        let constant = training.rows.constant();
        Ok(Box::new(Process { points, hyper, posterior: Posterior { factor, alpha }, units, constant }))
    }
}

impl Gpr {
    fn check(&self) -> Result<(), Error> {
        let positive = |v: f64| v.is_finite() && v > 0.0;
        if positive(self.noise) && positive(self.scale) && self.lengthscale.is_none_or(positive) {
            return Ok(());
        }
        Err(Error::Unsupported("the noise, the scale and the lengthscale must start above 0".into()))
    }

    /// Rows that count, targets in their own units, and what those units are.
    fn likelihood(
        &self,
        training: &Training<'_>,
        values: &[f64],
        outputs: usize,
    ) -> (MarginalLikelihood, Vec<Unit>) {
        let kept: Vec<usize> = (0..training.rows.len()).filter(|&i| training.weight[i] > 0.0).collect();
        let units: Vec<Unit> = (0..outputs)
            .map(|c| {
                let target = kept.iter().map(|&i| (training.weight[i], values[i * outputs + c]));
                if self.scale_target { Unit::new(target) } else { Unit { offset: 0.0, factor: 1.0 } }
            })
            .collect();
        let y = units.iter().enumerate();
        let y = y.flat_map(|(c, u)| kept.iter().map(move |&i| u.scaled(values[i * outputs + c]))).collect();
        let likelihood = MarginalLikelihood {
            n: kept.len(),
            d: training.rows.columns,
            x: kept.iter().flat_map(|&i| training.rows.row(i)).map(|&v| v.into()).collect(),
            y,
            spread: kept.iter().map(|&i| 1.0 / training.weight[i]).collect(),
        };
        (likelihood, units)
    }

    fn maximise(&self, likelihood: &MarginalLikelihood) -> Option<Hyper> {
        let d = likelihood.d;
        let link = match self.optimiser {
            Optimiser::Adam { .. } => Link::Softplus,
            Optimiser::Lbfgs { .. } => Link::Exp,
        };
        let start = Hyper {
            lengthscale: vec![self.lengthscale.unwrap_or((d as f64).sqrt()); d],
            noise: self.noise,
            scale: self.scale,
            mean: vec![0.0; likelihood.outputs()],
        };
        let n = likelihood.n as f64;
        let loss = |raw: &[f64]| {
            let at = likelihood.evaluate(&link.unpack(raw, d))?;
            let mut gradient = link.pull_back(&at.gradient, raw);
            gradient.iter_mut().for_each(|g| *g /= -n);
            if !self.learn_scale {
                gradient[d + 1] = 0.0;
            }
            Some((-at.value / n, gradient))
        };
        let raw = match self.optimiser {
            Optimiser::Adam { steps, rate } => adam(link.pack(&start), steps, rate, loss),
            Optimiser::Lbfgs { steps, tolerance } => lbfgs(link.pack(&start), steps, tolerance, loss),
        };
        Some(link.unpack(&raw?, d))
    }
}

fn diverged() -> Error {
    Error::Diverged("the kernel matrix is singular in double precision: start from a larger noise".into())
}

/// A target's mean and deviation.
struct Unit {
    offset: f64,
    factor: f64,
}

impl Unit {
    fn new(target: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        let total: f64 = target.clone().map(|(w, _)| w).sum();
        let offset = target.clone().map(|(w, y)| w * y).sum::<f64>() / total;
        let variance = target.map(|(w, y)| w * (y - offset).powi(2)).sum::<f64>() / total;
        let deviation = variance.sqrt();
        Self { offset, factor: if deviation > 1e-12 * offset.abs() { deviation } else { 1.0 } }
    }

    fn scaled(&self, value: f64) -> f64 {
        (value - self.offset) / self.factor
    }
}

/// A process that has seen its rows.
struct Process {
    points: Points,
    hyper: Hyper,
    posterior: Posterior,
    units: Vec<Unit>,
    constant: Vec<bool>,
}

impl Process {
    /// Calls `each` with the kernel between all training rows and a block of new ones, and collects what it returns.
    fn blocks(&self, rows: &Rows, each: impl Fn(&mut [f64], usize) -> Vec<f64> + Sync) -> Vec<f64> {
        let n = self.points.len();
        let parts: Vec<Vec<f64>> = rows
            .values
            .par_chunks(BLOCK * rows.columns)
            .map(|part| {
                let new = Points::new(part.iter().map(|&v| v.into()), &self.hyper.lengthscale);
                let mut kernel = vec![0.0; n * new.len()];
                self.points.kernel(0, &new, 0..new.len(), self.hyper.scale, &mut kernel);
                each(&mut kernel, n)
            })
            .collect();
        parts.concat()
    }
}

impl Trained for Process {
    fn decision(&self, rows: &Rows) -> Vec<f64> {
        self.blocks(rows, |kernel, n| {
            let outputs = self.units.iter().zip(&self.hyper.mean).zip(self.posterior.alpha.chunks_exact(n));
            let value = |k: &[f64], ((unit, mean), alpha): ((&Unit, &f64), &[f64])| {
                let sum: f64 = k.iter().zip(alpha).map(|(k, a)| k * a).sum();
                unit.offset + unit.factor * (mean + sum)
            };
            kernel.chunks_exact(n).flat_map(|k| outputs.clone().map(move |output| value(k, output))).collect()
        })
    }

    /// Of a new observation: the noise on a row of weight 1 included.
    fn variance(&self, rows: &Rows) -> Option<Vec<f64>> {
        Some(self.blocks(rows, |kernel, n| {
            self.posterior.factor.solve_lower(kernel);
            let known = |k: &[f64]| k.iter().map(|v| v * v).sum::<f64>();
            let variance = |k: &[f64]| self.hyper.noise + (self.hyper.scale - known(k)).max(0.0);
            let outputs = |v: f64| self.units.iter().map(move |u| u.factor * u.factor * v);
            kernel.chunks_exact(n).flat_map(|k| outputs(variance(k))).collect()
        }))
    }

    /// One over each lengthscale; a constant column, whose lengthscale nothing decides, has 0.
    fn relevances(&self) -> Option<Vec<f64>> {
        let relevance = |(l, &constant): (&f64, &bool)| if constant { 0.0 } else { 1.0 / l };
        Some(self.hyper.lengthscale.iter().zip(&self.constant).map(relevance).collect())
    }
}

#[cfg(test)]
mod tests;
