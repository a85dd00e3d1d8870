//! The robust transforms of the default algorithm: skewed columns are made symmetric and long tails soft-clipped.

use rayon::prelude::*;

use super::statistics::ColumnStatistics;
use super::{ColumnTransform, Transforms, YeoJohnson};
use crate::Matrix;

/// Rows from which the quartiles of a column are taken, and its power.
const QUARTILE_ROWS: usize = 10_000;
const POWER_ROWS: usize = 2_000;
/// Quartiles of a normal distribution are this many deviations apart.
const QUARTILES: f64 = 1.349;

impl ColumnStatistics {
    /// Skewed columns get a Yeo-Johnson transform, then long tails are soft-clipped; other columns are only standardised.
    /// `tails` are the deviations from which a column has long tails, and how many of them it reaches once it is
    /// soft-clipped. Columns of two values stay as they are.
    pub(crate) fn robust(
        &self,
        tails: (f64, f64),
        x: Matrix<'_>,
        rows: &[usize],
        weight: impl Fn(usize) -> f32 + Sync,
    ) -> Self {
        let find = |j| {
            self.find(j, tails, x, rows, &weight).unwrap_or((self.transforms.columns()[j], self.range[j]))
        };
        let (transforms, range) = (0..x.columns()).into_par_iter().map(find).unzip();
        Self { transforms: Transforms::new(transforms), low: self.low.clone(), range }
    }

    /// The transform of a column and its range after it; none where it is to be only standardised.
    fn find(
        &self,
        j: usize,
        (long_tail, clip): (f64, f64),
        x: Matrix<'_>,
        rows: &[usize],
        weight: impl Fn(usize) -> f32,
    ) -> Option<(ColumnTransform, f32)> {
        if self.range[j] == 0.0 {
            return None;
        }
        let plain = self.transforms.columns()[j];
        let ColumnTransform { mean, inverse, .. } = plain;
        let cells = |most: usize| -> Vec<(f32, f64)> {
            let values = x.column(j, sample(rows, most)).into_iter().map(|v| (v - mean) * inverse);
            let weights = sample(rows, most).map(|i| weight(i) as f64);
            values.zip(weights).filter(|(z, _)| !z.is_nan()).collect()
        };
        let mut sorted = cells(QUARTILE_ROWS);
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (low, high) = (sorted.first()?.0, sorted.last()?.0);
        if sorted.iter().all(|&(z, _)| z == low || z == high) {
            return None;
        }
        let (lowest, highest) = (self.low[j], self.low[j] + self.range[j]);
        let power = YeoJohnson::find(&cells(POWER_ROWS), lowest, highest);
        let after = |z: f32| power.map_or(z, |p| p.apply(z)) as f64;
        let [first, median, third] = [0.25, 0.5, 0.75].map(|share| after(quantile(&sorted, share)));
        // Where more than half the rows are alike, the deviation of all has to do.
        let middle = (third - first) / QUARTILES;
        let spread = if middle > 0.0 { middle } else { 1.0 };
        let long = (after(highest) - median).max(median - after(lowest)) / spread > long_tail;
        // Long tails are clipped around the median.
        let (centre, unit) = if long { (median, spread) } else { (0.0, 1.0) };
        let soft_clip = long.then_some((1.0 / (clip * clip)) as f32);
        let range = if long { 2.0 * clip } else { after(highest) - after(lowest) } as f32;
        let mut transform = ColumnTransform { power, soft_clip, ..plain };
        let (at, inverse) = match &mut transform.power {
            Some(power) => (&mut power.centre, &mut power.inverse),
            None => (&mut transform.mean, &mut transform.inverse),
        };
        *at = (*at as f64 + centre / *inverse as f64) as f32;
        *inverse = (*inverse as f64 / unit) as f32;
        let positive = [transform.inverse, range].iter().all(|v| *v > 0.0 && v.is_finite());
        (positive && transform.is_sound()).then_some((transform, range))
    }
}

