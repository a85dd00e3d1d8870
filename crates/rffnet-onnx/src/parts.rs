//! The numbers of a model, taken from its file form: that is documented, complete, and what a prediction is made from.

use rffnet::{Error, Link, Missing, Model, Task};
use safetensors::tensor::{Dtype, SafeTensors};
use serde::Deserialize;

/// What a prediction needs of the text in the model file.
#[derive(Debug, Deserialize)]
pub(crate) struct Card {
    pub(crate) task: Task,
    pub(crate) classes: Vec<String>,
    pub(crate) feature_names: Vec<String>,
    pub(crate) kernel: String,
    pub(crate) link: Link,
    feature_scale: f64,
    /// Smallest and largest prediction of each output; empty without a guard.
    pub(crate) guard: Vec<(f64, f64)>,
    params: Settings,
}

#[derive(Debug, Deserialize)]
struct Settings {
    missing: Missing,
}

impl Card {
    /// Whether a missing value is the column's mean.
    pub(crate) fn fills_in(&self) -> bool {
        self.params.missing == Missing::Mean
    }
}

/// The cosines of one network, on the columns it looks at.
#[derive(Debug)]
pub(crate) struct Network {
    /// Those columns, ascending.
    pub(crate) support: Vec<usize>,
    pub(crate) theta: Vec<f32>,
    /// The phases, and below them the frequencies: `(1 + support) x s`.
    pub(crate) phase_omega: Vec<f32>,
    /// `s x k`, with the cosines' factor, and over the number of networks.
    pub(crate) beta: Vec<f32>,
}

/// A model, taken apart. `d` columns, `s` random features, `k` outputs.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) card: Card,
    pub(crate) mean: Vec<f32>,
    pub(crate) inverse: Vec<f32>,
    /// How columns are cut off and skewed ones evened (`5 x d`); none if no column is.
    pub(crate) warp: Option<Vec<f32>>,
    /// How columns with long tails are bent; none if no column is.
    pub(crate) bend: Option<Vec<f32>>,
    pub(crate) networks: Vec<Network>,
    /// Averaged over the networks, as are the linear terms (`d x k`; none if the model has none).
    pub(crate) intercept: Vec<f32>,
    pub(crate) linear: Option<Vec<f32>>,
    pub(crate) target_mean: Vec<f64>,
    pub(crate) target_scale: Vec<f64>,
}

impl Parts {
    pub(crate) fn of(model: &Model) -> Result<Self, Error> {
        let bytes = model.to_bytes()?;
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|e| strange(&e))?;
        let text = header.metadata().as_ref().and_then(|m| m.get("rffnet"));
        let card: Card = serde_json::from_str(text.map_or("", |t| t)).map_err(|e| strange(&e))?;
        let file = File(SafeTensors::deserialize(&bytes).map_err(|e| strange(&e))?);

        let (d, m, k) = (card.feature_names.len(), model.committee(), model.outputs());
        let s = model.random_features();
        let theta = file.f32s("theta", m * d)?;
        let omega = file.f32s("omega", m * d * s)?;
        let phase = file.f32s("phase", m * s)?;
        let beta = file.f32s("beta", m * s * k)?;
        let factor = card.feature_scale / m as f64;
        let network = |n: usize| {
            let theta = &theta[n * d..(n + 1) * d];
            let mut support: Vec<usize> = (0..d).filter(|&j| theta[j] != 0.0).collect();
            if support.is_empty() {
                support.push(0); // its theta is 0: the cosines are constants
            }
            let row = |j: &usize| &omega[(n * d + j) * s..(n * d + j + 1) * s];
            Network {
                theta: support.iter().map(|&j| theta[j]).collect(),
                phase_omega: phase[n * s..(n + 1) * s]
                    .iter()
                    .chain(support.iter().flat_map(row))
                    .copied()
                    .collect(),
                beta: beta[n * s * k..(n + 1) * s * k].iter().map(|&b| (b as f64 * factor) as f32).collect(),
                support,
            }
        };
        Ok(Self {
            networks: (0..m).map(network).collect(),
            mean: file.f32s("scale.mean", d)?,
            inverse: file.f32s("scale.inverse", d)?,
            warp: file.f32s_if_any("scale.warp", 5 * d)?,
            bend: file.f32s_if_any("scale.bend", d)?,
            intercept: averaged(&file.f32s("intercept", m * k)?, m),
            linear: file.f32s_if_any("linear", m * d * k)?.map(|linear| averaged(&linear, m)),
            target_mean: file.f64s("scale.target_mean", k)?,
            target_scale: file.f64s("scale.target_scale", k)?,
            card,
        })
    }

    pub(crate) fn columns(&self) -> usize {
        self.mean.len()
    }

    pub(crate) fn outputs(&self) -> usize {
        self.target_mean.len()
    }
}

/// The mean of `m` arrays that lie one after the other.
fn averaged(values: &[f32], m: usize) -> Vec<f32> {
    let len = values.len() / m;
    let sum = |i: usize| values.iter().skip(i).step_by(len).map(|&v| v as f64).sum::<f64>();
    (0..len).map(|i| (sum(i) / m as f64) as f32).collect()
}

struct File<'a>(SafeTensors<'a>);

impl File<'_> {
    fn bytes(&self, name: &str, dtype: Dtype, bytes: usize) -> Result<&[u8], Error> {
        let tensor = self.0.tensor(name).map_err(|e| strange(&e))?;
        if tensor.dtype() != dtype || tensor.data().len() != bytes {
            return Err(strange(&format_args!("tensor '{name}' has another type or size")));
        }
        Ok(tensor.data())
    }

    fn f32s(&self, name: &str, len: usize) -> Result<Vec<f32>, Error> {
        let bytes = self.bytes(name, Dtype::F32, 4 * len)?;
        Ok(bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect())
    }

    fn f32s_if_any(&self, name: &str, len: usize) -> Result<Option<Vec<f32>>, Error> {
        self.0.tensor(name).is_ok().then(|| self.f32s(name, len)).transpose()
    }

    fn f64s(&self, name: &str, len: usize) -> Result<Vec<f64>, Error> {
        let bytes = self.bytes(name, Dtype::F64, 8 * len)?;
        Ok(bytes.as_chunks().0.iter().map(|&b| f64::from_le_bytes(b)).collect())
    }
}

/// Only where this crate and the model file's format have come apart.
fn strange(why: &dyn std::fmt::Display) -> Error {
    Error::Unsupported(format!(
        "the model cannot be exported ({why}); rffnet and rffnet-onnx must have the same version"
    ))
}
