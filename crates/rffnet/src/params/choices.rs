//! The names a parameter can have.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Error, names::named_enum};

/// More would be a mistake.
const MOST_PARTITIONS: usize = 10_000;

named_enum! {
    /// Where unset parameters come from.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum Preset "preset" {
        /// What we think is best today.
        #[default]
        Auto => "auto",
        /// What produced the tables of the paper; never changes.
        Paper => "paper",
    }
}

named_enum! {
    /// How the objective is minimised.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum SolverKind "solver" {
        /// The preset's choice.
        #[default]
        Auto => "auto",
        /// Adam, head and relevances in one block.
        Adam => "adam",
        /// Plain stochastic gradient descent, one block.
        Sgd => "sgd",
        /// Adam, alternating between head and relevances.
        PalmAdam => "palm-adam",
        /// Gradient descent, alternating between head and relevances.
        PalmSgd => "palm-sgd",
        /// Variable projection: the head exactly, L-BFGS for the rest.
        Varpro => "varpro",
    }
}

named_enum! {
    /// What becomes of the frequencies, with the varpro solver.
    #[non_exhaustive]
    pub enum SpectrumMode "spectrum" {
        /// They stay random.
        Fixed => "fixed",
        /// They are learned once the relevances have been optimised.
        Learned => "learned",
        /// Learned and random frequencies together.
        Auto => "auto",
    }
}

/// Partitions of the rows into cells, a second family of features for what steps, with the varpro solver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Partitions {
    /// As many as the rows suggest, if that is better on validation rows.
    #[default]
    Auto,
    /// None.
    None,
    /// So many for each member.
    Count(usize),
}

impl Partitions {
    pub(super) fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

impl FromStr for Partitions {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refused = || Error::parameter("partitions", format!("'{text}'"), "auto, none or a whole number");
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            number => match number.parse().map_err(|_| refused())? {
                0 => Ok(Self::None),
                count @ 1..=MOST_PARTITIONS => Ok(Self::Count(count)),
                _ => Err(Error::parameter("partitions", number, format!("at most {MOST_PARTITIONS}"))),
            },
        }
    }
}

impl TryFrom<String> for Partitions {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<Partitions> for String {
    fn from(partitions: Partitions) -> Self {
        partitions.to_string()
    }
}

impl fmt::Display for Partitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::None => f.write_str("none"),
            Self::Count(count) => count.fmt(f),
        }
    }
}

named_enum! {
    /// How much work is done, with the varpro solver.
    #[non_exhaustive]
    pub enum Effort "effort" {
        /// A tenth of normal.
        Quick => "quick",
        /// About 0.1 s for 200 x 10, 15 s for 10,000 x 20, two minutes for 50,000 x 100.
        Normal => "normal",
        /// Five times normal.
        Thorough => "thorough",
    }
}

named_enum! {
    /// Where the relevances start.
    #[non_exhaustive]
    pub enum Init "init" {
        /// The range of each standardised column over their number.
        Constant => "constant",
        /// The best of several random starts after a few epochs each.
        Restarter => "restarter",
        /// The coefficients of a lasso fit.
        Regressor => "regressor",
        /// Those that variable projection finds, with the squared loss in place of one it cannot solve exactly.
        Varpro => "varpro",
    }
}

named_enum! {
    /// How the learning rate changes from step to step.
    #[non_exhaustive]
    pub enum Schedule "schedule" {
        /// It does not.
        Constant => "constant",
        /// Up to the rate over the first 30 % of the steps, down to nothing by the last.
        OneCycle => "one-cycle",
        /// From the rate down to nothing along half a cosine.
        Cosine => "cosine",
    }
}

named_enum! {
    /// What to do with missing values.
    #[non_exhaustive]
    pub enum Missing "missing" {
        /// Read them as the column's mean over the training rows; where they are common, an indicator tells them apart.
        Auto => "auto",
        /// Refuse them, naming the first.
        Error => "error",
        /// Read them as the column's mean over the training rows.
        Mean => "mean",
    }
}

named_enum! {
    /// Weights of the classes.
    #[non_exhaustive]
    pub enum ClassWeight "class-weight" {
        /// All rows count the same.
        None => "none",
        /// All classes count the same.
        Balanced => "balanced",
    }
}
