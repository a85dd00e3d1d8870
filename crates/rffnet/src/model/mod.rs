//! A fitted model: predictions, relevances, importances.

pub(crate) mod file;

use serde::{Deserialize, Serialize};

use crate::data::check_cells;
use crate::features::{FeatureMap, Weights, outputs};
use crate::loss::{Link, logistic};
use crate::metrics::argmax;
use crate::params::{Missing, Plan};
use crate::solver::{EpochLoss, History, Stopped};
use crate::transform::Scale;
use crate::{Error, Matrix, names::named_enum};

named_enum! {
    /// What kind of target was learned.
    pub enum Task "task" {
        /// Numbers.
        Regression => "regression",
        /// Labels.
        Classification => "classification",
    }
}

/// How the fit went: part of the model file. Losses are in units of the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Rows learned from, those held out for validation included.
    pub rows: usize,
    /// Rows held out for validation.
    pub validation_rows: usize,
    /// Epochs made.
    pub epochs: usize,
    /// The epoch whose parameters were kept.
    pub best_epoch: usize,
    /// Why it ended.
    pub stopped: Stopped,
    /// Loss on the validation rows of the parameters kept.
    pub validation_loss: Option<f64>,
    /// Loss of the best constant on the same rows (the training rows without a validation part).
    pub baseline_loss: Option<f64>,
    /// What the varpro solver chose, in one line; empty for descent.
    pub chosen: String,
    /// What the user should know, a sentence each.
    pub warnings: Vec<String>,
    /// Losses from epoch to epoch.
    pub losses: Vec<EpochLoss>,
}

/// What stands in the model file beside the numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Card {
    pub(crate) format: u32,
    pub(crate) task: Task,
    pub(crate) classes: Vec<String>,
    pub(crate) feature_names: Vec<String>,
    /// Whether the training data had names; otherwise columns are matched by position.
    pub(crate) named: bool,
    pub(crate) kernel: String,
    pub(crate) link: Link,
    pub(crate) feature_scale: f64,
    /// Predictions of each output are kept between these; empty without a guard.
    pub(crate) guard: Vec<(f64, f64)>,
    pub(crate) params: Plan,
    pub(crate) summary: Summary,
}

/// One network; several are averaged.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) map: FeatureMap,
    pub(crate) weights: Weights,
    pub(crate) stored: Stored,
}

/// A network as the file has it, from which the kernels' form is made: so a model and its reloaded copy agree bit for
/// bit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stored {
    /// `d`; zero for columns the network does not look at.
    pub(crate) theta: Vec<f32>,
    /// `d x s`.
    pub(crate) omega: Vec<f32>,
    pub(crate) phase: Vec<f32>,
    /// `s x k`, without the cosines' factor.
    pub(crate) beta: Vec<f32>,
    pub(crate) intercept: Vec<f32>,
    /// `d x k`; empty without linear terms.
    pub(crate) linear: Vec<f32>,
}

impl Member {
    pub(crate) fn new(stored: Stored, scale: f64) -> Self {
        let (d, s, k) = (stored.theta.len(), stored.phase.len(), stored.intercept.len());
        let mut support: Vec<usize> = (0..d).filter(|&j| stored.theta[j] != 0.0).collect();
        if support.is_empty() {
            support.push(0);
        }
        let omega = support.iter().flat_map(|&j| &stored.omega[j * s..(j + 1) * s]).copied().collect();
        let theta = support.iter().map(|&j| stored.theta[j]).collect();
        let map = FeatureMap::on(d, support, omega, stored.phase.clone());
        let mut weights = Weights { theta, intercept: stored.intercept.clone(), ..Weights::zeros(&map, k) };
        for (i, &b) in stored.beta.iter().enumerate() {
            weights.beta[(i % k) * map.padded() + i / k] = (b as f64 * scale) as f32;
        }
        weights.linear = transposed(&stored.linear, k);
        Self { map, weights, stored }
    }

