//! All scores of a prediction at once: what `rffnet eval` prints.
//!
//! ```
//! use rffnet::scores::{Prediction, Scores};
//! use rffnet::{Data, Matrix, Target};
//!
//! let data = Data::new(Matrix::new(&[0.0; 3], 3, 1)?, Target::Values { values: &[1.0, 2.0, 4.0], outputs: 1 });
//! let scores = Scores::new(&Prediction::Values(vec![1.0, 3.0, 4.0]), &data)?;
//! assert_eq!(scores.get("mse"), Some(1.0 / 3.0));
//! # Ok::<(), rffnet::Error>(())
//! ```

use std::iter::repeat_n;

use serde::{Deserialize, Serialize};

use crate::{Data, Error, LossKind, Matrix, Model, Target, Task, metrics};

/// What a method predicts for rows.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Prediction {
    /// Numbers, `rows x outputs`.
    Values(Vec<f64>),
    /// Probabilities, `rows x classes`.
    Probabilities(Vec<f64>),
    /// Scores that rank, `rows x classes`: the largest is the predicted class.
    Ranks(Vec<f64>),
}

impl Prediction {
    /// A model's.
    pub fn of(model: &Model, x: Matrix<'_>) -> Result<Self, Error> {
        Ok(match model.task() {
            Task::Regression => Prediction::Values(model.predict(x)?),
            Task::Classification => Prediction::Probabilities(model.probabilities(x)?),
        })
    }

    /// All numbers, row after row.
    pub fn numbers(&self) -> &[f64] {
        match self {
            Self::Values(f) | Self::Probabilities(f) | Self::Ranks(f) => f,
        }
    }
}

/// Scores of predictions, weighted: the `test` object of the command.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Scores {
    /// Of numbers.
    #[non_exhaustive]
    Regression {
        /// Mean squared error.
        mse: f64,
        /// Share of the variance explained; none for a constant target.
        r2: Option<f64>,
        /// Mean absolute error; none in results of versions that did not have it, as the following.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mae: Option<f64>,
        /// Median absolute error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        median_ae: Option<f64>,
        /// Mean pinball loss; of models of a quantile only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pinball: Option<f64>,
        /// Share of the targets at or below the prediction; of models of a quantile only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        coverage: Option<f64>,
    },
    /// Of classes.
    #[non_exhaustive]
    Classification {
        /// Area under the ROC curve, macro one-vs-rest; none if only one class occurs.
        auc: Option<f64>,
        /// Share of the rows whose class is right.
        accuracy: f64,
        /// Mean of minus the log-probability; none without probabilities.
        log_loss: Option<f64>,
        /// Macro average precision; none if only one class occurs.
        average_precision: Option<f64>,
    },
}

impl Scores {
    /// Scores a model.
    pub fn of(model: &Model, data: &Data<'_>) -> Result<Self, Error> {
        match data.y {
            Target::Values { outputs, .. } if outputs != model.outputs() => {
                let n = model.outputs();
                Err(Error::Shape(format!(
                    "the model predicts {n} numbers per row but the target has {outputs}"
                )))
            }
            Target::Labels { classes, .. } if classes != model.classes() => {
                Err(Error::Shape("the model was fitted to other classes than the target has".into()))
            }
            _ => {
                let quantile = match model.plan().common.loss {
                    LossKind::Quantile { tau } if !model.metadata().custom_loss => Some(tau),
                    _ => None,
                };
                Self::scored(&Prediction::of(model, data.x)?, data, quantile)
            }
        }
    }

    /// Scores predictions against the target of `data`.
    pub fn new(prediction: &Prediction, data: &Data<'_>) -> Result<Self, Error> {
        Self::scored(prediction, data, None)
    }

