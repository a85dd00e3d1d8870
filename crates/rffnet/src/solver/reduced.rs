//! The reduced problem: for given relevances (and frequencies) the best head is found exactly, and what is left is a
//! smooth function of the relevances alone. By the envelope theorem its gradient is the partial gradient at that head.
//!
//! Squared loss: one Cholesky solve of the normal equations; several outputs share it. Cross-entropy: L-BFGS on the
//! head in coordinates in which the Hessian is nearly the identity, to a stated tolerance.

use crate::backend::{GradientBuffers, Wanted};
use crate::features::{Network, ScaledFeatures, Weights};
use crate::loss::ExactHead;
use crate::numerics::cholesky::Cholesky;
use crate::numerics::lbfgs::{Lbfgs, Point};
use crate::problem::Problem;
use crate::ridge::{Design, DualForm, Linear, Ridge, penalty};
use crate::solver::design_cache::DesignCache;

/// The head of a classifier is solved until half the squared Newton decrement, an estimate of how much could still be
/// gained, is below this share of the loss. A looser head would bias the envelope gradient.
const HEAD_TOLERANCE: f64 = 1e-6;
const HEAD_STEPS: usize = 60;

/// After this many steps with a Hessian of earlier relevances it is renewed.
const STALE_HESSIAN_STEPS: usize = 12;

/// The least that a row weighs in a Hessian.
const MIN_CURVATURE: f64 = 1e-4;

/// What the exact head is asked to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HeadSettings {
    pub(crate) alpha: f64,
    pub(crate) linear: Linear,
}

/// Heads on one set of rows; remembers the last head and Hessian to start from.
pub(crate) struct Reduced<'a> {
    problem: &'a Problem<'a>,
    rows: &'a [usize],
    settings: HeadSettings,
    /// The normal equations of a squared loss, for the features of the last head.
    ridge: Option<Ridge>,
    /// The last head, as coefficients of the design.
    warm: Option<Vec<f64>>,
    factor: Option<Cholesky>,
}

