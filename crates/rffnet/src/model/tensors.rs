//! A model as named arrays, and back: the one place that knows what the arrays of a model file mean.
//!
//! | tensor | shape | meaning |
//! |---|---|---|
//! | `theta` | d | relevances, signed |
//! | `omega` | d x s | frequencies |
//! | `phase` | s | phases |
//! | `beta` | s x k | head, without the cosines' factor |
//! | `intercept` | k | intercept |
//! | `linear` | d x k | linear terms of the transformed columns; absent without |
//! | `cut.column`, `cut.place` | p x 6 | the cuts of partitions; absent without |
//! | `cells` | p x 64 x k | values of the partitions' cells; absent without |
//! | `importance` | columns of the table | see [`Model::importances`] |
//! | `scale.mean`, `scale.inverse` | d | standardisation of the inputs, z = (x - mean) inverse |
//! | `scale.warp` | 5 x d | Yeo-Johnson transforms: power (0 for none, 1 for a clip), range, mean and 1 / deviation after; absent if no column has one |
//! | `scale.bend` | d | soft clips: z / sqrt(1 + bend z^2); absent if no column has one |
//! | `scale.target_mean`, `scale.target_scale` | k, f64 | of the target |
//!
//! d is the number of encoded columns ([`Encoder::width`]). With several members, those above `importance` have a leading dimension.

use std::collections::HashMap;

use super::{Member, MemberTensors, Metadata, Model, Task};
use crate::Error;
use crate::encode::Encoder;
use crate::features::{CELLS, CUTS};
use crate::loss::Link;
use crate::solver::History;
use crate::transform::{ColumnTransform, Transforms, YeoJohnson};

/// A named array of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// As in the table of the file format.
    pub name: String,
    /// Its dimensions; values are row-major.
    pub shape: Vec<usize>,
    /// The numbers.
    pub values: TensorValues,
}

/// The numbers of an array.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum TensorValues {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl TensorValues {
    fn is_finite(&self) -> bool {
        match self {
            Self::F32(values) => values.iter().all(|v| v.is_finite()),
            Self::F64(values) => values.iter().all(|v| v.is_finite()),
        }
    }
}

impl Model {
    /// Every array of the model.
    pub fn tensors(&self) -> Vec<Tensor> {
        let (columns, s, k) = (self.feature_names().len(), self.random_features(), self.outputs());
        let d = self.encoder.width();
        let tensor =
            |name: &str, shape: &[usize], values| Tensor { name: name.into(), shape: shape.to_vec(), values };
        let f32s = |name, shape: &[usize], values| tensor(name, shape, TensorValues::F32(values));
        let members = |name, shape: &[usize], part: fn(&MemberTensors) -> &Vec<f32>| {
            let leading = (self.members.len() > 1).then_some(self.members.len());
            let shape: Vec<usize> = leading.into_iter().chain(shape.iter().copied()).collect();
            f32s(name, &shape, self.members().flat_map(part).copied().collect())
        };
        let transforms = self.transforms();
        let column =
            |name, part: fn(&ColumnTransform) -> f32| f32s(name, &[d], transforms.iter().map(part).collect());
        let mut tensors = vec![
            members("theta", &[d], |m| &m.theta),
            members("omega", &[d, s], |m| &m.omega),
            members("phase", &[s], |m| &m.phase),
            members("beta", &[s, k], |m| &m.beta),
            members("intercept", &[k], |m| &m.intercept),
            f32s("importance", &[columns], self.importance.clone()),
            column("scale.mean", |c| c.mean),
            column("scale.inverse", |c| c.inverse),
            tensor("scale.target_mean", &[k], TensorValues::F64(self.target_mean.clone())),
            tensor("scale.target_scale", &[k], TensorValues::F64(self.target_scale.clone())),
        ];
        if transforms.iter().any(|c| c.power.is_some()) {
            let numbers: Vec<_> =
                transforms.iter().map(|c| c.power.map_or([0.0; _], YeoJohnson::to_numbers)).collect();
            let by_part = (0..YeoJohnson::NUMBERS).flat_map(|part| numbers.iter().map(move |n| n[part]));
            tensors.push(f32s("scale.warp", &[YeoJohnson::NUMBERS, d], by_part.collect()));
        }
        if transforms.iter().any(|c| c.soft_clip.is_some()) {
            tensors.push(column("scale.bend", |c| c.soft_clip.unwrap_or(0.0)));
        }
        if self.members().any(|m| !m.linear.is_empty()) {
            tensors.push(members("linear", &[d, k], |m| &m.linear));
        }
        let partitions = self.partitions();
        if partitions > 0 {
            tensors.push(members("cut.column", &[partitions, CUTS], |m| &m.cut_columns));
            tensors.push(members("cut.place", &[partitions, CUTS], |m| &m.cut_places));
            tensors.push(members("cells", &[partitions, CELLS, k], |m| &m.cells));
        }
        tensors
    }

