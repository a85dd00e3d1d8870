//! Skewed columns made even: Yeo and Johnson's power transformation, with the power found by likelihood.
//!
//! With z the standardised value, cut off at the range of the training rows, and p the power,
//!
//! ```text
//! u = ((1 + z)^p - 1) / p  for z >= 0,     u = -((1 - z)^(2 - p) - 1) / (2 - p)  for z < 0,
//! ```
//!
//! and the column is u, standardised again. The power is a multiple of 1/8 other than 0 and 2, so that roots and products
//! are all it takes: the same bits on every machine. With power 1 the column is only cut off.

/// How one column is warped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Warp {
    /// The power; 0 for a column that is not warped.
    pub(crate) power: f32,
    /// Where the standardised value is cut off.
    pub(crate) low: f32,
    pub(crate) high: f32,
    /// Of the power transform: its mean, and one over its deviation.
    pub(crate) centre: f32,
    pub(crate) inverse: f32,
}

/// Eighths in one, and the powers tried.
const EIGHTHS: i32 = 8;
const POWERS: std::ops::RangeInclusive<i32> = -2 * EIGHTHS..=4 * EIGHTHS;

/// What a power must gain in log-likelihood over the straight line: on average, where less is no skew worth a word, and in
/// all, where less may be chance.
const SKEWED: f64 = 0.04;
const SURELY: f64 = 4.0;
/// Standardised cells with less of a deviation are all alike, up to rounding: a sample without the rows that differ.
const ALIKE: f64 = 1e-3;

impl Warp {
    /// The column as it is.
    pub(crate) const NONE: Self = Self { power: 0.0, low: 0.0, high: 0.0, centre: 0.0, inverse: 0.0 };

    /// Numbers a column has in a model file.
    pub(crate) const NUMBERS: usize = 5;

    /// As a model file holds them: all powers, then all lower ends, and so on.
    pub(crate) fn to_numbers(warps: &[Self]) -> Vec<f32> {
        let parts: [fn(&Self) -> f32; Self::NUMBERS] =
            [|w| w.power, |w| w.low, |w| w.high, |w| w.centre, |w| w.inverse];
        parts.iter().flat_map(|part| warps.iter().map(part)).collect()
    }

    /// The other way; `None` if they cannot be right.
    pub(crate) fn from_numbers(numbers: &[f32], columns: usize) -> Option<Vec<Self>> {
        let [power, low, high, centre, inverse] = [0, 1, 2, 3, 4].map(|part| part * columns);
        let warp = |j: usize| {
            let at = |part: usize| numbers[part + j];
            let warp = Self {
                power: at(power),
                low: at(low),
                high: at(high),
                centre: at(centre),
                inverse: at(inverse),
            };
            (!warp.warps() || warp.is_sound()).then_some(warp)
        };
        if numbers.is_empty() { Some(Vec::new()) } else { (0..columns).map(warp).collect() }
    }

    /// The straight line between two ends.
    pub(crate) fn cut(low: f32, high: f32) -> Self {
        Self { power: 1.0, low, high, centre: 0.0, inverse: 1.0 }
    }

    /// Whether there is anything to do.
    pub(crate) fn warps(&self) -> bool {
        self.power != 0.0
    }

    /// Whether it is more than a cut.
    pub(crate) fn evens(&self) -> bool {
        self.warps() && self.power != 1.0
    }

    /// Whether it can have come from [`Warp::find`] or [`Warp::cut`].
    pub(crate) fn is_sound(&self) -> bool {
        let eighths = self.power * EIGHTHS as f32;
        let known = eighths.fract() == 0.0 && POWERS.contains(&(eighths as i32)) && self.power != 2.0;
        let finite = [self.low, self.high, self.centre, self.inverse].iter().all(|v| v.is_finite());
        known && finite && self.low <= self.high && self.inverse > 0.0
    }

    /// The warped value of a standardised one; a missing value stays missing.
    pub(crate) fn apply(&self, z: f32) -> f32 {
        let z = z.clamp(self.low, self.high);
        if self.power == 1.0 {
            return (z - self.centre) * self.inverse;
        }
        let z = z as f64;
        let eighths = (self.power * EIGHTHS as f32) as i32;
        let u = Cell::new(z, 1.0).power(eighths);
        ((u - self.centre as f64) * self.inverse as f64) as f32
    }

