//! Linear heads on features: ridge regression for values, logistic or softmax regression for classes.
//!
//! Both are exact: a Cholesky factor for ridge, Newton steps down to a gradient of 1e-9 per row for classes. Intercepts
//! are not penalised.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;
use rffnet::Target;
use rffnet::numerics::cholesky::Cholesky;

use crate::krr::positive;
use crate::linalg::{add_gram, multiply};
use crate::logistic::{LogisticObjective, minimise};
use crate::{Error, Need, Rows, Trained, Training};

/// Rows whose features one thread makes at a time.
const CHUNK: usize = 128;

/// Rows whose features are in memory at a time while ridge sums them up.
const BLOCK: usize = 4096;

/// The penalties, as scikit-learn counts them.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    /// Values: minimises `sum_i w_i |y_i - f_i|^2 + alpha |beta|^2`.
    pub alpha: f64,
    /// Classes: minimises `c sum_i w_i loss_i + |beta|^2 / 2`.
    pub c: f64,
}

impl Head {
    /// The setting behind the paper's tables.
    pub fn paper() -> Self {
        Self { alpha: 0.1, c: 10.0 }
    }
}

impl Default for Head {
    fn default() -> Self {
        Self::paper()
    }
}

/// Numbers made of a row.
pub(crate) trait Features: Send + Sync {
    /// How many.
    fn width(&self) -> usize;

    /// Those of some rows, row after row.
    fn make(&self, rows: &Rows, range: Range<usize>, out: &mut [f64]);
}

/// A head's coefficients, `(features + 1) x outputs`; the last row holds the intercepts.
pub(crate) struct Coefficients {
    pub(crate) values: Vec<f64>,
    pub(crate) outputs: usize,
}

impl Coefficients {
    /// Those of the features, and the intercepts.
    pub(crate) fn split(&self) -> (&[f64], &[f64]) {
        self.values.split_at(self.values.len() - self.outputs)
    }
}

impl Head {
    /// What training needs beyond the rows: all features for classes, the normal equations for values.
    pub(crate) fn memory(&self, training: &Training<'_>, width: usize) -> Need {
        let (n, m) = (training.rows.len(), width.saturating_add(1));
        match training.target {
            Target::Labels { .. } if n > m => Need::array(n, m, "features"),
            _ => Need::array(m, m, "normal equations"),
        }
    }

    /// The best coefficients.
    pub(crate) fn fit(&self, map: &dyn Features, training: &Training<'_>) -> Result<Coefficients, Error> {
        match training.target {
            Target::Values { values, outputs } => {
                ridge(map, training, values, outputs, positive("alpha", self.alpha)?)
            }
            Target::Labels { codes, .. } => {
                let penalty = 1.0 / positive("c", self.c)?;
                let n = training.rows.len();
                let m = map.width() + 1;
                let mut z = vec![0.0; n * m];
                design(map, &training.rows, 0..n, &mut z);
                let objective = LogisticObjective {
                    z: &z,
                    columns: m,
                    codes,
                    weight: &training.weight,
                    outputs: training.outputs(),
                    penalty,
                };
                Ok(Coefficients { values: minimise(&objective)?, outputs: training.outputs() })
            }
        }
    }
}

/// Features of some rows, a 1 behind those of each row, on all threads.
fn design(map: &dyn Features, rows: &Rows, range: Range<usize>, out: &mut [f64]) {
    let (width, m) = (map.width(), map.width() + 1);
    out.par_chunks_mut(CHUNK * m).enumerate().for_each_init(Vec::new, |features, (t, out)| {
        let (first, count) = (range.start + t * CHUNK, out.len() / m);
        features.resize(CHUNK * width, 0.0);
        let features = &mut features[..count * width];
        map.make(rows, first..first + count, features);
        for (to, from) in out.chunks_exact_mut(m).zip(features.chunks_exact(width)) {
            to[..width].copy_from_slice(from);
            to[width] = 1.0;
        }
    });
}

