//! EigenPro: stochastic gradients for a kernel machine, sped up by the kernel's own eigenvectors.

use faer::{Accum, MatRef};
use rayon::prelude::*;
use rffnet::Target;
use rffnet::numerics::random::{permutation, seeded};

use crate::eigen::{Eigen, Wanted, top};
use crate::heads::signs;
use crate::kernel::gaussian;
use crate::krr::{Dual, bandwidth};
use crate::linalg::{BLOCK, multiply, product};
use crate::rff::at_least_one;
use crate::{Error, Method, Need, Rows, Trained, Training};

/// The power of eigenvalues in the preconditioner; a little below 1 is safer than 1.
const POWER: f64 = 0.95;

/// What a batch may take in memory where its size is chosen here, in bytes.
const BATCH_BYTES: f64 = 0.1 * 1_073_741_824.0;

/// EigenPro (Ma and Belkin, 2019): a Gaussian kernel machine without a penalty, by stochastic gradients whose steepest
/// directions, known from a subsample, are damped so that steps can be long and batches large.
///
/// Classes are learned as targets of +1 and -1, one against the rest. Run long enough, it interpolates, whatever the
/// weights; so rows count (weight above 0) or do not, and other weights are refused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EigenPro {
    /// Of the kernel `exp(-gamma |x - y|^2)`; one over the number of columns where none is given.
    pub gamma: Option<f64>,
    /// Passes over the rows.
    pub epochs: usize,
    /// Directions that are damped, at most.
    pub components: usize,
    /// Rows they are computed from; 4,000 below 100,000 rows and 12,000 above where none is given.
    pub subsample: Option<usize>,
    /// Rows per step; as many as still shorten the way, within 0.1 GiB, where none is given.
    pub batch: Option<usize>,
    /// Whether the target's mean is taken off first (values alone).
    pub centre: bool,
}

impl EigenPro {
    /// As in the paper's tables.
    pub fn paper() -> Self {
        Self { gamma: None, epochs: 2, components: 1000, subsample: None, batch: None, centre: false }
    }
}

impl Default for EigenPro {
    fn default() -> Self {
        Self { epochs: 5, centre: true, ..Self::paper() }
    }
}

/// Sizes that follow from the data's.
struct Sizes {
    subsample: usize,
    components: usize,
    /// Rows whose kernel with all others is within `BATCH_BYTES`.
    affordable: usize,
}

impl EigenPro {
    fn sizes(&self, n: usize, columns: usize, outputs: usize) -> Sizes {
        let subsample = self.subsample.unwrap_or(if n < 100_000 { 4000 } else { 12_000 }).clamp(1, n);
        let room = BATCH_BYTES / (4.0 * n as f64) - (columns + outputs) as f64;
        Sizes {
            subsample,
            components: self.components.min(subsample - 1).max(1),
            affordable: ((room / 2.0).ceil().max(0.0) as usize).min(subsample),
        }
    }
}

impl Method for EigenPro {
    fn memory(&self, training: &Training<'_>) -> Need {
        let n = training.rows.len();
        let sizes = self.sizes(n, training.rows.columns, training.outputs());
        let batch = self.batch.unwrap_or(sizes.affordable + 1).min(n);
        let sample = Need::array(sizes.subsample, sizes.subsample, "kernel of the subsample");
        let batch = Need::array(batch, n, "kernel of a batch");
        if sample.bytes > batch.bytes { sample } else { batch }
    }

    fn train(&self, training: &Training<'_>) -> Result<Box<dyn Trained>, Error> {
        let gamma = bandwidth(self.gamma, training.rows.columns)?;
        at_least_one("epochs", self.epochs)?;
        at_least_one("components", self.components)?;
        at_least_one("subsample", self.subsample.unwrap_or(1))?;
        at_least_one("batch", self.batch.unwrap_or(1))?;
        let outputs = training.outputs();
        let mut rng = seeded(training.seed);
        let kept = rows_that_count(&training.weight)?;
        // In random order: the first rows are the subsample.
        let order: Vec<usize> = permutation(kept.len(), &mut rng).into_iter().map(|i| kept[i]).collect();
        let (n, targets) = (order.len(), signs(training.target));
        let rows = training.rows.select(&order);
        let mut y: Vec<f64> =
            order.iter().flat_map(|&i| &targets[i * outputs..(i + 1) * outputs]).copied().collect();
        let mut intercept = vec![0.0; outputs];
        if self.centre && matches!(training.target, Target::Values { .. }) {
            y.chunks_exact(outputs)
                .for_each(|y| intercept.iter_mut().zip(y).for_each(|(m, y)| *m += y / n as f64));
            y.chunks_exact_mut(outputs).for_each(|y| y.iter_mut().zip(&intercept).for_each(|(y, m)| *y -= m));
        }

        let sizes = self.sizes(n, rows.columns, outputs);
        let plan = Plan::new(self, &rows, gamma, &sizes, training.seed)
            .ok_or_else(|| Error::Diverged("the kernel of the subsample has no finite eigenvalues".into()))?;
        let mut coefficients = vec![0.0; n * outputs];
        for _ in 0..self.epochs {
            for batch in permutation(n, &mut rng).chunks_exact(plan.batch) {
                plan.step(&rows, gamma, &y, batch, &mut coefficients);
            }
        }
        if !coefficients.iter().all(|c| c.is_finite()) {
            return Err(Error::Diverged(
                "the steps ran away: take smaller batches or a larger subsample".into(),
            ));
        }
        Ok(Box::new(Dual { rows, gamma, coefficients, intercept, has_probabilities: false }))
    }
}

