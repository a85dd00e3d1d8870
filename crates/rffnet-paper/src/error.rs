//! What can go wrong, each a sentence a user can act on.

use std::fmt;
use std::path::Path;

/// Why a run ends early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// From a sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// A file or folder that could not be used.
    pub(crate) fn io(action: &str, path: &Path, cause: impl fmt::Display) -> Self {
        Self(format!("cannot {action} '{}': {cause}", path.display()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<rffnet::Error> for Error {
    fn from(error: rffnet::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<rffnet_data::DataError> for Error {
    fn from(error: rffnet_data::DataError) -> Self {
        Self(error.to_string())
    }
}
