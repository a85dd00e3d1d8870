//! One error type; every variant is a sentence a user can act on.

use std::fmt;
use std::path::PathBuf;

/// Why a fit, a prediction or a model file was refused.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is outside its range.
    Parameter {
        /// The parameter's name, as the command line and Python spell it.
        name: &'static str,
        /// What was given.
        value: String,
        /// What would be accepted.
        need: String,
    },
    /// The arrays do not fit together, or there is too little of them.
    Shape(String),
    /// A cell is infinite, or missing where missing values are not allowed.
    Cell {
        /// 1-based row.
        row: usize,
        /// The column's name.
        column: String,
        /// The offending value.
        value: f64,
        /// What to do about it.
        advice: &'static str,
    },
    /// The target cannot be learned as asked (one class, negative counts, ...).
    Target(String),
    /// The request is understood but not offered.
    Unsupported(String),
    /// The optimisation diverged to infinity or NaN before it had learned anything.
    Diverged {
        /// The epoch in which it happened.
        epoch: usize,
        /// What to change.
        advice: String,
    },
    /// A prediction came out infinite or not a number.
    NonFinitePrediction {
        /// 1-based row.
        row: usize,
    },
    /// The bytes are not a model this version can read.
    ModelFile(String),
    /// The operating system refused a file operation.
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done, as in "cannot *write* the model".
        action: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl Error {
    pub(crate) fn parameter(name: &'static str, value: impl fmt::Display, need: impl Into<String>) -> Self {
        Error::Parameter { name, value: value.to_string(), need: need.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Parameter { name, value, need } => write!(f, "{name} is {value}; it must be {need}"),
            Error::Shape(text) | Error::Target(text) | Error::Unsupported(text) | Error::ModelFile(text) => {
                f.write_str(text)
            }
            Error::Cell { row, column, value, advice } => {
                let what = if value.is_nan() { "missing".to_string() } else { format!("{value}") };
                write!(f, "row {row}, column '{column}' is {what}; {advice}")
            }
            Error::Diverged { epoch, advice } => {
                write!(f, "the fit diverged in epoch {epoch} and no model was kept; {advice}")
            }
            Error::NonFinitePrediction { row } => write!(
                f,
                "the prediction for row {row} is not a finite number; the row lies too far from the training data"
            ),
            Error::Io { path, action, source } => {
                write!(f, "cannot {action} {}: {source}", path.display())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
