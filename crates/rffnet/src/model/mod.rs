//! A fitted model: predictions, relevances, importances, and its parts.

mod checksum;
pub(crate) mod file;
mod member;
mod metadata;
mod tensors;

use crate::backend::{self, Backend};
use crate::data::check_cells;
use crate::encode::{EncodedRows, Encoder};
use crate::features::CUTS;
use crate::loss::{Link, logistic};
use crate::metrics::argmax;
use crate::params::{Missing, Plan};
use crate::problem::Columns;
use crate::solver::History;
use crate::transform::{ColumnTransform, Transforms};
use crate::{ColumnType, Error, Matrix};

pub(crate) use member::Member;
pub use member::MemberTensors;
pub use metadata::{Metadata, Summary, Task};
pub use tensors::{Tensor, TensorValues};

/// A fitted model.
///
/// It holds everything a prediction needs: column transforms, the members of the ensemble, labels, column names. See
/// [`Fit`](crate::Fit) for how one is made, [`Model::save`] and [`Model::load`] for files.
#[derive(Clone)]
pub struct Model {
    pub(crate) metadata: Metadata,
    pub(crate) encoder: Encoder,
    pub(crate) transforms: Transforms,
    pub(crate) target_mean: Vec<f64>,
    pub(crate) target_scale: Vec<f64>,
    pub(crate) members: Vec<Member>,
    pub(crate) importance: Vec<f32>,
    pub(crate) history: History,
}

impl Model {
    /// Regression or classification.
    pub fn task(&self) -> Task {
        self.metadata.task
    }

    /// The labels, in the order of the probabilities; empty for regression.
    pub fn classes(&self) -> &[String] {
        &self.metadata.classes
    }

    /// Column names, in the order rows must have them.
    pub fn feature_names(&self) -> &[String] {
        &self.metadata.feature_names
    }

    /// The name of the target's column, if it is known.
    pub fn target_name(&self) -> Option<&str> {
        self.metadata.target_name.as_deref()
    }

    /// Whether the names came with the training data (otherwise they are `x1, x2, ...`).
    pub fn has_names(&self) -> bool {
        self.metadata.named
    }

    /// Numbers per row that [`Model::decision`] returns.
    pub fn outputs(&self) -> usize {
        self.target_mean.len()
    }

    /// Random features of each member.
    pub fn random_features(&self) -> usize {
        self.members[0].map.features()
    }

    /// Partitions of each member: sums of steps beside the random features; 0 for none.
    pub fn partitions(&self) -> usize {
        self.members.iter().map(|member| member.stored.cut_columns.len() / CUTS).max().unwrap_or(0)
    }

    /// Members of the ensemble, whose outputs are averaged; 1 for a single model.
    pub fn committee(&self) -> usize {
        self.members.len()
    }

    /// The members' numbers: frequencies, phases, heads, linear terms.
    pub fn members(&self) -> impl ExactSizeIterator<Item = &MemberTensors> {
        self.members.iter().map(|member| &member.stored)
    }

    /// What the columns hold: what the numbers of a row stand for.
    pub fn column_types(&self) -> impl ExactSizeIterator<Item = &ColumnType> {
        self.encoder.columns().iter().map(|column| &column.holds)
    }

    /// How the columns of a table become those that the transforms and the members see.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// What is done to each encoded column before the members see it.
    pub fn transforms(&self) -> &[ColumnTransform] {
        self.transforms.columns()
    }

    /// Mean and deviation of the target, per output: a prediction is `mean + deviation * f(x)`.
    pub fn target_scale(&self) -> impl ExactSizeIterator<Item = (f64, f64)> {
        self.target_mean.iter().copied().zip(self.target_scale.iter().copied())
    }

    /// Everything that is not an array: what the model file holds as JSON.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The kernel's name; `custom` for a spectrum of the caller's.
    pub fn kernel(&self) -> &str {
        &self.metadata.kernel
    }

    /// What the fit did.
    pub fn plan(&self) -> &Plan {
        &self.metadata.params
    }

    /// How the fit went.
    pub fn summary(&self) -> &Summary {
        &self.metadata.summary
    }

    /// Losses and relevances from epoch to epoch; empty in a model read from a file, which keeps
    /// [`Summary::losses`] only.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The relevance |theta_j| of each column, averaged over the members; the largest, where a column is encoded as several.
    pub fn relevances(&self) -> Vec<f32> {
        let members = self.members.len() as f32;
        let by_member = self.relevances_by_member();
        (0..self.metadata.feature_names.len())
            .map(|j| by_member.iter().map(|relevances| relevances[j]).sum::<f32>() / members)
            .collect()
    }

