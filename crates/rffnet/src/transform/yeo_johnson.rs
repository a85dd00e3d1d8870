//! The power transform of Yeo and Johnson (2000), which makes a skewed column symmetric; the power maximises the
//! likelihood of a normal distribution.
//!
//! With z the standardised value, clipped to the range of the training rows, and p the power,
//!
//! ```text
//! u = ((1 + z)^p - 1) / p  for z >= 0,     u = -((1 - z)^(2 - p) - 1) / (2 - p)  for z < 0,
//! ```
//!
//! and the column is u, standardised again. The power is a multiple of 1/8 other than 0 and 2, so that roots and products
//! are all it takes: the same bits on every machine. With power 1 the column is only clipped.

/// The power transform of one column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct YeoJohnson {
    /// The power; 1 is a clip.
    pub power: f32,
    /// Where the standardised value is clipped from below.
    pub low: f32,
    /// Where it is clipped from above.
    pub high: f32,
    /// The mean after the power.
    pub centre: f32,
    /// One over the deviation after the power.
    pub inverse: f32,
}

/// Eighths in one, and the powers tried.
const EIGHTHS: i32 = 8;
const POWERS: std::ops::RangeInclusive<i32> = -2 * EIGHTHS..=4 * EIGHTHS;

/// What a power must gain over p = 1 in log-likelihood: on average, below which a column counts as symmetric, and in
/// all, below which the gain may be chance.
const MIN_MEAN_GAIN: f64 = 0.04;
const MIN_TOTAL_GAIN: f64 = 4.0;
/// Standardised cells with a smaller deviation are equal up to rounding: the sample has missed the rows that differ.
const EQUAL_CELLS: f64 = 1e-3;

impl YeoJohnson {
    /// Numbers a column has in a model file.
    pub(crate) const NUMBERS: usize = 5;

    /// As a model file holds a column: power, lower and upper end, mean and inverse deviation after.
    pub(crate) fn to_numbers(self) -> [f32; Self::NUMBERS] {
        [self.power, self.low, self.high, self.centre, self.inverse]
    }

