//! A fitted model, as Python holds it.

use std::sync::Arc;
use std::time::Instant;

use numpy::PyUntypedArrayMethods;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use rffnet::{Error, Fit};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use crate::error::exception;
use crate::options::params;
use crate::target::{Goal, Rows, matrix};
use crate::work::{run, watched};

/// A fitted model; see `rffnet::Model`.
#[pyclass(frozen, module = "rffnet._rffnet")]
pub(crate) struct Model(Arc<rffnet::Model>);

/// Seconds that the fit alone takes, without Python around it: for the benchmarks.
#[pyfunction]
#[pyo3(signature = (options, x, y, threads=None))]
pub(crate) fn fit_seconds<'py>(
    py: Python<'py>,
    options: &Bound<'py, PyDict>,
    x: PyReadonlyArray2<'py, f32>,
    y: Goal<'py>,
    threads: Option<usize>,
) -> PyResult<f64> {
    let params = params(options)?;
    let rows = Rows { x, goal: y, weight: None, names: None };
    let data = rows.data()?;
    run(py, threads, || {
        let begun = Instant::now();
        Fit::new(&params).run(&data)?;
        Ok(begun.elapsed().as_secs_f64())
    })
}

/// Numbers with a shape.
pub(crate) enum Shaped {
    F32(Vec<usize>, Vec<f32>),
    F64(Vec<usize>, Vec<f64>),
}

impl Shaped {
    /// As a numpy array, without a copy.
    pub(crate) fn array<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let flat = match self {
            Shaped::F32(shape, values) => (shape, values.into_pyarray(py).into_any()),
            Shaped::F64(shape, values) => (shape, values.into_pyarray(py).into_any()),
        };
        flat.1.call_method1("reshape", (flat.0,))
    }
}

type Vector<'py> = Bound<'py, PyArray1<f64>>;

