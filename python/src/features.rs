//! Random features alone, without a model: for the transformer and the PyTorch layer.

use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use rayon::prelude::*;
use rffnet::simd::{self, CHUNK, Frequencies};
use rffnet::{Data, Error, Fit, Kernel, Matrix, Params, Sampling, Scale, SolverKind, Target};

use crate::error::exception;
use crate::model::tensors_of;
use crate::target::matrix;
use crate::work::run;

/// `(omega, phase)` as a fit with the same seed draws them: omega is `columns x features`.
#[pyfunction]
pub(crate) fn frequencies<'py>(
    py: Python<'py>,
    kernel: &str,
    sampling: &str,
    columns: usize,
    features: usize,
    seed: u64,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let params = Params::new()
        .kernel(kernel.parse::<Kernel>().map_err(exception)?)
        .sampling(sampling.parse::<Sampling>().map_err(exception)?)
        .random_features(features)
        .solver(SolverKind::Adam)
        .seed(seed);
    // A fit to a constant target draws its frequencies and has nothing to learn.
    let mut drawn = run(py, Some(1), || {
        let x: Vec<f32> = [0.0, 1.0].into_iter().flat_map(|v| std::iter::repeat_n(v, columns)).collect();
        let data =
            Data::new(Matrix::new(&x, 2, columns)?, Target::Values { values: &[0.0, 0.0], outputs: 1 });
        tensors_of(&Fit::new(&params).run(&data)?)
    })?;
    let mut take = |name: &str| -> PyResult<Bound<'py, PyAny>> {
        let at = drawn.iter().position(|(n, _)| n == name);
        let tensor = at.map(|at| drawn.swap_remove(at).1);
        tensor.ok_or_else(|| exception(Error::ModelFile(format!("no tensor '{name}'"))))?.array(py)
    };
    Ok((take("omega")?, take("phase")?))
}

/// sqrt(2 / s) cos(omega . (theta o (x - mean) inverse) + phase), row by row.
#[pyfunction]
#[pyo3(signature = (x, mean, inverse, warp, bend, theta, omega, phase, threads=None))]
pub(crate) fn transform<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f32>,
    mean: PyReadonlyArray1<'py, f32>,
    inverse: PyReadonlyArray1<'py, f32>,
    warp: Option<PyReadonlyArray2<'py, f32>>,
    bend: Option<PyReadonlyArray1<'py, f32>>,
    theta: PyReadonlyArray1<'py, f32>,
    omega: PyReadonlyArray2<'py, f32>,
    phase: PyReadonlyArray1<'py, f32>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let rows = matrix(&x)?;
    let (d, s) = (rows.columns(), phase.len());
    let misfit = || exception(Error::Shape(format!("the arrays do not fit {d} columns and {s} features")));
    let fits = mean.len() == d && theta.len() == d && omega.shape() == [d, s];
    if !fits || d == 0 || s == 0 {
        return Err(misfit());
    }
    let warp = warp.as_ref().map_or(Ok(&[][..]), |w| w.as_slice())?;
    let bend = bend.as_ref().map_or(Ok(Vec::new()), |b| b.as_slice().map(<[f32]>::to_vec))?;
    let scale = Scale::new(mean.as_slice()?.to_vec(), inverse.as_slice()?.to_vec(), warp, bend)
        .map_err(|why| exception(Error::Shape(why.into())))?;
    let frequencies = Frequencies::new(omega.as_slice()?, phase.as_slice()?);
    let theta = theta.as_slice()?;
    let z = run(py, threads, || {
        let mut z = vec![0.0; rows.rows() * s];
        z.par_chunks_mut(CHUNK * s)
            .enumerate()
            .for_each(|(chunk, z)| features_of(rows, chunk * CHUNK, &scale, theta, &frequencies, z));
        Ok(z)
    })?;
    z.into_pyarray(py).into_any().call_method1("reshape", ((rows.rows(), s),))?.extract().map_err(PyErr::from)
}

/// One chunk of rows, from `first` on.
fn features_of(
    x: Matrix<'_>,
    first: usize,
    scale: &Scale,
    theta: &[f32],
    frequencies: &Frequencies,
    z: &mut [f32],
) {
    let (path, d, padded) = (simd::path(), x.columns(), frequencies.padded());
    let s = frequencies.features();
    let rows: Vec<usize> = (first..first + z.len() / s).collect();
    let (mut standardised, mut scaled) = (vec![0.0; rows.len() * d], vec![0.0; rows.len() * d]);
    let all: Vec<usize> = (0..d).collect();
    scale.gather(path, x, &rows, &all, theta, &mut standardised, &mut scaled);
    let mut cosines = vec![0.0; rows.len() * padded];
    simd::features(path, frequencies, &scaled, rows.len(), &mut cosines);
    let factor = (2.0 / s as f64).sqrt() as f32;
    for (z, cosines) in z.chunks_exact_mut(s).zip(cosines.chunks_exact(padded)) {
        z.iter_mut().zip(cosines).for_each(|(z, c)| *z = factor * c);
    }
}
