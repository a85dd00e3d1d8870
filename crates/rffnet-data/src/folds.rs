//! Cutting rows into folds: each is the test part once, the others (or those before it) are learned from.

use std::collections::HashMap;

use rffnet::text::plural;

use crate::error::DataError;
use crate::random::{seeded, shuffle};

/// One way to cut the rows: row numbers in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fold {
    /// To learn from.
    pub train: Vec<usize>,
    /// To be scored on.
    pub test: Vec<usize>,
}

/// `k` folds of sizes that differ by at most a row; every row is in one test part.
///
/// ```
/// let folds = rffnet_data::folds(10, 3, 1)?;
/// assert_eq!(folds.iter().map(|f| f.test.len()).collect::<Vec<_>>(), [4, 3, 3]);
/// # Ok::<(), rffnet_data::DataError>(())
/// ```
///
/// # Errors
/// If `k` is below 2, or there are fewer rows than folds.
pub fn folds(rows: usize, k: usize, seed: u64) -> Result<Vec<Fold>, DataError> {
    stratified_folds(&vec![0; rows], k, seed)
}

/// As [`folds`], with each class in all folds in proportion, to within a row.
///
/// # Errors
/// As [`folds`].
pub fn stratified_folds(codes: &[u32], k: usize, seed: u64) -> Result<Vec<Fold>, DataError> {
    check(k, codes.len(), "row")?;
    // Shuffled rows, class after class, are dealt out like cards.
    let mut order: Vec<usize> = (0..codes.len()).collect();
    shuffle(&mut order, &mut seeded(seed));
    order.sort_by_key(|&row| codes[row]);
    let mut place = vec![0; codes.len()];
    order.iter().enumerate().for_each(|(i, &row)| place[row] = i % k);
    Ok(by_place(&place, k))
}

/// As [`folds`], with all rows of a group, a number for each row, in the same fold. Large groups are placed first, each into the fold that has
/// the fewest rows; which of two equal groups comes first is chance.
///
/// # Errors
/// If `k` is below 2, or there are fewer groups than folds.
pub fn group_folds(groups: &[u32], k: usize, seed: u64) -> Result<Vec<Fold>, DataError> {
    let groups = numbered(groups);
    let mut sizes: Vec<(usize, usize)> = Vec::new();
    for &group in &groups {
        if group == sizes.len() {
            sizes.push((group, 0));
        }
        sizes[group].1 += 1;
    }
    check(k, sizes.len(), "group")?;
    shuffle(&mut sizes, &mut seeded(seed));
    sizes.sort_by_key(|&(_, size)| std::cmp::Reverse(size));
    let (mut rows, mut fold) = (vec![0; k], vec![0; sizes.len()]);
    for (group, size) in sizes {
        let least = (0..k).min_by_key(|&f| rows[f]).unwrap_or(0);
        rows[least] += size;
        fold[group] = least;
    }
    let place: Vec<usize> = groups.iter().map(|&group| fold[group]).collect();
    Ok(by_place(&place, k))
}

/// `k` folds in the order of time: the rows are cut into `k + 1` blocks, and each block but the first is the test part of
/// a fold that learns from all blocks before it.
///
/// # Errors
/// If `k` is below 2, or there are no more rows than folds.
pub fn time_folds(rows: usize, k: usize) -> Result<Vec<Fold>, DataError> {
    check(k, rows.saturating_sub(1), "row")?;
    let edge = |block: usize| (rows as u128 * block as u128 / (k as u128 + 1)) as usize;
    let fold = |i: usize| Fold { train: (0..edge(i)).collect(), test: (edge(i)..edge(i + 1)).collect() };
    Ok((1..=k).map(fold).collect())
}

