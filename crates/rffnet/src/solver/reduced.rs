//! The reduced problem: for given relevances (and frequencies) the best head is found exactly, and what is left is a
//! smooth function of the relevances alone. By the envelope theorem its gradient is the partial gradient at that head.
//!
//! Squared loss: one Cholesky solve of the normal equations; several outputs share it. Cross-entropy: L-BFGS on the
//! head in coordinates in which the Hessian is nearly the identity, to a stated tolerance.

use crate::features::{FeatureMap, GradientEngine, Problem, Wanted, Weights, outputs};
use crate::loss::{Link, logistic};
use crate::normal::{Design, Factor, Linear, Moments};
use crate::solver::kept::Kept;
use crate::solver::lbfgs::{Lbfgs, Point};

/// The head of a classifier is solved until half the squared Newton decrement, an estimate of how much could still be
/// gained, is below this share of the loss. A looser head would bias the envelope gradient.
const HEAD_TOLERANCE: f64 = 1e-6;
const HEAD_STEPS: usize = 60;

/// After this many steps with a Hessian of earlier relevances it is renewed.
const PATIENCE_WITH_HESSIAN: usize = 12;

/// What the exact head is asked to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HeadPlan {
    pub(crate) alpha: f64,
    pub(crate) linear: Linear,
}

/// Heads on one set of rows; remembers the last head and Hessian to start from.
pub(crate) struct Reduced<'a> {
    problem: &'a Problem<'a>,
    rows: &'a [usize],
    pub(crate) plan: HeadPlan,
    warm: Option<Vec<f64>>,
    factor: Option<Factor>,
}

/// How a step on the head of a classifier sees the rows.
enum Passes {
    Kept(Kept),
    Anew(Box<GradientEngine>),
}

impl Passes {
    fn new(
        problem: &Problem<'_>,
        map: &FeatureMap,
        weights: &mut Weights,
        rows: &[usize],
        design: Design,
    ) -> Self {
        if let Some(kept) = Kept::new(problem, map, &weights.theta, rows, design) {
            return Self::Kept(kept);
        }
        design.make_room(weights);
        Self::Anew(Box::new(GradientEngine::new(map, weights, rows.len(), Wanted::Head)))
    }
}

/// Value, gradient parts and the head of one evaluation.
pub(crate) struct Evaluation {
    pub(crate) value: f64,
    pub(crate) theta: Vec<f64>,
    pub(crate) omega: Vec<f64>,
    pub(crate) phase: Vec<f64>,
    pub(crate) weights: Weights,
}

impl<'a> Reduced<'a> {
    pub(crate) fn new(problem: &'a Problem<'a>, rows: &'a [usize], plan: HeadPlan) -> Self {
        Self { problem, rows, plan, warm: None, factor: None }
    }

    /// The first head is sought from here.
    pub(crate) fn starting_at(self, coefficients: Vec<f64>) -> Self {
        Self { warm: Some(coefficients), ..self }
    }

    /// The reduced objective and its gradient by the relevances, and by the spectrum if that is wanted.
    pub(crate) fn evaluate(&mut self, map: &FeatureMap, theta: &[f32], wanted: Wanted) -> Evaluation {
        let (weights, coefficients) = self.head(map, theta);
        let penalty = Design::new(map, self.plan.linear).penalty(&coefficients, self.plan.alpha);
        let mut engine = GradientEngine::new(map, &weights, self.rows.len(), wanted);
        let (loss, gradient) = engine.gradient(self.problem, map, &weights, self.rows);
        let wide = |values: &[f32]| values.iter().map(|&v| v as f64).collect::<Vec<_>>();
        let (s, padded) = (map.features(), map.padded());
        let omega = gradient.omega.chunks_exact(padded).zip(theta);
        Evaluation {
            value: loss + penalty,
            theta: wide(&gradient.weights.theta),
            omega: omega.flat_map(|(row, &t)| row[..s].iter().map(move |&g| g as f64 * t as f64)).collect(),
            phase: wide(&gradient.phase[..s.min(gradient.phase.len())]),
            weights,
        }
    }

    /// The exact head.
    pub(crate) fn head(&mut self, map: &FeatureMap, theta: &[f32]) -> (Weights, Vec<f64>) {
        let mut weights = Weights::zeros(map, self.problem.outputs);
        weights.theta.copy_from_slice(theta);
        let design = Design::new(map, self.plan.linear);
        let coefficients = match self.problem.loss.link() {
            Link::Identity => self.ridge(map, theta),
            Link::Logistic | Link::Softmax => self.classifier(map, &mut weights, design),
            Link::Log => unreachable!("counts are fitted by descent"),
        };
        design.apply(&coefficients, &mut weights);
        self.warm = Some(coefficients.clone());
        (weights, coefficients)
    }

