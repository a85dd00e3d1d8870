//! Random features alone, without a model: for the transformer and the PyTorch layer.

use numpy::{IntoPyArray, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use rffnet::{ColumnTransform, Error, RandomFeatures};

use crate::data::{Floats, Grid, Table, Vector, matrix};
use crate::error::exception;
use crate::work::{Threads, run};

/// `(omega, phase)` as a fit with the same seed draws them: omega is `columns x features`.
#[pyfunction]
pub(crate) fn frequencies<'py>(
    py: Python<'py>,
    kernel: &str,
    sampling: &str,
    columns: usize,
    features: usize,
    seed: u64,
) -> PyResult<(Grid<'py, f32>, Vector<'py, f32>)> {
    let (kernel, sampling) = (kernel.parse().map_err(exception)?, sampling.parse().map_err(exception)?);
    let drawn = run(py, Some(1), || RandomFeatures::draw(kernel, sampling, columns, features, seed))?;
    let omega = drawn.omega().to_vec().into_pyarray(py).reshape([columns, features])?;
    Ok((omega, drawn.phase().to_vec().into_pyarray(py)))
}

/// The arrays of random features and of the column transforms before them, named and shaped as in the model file.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Arrays<'py> {
    theta: Floats<'py>,
    omega: Table<'py>,
    phase: Floats<'py>,
    #[pyo3(item("scale.mean"))]
    mean: Floats<'py>,
    #[pyo3(item("scale.inverse"))]
    inverse: Floats<'py>,
    #[pyo3(item("scale.warp"), default)]
    warp: Option<Table<'py>>,
    #[pyo3(item("scale.bend"), default)]
    bend: Option<Floats<'py>>,
}

impl Arrays<'_> {
    fn features(&self) -> PyResult<RandomFeatures> {
        let warp = self.warp.as_ref().map_or(Ok(&[][..]), |warp| warp.as_slice())?;
        let bend = self.bend.as_ref().map_or(Ok(&[][..]), |bend| bend.as_slice())?;
        let transforms =
            ColumnTransform::from_arrays(self.mean.as_slice()?, self.inverse.as_slice()?, warp, bend)
                .map_err(|why| exception(Error::Shape(why.into())))?;
        let [theta, phase] = [&self.theta, &self.phase].map(|array| array.as_slice());
        let (d, s) = (self.theta.shape()[0], self.phase.shape()[0]);
        if self.omega.shape() != [d, s] {
            return Err(exception(Error::Shape(format!(
                "the arrays do not fit {d} columns and {s} features"
            ))));
        }
        RandomFeatures::new(self.omega.as_slice()?.to_vec(), phase?.to_vec(), theta?.to_vec())
            .and_then(|features| features.transforms(transforms))
            .map_err(exception)
    }
}

/// sqrt(2 / s) cos(omega . (theta o t(x)) + phase) with the column transforms t, row by row.
#[pyfunction]
#[pyo3(signature = (x, arrays, threads=None))]
pub(crate) fn transform<'py>(
    py: Python<'py>,
    x: Table<'py>,
    arrays: Arrays<'py>,
    threads: Threads,
) -> PyResult<Grid<'py, f32>> {
    let (x, features) = (matrix(&x)?, arrays.features()?);
    let z = run(py, threads, || features.transform(x))?;
    z.into_pyarray(py).reshape([x.rows(), features.phase().len()])
}
