//! Parameters from a dictionary with Python's names; what is absent or None is left to the preset.

use std::str::FromStr;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rffnet::{Error, Params};

use crate::error::exception;

struct Options<'a, 'py>(&'a Bound<'py, PyDict>);

impl<'py> Options<'_, 'py> {
    fn value(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.0.get_item(name)?.filter(|value| !value.is_none()))
    }

    fn wrong(name: &str, value: &Bound<'_, PyAny>, need: &str) -> PyErr {
        let shown = value.repr().map_or_else(|_| "of a strange type".into(), |r| r.to_string());
        PyValueError::new_err(format!("{name} is {shown}; it must be {need}"))
    }

    /// One of several names.
    fn named<T: FromStr<Err = Error>>(&self, name: &str) -> PyResult<Option<T>> {
        let Some(value) = self.value(name)? else { return Ok(None) };
        let text: String = value.extract().map_err(|_| Self::wrong(name, &value, "a name"))?;
        text.parse().map(Some).map_err(|error| match error {
            Error::Parameter { value, need, .. } => {
                PyValueError::new_err(format!("{name} is {value}; it must be {need}"))
            }
            other => exception(other),
        })
    }

    fn whole(&self, name: &str) -> PyResult<Option<usize>> {
        let Some(value) = self.value(name)? else { return Ok(None) };
        value.extract().map(Some).map_err(|_| Self::wrong(name, &value, "a whole number, zero or more"))
    }

    fn real(&self, name: &str) -> PyResult<Option<f64>> {
        let Some(value) = self.value(name)? else { return Ok(None) };
        value.extract().map(Some).map_err(|_| Self::wrong(name, &value, "a number"))
    }

    fn flag(&self, name: &str) -> PyResult<Option<bool>> {
        let Some(value) = self.value(name)? else { return Ok(None) };
        value.extract().map(Some).map_err(|_| Self::wrong(name, &value, "True or False"))
    }

    fn seed(&self) -> PyResult<u64> {
        let Some(value) = self.value("seed")? else { return Ok(0) };
        value.extract().map_err(|_| Self::wrong("random_state", &value, "a whole number, zero or more"))
    }
}

pub(crate) fn params(options: &Bound<'_, PyDict>) -> PyResult<Params> {
    let given = Options(options);
    let default = Params::default();
    Ok(Params {
        preset: given.named("preset")?.unwrap_or(default.preset),
        seed: given.seed()?,
        loss: given.named("loss")?,
        solver: given.named("solver")?.unwrap_or(default.solver),
        kernel: given.named("kernel")?,
        sampling: given.named("sampling")?,
        init: given.named("init")?,
        restarts: given.whole("n_restarts")?,
        random_features: given.whole("n_random_features")?,
        alpha: given.real("alpha")?,
        penalty: given.named("penalty")?,
        alpha_theta: given.real("alpha_theta")?,
        penalty_theta: given.named("penalty_theta")?,
        l1_ratio: given.real("l1_ratio")?,
        lr: given.real("lr")?,
        schedule: given.named("schedule")?,
        batch_size: given.whole("batch_size")?,
        epochs: given.whole("max_iter")?,
        patience: given.whole("n_iter_no_change")?,
        validation_fraction: given.real("validation_fraction")?,
        class_weight: given.named("class_weight")?,
        missing: given.named("missing")?,
        spectrum: given.named("spectrum")?,
        linear: given.flag("linear")?,
        committee: given.whole("committee")?,
        effort: given.named("effort")?,
        budget: given.real("budget")?,
    })
}
