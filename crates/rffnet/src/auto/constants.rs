//! Every number that decides something in the default algorithm, in one table. `--recipe NAME=VALUE,...` changes them, which is
//! how `benchmarks/suite` measures what each is worth; docs/method.md has the results.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Error;

/// Declares [`Constants`] with their defaults, and their names.
macro_rules! constants {
    ($($(#[doc = $doc:literal])+ $name:ident = $value:literal;)+) => {
        /// The constants of the default algorithm.
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) struct Constants {
            $($(#[doc = $doc])+ pub(crate) $name: f64,)+
        }

        /// Name, default and meaning of each constant of the default algorithm.
        pub const CONSTANTS: &[(&str, f64, &str)] = &[$((stringify!($name), $value, concat!($($doc),+)),)+];

        impl Constants {
            /// What `value` makes of their names and defaults.
            fn new(value: impl Fn(&str, f64) -> f64) -> Self {
                Self { $($name: value(stringify!($name), $value),)+ }
            }
        }
    };
}

constants! {
    /// Effort of `quick`.
    quick = 0.25;
    /// Effort of `thorough`.
    thorough = 5.0;
    /// Members of the ensemble, times the root of the effort.
    members = 6.0;
    /// Rows that everything but the last head is found on, at most, times the root of the effort.
    rows = 20000.0;
    /// Features of a member, times the root of those rows.
    features = 12.0;
    /// Features whose frequencies are learned, times the two-thirds power of those rows.
    learned = 1.3;
    /// The same for classes, times the cube root of the rows.
    class_learned = 8.0;
    /// The penalty while relevances are found.
    alpha = 1e-3;
    /// The strongest penalty of a head.
    strongest = 10.0;
    /// The weakest penalty of a head, times the number of validation rows.
    weakest = 1e-3;
    /// How often the relevances that a fit starts from are re-weighted by slopes.
    reweightings = 3.0;
    /// Standard errors by which a candidate must lower the validation loss of a simpler one.
    judge_errors = 0.5;
    /// L-BFGS steps without a better validation loss that end a stage.
    patience = 3.0;
    /// Columns whose relevance is below this share of the largest are dropped, unless all are better.
    drop_below = 0.05;
    /// Rounds of the AGOP metric, at most; 0 for none.
    agop_rounds = 6.0;
    /// Partitions of a member, times the root of those rows; 0 for none.
    partitions = 3.0;
    /// Columns for each training row from which on they are screened; a large number for never.
    wide = 0.5;
    /// How much finer than the metric's length scale the finest features of a regression are.
    finest = 4.0;
    /// Deviations from the median, as the quartiles have them, beyond which a column's tails are long.
    long_tail = 6.0;
    /// How many of those deviations a soft-clipped column reaches.
    soft_clip = 3.0;
}

/// Constants that are to have other values than their defaults: `NAME=VALUE,...`. A model file may hold names of another
/// version, which are shown and no more; text is checked when it is parsed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recipe(String);

impl Recipe {
    /// All constants, those that are not named with their defaults.
    pub(crate) fn constants(&self) -> Constants {
        let changes: HashMap<String, f64> = self.0.split(',').filter_map(change).collect();
        Constants::new(|name, default| changes.get(name).copied().unwrap_or(default))
    }
}

/// A known name and its value.
fn change(part: &str) -> Option<(String, f64)> {
    let (name, value) = part.split_once('=')?;
    let (name, value) = (name.trim().replace('-', "_"), value.trim().parse::<f64>().ok()?);
    let known = CONSTANTS.iter().any(|c| c.0 == name) && value >= 0.0 && value.is_finite();
    known.then_some((name, value))
}

impl FromStr for Recipe {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let write = |part| change(part).map(|(name, value)| format!("{name}={value}")).ok_or(part);
        let changes = text.split(',').map(write).collect::<Result<Vec<_>, _>>();
        changes.map(|changes| Self(changes.join(","))).map_err(|part| {
            let names = CONSTANTS.iter().map(|c| c.0).collect::<Vec<_>>().join(" ");
            Error::parameter("recipe", format!("'{part}'"), format!("NAME=NUMBER with NAME one of {names}"))
        })
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_written_and_refused() {
        let recipe: Recipe = "members=2, agop-rounds=1".parse().expect("known");
        assert_eq!(recipe.to_string(), "members=2,agop_rounds=1");
        let constants = recipe.constants();
        assert_eq!((constants.members, constants.agop_rounds), (2.0, 1.0));
        assert_eq!(constants.features, Recipe::default().constants().features);
        for wrong in ["", "members", "members=x", "member=2", "members=-1", "members=inf"] {
            let error = wrong.parse::<Recipe>().expect_err(wrong).to_string();
            assert!(error.contains("NAME=NUMBER with NAME one of quick "), "{error}");
        }
        assert!(CONSTANTS.len() <= 20, "more than a page can justify");
        // Of a model file of another version.
        let other: Recipe = serde_json::from_str("\"gone=1,members=2\"").expect("text");
        assert_eq!((other.to_string(), other.constants().members), ("gone=1,members=2".into(), 2.0));
    }
}
