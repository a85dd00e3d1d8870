//! Rows held out to choose by, and whether a difference on them is more than chance.

use std::collections::{BTreeMap, HashSet};

use crate::Error;
use crate::features::Network;
use crate::numerics::random::{Stream, Use, shuffle, stream};
use crate::problem::Problem;

/// Which rows are held out for validation.
#[derive(Debug, Clone, Copy, Default)]
pub enum Validation<'a> {
    /// Rows drawn at random; every member of an ensemble draws its own.
    #[default]
    Random,
    /// Whole groups drawn at random, a number for each row: rows with one number are on one side of the split.
    Groups(&'a [u32]),
    /// The last rows, for rows in the order of time; the same for all members.
    Last,
}

impl<'a> Validation<'a> {
    /// The group of each row, if there are groups.
    pub(crate) fn groups(self) -> Option<&'a [u32]> {
        match self {
            Self::Groups(groups) => Some(groups),
            Self::Random | Self::Last => None,
        }
    }

    /// How many of the last rows are held out in every fit.
    pub(crate) fn last(self, rows: usize, validation_fraction: f64) -> usize {
        match self {
            Self::Last => (validation_fraction * rows as f64) as usize,
            Self::Random | Self::Groups(_) => 0,
        }
    }

    /// Refuses groups of which none can be held out.
    pub(crate) fn check(self, rows: &[usize], validation_fraction: f64) -> Result<(), Error> {
        match self.groups() {
            Some(groups) if validation_fraction > 0.0 && rows.iter().all(|&i| groups[i] == groups[rows[0]]) => {
                Err(Error::Shape(
                    "all rows to learn from are of one group; at least 2 groups are needed, one of them for validation"
                        .into(),
                ))
            }
            _ => Ok(()),
        }
    }
}

/// Rows to learn from and rows to choose by; indices into the caller's matrix.
pub(crate) struct Split {
    pub(crate) train: Vec<usize>,
    pub(crate) validation: Vec<usize>,
}

impl Split {
    /// Holds out a share of the rows, which are in ascending order.
    pub(crate) fn new(rows: &[usize], validation_fraction: f64, held_out: Validation<'_>, seed: u64) -> Self {
        let rng = &mut stream(seed, Use::Split);
        let count = (validation_fraction * rows.len() as f64) as usize;
        match held_out {
            Validation::Random => {
                let mut order = rows.to_vec();
                shuffle(&mut order, rng);
                let train = order.split_off(count);
                Self { train, validation: order }
            }
            Validation::Groups(groups) => {
                let held_out = draw_groups(rows, groups, count, rng);
                let mut order = rows.to_vec();
                shuffle(&mut order, rng);
                let (validation, train) = order.into_iter().partition(|&i| held_out.contains(&groups[i]));
                Self { train, validation }
            }
            Validation::Last => {
                // Shuffled, since a pilot run takes the first of them.
                let (earlier, last) = rows.split_at(rows.len() - count);
                let mut train = earlier.to_vec();
                shuffle(&mut train, rng);
                Self { train, validation: last.to_vec() }
            }
        }
    }

    /// What a fit is judged on: the validation rows, or the training rows where there are none.
    pub(crate) fn judged_on(&self) -> &[usize] {
        if self.validation.is_empty() { &self.train } else { &self.validation }
    }
}

/// Groups in random order, those passed over that would make it more than `count` rows; the smallest one where all would.
fn draw_groups(rows: &[usize], groups: &[u32], count: usize, rng: &mut Stream) -> HashSet<u32> {
    let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
    rows.iter().for_each(|&i| *sizes.entry(groups[i]).or_default() += 1);
    let mut order: Vec<(u32, usize)> = sizes.into_iter().collect();
    shuffle(&mut order, rng);
    let (mut drawn, mut left) = (HashSet::new(), count);
    for &(group, size) in &order {
        if size <= left {
            left -= size;
            drawn.insert(group);
        }
    }
    if count > 0 && drawn.is_empty() && order.len() > 1 {
        drawn.extend(order.iter().min_by_key(|(_, size)| *size).map(|(group, _)| *group));
    }
    drawn
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
        let split = Split::new(&rows, 0.25, Validation::Random, 3);
        assert_eq!((split.train.len(), split.validation.len()), (75, 25));
        let mut all = [split.train.clone(), split.validation.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, rows);
        let none = Split::new(&rows, 0.0, Validation::Random, 3);
        assert_eq!(none.judged_on(), none.train);
    }

    #[test]
    fn groups_stay_together_and_differ_between_seeds() {
        let rows: Vec<usize> = (0..200).filter(|i| i % 9 != 0).collect();
        let groups: Vec<u32> = (0..200).map(|i| i * i % 23).collect();
        let held_out = |seed| {
            let split = Split::new(&rows, 0.25, Validation::Groups(&groups), seed);
            assert_eq!(split.train.len() + split.validation.len(), rows.len());
            let of = |rows: &[usize]| rows.iter().map(|&i| groups[i]).collect::<HashSet<_>>();
            assert!(of(&split.train).is_disjoint(&of(&split.validation)));
            assert!((20..=rows.len() / 4).contains(&split.validation.len()), "{}", split.validation.len());
            of(&split.validation)
        };
        assert_eq!(held_out(1), held_out(1));
        assert_ne!(held_out(1), held_out(2));
        // Groups that are all larger than the share: the smallest one.
        let halves: Vec<u32> = (0..200).map(|i| u32::from(i < 90)).collect();
        let split = Split::new(&rows, 0.1, Validation::Groups(&halves), 1);
        assert!(split.validation.iter().all(|&i| i < 90) && split.train.iter().all(|&i| i >= 90));
        let check = |groups, fraction| Validation::Groups(groups).check(&rows, fraction);
        assert!(
            check(&halves, 0.1).is_ok() && check(&[7; 200], 0.0).is_ok() && check(&[7; 200], 0.1).is_err()
        );
    }

    #[test]
    fn the_last_rows_validate_in_the_order_of_time() {
        let rows: Vec<usize> = (0..80).map(|i| 2 * i).collect();
        let split = Split::new(&rows, 0.25, Validation::Last, 4);
        assert_eq!(split.validation, rows[60..]);
        assert!(!split.train.is_sorted());
        let mut train = split.train.clone();
        train.sort_unstable();
        assert_eq!(train, rows[..60]);
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