    /// The other way; the error says what is wrong. A power of 0 stands for a column without a transform.
    pub(crate) fn from_numbers(numbers: [f32; Self::NUMBERS]) -> Result<Option<Self>, &'static str> {
        let [power, low, high, centre, inverse] = numbers;
        let found = Self { power, low, high, centre, inverse };
        match power {
            0.0 => Ok(None),
            _ if found.is_sound() => Ok(Some(found)),
            _ => Err("a Yeo-Johnson transform has an impossible power or range"),
        }
    }

    /// The straight line between two ends.
    pub(crate) fn clip(low: f32, high: f32) -> Self {
        Self { power: 1.0, low, high, centre: 0.0, inverse: 1.0 }
    }

    /// Whether it only clips.
    pub(crate) fn is_clip(&self) -> bool {
        self.power == 1.0
    }

    /// Whether it can have come from [`YeoJohnson::find`] or [`YeoJohnson::clip`].
    pub(crate) fn is_sound(&self) -> bool {
        let eighths = self.power * EIGHTHS as f32;
        let known = eighths.fract() == 0.0 && POWERS.contains(&(eighths as i32)) && self.power != 2.0;
        let finite = [self.low, self.high, self.centre, self.inverse].iter().all(|v| v.is_finite());
        known && finite && self.low <= self.high && self.inverse > 0.0
    }

    /// The transformed value of a standardised one; a missing value stays missing.
    pub(crate) fn apply(&self, z: f32) -> f32 {
        let z = z.clamp(self.low, self.high);
        if self.is_clip() {
            return (z - self.centre) * self.inverse;
        }
        let z = z as f64;
        let eighths = (self.power * EIGHTHS as f32) as i32;
        let u = Cell::new(z, 1.0).power(eighths);
        ((u - self.centre as f64) * self.inverse as f64) as f32
    }

    /// The transform under which standardised cells (value, weight) are most likely normal; `None` if that gains little over p = 1.
    pub(crate) fn find(cells: &[(f32, f64)], low: f32, high: f32) -> Option<Self> {
        let cells: Vec<Cell> = cells.iter().map(|&(z, weight)| Cell::new(z as f64, weight)).collect();
        let weight: f64 = cells.iter().map(|c| c.weight).sum();
        // A row of weight zero is none, and one that outweighs all others is one.
        let count = weight * weight / cells.iter().map(|c| c.weight * c.weight).sum::<f64>();
        let jacobian = cells.iter().map(|c| c.weight * c.log_jacobian()).sum::<f64>() / weight;
        let moments = |eighths: i32| {
            let mean = cells.iter().map(|c| c.weight * c.power(eighths)).sum::<f64>() / weight;
            let spread = cells.iter().map(|c| c.weight * (c.power(eighths) - mean).powi(2)).sum::<f64>();
            (mean, (spread / weight).sqrt())
        };
        let likelihood = |eighths: i32| {
            let (_, deviation) = moments(eighths);
            (eighths as f64 / EIGHTHS as f64 - 1.0) * jacobian - deviation.ln()
        };
        let (_, deviation) = moments(EIGHTHS);
        if deviation.is_nan() || deviation <= EQUAL_CELLS {
            return None;
        }
        let powers: Vec<i32> = POWERS.filter(|&p| p != 0 && p != 2 * EIGHTHS).collect();
        let straight = powers.iter().position(|&p| p == EIGHTHS)?;
        let start = likelihood(EIGHTHS);
        let (mut at, mut best) = (straight, start);
        for step in [4, 2, 1] {
            // The likelihood has one peak: up the hill, in ever smaller steps.
            while let Some((next, value)) = [at.checked_sub(step), Some(at + step)]
                .into_iter()
                .flatten()
                .filter(|&next| next < powers.len())
                .map(|next| (next, likelihood(powers[next])))
                .find(|&(_, value)| value > best)
            {
                (at, best) = (next, value);
            }
        }
        let (centre, deviation) = moments(powers[at]);
        let found = Self {
            power: powers[at] as f32 / EIGHTHS as f32,
            low,
            high,
            centre: centre as f32,
            inverse: (1.0 / deviation) as f32,
        };
        (at != straight && best - start > MIN_MEAN_GAIN.max(MIN_TOTAL_GAIN / count) && found.is_sound())
            .then_some(found)
    }
}

/// A standardised value, ready for many powers.
struct Cell {
    negative: bool,
    /// (1 + |z|)^(1/8)
    root: f64,
    weight: f64,
}

impl Cell {
    fn new(z: f64, weight: f64) -> Self {
        Self { negative: z < 0.0, root: (1.0 + z.abs()).sqrt().sqrt().sqrt(), weight }
    }

    /// u of this file's head, for a power in eighths.
    fn power(&self, eighths: i32) -> f64 {
        let eighths = if self.negative { 2 * EIGHTHS - eighths } else { eighths };
        let u = (whole_power(self.root, eighths) - 1.0) * EIGHTHS as f64 / eighths as f64;
        if self.negative { -u } else { u }
    }

    /// Its share of the logarithm of the Jacobian, by p - 1.
    fn log_jacobian(&self) -> f64 {
        let size = EIGHTHS as f64 * self.root.ln();
        if self.negative { -size } else { size }
    }
}

