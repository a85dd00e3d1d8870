//! Iterations on a head: in coordinates in which the Hessian is nearly the identity, with one pass over the rows a step.
//!
//! The coefficients of each output are those of the cells, where there are partitions, and those of the design behind them.

use crate::numerics::cholesky::Cholesky;
use crate::numerics::lbfgs::{Lbfgs, Point};
use crate::solver::cells::Cells;
use crate::solver::design_rows::DesignRows;

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

/// What a squared coefficient costs: of a cell, and of the design behind the cells but for the intercept, its last.
#[derive(Clone, Copy)]
pub(super) struct Penalty {
    pub(super) cell: f64,
    pub(super) design: f64,
}

impl Penalty {
    /// The penalty of the coefficients, whose gradient is added.
    fn add(self, passes: &DesignRows<'_>, b: &[f64], gradient: &mut [f64]) -> f64 {
        let (m, cells, mut sum) = (passes.columns(), passes.cells(), 0.0);
        for (g, b) in gradient.chunks_exact_mut(m).zip(b.chunks_exact(m)) {
            for (at, (g, b)) in g.iter_mut().zip(b).take(m - 1).enumerate() {
                let penalty = if at < cells { self.cell } else { self.design };
                *g += 2.0 * penalty * b;
                sum += penalty * b * b;
            }
        }
        sum
    }
}

/// L with LL' (nearly) the Hessian: a diagonal for the cells, a Cholesky factor for the design behind them.
pub(super) struct Preconditioner {
    /// The mean square of each cell's indicator in the Hessian.
    squares: Vec<f64>,
    /// Roots of the diagonal.
    cells: Vec<f64>,
    dense: Cholesky,
    /// What both are multiplied with.
    times: f64,
}

impl Preconditioner {
    /// `times` a Hessian: of the cells, from the weights of the rows in it, and of the design.
    pub(super) fn new(
        cells: Option<&Cells>,
        weights: impl ExactSizeIterator<Item = f64>,
        dense: Cholesky,
        times: f64,
    ) -> Self {
        let rows = weights.len() as f64;
        let squares = cells.map_or(Vec::new(), |cells| cells.sums(weights.map(|w| w / rows)));
        Self { cells: squares.clone(), squares, dense, times }
    }

    /// With a cell's penalty.
    pub(super) fn penalise(&mut self, penalty: f64) {
        let of = |square: &f64| curvature(*square, penalty).sqrt();
        self.cells = self.squares.iter().map(of).collect();
    }

    pub(super) fn into_dense(self) -> Cholesky {
        self.dense
    }

    /// Coefficients of each head.
    pub(super) fn len(&self) -> usize {
        self.squares.len() + self.dense.len()
    }

    /// L^-1 b for each head, in place.
    fn solve_lower(&self, b: &mut [f64]) {
        self.apply(b, |b, root| *b /= root, Cholesky::solve_lower, self.times.sqrt().recip());
    }

    /// L'^-1 b.
    fn solve_upper(&self, b: &mut [f64]) {
        self.apply(b, |b, root| *b /= root, Cholesky::solve_upper, self.times.sqrt().recip());
    }

    /// L' b.
    fn multiply_upper(&self, b: &mut [f64]) {
        self.apply(b, |b, root| *b *= root, Cholesky::multiply_upper, self.times.sqrt());
    }

    fn apply(
        &self,
        b: &mut [f64],
        cell: impl Fn(&mut f64, f64),
        dense: impl Fn(&Cholesky, &mut [f64]),
        scale: f64,
    ) {
        let cells = self.cells.len();
        let mut of_design = designs(b.chunks_exact(self.len()), cells);
        // All heads share a pass over the factor.
        dense(&self.dense, &mut of_design);
        for (b, design) in b.chunks_exact_mut(self.len()).zip(of_design.chunks_exact(self.dense.len())) {
            b.iter_mut().zip(&self.cells).for_each(|(b, &root)| cell(b, root));
            b[cells..].copy_from_slice(design);
        }
        if scale != 1.0 {
            b.iter_mut().for_each(|b| *b *= scale);
        }
    }

