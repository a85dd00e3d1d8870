//! Standardisation, kept inside the model: the caller's data are never changed.
//!
//! Skewed columns can be made even: see the file of `Warp`. Long tails can be bent: with z the standardised value, the
//! column is z / sqrt(1 + bend z^2). The bulk of the rows stays where it was, and no row is further than 1 / sqrt(bend)
//! from the middle, so that neither the frequencies nor the head are ruled by a few far rows.

pub(crate) mod candidates;
pub(crate) mod yeo_johnson;

use rayon::prelude::*;

use crate::Matrix;
use crate::simd::{self, Path};
use crate::transform::yeo_johnson::Warp;

/// How every column is standardised: its mean and spread over the training rows, and its shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    pub(crate) mean: Vec<f32>,
    /// One over the standard deviation; 0 for a constant column, which takes it out of the model.
    pub(crate) inverse: Vec<f32>,
    /// Empty if no column is warped.
    pub(crate) warp: Vec<Warp>,
    /// 0 for a column that is not bent; empty if none is.
    pub(crate) bend: Vec<f32>,
}

/// How far beyond the range of the training rows a straight column is followed, as a share of it.
const BEYOND: f32 = 0.25;

/// Beyond this a bent value no longer changes, and its square could overflow.
const FAR: f32 = 1e6;

/// See the head of this file; a missing value stays 0.
fn bent(z: f32, bend: f32) -> f32 {
    let z = z.clamp(-FAR, FAR);
    z / (1.0 + bend * z * z).sqrt()
}

impl Scale {
    /// From the tensors of a model file, empty where there is none; the error says what is wrong.
    pub fn new(
        mean: Vec<f32>,
        inverse: Vec<f32>,
        warp: &[f32],
        bend: Vec<f32>,
    ) -> Result<Self, &'static str> {
        let d = mean.len();
        let fits = inverse.len() == d
            && [0, Warp::NUMBERS * d].contains(&warp.len())
            && [0, d].contains(&bend.len());
        if !fits {
            return Err("the parts of the scale do not fit");
        }
        if bend.iter().any(|b| !(0.0..=1.0).contains(b)) {
            return Err("a bend is not between 0 and 1");
        }
        let warp = Warp::from_numbers(warp, d).ok_or("a warp cannot be")?;
        Ok(Self { mean, inverse, warp, bend })
    }

    /// For columns that have been standardised before.
    pub(crate) fn identity(columns: usize) -> Self {
        Self { mean: vec![0.0; columns], inverse: vec![1.0; columns], warp: Vec::new(), bend: Vec::new() }
    }

    /// Column `j` of a row, standardised; a missing value is the mean.
    pub(crate) fn apply(&self, j: usize, x: f32) -> f32 {
        let z = (x - self.mean[j]) * self.inverse[j];
        let v = self.warp.get(j).filter(|w| w.warps()).map_or(z, |w| w.apply(z));
        let v = if v.is_nan() { 0.0 } else { v };
        self.bend.get(j).filter(|&&b| b > 0.0).map_or(v, |&b| bent(v, b))
    }

    /// All rows, standardised.
    pub(crate) fn applied(&self, x: Matrix<'_>) -> Vec<f32> {
        let mut all = vec![0.0; x.rows() * x.columns()];
        all.par_chunks_mut(x.columns()).enumerate().for_each(|(i, out)| {
            out.iter_mut().zip(x.row(i)).enumerate().for_each(|(j, (out, &v))| *out = self.apply(j, v));
        });
        all
    }

    /// The supported columns of the given rows, standardised, and times `theta` once more.
    pub fn gather(
        &self,
        path: Path,
        x: Matrix<'_>,
        rows: &[usize],
        support: &[usize],
        theta: &[f32],
        out: &mut [f32],
        scaled: &mut [f32],
    ) {
        let width = support.len();
        if width == x.columns() && self.warp.is_empty() && self.bend.is_empty() {
            return simd::gather(path, x.data(), width, rows, &self.mean, &self.inverse, theta, out, scaled);
        }
        let places = out.chunks_exact_mut(width).zip(scaled.chunks_exact_mut(width));
        for (&i, (out, scaled)) in rows.iter().zip(places) {
            let row = x.row(i);
            for (((&j, &theta), out), scaled) in support.iter().zip(theta).zip(out).zip(scaled) {
                *out = self.apply(j, row[j]);
                *scaled = *out * theta;
            }
        }
    }

    /// Cuts columns that are neither warped nor bent at the given ends.
    pub(crate) fn cut(&mut self, low: &[f32], range: &[f32]) {
        self.warp.resize(self.mean.len(), Warp::NONE);
        for (j, warp) in self.warp.iter_mut().enumerate() {
            let bent = self.bend.get(j).is_some_and(|&b| b > 0.0);
            if !warp.warps() && !bent && range[j] > 0.0 {
                let margin = BEYOND * range[j];
                let cut = Warp::cut(low[j] - margin, low[j] + range[j] + margin);
                *warp = if cut.is_sound() { cut } else { Warp::NONE };
            }
        }
        if !self.warp.iter().any(Warp::warps) {
            self.warp.clear();
        }
    }

    /// For people: what was done to the shape of columns.
    pub(crate) fn describe(&self) -> String {
        let some = |text: &str, count: usize| match count {
            0 => String::new(),
            1 => format!(", {text} of 1 column"),
            many => format!(", {text} of {many} columns"),
        };
        let warped = self.warp.iter().filter(|w| w.evens()).count();
        let bent = self.bend.iter().filter(|&&b| b > 0.0).count();
        some("skew evened", warped) + &some("long tails bent", bent)
    }
}

