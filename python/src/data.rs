//! Rows with their target, borrowed from numpy.

use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rffnet::{ColumnType, Data, Matrix, Target};

use crate::error::exception;

/// Arrays that Python hands over, and that it gets.
pub(crate) type Floats<'py> = PyReadonlyArray1<'py, f32>;
pub(crate) type Table<'py> = PyReadonlyArray2<'py, f32>;
pub(crate) type Vector<'py, T> = Bound<'py, PyArray1<T>>;
pub(crate) type Grid<'py, T> = Bound<'py, PyArray2<T>>;

/// What is learned or compared with: numbers, or labels with their texts; `(y, classes)` in Python.
#[derive(FromPyObject)]
pub(crate) enum Goal<'py> {
    #[pyo3(transparent)]
    Values(PyReadonlyArray2<'py, f64>),
    #[pyo3(transparent)]
    Labels((PyReadonlyArray1<'py, u32>, Vec<String>)),
}

/// What a column holds: the levels of a category, or the name of any other type; a list or a text in Python.
#[derive(FromPyObject, IntoPyObject)]
pub(crate) enum Holds {
    #[pyo3(transparent)]
    Name(String),
    #[pyo3(transparent)]
    Levels(Vec<String>),
}

impl TryFrom<Holds> for ColumnType {
    type Error = PyErr;

    fn try_from(holds: Holds) -> PyResult<Self> {
        match holds {
            Holds::Levels(levels) => Ok(Self::Category { levels }),
            Holds::Name(name) => [Self::Number, Self::Boolean, Self::Date { day_first: false }]
                .into_iter()
                .find(|known| known.name() == name)
                .ok_or_else(|| PyValueError::new_err(format!("'{name}' is no type of a column"))),
        }
    }
}

impl From<&ColumnType> for Holds {
    fn from(column: &ColumnType) -> Self {
        match column.levels() {
            Some(levels) => Self::Levels(levels.to_vec()),
            None => Self::Name(column.name().into()),
        }
    }
}

/// Everything a [`Data`] borrows from; `Rows` in Python.
#[derive(FromPyObject)]
pub(crate) struct Rows<'py> {
    x: Table<'py>,
    y: Goal<'py>,
    weight: Option<Floats<'py>>,
    names: Option<Vec<String>>,
    #[pyo3(from_py_with = column_types)]
    types: Option<Vec<ColumnType>>,
}

fn column_types(types: &Bound<'_, PyAny>) -> PyResult<Option<Vec<ColumnType>>> {
    let types: Option<Vec<Holds>> = types.extract()?;
    types.map(|types| types.into_iter().map(ColumnType::try_from).collect()).transpose()
}

impl Rows<'_> {
    pub(crate) fn data(&self) -> PyResult<Data<'_>> {
        let y = match &self.y {
            Goal::Values(values) => Target::Values { values: values.as_slice()?, outputs: values.shape()[1] },
            Goal::Labels((codes, classes)) => Target::Labels { codes: codes.as_slice()?, classes },
        };
        let weight = self.weight.as_ref().map(|w| w.as_slice()).transpose()?;
        let (names, types) = (self.names.as_deref(), self.types.as_deref());
        Ok(Data { weight, names, types, ..Data::new(matrix(&self.x)?, y) })
    }
}

/// Rows in order, one after the other in memory; anything else is refused, never copied.
pub(crate) fn matrix<'a>(x: &'a Table<'_>) -> PyResult<Matrix<'a>> {
    Matrix::new(x.as_slice()?, x.shape()[0], x.shape()[1]).map_err(exception)
}
