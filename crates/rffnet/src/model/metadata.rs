//! What stands in a model file beside the numbers.

use serde::{Deserialize, Serialize};

use crate::encode::Encoder;
use crate::loss::Link;
use crate::params::Plan;
use crate::solver::{EpochLoss, Stopped};
use crate::{Error, names::named_enum};

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
#[non_exhaustive]
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

/// What stands in the model file beside the numbers; serialises to the file's JSON text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Metadata {
    /// The file format's version.
    pub format: u32,
    /// What kind of target was learned.
    pub task: Task,
    /// The labels, in the order of the probabilities; empty for regression.
    pub classes: Vec<String>,
    /// Column names, in the order rows must have them.
    pub feature_names: Vec<String>,
    /// The name of the target's column; absent where the training data had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_name: Option<String>,
    /// Whether the training data had names; otherwise columns are matched by position.
    pub named: bool,
    /// The kernel's name; `custom` for a spectrum of the caller's.
    pub kernel: String,
    /// From outputs to predictions.
    pub link: Link,
    /// The loss was the caller's own, and `params` does not say which.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub custom_loss: bool,
    /// What multiplies the cosines: the head is stated without it.
    pub feature_scale: f64,
    /// Predictions of each output are kept between these; empty without limits.
    pub guard: Vec<(f64, f64)>,
    /// How columns of a table are encoded; absent where all are numbers that stay as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoder: Option<Encoder>,
    /// What the fit did.
    pub params: Plan,
    /// How the fit went.
    pub summary: Summary,
}
