//! The reduced problem: for given relevances (and frequencies) the best head is found exactly, and what is left is a
//! smooth function of the relevances alone. By the envelope theorem its gradient is the partial gradient at that head.
//!
//! Squared loss: one Cholesky solve of the normal equations; several outputs share it. Cross-entropy: L-BFGS on the
//! head in coordinates in which the Hessian is nearly the identity, to a stated tolerance.

use crate::features::{FeatureMap, GradientEngine, Problem, Wanted, Weights, outputs};
use crate::loss::{Link, logistic};
use crate::numerics::cholesky::Factor;
use crate::numerics::lbfgs::{Lbfgs, Point};
use crate::ridge::{Design, Linear, Moments, Ridge, Span, penalty};
use crate::solver::design_cache::Kept;

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
    Kept(Kept<'static>),
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
        let HeadPlan { alpha, linear } = self.plan;
        Ridge::new(self.problem, map, theta, self.rows, linear).head(alpha)
    }

    fn classifier(&mut self, map: &FeatureMap, weights: &mut Weights, design: Design) -> Vec<f64> {
        let (problem, rows, HeadPlan { alpha, linear }) = (self.problem, self.rows, self.plan);
        let warm = self.warm.take().filter(|warm| warm.len() == problem.outputs * design.columns());
        if let Some(span) = Span::new(problem, map, &weights.theta, rows, linear) {
            let kept = Kept::of(&span);
            let hessian = |at: &[f64]| {
                let curvature = curvatures(&kept.outputs(at, problem.outputs), problem.outputs);
                span.moments(problem, rows, Some(&curvature)).factor(2.0 * alpha)
            };
            let warm = warm.map(|warm| span.compress(&warm));
            let gradient = |b: &[f64]| kept.gradient(problem, rows, b);
            return span.expand(&self.seek(span.columns(), warm, gradient, hessian));
        }
        let theta = weights.theta.clone();
        let hessian = |at: &[f64]| {
            let mut weights = Weights { theta: theta.clone(), ..Weights::zeros(map, problem.outputs) };
            design.apply(at, &mut weights);
            let f = outputs(problem.x, &problem.scale, map, &weights, rows);
            let curvature = curvatures(&f, problem.outputs);
            Moments::new(problem, map, &theta, rows, linear, Some(&curvature)).factor(2.0 * alpha)
        };
        let mut passes = Passes::new(problem, map, weights, rows, design);
        let gradient = |b: &[f64]| match &mut passes {
            Passes::Kept(kept) => kept.gradient(problem, rows, b),
            Passes::Anew(engine) => {
                design.apply(b, weights);
                let (loss, gradient) = engine.gradient(problem, map, weights, rows);
                (loss, design.pull_back(&gradient.weights))
            }
        };
        self.seek(design.columns(), warm, gradient, hessian)
    }

    /// The coefficients, `m` for each class, at which loss and penalty are smallest. A Hessian is renewed when descent
    /// with the one before has lasted long enough.
    fn seek(
        &mut self,
        m: usize,
        warm: Option<Vec<f64>>,
        mut gradient: impl FnMut(&[f64]) -> (f64, Vec<f64>),
        hessian: impl Fn(&[f64]) -> Factor,
    ) -> Vec<f64> {
        let mut at = warm.unwrap_or_else(|| self.constant_head(self.problem.outputs, m));
        let stale = self.factor.take().filter(|factor| factor.len() == m);
        let mut factor = stale.unwrap_or_else(|| hessian(&at));
        for round in 0..4 {
            let limit = if round == 0 { PATIENCE_WITH_HESSIAN } else { HEAD_STEPS };
            let (end, done) = descend(&factor, at, self.plan.alpha, limit, &mut gradient);
            at = end;
            if done == Descended::Converged || (done == Descended::Stuck && round > 0) {
                break;
            }
            factor = hessian(&at);
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
}

/// How a descent on the head ended.
#[derive(PartialEq)]
enum Descended {
    Converged,
    Stuck,
    OutOfSteps,
}

/// L-BFGS on u = L'b, where LL' is (nearly) the Hessian.
fn descend(
    factor: &Factor,
    start: Vec<f64>,
    alpha: f64,
    limit: usize,
    gradient: &mut impl FnMut(&[f64]) -> (f64, Vec<f64>),
) -> (Vec<f64>, Descended) {
    let m = factor.len();
    let mut evaluate = |u: Vec<f64>| {
        let mut b = u.clone();
        factor.solve_upper(&mut b);
        let (loss, mut g) = gradient(&b);
        for (g, b) in g.chunks_exact_mut(m).zip(b.chunks_exact(m)) {
            g[..m - 1].iter_mut().zip(b).for_each(|(g, b)| *g += 2.0 * alpha * b);
        }
        factor.solve_lower(&mut g);
        Point { x: u, value: loss + penalty(&b, m, alpha), gradient: g, note: () }
    };
    let mut u = start;
    factor.multiply_upper(&mut u);
    let mut at = evaluate(u);
    let mut solver = Lbfgs::default();
    let mut ended = Descended::OutOfSteps;
    for _ in 0..limit {
        let decrement: f64 = at.gradient.iter().map(|g| g * g).sum();
        if 0.5 * decrement <= HEAD_TOLERANCE * at.value.abs() {
            ended = Descended::Converged;
            break;
        }
        match solver.step(&at, f64::INFINITY, &mut evaluate) {
            Some(next) => at = next,
            None => {
                ended = Descended::Stuck;
                break;
            }
        }
    }
    let mut b = at.x;
    factor.solve_upper(&mut b);
    (b, ended)
}

/// Weights of the rows in the Hessian, one block for all classes, from `k` outputs a row.
fn curvatures(outputs: &[f32], k: usize) -> Vec<f32> {
    outputs.chunks_exact(k).map(|f| curvature(f).max(1e-4) as f32).collect()
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
