//! Standardisation, kept inside the model: the caller's data are never copied or changed.
//!
//! Long tails can be bent: with z the standardised value, the column is z / sqrt(1 + bend z^2). The bulk of the rows stays
//! where it was, and no row is further than 1 / sqrt(bend) from the middle, so that neither the frequencies nor the head
//! are ruled by a few far rows.

use rayon::prelude::*;

use crate::Matrix;

/// Mean and spread of every column of the training rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scale {
    pub(crate) mean: Vec<f32>,
    /// One over the standard deviation; 0 for a constant column, which takes it out of the model.
    pub(crate) inverse: Vec<f32>,
    /// 0 for a column that is not bent; empty if none is.
    pub(crate) bend: Vec<f32>,
}

/// Beyond this a bent value no longer changes, and its square could overflow.
const FAR: f32 = 1e6;

/// See the head of this file; a missing value stays 0.
fn bent(z: f32, bend: f32) -> f32 {
    let z = z.clamp(-FAR, FAR);
    z / (1.0 + bend * z * z).sqrt()
}

impl Scale {
    /// Column `j` of a row, standardised; a missing value is the mean.
    pub(crate) fn apply(&self, j: usize, x: f32) -> f32 {
        let v = (x - self.mean[j]) * self.inverse[j];
        let v = if v.is_nan() { 0.0 } else { v };
        self.bend.get(j).filter(|&&b| b > 0.0).map_or(v, |&b| bent(v, b))
    }
}

/// Bends standardised rows, and takes them times `theta` once more; nothing if no column is bent.
pub fn bend_rows(bend: &[f32], theta: &[f32], rows: &mut [f32], scaled: &mut [f32]) {
    if bend.is_empty() {
        return;
    }
    for (row, scaled) in rows.chunks_exact_mut(bend.len()).zip(scaled.chunks_exact_mut(bend.len())) {
        for (((v, scaled), &b), theta) in row.iter_mut().zip(scaled).zip(bend).zip(theta) {
            if b > 0.0 {
                *v = bent(*v, b);
                *scaled = *v * theta;
            }
        }
    }
}

/// What a pass over the columns finds: standardisation, and the range the Constant initialiser needs.
pub(crate) struct ColumnStatistics {
    pub(crate) scale: Scale,
    /// max - min of each standardised column.
    pub(crate) range: Vec<f32>,
}

/// Weighted sums of a block of rows; blocks are merged in order, so threads do not change the result.
#[derive(Clone)]
struct Moments {
    weight: f64,
    mean: f64,
    spread: f64,
    low: f32,
    high: f32,
}

impl Moments {
    const EMPTY: Self =
        Self { weight: 0.0, mean: 0.0, spread: 0.0, low: f32::INFINITY, high: f32::NEG_INFINITY };

    fn add(&mut self, x: f32, w: f64) {
        if x.is_nan() {
            return;
        }
        self.weight += w;
        let delta = x as f64 - self.mean;
        self.mean += delta * w / self.weight;
        self.spread += w * delta * (x as f64 - self.mean);
        self.low = self.low.min(x);
        self.high = self.high.max(x);
    }

    /// Chan's update: exact merging of means and squared deviations.
    fn merge(&mut self, other: &Self) {
        let weight = self.weight + other.weight;
        if other.weight == 0.0 {
            return;
        }
        let delta = other.mean - self.mean;
        self.mean += delta * other.weight / weight;
        self.spread += other.spread + delta * delta * self.weight * other.weight / weight;
        self.weight = weight;
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
    }
}