/// At most `limit` of these rows, chosen by chance, in their order.
pub fn subsample(rows: &[usize], limit: usize, seed: u64) -> Vec<usize> {
    if rows.len() <= limit {
        return rows.to_vec();
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    shuffle(&mut order, &mut seeded(seed));
    order.truncate(limit);
    order.sort_unstable();
    order.into_iter().map(|i| rows[i]).collect()
}

fn check(k: usize, parts: usize, noun: &str) -> Result<(), DataError> {
    let sentence = match k {
        0 | 1 => format!("folds is {k}; it must be at least 2"),
        _ if parts < k => {
            format!("{} cannot be cut into {k} folds; use fewer folds or more data", plural(parts, noun))
        }
        _ => return Ok(()),
    };
    Err(DataError::request(sentence))
}

/// Folds from the fold that each row is tested in.
fn by_place(place: &[usize], k: usize) -> Vec<Fold> {
    let part = |f: usize, test: bool| (0..place.len()).filter(|&row| (place[row] == f) == test).collect();
    (0..k).map(|f| Fold { train: part(f, false), test: part(f, true) }).collect()
}

/// Groups counted from 0 in the order of their first rows.
fn numbered(groups: &[u32]) -> Vec<usize> {
    let mut seen: HashMap<u32, usize> = HashMap::new();
    let number = |&group: &u32| {
        let next = seen.len();
        *seen.entry(group).or_insert(next)
    };
    groups.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every row is in exactly one test part, and in the training part of all other folds.
    fn whole(folds: &[Fold], rows: usize) {
        let mut tested: Vec<usize> = folds.iter().flat_map(|f| f.test.clone()).collect();
        tested.sort_unstable();
        assert_eq!(tested, (0..rows).collect::<Vec<_>>());
        for fold in folds {
            assert!(fold.train.is_sorted() && fold.test.is_sorted() && !fold.test.is_empty());
            assert_eq!(fold.train.len() + fold.test.len(), rows);
            assert!(fold.test.iter().all(|row| fold.train.binary_search(row).is_err()));
        }
    }

    #[test]
    fn plain_folds_are_even_and_seeded() {
        for (rows, k) in [(2, 2), (10, 3), (101, 5), (7, 7)] {
            let cut = folds(rows, k, 4).unwrap();
            assert_eq!(cut.len(), k);
            whole(&cut, rows);
            let sizes: Vec<usize> = cut.iter().map(|f| f.test.len()).collect();
            assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        }
        assert_eq!(folds(50, 5, 1).unwrap(), folds(50, 5, 1).unwrap());
        assert_ne!(folds(50, 5, 1).unwrap(), folds(50, 5, 2).unwrap());
    }

    #[test]
    fn classes_are_in_all_folds() {
        let codes: Vec<u32> = (0..103).map(|i| if i % 10 == 0 { 3 } else { i % 2 }).collect();
        let cut = stratified_folds(&codes, 4, 9).unwrap();
        whole(&cut, codes.len());
        for class in [0, 1, 3] {
            let counts: Vec<usize> =
                cut.iter().map(|f| f.test.iter().filter(|&&r| codes[r] == class).count()).collect();
            assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
        }
        assert_ne!(cut, stratified_folds(&codes, 4, 10).unwrap());
    }

    #[test]
    fn groups_stay_together() {
        let numbers: Vec<u32> = (0..200).map(|i| i * i % 23).collect();
        let cut = group_folds(&numbers, 3, 1).unwrap();
        whole(&cut, 200);
        for fold in &cut {
            assert!(fold.test.iter().all(|&t| fold.train.iter().all(|&r| numbers[r] != numbers[t])));
            assert!((50..90).contains(&fold.test.len()), "{}", fold.test.len());
        }
        let two = [1, 0, 1, 0];
        let cut = group_folds(&two, 2, 1).unwrap();
        assert!(cut.iter().any(|f| f.test == [0, 2]) && cut.iter().any(|f| f.test == [1, 3]));
        let error = group_folds(&two, 3, 1).unwrap_err().to_string();
        assert_eq!(error, "2 groups cannot be cut into 3 folds; use fewer folds or more data");
    }

    #[test]
    fn time_never_looks_ahead() {
        let cut = time_folds(11, 3).unwrap();
        let ends: Vec<(usize, usize)> = cut.iter().map(|f| (f.train.len(), f.test.len())).collect();
        assert_eq!(ends, [(2, 3), (5, 3), (8, 3)]);
        for fold in &cut {
            assert!(fold.train.last() < fold.test.first());
        }
        assert_eq!(cut.last().and_then(|f| f.test.last()), Some(&10));
        assert!(time_folds(3, 3).is_err() && time_folds(4, 3).is_ok());
    }

    #[test]
    fn bad_requests_are_sentences() {
        assert_eq!(folds(9, 1, 0).unwrap_err().to_string(), "folds is 1; it must be at least 2");
        let few = "3 rows cannot be cut into 5 folds; use fewer folds or more data";
        assert_eq!(folds(3, 5, 0).unwrap_err().to_string(), few);
        assert_eq!(stratified_folds(&[0, 1, 0], 5, 0).unwrap_err().to_string(), few);
    }

    #[test]
    fn subsamples_are_ordered_rows() {
        let rows: Vec<usize> = (100..200).collect();
        let few = subsample(&rows, 10, 3);
        assert!(few.len() == 10 && few.is_sorted() && few.iter().all(|r| rows.contains(r)));
        assert_eq!(few, subsample(&rows, 10, 3));
        assert_eq!(subsample(&rows, 100, 3), rows);
    }
}
