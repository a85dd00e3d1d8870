//! Mean, deviation and range of every column.

use super::{ColumnTransform, Transforms};
use crate::Matrix;
use crate::fold::{Fold, fold};

/// Rows of a partial sum.
const BLOCK: usize = 4096;

/// What one pass over the columns finds.
pub(crate) struct ColumnStatistics {
    /// Standardisation, and what `robust.rs` adds to it.
    pub(crate) transforms: Transforms,
    /// Smallest value of each standardised column.
    pub(crate) low: Vec<f32>,
    /// max - min of each transformed column; 0 for a constant one.
    pub(crate) range: Vec<f32>,
}

impl ColumnStatistics {
    /// Statistics of the given rows, weighted.
    pub(crate) fn new(x: Matrix<'_>, rows: &[usize], weight: impl Fn(usize) -> f32 + Sync) -> Self {
        let columns = Columns { x, weight };
        let mut total = columns.empty();
        fold(&columns, &mut total, rows, BLOCK);
        let (mut transforms, mut low, mut range) = (Vec::new(), Vec::new(), Vec::new());
        for m in &total {
            let deviation = (m.spread / m.weight).sqrt();
            // A spread at the level of f32 rounding of the mean is no spread; nor is one whose inverse overflows.
            let noise = m.mean.abs() * f32::EPSILON as f64;
            let usable = m.low < m.high && deviation > noise && (1.0 / deviation) < f32::MAX as f64;
            let inverse = if usable { (1.0 / deviation) as f32 } else { 0.0 };
            let mean = if m.weight > 0.0 { m.mean as f32 } else { 0.0 };
            transforms.push(ColumnTransform::standardise(mean, inverse));
            // As a row at that end is standardised.
            low.push(if usable { (m.low - m.mean as f32) * inverse } else { 0.0 });
            range.push(if usable { ((m.high as f64 - m.low as f64) / deviation) as f32 } else { 0.0 });
        }
        Self { transforms: Transforms::new(transforms), low, range }
    }

    /// Leaves the indicators among the columns, which are 0 or 1, as they are.
    pub(crate) fn without_scaling(mut self, indicators: &[bool]) -> Self {
        if !indicators.contains(&true) {
            return self;
        }
        let mut columns = self.transforms.columns().to_vec();
        for j in (0..columns.len()).filter(|&j| indicators[j]) {
            if self.range[j] > 0.0 {
                columns[j] = ColumnTransform::standardise(0.0, 1.0);
                (self.low[j], self.range[j]) = (0.0, 1.0);
            }
        }
        Self { transforms: Transforms::new(columns), ..self }
    }
}

/// Weighted sums of a column's values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnSums {
    weight: f64,
    mean: f64,
    spread: f64,
    low: f32,
    high: f32,
}

impl ColumnSums {
    const EMPTY: Self =
        Self { weight: 0.0, mean: 0.0, spread: 0.0, low: f32::INFINITY, high: f32::NEG_INFINITY };

    #[cfg(test)]
    pub(crate) fn numbers(&self) -> [f64; 5] {
        [self.weight, self.mean, self.spread, self.low as f64, self.high as f64]
    }

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

    /// Chan, Golub and LeVeque's update: exact merging of means and squared deviations.
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

/// The sums of all columns over rows.
pub(crate) struct Columns<'a, W> {
    pub(crate) x: Matrix<'a>,
    pub(crate) weight: W,
}

impl<W: Fn(usize) -> f32 + Sync> Fold for Columns<'_, W> {
    type Sum = Vec<ColumnSums>;

    fn empty(&self) -> Self::Sum {
        vec![ColumnSums::EMPTY; self.x.columns()]
    }

    fn add(&self, sum: &mut Self::Sum, rows: &[usize]) {
        self.x.for_each_row(rows, |at, row| {
            let w = (self.weight)(rows[at]) as f64;
            sum.iter_mut().zip(row).for_each(|(sum, &v)| sum.add(v, w));
        });
    }

    fn merge(&self, sum: &mut Self::Sum, next: &Self::Sum) {
        sum.iter_mut().zip(next).for_each(|(sum, next)| sum.merge(next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics(columns: usize, data: &[f32]) -> ColumnStatistics {
        let rows = data.len() / columns;
        let x = Matrix::new(data, rows, columns).expect("shape");
        ColumnStatistics::new(x, &(0..rows).collect::<Vec<_>>(), |_| 1.0)
    }

    #[test]
    fn matches_the_two_pass_formulas_across_blocks() {
        let n = 10_000;
        let data: Vec<f32> = (0..n).map(|i| 1000.0 + ((i * 7919) % 1000) as f32 / 100.0).collect();
        let s = statistics(1, &data);
        let mean = data.iter().map(|&v| v as f64).sum::<f64>() / n as f64;
        let sd = (data.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
        let column = s.transforms.columns()[0];
        assert!((column.mean as f64 - mean).abs() < 1e-3);
        assert!((column.inverse as f64 * sd - 1.0).abs() < 1e-6);
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
        let s = statistics(5, &data).transforms;
        let s = s.columns();
        assert_eq!(s[0].inverse, 0.0);
        assert!(s[1].inverse > 0.0 && s[1].mean.is_finite());
        assert_eq!(s[2].inverse, 0.0, "a spread whose inverse overflows f32 counts as constant");
        assert_eq!((s[3].mean, s[3].inverse), (2.0, 1.0));
        assert_eq!((s[4].mean, s[4].inverse), (0.0, 0.0));
    }

    #[test]
    fn rows_of_weight_zero_do_not_count() {
        let x = [0.0f32, 10.0, 500.0];
        let s = ColumnStatistics::new(Matrix::new(&x, 3, 1).expect("shape"), &[0, 1], |_| 2.0);
        let column = s.transforms.columns()[0];
        assert_eq!((column.mean, column.inverse, s.range[0]), (5.0, 0.2, 2.0));
    }
}
