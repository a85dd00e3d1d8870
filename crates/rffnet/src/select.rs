//! Variable selection: TopK, Algorithm 3 of the paper, and TopK with the one-standard-error rule.

use crate::metrics;
use crate::model::Task;
use crate::params::{Missing, Preset};
use crate::scores::Scores;
use crate::{Data, Error, Model, Target};

/// The score of the model that keeps the `columns` most relevant columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Columns kept.
    pub columns: usize,
    /// Minus the mean squared error, or the AUC: larger is better.
    pub score: f64,
}

/// What TopK found.
#[derive(Debug, Clone, PartialEq)]
pub struct TopK {
    /// Columns by falling relevance; by falling importance where the model has linear terms or
    /// partitions.
    pub order: Vec<usize>,
    /// That relevance or importance, by column.
    pub rank: Vec<f32>,
    /// Scores with 0, 1, ..., d columns.
    pub path: Vec<Step>,
    /// How many columns score best (the fewest, among equals).
    pub best: usize,
    /// How many are selected: `best`, or fewer by the one-standard-error rule.
    pub kept: usize,
}

impl TopK {
    /// The columns selected, by falling relevance.
    pub fn selected(&self) -> &[usize] {
        &self.order[..self.kept]
    }
}

/// By how many standard errors of the difference fewer columns may be worse than the best number of them.
const AS_GOOD: f64 = 1.0;

/// Scores, on held-out rows, the models that keep the 0, 1, ..., d most relevant columns, and picks the best.
///
/// The score is minus the mean squared error for regression and the AUC for classification (macro one-vs-rest for
/// several classes). That is the paper's Algorithm 3, and all that is done to a model of the preset `paper`. A column
/// that bears on nothing raises the score in half of all cases, by chance: from other models, columns are then dropped
/// from the end as long as the score is no worse than the best by more than one standard error of the difference. Get
/// the selected model with [`Model::restricted`].
pub fn top_k(model: &Model, data: &Data<'_>) -> Result<TopK, Error> {
    let relevance = model.relevances();
    let mut order: Vec<usize> = (0..relevance.len()).collect();
    // A relevance knows nothing of linear terms and partitions, and a column may act through those alone.
    let beside = model.plan().common.linear || model.partitions() > 0;
    let rank = if beside { model.importances().to_vec() } else { relevance.clone() };
    // Equal ones keep the order of the columns.
    order.sort_by(|&a, &b| rank[b].total_cmp(&rank[a]));
    let mut path = Vec::with_capacity(order.len() + 1);
    for columns in 0..=order.len() {
        // A column without influence changes nothing: its score is that of the step before.
        let added = columns.checked_sub(1).map(|last| order[last]);
        let same = added.is_some_and(|j| relevance[j] == 0.0 && model.importances()[j] == 0.0);
        let score = match path.last() {
            Some(Step { score, .. }) if same => *score,
            _ => score(&model.restricted(&order[..columns]), data)?,
        };
        path.push(Step { columns, score });
    }
    let mut best = 0;
    for step in &path {
        if step.score > path[best].score {
            best = step.columns;
        }
    }
    let mut kept = best;
    if model.plan().common.preset != Preset::Paper {
        let influence = |columns: usize| influence(&model.restricted(&order[..columns]), data);
        let of_best = influence(best)?;
        while kept > 0 {
            let of_fewer = influence(kept - 1)?;
            let error = of_best.iter().zip(&of_fewer).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            let worse = path[best].score - path[kept - 1].score;
            if worse > AS_GOOD * error {
                break;
            }
            kept -= 1;
        }
    }
    Ok(TopK { order, rank, path, best, kept })
}

/// How much each row moves the score, to first order. Sums of squares of it, or of differences between two models, are
/// squared standard errors.
fn influence(model: &Model, data: &Data<'_>) -> Result<Vec<f64>, Error> {
    let weight = |i: usize| data.weight.map_or(1.0, |w| w[i] as f64);
    match data.y {
        Target::Values { values, outputs } => {
            let predicted = model.predict(data.x)?;
            let squares: Vec<f64> = values.iter().zip(&predicted).map(|(y, f)| (y - f).powi(2)).collect();
            let losses: Vec<f64> =
                squares.chunks_exact(outputs).map(|row| row.iter().sum::<f64>() / outputs as f64).collect();
            let total: f64 = (0..losses.len()).map(weight).sum();
            let mean = losses.iter().enumerate().map(|(i, l)| weight(i) * l).sum::<f64>() / total;
            Ok(losses.iter().enumerate().map(|(i, l)| weight(i) * (mean - l) / total).collect())
        }
        Target::Labels { codes, classes } => {
            let k = classes.len();
            let p = model.probabilities(data.x)?;
            // As the score: the second of two classes, or the mean over all that occur.
            let columns = if k == 2 { 1..2 } else { 0..k };
            let of_class = |c: usize| {
                let scores: Vec<f64> = p.iter().skip(c).step_by(k).copied().collect();
                let positive: Vec<bool> = codes.iter().map(|&code| code as usize == c).collect();
                metrics::auc_influence(&scores, &positive, data.weight)
            };
            let found: Vec<Vec<f64>> = columns.filter_map(of_class).collect();
            let share = 1.0 / found.len().max(1) as f64;
            Ok((0..codes.len()).map(|i| share * found.iter().map(|h| h[i]).sum::<f64>()).collect())
        }
    }
}

/// Minus the mean squared error, or the AUC.
pub fn score(model: &Model, data: &Data<'_>) -> Result<f64, Error> {
    data.check(model.plan().common.missing != Missing::Error)?;
    if data.x.rows() == 0 || data.weight.is_some_and(|w| w.iter().all(|&w| w == 0.0)) {
        return Err(Error::Shape("no row has a weight above zero, so there is nothing to score".into()));
    }
    let fits = match data.y {
        Target::Values { outputs, .. } => model.task() == Task::Regression && outputs == model.outputs(),
        Target::Labels { classes, .. } => classes == model.classes(),
    };
    if !fits {
        return Err(Error::Shape("the target does not fit the model".into()));
    }
    match Scores::of(model, data)? {
        Scores::Regression { mse, .. } => Ok(-mse),
        Scores::Classification { auc, .. } => {
            auc.ok_or_else(|| Error::Target("the AUC needs rows of at least two classes".into()))
        }
    }
}
