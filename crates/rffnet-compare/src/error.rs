//! What can go wrong in a comparison, each a sentence a user can act on.

use std::fmt;
use std::path::Path;

/// One sentence, which `Display` prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// From a sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// A file or folder that could not be used.
    pub fn io(action: &str, path: &Path, cause: impl fmt::Display) -> Self {
        Self(format!("cannot {action} '{}': {cause}", path.display()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

macro_rules! from {
    ($($error:ty),+) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self(error.to_string())
            }
        })+
    };
}
from!(rffnet::Error, rffnet_baselines::Error, rffnet_data::DataError);