    /// (LL')^-1 times the gradients of some searches, each with its own penalty of a cell.
    fn newton_steps(&self, searches: &[Search]) -> Vec<Vec<f64>> {
        let (cells, len) = (self.squares.len(), self.len());
        let heads = searches.iter().flat_map(|search| search.gradient.chunks_exact(len));
        let mut of_designs = designs(heads, cells);
        self.dense.solve(&mut of_designs);
        let mut of_designs = of_designs.chunks_exact(self.dense.len());
        let step = |search: &Search| {
            let mut step = search.gradient.clone();
            for step in step.chunks_exact_mut(len) {
                let of_cells = step.iter_mut().zip(&self.squares);
                of_cells.for_each(|(step, &square)| *step /= curvature(square, search.penalty.cell));
                step[cells..].copy_from_slice(of_designs.next().expect("one for each head"));
                step.iter_mut().for_each(|step| *step /= self.times);
            }
            step
        };
        searches.iter().map(step).collect()
    }
}

/// Of a cell. One without rows or penalty has none, and no gradient.
fn curvature(square: f64, penalty: f64) -> f64 {
    match square + penalty {
        0.0 => 1.0,
        sum => sum,
    }
}

/// What is behind the cells in each head.
fn designs<'a>(heads: impl Iterator<Item = &'a [f64]>, cells: usize) -> Vec<f64> {
    heads.flat_map(|head| &head[cells..]).copied().collect()
}

/// L-BFGS on u = L'b.
pub(super) fn descend(
    hessian: &Preconditioner,
    start: Vec<f64>,
    penalty: Penalty,
    until: Until,
    passes: &DesignRows<'_>,
) -> (Vec<f64>, Descended) {
    let mut evaluate = |u: Vec<f64>| {
        let mut b = u.clone();
        hessian.solve_upper(&mut b);
        let (loss, mut g) = passes.gradient(&b);
        let value = loss + penalty.add(passes, &b, &mut g);
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

/// A head on its way, with penalties of its own.
struct Search {
    penalty: Penalty,
    /// It is found when the squared Newton decrement is below this.
    enough: f64,
    at: Vec<f64>,
    gradient: Vec<f64>,
    direction: Vec<f64>,
    decrement: f64,
    found: bool,
}

impl Search {
    /// A direction conjugate to the last one, given the Newton step.
    fn turn(&mut self, newton: &[f64]) {
        let decrement = dot(&self.gradient, newton);
        let kept = if self.decrement > 0.0 { decrement / self.decrement } else { 0.0 };
        self.direction.iter_mut().zip(newton).for_each(|(d, step)| *d = kept * *d - step);
        self.decrement = decrement;
        self.found |= decrement <= self.enough;
    }

    /// To the minimum along the direction, given what the gradient changes by.
    fn go(&mut self, change: &[f64]) {
        let step = self.decrement / dot(&self.direction, change);
        self.found |= !(step > 0.0 && step.is_finite());
        if !self.found {
            self.at.iter_mut().zip(&self.direction).for_each(|(at, d)| *at += step * d);
            self.gradient.iter_mut().zip(change).for_each(|(g, c)| *g += step * c);
        }
    }
}

/// Preconditioned conjugate gradients, for a squared loss: its gradient is linear, and so is what a step changes of it. A head
/// for each of the penalties; all of them share the passes over the rows.
pub(super) fn conjugate_gradients(
    hessian: &Preconditioner,
    start: &[f64],
    penalties: &[Penalty],
    until: Until,
    passes: &DesignRows<'_>,
) -> Vec<Vec<f64>> {
    let (loss, unpenalised) = passes.gradient(start);
    let search = |&penalty: &Penalty| {
        let mut gradient = unpenalised.clone();
        let value = loss + penalty.add(passes, start, &mut gradient);
        let (at, direction) = (start.to_vec(), vec![0.0; start.len()]);
        let enough = 2.0 * until.tolerance * value;
        Search { penalty, enough, at, gradient, direction, decrement: 0.0, found: false }
    };
    let mut searches: Vec<Search> = penalties.iter().map(search).collect();
    for _ in 0..until.steps {
        let newton = hessian.newton_steps(&searches);
        searches.iter_mut().zip(&newton).for_each(|(search, newton)| search.turn(newton));
        if searches.iter().all(|search| search.found) {
            break;
        }
        let directions: Vec<f64> = searches.iter().flat_map(|search| &search.direction).copied().collect();
        let mut changes = passes.twice_normal(&directions);
        for (search, change) in searches.iter_mut().zip(changes.chunks_exact_mut(start.len())) {
            search.penalty.add(passes, &search.direction, change);
            search.go(change);
        }
    }
    searches.into_iter().map(|search| search.at).collect()
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