    /// Scores predictions; those of a quantile also as such.
    fn scored(prediction: &Prediction, data: &Data<'_>, quantile: Option<f64>) -> Result<Self, Error> {
        let (Prediction::Values(numbers) | Prediction::Probabilities(numbers) | Prediction::Ranks(numbers)) =
            prediction;
        let (targets, per_row) = match data.y {
            Target::Values { values, outputs } => (values.len(), outputs),
            Target::Labels { codes, classes } => (codes.len() * classes.len(), classes.len()),
        };
        let rows = data.x.rows();
        if targets != rows * per_row
            || numbers.len() != targets
            || data.weight.is_some_and(|w| w.len() != rows)
        {
            return Err(Error::Shape(format!(
                "there are {rows} rows; predictions, targets and weights must be for as many"
            )));
        }
        match (prediction, data.y) {
            (Prediction::Values(f), Target::Values { values, outputs }) => {
                // A row's weight is that of each of its outputs.
                let repeated = |w: &[f32]| w.iter().flat_map(|&w| repeat_n(w, outputs)).collect();
                let weight: Option<Vec<f32>> = data.weight.map(repeated);
                let weight = weight.as_deref();
                Ok(Scores::Regression {
                    mse: metrics::mse(values, f, weight),
                    r2: metrics::r2(values, f, weight),
                    mae: Some(metrics::mae(values, f, weight)),
                    median_ae: Some(metrics::median_absolute_error(values, f, weight)),
                    pinball: quantile.map(|tau| metrics::pinball(values, f, tau, weight)),
                    coverage: quantile.map(|_| metrics::coverage(values, f, weight)),
                })
            }
            (Prediction::Probabilities(p) | Prediction::Ranks(p), Target::Labels { codes, classes }) => {
                let s = metrics::classification(codes, p, classes.len(), data.weight);
                let likely = matches!(prediction, Prediction::Probabilities(_));
                Ok(Scores::Classification {
                    auc: s.auc,
                    accuracy: s.accuracy,
                    log_loss: likely.then_some(s.log_loss),
                    average_precision: s.average_precision,
                })
            }
            _ => Err(Error::Shape("numbers cannot be scored against classes".into())),
        }
    }

    /// Names and values, in the order of the documentation.
    pub fn entries(&self) -> Vec<(&'static str, Option<f64>)> {
        match *self {
            Scores::Regression { mse, r2, mae, median_ae, pinball, coverage } => {
                let others =
                    [("mae", mae), ("median_ae", median_ae), ("pinball", pinball), ("coverage", coverage)];
                let present = others.into_iter().filter(|(_, value)| value.is_some());
                [("mse", Some(mse)), ("r2", r2)].into_iter().chain(present).collect()
            }
            Scores::Classification { auc, accuracy, log_loss, average_precision } => vec![
                ("auc", auc),
                ("accuracy", Some(accuracy)),
                ("log_loss", log_loss),
                ("average_precision", average_precision),
            ],
        }
    }

    /// One of the [`entries`](Scores::entries), if it is there.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.entries().into_iter().find(|(n, _)| *n == name).and_then(|(_, value)| value)
    }

    /// The share of the variance explained, of numbers.
    pub fn r2(&self) -> Option<f64> {
        self.get("r2")
    }

    /// Whether every score is a number: not so if no row has a weight.
    pub fn is_finite(&self) -> bool {
        self.entries().iter().all(|(_, value)| value.is_none_or(f64::is_finite))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks need no logarithms: three classes, any scale.
    #[test]
    fn ranks_have_no_log_loss() {
        let classes = ["a".to_string(), "b".into(), "c".into()];
        let x = [0.0; 3];
        let codes = [0, 1, 2];
        let data = Data::new(
            Matrix::new(&x, 3, 1).expect("fits together"),
            Target::Labels { codes: &codes, classes: &classes },
        );
        let f = vec![5.0, -1.0, -1.0, 0.0, 7.0, 1.0, 3.0, 4.0, 2.0];
        let scores = Scores::new(&Prediction::Ranks(f), &data).expect("fits together");
        assert_eq!(scores.get("log_loss"), None);
        assert_eq!(scores.get("accuracy"), Some(2.0 / 3.0));
        let text = serde_json::to_string(&scores).expect("fits together");
        assert_eq!(serde_json::from_str::<Scores>(&text).expect("fits together"), scores);
        assert!(Scores::new(&Prediction::Values(vec![0.0; 3]), &data).is_err());
    }
}
