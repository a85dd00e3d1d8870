//! Reads an ONNX file and computes its graph, without any of the code that wrote it.

pub(crate) mod read;
pub(crate) mod run;
