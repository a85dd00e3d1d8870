//! What can go wrong, each a sentence a user can act on.

use std::fmt;

/// An error of a method.
#[derive(Debug)]
pub enum Error {
    /// The data do not fit together; the core says how.
    Data(rffnet::Error),
    /// The method would need more memory than it may have.
    Memory {
        /// What is too large.
        what: String,
        /// Its size, in bytes.
        bytes: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// The method cannot do what was asked.
    Unsupported(String),
    /// The numbers ran away.
    Diverged(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(e) => e.fmt(f),
            Self::Memory { what, bytes, limit } => write!(
                f,
                "needs {} for {what}; limit is {}: use fewer rows or raise the limit",
                size(*bytes),
                size(*limit)
            ),
            Self::Unsupported(why) | Self::Diverged(why) => f.write_str(why),
        }
    }
}

/// Bytes for people.
fn size(bytes: u64) -> String {
    let b = bytes as f64;
    match bytes {
        1_000_000_000.. => format!("{:.1} GB", b / 1e9),
        _ => format!("{:.0} MB", (b / 1e6).ceil()),
    }
}

impl std::error::Error for Error {}

impl From<rffnet::Error> for Error {
    fn from(e: rffnet::Error) -> Self {
        Self::Data(e)
    }
}