    /// The warp that makes standardised cells (value, weight) most normal; `None` if they are hardly skewed.
    pub(crate) fn find(cells: &[(f32, f64)], low: f32, high: f32) -> Option<Self> {
        let cells: Vec<Cell> = cells.iter().map(|&(z, weight)| Cell::new(z as f64, weight)).collect();
        let weight: f64 = cells.iter().map(|c| c.weight).sum();
        // A row of weight zero is none, and one that outweighs all others is one.
        let count = weight * weight / cells.iter().map(|c| c.weight * c.weight).sum::<f64>();
        let lean = cells.iter().map(|c| c.weight * c.lean()).sum::<f64>() / weight;
        let moments = |eighths: i32| {
            let mean = cells.iter().map(|c| c.weight * c.power(eighths)).sum::<f64>() / weight;
            let spread = cells.iter().map(|c| c.weight * (c.power(eighths) - mean).powi(2)).sum::<f64>();
            (mean, (spread / weight).sqrt())
        };
        let likelihood = |eighths: i32| {
            let (_, deviation) = moments(eighths);
            (eighths as f64 / EIGHTHS as f64 - 1.0) * lean - deviation.ln()
        };
        let (_, deviation) = moments(EIGHTHS);
        if deviation.is_nan() || deviation <= ALIKE {
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
        let warp = Self {
            power: powers[at] as f32 / EIGHTHS as f32,
            low,
            high,
            centre: centre as f32,
            inverse: (1.0 / deviation) as f32,
        };
        (at != straight && best - start > SKEWED.max(SURELY / count) && warp.is_sound()).then_some(warp)
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
    fn lean(&self) -> f64 {
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
            let warp = Warp::find(&cells, -1e3, 1e3).expect("skewed");
            assert!((warp.power as f64 - p).abs() <= 0.25, "{p} {warp:?}");
        }
    }

    #[test]
    fn even_columns_stay_and_skewed_ones_become_even() {
        let even = standardised(&(0..1000).map(f64::from).collect::<Vec<_>>());
        assert_eq!(Warp::find(&even, -3.0, 3.0), None);
        assert_eq!(Warp::find(&standardised(&normal(500)), -4.0, 4.0), None);
        // A sample that has missed the few rows that differ.
        assert_eq!(Warp::find(&[(-0.1043f32, 1.0); 2000], -0.1, 9.0), None);
        assert_eq!(Warp::find(&[], -1.0, 1.0), None);
        // What a hundred rows show, three cannot.
        let curve =
            |n: usize| standardised(&(0..n).map(|i| (3.0 * i as f64 / n as f64).exp()).collect::<Vec<_>>());
        assert!(Warp::find(&curve(100), -2.0, 3.0).is_some() && Warp::find(&curve(3), -2.0, 3.0).is_none());
        let skewed = standardised(&normal(2000).iter().map(|z| z.exp()).collect::<Vec<_>>());
        let (low, high) = (skewed[0].0, skewed[1999].0);
        let warp = Warp::find(&skewed, low, high).expect("skewed");
        let after: Vec<f64> = skewed.iter().map(|&(z, _)| warp.apply(z) as f64).collect();
        let moment = |k: i32| after.iter().map(|v| v.powi(k)).sum::<f64>() / 2000.0;
        assert!(moment(1).abs() < 1e-3 && (moment(2) - 1.0).abs() < 1e-3, "{} {}", moment(1), moment(2));
        let before = skewed.iter().map(|&(z, _)| (z as f64).powi(3)).sum::<f64>() / 2000.0;
        assert!(moment(3).abs() < 0.1 * before, "skewness {} {before}", moment(3));
        assert!(after.windows(2).all(|w| w[0] <= w[1]), "order is kept");
        assert_eq!(warp.apply(1e30), warp.apply(high));
        assert_eq!(warp.apply(f32::NEG_INFINITY), warp.apply(low));
        assert!(warp.apply(f32::NAN).is_nan());
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
