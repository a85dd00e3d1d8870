//! Iterations on a head: in coordinates in which the Hessian is nearly the identity, with one pass over the rows a step.
//!
//! The coefficients of each output are those of the cells, where there are partitions, and those of the design behind them.

use crate::numerics::cholesky::Cholesky;
use crate::numerics::lbfgs::{Lbfgs, Point};
use crate::ridge::penalty;
use crate::solver::design_rows::{Cells, DesignRows};

/// When a descent ends: after so many steps, or when half the squared Newton decrement, an estimate of how much could still be
/// gained, is below this share of the loss.
#[derive(Clone, Copy)]
pub(super) struct Until {
    pub(super) steps: usize,
    pub(super) tolerance: f64,
}

/// How a descent on the head ended.
#[derive(PartialEq)]
pub(super) enum Descended {
    Converged,
    Stuck,
    OutOfSteps,
}

/// L with LL' (nearly) the Hessian: a diagonal for the cells, a Cholesky factor for the design behind them.
pub(super) struct Preconditioner {
    /// Roots of the diagonal.
    cells: Vec<f64>,
    /// The mean square of each cell's indicator in the Hessian.
    squares: Vec<f64>,
    dense: Cholesky,
    penalty: f64,
    /// The root of what both are multiplied with.
    scale: f64,
}

impl Preconditioner {
    /// `times` a Hessian: of the cells, from the weights of the rows in it, and of the design.
    pub(super) fn new(
        cells: Option<&Cells>,
        weights: impl ExactSizeIterator<Item = f64>,
        dense: Cholesky,
        penalty: f64,
        times: f64,
    ) -> Self {
        let rows = weights.len() as f64;
        let squares = cells.map_or(Vec::new(), |cells| cells.sums(weights.map(|w| w / rows)));
        let mut new = Self { cells: Vec::new(), squares, dense, penalty, scale: times.sqrt() };
        new.set_factor(cells.map_or(1.0, |cells| cells.factor));
        new
    }

    /// What the indicators are multiplied with.
    pub(super) fn set_factor(&mut self, factor: f64) {
        // An empty cell without a penalty has no curvature, and no gradient.
        let root = |square: &f64| match (factor * factor * square + self.penalty).sqrt() {
            0.0 => 1.0,
            root => root,
        };
        self.cells = self.squares.iter().map(root).collect();
    }

    pub(super) fn into_dense(self) -> Cholesky {
        self.dense
    }

    /// Coefficients of each output.
    pub(super) fn len(&self) -> usize {
        self.cells.len() + self.dense.len()
    }

    /// L^-1 b for each output, in place.
    fn solve_lower(&self, b: &mut [f64]) {
        self.apply(b, |b, root| *b /= root, Cholesky::solve_lower, self.scale.recip());
    }

    /// L'^-1 b.
    fn solve_upper(&self, b: &mut [f64]) {
        self.apply(b, |b, root| *b /= root, Cholesky::solve_upper, self.scale.recip());
    }

    /// L' b.
    fn multiply_upper(&self, b: &mut [f64]) {
        self.apply(b, |b, root| *b *= root, Cholesky::multiply_upper, self.scale);
    }

    fn apply(
        &self,
        b: &mut [f64],
        cell: impl Fn(&mut f64, f64),
        dense: impl Fn(&Cholesky, &mut [f64]),
        scale: f64,
    ) {
        if self.cells.is_empty() {
            // Several outputs share a pass over the factor.
            dense(&self.dense, b);
        } else {
            for b in b.chunks_exact_mut(self.len()) {
                let (of_cells, of_design) = b.split_at_mut(self.cells.len());
                of_cells.iter_mut().zip(&self.cells).for_each(|(b, &root)| cell(b, root));
                dense(&self.dense, of_design);
            }
        }
        if scale != 1.0 {
            b.iter_mut().for_each(|b| *b *= scale);
        }
    }
}

