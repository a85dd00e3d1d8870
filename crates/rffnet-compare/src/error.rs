//! Why a job could not be done.

use std::fmt;

/// One sentence, which `Display` prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
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

impl From<rffnet_baselines::Error> for Error {
    fn from(error: rffnet_baselines::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<rffnet_data::DataError> for Error {
    fn from(error: rffnet_data::DataError) -> Self {
        Self(error.to_string())
    }
}
