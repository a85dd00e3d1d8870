//! Why a command ends early, and how that is told.

use std::fmt::Display;
use std::io::{self, Write};

use rffnet_data::ColumnRef;

use crate::advice;

/// Why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The data or the request is at fault: one sentence. Exit status 1.
    Request(String),
    /// The command line contradicts itself: one sentence. Exit status 2.
    Usage(String),
    /// Whoever read standard output has read enough (`| head`): nothing to report.
    Pipe,
}

impl Failure {
    pub(crate) fn request(sentence: impl Into<String>) -> Self {
        Failure::Request(sentence.into())
    }

    pub(crate) fn usage(sentence: impl Into<String>) -> Self {
        Failure::Usage(sentence.into())
    }

    /// A failed write to standard output.
    pub(crate) fn stdout(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Pipe,
            _ => Failure::Request(format!("cannot write to standard output: {error}")),
        }
    }

    /// About a column that is absent: with the flag that the user gave it to, in the place of the reader's.
    pub(crate) fn with_flag(self, column: &ColumnRef, reader: &str, flag: &str) -> Self {
        match self {
            Failure::Request(sentence) => {
                let absent = |column: &str, flag: &str| format!("there is no column {column} for {flag}; ");
                let quoted = [format!("'{column}'"), column.to_string()];
                let replaced = quoted.iter().fold(sentence, |sentence, column| {
                    sentence.replacen(&absent(column, reader), &absent(column, flag), 1)
                });
                Failure::Request(replaced)
            }
            other => other,
        }
    }

    /// With other words in the place of the reader's.
    pub(crate) fn replaced(self, reader: &str, words: &str) -> Self {
        match self {
            Failure::Request(sentence) => Failure::Request(sentence.replacen(reader, words, 1)),
            other => other,
        }
    }

    /// Without advice that names flags which the subcommand does not have: readers and fits do not know who calls them.
    pub(crate) fn for_flags(self, known: impl Fn(&str) -> bool) -> Self {
        match self {
            Failure::Request(sentence) => Failure::Request(advice::without_unknown_flags(&sentence, known)),
            other => other,
        }
    }

    /// Says what is wrong on standard error; the exit status.
    pub(crate) fn report(&self) -> u8 {
        match self {
            Failure::Pipe => 0,
            Failure::Request(sentence) => {
                say(format_args!("error: {sentence}"));
                1
            }
            Failure::Usage(sentence) => {
                say(format_args!("error: {sentence}\n\nFor more information, try '--help'."));
                2
            }
        }
    }
}

/// One line on standard error. That this may fail is nobody's concern: there is no place left to say so.
pub(crate) fn say(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

macro_rules! from {
    ($($(#[$meta:meta])* $error:ty,)+) => {
        $($(#[$meta])* impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::Request(error.to_string())
            }
        })+
    };
}
from!(
    rffnet::Error,
    rffnet_data::DataError,
    #[cfg(feature = "compare")]
    rffnet_compare::Error,
);

/// Adds the file to errors of the core that speak of rows and columns without knowing where those come from.
pub(crate) fn in_file(source: &str) -> impl Fn(rffnet::Error) -> Failure {
    use rffnet::Error::{Cell, NonFinitePrediction, Shape, Target};
    move |error| match error {
        Shape(_) | Cell { .. } | Target(_) | NonFinitePrediction { .. } => {
            Failure::Request(format!("{source}: {error}"))
        }
        other => other.into(),
    }
}
