//! How far probabilities can be taken at their word.

use std::f64::consts::FRAC_2_PI;

/// Bins of a reliability curve.
const BINS: usize = 10;
/// Two-sided 95 %.
const Z: f64 = 1.96;

/// Rows of about the same predicted probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bin {
    pub(crate) rows: usize,
    /// The mean predicted probability.
    pub(crate) predicted: f64,
    /// The share of positives.
    pub(crate) share: f64,
}

/// Scores of predicted probabilities, and their reliability curve.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Calibration {
    pub(crate) rows: usize,
    /// The share of positives.
    pub(crate) share: f64,
    /// Mean of minus the log-probability of what happened, probabilities kept above 1e-15.
    pub(crate) log_loss: f64,
    /// Mean squared difference between probability and what happened, 1 or 0.
    pub(crate) brier: f64,
    /// Expected calibration error: how far shares are from predictions, on average over rows.
    pub(crate) error: f64,
    /// What that error would be, about, if every probability were right: so many rows leave so much to chance.
    pub(crate) chance: f64,
    pub(crate) bins: Vec<Bin>,
}

impl Bin {
    fn of(rows: &[(f64, bool)]) -> Self {
        let n = rows.len() as f64;
        let predicted = rows.iter().map(|r| r.0).sum::<f64>() / n;
        let share = rows.iter().filter(|r| r.1).count() as f64 / n;
        Self { rows: rows.len(), predicted, share }
    }

    /// Where the true share lies with a confidence of 95 %, after Wilson: never outside 0 to 1, and wide where no row, or
    /// every row, is positive.
    pub(crate) fn interval(&self) -> (f64, f64) {
        let (n, p) = (self.rows as f64, self.share);
        let z2 = Z * Z / n;
        let middle = (p + 0.5 * z2) / (1.0 + z2);
        let reach = Z * (p * (1.0 - p) / n + 0.25 * z2 / n).sqrt() / (1.0 + z2);
        ((middle - reach).max(0.0), (middle + reach).min(1.0))
    }
}

impl Calibration {
    /// Of rows with the predicted probability of a positive, and whether it was one; `None` without rows.
    pub(crate) fn of(rows: &[(f64, bool)]) -> Option<Self> {
        if rows.is_empty() {
            return None;
        }
        let n = rows.len() as f64;
        let mean = |term: &dyn Fn(f64, f64) -> f64| {
            rows.iter().map(|&(p, positive)| term(p, f64::from(positive))).sum::<f64>() / n
        };
        let mut sorted = rows.to_vec();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let parts = parts(&sorted);
        let bins: Vec<Bin> = parts.iter().map(|part| Bin::of(part)).collect();
        // The mean distance of a normal variable from its mean is sqrt(2 / pi) of its deviation.
        let by_chance = |part: &[(f64, bool)]| {
            (FRAC_2_PI * part.iter().map(|(p, _)| p * (1.0 - p)).sum::<f64>()).sqrt() / n
        };
        Some(Self {
            rows: rows.len(),
            share: mean(&|_, y| y),
            log_loss: mean(&|p, y| -(if y > 0.0 { p } else { 1.0 - p }).max(1e-15).ln()),
            brier: mean(&|p, y| (p - y).powi(2)),
            error: bins.iter().map(|b| b.rows as f64 / n * (b.predicted - b.share).abs()).sum(),
            chance: parts.iter().map(|part| by_chance(part)).sum(),
            bins,
        })
    }

    /// The fewest and the most rows of a bin.
    pub(crate) fn bin_rows(&self) -> (usize, usize) {
        let rows = || self.bins.iter().map(|b| b.rows);
        (rows().min().unwrap_or(0), rows().max().unwrap_or(0))
    }
}

/// Parts of equal size; equal probabilities stay together, so there may be fewer.
fn parts(sorted: &[(f64, bool)]) -> Vec<&[(f64, bool)]> {
    let n = sorted.len();
    let (mut parts, mut start) = (Vec::new(), 0);
    for bin in 1..=BINS {
        let mut end = bin * n / BINS;
        while end > start && end < n && sorted[end].0 == sorted[end - 1].0 {
            end += 1;
        }
        if end > start {
            parts.push(&sorted[start..end]);
            start = end;
        }
    }
    parts
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use rffnet::numerics::random::{seeded, uniform};

    /// Labels drawn from probabilities; what is predicted may differ.
    fn drawn(n: usize, predicted: impl Fn(f64) -> f64) -> Vec<(f64, bool)> {
        let mut rng = seeded(1);
        let mut uniform = || uniform(&mut rng);
        (0..n)
            .map(|_| {
                let p = uniform();
                (predicted(p), uniform() < p)
            })
            .collect()
    }

    #[test]
    fn right_probabilities_have_no_error_beyond_chance() {
        let right = Calibration::of(&drawn(50_000, |p| p)).unwrap();
        assert!(right.error < 0.01 && right.error < 2.5 * right.chance, "{right:?}");
        assert!(right.error > 0.2 * right.chance, "{right:?}");
        // The integrals of p(1 - p) and of the entropy over 0 to 1.
        assert!((right.brier - 1.0 / 6.0).abs() < 0.003 && (right.log_loss - 0.5).abs() < 0.005, "{right:?}");
        assert_eq!((right.bins.len(), right.bin_rows()), (BINS, (5_000, 5_000)));
        let covered = right.bins.iter().filter(|b| (b.interval().0..=b.interval().1).contains(&b.predicted));
        assert!(covered.count() >= 8);
        let sure =
            Calibration::of(&drawn(50_000, |p| if p > 0.5 { 0.5 + p / 2.0 } else { p / 2.0 })).unwrap();
        assert!(sure.error > 0.1, "{sure:?}");
    }

    #[test]
    fn a_constant_is_off_by_what_it_is_off_whatever_the_order() {
        for order in [|i: usize| i < 500, |i: usize| i.is_multiple_of(2)] {
            let rows: Vec<(f64, bool)> = (0..1_000).map(|i| (0.9, order(i))).collect();
            let constant = Calibration::of(&rows).unwrap();
            assert_eq!(constant.bins.len(), 1, "equal probabilities stay together");
            assert!((constant.error - 0.4).abs() < 1e-12 && (constant.share - 0.5).abs() < 1e-12);
            assert!((constant.brier - (0.81 + 0.01) / 2.0).abs() < 1e-12);
        }
    }

    #[test]
    fn bins_hold_equal_numbers_and_every_row_once() {
        let rows: Vec<(f64, bool)> = (0..47).map(|i| (f64::from(i % 40) / 40.0, i % 3 == 0)).collect();
        let few = Calibration::of(&rows).unwrap();
        assert_eq!(few.bins.iter().map(|b| b.rows).sum::<usize>(), 47);
        assert!(few.bins.windows(2).all(|w| w[0].predicted < w[1].predicted));
        let two = Calibration::of(&[(0.2, false), (1.0, false)]).unwrap();
        assert_eq!(two.bins.len(), 2);
        assert!((two.log_loss - 0.5 * (-(0.8f64).ln() - 1e-15f64.ln())).abs() < 1e-12);
        assert_eq!(Calibration::of(&[]), None);
    }

    #[test]
    fn an_interval_is_open_where_nothing_was_seen() {
        let bin = |rows, share| Bin { rows, predicted: 0.5, share }.interval();
        let (low, high) = bin(100, 0.0);
        assert!(low == 0.0 && (high - 0.037).abs() < 1e-3, "{high}");
        let (low, high) = bin(100, 0.5);
        assert!((low - 0.404).abs() < 1e-3 && (high - 0.596).abs() < 1e-3);
    }
}
