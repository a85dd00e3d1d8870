//! The target and the row weights as they are trained on.

use crate::loss::{Link, Loss};
use crate::params::{ClassWeight, Common};
use crate::{Data, Error, Target};

/// The target as it is trained on.
pub(crate) struct PreparedTarget {
    pub(crate) y: Vec<f32>,
    pub(crate) outputs: usize,
    pub(crate) mean: Vec<f64>,
    pub(crate) scale: Vec<f64>,
    /// What a training loss is multiplied with to be in units of the target.
    pub(crate) unit: f64,
    pub(crate) constant: bool,
}

impl PreparedTarget {
    pub(crate) fn new(
        data: &Data<'_>,
        common: &Common,
        loss: &dyn Loss,
        rows: &[usize],
    ) -> Result<Self, Error> {
        match data.y {
            Target::Labels { codes, classes } => Self::labels(codes, classes, rows),
            Target::Values { values, outputs } => {
                // Behind a link the intercept holds the mean of the target.
                let standardise = (loss.link() == Link::Identity).then_some(common.standardise_target);
                Self::values((values, outputs), data.weight, standardise, loss, rows)
            }
        }
    }

    fn labels(codes: &[u32], classes: &[String], rows: &[usize]) -> Result<Self, Error> {
        let first = codes[rows[0]];
        if rows.iter().all(|&i| codes[i] == first) {
            return Err(Error::Target(format!(
                "every row is of class '{}'; a classifier needs at least two classes",
                classes[first as usize]
            )));
        }
        let outputs = if classes.len() == 2 { 1 } else { classes.len() };
        let y = codes.iter().map(|&c| c as f32).collect();
        Ok(Self {
            y,
            outputs,
            mean: vec![0.0; outputs],
            scale: vec![1.0; outputs],
            unit: 1.0,
            constant: false,
        })
    }

    /// `standardise` is none where the target must stay as it is, even where it is constant.
    fn values(
        (values, outputs): (&[f64], usize),
        weight: Option<&[f32]>,
        standardise: Option<bool>,
        loss: &dyn Loss,
        rows: &[usize],
    ) -> Result<Self, Error> {
        let refused = |&i: &usize| {
            let reason = values[i * outputs..(i + 1) * outputs].iter().find_map(|&v| loss.refuses(v))?;
            Some(Error::Target(format!("row {} {reason}", i + 1)))
        };
        if let Some(error) = rows.iter().find_map(refused) {
            return Err(error);
        }
        let (mut mean, mut scale) = (vec![0.0; outputs], vec![1.0; outputs]);
        let mut constant = true;
        for c in 0..outputs {
            let column =
                || rows.iter().map(|&i| (values[i * outputs + c], weight.map_or(1.0, |w| w[i] as f64)));
            let mass: f64 = column().map(|(_, w)| w).sum();
            let centre = column().map(|(v, w)| v * (w / mass)).sum::<f64>();
            let spread = column().map(|(v, w)| (v - centre).powi(2) * (w / mass)).sum::<f64>().sqrt();
            if !(centre.is_finite() && spread.is_finite()) {
                return Err(Error::Target(
                    "the target's values are too large to be squared; rescale it".into(),
                ));
            }
            let first = values[rows[0] * outputs + c];
            let varies = rows.iter().any(|&i| values[i * outputs + c] != first);
            constant &= !varies;
            // A constant is predicted through the target's mean.
            if standardise.is_some_and(|standardise| standardise || !varies) {
                mean[c] = if varies { centre } else { first };
                scale[c] = if varies && spread > 0.0 { spread } else { 1.0 };
            }
        }
        let mut y = vec![0.0; values.len()];
        for (i, (y, v)) in y.iter_mut().zip(values).enumerate() {
            *y = ((v - mean[i % outputs]) / scale[i % outputs]) as f32;
        }
        if let Some(&i) =
            rows.iter().find(|&&i| y[i * outputs..(i + 1) * outputs].iter().any(|v| !v.is_finite()))
        {
            return Err(Error::Target(format!(
                "the target in row {} is too large for 32-bit numbers; rescale it",
                i + 1
            )));
        }
        let unit = loss_unit(loss, &scale);
        Ok(Self { y, outputs, mean, scale, unit, constant })
    }
}

/// What a training loss is multiplied with to be in units of the target, given its deviations.
pub(crate) fn loss_unit(loss: &dyn Loss, scale: &[f64]) -> f64 {
    if let [deviation] = scale { loss.unit(*deviation) } else { 1.0 }
}

/// How far predictions of an exact regression may leave the range of the training target, as a share of it: a row far
/// outside the training data must not be extrapolated without bound.
const MARGIN: f64 = 0.1;

/// The limits of predictions, for each output of a regression.
pub(crate) fn target_limits(data: &Data<'_>, rows: &[usize]) -> Vec<(f64, f64)> {
    let Target::Values { values, outputs } = data.y else { return Vec::new() };
    (0..outputs)
        .map(|c| {
            let column = || rows.iter().map(|&i| values[i * outputs + c]);
            let (low, high) =
                (column().fold(f64::INFINITY, f64::min), column().fold(f64::NEG_INFINITY, f64::max));
            let room = MARGIN * (high - low);
            (low - room, high + room)
        })
        .collect()
}

/// Sample weights times class weights, of mean one over the rows that count; `None` where all are equal.
pub(crate) fn row_weights(data: &Data<'_>, class_weight: ClassWeight, rows: &[usize]) -> Option<Vec<f32>> {
    let given = |i: usize| data.weight.map_or(1.0, |w| w[i] as f64);
    let by_class: Option<(Vec<f64>, &[u32])> = match (class_weight, data.y) {
        (ClassWeight::Balanced, Target::Labels { codes, classes }) => {
            let mut mass = vec![0.0; classes.len()];
            rows.iter().for_each(|&i| mass[codes[i] as usize] += given(i));
            Some((mass.iter().map(|m| 1.0 / m).collect(), codes))
        }
        _ => None,
    };
    if data.weight.is_none() && by_class.is_none() {
        return None;
    }
    let full =
        |i: usize| given(i) * by_class.as_ref().map_or(1.0, |(weight, codes)| weight[codes[i] as usize]);
    let mean = rows.iter().map(|&i| full(i)).sum::<f64>() / rows.len() as f64;
    let mut weights = vec![0.0; data.x.rows()];
    rows.iter().for_each(|&i| weights[i] = (full(i) / mean) as f32);
    Some(weights)
}
