//! Errors of the library as Python's exceptions, in Python's spelling.

use std::any::Any;
use std::io;

use pyo3::PyErr;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use rffnet::{Error, PARAMETERS};

/// Parameters whose names in the library's messages are also words of a sentence.
const WORDS: [&str; 2] = ["epochs", "features"];

pub(crate) fn exception(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Io { source, .. } => io::Error::new(source.kind(), text).into(),
        Error::Parameter { name, value, need } => {
            let name = PARAMETERS.iter().find(|p| p.flag == name).map_or(name, |p| p.python);
            PyValueError::new_err(format!("{name} is {value}; it must be {need}"))
        }
        // These speak of parameters alone; others may name a column or a class, whose name stays as it is.
        Error::Unsupported(_) => {
            let spelled = PARAMETERS.iter().filter(|p| p.flag != p.python && !WORDS.contains(&p.flag));
            PyValueError::new_err(spelled.fold(text, |text, p| text.replace(p.flag, p.python)))
        }
        _ => PyValueError::new_err(text),
    }
}

/// A mistake of ours. The pool and the caller's arrays are as they were, so Python can go on.
pub(crate) fn panicked(payload: Box<dyn Any + Send>) -> PyErr {
    let text = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    PyRuntimeError::new_err(format!("rffnet made a mistake, please report it: {text}"))
}
