//! The target and the row weights as they are trained on.

use crate::loss::{Link, LossKind};
use crate::params::{ClassWeight, Plan};
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
    pub(crate) fn new(data: &Data<'_>, plan: &Plan, link: Link, rows: &[usize]) -> Result<Self, Error> {
        match data.y {
            Target::Labels { codes, classes } => Self::labels(codes, classes, rows),
            Target::Values { values, outputs } => {
                Self::values(values, outputs, data.weight, plan, link, rows)
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

    fn values(
        values: &[f64],
        outputs: usize,
        weight: Option<&[f32]>,
        plan: &Plan,
        link: Link,
        rows: &[usize],
    ) -> Result<Self, Error> {
        if plan.loss == LossKind::Poisson
            && let Some(&i) =
                rows.iter().find(|&&i| values[i * outputs..(i + 1) * outputs].iter().any(|v| *v < 0.0))
        {
            return Err(Error::Target(format!(
                "row {} has a negative target; counts are needed for poisson",
                i + 1
            )));
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
            if plan.standardise_target || !varies {
                mean[c] = if varies { centre } else { first };
                scale[c] = if varies && spread > 0.0 { spread } else { 1.0 };
            }
        }
        // A constant is predicted through the target's mean, except behind a link, where the intercept holds it.
        if link != Link::Identity {
            (mean, scale) = (vec![0.0; outputs], vec![1.0; outputs]);
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
        let unit = match plan.loss {
            _ if outputs > 1 => 1.0,
            LossKind::Squared | LossKind::Huber { .. } => scale[0] * scale[0],
            LossKind::Quantile { .. } => scale[0],
            LossKind::Poisson | LossKind::CrossEntropy => 1.0,
        };
        Ok(Self { y, outputs, mean, scale, unit, constant })
    }
}

/// Sample weights times class weights, of mean one over the rows that count; `None` where all are equal.
pub(crate) fn row_weights(data: &Data<'_>, plan: &Plan, rows: &[usize]) -> Option<Vec<f32>> {
    let given = |i: usize| data.weight.map_or(1.0, |w| w[i] as f64);
    let class_weight: Option<(Vec<f64>, &[u32])> = match (plan.class_weight, data.y) {
        (ClassWeight::Balanced, Target::Labels { codes, classes }) => {
            let mut mass = vec![0.0; classes.len()];
            rows.iter().for_each(|&i| mass[codes[i] as usize] += given(i));
            Some((mass.iter().map(|m| 1.0 / m).collect(), codes))
        }
        _ => None,
    };
    if data.weight.is_none() && class_weight.is_none() {
        return None;
    }
    let full = |i: usize| {
        given(i) * class_weight.as_ref().map_or(1.0, |(by_class, codes)| by_class[codes[i] as usize])
    };
    let mean = rows.iter().map(|&i| full(i)).sum::<f64>() / rows.len() as f64;
    let mut weights = vec![0.0; data.x.rows()];
    rows.iter().for_each(|&i| weights[i] = (full(i) / mean) as f32);
    Some(weights)
}
