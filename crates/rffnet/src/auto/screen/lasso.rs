//! The lasso (Tibshirani 1996) by coordinate descent, its penalty chosen by cross-validation.

use rayon::prelude::*;

use super::{Table, add, dot};

/// Parts of the rows for cross-validation; penalties from the strongest, the factor between neighbours, and how many come without
/// a better one before the path ends.
const FOLDS: usize = 5;
const PENALTIES: usize = 40;
const PENALTY_STEP: f64 = 0.85;
const PATIENCE: usize = 5;
/// Sweeps over the columns for a penalty, and the change of a coefficient that ends them.
const MOST_SWEEPS: usize = 20;
const TOLERANCE: f32 = 1e-3;

impl Table {
    /// The lasso with the penalty that cross-validation prefers.
    pub(super) fn lasso(&self, target: &[f32]) -> Lasso {
        let n = self.rows();
        let strongest = self.correlations(target).iter().fold(0.0, |m: f32, c| m.max(c.abs()));
        let penalty = |step: usize| strongest * (PENALTY_STEP as f32).powi(step as i32);
        let inside =
            |fold: Option<usize>| (0..n).map(move |i| fold != Some(i % FOLDS)).collect::<Vec<bool>>();
        let mut folds: Vec<Path<'_>> =
            (0..FOLDS).map(|fold| Path::new(self, target, inside(Some(fold)))).collect();
        // Of each row, of the fold that does not know it.
        let errors_of = |folds: &[Path<'_>]| (0..n).map(|i| folds[i % FOLDS].errors[i]).collect::<Vec<f32>>();
        let square = |errors: &[f32]| errors.iter().map(|e| e * e).sum::<f32>();
        let mut errors = vec![errors_of(&folds)];
        let mut best = 0;
        for step in 1..PENALTIES {
            folds.par_iter_mut().for_each(|fold| fold.descend(penalty(step)));
            errors.push(errors_of(&folds));
            if square(&errors[step]) < square(&errors[best]) {
                best = step;
            }
            if step > best + PATIENCE {
                break;
            }
        }
        // Within a standard error of the best one, row by row.
        let no_worse = |errors_of_step: &Vec<f32>| {
            let differences = || errors_of_step.iter().zip(&errors[best]).map(|(a, b)| a * a - b * b);
            let mean = differences().sum::<f32>() / n as f32;
            mean <= (differences().map(|d| (d - mean).powi(2)).sum::<f32>()).sqrt() / n as f32
        };
        let simplest = errors.iter().position(no_worse).unwrap_or(best);
        let mut path = Path::new(self, target, inside(None));
        (1..=simplest).for_each(|step| path.descend(penalty(step)));
        let few = (0..self.columns.len()).filter(|&j| path.coefficients[j] != 0.0).collect();
        (simplest + 1..=best).for_each(|step| path.descend(penalty(step)));
        Lasso { coefficients: path.coefficients, few, errors: errors.swap_remove(best) }
    }
}

/// What the lasso says of a target.
pub(super) struct Lasso {
    pub(super) coefficients: Vec<f32>,
    /// Columns that it keeps with the strongest penalty that is within a standard error of the best.
    pub(super) few: Vec<usize>,
    /// Of each row, by a fit that does not know it.
    pub(super) errors: Vec<f32>,
}

/// The lasso on some of the rows, from strong to weak penalties.
pub(super) struct Path<'a> {
    table: &'a Table,
    inside: Vec<bool>,
    pub(super) coefficients: Vec<f32>,
    /// Of all rows, and of those inside alone, zero elsewhere.
    pub(super) errors: Vec<f32>,
    pub(super) residual: Vec<f32>,
    /// Squared lengths of the columns inside.
    lengths: Vec<f32>,
    penalty: f32,
}

impl<'a> Path<'a> {
    pub(super) fn new(table: &'a Table, target: &[f32], inside: Vec<bool>) -> Self {
        let length =
            |x: &[f32]| x.iter().zip(&inside).filter(|(_, inside)| **inside).map(|(x, _)| x * x).sum();
        let lengths = table.x.par_chunks(table.rows()).map(length).collect();
        let mut path = Self {
            table,
            coefficients: vec![0.0; table.columns.len()],
            errors: target.to_vec(),
            residual: Vec::new(),
            lengths,
            penalty: f32::INFINITY,
            inside,
        };
        path.residual = path.within();
        path
    }

    fn within(&self) -> Vec<f32> {
        self.errors.iter().zip(&self.inside).map(|(&e, &inside)| if inside { e } else { 0.0 }).collect()
    }

    /// To the next, weaker penalty: coordinate descent on the columns that the strong rule leaves (Tibshirani et al. 2012), until
    /// no other should move.
    pub(super) fn descend(&mut self, penalty: f32) {
        let share = self.inside.iter().zip(&self.table.roots).filter(|(inside, _)| **inside);
        let penalty = penalty * share.map(|(_, root)| root * root).sum::<f32>();
        let rule = if self.penalty.is_finite() { 2.0 * penalty - self.penalty } else { penalty };
        let gradient = self.table.correlations(&self.residual);
        let may_move = |j: &usize| self.coefficients[*j] != 0.0 || gradient[*j].abs() >= rule;
        let mut working: Vec<usize> = (0..gradient.len()).filter(may_move).collect();
        for _ in 0..MOST_SWEEPS {
            if self.sweep(&working, penalty) > TOLERANCE {
                continue;
            }
            let gradient = self.table.correlations(&self.residual);
            let violates = |j: &usize| self.coefficients[*j] == 0.0 && gradient[*j].abs() > 1.001 * penalty;
            let others: Vec<usize> = (0..gradient.len()).filter(violates).collect();
            if others.is_empty() {
                break;
            }
            working.extend(others);
        }
        self.penalty = penalty;
    }

    /// The largest change of a coefficient.
    fn sweep(&mut self, working: &[usize], penalty: f32) -> f32 {
        let mut moved: f32 = 0.0;
        for &j in working.iter().filter(|&&j| self.lengths[j] > 1e-6) {
            let (x, b) = (self.table.column(j), self.coefficients[j]);
            let u = dot(x, &self.residual) + self.lengths[j] * b;
            let new = u.signum() * (u.abs() - penalty).max(0.0) / self.lengths[j];
            let change = new - b;
            if change != 0.0 {
                self.coefficients[j] = new;
                add(&mut self.errors, -change, x);
                let inside = self.residual.iter_mut().zip(x).zip(&self.inside);
                inside.for_each(|((r, x), &inside)| *r -= if inside { change * x } else { 0.0 });
                moved = moved.max(change.abs());
            }
        }
        moved
    }
}
