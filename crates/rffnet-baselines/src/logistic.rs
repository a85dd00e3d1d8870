//! Logistic and softmax regression by Newton's method.
//!
//! Each step is solved by conjugate gradients with the Gram matrix of the features as preconditioner. For two classes it
//! is weighted with the curvature of each row, so that it is the Hessian of the step it was made for.

use pulp::Arch;
use rayon::prelude::*;
use rffnet::numerics::cholesky::Cholesky;

use crate::Error;
use crate::linalg::add_gram;

/// Rows of a partial sum.
const CHUNK: usize = 1024;

/// Where the largest entry of the gradient is small enough, per unit of weight.
const TOLERANCE: f64 = 1e-9;

/// What will do where rounding or the number of steps ends the search.
const LOOSE: f64 = 1e-4;

/// Newton steps, and inner steps of each, at most.
const STEPS: (usize, usize) = (100, 200);

/// Inner steps after which two classes get a new Gram matrix: it costs about as much.
const PATIENCE: usize = 4;

/// `sum_i w_i loss_i + penalty |beta|^2 / 2`, the last column of `z` being the intercept's.
pub(crate) struct LogisticObjective<'a> {
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

/// What is close to the Hessian, block by block.
#[derive(Default)]
struct Metric {
    gram: Vec<f64>,
    /// One for each output.
    factors: Vec<Cholesky>,
    /// Whether the only block is the Hessian itself.
    exact: bool,
    /// Inner steps that it took last.
    inner: usize,
}

/// The coefficients, `columns x outputs`.
pub(crate) fn minimise(objective: &LogisticObjective<'_>) -> Result<Vec<f64>, Error> {
    let (m, k) = (objective.columns, objective.outputs);
    let total: f64 = objective.weight.iter().sum();
    let mut point = objective.at(vec![0.0; m * k]);
    let mut metric = Metric::default();
    for _ in 0..STEPS.0 {
        if largest(&point.gradient) <= TOLERANCE * total {
            break;
        }
        objective.refresh(&point, &mut metric)?;
        let direction = objective.direction(&point, &mut metric);
        let Some(next) = objective.search(&point, &direction) else {
            // Rounding is all that is left to gain.
            break;
        };
        point = next;
    }
    if !point.objective.is_finite() || largest(&point.gradient) > LOOSE * total {
        return Err(Error::Diverged("logistic regression did not converge: use a smaller c".into()));
    }
    let mut beta: Vec<f64> = (0..m * k).map(|at| point.beta[at % k * m + at / k]).collect();
    if k > 1 {
        // Adding a number to all intercepts changes no probability: their mean is 0.
        let mean = beta[(m - 1) * k..].iter().sum::<f64>() / k as f64;
        beta[(m - 1) * k..].iter_mut().for_each(|b| *b -= mean);
    }
    Ok(beta)
}

