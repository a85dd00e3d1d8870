//! Logistic and softmax regression by Newton's method.
//!
//! Each step is solved by conjugate gradients with the Gram matrix of the features as preconditioner. For two classes it
//! is weighted with the curvature of each row, so that it is the Hessian itself and one inner step suffices.

use rayon::prelude::*;

use crate::Error;
use crate::linalg::{Factor, add_gram};

/// Rows of a partial sum.
const CHUNK: usize = 1024;

/// Where the largest entry of the gradient is small enough, per unit of weight.
const TOLERANCE: f64 = 1e-9;

/// Newton steps, and inner steps of each, at most.
const STEPS: (usize, usize) = (100, 200);

/// `sum_i w_i loss_i + penalty |beta|^2 / 2`, the last column of `z` being the intercept's.
pub(crate) struct Problem<'a> {
    /// Row-major.
    pub(crate) z: &'a [f64],
    pub(crate) columns: usize,
    pub(crate) codes: &'a [u32],
    pub(crate) weight: &'a [f64],
    /// One for two classes.
    pub(crate) outputs: usize,
    pub(crate) penalty: f64,
}

/// The objective at a point, its gradient, and the probabilities that its curvature is made of.
struct Point {
    /// Output after output.
    beta: Vec<f64>,
    objective: f64,
    gradient: Vec<f64>,
    /// `rows x outputs`.
    probabilities: Vec<f64>,
}

/// The coefficients, `columns x outputs`.
pub(crate) fn minimise(problem: &Problem<'_>) -> Result<Vec<f64>, Error> {
    let (m, k) = (problem.columns, problem.outputs);
    let total: f64 = problem.weight.iter().sum();
    let mut point = problem.at(vec![0.0; m * k]);
    let mut common = None;
    for _ in 0..STEPS.0 {
        let steepest = largest(&point.gradient);
        if steepest <= TOLERANCE * total {
            break;
        }
        let metric = problem.metric(&point, &mut common)?;
        let Some(next) = problem.search(&point, &problem.direction(&point, &metric)) else {
            // Rounding is all that is left to gain.
            break;
        };
        point = next;
    }
    if !point.objective.is_finite() {
        return Err(Error::Diverged("logistic regression ran away: use a smaller c".into()));
    }
    let mut beta: Vec<f64> = (0..m * k).map(|at| point.beta[at % k * m + at / k]).collect();
    if k > 1 {
        // Adding a number to all intercepts changes no probability: their mean is 0.
        let mean = beta[(m - 1) * k..].iter().sum::<f64>() / k as f64;
        beta[(m - 1) * k..].iter_mut().for_each(|b| *b -= mean);
    }
    Ok(beta)
}