/// Statistics of the given rows, weighted.
pub(crate) fn column_statistics(
    x: Matrix<'_>,
    rows: &[usize],
    weight: impl Fn(usize) -> f32 + Sync,
) -> ColumnStatistics {
    const BLOCK: usize = 4096;
    let blocks: Vec<Vec<Moments>> = rows
        .par_chunks(BLOCK)
        .map(|rows| {
            let mut moments = vec![Moments::EMPTY; x.columns()];
            for &i in rows {
                let w = weight(i) as f64;
                moments.iter_mut().zip(x.row(i)).for_each(|(m, &v)| m.add(v, w));
            }
            moments
        })
        .collect();
    let mut total = vec![Moments::EMPTY; x.columns()];
    for block in &blocks {
        total.iter_mut().zip(block).for_each(|(t, b)| t.merge(b));
    }
    let (mean, inverse) = (Vec::with_capacity(x.columns()), Vec::with_capacity(x.columns()));
    let mut scale = Scale { mean, inverse, bend: Vec::new() };
    let mut range = Vec::with_capacity(x.columns());
    for m in &total {
        let deviation = (m.spread / m.weight).sqrt();
        // A spread at the level of f32 rounding of the mean is no spread; nor is one whose inverse overflows.
        let noise = m.mean.abs() * f32::EPSILON as f64;
        let usable = m.low < m.high && deviation > noise && (1.0 / deviation) < f32::MAX as f64;
        let inverse = if usable { (1.0 / deviation) as f32 } else { 0.0 };
        scale.mean.push(if m.weight > 0.0 { m.mean as f32 } else { 0.0 });
        scale.inverse.push(inverse);
        range.push(if usable { ((m.high as f64 - m.low as f64) / deviation) as f32 } else { 0.0 });
    }
    ColumnStatistics { scale, range }
}

/// Rows looked at to find the quartiles of a column.
const QUARTILE_ROWS: usize = 10_000;
/// Quartiles of a normal distribution are this many deviations apart.
const QUARTILES: f64 = 1.349;
/// A column has long tails if it reaches further than this many deviations of its middle half.
const LONG: f64 = 6.0;
/// How far a bent column reaches.
const REACH: f64 = 3.0;

impl ColumnStatistics {
    /// The same with the columns bent that have long tails, around their medians; `None` if there are none. Columns of
    /// two values stay as they are.
    pub(crate) fn bent(
        &self,
        x: Matrix<'_>,
        rows: &[usize],
        weight: impl Fn(usize) -> f32 + Sync,
    ) -> Option<Self> {
        let step = rows.len().div_ceil(QUARTILE_ROWS);
        let bends = |j: usize| -> Option<(f32, f32)> {
            if self.range[j] == 0.0 {
                return None;
            }
            let mut cells: Vec<(f32, f64)> =
                rows.iter().step_by(step).map(|&i| (x.row(i)[j], weight(i) as f64)).collect();
            cells.retain(|(v, _)| !v.is_nan());
            cells.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            let (low, high) = (cells.first()?.0, cells.last()?.0);
            let [first, median, third] = [0.25, 0.5, 0.75].map(|share| quantile(&cells, share));
            // Where more than half the rows are alike, the deviation of all has to do.
            let middle = (third as f64 - first as f64) / QUARTILES;
            let spread = if middle > 0.0 { middle } else { 1.0 / self.scale.inverse[j] as f64 };
            let reach = (high as f64 - median as f64).max(median as f64 - low as f64) / spread;
            let inverse = (1.0 / spread) as f32;
            let two_valued = cells.iter().all(|&(v, _)| v == low || v == high);
            (reach > LONG && !two_valued && inverse.is_finite() && inverse > 0.0).then_some((median, inverse))
        };
        let found: Vec<Option<(f32, f32)>> = (0..x.columns()).into_par_iter().map(bends).collect();
        if found.iter().all(Option::is_none) {
            return None;
        }
        let mut bent = Self { scale: self.scale.clone(), range: self.range.clone() };
        bent.scale.bend = vec![0.0; x.columns()];
        for (j, (median, inverse)) in found.into_iter().enumerate().filter_map(|(j, f)| Some((j, f?))) {
            bent.scale.mean[j] = median;
            bent.scale.inverse[j] = inverse;
            bent.scale.bend[j] = (1.0 / (REACH * REACH)) as f32;
            bent.range[j] = (2.0 * REACH) as f32;
        }
        Some(bent)
    }
}