    fn relevances_by_member(&self) -> Vec<Vec<f32>> {
        let largest = |theta: &[f32]| theta.iter().fold(0.0, |most: f32, t| most.max(t.abs()));
        let of_member = |theta: &[f32]| {
            let sizes: Vec<f32> = theta.iter().map(|t| t.abs()).collect();
            self.encoder.per_column(&sizes, largest)
        };
        self.members.iter().map(|m| of_member(&m.stored.theta)).collect()
    }

    /// How far the members of the ensemble are apart: the standard deviation of each column's relevance over them.
    /// None for a single model, which cannot tell. Members share the choice of columns, so it is a lower bound.
    pub fn relevance_spread(&self) -> Option<Vec<f32>> {
        let members = self.members.len() as f64;
        let by_member = self.relevances_by_member();
        let spread = |j: usize, mean: f64| {
            let squares = by_member.iter().map(|relevances| (relevances[j] as f64 - mean).powi(2));
            (squares.sum::<f64>() / (members - 1.0)).sqrt() as f32
        };
        let means = self.relevances();
        (self.members.len() > 1)
            .then(|| means.iter().enumerate().map(|(j, &mean)| spread(j, mean as f64)).collect())
    }

    /// The importance of each column: the root mean square, over training rows, of the derivative of f along the
    /// standardised column. For a column that is encoded as several, the root of the sum of their squares; an indicator's derivative is
    /// taken times its standard deviation.
    pub fn importances(&self) -> &[f32] {
        &self.importance
    }

    /// The outputs f(x), averaged over the members, `rows x outputs`: predictions in units of the target for regression,
    /// logits for classification, logarithms for counts.
    pub fn decision(&self, x: Matrix<'_>) -> Result<Vec<f64>, Error> {
        let d = self.metadata.feature_names.len();
        if x.columns() != d {
            return Err(Error::Shape(format!(
                "the model was fitted on {d} columns but the data have {}",
                x.columns()
            )));
        }
        check_cells(x, self.metadata.params.common.missing != Missing::Error, |j| {
            self.metadata.feature_names[j].clone()
        })?;
        let k = self.outputs();
        let mut sum = vec![0.0; x.rows() * k];
        let rows: Vec<usize> = (0..x.rows()).collect();
        let encoded = EncodedRows::new(x, &self.encoder);
        let x = if self.encoder.is_identity() { x } else { Matrix::from_rows(&encoded) };
        let columns = Columns { x, transforms: &self.transforms };
        for member in &self.members {
            let f = backend::cpu().outputs(columns, member.network(), &rows);
            sum.iter_mut().zip(&f).for_each(|(s, &f)| *s += f as f64);
        }
        let members = self.members.len() as f64;
        for (i, s) in sum.iter_mut().enumerate() {
            *s = self.target_mean[i % k] + self.target_scale[i % k] * (*s / members);
            if let Some(&(low, high)) = self.metadata.guard.get(i % k) {
                *s = s.clamp(low, high);
            }
        }
        finite(sum, k)
    }

    /// Predicted numbers, `rows x outputs`; for counts, the expected count.
    pub fn predict(&self, x: Matrix<'_>) -> Result<Vec<f64>, Error> {
        if self.metadata.task == Task::Classification {
            return Err(Error::Unsupported(
                "a classification model predicts labels and probabilities, not numbers".into(),
            ));
        }
        let mut values = self.decision(x)?;
        if self.metadata.link == Link::Log {
            values.iter_mut().for_each(|v| *v = v.exp());
        }
        finite(values, self.outputs())
    }

    /// Class probabilities, `rows x classes`.
    pub fn probabilities(&self, x: Matrix<'_>) -> Result<Vec<f64>, Error> {
        match self.metadata.link {
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
        Ok(p.chunks_exact(self.metadata.classes.len()).map(|row| argmax(row) as u32).collect())
    }

    /// A copy whose relevances and linear terms outside `keep` are zero, and whose cuts outside it see the mean: f then does not
    /// depend on the other columns.
    pub fn restricted(&self, keep: &[usize]) -> Self {
        let mut model = self.clone();
        let mut kept = vec![false; self.metadata.feature_names.len()];
        for &j in keep {
            if let Some(kept) = kept.get_mut(j) {
                *kept = true;
            }
        }
        let origin = self.encoder.origin();
        for member in &mut model.members {
            let mut stored = member.stored.clone();
            let k = stored.intercept.len();
            if let Some(partitions) = &member.map.partitions {
                let cuts = partitions.keep(|j| kept[origin[j]]);
                stored.cut_places = cuts.cuts().iter().map(|cut| cut.at).collect();
            }
            for j in (0..origin.len()).filter(|&j| !kept[origin[j]]) {
                stored.theta[j] = 0.0;
                stored.linear.iter_mut().skip(j * k).take(k).for_each(|slope| *slope = 0.0);
            }
            *member = Member::new(stored, self.metadata.feature_scale);
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
