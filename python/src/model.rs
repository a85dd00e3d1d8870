//! A fitted model, as Python holds it.

use numpy::{Element, IntoPyArray, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use rffnet::{Error, Fit, Matrix, Tensor, TensorValues};

use crate::data::{Grid, Holds, Rows, Table, Vector, matrix};
use crate::error::exception;
use crate::options::params;
use crate::work::{Threads, run, watched};

/// A fitted model; see `rffnet::Model`.
#[pyclass(frozen, module = "rffnet._rffnet")]
pub(crate) struct Model(rffnet::Model);

impl Model {
    /// What the model says of rows, one after the other.
    fn outputs_of<'py, T: Send + Element>(
        &self,
        py: Python<'py>,
        x: &Table<'py>,
        threads: Threads,
        what: impl FnOnce(&rffnet::Model, Matrix<'_>) -> Result<Vec<T>, Error> + Send,
    ) -> PyResult<Vector<'py, T>> {
        let x = matrix(x)?;
        Ok(run(py, threads, || what(&self.0, x))?.into_pyarray(py))
    }
}

#[pymethods]
impl Model {
    #[staticmethod]
    #[pyo3(signature = (options, rows, callback=None, threads=None))]
    fn fit<'py>(
        py: Python<'py>,
        options: &Bound<'py, PyDict>,
        rows: Rows<'py>,
        callback: Option<Py<PyAny>>,
        threads: Threads,
    ) -> PyResult<Self> {
        let (params, data) = (params(options)?, rows.data()?);
        watched(py, threads, callback.as_ref(), |watch| Fit::new(&params).observer(watch).run(&data))
            .map(Self)
    }

    /// Descends from this model's parameters; see `rffnet::Model::resume`.
    #[pyo3(signature = (options, rows, callback=None, threads=None))]
    fn resume<'py>(
        &self,
        py: Python<'py>,
        options: &Bound<'py, PyDict>,
        rows: Rows<'py>,
        callback: Option<Py<PyAny>>,
        threads: Threads,
    ) -> PyResult<Self> {
        let (params, data) = (params(options)?, rows.data()?);
        watched(py, threads, callback.as_ref(), |watch| self.0.resume(&params, &data, watch)).map(Self)
    }

    /// `(head, linear, intercept)` of the average of the members, in units of the outputs: f is the head times all
    /// features sqrt(2/s) cos(..), plus the linear terms times the encoded and transformed columns, plus the intercept, plus
    /// the cells of partitions where there are some.
    fn head<'py>(&self, py: Python<'py>) -> PyResult<(Grid<'py, f64>, Grid<'py, f64>, Vector<'py, f64>)> {
        let model = &self.0;
        let (m, s, k, d) =
            (model.committee(), model.random_features(), model.outputs(), model.encoder().width());
        // Plain cosines, as in the paper's tables, are the usual features times sqrt(s/2).
        let factor = if model.plan().common.scaled_features { 1.0 } else { (s as f64 / 2.0).sqrt() };
        let (mut head, mut linear, mut intercept) = (Vec::new(), vec![0.0; k * d], Vec::new());
        for (c, (mean, deviation)) in model.target_scale().enumerate() {
            let share = deviation / m as f64;
            let beta = model.members().flat_map(|member| member.beta.iter().skip(c).step_by(k));
            head.extend(beta.map(|&b| factor * share * f64::from(b)));
            for member in model.members() {
                let slopes = member.linear.iter().skip(c).step_by(k);
                linear[c * d..].iter_mut().zip(slopes).for_each(|(sum, &b)| *sum += share * f64::from(b));
            }
            let terms = model.members().map(|member| share * f64::from(member.intercept[c]));
            intercept.push(mean + terms.sum::<f64>());
        }
        let grid = |values: Vec<f64>, columns| values.into_pyarray(py).reshape([k, columns]);
        Ok((grid(head, m * s)?, grid(linear, d)?, intercept.into_pyarray(py)))
    }

    /// Numbers, row after row.
    #[pyo3(signature = (x, threads=None))]
    fn predict<'py>(&self, py: Python<'py>, x: Table<'py>, threads: Threads) -> PyResult<Vector<'py, f64>> {
        self.outputs_of(py, &x, threads, rffnet::Model::predict)
    }

    /// The model's outputs, row after row.
    #[pyo3(signature = (x, threads=None))]
    fn decision<'py>(&self, py: Python<'py>, x: Table<'py>, threads: Threads) -> PyResult<Vector<'py, f64>> {
        self.outputs_of(py, &x, threads, rffnet::Model::decision)
    }

    /// Class probabilities, row after row.
    #[pyo3(signature = (x, threads=None))]
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        x: Table<'py>,
        threads: Threads,
    ) -> PyResult<Vector<'py, f64>> {
        self.outputs_of(py, &x, threads, rffnet::Model::probabilities)
    }

    /// The most probable class of each row, by position.
    #[pyo3(signature = (x, threads=None))]
    fn labels<'py>(&self, py: Python<'py>, x: Table<'py>, threads: Threads) -> PyResult<Vector<'py, u32>> {
        self.outputs_of(py, &x, threads, rffnet::Model::labels)
    }

    /// Rows as the column transforms and the members see them, `rows x encoded columns`; NaN where a gap is read as the mean.
    #[pyo3(signature = (x, threads=None))]
    fn encode<'py>(&self, py: Python<'py>, x: Table<'py>, threads: Threads) -> PyResult<Grid<'py, f32>> {
        let (rows, encoder) = (matrix(&x)?, self.0.encoder());
        if rows.columns() != encoder.columns().len() {
            let text = format!(
                "the model was fitted on {} columns but the data have {}",
                encoder.columns().len(),
                rows.columns()
            );
            return Err(PyValueError::new_err(text));
        }
        let encoded = run(py, threads, || Ok(encoder.encode(rows)))?;
        encoded.into_pyarray(py).reshape([rows.rows(), encoder.width()])
    }

    /// Algorithm 3 on held-out rows: columns by falling relevance, scores with 0, 1, ... of them, how many are kept.
    #[pyo3(signature = (rows, threads=None))]
    fn top_k<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'py>,
        threads: Threads,
    ) -> PyResult<(Vec<usize>, Vec<f64>, usize)> {
        let data = rows.data()?;
        let found = run(py, threads, || rffnet::select::top_k(&self.0, &data))?;
        Ok((found.order, found.path.iter().map(|step| step.score).collect(), found.kept))
    }

    /// A copy that looks at these columns only.
    fn restricted(&self, columns: Vec<usize>) -> Self {
        Self(self.0.restricted(&columns))
    }

    #[getter]
    fn outputs(&self) -> usize {
        self.0.outputs()
    }

    /// What each column of a table holds.
    #[getter]
    fn column_types(&self) -> Vec<Holds> {
        self.0.column_types().map(Holds::from).collect()
    }

    /// For each encoded column, the column of the table it belongs to.
    #[getter]
    fn origin(&self) -> Vec<usize> {
        self.0.encoder().origin()
    }

    #[getter]
    fn relevances<'py>(&self, py: Python<'py>) -> Vector<'py, f32> {
        self.0.relevances().into_pyarray(py)
    }

    #[getter]
    fn importances<'py>(&self, py: Python<'py>) -> Vector<'py, f32> {
        self.0.importances().to_vec().into_pyarray(py)
    }

    /// Relevances of the table's columns after each epoch of the history, the largest where a column is encoded as several;
    /// empty in a model read from a file.
    #[getter]
    fn relevance_history(&self) -> Vec<Vec<f32>> {
        let (columns, origin) = (self.0.feature_names().len(), self.0.encoder().origin());
        let per_column = |encoded: &Vec<f32>| {
            let mut largest = vec![0f32; columns];
            origin.iter().zip(encoded).for_each(|(&j, relevance)| largest[j] = largest[j].max(*relevance));
            largest
        };
        self.0.history().relevances().iter().map(per_column).collect()
    }

    /// What stands in the model file beside the numbers, as JSON.
    #[getter]
    fn card(&self) -> PyResult<String> {
        serde_json::to_string(self.0.metadata()).map_err(damaged)
    }

    /// The arrays of the model file, by name.
    fn tensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for Tensor { name, shape, values } in self.0.tensors() {
            match values {
                TensorValues::F32(values) => found.set_item(name, values.into_pyarray(py).reshape(shape)?)?,
                TensorValues::F64(values) => found.set_item(name, values.into_pyarray(py).reshape(shape)?)?,
                _ => return Err(damaged(format!("'{name}' has another type"))),
            }
        }
        Ok(found)
    }

    /// A model of this card and these arrays.
    #[staticmethod]
    fn from_tensors(card: &str, tensors: &Bound<'_, PyDict>) -> PyResult<Self> {
        let tensor = |(name, array): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let name: String = name.extract()?;
            let (shape, values) = if let Ok(array) = array.extract::<PyReadonlyArrayDyn<'_, f32>>() {
                (array.shape().to_vec(), TensorValues::F32(array.as_array().iter().copied().collect()))
            } else if let Ok(array) = array.extract::<PyReadonlyArrayDyn<'_, f64>>() {
                (array.shape().to_vec(), TensorValues::F64(array.as_array().iter().copied().collect()))
            } else {
                let text = format!("'{name}' is not an array of floating-point numbers");
                return Err(PyValueError::new_err(text));
            };
            Ok(Tensor { name, shape, values })
        };
        let tensors = tensors.iter().map(tensor).collect::<PyResult<_>>()?;
        let metadata = serde_json::from_str(card).map_err(damaged)?;
        rffnet::Model::from_tensors(metadata, tensors).map(Self).map_err(exception)
    }

    /// The model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.to_bytes()).map_err(exception)?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        py.detach(|| rffnet::Model::from_bytes(bytes)).map(Self).map_err(exception)
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
        py.detach(|| rffnet::Model::load(path)).map(Self).map_err(exception)
    }

    /// Pickles carry the model file.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let make = PyType::new::<Self>(py).getattr("from_bytes")?;
        Ok((make, (self.to_bytes(py)?,)))
    }
}

fn damaged(why: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("the model cannot be taken apart: {why}"))
}
