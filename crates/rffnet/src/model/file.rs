//! The model file: safetensors, with everything that is not a number in one JSON text.
//!
//! | tensor | shape | meaning |
//! |---|---|---|
//! | `theta` | d | relevances, signed |
//! | `omega` | d x s | frequencies |
//! | `phase` | s | phases |
//! | `beta` | s x k | head, without the cosines' factor |
//! | `intercept` | k | intercept |
//! | `linear` | d x k | linear terms of the standardised columns; absent without |
//! | `importance` | d | see [`Model::importances`] |
//! | `scale.mean`, `scale.inverse` | d | standardisation of the inputs, z = (x - mean) inverse |
//! | `scale.warp` | 5 x d | warped columns: power, range, mean and 1 / deviation after; absent if none is |
//! | `scale.bend` | d | bent columns: z / sqrt(1 + bend z^2); absent if none is |
//! | `scale.target_mean`, `scale.target_scale` | k, f64 | of the target |
//!
//! With several networks averaged, those above `importance` have a leading dimension. The metadata key `rffnet` holds the rest.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use crate::Error;
use crate::loss::Link;
use crate::model::{Card, Member, Model, Stored, Task};
use crate::solver::History;
use crate::transform::Scale;
use crate::transform::yeo_johnson::Warp;

/// The format this version writes; it reads this one and all before.
pub(crate) const FORMAT: u32 = 1;

const KEY: &str = "rffnet";

impl Model {
    /// The model as bytes; the same model always gives the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let (d, s, k) = (self.card.feature_names.len(), self.random_features(), self.outputs());
        let stack = |part: fn(&Member) -> &[f32]| -> Vec<u8> {
            self.members.iter().flat_map(|m| part(m).iter().flat_map(|v| v.to_le_bytes())).collect()
        };
        let stacked = |shape: &[usize]| -> Vec<usize> {
            let leading = (self.members.len() > 1).then_some(self.members.len());
            leading.into_iter().chain(shape.iter().copied()).collect()
        };
        let f32s = |values: &[f32]| -> Vec<u8> { values.iter().flat_map(|v| v.to_le_bytes()).collect() };
        let f64s = |values: &[f64]| -> Vec<u8> { values.iter().flat_map(|v| v.to_le_bytes()).collect() };
        let mut tensors: Vec<(&str, Dtype, Vec<usize>, Vec<u8>)> = vec![
            ("theta", Dtype::F32, stacked(&[d]), stack(|m| &m.stored.theta)),
            ("omega", Dtype::F32, stacked(&[d, s]), stack(|m| &m.stored.omega)),
            ("phase", Dtype::F32, stacked(&[s]), stack(|m| &m.stored.phase)),
            ("beta", Dtype::F32, stacked(&[s, k]), stack(|m| &m.stored.beta)),
            ("intercept", Dtype::F32, stacked(&[k]), stack(|m| &m.stored.intercept)),
            ("importance", Dtype::F32, vec![d], f32s(&self.importance)),
            ("scale.mean", Dtype::F32, vec![d], f32s(&self.scale.mean)),
            ("scale.inverse", Dtype::F32, vec![d], f32s(&self.scale.inverse)),
            ("scale.target_mean", Dtype::F64, vec![k], f64s(&self.target_mean)),
            ("scale.target_scale", Dtype::F64, vec![k], f64s(&self.target_scale)),
        ];
        if !self.scale.warp.is_empty() {
            let numbers = f32s(&Warp::to_numbers(&self.scale.warp));
            tensors.push(("scale.warp", Dtype::F32, vec![Warp::NUMBERS, d], numbers));
        }
        if !self.scale.bend.is_empty() {
            tensors.push(("scale.bend", Dtype::F32, vec![d], f32s(&self.scale.bend)));
        }
        if !self.members[0].stored.linear.is_empty() {
            tensors.push(("linear", Dtype::F32, stacked(&[d, k]), stack(|m| &m.stored.linear)));
        }
        let views: Result<Vec<_>, _> = tensors
            .iter()
            .map(|(name, dtype, shape, bytes)| Ok((*name, TensorView::new(*dtype, shape.clone(), bytes)?)))
            .collect();
        let card = serde_json::to_string(&self.card).map_err(|e| unwritable(&e))?;
        let metadata = HashMap::from([(KEY.to_string(), card)]);
        views
            .and_then(|views| safetensors::serialize(views, Some(metadata)))
            .map_err(|e: safetensors::SafeTensorError| unwritable(&e))
    }

    /// Reads what [`Model::to_bytes`] wrote. Never runs code; checks every shape and every number.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(|_| not_a_model())?;
        let card = header.metadata().as_ref().and_then(|m| m.get(KEY)).ok_or_else(not_a_model)?;
        let version: Version = serde_json::from_str(card).map_err(|_| not_a_model())?;
        if version.format == 0 || version.format > FORMAT {
            return Err(Error::ModelFile(format!(
                "the model file has format {}, but this version reads formats 1 to {FORMAT}; update rffnet",
                version.format
            )));
        }
        let card: Card = serde_json::from_str(card).map_err(|e| damaged(&e.to_string()))?;
        let tensors = SafeTensors::deserialize(bytes).map_err(|e| damaged(&e.to_string()))?;
        Reader { tensors }.model(card)
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

