//! Rows with their target, borrowed from numpy.

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use rffnet::{Data, Error, Matrix, Target};

use crate::error::exception;

/// What is learned or compared with: numbers, or labels with their texts; `(y, classes)` in Python.
#[derive(FromPyObject)]
pub(crate) enum Goal<'py> {
    #[pyo3(transparent)]
    Values(PyReadonlyArray2<'py, f64>),
    #[pyo3(transparent)]
    Labels((PyReadonlyArray1<'py, u32>, Vec<String>)),
}

/// Everything a [`Data`] borrows from.
pub(crate) struct Rows<'py> {
    pub(crate) x: PyReadonlyArray2<'py, f32>,
    pub(crate) goal: Goal<'py>,
    pub(crate) weight: Option<PyReadonlyArray1<'py, f32>>,
    pub(crate) names: Option<Vec<String>>,
}

impl Rows<'_> {
    pub(crate) fn data(&self) -> PyResult<Data<'_>> {
        let y = match &self.goal {
            Goal::Values(values) => Target::Values { values: values.as_slice()?, outputs: values.shape()[1] },
            Goal::Labels((codes, classes)) => Target::Labels { codes: codes.as_slice()?, classes },
        };
        let weight = self.weight.as_ref().map(|w| w.as_slice()).transpose()?;
        Ok(Data { weight, names: self.names.as_deref(), ..Data::new(matrix(&self.x)?, y) })
    }
}

/// Rows in order, one after the other in memory; anything else is refused, never copied.
pub(crate) fn matrix<'a>(x: &'a PyReadonlyArray2<'_, f32>) -> PyResult<Matrix<'a>> {
    let &[rows, columns] = x.shape() else {
        return Err(exception(Error::Shape("a table of rows and columns is needed".into())));
    };
    Matrix::new(x.as_slice()?, rows, columns).map_err(exception)
}
