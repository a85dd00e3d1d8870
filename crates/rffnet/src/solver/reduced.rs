//! The reduced problem: for given relevances (and frequencies) the best head is found exactly, and what is left is a
//! smooth function of the relevances alone. By the envelope theorem its gradient is the partial gradient at that head.
//!
//! Squared loss: one Cholesky solve of the normal equations; several outputs share it. Cross-entropy: L-BFGS on the
//! head in coordinates in which the Hessian is nearly the identity, to a stated tolerance. Where partitions stand beside the
//! design, the squared loss is minimised by conjugate gradients in such coordinates.

use crate::backend::{GradientBuffers, Wanted};
use crate::features::{Network, Partitions, ScaledFeatures, Weights};
use crate::loss::ExactHead;
use crate::numerics::cholesky::Cholesky;
use crate::problem::Problem;
use crate::ridge::{Design, DualForm, Linear, Ridge};
use crate::solver::cells::Cells;
use crate::solver::design_rows::DesignRows;
use crate::solver::iterate::{
    Descended, Penalty, Preconditioner, Until, conjugate_gradients, descend, joined, split,
};
use crate::solver::kept_design::KeptDesign;

/// The head of a classifier is solved until half the squared Newton decrement is below this share of the loss. A looser head
/// would bias the envelope gradient.
const HEAD_TOLERANCE: f64 = 1e-6;
const HEAD_STEPS: usize = 60;

/// The same for a head with cells: no gradient is taken there, and validation chooses the penalty for the steps that are made.
const WITH_CELLS: Until = Until { steps: 10, tolerance: 1e-3 };

/// After this many steps with a Hessian of earlier relevances it is renewed.
const STALE_HESSIAN_STEPS: usize = 12;

/// The least that a row weighs in a Hessian.
const MIN_CURVATURE: f64 = 1e-4;

/// What the exact head is asked to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HeadSettings<'a> {
    pub(crate) alpha: f64,
    pub(crate) linear: Linear<'a>,
}

