//! What Python sees of the library: one class, `Model`, and a few functions, all private to the package `rffnet`.
//!
//! Nothing is computed here that the library does not compute. Arrays are borrowed, not copied; work runs on a pool of
//! its own, without the GIL; a panic becomes a `RuntimeError`.
#![cfg(feature = "extension-module")]

mod data;
mod error;
mod features;
mod model;
mod options;
mod work;

use std::ffi::OsString;

use pyo3::prelude::*;

/// The `rffnet` command with these arguments, the program's name first; its exit status.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| rffnet_cli::main(arguments))
}

/// Panics, as nothing else does: for the tests.
#[pyfunction]
fn panic(py: Python<'_>) -> PyResult<()> {
    work::run(py, Some(1), || panic!("on purpose"))
}

/// The compiled part of the package `rffnet`.
#[pymodule]
fn _rffnet(module: &Bound<'_, PyModule>) -> PyResult<()> {
    rffnet::simd::requested().map_err(pyo3::exceptions::PyImportError::new_err)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<model::Model>()?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(panic, module)?)?;
    module.add_function(wrap_pyfunction!(features::frequencies, module)?)?;
    module.add_function(wrap_pyfunction!(features::transform, module)?)?;
    module.add_function(wrap_pyfunction!(options::parameters, module)?)?;
    module.add_function(wrap_pyfunction!(work::threads, module)?)
}