/// What a pass over the columns finds: standardisation, and the range the Constant initialiser needs.
pub(crate) struct ColumnStatistics {
    pub(crate) scale: Scale,
    /// Smallest value of each standardised column.
    pub(crate) low: Vec<f32>,
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
    let mut scale = Scale { mean, inverse, warp: Vec::new(), bend: Vec::new() };
    let mut low = Vec::with_capacity(x.columns());
    let mut range = Vec::with_capacity(x.columns());
    for m in &total {
        let deviation = (m.spread / m.weight).sqrt();
        // A spread at the level of f32 rounding of the mean is no spread; nor is one whose inverse overflows.
        let noise = m.mean.abs() * f32::EPSILON as f64;
        let usable = m.low < m.high && deviation > noise && (1.0 / deviation) < f32::MAX as f64;
        let inverse = if usable { (1.0 / deviation) as f32 } else { 0.0 };
        scale.mean.push(if m.weight > 0.0 { m.mean as f32 } else { 0.0 });
        scale.inverse.push(inverse);
        // As a row at that end is standardised.
        low.push(if usable { (m.low - m.mean as f32) * inverse } else { 0.0 });
        range.push(if usable { ((m.high as f64 - m.low as f64) / deviation) as f32 } else { 0.0 });
    }
    ColumnStatistics { scale, low, range }
}

/// Rows looked at to find the quartiles of a column, and its skew.
const QUARTILE_ROWS: usize = 10_000;
const SKEW_ROWS: usize = 2_000;
/// Quartiles of a normal distribution are this many deviations apart.
const QUARTILES: f64 = 1.349;
/// A column has long tails if it reaches further than this many deviations of its middle half.
const LONG: f64 = 6.0;
/// How far a bent column reaches.
const REACH: f64 = 3.0;

/// What is done to the shape of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shaping {
    /// Long tails are bent.
    Bent,
    /// Skewed columns are made even, then long tails are bent.
    Evened,
}

/// Another shape for one column.
struct Shaped {
    mean: f32,
    inverse: f32,
    warp: Warp,
    bend: f32,
    range: f32,
}

impl ColumnStatistics {
    /// Scale and ranges with columns in other shapes; `None` if no column needs that. Columns of two values stay as they
    /// are.
    pub(crate) fn shaped(
        &self,
        shaping: Shaping,
        x: Matrix<'_>,
        rows: &[usize],
        weight: impl Fn(usize) -> f32 + Sync,
    ) -> Option<(Scale, Vec<f32>)> {
        let shape = |j| self.shape(j, shaping, x, rows, &weight);
        let found: Vec<Option<Shaped>> = (0..x.columns()).into_par_iter().map(shape).collect();
        let warped = found.iter().flatten().any(|s| s.warp.warps());
        let bent = found.iter().flatten().any(|s| s.bend > 0.0);
        if !(warped || bent && shaping == Shaping::Bent) {
            return None;
        }
        let (mut scale, mut range) = (self.scale.clone(), self.range.clone());
        scale.warp = vec![Warp::NONE; if warped { x.columns() } else { 0 }];
        scale.bend = vec![0.0; if bent { x.columns() } else { 0 }];
        for (j, shaped) in found.into_iter().enumerate().filter_map(|(j, f)| Some((j, f?))) {
            (scale.mean[j], scale.inverse[j], range[j]) = (shaped.mean, shaped.inverse, shaped.range);
            scale.warp.get_mut(j).into_iter().for_each(|w| *w = shaped.warp);
            scale.bend.get_mut(j).into_iter().for_each(|b| *b = shaped.bend);
        }
        Some((scale, range))
    }

