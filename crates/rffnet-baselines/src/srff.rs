//! Sparse random Fourier features.

mod trig;

use std::f64::consts::TAU;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;
use rffnet::numerics::cholesky::Cholesky;
use rffnet::numerics::random::{seeded, uniform};
use rffnet::{Kernel, Spectrum, Target};

use self::trig::{cosines, cosines_and_sines};
use crate::krr::positive;
use crate::linalg::{add_gram, multiply};
use crate::rff::at_least_one;
use crate::simplex::project;
use crate::{Error, Method, Need, Rows, Trained, Training};

/// Rows whose features one thread makes at a time.
const CHUNK: usize = 128;

/// Sparse random Fourier features (Gregorova, Ramapuram, Kalousis and Marchand-Maillet, 2018): `f(x) = sum_k beta_k
/// cos(omega_k . (gamma o x) + phase_k)`, the relevances gamma at or above 0 with their sum held fixed.
///
/// Two steps alternate: ridge regression for beta, and accelerated projected gradients for gamma. Regression alone: the
/// method is made for the squared loss. A row's weight multiplies its loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Srff {
    /// Random features.
    pub features: usize,
    /// The penalty: minimises `sum_i w_i (y_i - f_i)^2 / n + lambda |beta|^2`.
    pub lambda: f64,
    /// How often the two steps alternate, at most.
    pub rounds: usize,
    /// Gradients for gamma in a round, at most.
    pub steps: usize,
    /// Both loops end when their last five values together gain less than this.
    pub tolerance: f64,
    /// Whether momentum starts anew when the loss rises; without, a rise can end a round early.
    pub restart: bool,
    /// Whether the target's mean is taken off first.
    pub centre: bool,
}

impl Srff {
    /// As in the paper's tables.
    pub fn paper() -> Self {
        Self {
            features: 300,
            lambda: 0.1,
            rounds: 1000,
            steps: 100,
            tolerance: 1e-5,
            restart: false,
            centre: false,
        }
    }

    /// Until nothing is gained, and around the target's mean.
    pub fn converged() -> Self {
        Self { rounds: 2000, steps: 200, tolerance: 1e-8, ..Self::default() }
    }
}

impl Default for Srff {
    fn default() -> Self {
        Self { restart: true, centre: true, ..Self::paper() }
    }
}

impl Method for Srff {
    fn memory(&self, training: &Training<'_>) -> Need {
        Need::array(training.rows.len().max(self.features), self.features, "features")
    }

    fn train(&self, training: &Training<'_>) -> Result<Box<dyn Trained>, Error> {
        let Target::Values { values, outputs } = training.target else {
            return Err(Error::Unsupported(
                "sparse random Fourier features learn numbers: choose another method for classes".into(),
            ));
        };
        at_least_one("features", self.features)?;
        positive("lambda", self.lambda)?;
        let objective = SquaredError::new(self, training, values, outputs);
        let mut map = Map::new(training.rows.columns, self.features, training.seed);
        let (mut beta, mut loss) = objective.head(&map, self.lambda)?;
        let mut losses = vec![loss];
        for _ in 1..self.rounds {
            map.gamma = self.improve(&objective, &map, &beta)?;
            (beta, loss) = objective.head(&map, self.lambda)?;
            losses.push(loss);
            if converged(&losses, self.tolerance) {
                break;
            }
        }
        let constant = training.rows.constant();
        Ok(Box::new(Sparse { map, beta, offset: objective.offset, constant }))
    }
}

impl Srff {
    /// Better relevances for a given head: FISTA, whose step is halved until the loss is below its quadratic bound.
    fn improve(&self, objective: &SquaredError<'_>, map: &Map, beta: &[f64]) -> Result<Vec<f64>, Error> {
        let sum: f64 = map.gamma.iter().sum();
        let mut gamma = map.gamma.clone();
        let mut ahead = gamma.clone();
        let (mut step, mut momentum) = (100.0, 1.0_f64);
        let mut losses = vec![objective.loss(map, &gamma, beta)];
        for _ in 1..self.steps {
            let (loss, gradient) = objective.gradient(map, &ahead, beta);
            let (next, reached) = loop {
                if step <= self.tolerance {
                    return Ok(gamma);
                }
                let mut next: Vec<f64> = ahead.iter().zip(&gradient).map(|(g, d)| g - step * d).collect();
                project(&mut next, sum);
                let moved = next.iter().zip(&ahead).map(|(a, b)| a - b);
                let along: f64 = moved.clone().zip(&gradient).map(|(m, g)| m * g).sum();
                let square: f64 = moved.map(|m| m * m).sum();
                let reached = objective.loss(map, &next, beta);
                if reached <= loss + along + 0.5 * square / step {
                    break (next, reached);
                }
                step *= 0.5;
            };
            if self.restart && momentum > 1.0 && losses.last().is_some_and(|&l| reached > l) {
                (ahead, momentum) = (gamma.clone(), 1.0);
                continue;
            }
            losses.push(reached);
            let following = 0.5 + 0.5 * (1.0 + 4.0 * momentum * momentum).sqrt();
            let share = (momentum - 1.0) / following;
            ahead = next.iter().zip(&gamma).map(|(new, old)| new + share * (new - old)).collect();
            (gamma, momentum) = (next, following);
            if converged(&losses, self.tolerance) {
                break;
            }
        }
        if gamma.iter().all(|g| g.is_finite()) {
            return Ok(gamma);
        }
        Err(Error::Diverged("the relevances ran away: scale the target or raise lambda".into()))
    }
}

