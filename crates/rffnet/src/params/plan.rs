//! What a fit does: checked and complete.

use serde::{Deserialize, Serialize};

use super::stored::{StoredPlan, paper_restarts};
use super::{ClassWeight, Effort, Init, Missing, Partitions, Preset, Schedule, SolverKind, SpectrumMode};
use crate::auto::constants::Recipe;
use crate::loss::LossKind;
use crate::penalty::Penalty;
use crate::spectrum::{Kernel, Sampling};

/// Checked and complete: what a fit does. Made once, never changed; kept in the model file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "StoredPlan", from = "StoredPlan")]
#[non_exhaustive]
pub struct Plan {
    /// What every fit needs.
    pub common: Common,
    /// How the objective is minimised.
    pub method: Method,
}

/// What every fit needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
#[allow(missing_docs)] // named as in Params
pub struct Common {
    pub preset: Preset,
    pub seed: u64,
    pub loss: LossKind,
    pub kernel: Kernel,
    pub sampling: Sampling,
    /// Features of each member; variable projection chooses the number unless it is asked for.
    pub random_features: usize,
    pub penalty: Penalty,
    pub validation_fraction: f64,
    pub class_weight: ClassWeight,
    pub missing: Missing,
    /// Features are sqrt(2/s) cos, as in the paper's text, or plain cos, as in its tables.
    pub scaled_features: bool,
    pub intercept: bool,
    pub standardise_target: bool,
    /// Linear terms stand beside the features.
    pub linear: bool,
    /// A number of features that was asked for.
    pub fixed_features: Option<usize>,
    /// A penalty that was asked for.
    pub fixed_alpha: Option<f64>,
}

/// How the objective is minimised.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Method {
    /// Stochastic proximal descent, Algorithm 2 of the paper.
    Descent(Descent),
    /// Variable projection.
    VarPro(VarPro),
}

/// Settings of stochastic descent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
#[allow(missing_docs)] // named as in Params
pub struct Descent {
    /// Adam or gradient steps, in one block or alternating.
    pub solver: SolverKind,
    pub init: Init,
    #[serde(default = "paper_restarts")]
    pub restarts: usize,
    pub penalty_theta: Penalty,
    pub lr: f64,
    pub schedule: Schedule,
    pub batch_size: usize,
    pub epochs: usize,
    pub patience: Option<usize>,
    /// The head starts at random, as torch's Linear does, or at zero.
    pub random_head: bool,
    /// The last, partial batch of an epoch is left out.
    pub drop_last: bool,
}

/// Settings of variable projection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
#[allow(missing_docs)] // named as in Params
pub struct VarPro {
    pub spectrum: SpectrumMode,
    /// Members of the ensemble, if their number was asked for.
    pub committee: Option<usize>,
    pub effort: Effort,
    /// Partitions beside the random features.
    #[serde(default, skip_serializing_if = "Partitions::is_auto")]
    pub partitions: Partitions,
    /// Constants that were changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Recipe>,
    /// L-BFGS steps per penalty.
    #[serde(skip)]
    pub steps: usize,
}

impl Plan {
    /// The solver's name.
    pub fn solver(&self) -> SolverKind {
        match &self.method {
            Method::Descent(descent) => descent.solver,
            Method::VarPro(_) => SolverKind::Varpro,
        }
    }

    /// The settings of descent, if that is the method.
    pub fn descent(&self) -> Option<&Descent> {
        if let Method::Descent(descent) = &self.method { Some(descent) } else { None }
    }

    /// The settings of variable projection, if that is the method.
    pub fn varpro(&self) -> Option<&VarPro> {
        if let Method::VarPro(varpro) = &self.method { Some(varpro) } else { None }
    }

    /// The plan as it was carried out, with so many features.
    pub(crate) fn with_features(self, random_features: usize) -> Self {
        Self { common: Common { random_features, ..self.common }, ..self }
    }
}

impl VarPro {
    /// So many steps of normal effort.
    pub(crate) fn of_steps(steps: usize) -> Self {
        Self {
            spectrum: SpectrumMode::Auto,
            committee: None,
            effort: Effort::Normal,
            partitions: Partitions::Auto,
            recipe: None,
            steps,
        }
    }
}

impl Common {
    /// What multiplies the cosines.
    pub(crate) fn feature_scale(&self) -> f64 {
        if self.scaled_features { (2.0 / self.random_features as f64).sqrt() } else { 1.0 }
    }
}

impl Descent {
    /// Whether the steps are Adam's.
    pub(crate) fn is_adam(&self) -> bool {
        matches!(self.solver, SolverKind::Adam | SolverKind::PalmAdam)
    }

    /// Whether head and relevances take turns (PALM).
    pub(crate) fn alternates(&self) -> bool {
        matches!(self.solver, SolverKind::PalmAdam | SolverKind::PalmSgd)
    }
}