impl LogisticObjective<'_> {
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
                vectors(|| {
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
                });
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
                vectors(|| {
                    for (i, p) in (t * CHUNK..).zip(p.chunks_exact(k)) {
                        let z = &self.z[i * m..(i + 1) * m];
                        u.iter_mut().zip(v.chunks_exact(m)).for_each(|(u, v)| *u = dot(z, v));
                        // One output is the second of two whose first is always 0: the same formula holds.
                        let mean = dot(p, &u);
                        for ((u, p), out) in u.iter().zip(p).zip(out.chunks_exact_mut(m)) {
                            add(self.weight[i] * p * (u - mean), z, out);
                        }
                    }
                });
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

    /// Choleskys for this point. Two classes keep theirs while it serves well; several share one Gram matrix, times the
    /// mean curvature of each.
    fn refresh(&self, point: &Point, metric: &mut Metric) -> Result<(), Error> {
        let (m, k) = (self.columns, self.outputs);
        metric.exact = k == 1 && (metric.factors.is_empty() || metric.inner > PATIENCE);
        if k == 1 && !metric.exact {
            return Ok(());
        }
        if k == 1 || metric.gram.is_empty() {
            let p = point.probabilities.iter().zip(self.weight);
            let curvature: Vec<f64> =
                if k == 1 { p.map(|(p, w)| w * p * (1.0 - p)).collect() } else { vec![] };
            metric.gram.clear();
            metric.gram.resize(m * m, 0.0);
            add_gram(self.z, m, if k == 1 { &curvature } else { self.weight }, &mut metric.gram);
        }
        let total: f64 = self.weight.iter().sum();
        let factors = (0..k).map(|c| {
            let p = point.probabilities.chunks_exact(k).zip(self.weight);
            let mean = p.map(|(p, w)| w * p[c] * (1.0 - p[c])).sum::<f64>() / total;
            self.factor(metric.gram.clone(), if k == 1 { 1.0 } else { mean })
        });
        metric.factors = factors.collect::<Result<_, _>>()?;
        Ok(())
    }

    /// The factor of `scale * gram + penalty`; the intercept has a trace of it, for a Hessian that has faded away.
    fn factor(&self, mut gram: Vec<f64>, scale: f64) -> Result<Cholesky, Error> {
        let m = self.columns;
        gram.iter_mut().for_each(|g| *g *= scale);
        (0..m - 1).for_each(|a| gram[a * m + a] += self.penalty);
        let last = &mut gram[m * m - 1];
        *last = *last * (1.0 + 1e-9) + 1e-12;
        let failed =
            || Error::Diverged("the curvature of the logistic loss is singular: use a smaller c".into());
        Cholesky::tiled(gram, m).ok_or_else(failed)
    }

    /// The Newton direction, by conjugate gradients, as exact as the distance from the minimum deserves.
    fn direction(&self, point: &Point, metric: &mut Metric) -> Vec<f64> {
        let m = self.columns;
        let precondition = |r: &[f64]| {
            let mut out = r.to_vec();
            out.chunks_exact_mut(m).zip(&metric.factors).for_each(|(out, f)| f.solve(out));
            out
        };
        let mut residual: Vec<f64> = point.gradient.iter().map(|g| -g).collect();
        let mut step = vec![0.0; residual.len()];
        let mut preconditioned = precondition(&residual);
        if metric.exact {
            metric.inner = 0;
            return preconditioned;
        }
        let mut direction = preconditioned.clone();
        let mut energy = dot(&residual, &preconditioned);
        let enough = energy * 1e-4;
        let mut inner = 0;
        for _ in 0..STEPS.1 {
            inner += 1;
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
        metric.inner = inner;
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
            let level = next.objective <= point.objective + noise
                && largest(&next.gradient) < 0.5 * largest(&point.gradient);
            (descends || level).then_some(next)
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

/// Compiles a loop for the widest vectors there are.
fn vectors(work: impl FnOnce()) {
    Arch::new().dispatch(work);
}

/// Sixteen partial sums, so that it compiles to vectors.
#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    let mut sums = [0.0; 16];
    for (a, b) in a.0.iter().zip(b.0) {
        (0..16).for_each(|l| sums[l] += a[l] * b[l]);
    }
    sums.iter().sum::<f64>() + a.1.iter().zip(b.1).map(|(a, b)| a * b).sum::<f64>()
}

/// `b += scale a`.
#[inline(always)]
fn add(scale: f64, a: &[f64], b: &mut [f64]) {
    b.iter_mut().zip(a).for_each(|(b, a)| *b += scale * a);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::normal_rows;

    fn with_objective(outputs: usize, penalty: f64, check: impl Fn(&LogisticObjective<'_>)) {
        let (n, m) = (300, 7);
        let mut z: Vec<f64> = normal_rows(n, m, 1).values.iter().map(|&v| v.into()).collect();
        z.iter_mut().skip(m - 1).step_by(m).for_each(|z| *z = 1.0);
        let classes = outputs.max(2) as f64;
        let code = |r: &[f64]| ((r[0] + r[1] * r[2]).tanh() * 0.5 + 0.5) * classes;
        let codes: Vec<u32> = z.chunks_exact(m).map(|r| code(r) as u32).collect();
        let weight: Vec<f64> = (0..n).map(|i| 0.5 + (i % 3) as f64).collect();
        check(&LogisticObjective { z: &z, columns: m, codes: &codes, weight: &weight, outputs, penalty });
    }

    #[test]
    fn gradients_and_curvatures_are_differences() {
        for outputs in [1, 4] {
            with_objective(outputs, 0.3, |objective| {
                let beta: Vec<f64> = (0..7 * outputs).map(|i| (i as f64).sin()).collect();
                let v: Vec<f64> = (0..7 * outputs).map(|i| (3.0 * i as f64).cos()).collect();
                let moved = |h: f64| objective.at(beta.iter().zip(&v).map(|(b, v)| b + h * v).collect());
                let (point, h) = (objective.at(beta.clone()), 1e-5);
                let (ahead, behind) = (moved(h), moved(-h));
                let slope = (ahead.objective - behind.objective) / (2.0 * h);
                assert!((slope - dot(&point.gradient, &v)).abs() < 1e-5 * slope.abs().max(1.0));
                let curved = objective.curve(&point, &v);
                for (i, curved) in curved.iter().enumerate() {
                    let difference = (ahead.gradient[i] - behind.gradient[i]) / (2.0 * h);
                    assert!(
                        (difference - curved).abs() < 1e-5 * curved.abs().max(1.0),
                        "{difference} {curved}"
                    );
                }
            });
        }
    }

    #[test]
    fn the_minimum_has_no_gradient_also_with_a_weak_penalty() {
        for (outputs, penalty) in [(1, 1.0), (1, 1e-6), (3, 1.0), (5, 1e-6)] {
            with_objective(outputs, penalty, |objective| {
                let beta = minimise(objective).expect("a minimum");
                let by_output = (0..7 * outputs).map(|at| beta[at % 7 * outputs + at / 7]).collect();
                let steepest = largest(&objective.at(by_output).gradient);
                assert!(
                    steepest <= TOLERANCE * objective.weight.iter().sum::<f64>(),
                    "{outputs}: {steepest}"
                );
            });
        }
    }
}
