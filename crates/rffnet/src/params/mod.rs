//! What a user may ask for ([`Params`]) and what a fit then does ([`Plan`]).
//!
//! Every field of `Params` may be left open. [`Params::plan`] fills the gaps from the preset and the data's shape and
//! checks every number once; solvers take the `Plan` as it is.
//!
//! | file | subject |
//! |---|---|
//! | `choices.rs` | the names a parameter can have |
//! | `table.rs` | every parameter with its flag, its Python name, its values, its default and a line of help |
//! | `check.rs` | from `Params` to a valid and complete `Plan`; the presets |
//! | `plan.rs` | the `Plan`: what all fits need, and what descent or variable projection needs |
//! | `stored.rs` | the plan as model files hold it |

mod check;
mod choices;
mod plan;
mod stored;
mod table;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::auto::constants::Recipe;
use crate::loss::LossKind;
use crate::penalty::PenaltyKind;
use crate::spectrum::{Kernel, Sampling};

pub use check::Shape;
pub(crate) use check::check_link;
pub use choices::{
    ClassWeight, Effort, Init, Missing, Partitions, Preset, Schedule, SolverKind, SpectrumMode,
};
pub use plan::{Common, Descent, Method, Plan, VarPro};
pub use table::{Group, PARAMETERS, Parameter, ValueKind};

/// Declares [`Params`], a setter for each field, and one that takes the field by its row of the table.
macro_rules! params {
    ($($(#[$meta:meta])* $field:ident: $type:ty $(= $kind:ident)?,)+) => {
        /// Everything that can be set; what is left open is the preset's choice. [`PARAMETERS`] describes each field.
        ///
        /// ```
        /// use rffnet::{Kernel, Params};
        /// let params = Params::new().kernel(Kernel::Matern32).alpha(1e-3).seed(7);
        /// ```
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
        #[allow(missing_docs)] // the table documents each field
        #[non_exhaustive]
        pub struct Params {
            $($(#[$meta])* pub $field: params!(@field $type $(, $kind)?),)+
        }

        #[allow(missing_docs)] // named as the fields
        impl Params {
            $(
                #[must_use]
                pub fn $field(mut self, $field: $type) -> Self {
                    self.$field = $field.into();
                    self
                }
            )+

            /// Sets a parameter of the table from text.
            pub fn set(&mut self, parameter: &Parameter, text: &str) -> Result<(), Error> {
                match parameter.key.replace('-', "_").as_str() {
                    $(stringify!($field) => {
                        let value: Option<$type> = text.parse().ok();
                        self.$field = value.ok_or_else(|| parameter.refusal(text))?.into();
                    })+
                    _ => return Err(Error::Unsupported(format!("there is no parameter '{}'", parameter.key))),
                }
                Ok(())
            }
        }
    };
    (@field $type:ty) => { Option<$type> };
    (@field $type:ty, always) => { $type };
}

params! {
    preset: Preset = always,
    seed: u64 = always,
    loss: LossKind,
    solver: SolverKind = always,
    kernel: Kernel,
    sampling: Sampling,
    init: Init,
    // Left out where it is not set: results that were kept under a key of all parameters are found again.
    #[serde(skip_serializing_if = "Option::is_none")]
    restarts: usize,
    random_features: usize,
    alpha: f64,
    penalty: PenaltyKind,
    alpha_theta: f64,
    penalty_theta: PenaltyKind,
    l1_ratio: f64,
    lr: f64,
    schedule: Schedule,
    batch_size: usize,
    epochs: usize,
    patience: usize,
    validation_fraction: f64,
    class_weight: ClassWeight,
    missing: Missing,
    spectrum: SpectrumMode,
    linear: bool,
    committee: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    partitions: Partitions,
    effort: Effort,
    budget: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    recipe: Recipe,
}

impl Params {
    /// Everything left to the preset `auto`.
    pub fn new() -> Self {
        Self::default()
    }

    /// The paper's settings.
    pub fn paper() -> Self {
        Self::new().preset(Preset::Paper)
    }
}