fn damaged(why: &str) -> Error {
    Error::ModelFile(format!("the model file is damaged ({why}); make it again with `rffnet fit -o`"))
}

fn unwritable(why: &dyn std::fmt::Display) -> Error {
    Error::ModelFile(format!("the model cannot be written: {why}"))
}

fn finite<T>(name: &str, values: Vec<T>, is_finite: impl Fn(&T) -> bool) -> Result<Vec<T>, Error> {
    if values.iter().all(is_finite) {
        Ok(values)
    } else {
        Err(damaged(&format!("tensor '{name}' is not finite")))
    }
}

struct Reader<'a> {
    tensors: SafeTensors<'a>,
}

impl Reader<'_> {
    fn bytes(&self, name: &str, dtype: Dtype, shape: &[usize]) -> Result<&[u8], Error> {
        let tensor = self.tensors.tensor(name).map_err(|_| damaged(&format!("no tensor '{name}'")))?;
        if tensor.dtype() != dtype || tensor.shape() != shape {
            return Err(damaged(&format!(
                "tensor '{name}' is {:?} {:?}, not {dtype:?} {shape:?}",
                tensor.dtype(),
                tensor.shape()
            )));
        }
        Ok(tensor.data())
    }

    fn f32s(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, Error> {
        let bytes = self.bytes(name, Dtype::F32, shape)?;
        let values = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        finite(name, values.collect(), |v: &f32| v.is_finite())
    }

    fn f64s(&self, name: &str, shape: &[usize]) -> Result<Vec<f64>, Error> {
        let bytes = self.bytes(name, Dtype::F64, shape)?;
        let value = |b: &[u8]| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
        finite(name, bytes.chunks_exact(8).map(value).collect(), |v: &f64| v.is_finite())
    }

    fn model(&self, card: Card) -> Result<Model, Error> {
        let d = card.feature_names.len();
        let omega = self.tensors.tensor("omega").map_err(|_| damaged("no tensor 'omega'"))?;
        let (members, s) = match *omega.shape() {
            [_, s] => (1, s),
            [m, _, s] if m > 1 => (m, s),
            _ => return Err(damaged("tensor 'omega' has a strange shape")),
        };
        let k = match (card.task, card.link, card.classes.len()) {
            (Task::Classification, Link::Logistic, 2) => 1,
            (Task::Classification, Link::Softmax, classes) if classes != 2 => classes,
            (Task::Regression, Link::Identity | Link::Log, 0) => {
                self.tensors.tensor("scale.target_mean").map_or(0, |t| t.shape().iter().product())
            }
            _ => return Err(damaged("task, link and classes do not fit together")),
        };
        if d == 0 || s == 0 || k == 0 {
            return Err(damaged("a dimension is zero"));
        }
        if !(card.feature_scale > 0.0 && card.feature_scale.is_finite()) {
            return Err(damaged("the feature scale is not a positive number"));
        }
        let stacked = |shape: &[usize]| -> Vec<usize> {
            (members > 1).then_some(members).into_iter().chain(shape.iter().copied()).collect()
        };
        let theta = self.f32s("theta", &stacked(&[d]))?;
        let omega = self.f32s("omega", &stacked(&[d, s]))?;
        let phase = self.f32s("phase", &stacked(&[s]))?;
        let beta = self.f32s("beta", &stacked(&[s, k]))?;
        let intercept = self.f32s("intercept", &stacked(&[k]))?;
        let linear = match self.tensors.tensor("linear") {
            Ok(_) => self.f32s("linear", &stacked(&[d, k]))?,
            Err(_) => Vec::new(),
        };
        let part = |values: &[f32], len: usize, m: usize| values[m * len..(m + 1) * len].to_vec();
        let member = |m: usize| {
            let stored = Stored {
                theta: part(&theta, d, m),
                omega: part(&omega, d * s, m),
                phase: part(&phase, s, m),
                beta: part(&beta, s * k, m),
                intercept: part(&intercept, k, m),
                linear: if linear.is_empty() { Vec::new() } else { part(&linear, d * k, m) },
            };
            Member::new(stored, card.feature_scale)
        };
        let guarded = card.guard.len() == k && card.guard.iter().all(|(low, high)| low <= high);
        if !(card.guard.is_empty() || guarded) {
            return Err(damaged("the guard does not fit"));
        }
        let shape = |name: &str, shape: &[usize]| match self.tensors.tensor(name) {
            Ok(_) => self.f32s(name, shape),
            Err(_) => Ok(Vec::new()),
        };
        let model = Model {
            scale: Scale::new(
                self.f32s("scale.mean", &[d])?,
                self.f32s("scale.inverse", &[d])?,
                &shape("scale.warp", &[Warp::NUMBERS, d])?,
                shape("scale.bend", &[d])?,
            )
            .map_err(damaged)?,
            target_mean: self.f64s("scale.target_mean", &[k])?,
            target_scale: self.f64s("scale.target_scale", &[k])?,
            importance: self.f32s("importance", &[d])?,
            members: (0..members).map(member).collect(),
            history: History::default(),
            card,
        };
        if model.members.iter().any(|m| !m.weights.is_finite()) {
            return Err(damaged("the head is not finite"));
        }
        Ok(model)
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