    /// From trained weights.
    pub(crate) fn from_weights(map: &FeatureMap, weights: &Weights, scale: f64) -> Self {
        let (d, s, k, padded) = (map.columns(), map.features(), weights.intercept.len(), map.padded());
        let mut omega = vec![0.0; d * s];
        for (a, &j) in map.support.iter().enumerate() {
            omega[j * s..(j + 1) * s].copy_from_slice(&map.omega[a * s..(a + 1) * s]);
        }
        let beta =
            (0..s * k).map(|i| (weights.beta[(i % k) * padded + i / k] as f64 / scale) as f32).collect();
        let stored = Stored {
            theta: map.spread(&weights.theta),
            omega,
            phase: map.phase.to_vec(),
            beta,
            intercept: weights.intercept.clone(),
            linear: transposed(&weights.linear, d),
        };
        Self::new(stored, scale)
    }
}

/// A row-major matrix with `rows` columns from one with `rows` rows, and back.
fn transposed(values: &[f32], columns: usize) -> Vec<f32> {
    if values.is_empty() {
        return Vec::new();
    }
    let rows = values.len() / columns;
    (0..values.len()).map(|i| values[(i % rows) * columns + i / rows]).collect()
}

/// A fitted model.
///
/// It holds everything a prediction needs: standardisation, labels, column names. See [`Fit`](crate::Fit) for how one
/// is made, [`Model::save`] and [`Model::load`] for files.
#[derive(Clone)]
pub struct Model {
    pub(crate) card: Card,
    pub(crate) scale: Scale,
    pub(crate) target_mean: Vec<f64>,
    pub(crate) target_scale: Vec<f64>,
    pub(crate) members: Vec<Member>,
    pub(crate) importance: Vec<f32>,
    pub(crate) history: History,
}

impl Model {
    /// Regression or classification.
    pub fn task(&self) -> Task {
        self.card.task
    }

    /// The labels, in the order of the probabilities; empty for regression.
    pub fn classes(&self) -> &[String] {
        &self.card.classes
    }

    /// Column names, in the order rows must have them.
    pub fn feature_names(&self) -> &[String] {
        &self.card.feature_names
    }

    /// Whether the names came with the training data (otherwise they are `x1, x2, ...`).
    pub fn has_names(&self) -> bool {
        self.card.named
    }

    /// Numbers per row that [`Model::decision`] returns.
    pub fn outputs(&self) -> usize {
        self.target_mean.len()
    }

    /// Random features (of each averaged network).
    pub fn random_features(&self) -> usize {
        self.members[0].map.features()
    }

    /// Networks that are averaged.
    pub fn committee(&self) -> usize {
        self.members.len()
    }

    /// The kernel's name; `custom` for a spectrum of the caller's.
    pub fn kernel(&self) -> &str {
        &self.card.kernel
    }

    /// What the fit did.
    pub fn plan(&self) -> &Plan {
        &self.card.params
    }

    /// How the fit went.
    pub fn summary(&self) -> &Summary {
        &self.card.summary
    }

    /// Losses and relevances from epoch to epoch; empty in a model read from a file, which keeps
    /// [`Summary::losses`] only.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The relevance |theta_j| of each column, averaged over the committee.
    pub fn relevances(&self) -> Vec<f32> {
        let members = self.members.len() as f32;
        (0..self.card.feature_names.len())
            .map(|j| self.members.iter().map(|m| m.stored.theta[j].abs()).sum::<f32>() / members)
            .collect()
    }

    /// How far the networks of a committee are apart: the standard deviation of each column's relevance over them.
    /// None for a single network, which cannot tell. Networks share the choice of columns, so it is a lower bound.
    pub fn relevance_spread(&self) -> Option<Vec<f32>> {
        let members = self.members.len() as f64;
        let spread = |j: usize, mean: f64| {
            let squares = self.members.iter().map(|m| (m.stored.theta[j].abs() as f64 - mean).powi(2));
            (squares.sum::<f64>() / (members - 1.0)).sqrt() as f32
        };
        let means = self.relevances();
        (self.members.len() > 1)
            .then(|| means.iter().enumerate().map(|(j, &mean)| spread(j, mean as f64)).collect())
    }

    /// The importance of each column: the root mean square, over training rows, of the derivative of f along the
    /// standardised column.
    pub fn importances(&self) -> &[f32] {
        &self.importance
    }