    fn shape(
        &self,
        j: usize,
        shaping: Shaping,
        x: Matrix<'_>,
        rows: &[usize],
        weight: impl Fn(usize) -> f32,
    ) -> Option<Shaped> {
        if self.range[j] == 0.0 {
            return None;
        }
        let (mean, inverse) = (self.scale.mean[j], self.scale.inverse[j]);
        let cells = |most: usize| -> Vec<(f32, f64)> {
            let cell = |i: usize| ((x.row(i)[j] - mean) * inverse, weight(i) as f64);
            sample(rows, most).map(cell).filter(|(z, _)| !z.is_nan()).collect()
        };
        let mut sorted = cells(QUARTILE_ROWS);
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (low, high) = (sorted.first()?.0, sorted.last()?.0);
        if sorted.iter().all(|&(z, _)| z == low || z == high) {
            return None;
        }
        let (lowest, highest) = (self.low[j], self.low[j] + self.range[j]);
        let warp = match shaping {
            Shaping::Bent => None,
            Shaping::Evened => Warp::find(&cells(SKEW_ROWS), lowest, highest),
        };
        let after = |z: f32| warp.map_or(z, |w| w.apply(z)) as f64;
        let [first, median, third] = [0.25, 0.5, 0.75].map(|share| after(quantile(&sorted, share)));
        // Where more than half the rows are alike, the deviation of all has to do.
        let middle = (third - first) / QUARTILES;
        let spread = if middle > 0.0 { middle } else { 1.0 };
        let long = (after(highest) - median).max(median - after(lowest)) / spread > LONG;
        // Long tails are bent around the median.
        let (centre, unit) = if long { (median, spread) } else { (0.0, 1.0) };
        let bend = if long { (1.0 / (REACH * REACH)) as f32 } else { 0.0 };
        let range = if long { 2.0 * REACH } else { after(highest) - after(lowest) } as f32;
        let shaped = match warp {
            Some(warp) => {
                let centre = (warp.centre as f64 + centre / warp.inverse as f64) as f32;
                let warp = Warp { centre, inverse: (warp.inverse as f64 / unit) as f32, ..warp };
                Shaped { mean, inverse, warp, bend, range }
            }
            None => {
                let mean = (mean as f64 + centre / inverse as f64) as f32;
                Shaped { mean, inverse: (inverse as f64 / unit) as f32, warp: Warp::NONE, bend, range }
            }
        };
        let positive = |v: f32| v > 0.0 && v.is_finite();
        let usable = positive(shaped.inverse)
            && positive(shaped.range)
            && (!shaped.warp.warps() || shaped.warp.is_sound());
        (usable && (long || warp.is_some())).then_some(shaped)
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
        let (bent, _) = statistics.shaped(Shaping::Bent, x, &rows, |_| 1.0).expect("there are long tails");
        assert_eq!(bent.bend.iter().map(|&b| b > 0.0).collect::<Vec<_>>(), [false, true, false, true]);
        let largest = data.chunks(4).map(|r| bent.apply(1, r[1]).abs()).fold(0.0, f32::max);
        assert!(largest <= 3.001 && largest > 2.0, "{largest}");
        assert_eq!(bent.apply(1, f32::NAN), 0.0);
        assert!((bent.apply(1, f32::MAX) - 3.0).abs() < 1e-5);
        let (mut out, mut doubled) = ([0.0; 8], [0.0; 8]);
        bent.gather(Path::Portable, x, &[7, 3999], &[0, 1, 2, 3], &[2.0; 4], &mut out, &mut doubled);
        let all = bent.applied(x);
        assert_eq!((&out[..4], &out[4..]), (&all[28..32], &all[4 * 3999..]));
        (0..8).for_each(|at| assert_eq!(doubled[at], 2.0 * out[at]));
        let few = column_statistics(x, &rows[..2], |_| 1.0);
        assert!(few.shaped(Shaping::Bent, x, &rows[..2], |_| 1.0).is_none());
    }

    #[test]
    fn skew_is_evened_and_straight_columns_are_cut() {
        let n = 2000;
        let data: Vec<f32> = (0..n).flat_map(|i| [i as f32, (i as f32 / 300.0).exp()]).collect();
        let x = Matrix::new(&data, n, 2).expect("shape");
        let rows: Vec<usize> = (0..n).collect();
        let statistics = column_statistics(x, &rows, |_| 1.0);
        let (mut evened, ranges) =
            statistics.shaped(Shaping::Evened, x, &rows, |_| 1.0).expect("there is skew");
        assert_eq!(evened.warp.iter().map(Warp::evens).collect::<Vec<_>>(), [false, true]);
        let all = evened.applied(x);
        let column = |j: usize| all.iter().skip(j).step_by(2).map(|&v| v as f64);
        let cubes =
            |values: &[f32]| values.iter().skip(1).step_by(2).map(|&v| (v as f64).powi(3)).sum::<f64>();
        let (before, after) = (cubes(&statistics.scale.applied(x)), cubes(&all));
        assert!(after.abs() < 0.5 * before, "{before} {after}");
        let range = column(1).fold(f64::MIN, f64::max) - column(1).fold(f64::MAX, f64::min);
        assert!((range - ranges[1] as f64).abs() < 1e-3);
        evened.cut(&statistics.low, &statistics.range);
        assert_eq!(evened.applied(x), all, "nothing is cut within the data");
        let edge = evened.apply(0, 1e9);
        assert!((edge - (statistics.low[0] + 1.25 * statistics.range[0])).abs() < 1e-5);
        assert_eq!(evened.apply(0, f32::NAN), 0.0);
        let numbers = Warp::to_numbers(&evened.warp);
        let (mean, inverse) = (evened.mean.clone(), evened.inverse.clone());
        assert_eq!(Scale::new(mean.clone(), inverse.clone(), &numbers, Vec::new()), Ok(evened));
        assert!(Scale::new(mean.clone(), inverse.clone(), &numbers[1..], Vec::new()).is_err());
        assert!(Scale::new(mean, inverse, &[0.3; 10], Vec::new()).is_err(), "no such power");
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
