//! Variable selection: TopK, Algorithm 3 of the paper.

use crate::metrics;
use crate::model::Task;
use crate::params::Missing;
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
    /// Columns by falling relevance; by falling importance where the model has linear terms.
    pub order: Vec<usize>,
    /// That relevance or importance, by column.
    pub rank: Vec<f32>,
    /// Scores with 0, 1, ..., d columns.
    pub path: Vec<Step>,
    /// How many columns score best (the fewest, among equals).
    pub best: usize,
}

impl TopK {
    /// The columns selected, by falling relevance.
    pub fn selected(&self) -> &[usize] {
        &self.order[..self.best]
    }
}

/// Scores, on held-out rows, the models that keep the 0, 1, ..., d most relevant columns, and picks the best.
///
/// The score is minus the mean squared error for regression and the AUC for classification (macro one-vs-rest for
/// several classes). Get the selected model with [`Model::restricted`].
pub fn top_k(model: &Model, data: &Data<'_>) -> Result<TopK, Error> {
    let relevance = model.relevances();
    let mut order: Vec<usize> = (0..relevance.len()).collect();
    // A relevance knows nothing of linear terms, and a column may act through those alone.
    let rank = if model.plan().linear { model.importances().to_vec() } else { relevance.clone() };
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
    Ok(TopK { order, rank, path, best })
}

/// Minus the mean squared error, or the AUC.
pub fn score(model: &Model, data: &Data<'_>) -> Result<f64, Error> {
    data.check(model.plan().missing == Missing::Mean)?;
    match (model.task(), data.y) {
        (Task::Regression, Target::Values { values, outputs }) if outputs == model.outputs() => {
            let predicted = model.predict(data.x)?;
            let weight: Option<Vec<f32>> =
                data.weight.map(|w| w.iter().flat_map(|&w| std::iter::repeat_n(w, outputs)).collect());
            Ok(-metrics::mse(values, &predicted, weight.as_deref()))
        }
        (Task::Classification, Target::Labels { codes, classes }) if classes == model.classes() => {
            let p = model.probabilities(data.x)?;
            let scores = metrics::classification(codes, &p, classes.len(), data.weight);
            scores.auc.ok_or_else(|| Error::Target("the AUC needs rows of at least two classes".into()))
        }
        _ => Err(Error::Shape("the target does not fit the model".into())),
    }
}
