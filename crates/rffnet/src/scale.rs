//! Standardisation, kept inside the model: the caller's data are never copied or changed.

use rayon::prelude::*;

use crate::Matrix;

/// Mean and spread of every column of the training rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scale {
    pub(crate) mean: Vec<f32>,
    /// One over the standard deviation; 0 for a constant column, which takes it out of the model.
    pub(crate) inverse: Vec<f32>,
}

impl Scale {
    /// Column `j` of a row, standardised; a missing value is the mean.
    pub(crate) fn apply(&self, j: usize, x: f32) -> f32 {
        let v = (x - self.mean[j]) * self.inverse[j];
        if v.is_nan() { 0.0 } else { v }
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
    let mut scale = Scale { mean: Vec::with_capacity(x.columns()), inverse: Vec::with_capacity(x.columns()) };
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
}
