//! The model file: safetensors, the arrays of `tensors.rs` and everything else in one JSON text under the metadata key
//! `rffnet`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, SafeTensors, View};

use super::tensors::{Tensor, TensorValues, damaged};
use super::{Metadata, Model, checksum};
use crate::Error;

/// The format this version writes; it reads this one and all before.
pub(crate) const FORMAT: u32 = 2;
/// From this format on a file has a checksum.
const CHECKED: u32 = 2;

const KEY: &str = "rffnet";

impl Model {
    /// The model as bytes; the same model always gives the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let unwritable =
            |why: &dyn std::fmt::Display| Error::ModelFile(format!("the model cannot be written: {why}"));
        let metadata = Metadata { format: FORMAT, ..self.metadata.clone() };
        let text = serde_json::to_string(&metadata).map_err(|e| unwritable(&e))?;
        let metadata = HashMap::from([(KEY.to_string(), checksum::with_room(&text))]);
        let tensors = self.tensors().into_iter().map(|tensor| (tensor.name.clone(), tensor));
        let mut bytes = safetensors::serialize(tensors, Some(metadata)).map_err(|e| unwritable(&e))?;
        checksum::stamp(&mut bytes);
        Ok(bytes)
    }

    /// Reads what [`Model::to_bytes`] wrote. Never runs code; checks every shape and every number.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(|_| not_a_model())?;
        let text = header.metadata().as_ref().and_then(|m| m.get(KEY)).ok_or_else(not_a_model)?;
        let version: Version = serde_json::from_str(text).map_err(|_| not_a_model())?;
        if version.format == 0 || version.format > FORMAT {
            return Err(Error::ModelFile(format!(
                "the model file has format {}, but this version reads formats 1 to {FORMAT}; update rffnet",
                version.format
            )));
        }
        if version.format >= CHECKED {
            checksum::check(bytes)?;
        }
        let metadata: Metadata = serde_json::from_str(text).map_err(|e| damaged(&e.to_string()))?;
        let file = SafeTensors::deserialize(bytes).map_err(|e| damaged(&e.to_string()))?;
        // Arrays of other types are none of a model's: a later version may add some.
        let tensors = file.tensors().into_iter().filter_map(|(name, view)| {
            let values = TensorValues::from_bytes(view.dtype(), view.data())?;
            Some(Tensor { values, shape: view.shape().to_vec(), name })
        });
        Self::from_tensors(metadata, tensors.collect())
    }

    /// Writes the model file, whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        write_file(path.as_ref(), &self.to_bytes()?)
    }

    /// Reads a model file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|source| Error::Io {
            path: path.into(),
            action: "read the model",
            source,
        })?;
        Self::from_bytes(&bytes).map_err(|e| match e {
            Error::ModelFile(text) => Error::ModelFile(format!("{}: {text}", path.display())),
            other => other,
        })
    }
}

/// Just enough of the metadata to know whether the rest can be understood.
#[derive(serde::Deserialize)]
struct Version {
    format: u32,
}

fn not_a_model() -> Error {
    Error::ModelFile("not an rffnet model file, or cut short".into())
}

impl View for Tensor {
    fn dtype(&self) -> Dtype {
        if matches!(self.values, TensorValues::F32(_)) { Dtype::F32 } else { Dtype::F64 }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        match &self.values {
            TensorValues::F32(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            TensorValues::F64(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        }
    }

    fn data_len(&self) -> usize {
        self.shape.iter().product::<usize>() * if self.dtype() == Dtype::F32 { 4 } else { 8 }
    }
}

impl TensorValues {
    fn from_bytes(dtype: Dtype, bytes: &[u8]) -> Option<Self> {
        match dtype {
            Dtype::F32 => {
                Some(Self::F32(bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect()))
            }
            Dtype::F64 => {
                Some(Self::F64(bytes.as_chunks().0.iter().map(|&b| f64::from_le_bytes(b)).collect()))
            }
            _ => None,
        }
    }
}

/// Writes a file whole or not at all: a temporary file beside it, then a rename. What is not a plain file (a pipe, a
/// device) is written to directly.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |source| Error::Io { path: path.into(), action: "write", source };
    if fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        return fs::OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut f| f.write_all(bytes))
            .map_err(failed);
    }
    // A link is followed, so that the file it names is replaced and not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let (mut file, temporary) = create_beside(&target).map_err(failed)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    drop(file);
    written.and_then(|()| fs::rename(&temporary, &target)).map_err(|source| {
        // Nothing is left behind; that the clean-up itself may fail changes nothing about the error to report.
        let _ = fs::remove_file(&temporary);
        failed(source)
    })
}

/// A new file in the folder of `target`. One of another thread, or left by a process that was killed, is stepped over.
fn create_beside(target: &Path) -> io::Result<(fs::File, PathBuf)> {
    let mut attempt = 0u32;
    loop {
        let path = target.with_file_name(format!(".rffnet-{}-{attempt}.tmp", std::process::id()));
        match fs::OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => attempt += 1,
            Err(e) => return Err(e),
            Ok(file) => return Ok((file, path)),
        }
    }
}