    /// A model from its arrays. Checks every shape and every number.
    pub fn from_tensors(metadata: Metadata, tensors: Vec<Tensor>) -> Result<Self, Error> {
        let mut arrays = Arrays(tensors.into_iter().map(|t| (t.name.clone(), t)).collect());
        let columns = metadata.feature_names.len();
        let encoder = metadata.encoder.clone().unwrap_or_else(|| Encoder::identity(columns));
        if encoder.columns().len() != columns {
            return Err(damaged("the encoder does not fit the columns"));
        }
        encoder.check().map_err(damaged)?;
        let d = encoder.width();
        let (members, s) = match *arrays.shape("omega")?.as_slice() {
            [_, s] => (1, s),
            [m, _, s] if m > 1 => (m, s),
            _ => return Err(damaged("tensor 'omega' has a strange shape")),
        };
        let k = match (metadata.task, metadata.link, metadata.classes.len()) {
            (Task::Classification, Link::Logistic, 2) => 1,
            (Task::Classification, Link::Softmax, classes) if classes != 2 => classes,
            (Task::Regression, Link::Identity | Link::Log, 0) => {
                arrays.shape("scale.target_mean").ok().and_then(|shape| cells(shape)).unwrap_or(0)
            }
            _ => return Err(damaged("task, link and classes do not fit together")),
        };
        if d == 0 || s == 0 || k == 0 {
            return Err(damaged("a dimension is zero"));
        }
        if !(metadata.feature_scale > 0.0 && metadata.feature_scale.is_finite()) {
            return Err(damaged("the feature scale is not a positive number"));
        }
        let guarded = metadata.guard.len() == k && metadata.guard.iter().all(|(low, high)| low <= high);
        if !(metadata.guard.is_empty() || guarded) {
            return Err(damaged("the guard does not fit"));
        }
        let stacked = |shape: &[usize]| -> Vec<usize> {
            (members > 1).then_some(members).into_iter().chain(shape.iter().copied()).collect()
        };
        let theta = arrays.f32s("theta", &stacked(&[d]))?;
        let omega = arrays.f32s("omega", &stacked(&[d, s]))?;
        let phase = arrays.f32s("phase", &stacked(&[s]))?;
        let beta = arrays.f32s("beta", &stacked(&[s, k]))?;
        let intercept = arrays.f32s("intercept", &stacked(&[k]))?;
        let linear = arrays.f32s_if_any("linear", &stacked(&[d, k]))?;
        let partitions = match arrays.shape("cut.column").map(|shape| shape.as_slice()) {
            Ok(&[p, CUTS] | &[_, p, CUTS]) if p > 0 => p,
            Err(_) if arrays.shape("cells").is_err() && arrays.shape("cut.place").is_err() => 0,
            _ => return Err(damaged("the partitions do not fit")),
        };
        let cut_columns = arrays.f32s_if_any("cut.column", &stacked(&[partitions, CUTS]))?;
        if cut_columns.iter().any(|&j| !(j >= 0.0 && j < d as f32 && j.fract() == 0.0)) {
            return Err(damaged("a cut is of no column"));
        }
        let (cut_places, cells) = match partitions {
            0 => (Vec::new(), Vec::new()),
            p => (
                arrays.f32s("cut.place", &stacked(&[p, CUTS]))?,
                arrays.f32s("cells", &stacked(&[p, CELLS, k]))?,
            ),
        };
        let part = |values: &[f32], m: usize| {
            let len = values.len() / members;
            values[m * len..(m + 1) * len].to_vec()
        };
        let member = |m: usize| {
            let stored = MemberTensors {
                theta: part(&theta, m),
                omega: part(&omega, m),
                phase: part(&phase, m),
                beta: part(&beta, m),
                intercept: part(&intercept, m),
                linear: part(&linear, m),
                cut_columns: part(&cut_columns, m),
                cut_places: part(&cut_places, m),
                cells: part(&cells, m),
            };
            Member::new(stored, metadata.feature_scale)
        };
        let model = Model {
            members: (0..members).map(member).collect(),
            transforms: Transforms::new(arrays.transforms(d)?),
            target_mean: arrays.f64s("scale.target_mean", &[k])?,
            target_scale: arrays.f64s("scale.target_scale", &[k])?,
            importance: arrays.f32s("importance", &[columns])?,
            encoder,
            history: History::default(),
            metadata,
        };
        if model.members.iter().any(|m| !m.weights.is_finite()) {
            return Err(damaged("the head is not finite"));
        }
        Ok(model)
    }
}