/// Whether the last values are hardly above the newest.
fn converged(losses: &[f64], tolerance: f64) -> bool {
    let Some((newest, before)) = losses.split_last() else { return false };
    before.len() > 5 && before[before.len() - 4..].iter().map(|l| l - newest).sum::<f64>() < tolerance
}

/// Frequencies, phases and relevances.
struct Map {
    /// Feature after feature.
    omega: Vec<f64>,
    phase: Vec<f64>,
    gamma: Vec<f64>,
}

impl Map {
    fn new(columns: usize, features: usize, seed: u64) -> Self {
        let mut rng = seeded(seed);
        let omega = (0..features * columns).map(|_| Kernel::Gaussian.sample(&mut rng)).collect();
        let phase = (0..features).map(|_| TAU * uniform(&mut rng)).collect();
        Self { omega, phase, gamma: vec![1.0; columns] }
    }

    fn omega(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.omega, self.phase.len(), self.gamma.len())
    }

    /// Angles of rows under other relevances, row after row.
    fn angles(&self, rows: &[f32], gamma: &[f64]) -> Vec<f64> {
        let (s, d) = (self.phase.len(), gamma.len());
        let x: Vec<f64> = rows.iter().zip(gamma.iter().cycle()).map(|(&x, g)| f64::from(x) * g).collect();
        let count = rows.len() / d;
        let mut angles: Vec<f64> = self.phase.iter().copied().cycle().take(count * s).collect();
        let x = MatRef::from_row_major_slice(&x, count, d);
        multiply(&mut angles, Accum::Add, x, self.omega().transpose(), 1.0);
        angles
    }
}

/// The squared error of rows, around the offset of their targets.
struct SquaredError<'a> {
    rows: &'a Rows,
    weight: &'a [f64],
    target: Vec<f64>,
    offset: Vec<f64>,
}

impl<'a> SquaredError<'a> {
    fn new(method: &Srff, training: &'a Training<'_>, values: &[f64], outputs: usize) -> Self {
        let offset = if method.centre { training.means(values, outputs) } else { vec![0.0; outputs] };
        let target = values.iter().zip(offset.iter().cycle()).map(|(y, o)| y - o).collect();
        Self { rows: &training.rows, weight: &training.weight, target, offset }
    }

    fn outputs(&self) -> usize {
        self.offset.len()
    }

    /// Rows, targets and weights in chunks that threads share.
    fn chunks(&self) -> impl IndexedParallelIterator<Item = (&[f32], &[f64], &[f64])> {
        let x = self.rows.values.par_chunks(CHUNK * self.rows.columns);
        let (y, w) = (self.target.par_chunks(CHUNK * self.outputs()), self.weight.par_chunks(CHUNK));
        x.zip(y).zip(w).map(|((x, y), w)| (x, y, w))
    }

    /// The best head, `features x outputs`, and half of the penalised loss with it.
    fn head(&self, map: &Map, lambda: f64) -> Result<(Vec<f64>, f64), Error> {
        let (n, s, k) = (self.weight.len(), map.phase.len(), self.outputs());
        let z: Vec<Vec<f64>> = self.chunks().map(|(x, _, _)| cosines(&map.angles(x, &map.gamma))).collect();
        let z = z.concat();
        let mut gram = vec![0.0; s * s];
        add_gram(&z, s, self.weight, &mut gram);
        (0..s).for_each(|i| gram[i * s + i] += n as f64 * lambda);
        let factor = Cholesky::tiled(gram, s).ok_or_else(|| {
            Error::Diverged(format!("the features are linearly dependent at lambda = {lambda}: raise lambda"))
        })?;
        let wy: Vec<f64> = self.target.iter().enumerate().map(|(i, y)| y * self.weight[i / k]).collect();
        let mut beta = vec![0.0; s * k];
        let out = MatMut::from_column_major_slice_mut(&mut beta, s, k);
        let z = MatRef::from_row_major_slice(&z, n, s);
        matmul(out, Accum::Replace, z.transpose(), MatRef::from_row_major_slice(&wy, n, k), 1.0, Par::Seq);
        factor.solve(&mut beta);
        let beta: Vec<f64> = (0..s * k).map(|at| beta[at % k * s + at / k]).collect();
        let penalty = 0.5 * lambda * beta.iter().map(|b| b * b).sum::<f64>();
        let loss = self.loss(map, &map.gamma, &beta) + penalty;
        Ok((beta, loss))
    }