/// By squaring: products alone.
fn whole_power(base: f64, exponent: i32) -> f64 {
    let (mut result, mut factor, mut left) = (1.0, base, exponent.unsigned_abs());
    while left > 0 {
        if left % 2 == 1 {
            result *= factor;
        }
        factor *= factor;
        left /= 2;
    }
    if exponent < 0 { 1.0 / result } else { result }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles of a normal distribution by bisection of a fine sum, good to a few digits.
    fn normal(n: usize) -> Vec<f64> {
        let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let (mut z, mut mass, step) = (-6.0, 0.0, 1e-3);
        let mut cells = Vec::with_capacity(n);
        for i in 0..n {
            let wanted = (i as f64 + 0.5) / n as f64;
            while mass < wanted {
                mass += density(z) * step;
                z += step;
            }
            cells.push(z);
        }
        cells
    }

    fn standardised(values: &[f64]) -> Vec<(f32, f64)> {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
        values.iter().map(|v| (((v - mean) / deviation) as f32, 1.0)).collect()
    }

    #[test]
    fn a_power_undoes_its_inverse() {
        // Values whose power transform is normal: the likelihood must find that power.
        for eighths in [-4i32, 2, 3, 19] {
            let p = eighths as f64 / 8.0;
            let cells: Vec<(f32, f64)> = normal(2000)
                .iter()
                .filter_map(|u| {
                    let u = 0.7 * u;
                    let z = if u >= 0.0 {
                        (1.0 + p * u).powf(1.0 / p) - 1.0
                    } else {
                        1.0 - (1.0 - (2.0 - p) * u).powf(1.0 / (2.0 - p))
                    };
                    z.is_finite().then_some((z as f32, 1.0))
                })
                .collect();
            let power = YeoJohnson::find(&cells, -1e3, 1e3).expect("skewed");
            assert!((power.power as f64 - p).abs() <= 0.25, "{p} {power:?}");
        }
    }

    #[test]
    fn symmetric_columns_stay_and_skewed_ones_become_symmetric() {
        let even = standardised(&(0..1000).map(f64::from).collect::<Vec<_>>());
        assert_eq!(YeoJohnson::find(&even, -3.0, 3.0), None);
        assert_eq!(YeoJohnson::find(&standardised(&normal(500)), -4.0, 4.0), None);
        // A sample that has missed the few rows that differ.
        assert_eq!(YeoJohnson::find(&[(-0.1043f32, 1.0); 2000], -0.1, 9.0), None);
        assert_eq!(YeoJohnson::find(&[], -1.0, 1.0), None);
        // What a hundred rows show, three cannot.
        let curve =
            |n: usize| standardised(&(0..n).map(|i| (3.0 * i as f64 / n as f64).exp()).collect::<Vec<_>>());
        assert!(
            YeoJohnson::find(&curve(100), -2.0, 3.0).is_some()
                && YeoJohnson::find(&curve(3), -2.0, 3.0).is_none()
        );
        let skewed = standardised(&normal(2000).iter().map(|z| z.exp()).collect::<Vec<_>>());
        let (low, high) = (skewed[0].0, skewed[1999].0);
        let power = YeoJohnson::find(&skewed, low, high).expect("skewed");
        let after: Vec<f64> = skewed.iter().map(|&(z, _)| power.apply(z) as f64).collect();
        let moment = |k: i32| after.iter().map(|v| v.powi(k)).sum::<f64>() / 2000.0;
        assert!(moment(1).abs() < 1e-3 && (moment(2) - 1.0).abs() < 1e-3, "{} {}", moment(1), moment(2));
        let before = skewed.iter().map(|&(z, _)| (z as f64).powi(3)).sum::<f64>() / 2000.0;
        assert!(moment(3).abs() < 0.1 * before, "skewness {} {before}", moment(3));
        assert!(after.windows(2).all(|w| w[0] <= w[1]), "order is kept");
        assert_eq!(power.apply(1e30), power.apply(high));
        assert_eq!(power.apply(f32::NEG_INFINITY), power.apply(low));
        assert!(power.apply(f32::NAN).is_nan());
    }

    #[test]
    fn powers_are_those_of_the_formula() {
        for eighths in POWERS.filter(|&p| p != 0 && p != 16) {
            let p = eighths as f64 / 8.0;
            for z in [-9.0f64, -0.3, 0.0, 1e-3, 2.5, 40.0] {
                let wanted = if z >= 0.0 {
                    ((1.0 + z).powf(p) - 1.0) / p
                } else {
                    -((1.0 - z).powf(2.0 - p) - 1.0) / (2.0 - p)
                };
                let got = Cell::new(z, 1.0).power(eighths);
                assert!((got - wanted).abs() <= 1e-12 * wanted.abs().max(1.0), "{p} {z} {got} {wanted}");
            }
        }
    }
}
