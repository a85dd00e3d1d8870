//! Cutting rows into a training and a test part.

use crate::random::{Stream, seeded, shuffle};

/// `(train, test)`: row numbers in ascending order, `fraction` of the rows in `test`.
///
/// With two rows or more and a fraction strictly between 0 and 1, neither part is empty. A fraction that is
/// not positive (or not a number) leaves `test` empty; one of 1 or more leaves a single training row.
///
/// ```
/// let (train, test) = rffnet_data::split(10, 0.3, 1);
/// assert_eq!((train.len(), test.len()), (7, 3));
/// ```
pub fn split(rows: usize, fraction: f64, seed: u64) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<usize> = (0..rows).collect();
    shuffle(&mut order, &mut seeded(seed));
    let test = order.split_off(rows - test_rows(rows, fraction));
    sorted(order, test)
}

/// As [`split`], with each class in both parts in proportion, to within a row; a class of one row stays in
/// `train`.
pub fn stratified_split(codes: &[u32], fraction: f64, seed: u64) -> (Vec<usize>, Vec<usize>) {
    let rng = &mut seeded(seed);
    let wanted = test_rows(codes.len(), fraction);
    let mut classes = by_class(codes);
    let counts = shares(&classes, wanted, codes.len(), rng);
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for (rows, n) in classes.iter_mut().zip(counts) {
        shuffle(rows, rng);
        let (held, kept) = rows.split_at(n);
        test.extend_from_slice(held);
        train.extend_from_slice(kept);
    }
    sorted(train, test)
}

/// As [`split`], with all rows of a group, a number for each row, in one of the parts. Groups are drawn in random order; those are
/// passed over that would make the test part larger than asked for. `test` is empty if there are fewer than two groups.
pub fn group_split(groups: &[u32], fraction: f64, seed: u64) -> (Vec<usize>, Vec<usize>) {
    let mut parts = by_class(groups);
    if parts.len() < 2 {
        return ((0..groups.len()).collect(), Vec::new());
    }
    shuffle(&mut parts, &mut seeded(seed));
    let mut left = test_rows(groups.len(), fraction);
    let smallest = (left > 0).then(|| parts.iter().map(Vec::len).min()).flatten();
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for rows in parts {
        // Where every group is too large, the first of the smallest is held out.
        let fits = rows.len() <= left || (test.is_empty() && left > 0 && Some(rows.len()) == smallest);
        if fits {
            left = left.saturating_sub(rows.len());
            test.extend(rows);
        } else {
            train.extend(rows);
        }
    }
    sorted(train, test)
}

/// As [`split`], for rows in the order of time: `test` holds the last ones.
pub fn time_split(rows: usize, fraction: f64) -> (Vec<usize>, Vec<usize>) {
    let train = rows - test_rows(rows, fraction);
    ((0..train).collect(), (train..rows).collect())
}

fn sorted(mut train: Vec<usize>, mut test: Vec<usize>) -> (Vec<usize>, Vec<usize>) {
    train.sort_unstable();
    test.sort_unstable();
    (train, test)
}

fn test_rows(rows: usize, fraction: f64) -> usize {
    if rows < 2 || fraction.is_nan() || fraction <= 0.0 {
        return 0;
    }
    ((rows as f64 * fraction).round() as usize).clamp(1, rows - 1)
}

fn by_class(codes: &[u32]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..codes.len()).collect();
    order.sort_by_key(|&row| codes[row]);
    order.chunk_by(|&a, &b| codes[a] == codes[b]).map(<[usize]>::to_vec).collect()
}

/// How many rows of each class are held out: whole shares first, then the largest remainders, ties by chance.
fn shares(classes: &[Vec<usize>], wanted: usize, total: usize, rng: &mut Stream) -> Vec<usize> {
    let exact = |class: &Vec<usize>| class.len() as f64 * wanted as f64 / total.max(1) as f64;
    let mut counts: Vec<usize> =
        classes.iter().map(|c| (exact(c) as usize).min(c.len().saturating_sub(1))).collect();
    let mut left = wanted.saturating_sub(counts.iter().sum());
    let mut order: Vec<usize> = (0..classes.len()).collect();
    shuffle(&mut order, rng);
    order.sort_by(|&a, &b| exact(&classes[b]).fract().total_cmp(&exact(&classes[a]).fract()));
    for k in order {
        if left > 0 && counts[k] + 1 < classes[k].len() {
            counts[k] += 1;
            left -= 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(train: &[usize], test: &[usize], rows: usize) {
        let mut all: Vec<usize> = train.iter().chain(test).copied().collect();
        all.sort_unstable();
        assert_eq!(all, (0..rows).collect::<Vec<_>>());
        assert!(train.is_sorted() && test.is_sorted());
    }

    #[test]
    fn every_row_is_in_one_part() {
        for rows in [0, 1, 2, 3, 10, 101] {
            for fraction in [f64::NAN, -1.0, 0.0, 1e-9, 0.25, 0.5, 0.999, 1.0, f64::INFINITY] {
                let (train, test) = split(rows, fraction, 3);
                check(&train, &test, rows);
                if rows >= 2 && fraction > 0.0 {
                    assert!(!train.is_empty() && !test.is_empty());
                }
                let codes: Vec<u32> = (0..rows as u32).map(|i| i * i % 3).collect();
                let (train, test) = stratified_split(&codes, fraction, 3);
                check(&train, &test, rows);
            }
        }
    }

    #[test]
    fn groups_stay_on_one_side() {
        let groups: Vec<u32> = (0..300).map(|i| i * i % 23).collect();
        for (fraction, seed) in [(0.2, 1), (0.2, 2), (0.5, 1), (0.01, 3)] {
            let (train, test) = group_split(&groups, fraction, seed);
            check(&train, &test, 300);
            assert!(test.iter().all(|&t| train.iter().all(|&r| groups[r] != groups[t])));
            assert!(
                (3..=(300.0 * fraction) as usize + 13).contains(&test.len()),
                "{fraction}: {}",
                test.len()
            );
        }
        assert_ne!(group_split(&groups, 0.2, 1), group_split(&groups, 0.2, 2));
        assert_eq!(group_split(&[4; 9], 0.2, 1), ((0..9).collect(), vec![]));
        assert_eq!(group_split(&[0, 0, 0, 1, 1], 0.2, 1), (vec![0, 1, 2], vec![3, 4]));
    }

    #[test]
    fn the_last_rows_are_the_test_part_in_the_order_of_time() {
        assert_eq!(time_split(10, 0.3), ((0..7).collect(), vec![7, 8, 9]));
        assert_eq!(time_split(1, 0.3), (vec![0], vec![]));
    }

    #[test]
    fn seeds_decide() {
        assert_eq!(split(100, 0.3, 5), split(100, 0.3, 5));
        assert_ne!(split(100, 0.3, 5), split(100, 0.3, 6));
    }

    #[test]
    fn classes_keep_their_shares() {
        let codes: Vec<u32> = (0..1000).map(|i| if i % 10 == 0 { 7 } else { 2 }).collect();
        let (train, test) = stratified_split(&codes, 0.2, 1);
        assert_eq!((train.len(), test.len()), (800, 200));
        assert_eq!(test.iter().filter(|&&r| codes[r] == 7).count(), 20);
        let rare = [0, 0, 0, 0, 0, 0, 0, 0, 0, 5];
        for seed in 0..50 {
            let (train, test) = stratified_split(&rare, 0.3, seed);
            assert_eq!(test.len(), 3);
            assert!(train.contains(&9));
        }
    }
}