#[pymethods]
impl Model {
    #[staticmethod]
    #[pyo3(signature = (options, x, y, weight=None, names=None, callback=None, threads=None))]
    fn fit<'py>(
        py: Python<'py>,
        options: &Bound<'py, PyDict>,
        x: PyReadonlyArray2<'py, f32>,
        y: Goal<'py>,
        weight: Option<PyReadonlyArray1<'py, f32>>,
        names: Option<Vec<String>>,
        callback: Option<Py<PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let params = params(options)?;
        let rows = Rows { x, goal: y, weight, names };
        let data = rows.data()?;
        let model =
            watched(py, threads, callback.as_ref(), |watch| Fit::new(&params).observer(watch).run(&data))?;
        Ok(Self(Arc::new(model)))
    }

    /// Descends from this model's parameters; see `rffnet::Model::resume`.
    #[pyo3(signature = (options, x, y, weight=None, callback=None, threads=None))]
    fn resume<'py>(
        &self,
        py: Python<'py>,
        options: &Bound<'py, PyDict>,
        x: PyReadonlyArray2<'py, f32>,
        y: Goal<'py>,
        weight: Option<PyReadonlyArray1<'py, f32>>,
        callback: Option<Py<PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let params = params(options)?;
        let rows = Rows { x, goal: y, weight, names: None };
        let data = rows.data()?;
        let model = watched(py, threads, callback.as_ref(), |watch| self.0.resume(&params, &data, watch))?;
        Ok(Self(Arc::new(model)))
    }

    /// `(head, linear, intercept)` of the average of the networks, in units of the outputs: f is the head times all
    /// features sqrt(2/s) cos(..), plus the linear terms times the standardised columns, plus the intercept.
    fn head<'py>(&self, py: Python<'py>) -> PyResult<[Bound<'py, PyAny>; 3]> {
        let [head, linear, intercept] = head_of(&self.0).map_err(exception)?;
        Ok([head.array(py)?, linear.array(py)?, intercept.array(py)?])
    }

    /// Numbers, row after row.
    #[pyo3(signature = (x, threads=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f32>,
        threads: Option<usize>,
    ) -> PyResult<Vector<'py>> {
        let x = matrix(&x)?;
        Ok(run(py, threads, || self.0.predict(x))?.into_pyarray(py))
    }

    /// The network's outputs, row after row.
    #[pyo3(signature = (x, threads=None))]
    fn decision<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f32>,
        threads: Option<usize>,
    ) -> PyResult<Vector<'py>> {
        let x = matrix(&x)?;
        Ok(run(py, threads, || self.0.decision(x))?.into_pyarray(py))
    }

    /// Class probabilities, row after row.
    #[pyo3(signature = (x, threads=None))]
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f32>,
        threads: Option<usize>,
    ) -> PyResult<Vector<'py>> {
        let x = matrix(&x)?;
        Ok(run(py, threads, || self.0.probabilities(x))?.into_pyarray(py))
    }

    /// The most probable class of each row, by position.
    #[pyo3(signature = (x, threads=None))]
    fn labels<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f32>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let x = matrix(&x)?;
        Ok(run(py, threads, || self.0.labels(x))?.into_pyarray(py))
    }

    /// Algorithm 3 on held-out rows: columns by falling relevance, scores with 0, 1, ... of them, how many are kept.
    #[pyo3(signature = (x, y, weight=None, threads=None))]
    fn top_k<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f32>,
        y: Goal<'py>,
        weight: Option<PyReadonlyArray1<'py, f32>>,
        threads: Option<usize>,
    ) -> PyResult<(Vec<usize>, Vec<f64>, usize)> {
        let rows = Rows { x, goal: y, weight, names: None };
        let data = rows.data()?;
        let found = run(py, threads, || rffnet::select::top_k(&self.0, &data))?;
        Ok((found.order, found.path.iter().map(|step| step.score).collect(), found.kept))
    }

    /// A copy that looks at these columns only.
    fn restricted(&self, columns: Vec<usize>) -> Self {
        Self(Arc::new(self.0.restricted(&columns)))
    }

    #[getter]
    fn task(&self) -> String {
        self.0.task().to_string()
    }

    #[getter]
    fn classes(&self) -> Vec<String> {
        self.0.classes().to_vec()
    }

    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.0.feature_names().to_vec()
    }

    #[getter]
    fn has_names(&self) -> bool {
        self.0.has_names()
    }

    #[getter]
    fn outputs(&self) -> usize {
        self.0.outputs()
    }

    #[getter]
    fn relevances<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        self.0.relevances().into_pyarray(py)
    }

    #[getter]
    fn importances<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        self.0.importances().to_vec().into_pyarray(py)
    }

    /// Relevances after each epoch of the history; empty in a model read from a file.
    #[getter]
    fn relevance_history(&self) -> Vec<Vec<f32>> {
        self.0.history().relevances().to_vec()
    }

    /// What stands in the model file beside the numbers, as JSON.
    #[getter]
    fn card(&self) -> PyResult<String> {
        let bytes = self.0.to_bytes().map_err(exception)?;
        metadata(&bytes).map_err(exception)
    }

    /// The numbers of the model file, by name.
    fn tensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for (name, tensor) in tensors_of(&self.0).map_err(exception)? {
            found.set_item(name, tensor.array(py)?)?;
        }
        Ok(found)
    }

    /// A copy with other numbers, and with another card if one is given.
    #[pyo3(signature = (tensors, card=None))]
    fn with_tensors(&self, tensors: &Bound<'_, PyDict>, card: Option<String>) -> PyResult<Self> {
        let bytes = self.0.to_bytes().map_err(exception)?;
        let mut all = tensors_of(&self.0).map_err(exception)?;
        for (name, array) in tensors {
            let name: String = name.extract()?;
            let tensor = if let Ok(array) = array.extract::<PyReadonlyArrayDyn<'_, f32>>() {
                Shaped::F32(array.shape().to_vec(), array.as_array().iter().copied().collect())
            } else if let Ok(array) = array.extract::<PyReadonlyArrayDyn<'_, f64>>() {
                Shaped::F64(array.shape().to_vec(), array.as_array().iter().copied().collect())
            } else {
                return Err(PyValueError::new_err(format!(
                    "'{name}' is not an array of floating-point numbers"
                )));
            };
            all.retain(|(n, _)| *n != name);
            all.push((name, tensor));
        }
        let card = card.map_or_else(|| metadata(&bytes), Ok).map_err(exception)?;
        let bytes = written(&all, card).map_err(exception)?;
        Ok(Self(Arc::new(rffnet::Model::from_bytes(&bytes).map_err(exception)?)))
    }

    /// The model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.to_bytes()).map_err(exception)?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let model = py.detach(|| rffnet::Model::from_bytes(bytes)).map_err(exception)?;
        Ok(Self(Arc::new(model)))
    }

    /// The model as an ONNX graph.
    fn to_onnx<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| rffnet_onnx::to_onnx(&self.0)).map_err(exception)?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn save(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
        py.detach(|| self.0.save(path)).map_err(exception)
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: std::path::PathBuf) -> PyResult<Self> {
        Ok(Self(Arc::new(py.detach(|| rffnet::Model::load(path)).map_err(exception)?)))
    }

    /// Pickles carry the model file.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let make = PyType::new::<Self>(py).getattr("from_bytes")?;
        Ok((make, (self.to_bytes(py)?,)))
    }
}