/// The smallest value with at least this share of the weight at or below it; a row of weight two counts as two rows.
fn quantile(sorted: &[(f32, f64)], share: f64) -> f32 {
    let total: f64 = sorted.iter().map(|c| c.1).sum();
    let mut below = 0.0;
    for &(value, weight) in sorted {
        below += weight;
        if below >= share * total {
            return value;
        }
    }
    sorted.last().map_or(0.0, |c| c.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics(columns: usize, data: &[f32]) -> ColumnStatistics {
        let rows = data.len() / columns;
        let x = Matrix::new(data, rows, columns).expect("shape");
        column_statistics(x, &(0..rows).collect::<Vec<_>>(), |_| 1.0)
    }

    #[test]
    fn matches_the_two_pass_formulas_across_blocks() {
        let n = 10_000;
        let data: Vec<f32> = (0..n).map(|i| 1000.0 + ((i * 7919) % 1000) as f32 / 100.0).collect();
        let s = statistics(1, &data);
        let mean = data.iter().map(|&v| v as f64).sum::<f64>() / n as f64;
        let sd = (data.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
        assert!((s.scale.mean[0] as f64 - mean).abs() < 1e-3);
        assert!((s.scale.inverse[0] as f64 * sd - 1.0).abs() < 1e-6);
        assert!((s.range[0] as f64 - 9.99 / sd).abs() < 1e-4);
    }

    #[test]
    fn constant_extreme_and_missing_columns() {
        let nan = f32::NAN;
        //             constant  huge   tiny    with gaps   all gaps
        let data = [
            3.0, 1e30, 1e-42, 1.0, nan, //
            3.0, -1e30, 2e-42, nan, nan, //
            3.0, 2e30, 3e-42, 3.0, nan,
        ];
        let s = statistics(5, &data).scale;
        assert_eq!(s.inverse[0], 0.0);
        assert!(s.inverse[1] > 0.0 && s.mean[1].is_finite());
        assert_eq!(s.inverse[2], 0.0, "a spread whose inverse overflows f32 counts as constant");
        assert_eq!((s.mean[3], s.inverse[3]), (2.0, 1.0));
        assert_eq!((s.mean[4], s.inverse[4]), (0.0, 0.0));
    }

    #[test]
    fn rows_of_weight_zero_do_not_count() {
        let x = [0.0f32, 10.0, 500.0];
        let s = column_statistics(Matrix::new(&x, 3, 1).expect("shape"), &[0, 1], |_| 2.0);
        assert_eq!((s.scale.mean[0], s.scale.inverse[0], s.range[0]), (5.0, 0.2, 2.0));
    }

    #[test]
    fn long_tails_are_bent_and_short_ones_are_not() {
        let n = 4000;
        // Even, with long tails, of two values, mostly zero with a far row.
        let data: Vec<f32> = (0..n)
            .flat_map(|i| {
                let u = (i as f32 + 0.5) / n as f32;
                [u, (4.0 * u).exp().exp(), f32::from(i % 50 == 0), if i % 100 == 7 { i as f32 } else { 0.0 }]
            })
            .collect();
        let x = Matrix::new(&data, n, 4).expect("shape");
        let rows: Vec<usize> = (0..n).collect();
        let statistics = column_statistics(x, &rows, |_| 1.0);
        let bent = statistics.bent(x, &rows, |_| 1.0).expect("there are long tails");
        assert_eq!(bent.scale.bend.iter().map(|&b| b > 0.0).collect::<Vec<_>>(), [false, true, false, true]);
        let largest = data.chunks(4).map(|r| bent.scale.apply(1, r[1]).abs()).fold(0.0, f32::max);
        assert!(largest <= 3.001 && largest > 2.0, "{largest}");
        assert_eq!(bent.scale.apply(1, f32::NAN), 0.0);
        assert!((bent.scale.apply(1, f32::MAX) - 3.0).abs() < 1e-5);
        let last = &data[4 * 3999..];
        let mut row: Vec<f32> =
            (0..4).map(|j| (last[j] - bent.scale.mean[j]) * bent.scale.inverse[j]).collect();
        let mut doubled: Vec<f32> = row.iter().map(|v| 2.0 * v).collect();
        bend_rows(&bent.scale.bend, &[2.0; 4], &mut row, &mut doubled);
        (0..4).for_each(|j| assert_eq!(row[j], bent.scale.apply(j, last[j])));
        (0..4).for_each(|j| assert_eq!(doubled[j], 2.0 * row[j]));
        assert!(column_statistics(x, &rows[..2], |_| 1.0).bent(x, &rows[..2], |_| 1.0).is_none());
    }

    #[test]
    fn a_weight_of_two_is_two_rows() {
        let heavy: Vec<(f32, f64)> = (0..9).map(|i| (i as f32, 1.0 + f64::from(i == 4))).collect();
        let twice: Vec<(f32, f64)> = [0, 1, 2, 3, 4, 4, 5, 6, 7, 8].map(|i| (i as f32, 1.0)).to_vec();
        for share in [0.1, 0.25, 0.5, 0.75, 0.99] {
            assert_eq!(quantile(&heavy, share), quantile(&twice, share));
        }
    }
}