/// Rows of weight above 0, which must all weigh the same.
fn rows_that_count(weight: &[f64]) -> Result<Vec<usize>, Error> {
    let kept: Vec<usize> = (0..weight.len()).filter(|&i| weight[i] > 0.0).collect();
    if kept.iter().any(|&i| (weight[i] - weight[kept[0]]).abs() > 1e-9 * weight[kept[0]]) {
        return Err(Error::Unsupported(
            "EigenPro interpolates its rows, so that weights other than 0 and 1 mean nothing to it: leave them out"
                .into(),
        ));
    }
    Ok(kept)
}

/// The preconditioner and the step.
struct Plan {
    subsample: usize,
    /// Damped directions, one after another.
    directions: Vec<f64>,
    /// How much each is damped.
    damping: Vec<f64>,
    batch: usize,
    /// Per row of a batch.
    rate: f64,
}

impl Plan {
    /// From the first rows. With eigenvalues E of their kernel over their number m, the first q are brought down to the
    /// next one, E_q, and the step is the longest that the batch allows.
    fn new(method: &EigenPro, rows: &Rows, gamma: f64, sizes: &Sizes, seed: u64) -> Option<Self> {
        let (n, m) = (rows.len(), sizes.subsample);
        let sample = Rows { values: rows.values[..m * rows.columns].to_vec(), columns: rows.columns };
        let mut kernel = gaussian(&sample, &sample, gamma);
        kernel.iter_mut().for_each(|k| *k /= m as f64);
        // A direction below this would want batches beyond memory or the subsample.
        let widest = (m as f64 / 5.0).max(sizes.affordable as f64).min(m as f64);
        let above = widest.powf(-1.0 / POWER);
        let wanted = Wanted { above, least: 3, most: sizes.components };
        let Eigen { mut values, vectors } = top(&kernel, m, wanted, seed)?;
        drop(kernel);
        values.iter_mut().for_each(|v| *v = v.max(1e-7));
        let count = values.iter().filter(|&&v| v > above).count();
        let q = if count < 3 { 2.min(values.len() - 1) } else { count - 1 };
        let last = values[q];
        let damping: Vec<f64> =
            values[..q].iter().map(|v| (1.0 - (last / v).powf(POWER)) / (v * m as f64)).collect();
        let directions = vectors[..q * m].to_vec();
        let known = |i: usize| directions.chunks_exact(m).map(|v| v[i] * v[i]).sum::<f64>();
        let beta = (0..m).map(|i| 1.0 - known(i)).fold(f64::MIN_POSITIVE, f64::max);
        let steepest = values[0].powf(1.0 - POWER) * last.powf(POWER);
        let useful = beta / steepest;
        let batch = method.batch.unwrap_or((useful as usize).min(sizes.affordable) + 1).min(n);
        let size = batch as f64;
        let length = if size < useful + 1.0 {
            size / beta
        } else if batch < n {
            2.0 * size / (beta + (size - 1.0) * steepest)
        } else {
            0.95 * 2.0 / steepest
        };
        Some(Self { subsample: m, directions, damping, batch, rate: length / size })
    }

    /// A gradient step on `batch`, and its correction on the subsample.
    fn step(&self, rows: &Rows, gamma: f64, y: &[f64], batch: &[usize], coefficients: &mut [f64]) {
        let (n, m, k, q) = (rows.len(), self.subsample, y.len() / rows.len(), self.damping.len());
        let kernel = gaussian(&rows.select(batch), rows, gamma);
        let mut gradient: Vec<f64> = batch.iter().flat_map(|&i| &y[i * k..(i + 1) * k]).map(|y| -y).collect();
        let weights = MatRef::from_row_major_slice(&*coefficients, n, k);
        gradient.par_chunks_mut(BLOCK * k).zip(kernel.par_chunks(BLOCK * n)).for_each(|(out, kernel)| {
            let kernel = MatRef::from_row_major_slice(kernel, kernel.len() / n, n);
            multiply(out, Accum::Add, kernel, weights, 1.0);
        });
        for (&i, g) in batch.iter().zip(gradient.chunks_exact(k)) {
            coefficients[i * k..(i + 1) * k].iter_mut().zip(g).for_each(|(c, g)| *c -= self.rate * g);
        }
        if q == 0 {
            return;
        }
        let kernel = MatRef::from_row_major_slice(&kernel, batch.len(), n);
        let slope = MatRef::from_row_major_slice(&gradient, batch.len(), k);
        let mut pulled = vec![0.0; m * k];
        pulled.par_chunks_mut(BLOCK * k).enumerate().for_each(|(t, out)| {
            let part = kernel.subcols(t * BLOCK, out.len() / k).transpose();
            multiply(out, Accum::Replace, part, slope, 1.0);
        });
        let directions = MatRef::from_column_major_slice(&self.directions, m, q);
        let mut shares = product(directions.transpose(), MatRef::from_row_major_slice(&pulled, m, k));
        for shares in shares.chunks_exact_mut(q) {
            shares.iter_mut().zip(&self.damping).for_each(|(s, d)| *s *= self.rate * d);
        }
        let back = product(directions, MatRef::from_column_major_slice(&shares, q, k));
        for (c, back) in back.chunks_exact(m).enumerate() {
            back.iter().enumerate().for_each(|(i, b)| coefficients[i * k + c] += b);
        }
    }
}

#[cfg(test)]
mod tests;