fn damaged(why: impl std::fmt::Display) -> Error {
    Error::ModelFile(format!("the model cannot be taken apart: {why}"))
}

/// The one metadata key of a model file.
const KEY: &str = "rffnet";

fn metadata(bytes: &[u8]) -> Result<String, Error> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
    header.metadata().as_ref().and_then(|m| m.get(KEY).cloned()).ok_or_else(|| damaged("no card"))
}

/// The tensors of the model file.
pub(crate) fn tensors_of(model: &rffnet::Model) -> Result<Vec<(String, Shaped)>, Error> {
    let bytes = model.to_bytes()?;
    let file = SafeTensors::deserialize(&bytes).map_err(damaged)?;
    let numbers = |(name, view): (String, TensorView<'_>)| {
        let (shape, data) = (view.shape().to_vec(), view.data());
        let tensor = match view.dtype() {
            Dtype::F32 => {
                let values = data.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
                Shaped::F32(shape, values.collect())
            }
            Dtype::F64 => {
                let value = |b: &[u8]| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
                Shaped::F64(shape, data.chunks_exact(8).map(value).collect())
            }
            other => return Err(damaged(format!("tensor '{name}' is {other:?}"))),
        };
        Ok((name, tensor))
    };
    file.tensors().into_iter().map(numbers).collect()
}

/// See [`Model::head`].
fn head_of(model: &rffnet::Model) -> Result<[Shaped; 3], Error> {
    let tensors = tensors_of(model)?;
    let numbers = |name: &str| -> Vec<f64> {
        tensors.iter().find(|(n, _)| n == name).map_or(Vec::new(), |(_, tensor)| match tensor {
            Shaped::F32(_, values) => values.iter().map(|&v| v as f64).collect(),
            Shaped::F64(_, values) => values.clone(),
        })
    };
    let (m, s, k, d) =
        (model.committee(), model.random_features(), model.outputs(), model.feature_names().len());
    let (mean, scale) = (numbers("scale.target_mean"), numbers("scale.target_scale"));
    let (beta, linear, intercept) = (numbers("beta"), numbers("linear"), numbers("intercept"));
    let share = |c: usize| scale[c] / m as f64;
    // Plain cosines, as in the paper's tables, are the usual features times sqrt(s/2).
    let factor = if model.plan().scaled_features { 1.0 } else { (s as f64 / 2.0).sqrt() };
    let mut heads = vec![0.0; k * m * s];
    let mut slopes = vec![0.0; k * d];
    let mut constants = mean.clone();
    for c in 0..k {
        for i in 0..m * s {
            heads[c * m * s + i] = factor * share(c) * beta[i * k + c];
        }
        for (i, slope) in linear.iter().enumerate().filter(|(i, _)| i % k == c) {
            slopes[c * d + i / k % d] += share(c) * slope;
        }
        constants[c] += intercept.iter().skip(c).step_by(k).map(|b| share(c) * b).sum::<f64>();
    }
    let shaped = |rows: usize, columns: usize, values| Shaped::F64(vec![rows, columns], values);
    Ok([shaped(k, m * s, heads), shaped(k, d, slopes), Shaped::F64(vec![k], constants)])
}

/// The model file of these tensors.
fn written(tensors: &[(String, Shaped)], card: String) -> Result<Vec<u8>, Error> {
    let bytes: Vec<(&str, Dtype, &[usize], Vec<u8>)> = tensors
        .iter()
        .map(|(name, tensor)| match tensor {
            Shaped::F32(shape, v) => (
                name.as_str(),
                Dtype::F32,
                shape.as_slice(),
                v.iter().flat_map(|v| v.to_le_bytes()).collect(),
            ),
            Shaped::F64(shape, v) => (
                name.as_str(),
                Dtype::F64,
                shape.as_slice(),
                v.iter().flat_map(|v| v.to_le_bytes()).collect(),
            ),
        })
        .collect();
    let views: Result<Vec<_>, _> = bytes
        .iter()
        .map(|(name, dtype, shape, data)| Ok((*name, TensorView::new(*dtype, shape.to_vec(), data)?)))
        .collect();
    let metadata = std::collections::HashMap::from([(KEY.to_string(), card)]);
    views
        .and_then(|views| safetensors::serialize(views, Some(metadata)))
        .map_err(|e: safetensors::SafeTensorError| damaged(e))
}
