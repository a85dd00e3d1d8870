//! The built-in losses by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::cross_entropy::{Logistic, Softmax};
use super::huber::Huber;
use super::poisson::Poisson;
use super::quantile::Quantile;
use super::squared::Squared;
use super::{Link, Loss};
use crate::Error;

/// Declares the losses: an arm has the variant with its number, if it takes one (a name, its default, its range), the
/// loss's name, and how it is built.
macro_rules! losses {
    ($($(#[$meta:meta])* $variant:ident
        $({ $(#[$nmeta:meta])* $number:ident = $default:literal, $valid:expr, $range:literal })?
        $name:literal => |$classes:pat_param| $build:expr,)+
    ) => {
        /// The built-in losses, by name; `huber:DELTA` and `quantile:TAU` take a number.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        #[non_exhaustive]
        pub enum LossKind {
            $($(#[$meta])* $variant $({ $(#[$nmeta])* $number: f64 })?,)+
        }

        impl LossKind {
            /// The loss itself; `classes` is 0 for regression.
            pub(crate) fn build(self, classes: usize) -> Box<dyn Loss> {
                match self {
                    $(Self::$variant $({ $number })? => {
                        let $classes = classes;
                        $build
                    })+
                }
            }
        }

        impl fmt::Display for LossKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant $({ $number })? => {
                        f.write_str($name)?;
                        $(write!(f, ":{}", $number)?;)?
                        Ok(())
                    })+
                }
            }
        }

        impl FromStr for LossKind {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self, Error> {
                let (name, number) = text.split_once(':').map_or((text, None), |(n, v)| (n, Some(v)));
                match name {
                    $($name => {
                        $(
                            let valid: fn(f64) -> bool = $valid;
                            let given = number.map_or(Some($default), |v| v.parse().ok());
                            let wrong = || Error::parameter("loss", text, $range);
                            let $number: f64 = given.filter(|&v| valid(v)).ok_or_else(wrong)?;
                            let number: Option<&str> = None;
                        )?
                        match number {
                            None => Ok(Self::$variant $({ $number })?),
                            Some(_) => Err(Error::parameter("loss", text, format!("plain '{name}': it takes no number"))),
                        }
                    })+
                    _ => Err(Error::parameter(
                        "loss",
                        format!("'{text}'"),
                        "one of squared cross-entropy huber[:DELTA] quantile[:TAU] poisson",
                    )),
                }
            }
        }
    };
}

losses! {
    /// (f - y)^2.
    Squared "squared" => |_| Box::new(Squared),
    /// Minus the log-probability of the label, binary or multi-class.
    CrossEntropy "cross-entropy" => |classes| {
        if classes > 2 { Box::new(Softmax { classes }) } else { Box::new(Logistic) }
    },
    /// Squared (halved) up to `delta`, linear beyond: robust to outliers.
    Huber {
        /// Where it turns linear, in units of the target as it is trained on (standardised in `auto`).
        delta = 1.0, |v| v > 0.0 && v.is_finite(), "huber:DELTA with DELTA above 0"
    } "huber" => |_| Box::new(Huber { delta }),
    /// The pinball loss: f estimates the `tau` quantile.
    Quantile {
        /// Between 0 and 1.
        tau = 0.5, |v| v > 0.0 && v < 1.0, "quantile:TAU with TAU between 0 and 1"
    } "quantile" => |_| Box::new(Quantile { tau }),
    /// exp(f) - y f, less what it is at best: counts, log link.
    Poisson "poisson" => |_| Box::new(Poisson),
}

impl LossKind {
    /// Numbers set from code may be out of range; those from text cannot.
    pub(crate) fn check(self) -> Result<(), Error> {
        self.to_string().parse::<Self>().map(|_| ())
    }

    /// Whether its targets are classes.
    pub(crate) fn is_classification(self) -> bool {
        matches!(self.build(2).link(), Link::Logistic | Link::Softmax)
    }
}

impl From<LossKind> for String {
    fn from(loss: LossKind) -> String {
        loss.to_string()
    }
}

impl TryFrom<String> for LossKind {
    type Error = Error;
    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}
