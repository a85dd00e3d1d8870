//! Column transforms: what is done to each column before the features see it. They are part of the model, so the
//! caller's data are never changed.
//!
//! A value is standardised; then a skewed column is clipped to its range and made symmetric by the power transform of
//! [`yeo_johnson`]; then long tails are soft-clipped. A missing value becomes 0: the mean, or the
//! median of a column whose long tails are clipped.
//!
//! | file | subject |
//! |---|---|
//! | `yeo_johnson.rs` | the power transform, its likelihood, and plain clipping |
//! | `statistics.rs` | mean, deviation and range of every column, in one fold over the rows |
//! | `robust.rs` | which columns need a power or a soft clip, for the default algorithm |

pub(crate) mod robust;
pub(crate) mod statistics;
pub(crate) mod yeo_johnson;

use rayon::prelude::*;

use crate::Matrix;
use crate::simd::{self, Path};
pub use yeo_johnson::YeoJohnson;

/// What is done to one column, in the order of the fields.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ColumnTransform {
    /// Mean over the training rows.
    pub mean: f32,
    /// One over the standard deviation; 0 for a constant column, which takes it out of the model.
    pub inverse: f32,
    /// The power transform, or a clip (power 1).
    pub power: Option<YeoJohnson>,
    /// The strength b of the soft clip z / sqrt(1 + b z^2), whose values stay within 1 / sqrt(b).
    pub soft_clip: Option<f32>,
}

/// How far beyond the range of the training rows a column that is only standardised is followed, as a share of it.
const MARGIN: f32 = 0.25;

/// Beyond this a soft-clipped value no longer changes, and its square could overflow.
const SATURATED: f32 = 1e6;

impl ColumnTransform {
    /// Standardisation alone.
    pub(crate) fn standardise(mean: f32, inverse: f32) -> Self {
        Self { mean, inverse, power: None, soft_clip: None }
    }

    /// The transformed value; a missing one is the mean.
    pub(crate) fn apply(&self, x: f32) -> f32 {
        let z = (x - self.mean) * self.inverse;
        let v = self.power.map_or(z, |power| power.apply(z));
        let v = if v.is_nan() { 0.0 } else { v };
        self.soft_clip.map_or(v, |strength| {
            let v = v.clamp(-SATURATED, SATURATED);
            v / (1.0 + strength * v * v).sqrt()
        })
    }

    /// Whether it can have come from a fit.
    pub(crate) fn is_sound(&self) -> bool {
        let strength = self.soft_clip.is_none_or(|strength| strength > 0.0 && strength <= 1.0);
        strength && self.power.is_none_or(|power| power.is_sound())
    }

    fn is_plain(&self) -> bool {
        self.power.is_none() && self.soft_clip.is_none()
    }
}

/// The transforms of all columns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Transforms {
    columns: Vec<ColumnTransform>,
    /// Means and inverse deviations, where no column has more than those: the kernels' form.
    plain: Option<(Vec<f32>, Vec<f32>)>,
}

impl Transforms {
    pub(crate) fn new(columns: Vec<ColumnTransform>) -> Self {
        let plain = columns.iter().all(ColumnTransform::is_plain);
        let plain = plain.then(|| columns.iter().map(|c| (c.mean, c.inverse)).unzip());
        Self { columns, plain }
    }

    /// For columns that have been transformed before.
    pub(crate) fn identity(columns: usize) -> Self {
        Self::new(vec![ColumnTransform::standardise(0.0, 1.0); columns])
    }

    /// Whether columns are standardised and no more.
    pub(crate) fn is_plain(&self) -> bool {
        self.plain.is_some()
    }

    /// One for each column.
    pub(crate) fn columns(&self) -> &[ColumnTransform] {
        &self.columns
    }

    /// One row, transformed.
    pub(crate) fn of_row<'a>(&'a self, row: &'a [f32]) -> impl Iterator<Item = f32> + 'a {
        row.iter().zip(&self.columns).map(|(&v, column)| column.apply(v))
    }

    /// All rows, transformed.
    pub(crate) fn applied(&self, x: Matrix<'_>) -> Vec<f32> {
        /// Rows that a thread takes at a time.
        const BLOCK: usize = 256;
        let d = x.columns();
        let mut all = vec![0.0; x.rows() * d];
        all.par_chunks_mut(BLOCK * d).enumerate().for_each(|(block, out)| {
            let first = block * BLOCK;
            let rows: Vec<usize> = (first..first + out.len() / d).collect();
            x.for_each_row(&rows, |at, row| {
                out[at * d..(at + 1) * d].iter_mut().zip(self.of_row(row)).for_each(|(out, v)| *out = v);
            });
        });
        all
    }

    /// The columns of `support` in the given rows, transformed, and the same times `theta`.
    pub(crate) fn gather(&self, path: Path, from: Gather<'_>, out: &mut [f32], scaled: &mut [f32]) {
        let Gather { x, rows, support, theta } = from;
        let width = support.len();
        if let (Some((mean, inverse)), Some(data)) = (&self.plain, x.dense())
            && width == x.columns()
        {
            return simd::gather(path, data, width, rows, mean, inverse, theta, out, scaled);
        }
        x.for_each_row(rows, |at, row| {
            let place = at * width..(at + 1) * width;
            let (out, scaled) = (&mut out[place.clone()], &mut scaled[place]);
            for (((&j, &theta), out), scaled) in support.iter().zip(theta).zip(out).zip(scaled) {
                *out = self.columns[j].apply(row[j]);
                *scaled = *out * theta;
            }
        });
    }

    /// Clips the columns that are only standardised a little beyond their range: a row far outside the training data
    /// must not be extrapolated without bound.
    pub(crate) fn clip(&self, low: &[f32], range: &[f32]) -> Self {
        let clipped = |(j, &column): (usize, &ColumnTransform)| {
            let margin = MARGIN * range[j];
            let clip = YeoJohnson::clip(low[j] - margin, low[j] + range[j] + margin);
            let clips = column.is_plain() && range[j] > 0.0 && clip.is_sound();
            if clips { ColumnTransform { power: Some(clip), ..column } } else { column }
        };
        Self::new(self.columns.iter().enumerate().map(clipped).collect())
    }

    /// For people: how many columns are transformed beyond standardisation.
    pub(crate) fn describe(&self) -> String {
        let some = |text: &str, is: fn(&ColumnTransform) -> bool| match self
            .columns
            .iter()
            .filter(|c| is(c))
            .count()
        {
            0 => String::new(),
            1 => format!(", {text} on 1 column"),
            many => format!(", {text} on {many} columns"),
        };
        some("Yeo-Johnson", |c| c.power.is_some_and(|p| !p.is_clip()))
            + &some("soft clip", |c| c.soft_clip.is_some())
    }
}

/// Which cells to gather: some columns of some rows, and the relevances of those columns.
#[derive(Clone, Copy)]
pub(crate) struct Gather<'a> {
    pub(crate) x: Matrix<'a>,
    pub(crate) rows: &'a [usize],
    pub(crate) support: &'a [usize],
    pub(crate) theta: &'a [f32],
}