impl ColumnTransform {
    /// The transforms of all columns from the arrays `scale.mean`, `scale.inverse`, `scale.warp` and `scale.bend` of a model
    /// file, the last two empty where there are none; the error says what is wrong.
    pub fn from_arrays(
        mean: &[f32],
        inverse: &[f32],
        warp: &[f32],
        bend: &[f32],
    ) -> Result<Vec<Self>, &'static str> {
        let d = mean.len();
        let fits = inverse.len() == d
            && [0, YeoJohnson::NUMBERS * d].contains(&warp.len())
            && [0, d].contains(&bend.len());
        if !fits {
            return Err("the parts of the scale do not fit");
        }
        let column = |j: usize| {
            let soft_clip = bend.get(j).copied().unwrap_or(0.0);
            if !(0.0..=1.0).contains(&soft_clip) {
                return Err("a bend is not between 0 and 1");
            }
            let power = match warp {
                [] => None,
                numbers => YeoJohnson::from_numbers(std::array::from_fn(|part| numbers[part * d + j]))?,
            };
            let soft_clip = (soft_clip > 0.0).then_some(soft_clip);
            Ok(Self { power, soft_clip, ..Self::standardise(mean[j], inverse[j]) })
        };
        (0..d).map(column).collect()
    }
}

/// Arrays by name, taken out one by one.
struct Arrays(HashMap<String, Tensor>);

impl Arrays {
    fn shape(&self, name: &str) -> Result<&Vec<usize>, Error> {
        self.0.get(name).map(|t| &t.shape).ok_or_else(|| damaged(&format!("no tensor '{name}'")))
    }

    fn take<T>(
        &mut self,
        name: &str,
        shape: &[usize],
        read: fn(TensorValues) -> Option<Vec<T>>,
    ) -> Result<Vec<T>, Error> {
        let fits = self.shape(name)? == shape;
        let values = self.0.remove(name).filter(|_| fits).map(|tensor| tensor.values);
        if values.as_ref().is_some_and(|values| !values.is_finite()) {
            return Err(damaged(&format!("tensor '{name}' is not finite")));
        }
        let read = values.and_then(read).filter(|v| Some(v.len()) == cells(shape));
        read.ok_or_else(|| damaged(&format!("tensor '{name}' is not of its type, or not {shape:?}")))
    }

    fn f32s(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, Error> {
        self.take(name, shape, |values| if let TensorValues::F32(v) = values { Some(v) } else { None })
    }

    fn f32s_if_any(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, Error> {
        if self.0.contains_key(name) { self.f32s(name, shape) } else { Ok(Vec::new()) }
    }

    fn f64s(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f64>, Error> {
        self.take(name, shape, |values| if let TensorValues::F64(v) = values { Some(v) } else { None })
    }

    fn transforms(&mut self, d: usize) -> Result<Vec<ColumnTransform>, Error> {
        let (mean, inverse) = (self.f32s("scale.mean", &[d])?, self.f32s("scale.inverse", &[d])?);
        let warp = self.f32s_if_any("scale.warp", &[YeoJohnson::NUMBERS, d])?;
        let bend = self.f32s_if_any("scale.bend", &[d])?;
        ColumnTransform::from_arrays(&mean, &inverse, &warp, &bend).map_err(damaged)
    }
}

/// Numbers in an array of this shape; none where they cannot be counted.
fn cells(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |cells, &n| cells.checked_mul(n))
}

pub(super) fn damaged(why: &str) -> Error {
    Error::ModelFile(format!("the model file is damaged ({why}); make it again with `rffnet fit -o`"))
}