/// Normal equations, block by block of rows; targets stand behind the features, so that one product gives all of it.
fn ridge(
    map: &dyn Features,
    training: &Training<'_>,
    values: &[f64],
    outputs: usize,
    alpha: f64,
) -> Result<Coefficients, Error> {
    let (n, m) = (training.rows.len(), map.width() + 1);
    let (mut gram, mut cross) = (vec![0.0; m * m], vec![0.0; m * outputs]);
    let mut z = vec![0.0; BLOCK.min(n) * m];
    // Centred targets: what is left of them is small, and so is what rounding takes.
    let mean = training.means(values, outputs);
    for first in (0..n).step_by(BLOCK) {
        let rows = first..(first + BLOCK).min(n);
        let z = &mut z[..rows.len() * m];
        design(map, &training.rows, rows.clone(), z);
        let weight = &training.weight[rows.clone()];
        add_gram(z, m, weight, &mut gram);
        let y: Vec<f64> = rows
            .clone()
            .flat_map(|i| (0..outputs).map(move |c| (i, c)))
            .map(|(i, c)| training.weight[i] * (values[i * outputs + c] - mean[c]))
            .collect();
        let out = MatMut::from_column_major_slice_mut(&mut cross, m, outputs);
        let z = MatRef::from_row_major_slice(&*z, rows.len(), m);
        let y = MatRef::from_row_major_slice(&y, rows.len(), outputs);
        matmul(out, Accum::Add, z.transpose(), y, 1.0, Par::Seq);
    }
    (0..m - 1).for_each(|a| gram[a * m + a] += alpha);
    let factor = Cholesky::tiled(gram, m).ok_or_else(|| {
        Error::Diverged(format!("the features are linearly dependent at alpha = {alpha}: raise alpha"))
    })?;
    factor.solve(&mut cross);
    let mut coefficients: Vec<f64> =
        (0..m * outputs).map(|at| cross[at % outputs * m + at / outputs]).collect();
    coefficients[(m - 1) * outputs..].iter_mut().zip(mean).for_each(|(b, mean)| *b += mean);
    Ok(Coefficients { values: coefficients, outputs })
}

/// A feature map with its head.
pub(crate) struct Headed<F> {
    pub(crate) map: F,
    pub(crate) coefficients: Coefficients,
}

impl<F: Features> Trained for Headed<F> {
    fn decision(&self, rows: &Rows) -> Vec<f64> {
        let (width, outputs) = (self.map.width(), self.coefficients.outputs);
        let (beta, intercept) = self.coefficients.split();
        let beta = MatRef::from_row_major_slice(beta, width, outputs);
        let mut out = vec![0.0; rows.len() * outputs];
        out.par_chunks_mut(CHUNK * outputs).enumerate().for_each_init(Vec::new, |features, (t, out)| {
            let (first, count) = (t * CHUNK, out.len() / outputs);
            features.resize(CHUNK * width, 0.0);
            let features = &mut features[..count * width];
            self.map.make(rows, first..first + count, features);
            out.chunks_exact_mut(outputs).for_each(|row| row.copy_from_slice(intercept));
            multiply(out, Accum::Add, MatRef::from_row_major_slice(&*features, count, width), beta, 1.0);
        });
        out
    }
}

/// What a method without a loss for classes learns: values as they are; +1 and -1, one class against the rest.
pub(crate) fn signs(target: Target<'_>) -> Vec<f64> {
    let sign = |yes: bool| if yes { 1.0 } else { -1.0 };
    match target {
        Target::Values { values, .. } => values.to_vec(),
        Target::Labels { codes, classes } if classes.len() == 2 => {
            codes.iter().map(|&c| sign(c == 1)).collect()
        }
        Target::Labels { codes, classes } => {
            codes.iter().flat_map(|&code| (0..classes.len()).map(move |c| sign(code as usize == c))).collect()
        }
    }
}
