//! Held-out scores: the `test` object of the contract, and its lines for people.

use rffnet::{Data, Error, Model, Target, metrics};
use serde::Serialize;

use crate::text::number;

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub(crate) enum Scores {
    Regression { mse: f64, r2: Option<f64> },
    Classification { auc: Option<f64>, accuracy: f64, log_loss: f64, average_precision: Option<f64> },
}

impl Scores {
    pub(crate) fn of(model: &Model, data: &Data<'_>) -> Result<Self, Error> {
        match data.y {
            Target::Values { values, outputs } => {
                if outputs != model.outputs() {
                    let (n, m) = (model.outputs(), outputs);
                    return Err(Error::Shape(format!(
                        "the model predicts {n} numbers per row but the target has {m}"
                    )));
                }
                let predicted = model.predict(data.x)?;
                Ok(Scores::Regression {
                    mse: metrics::mse(values, &predicted, data.weight),
                    r2: metrics::r2(values, &predicted, data.weight),
                })
            }
            Target::Labels { codes, classes } => {
                let p = model.probabilities(data.x)?;
                let s = metrics::classification(codes, &p, classes.len(), data.weight);
                Ok(Scores::Classification {
                    auc: s.auc,
                    accuracy: s.accuracy,
                    log_loss: s.log_loss,
                    average_precision: s.average_precision,
                })
            }
        }
    }

    /// Names and values, in the order of the contract.
    pub(crate) fn entries(&self) -> Vec<(&'static str, Option<f64>)> {
        match *self {
            Scores::Regression { mse, r2 } => vec![("mse", Some(mse)), ("r2", r2)],
            Scores::Classification { auc, accuracy, log_loss, average_precision } => vec![
                ("auc", auc),
                ("accuracy", Some(accuracy)),
                ("log_loss", Some(log_loss)),
                ("average_precision", average_precision),
            ],
        }
    }

    /// All in one line.
    pub(crate) fn line(&self) -> String {
        let entry = |(name, value): &(&str, Option<f64>)| format!("{name} {}", shown(*value));
        self.entries().iter().map(entry).collect::<Vec<_>>().join("   ")
    }
}

pub(crate) fn shown(value: Option<f64>) -> String {
    value.map_or("-".into(), number)
}
