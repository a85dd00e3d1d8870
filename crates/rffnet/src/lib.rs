//! Kernel machines that say which columns matter.
//!
//! RFFNet (Otto and Izbicki) approximates a product ARD kernel by `s` random Fourier features (Rahimi and Recht 2007) and
//! learns the relevances `theta`, one per column, together with the head `beta`:
//!
//! ```text
//! f(x) = sum_i beta_i sqrt(2/s) cos( omega_i . (theta o x) + phase_i )
//! ```
//!
//! A column that does not matter ends with a relevance near zero. [`Params::paper`] fits this model as it was fitted for the
//! paper's tables, by Adam. The default, [`Params::new`], fits an ensemble of such models with linear terms on transformed
//! columns `t(x)`:
//!
//! ```text
//! f(x) = mean over the members of
//!        intercept + linear . t(x) + sum_i beta_i sqrt(2/s) cos( omega_i . (theta o t(x)) + phase_i )
//! ```
//!
//! 1. The **column transforms** ([`ColumnTransform`]) standardise every column; whether skewed columns also get a
//!    Yeo-Johnson transform and long tails a soft clip is chosen on validation.
//! 2. The **spectrum** ([`Kernel`], [`Spectrum`]) draws random frequencies `omega`, which the relevances scale column by
//!    column. Where that lowers the validation loss, their metric is not this diagonal one but the average gradient outer
//!    product (AGOP).
//! 3. A part of the frequencies and phases is **learned** with the relevances.
//! 4. The **loss** ([`LossKind`], [`Loss`]) and the **penalty** ([`Penalty`]) make an objective of it.
//! 5. The **solver** minimises that: by variable projection (exact heads, L-BFGS over the rest) for the squared and the
//!    cross-entropy loss, by stochastic descent for others ([`Method`]).
//! 6. The **members** hold out different validation rows and draw different frequencies; a [`Model`] averages their outputs.
//!
//! | for | see |
//! |---|---|
//! | parameters and their defaults | [`Params`], [`PARAMETERS`], [`Plan`] |
//! | rows that are not a dense array in memory | [`Rows`] |
//! | a loss or a kernel of your own, progress, stopping early | [`Fit`], [`Loss`], [`Spectrum`], [`Observer`] |
//! | predictions, relevances, importances, the arrays of a model, its file | [`Model`] |
//! | variable selection (TopK) | [`select`] |
//! | scores | [`scores`], [`metrics`] |
//! | random Fourier features without a model | [`RandomFeatures`] |
//!
//! In the repository, `docs/method.md` describes the algorithm and `ARCHITECTURE.md` the modules.
//!
//! ```
//! use rffnet::{Data, Fit, Matrix, Model, Params, Target};
//!
//! // Two columns; the label is "in" inside the circle, whatever the second column says.
//! let x: Vec<f32> = (0..600).flat_map(|i| [(i % 25) as f32 / 6.0 - 2.0, (i % 7) as f32]).collect();
//! let codes: Vec<u32> = x.chunks(2).map(|r| (r[0].abs() < 1.0) as u32).collect();
//! let classes = ["out".to_string(), "in".to_string()];
//! let data = Data::new(Matrix::new(&x, 600, 2)?, Target::Labels { codes: &codes, classes: &classes });
//!
//! let model = Fit::new(&Params::default()).run(&data)?;
//! let row = [0.2, 6.0];
//! assert_eq!(classes[model.labels(Matrix::new(&row, 1, 2)?)?[0] as usize], "in");
//!
//! let again = Model::from_bytes(&model.to_bytes()?)?;
//! assert_eq!(again.relevances(), model.relevances());
//! # Ok::<(), rffnet::Error>(())
//! ```
//!
//! Fits are reproducible: the same seed, data and kind of processor give the same model, bit for bit, on any number
//! of threads. The crate does no input or output beyond its model file.
#![deny(missing_docs)]

mod auto;
mod backend;
mod column_type;
mod data;
mod duplicates;
mod encode;
mod error;
mod features;
mod fit;
mod fold;
mod init;
mod loss;
pub mod metrics;
mod model;
mod names;
#[doc(hidden)]
#[allow(missing_docs)]
pub mod numerics;
mod params;
mod penalty;
mod prepare;
mod problem;
mod resume;
mod ridge;
mod rows;
pub mod scores;
#[cfg(test)]
mod seam_tests;
pub mod select;
#[doc(hidden)]
pub mod simd;
mod solver;
mod spectrum;
mod suspicions;
#[doc(hidden)]
pub mod text;
mod training;
mod transform;
mod validation;

pub use auto::constants::{CONSTANTS, Recipe};
pub use auto::outline::Outline;
pub use column_type::{ColumnType, UNKNOWN_LEVEL};
pub use data::{Data, OwnedTarget, Target};
pub use encode::{ColumnEncoder, Encoded, Encoder};
pub use error::Error;
pub use features::RandomFeatures;
pub use fit::Fit;
pub use loss::{ExactHead, Link, Loss, LossKind, LossRows};
pub use model::file::write_file;
pub use model::{MemberTensors, Metadata, Model, Summary, Task, Tensor, TensorValues};
pub use params::{
    ClassWeight, Common, Descent, Effort, Group, Init, Method, Missing, PARAMETERS, Parameter, Params,
    Partitions, Plan, Preset, Schedule, Shape, SolverKind, SpectrumMode, ValueKind, VarPro,
};
pub use penalty::{Penalty, PenaltyKind};
pub use rows::{Matrix, Rows};
pub use solver::{EpochLoss, History, Observer, Progress, Silent, Stopped};
pub use spectrum::{Kernel, Sampling, Spectrum};
pub use transform::{ColumnTransform, YeoJohnson};
pub use validation::Validation;

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