    fn ridge(&self, map: &FeatureMap, theta: &[f32]) -> Vec<f64> {
        Moments::new(self.problem, map, theta, self.rows, self.plan.linear, None).ridge(self.plan.alpha)
    }

    fn classifier(&mut self, map: &FeatureMap, weights: &mut Weights, design: Design) -> Vec<f64> {
        let k = self.problem.outputs;
        let m = design.columns();
        let mut at = match self.warm.take() {
            Some(warm) if warm.len() == k * m => warm,
            _ => self.constant_head(k, m),
        };
        let stale = self.factor.take();
        let mut factor = match stale {
            Some(factor) if factor.len() == m => factor,
            _ => self.hessian(map, weights, design, &at),
        };
        let mut passes = Passes::new(self.problem, map, weights, self.rows, design);
        for round in 0..4 {
            let (end, converged) = self.descend_head(map, weights, design, &factor, at, &mut passes, round);
            at = end;
            if converged {
                break;
            }
            factor = self.hessian(map, weights, design, &at);
        }
        self.factor = Some(factor);
        at
    }

    /// No features; intercepts at the best constant.
    fn constant_head(&self, k: usize, m: usize) -> Vec<f64> {
        let y: Vec<f32> = self.rows.iter().flat_map(|&i| self.problem.target(i)).copied().collect();
        let w: Vec<f32> = self.rows.iter().map(|&i| self.problem.weight(i)).collect();
        let constant = self.problem.loss.constant(&y, &w, k);
        let mut at = vec![0.0; k * m];
        constant.iter().enumerate().for_each(|(c, v)| at[c * m + m - 1] = *v);
        at
    }

    /// L-BFGS on u = L'b, where LL' is (nearly) the Hessian.
    fn descend_head(
        &self,
        map: &FeatureMap,
        weights: &mut Weights,
        design: Design,
        factor: &Factor,
        start: Vec<f64>,
        passes: &mut Passes,
        round: usize,
    ) -> (Vec<f64>, bool) {
        let (problem, rows, alpha) = (self.problem, self.rows, self.plan.alpha);
        let m = design.columns();
        let mut evaluate = |u: Vec<f64>| {
            let mut b = u.clone();
            factor.solve_upper(&mut b);
            let (loss, mut g) = match passes {
                Passes::Kept(kept) => kept.gradient(problem, rows, &b),
                Passes::Anew(engine) => {
                    design.apply(&b, weights);
                    let (loss, gradient) = engine.gradient(problem, map, weights, rows);
                    (loss, design.pull_back(&gradient.weights))
                }
            };
            for (g, b) in g.chunks_exact_mut(m).zip(b.chunks_exact(m)) {
                g[..m - 1].iter_mut().zip(b).for_each(|(g, b)| *g += 2.0 * alpha * b);
            }
            factor.solve_lower(&mut g);
            Point { x: u, value: loss + design.penalty(&b, alpha), gradient: g, note: () }
        };
        let mut u = start;
        factor.multiply_upper(&mut u);
        let mut at = evaluate(u);
        let mut solver = Lbfgs::default();
        let limit = if round == 0 { PATIENCE_WITH_HESSIAN } else { HEAD_STEPS };
        let mut converged = false;
        for _ in 0..limit {
            let decrement: f64 = at.gradient.iter().map(|g| g * g).sum();
            if 0.5 * decrement <= HEAD_TOLERANCE * at.value.abs() {
                converged = true;
                break;
            }
            match solver.step(&at, f64::INFINITY, &mut evaluate) {
                Some(next) => at = next,
                None => {
                    converged = round > 0;
                    break;
                }
            }
        }
        let mut b = at.x;
        factor.solve_upper(&mut b);
        (b, converged)
    }

    /// The Hessian of the loss by the head at `at`, one block for all classes, and the penalty's.
    fn hessian(&self, map: &FeatureMap, weights: &mut Weights, design: Design, at: &[f64]) -> Factor {
        design.apply(at, weights);
        let k = self.problem.outputs;
        let f = outputs(self.problem.x, &self.problem.scale, map, weights, self.rows);
        let curvature: Vec<f32> = f.chunks_exact(k).map(|f| (curvature(f)).max(1e-4) as f32).collect();
        let moments =
            Moments::new(self.problem, map, &weights.theta, self.rows, self.plan.linear, Some(&curvature));
        moments.factor(2.0 * self.plan.alpha)
    }
}

/// p (1 - p), averaged over the classes.
fn curvature(f: &[f32]) -> f64 {
    if let [f] = f {
        let p = logistic(*f as f64);
        return p * (1.0 - p);
    }
    let top = f.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let e: Vec<f64> = f.iter().map(|&v| ((v - top) as f64).exp()).collect();
    let total: f64 = e.iter().sum();
    e.iter().map(|e| e / total * (1.0 - e / total)).sum::<f64>() / f.len() as f64
}

#[cfg(test)]
mod tests;