    /// The network's outputs, `rows x outputs`: predictions in units of the target for regression, logits for
    /// classification, logarithms for counts.
    pub fn decision(&self, x: Matrix<'_>) -> Result<Vec<f64>, Error> {
        let d = self.card.feature_names.len();
        if x.columns() != d {
            return Err(Error::Shape(format!(
                "the model was fitted on {d} columns but the data have {}",
                x.columns()
            )));
        }
        check_cells(x, self.card.params.missing == Missing::Mean, |j| self.card.feature_names[j].clone())?;
        let k = self.outputs();
        let mut sum = vec![0.0; x.rows() * k];
        let rows: Vec<usize> = (0..x.rows()).collect();
        for member in &self.members {
            let f = outputs(x, &self.scale, &member.map, &member.weights, &rows);
            sum.iter_mut().zip(&f).for_each(|(s, &f)| *s += f as f64);
        }
        let members = self.members.len() as f64;
        for (i, s) in sum.iter_mut().enumerate() {
            *s = self.target_mean[i % k] + self.target_scale[i % k] * (*s / members);
            if let Some(&(low, high)) = self.card.guard.get(i % k) {
                *s = s.clamp(low, high);
            }
        }
        finite(sum, k)
    }

    /// Predicted numbers, `rows x outputs`; for counts, the expected count.
    pub fn predict(&self, x: Matrix<'_>) -> Result<Vec<f64>, Error> {
        if self.card.task == Task::Classification {
            return Err(Error::Unsupported(
                "a classification model predicts labels and probabilities, not numbers".into(),
            ));
        }
        let mut values = self.decision(x)?;
        if self.card.link == Link::Log {
            values.iter_mut().for_each(|v| *v = v.exp());
        }
        finite(values, self.outputs())
    }

    /// Class probabilities, `rows x classes`.
    pub fn probabilities(&self, x: Matrix<'_>) -> Result<Vec<f64>, Error> {
        match self.card.link {
            Link::Logistic => {
                let f = self.decision(x)?;
                Ok(f.iter().flat_map(|&f| [logistic(-f), logistic(f)]).collect())
            }
            Link::Softmax => {
                let mut p = self.decision(x)?;
                for row in p.chunks_exact_mut(self.outputs()) {
                    let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    row.iter_mut().for_each(|v| *v = (*v - top).exp());
                    let total: f64 = row.iter().sum();
                    row.iter_mut().for_each(|v| *v /= total);
                }
                Ok(p)
            }
            Link::Identity | Link::Log => {
                Err(Error::Unsupported("a regression model has no class probabilities".into()))
            }
        }
    }

    /// The most probable class of each row, as an index into [`Model::classes`].
    pub fn labels(&self, x: Matrix<'_>) -> Result<Vec<u32>, Error> {
        let p = self.probabilities(x)?;
        Ok(p.chunks_exact(self.card.classes.len()).map(|row| argmax(row) as u32).collect())
    }

    /// A copy whose relevances and linear terms outside `keep` are zero: f then does not depend on the other columns.
    pub fn restricted(&self, keep: &[usize]) -> Self {
        let mut model = self.clone();
        let mut kept = vec![false; self.card.feature_names.len()];
        for &j in keep {
            if let Some(kept) = kept.get_mut(j) {
                *kept = true;
            }
        }
        for member in &mut model.members {
            let mut stored = member.stored.clone();
            let k = stored.intercept.len();
            for j in (0..kept.len()).filter(|&j| !kept[j]) {
                stored.theta[j] = 0.0;
                stored.linear.iter_mut().skip(j * k).take(k).for_each(|slope| *slope = 0.0);
            }
            *member = Member::new(stored, self.card.feature_scale);
        }
        model.importance.iter_mut().zip(&kept).filter(|(_, kept)| !**kept).for_each(|(i, _)| *i = 0.0);
        model
    }
}

fn finite(values: Vec<f64>, per_row: usize) -> Result<Vec<f64>, Error> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(values),
        Some(i) => Err(Error::NonFinitePrediction { row: i / per_row + 1 }),
    }
}
