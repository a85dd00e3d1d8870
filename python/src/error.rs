//! Errors of the library as Python's exceptions, in Python's spelling.

use std::any::Any;
use std::io;

use pyo3::PyErr;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use rffnet::Error;

/// How the library and the command spell a parameter, and how Python does.
const SPELLING: [(&str, &str); 10] = [
    ("alpha-theta", "alpha_theta"),
    ("penalty-theta", "penalty_theta"),
    ("l1-ratio", "l1_ratio"),
    ("batch-size", "batch_size"),
    ("validation-fraction", "validation_fraction"),
    ("class-weight", "class_weight"),
    ("patience", "n_iter_no_change"),
    ("restarts", "n_restarts"),
    ("epochs", "max_iter"),
    ("features", "n_random_features"),
];
/// Those that are not also words of a sentence.
const UNMISTAKABLE: usize = 8;

pub(crate) fn exception(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Io { source, .. } => io::Error::new(source.kind(), text).into(),
        Error::Parameter { name, value, need } => {
            let name = SPELLING.iter().find(|(theirs, _)| *theirs == name).map_or(name, |(_, ours)| ours);
            PyValueError::new_err(format!("{name} is {value}; it must be {need}"))
        }
        // These speak of parameters alone; others may name a column or a class, whose name stays as it is.
        Error::Unsupported(_) => PyValueError::new_err(
            SPELLING[..UNMISTAKABLE].iter().fold(text, |text, (theirs, ours)| text.replace(theirs, ours)),
        ),
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
