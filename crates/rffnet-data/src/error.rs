//! One error type: a sentence a user can act on, and the kind of fault for programs.

use std::fmt;
use std::io;

/// What sort of fault a [`DataError`] reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused to open or read the file.
    Io,
    /// The bytes are not a file of the format, or pass one of its limits.
    Format,
    /// A column that was asked for is not there, or is asked for twice.
    Column,
    /// A cell (or a column of cells) holds something that cannot be used.
    Cell,
    /// The request is understood but not offered, or does not fit the data.
    Request,
}

/// Why a file or a request was refused: one sentence, which `Display` prints.
///
/// ```
/// use rffnet_data::{ErrorKind, ReadOptions, read_from};
///
/// let error = read_from("a,b\n1,2\n3,x\n".as_bytes(), "t.csv", &ReadOptions::default()).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Cell);
/// assert!(error.to_string().starts_with("t.csv: row 2 (line 3), column 'b' holds 'x'"));
/// ```
#[derive(Debug)]
pub struct DataError {
    kind: ErrorKind,
    sentence: String,
    cause: Option<io::Error>,
}

impl DataError {
    pub(crate) fn new(kind: ErrorKind, sentence: String) -> Self {
        DataError { kind, sentence, cause: None }
    }

    /// A fault of the file's bytes. This sentence and the next two begin with the name of the file.
    pub(crate) fn format(sentence: String) -> Self {
        DataError::new(ErrorKind::Format, sentence)
    }

    /// A fault of one cell or of a column's cells.
    pub(crate) fn cell(sentence: String) -> Self {
        DataError::new(ErrorKind::Cell, sentence)
    }

    /// A fault in which columns were asked for.
    pub(crate) fn column(sentence: String) -> Self {
        DataError::new(ErrorKind::Column, sentence)
    }

    /// A request that is not offered, or does not fit the data.
    pub(crate) fn request(sentence: String) -> Self {
        DataError::new(ErrorKind::Request, sentence)
    }

    pub(crate) fn io(sentence: String, cause: io::Error) -> Self {
        DataError { kind: ErrorKind::Io, sentence, cause: Some(cause) }
    }

    /// What sort of fault it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for DataError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as _)
    }
}

/// Text of a file as it may stand in a message: at most 40 characters, nothing a terminal would act on.
pub(crate) fn shown(text: &str) -> String {
    const LIMIT: usize = 40;
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == LIMIT {
            out.push_str("...");
            break;
        }
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_text_is_short_and_harmless() {
        assert_eq!(shown("abc"), "abc");
        assert_eq!(shown("a\u{1b}[31m\n"), "a\\u{1b}[31m\\n");
        assert_eq!(shown(&"x".repeat(100)).len(), 43);
        assert_eq!(shown("é\"'"), "é\"'");
    }
}
