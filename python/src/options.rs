//! Parameters from a dictionary with Python's names; what is absent or None is left to the preset.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use rffnet::{LossKind, PARAMETERS, Parameter, Params, Recipe, ValueKind};

use crate::error::exception;

pub(crate) fn params(options: &Bound<'_, PyDict>) -> PyResult<Params> {
    let given = |name: &str| PyResult::Ok(options.get_item(name)?.filter(|value| !value.is_none()));
    let mut params = Params::new();
    if let Some(seed) = given("seed")? {
        params = params.seed(read(&seed, "random_state", "a whole number, zero or more")?);
    }
    for parameter in PARAMETERS {
        if let Some(value) = given(parameter.python)? {
            params.set(parameter, &text(parameter, &value)?).map_err(exception)?;
        }
    }
    Ok(params)
}

/// A value of Python's kind for the parameter, as text.
fn text(parameter: &Parameter, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let name = parameter.python;
    Ok(match parameter.value {
        ValueKind::Whole(_) => read::<usize>(value, name, "a whole number, zero or more")?.to_string(),
        ValueKind::Real(_) => read::<f64>(value, name, "a number")?.to_string(),
        ValueKind::Switch => read::<bool>(value, name, "True or False")?.to_string(),
        ValueKind::Loss => {
            let text: String = read(value, name, "a name")?;
            text.parse::<LossKind>().map_err(exception)?;
            text
        }
        ValueKind::Recipe => {
            let text: String = read(value, name, "a text")?;
            text.parse::<Recipe>().map_err(exception)?;
            text
        }
        ValueKind::Partitions => {
            // True is a whole number to Python, but no number of partitions.
            let number = value.extract::<usize>().ok().filter(|_| !value.is_instance_of::<PyBool>());
            match number {
                Some(number) => number.to_string(),
                None => read(value, name, "auto, none or a whole number")?,
            }
        }
        _ => read(value, name, "a name")?,
    })
}

fn read<'py, T: FromPyObjectOwned<'py>>(value: &Bound<'py, PyAny>, name: &str, need: &str) -> PyResult<T> {
    value.extract().map_err(|_| {
        let shown = value.repr().map_or_else(|_| "of a strange type".into(), |r| r.to_string());
        PyValueError::new_err(format!("{name} is {shown}; it must be {need}"))
    })
}

/// Name, kind, choices and a line of help of every parameter but the seed: for the tests.
#[pyfunction]
pub(crate) fn parameters() -> Vec<(&'static str, &'static str, Vec<String>, &'static str)> {
    let described = |parameter: &Parameter| {
        let (kind, choices) = match parameter.value {
            ValueKind::Name(names) => ("name", names()),
            ValueKind::Whole(_) => ("whole number", Vec::new()),
            ValueKind::Real(_) => ("number", Vec::new()),
            ValueKind::Switch => ("switch", Vec::new()),
            ValueKind::Recipe => ("recipe", Vec::new()),
            ValueKind::Partitions => ("partitions", Vec::new()),
            _ => ("loss", Vec::new()),
        };
        (parameter.python, kind, choices, parameter.help)
    };
    PARAMETERS.iter().map(described).collect()
}