/// Loss and penalty of the coefficients, and their gradient.
fn objective(passes: &DesignRows<'_>, b: &[f64], alpha: f64) -> (f64, Vec<f64>) {
    let m = passes.columns();
    let (loss, mut gradient) = passes.gradient(b);
    add_penalty(&mut gradient, b, m, alpha);
    (loss + penalty(b, m, alpha), gradient)
}

/// The gradient of the penalty: the intercept, the last coefficient of each output, is free.
fn add_penalty(gradient: &mut [f64], b: &[f64], columns: usize, alpha: f64) {
    for (g, b) in gradient.chunks_exact_mut(columns).zip(b.chunks_exact(columns)) {
        g[..columns - 1].iter_mut().zip(b).for_each(|(g, b)| *g += 2.0 * alpha * b);
    }
}

/// L-BFGS on u = L'b.
pub(super) fn descend(
    hessian: &Preconditioner,
    start: Vec<f64>,
    alpha: f64,
    until: Until,
    passes: &DesignRows<'_>,
) -> (Vec<f64>, Descended) {
    let mut evaluate = |u: Vec<f64>| {
        let mut b = u.clone();
        hessian.solve_upper(&mut b);
        let (value, mut g) = objective(passes, &b, alpha);
        hessian.solve_lower(&mut g);
        Point { x: u, value, gradient: g, note: () }
    };
    let mut u = start;
    hessian.multiply_upper(&mut u);
    let mut at = evaluate(u);
    let mut solver = Lbfgs::default();
    let mut ended = Descended::OutOfSteps;
    for _ in 0..until.steps {
        if 0.5 * dot(&at.gradient, &at.gradient) <= until.tolerance * at.value.abs() {
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
    hessian.solve_upper(&mut b);
    (b, ended)
}

/// Preconditioned conjugate gradients, for a squared loss: its gradient is linear, and so is what a step changes of it.
pub(super) fn conjugate_gradients(
    hessian: &Preconditioner,
    start: Vec<f64>,
    alpha: f64,
    until: Until,
    passes: &DesignRows<'_>,
) -> Vec<f64> {
    let solve = |g: &[f64]| {
        let mut s = g.to_vec();
        hessian.solve_lower(&mut s);
        hessian.solve_upper(&mut s);
        s
    };
    let (value, mut gradient) = objective(passes, &start, alpha);
    let (mut at, mut direction) = (start, vec![0.0; gradient.len()]);
    let mut scaled = solve(&gradient);
    let (mut decrement, mut kept) = (dot(&gradient, &scaled), 0.0);
    for _ in 0..until.steps {
        if 0.5 * decrement <= until.tolerance * value {
            break;
        }
        direction.iter_mut().zip(&scaled).for_each(|(d, s)| *d = kept * *d - s);
        let mut change = passes.twice_normal(&direction);
        add_penalty(&mut change, &direction, passes.columns(), alpha);
        let step = decrement / dot(&direction, &change);
        if !(step > 0.0 && step.is_finite()) {
            break;
        }
        at.iter_mut().zip(&direction).for_each(|(at, d)| *at += step * d);
        gradient.iter_mut().zip(&change).for_each(|(g, c)| *g += step * c);
        scaled = solve(&gradient);
        let next = dot(&gradient, &scaled);
        (kept, decrement) = (next / decrement, next);
    }
    at
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Of each output the coefficients of the cells, and those of the design behind them.
pub(super) fn split(coefficients: &[f64], cells: usize, outputs: usize) -> (Vec<f64>, Vec<f64>) {
    let of_output = coefficients.chunks_exact(coefficients.len() / outputs);
    let of_cells = of_output.clone().flat_map(|b| &b[..cells]).copied().collect();
    (of_cells, of_output.flat_map(|b| &b[cells..]).copied().collect())
}

/// The other way.
pub(super) fn joined(cells: &[f64], design: &[f64], outputs: usize) -> Vec<f64> {
    let (of_cells, of_design) = (cells.len() / outputs, design.len() / outputs);
    let part = |values: &[f64], len: usize, c: usize| values[c * len..(c + 1) * len].to_vec();
    (0..outputs).flat_map(|c| [part(cells, of_cells, c), part(design, of_design, c)]).flatten().collect()
}