impl Problem<'_> {
    fn rows(&self) -> usize {
        self.codes.len()
    }

    /// Evaluates a point in one pass over the features.
    fn at(&self, beta: Vec<f64>) -> Point {
        let (m, k) = (self.columns, self.outputs);
        let mut probabilities = vec![0.0; self.rows() * k];
        let parts: Vec<(f64, Vec<f64>)> = probabilities
            .par_chunks_mut(CHUNK * k)
            .enumerate()
            .map(|(t, p)| {
                let (mut loss, mut gradient) = (0.0, vec![0.0; m * k]);
                for (i, p) in (t * CHUNK..).zip(p.chunks_exact_mut(k)) {
                    let z = &self.z[i * m..(i + 1) * m];
                    p.iter_mut().zip(beta.chunks_exact(m)).for_each(|(p, b)| *p = dot(z, b));
                    let (code, w) = (self.codes[i] as usize, self.weight[i]);
                    loss += w * activate(p, code);
                    for (c, (p, g)) in p.iter().zip(gradient.chunks_exact_mut(m)).enumerate() {
                        let hit = if k == 1 { code == 1 } else { code == c };
                        add(w * (p - f64::from(hit)), z, g);
                    }
                }
                (loss, gradient)
            })
            .collect();
        let (mut objective, mut gradient) = (0.0, vec![0.0; m * k]);
        for (loss, part) in parts {
            objective += loss;
            add(1.0, &part, &mut gradient);
        }
        for (g, b) in gradient.chunks_exact_mut(m).zip(beta.chunks_exact(m)) {
            objective += 0.5 * self.penalty * dot(&b[..m - 1], &b[..m - 1]);
            add(self.penalty, &b[..m - 1], &mut g[..m - 1]);
        }
        Point { beta, objective, gradient, probabilities }
    }

    /// The Hessian times a vector.
    fn curve(&self, point: &Point, v: &[f64]) -> Vec<f64> {
        let (m, k) = (self.columns, self.outputs);
        let chunks = point.probabilities.par_chunks(CHUNK * k).enumerate();
        let parts: Vec<Vec<f64>> = chunks
            .map(|(t, p)| {
                let (mut out, mut u) = (vec![0.0; m * k], vec![0.0; k]);
                for (i, p) in (t * CHUNK..).zip(p.chunks_exact(k)) {
                    let z = &self.z[i * m..(i + 1) * m];
                    u.iter_mut().zip(v.chunks_exact(m)).for_each(|(u, v)| *u = dot(z, v));
                    let mean = if k == 1 { p[0] * u[0] } else { dot(p, &u) };
                    for ((u, p), out) in u.iter().zip(p).zip(out.chunks_exact_mut(m)) {
                        add(self.weight[i] * p * (u - mean), z, out);
                    }
                }
                out
            })
            .collect();
        let mut out = vec![0.0; m * k];
        parts.iter().for_each(|part| add(1.0, part, &mut out));
        for (out, v) in out.chunks_exact_mut(m).zip(v.chunks_exact(m)) {
            add(self.penalty, &v[..m - 1], &mut out[..m - 1]);
        }
        out
    }

    /// A factor for each output that is close to its block of the Hessian. With several outputs all share one Gram
    /// matrix, times the mean curvature of each.
    fn metric(&self, point: &Point, common: &mut Option<Vec<f64>>) -> Result<Vec<Factor>, Error> {
        let (m, k) = (self.columns, self.outputs);
        let gram = |weight: &[f64]| {
            let mut gram = vec![0.0; m * m];
            add_gram(self.z, m, weight, &mut gram);
            gram
        };
        if k == 1 {
            let p = point.probabilities.iter().zip(self.weight);
            let weight: Vec<f64> = p.map(|(p, w)| w * p * (1.0 - p)).collect();
            return Ok(vec![self.factor(gram(&weight), 1.0)?]);
        }
        let common = common.get_or_insert_with(|| gram(self.weight));
        let total: f64 = self.weight.iter().sum();
        (0..k)
            .map(|c| {
                let p = point.probabilities.chunks_exact(k).zip(self.weight);
                let mean = p.map(|(p, w)| w * p[c] * (1.0 - p[c])).sum::<f64>() / total;
                self.factor(common.clone(), mean)
            })
            .collect()
    }

    /// The factor of `scale * gram + penalty`; the intercept has a trace of it, for a Hessian that has faded away.
    fn factor(&self, mut gram: Vec<f64>, scale: f64) -> Result<Factor, Error> {
        let m = self.columns;
        gram.iter_mut().for_each(|g| *g *= scale);
        (0..m - 1).for_each(|a| gram[a * m + a] += self.penalty);
        let last = &mut gram[m * m - 1];
        *last = *last * (1.0 + 1e-9) + 1e-12;
        let failed =
            || Error::Diverged("the curvature of the logistic loss is singular: use a smaller c".into());
        Factor::new(gram, m).ok_or_else(failed)
    }

    /// The Newton direction, by conjugate gradients, as exact as the distance from the minimum deserves.
    fn direction(&self, point: &Point, metric: &[Factor]) -> Vec<f64> {
        let m = self.columns;
        let precondition = |r: &[f64]| {
            let mut out = r.to_vec();
            out.chunks_exact_mut(m).zip(metric).for_each(|(out, f)| f.solve(out));
            out
        };
        let mut residual: Vec<f64> = point.gradient.iter().map(|g| -g).collect();
        let mut step = vec![0.0; residual.len()];
        let mut preconditioned = precondition(&residual);
        if self.outputs == 1 {
            return preconditioned;
        }
        let mut direction = preconditioned.clone();
        let mut energy = dot(&residual, &preconditioned);
        let enough = energy * 1e-4;
        for _ in 0..STEPS.1 {
            let curved = self.curve(point, &direction);
            let bend = dot(&direction, &curved);
            if bend <= 0.0 || energy <= 0.0 {
                break;
            }
            let length = energy / bend;
            add(length, &direction, &mut step);
            add(-length, &curved, &mut residual);
            preconditioned = precondition(&residual);
            let next = dot(&residual, &preconditioned);
            if next <= enough {
                break;
            }
            let ratio = next / energy;
            energy = next;
            direction.iter_mut().zip(&preconditioned).for_each(|(d, p)| *d = ratio * *d + p);
        }
        step
    }

    /// The first of 1, 1/2, 1/4, ... along the direction that is a descent; none where rounding hides all of them.
    fn search(&self, point: &Point, direction: &[f64]) -> Option<Point> {
        let slope = dot(&point.gradient, direction);
        if slope.is_nan() || slope >= 0.0 {
            return None;
        }
        let noise = 1e-14 * point.objective.abs();
        (0..40).find_map(|halvings| {
            let length = 0.5f64.powi(halvings);
            let mut beta = point.beta.clone();
            add(length, direction, &mut beta);
            let next = self.at(beta);
            let descends = next.objective <= point.objective + 1e-4 * length * slope;
            let settles = next.objective <= point.objective + noise
                && largest(&next.gradient) < 0.5 * largest(&point.gradient);
            (descends || settles).then_some(next)
        })
    }
}

/// Scores become probabilities (that of the second of two classes); returns the loss of the row.
fn activate(scores: &mut [f64], code: usize) -> f64 {
    if let [score] = scores {
        let margin = if code == 1 { *score } else { -*score };
        // log(1 + exp(-margin)) without overflow.
        let loss = (-margin.abs()).exp().ln_1p() + (-margin).max(0.0);
        *score = 1.0 / (1.0 + (-*score).exp());
        return loss;
    }
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let own = scores[code] - top;
    scores.iter_mut().for_each(|s| *s = (*s - top).exp());
    let sum: f64 = scores.iter().sum();
    scores.iter_mut().for_each(|s| *s /= sum);
    sum.ln() - own
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |top, v| top.max(v.abs()))
}

/// Sixteen partial sums, so that it compiles to vectors.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    let mut sums = [0.0; 16];
    for (a, b) in a.0.iter().zip(b.0) {
        (0..16).for_each(|l| sums[l] += a[l] * b[l]);
    }
    sums.iter().sum::<f64>() + a.1.iter().zip(b.1).map(|(a, b)| a * b).sum::<f64>()
}

/// `b += scale a`.
fn add(scale: f64, a: &[f64], b: &mut [f64]) {
    b.iter_mut().zip(a).for_each(|(b, a)| *b += scale * a);
}