/// Heads on one set of rows; remembers the last head and Hessian to start from.
pub(crate) struct Reduced<'a> {
    problem: &'a Problem<'a>,
    rows: &'a [usize],
    settings: HeadSettings<'a>,
    /// The normal equations of a squared loss, for the features of the last head.
    ridge: Option<Ridge>,
    /// The design for the features of the last head, once it was needed and where it can be kept.
    kept: Option<KeptDesign>,
    /// The dual form of a classifier for those features, where it is used.
    dual: Option<DualForm>,
    /// Where the rows lie in the partitions, if the head has any.
    cells: Option<Cells>,
    /// What the mean square of the cells' values is penalised with.
    cell_penalty: f64,
    /// The last head: for each output the coefficients of the cells, and those of the design behind them.
    warm: Option<Vec<f64>>,
    hessian: Option<Preconditioner>,
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
    pub(crate) fn new(problem: &'a Problem<'a>, rows: &'a [usize], settings: HeadSettings<'a>) -> Self {
        let (ridge, kept, dual, cells, warm, hessian) = (None, None, None, None, None, None);
        Self { problem, rows, settings, ridge, kept, dual, cells, cell_penalty: 0.0, warm, hessian }
    }

    /// With the features of the last head, but on more rows, the first ones of which are those so far.
    pub(crate) fn on_more(self, rows: &'a [usize], features: &ScaledFeatures) -> Self {
        let (problem, design) = (self.problem, Design::new(features, self.settings.linear));
        let (before, new) = (self.rows.len(), &rows[self.rows.len()..]);
        let ridge = self.ridge.map(|ridge| ridge.on_more(problem, &design, rows, before));
        let kept = self.kept.and_then(|kept| kept.on_more(problem, &design, new));
        let partitions = features.map.partitions.as_ref();
        let cells = self.cells.zip(partitions);
        let cells = cells.map(|(cells, partitions)| cells.on_more(problem, new, partitions));
        // With cells, steps are few: a Hessian of other rows is kept only if it says as much of all rows. That of classes that
        // the first rows tell apart does not, and the dual form has other coordinates.
        let fits = cells.is_none() || ridge.as_ref().is_some_and(|ridge| ridge.dual().is_none());
        let hessian = self.hessian.filter(|_| fits);
        Self { rows, ridge, kept, dual: None, cells, hessian, ..self }
    }

    /// With partitions beside the design of the last head, which has none.
    pub(crate) fn with_partitions(self, partitions: &Partitions) -> Self {
        let (cells, outputs) = (Cells::new(self.problem, self.rows, partitions), self.problem.outputs);
        let none = vec![0.0; outputs * cells.columns()];
        let warm = self.warm.map(|warm| joined(&none, &warm, outputs));
        Self { warm, cells: Some(cells), ..self }
    }

    /// The design alone.
    pub(crate) fn without_partitions(self) -> Self {
        let warm = self.warm.map(|warm| split(&warm, count(&self.cells), self.problem.outputs).1);
        Self { warm, cells: None, ..self }
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
        (self.ridge, self.kept, self.dual) = (None, None, None);
        self.penalised(features, self.settings.alpha)
    }

    /// The exact head on the features of the last one, with this penalty; beside cells, with the last penalty of theirs.
    pub(crate) fn penalised(&mut self, features: &ScaledFeatures, alpha: f64) -> Weights {
        self.best_penalised(features, alpha, &[self.cell_penalty], |_| 0.0).1
    }

    /// The exact head on the features of the last one with this penalty, and with the penalties of the mean square of the cells'
    /// values in turn, for as long as what `judge` says of it falls. Returns the least of that, and its head.
    pub(crate) fn best_penalised(
        &mut self,
        features: &ScaledFeatures,
        alpha: f64,
        cell_penalties: &[f64],
        judge: impl Fn(&Weights) -> f64,
    ) -> (f64, Weights) {
        self.settings.alpha = alpha;
        let design = Design::new(features, self.settings.linear);
        let exact = self.problem.loss.exact_head();
        let mut together = match exact {
            ExactHead::LeastSquares => self.least_squares(&design, cell_penalties).into_iter(),
            _ => Vec::new().into_iter(),
        };
        let mut best: Option<(f64, Weights, Vec<f64>)> = None;
        for &penalty in cell_penalties {
            let head = match exact {
                ExactHead::LeastSquares => together.next().expect("a head for each penalty"),
                ExactHead::Newton(curvature) => self.newton(&design, curvature, penalty),
                ExactHead::None => unreachable!("a loss without an exact head is minimised by descent"),
            };
            let (of_cells, of_design) = split(&head, count(&self.cells), self.problem.outputs);
            let cells = self.cells.iter().flat_map(|cells| {
                of_cells.chunks_exact(cells.columns()).flat_map(|of_output| cells.spread(of_output))
            });
            let weights = Weights { cells: cells.collect(), ..design.weights(&of_design) };
            let value = judge(&weights);
            self.warm = Some(head.clone());
            // A value that is not a number is not lower.
            let lower = |best: &(f64, _, _)| value < best.0 || best.0.is_nan();
            if !best.as_ref().is_none_or(lower) {
                break;
            }
            self.cell_penalty = penalty;
            best = Some((value, weights, head));
        }
        let (value, weights, head) = best.expect("there is a penalty");
        self.warm = Some(head);
        (value, weights)
    }

    /// The heads of a squared loss, one for each penalty of the cells.
    fn least_squares(&mut self, design: &Design<'_>, cell_penalties: &[f64]) -> Vec<Vec<f64>> {
        let ridge = self.ridge.take().unwrap_or_else(|| Ridge::new(self.problem, design, self.rows));
        let heads = match self.cells {
            None => vec![ridge.head(self.settings.alpha)],
            Some(_) => self.beside_cells(design, &ridge, cell_penalties),
        };
        self.ridge = Some(ridge);
        heads
    }

    /// What coefficients are penalised with where the mean square of the cells' values is penalised with this.
    fn penalty(&self, of_cells: f64) -> Penalty {
        let partitions = self.cells.as_ref().map_or(0, Cells::partitions);
        Penalty { cell: of_cells * partitions as f64, design: self.settings.alpha }
    }

    /// The design, if it can be kept, for passes that have no other coordinates.
    fn keep(&mut self, design: &Design<'_>, dual: Option<&DualForm>) -> Option<KeptDesign> {
        let new = || KeptDesign::new(self.problem, design, self.rows);
        self.kept.take().or_else(|| dual.is_none().then(new).flatten())
    }

    /// The heads of a squared loss on the design and the cells, preconditioned with the normal equations of the design.
    fn beside_cells(&mut self, design: &Design<'_>, ridge: &Ridge, cell_penalties: &[f64]) -> Vec<Vec<f64>> {
        let (problem, rows, alpha) = (self.problem, self.rows, self.settings.alpha);
        let penalties: Vec<Penalty> = cell_penalties.iter().map(|&of_cells| self.penalty(of_cells)).collect();
        let kept = self.keep(design, ridge.dual());
        let cells = self.cells.take();
        let passes = DesignRows::new(problem, rows, design, ridge.dual(), kept.as_ref(), cells.as_ref());
        let hessian = self.hessian.take().filter(|hessian| hessian.len() == passes.columns());
        let hessian = hessian.unwrap_or_else(|| {
            let weights = rows.iter().map(|&i| problem.weight(i) as f64);
            // Twice the normal equations, since the loss is (f - y)^2.
            Preconditioner::new(cells.as_ref(), weights, ridge.factor(alpha), 2.0)
        });
        let found = self.in_dual(ridge.dual(), &passes, |_, warm| {
            conjugate_gradients(&hessian, &warm, &penalties, WITH_CELLS, &passes)
        });
        (self.hessian, self.cells, self.kept) = (Some(hessian), cells, kept);
        found
    }

    /// The head of classes, from the last one.
    fn newton(&mut self, design: &Design<'_>, curvature: fn(&[f32]) -> f64, cell_penalty: f64) -> Vec<f64> {
        let (problem, rows, alpha) = (self.problem, self.rows, self.settings.alpha);
        let penalty = self.penalty(cell_penalty);
        let dual = self.dual.take().or_else(|| DualForm::new(problem, design, rows));
        let kept = self.keep(design, dual.as_ref());
        let cells = self.cells.take();
        let passes = DesignRows::new(problem, rows, design, dual.as_ref(), kept.as_ref(), cells.as_ref());
        let hessian = |at: &[f64], dense: Option<Cholesky>| {
            // Weights of the rows in the Hessian, one block for all classes.
            let mut by_row = vec![0.0; problem.columns.x.rows()];
            for (f, &i) in passes.outputs(at).chunks_exact(problem.outputs).zip(rows) {
                by_row[i] = curvature(f).max(MIN_CURVATURE) as f32;
            }
            let weights = rows.iter().map(|&i| (problem.weight(i) * by_row[i]) as f64);
            let moments = || match &dual {
                Some(dual) => dual.moments(problem, rows, Some(&by_row)),
                None => problem.backend.moments(problem, design, rows, Some(&by_row)),
            };
            let dense = dense.unwrap_or_else(|| moments().factor(2.0 * alpha));
            Preconditioner::new(cells.as_ref(), weights, dense, 1.0)
        };
        let found = self.in_dual(dual.as_ref(), &passes, |reduced, warm| {
            vec![reduced.seek(warm, penalty, &passes, hessian)]
        });
        (self.cells, self.kept, self.dual) = (cells, kept, dual);
        found.into_iter().next().expect("one head")
    }

    /// Solves from the last head, or from a constant, in the coordinates of the dual form where that is used.
    fn in_dual(
        &mut self,
        dual: Option<&DualForm>,
        passes: &DesignRows<'_>,
        solve: impl FnOnce(&mut Self, Vec<f64>) -> Vec<Vec<f64>>,
    ) -> Vec<Vec<f64>> {
        let (cells, outputs) = (passes.cells(), self.problem.outputs);
        let in_dual = |head: Vec<f64>, map: fn(&DualForm, &[f64]) -> Vec<f64>| match dual {
            Some(dual) => {
                let (of_cells, of_design) = split(&head, cells, outputs);
                joined(&of_cells, &map(dual, &of_design), outputs)
            }
            None => head,
        };
        let warm = self.warm.take().map(|warm| in_dual(warm, DualForm::compress));
        let warm = warm.filter(|warm| warm.len() == outputs * passes.columns());
        let start = warm.unwrap_or_else(|| self.constant_head(outputs, passes.columns()));
        solve(self, start).into_iter().map(|head| in_dual(head, DualForm::expand)).collect()
    }

    /// The coefficients at which loss and penalty are smallest. A Hessian is renewed when descent with the one before has
    /// lasted long enough; with cells there is one, and few steps.
    fn seek(
        &mut self,
        mut at: Vec<f64>,
        penalty: Penalty,
        passes: &DesignRows<'_>,
        hessian: impl Fn(&[f64], Option<Cholesky>) -> Preconditioner,
    ) -> Vec<f64> {
        let mut now = match self.hessian.take() {
            Some(stale) if stale.len() == passes.columns() => stale,
            // Cells have come, or gone, beside the same design.
            stale => {
                let dense = stale.map(Preconditioner::into_dense);
                let known = dense.filter(|dense| dense.len() + passes.cells() == passes.columns());
                hessian(&at, known)
            }
        };
        if passes.cells() > 0 {
            now.penalise(2.0 * penalty.cell);
            at = descend(&now, at, penalty, WITH_CELLS, passes).0;
        } else {
            for round in 0..4 {
                let steps = if round == 0 { STALE_HESSIAN_STEPS } else { HEAD_STEPS };
                let until = Until { steps, tolerance: HEAD_TOLERANCE };
                let (end, done) = descend(&now, at, penalty, until, passes);
                at = end;
                if done == Descended::Converged || (done == Descended::Stuck && round > 0) {
                    break;
                }
                now = hessian(&at, None);
            }
        }
        self.hessian = Some(now);
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

/// Coefficients of the cells, for each output.
fn count(cells: &Option<Cells>) -> usize {
    cells.as_ref().map_or(0, Cells::columns)
}

#[cfg(test)]
mod tests;