/// How a step on the head of a classifier sees the rows.
enum Passes {
    Cached(DesignCache<'static>),
    Recomputed { buffers: GradientBuffers, weights: Weights },
}

impl Passes {
    fn new(problem: &Problem<'_>, rows: &[usize], design: &Design<'_>) -> Self {
        match DesignCache::new(problem, rows, design) {
            Some(cache) => Self::Cached(cache),
            None => Self::Recomputed {
                buffers: GradientBuffers::new(Wanted::Head),
                weights: design.empty_weights(problem.outputs),
            },
        }
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
    pub(crate) fn new(problem: &'a Problem<'a>, rows: &'a [usize], settings: HeadSettings) -> Self {
        Self { problem, rows, settings, ridge: None, warm: None, factor: None }
    }

    /// With the features of the last head, but on more rows, the first ones of which are those so far.
    pub(crate) fn on_more(self, rows: &'a [usize], features: &ScaledFeatures) -> Self {
        let design = Design::new(features, self.settings.linear);
        let ridge = self.ridge.map(|ridge| ridge.on_more(self.problem, &design, rows, self.rows.len()));
        Self { rows, ridge, ..self }
    }

    /// The reduced objective and its gradient by the relevances, and by the spectrum if that is wanted.
    pub(crate) fn evaluate(&mut self, features: &ScaledFeatures, wanted: Wanted) -> Evaluation {
        let weights = self.head(features);
        let coefficients = self.warm.as_ref().expect("there is a head");
        let design = Design::new(features, self.settings.linear);
        let penalty = design.penalty(coefficients, self.settings.alpha);
        let mut buffers = GradientBuffers::new(wanted);
        let network = Network::new(&features.map, &weights);
        let loss = self.problem.backend.gradient(self.problem, network, self.rows, &mut buffers);
        let gradient = buffers.total();
        let wide = |values: &[f32]| values.iter().map(|&v| v as f64).collect::<Vec<_>>();
        let (s, padded) = (features.map.features(), features.map.padded());
        let omega = gradient.omega.chunks_exact(padded).zip(&features.theta);
        Evaluation {
            value: loss + penalty,
            theta: wide(&gradient.weights.theta),
            omega: omega.flat_map(|(row, &t)| row[..s].iter().map(move |&g| g as f64 * t as f64)).collect(),
            phase: wide(&gradient.phase[..s.min(gradient.phase.len())]),
            weights,
        }
    }

    /// The exact head.
    pub(crate) fn head(&mut self, features: &ScaledFeatures) -> Weights {
        self.ridge = None;
        self.penalised(features, self.settings.alpha)
    }

    /// The exact head on the features of the last one, with this penalty.
    pub(crate) fn penalised(&mut self, features: &ScaledFeatures, alpha: f64) -> Weights {
        self.settings.alpha = alpha;
        let design = Design::new(features, self.settings.linear);
        let coefficients = match self.problem.loss.exact_head() {
            ExactHead::LeastSquares => {
                let ridge = self.ridge.get_or_insert_with(|| Ridge::new(self.problem, &design, self.rows));
                ridge.head(alpha)
            }
            ExactHead::Newton(curvature) => self.newton(&design, curvature),
            ExactHead::None => unreachable!("a loss without an exact head is minimised by descent"),
        };
        let weights = design.weights(&coefficients);
        self.warm = Some(coefficients);
        weights
    }

    fn newton(&mut self, design: &Design<'_>, curvature: fn(&[f32]) -> f64) -> Vec<f64> {
        let (problem, rows, alpha) = (self.problem, self.rows, self.settings.alpha);
        let outputs = problem.outputs;
        let warm = self.warm.take().filter(|warm| warm.len() == outputs * design.columns());
        // Weights of the rows in the Hessian, one block for all classes.
        let curvatures = |f: &[f32]| {
            let mut by_row = vec![0.0; problem.columns.x.rows()];
            for (f, &i) in f.chunks_exact(outputs).zip(rows) {
                by_row[i] = curvature(f).max(MIN_CURVATURE) as f32;
            }
            by_row
        };
        if let Some(dual) = DualForm::new(problem, design, rows) {
            let cache = DesignCache::of(&dual);
            let hessian = |at: &[f64]| {
                let curvature = curvatures(&cache.outputs(at, outputs));
                dual.moments(problem, rows, Some(&curvature)).factor(2.0 * alpha)
            };
            let warm = warm.map(|warm| dual.compress(&warm));
            let gradient = |b: &[f64]| cache.gradient(problem, rows, b);
            return dual.expand(&self.seek(dual.columns(), warm, gradient, hessian));
        }
        let map = &design.features.map;
        let hessian = |at: &[f64]| {
            let weights = design.weights(at);
            let f = problem.backend.outputs(problem.columns, Network::new(map, &weights), rows);
            problem.backend.moments(problem, design, rows, Some(&curvatures(&f))).factor(2.0 * alpha)
        };
        let mut passes = Passes::new(problem, rows, design);
        let gradient = |b: &[f64]| match &mut passes {
            Passes::Cached(cache) => cache.gradient(problem, rows, b),
            Passes::Recomputed { buffers, weights } => {
                design.set(b, weights);
                let loss = problem.backend.gradient(problem, Network::new(map, weights), rows, buffers);
                (loss, design.pull_back(&buffers.total().weights))
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
        hessian: impl Fn(&[f64]) -> Cholesky,
    ) -> Vec<f64> {
        let mut at = warm.unwrap_or_else(|| self.constant_head(self.problem.outputs, m));
        let stale = self.factor.take().filter(|factor| factor.len() == m);
        let mut factor = stale.unwrap_or_else(|| hessian(&at));
        for round in 0..4 {
            let limit = if round == 0 { STALE_HESSIAN_STEPS } else { HEAD_STEPS };
            let (end, done) = descend(&factor, at, self.settings.alpha, limit, &mut gradient);
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
        let constant = self.problem.constant(self.rows);
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
    factor: &Cholesky,
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

#[cfg(test)]
mod tests;
