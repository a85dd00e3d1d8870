//! Means, deviations, and how figures are written.

use std::fmt;

/// Mean and spread of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) mean: f64,
    /// The population's formula: the paper's figures come from it as well.
    pub(crate) sd: f64,
    pub(crate) count: usize,
}

impl Spread {
    /// `None` for an empty sample.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
        Some(Self { mean, sd, count: values.len() })
    }
}

impl fmt::Display for Spread {
    /// Both with the decimals of the mean; a single value has no spread.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = decimals(self.mean);
        if self.count == 1 {
            return write!(f, "{:.decimals$}", self.mean);
        }
        write!(f, "{:.decimals$} ± {:.decimals$}", self.mean, self.sd)
    }
}

/// Decimals that leave a number about four digits.
fn decimals(value: f64) -> usize {
    match value.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        v if v >= 0.1 || v == 0.0 => 3,
        _ => 4,
    }
}

/// A number of about four digits.
pub(crate) fn figure(value: f64) -> String {
    format!("{value:.*}", decimals(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads() {
        let spread = Spread::of(&[1.0, 2.0, 6.0]).expect("not empty");
        assert_eq!((spread.mean, spread.count), (3.0, 3));
        assert!((spread.sd - (14.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[0.5]).expect("not empty").to_string(), "0.500");
        assert_eq!(spread.to_string(), "3.000 ± 2.160");
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(
            [0.0123, 0.5, 12.345, 345.67, 8680.3].map(figure),
            ["0.0123", "0.500", "12.35", "345.7", "8680"]
        );
    }
}