    /// Half the mean squared error under relevances `gamma`.
    fn loss(&self, map: &Map, gamma: &[f64], beta: &[f64]) -> f64 {
        let part = |(x, y, w): (&[f32], &[f64], &[f64])| {
            let z = cosines(&map.angles(x, gamma));
            weighted_square(&residuals(&z, y, beta, self.outputs()), w)
        };
        let parts: Vec<f64> = self.chunks().map(part).collect();
        0.5 * parts.iter().sum::<f64>() / self.weight.len() as f64
    }

    /// That loss and its derivatives by `gamma`.
    fn gradient(&self, map: &Map, gamma: &[f64], beta: &[f64]) -> (f64, Vec<f64>) {
        let (s, d, k) = (map.phase.len(), gamma.len(), self.outputs());
        let part = |(x, y, w): (&[f32], &[f64], &[f64])| {
            let mut angles = map.angles(x, gamma);
            let z = cosines_and_sines(&mut angles);
            let residuals = residuals(&z, y, beta, self.outputs());
            // The loss by each angle: w r (beta sin), outputs added up.
            for ((angles, r), w) in angles.chunks_exact_mut(s).zip(residuals.chunks_exact(k)).zip(w) {
                for (angle, beta) in angles.iter_mut().zip(beta.chunks_exact(k)) {
                    *angle *= w * beta.iter().zip(r).map(|(b, r)| b * r).sum::<f64>();
                }
            }
            let count = w.len();
            let mut by_input = vec![0.0; count * d];
            let angles = MatRef::from_row_major_slice(&angles, count, s);
            multiply(&mut by_input, Accum::Replace, angles, map.omega(), 1.0);
            let mut sums = vec![0.0; d];
            for (by_input, x) in by_input.chunks_exact(d).zip(x.chunks_exact(d)) {
                sums.iter_mut().zip(by_input).zip(x).for_each(|((s, g), &x)| *s += g * f64::from(x));
            }
            (weighted_square(&residuals, w), sums)
        };
        let parts: Vec<(f64, Vec<f64>)> = self.chunks().map(part).collect();
        let n = self.weight.len() as f64;
        let (mut loss, mut gradient) = (0.0, vec![0.0; d]);
        for (square, sums) in parts {
            loss += 0.5 * square / n;
            gradient.iter_mut().zip(sums).for_each(|(g, s)| *g += s / n);
        }
        (loss, gradient)
    }
}

/// Targets less predictions, `k` to a row.
fn residuals(z: &[f64], target: &[f64], beta: &[f64], k: usize) -> Vec<f64> {
    let (s, count) = (beta.len() / k, target.len() / k);
    let mut out = target.to_vec();
    let z = MatRef::from_row_major_slice(z, count, s);
    let beta = MatRef::from_row_major_slice(beta, s, k);
    multiply(&mut out, Accum::Add, z, beta, -1.0);
    out
}

fn weighted_square(residuals: &[f64], weight: &[f64]) -> f64 {
    let k = residuals.len() / weight.len();
    residuals.chunks_exact(k).zip(weight).map(|(r, w)| w * r.iter().map(|r| r * r).sum::<f64>()).sum()
}

/// What has been learned.
struct Sparse {
    map: Map,
    /// `features x outputs`.
    beta: Vec<f64>,
    offset: Vec<f64>,
    constant: Vec<bool>,
}

impl Trained for Sparse {
    fn decision(&self, rows: &Rows) -> Vec<f64> {
        let (s, k) = (self.map.phase.len(), self.offset.len());
        let beta = MatRef::from_row_major_slice(&self.beta, s, k);
        let parts: Vec<Vec<f64>> = rows
            .values
            .par_chunks(CHUNK * rows.columns)
            .map(|x| {
                let z = cosines(&self.map.angles(x, &self.map.gamma));
                let count = z.len() / s;
                let mut out: Vec<f64> = self.offset.iter().copied().cycle().take(count * k).collect();
                multiply(&mut out, Accum::Add, MatRef::from_row_major_slice(&z, count, s), beta, 1.0);
                out
            })
            .collect();
        parts.concat()
    }

    /// The numbers gamma; a constant column, which nothing moves, has 0.
    fn relevances(&self) -> Option<Vec<f64>> {
        let relevance = |(&g, &constant): (&f64, &bool)| if constant { 0.0 } else { g };
        Some(self.map.gamma.iter().zip(&self.constant).map(relevance).collect())
    }
}

#[cfg(test)]
mod tests;
