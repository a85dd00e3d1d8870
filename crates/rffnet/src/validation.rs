//! Rows held out to choose by, and whether a difference on them is more than chance.

use crate::features::Network;
use crate::numerics::random::{Use, shuffle, stream};
use crate::problem::Problem;

/// Rows to learn from and rows to choose by; indices into the caller's matrix.
pub(crate) struct Split {
    pub(crate) train: Vec<usize>,
    pub(crate) validation: Vec<usize>,
}

impl Split {
    /// Holds out a share of the rows, at random.
    pub(crate) fn new(rows: &[usize], validation_fraction: f64, seed: u64) -> Self {
        let mut order = rows.to_vec();
        shuffle(&mut order, &mut stream(seed, Use::Split));
        let held_out = (validation_fraction * rows.len() as f64) as usize;
        let train = order.split_off(held_out);
        Self { train, validation: order }
    }

    /// With the first of its training rows only.
    pub(crate) fn with_fewer(&self, rows: usize) -> Self {
        Self { train: self.train[..rows.min(self.train.len())].to_vec(), validation: self.validation.clone() }
    }

    /// What a fit is judged on: the validation rows, or the training rows where there are none.
    pub(crate) fn judged_on(&self) -> &[usize] {
        if self.validation.is_empty() { &self.train } else { &self.validation }
    }
}

/// Standard errors by which the mean gain over a constant must exceed zero. The epoch was chosen on the same rows, so
/// two would not do.
const SIGNIFICANT: f64 = 3.0;

/// Whether a network beats a constant on the rows by more than chance: the mean gain per row against its standard error,
/// or half the loss gone, which heavy tails and few rows can hide from that test.
pub(crate) fn beats_constant(
    problem: &Problem<'_>,
    network: Network<'_>,
    constant: Network<'_>,
    rows: &[usize],
) -> bool {
    let (model, constant) = (problem.row_losses(network, rows), problem.row_losses(constant, rows));
    let halved = model.iter().sum::<f64>() < 0.5 * constant.iter().sum::<f64>();
    halved || significantly_smaller(&model, &constant, SIGNIFICANT)
}

/// Whether the first losses, row by row, are smaller than the second by so many standard errors of the difference.
pub(crate) fn significantly_smaller(first: &[f64], second: &[f64], errors: f64) -> bool {
    let gains: Vec<f64> = first.iter().zip(second).map(|(f, s)| s - f).collect();
    let n = gains.len() as f64;
    let mean = gains.iter().sum::<f64>() / n;
    let variance = gains.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / n;
    mean > errors * (variance / (n - 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_uses_every_row_once() {
        let rows: Vec<usize> = (10..110).collect();
        let split = Split::new(&rows, 0.25, 3);
        assert_eq!((split.train.len(), split.validation.len()), (75, 25));
        let mut all = [split.train.clone(), split.validation.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, rows);
        let fewer = split.with_fewer(20);
        assert_eq!((&fewer.train[..], &fewer.validation), (&split.train[..20], &split.validation));
        let none = Split::new(&rows, 0.0, 3);
        assert_eq!(none.judged_on(), none.train);
    }

    #[test]
    fn a_gain_must_exceed_its_standard_error() {
        // Gains of mean 1 and deviation 1 on 50 rows: 7 standard errors.
        let second = vec![5.0; 50];
        let first: Vec<f64> = (0..50).map(|i| 4.0 + if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert!(significantly_smaller(&first, &second, 6.9));
        assert!(!significantly_smaller(&first, &second, 7.1));
        assert!(!significantly_smaller(&second, &first, 0.0));
        assert!(!significantly_smaller(&[f64::NAN; 4], &[1.0; 4], 0.0));
    }
}