/// At most so many of the rows: one from each of as many equal stretches, at a place that repeats with no period.
fn sample(rows: &[usize], most: usize) -> impl Iterator<Item = usize> {
    let (n, m) = (rows.len(), rows.len().min(most));
    (0..m).map(move |k| {
        let scattered = ((k as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as usize;
        rows[(k * n + if n > m { scattered % n } else { 0 }) / m]
    })
}

/// The smallest value with at least this share of the weight at or below it; a row of weight two counts as two rows.
fn quantile(sorted: &[(f32, f64)], share: f64) -> f32 {
    let total: f64 = sorted.iter().map(|c| c.1).sum();
    let mut below = 0.0;
    let reached = sorted.iter().find(|(_, weight)| {
        below += weight;
        below >= share * total
    });
    reached.or(sorted.last()).map_or(0.0, |c| c.0)
}

#[cfg(test)]
mod tests {
    use super::super::Gather;
    use super::*;
    use crate::simd::Path;

    const TAILS: (f64, f64) = (6.0, 3.0);

    #[test]
    fn long_tails_are_soft_clipped_and_short_ones_are_not() {
        let n = 4000;
        // Symmetric, with long tails, of two values, mostly zero with a far row.
        let data: Vec<f32> = (0..n)
            .flat_map(|i| {
                let u = (i as f32 + 0.5) / n as f32;
                [
                    u,
                    (10.0 * u - 5.0).sinh(),
                    f32::from(i % 50 == 0),
                    if i % 100 == 7 { i as f32 } else { 0.0 },
                ]
            })
            .collect();
        let x = Matrix::new(&data, n, 4).expect("shape");
        let rows: Vec<usize> = (0..n).collect();
        let statistics = ColumnStatistics::new(x, &rows, |_| 1.0);
        let found = statistics.robust(TAILS, x, &rows, |_| 1.0);
        let soft = found.transforms;
        let clipped: Vec<bool> = soft.columns().iter().map(|c| c.soft_clip.is_some()).collect();
        assert_eq!(clipped, [false, true, false, true]);
        let long = soft.columns()[1];
        let largest = data.chunks(4).map(|r| long.apply(r[1]).abs()).fold(0.0, f32::max);
        assert!(largest <= 3.001 && largest > 2.0, "{largest}");
        assert_eq!(long.apply(f32::NAN), 0.0);
        assert!((long.apply(f32::MAX) - 3.0).abs() < 1e-5);
        let (mut out, mut doubled) = ([0.0; 8], [0.0; 8]);
        let cells = Gather { x, rows: &[7, 3999], support: &[0, 1, 2, 3], theta: &[2.0; 4] };
        soft.gather(Path::Portable, cells, &mut out, &mut doubled);
        let all = soft.applied(x);
        assert_eq!((&out[..4], &out[4..]), (&all[28..32], &all[4 * 3999..]));
        (0..8).for_each(|at| assert_eq!(doubled[at], 2.0 * out[at]));
        let few = ColumnStatistics::new(x, &rows[..2], |_| 1.0);
        assert!(few.robust(TAILS, x, &rows[..2], |_| 1.0).transforms.is_plain());
    }

    #[test]
    fn skewed_columns_get_a_power_and_the_others_are_clipped() {
        let n = 2000;
        let data: Vec<f32> = (0..n).flat_map(|i| [i as f32, (i as f32 / 300.0).exp()]).collect();
        let x = Matrix::new(&data, n, 2).expect("shape");
        let rows: Vec<usize> = (0..n).collect();
        let statistics = ColumnStatistics::new(x, &rows, |_| 1.0);
        let found = statistics.robust(TAILS, x, &rows, |_| 1.0);
        let powers: Vec<bool> = found.transforms.columns().iter().map(|c| c.power.is_some()).collect();
        assert_eq!(powers, [false, true]);
        let all = found.transforms.applied(x);
        let column = |j: usize| all.iter().skip(j).step_by(2).map(|&v| v as f64);
        let cubes =
            |values: &[f32]| values.iter().skip(1).step_by(2).map(|&v| (v as f64).powi(3)).sum::<f64>();
        let (before, after) = (cubes(&statistics.transforms.applied(x)), cubes(&all));
        assert!(after.abs() < 0.5 * before, "{before} {after}");
        let range = column(1).fold(f64::MIN, f64::max) - column(1).fold(f64::MAX, f64::min);
        assert!((range - found.range[1] as f64).abs() < 1e-3);
        let clipped = found.transforms.clip(&statistics.low, &statistics.range);
        assert_eq!(clipped.applied(x), all, "nothing is clipped within the data");
        let edge = clipped.columns()[0].apply(1e9);
        assert!((edge - (statistics.low[0] + 1.25 * statistics.range[0])).abs() < 1e-5);
        assert_eq!(clipped.columns()[0].apply(f32::NAN), 0.0);
    }

    #[test]
    fn samples_are_spread_over_all_rows_without_a_period() {
        let rows: Vec<usize> = (0..48_000).collect();
        let sampled: Vec<usize> = sample(&rows, 2000).collect();
        assert!(sampled.iter().enumerate().all(|(k, &i)| i / 24 == k), "one from each stretch");
        let mut hours = [0; 24];
        sampled.iter().for_each(|i| hours[i % 24] += 1);
        assert!(hours.iter().all(|&count| (40..=130).contains(&count)), "{hours:?}");
        assert!(sample(&rows[..500], 2000).eq(0..500));
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
