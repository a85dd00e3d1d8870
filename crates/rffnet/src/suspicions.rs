//! What a user should look at before trusting a fit: rare classes, a column that gives the target away, copies of columns.

use std::collections::HashMap;

use crate::text::{count, plural};
use crate::{ColumnType, Data, Target};

/// A class of fewer rows than this can hardly be learned.
const FEW_ROWS: usize = 10;
/// One class with more than this share of the rows makes the accuracy meaningless.
const ONE_CLASS: f64 = 0.99;
/// So many names are listed.
const LISTED: usize = 3;
/// The multiplier of the columns' hashes: an odd number whose bits look random.
const HASH: u64 = 0x9E37_79B9_7F4A_7C15;

/// A sentence for each suspicion about the given rows.
pub(crate) fn suspicions(data: &Data<'_>, rows: &[usize]) -> Vec<String> {
    let mut found = Vec::new();
    if let Target::Labels { codes, classes } = data.y {
        found.extend(rare_classes(codes, classes, rows));
    }
    found.extend(telling_columns(data, rows));
    found
}

fn rare_classes(codes: &[u32], classes: &[String], rows: &[usize]) -> Vec<String> {
    let mut counts = vec![0; classes.len()];
    rows.iter().for_each(|&i| counts[codes[i] as usize] += 1);
    let mut found = Vec::new();
    let few: Vec<String> = classes
        .iter()
        .zip(&counts)
        .filter(|(_, rows)| (1..FEW_ROWS).contains(*rows))
        .map(|(class, &rows)| format!("'{class}' ({})", plural(rows, "row")))
        .collect();
    match few.as_slice() {
        [] => {}
        [one] => found.push(format!("class {one} has too few rows to be learned")),
        many => found.push(format!("classes {} have too few rows to be learned", listed(many))),
    }
    let most = (0..counts.len()).max_by_key(|&c| counts[c]);
    if let Some(most) = most.filter(|&c| counts[c] as f64 > ONE_CLASS * rows.len() as f64) {
        found.push(format!(
            "{} of {} rows are of class '{}': predicting it always has that accuracy; look at average_precision \
             and auc, or try class-weight balanced",
            count(counts[most]),
            count(rows.len()),
            classes[most]
        ));
    }
    found
}

/// Columns that equal the target, and columns that are copies of others.
fn telling_columns(data: &Data<'_>, rows: &[usize]) -> Vec<String> {
    let d = data.x.columns();
    let answer = Answer::new(data.y);
    let mut equal: Vec<usize> = (0..d).collect();
    let (mut hashes, mut varies, mut first) = (vec![0u64; d], vec![false; d], Vec::new());
    data.x.for_each_row(rows, |at, row| {
        if at == 0 {
            first = row.to_vec();
        }
        equal.retain(|&j| answer.is(rows[at], row[j], data.types.map(|types| &types[j])));
        for (j, &cell) in row.iter().enumerate() {
            hashes[j] = (hashes[j].rotate_left(5) ^ u64::from(cell.to_bits())).wrapping_mul(HASH);
            varies[j] |= cell.to_bits() != first[j].to_bits();
        }
    });
    let mut found = Vec::new();
    let quoted = |j: &usize| format!("'{}'", data.name(*j));
    let equal: Vec<String> = equal.iter().filter(|&&j| varies[j]).map(quoted).collect();
    match equal.as_slice() {
        [] => {}
        [one] => found.push(format!("column {one} equals the target in every row; is it known beforehand?")),
        many => found.push(format!(
            "columns {} equal the target in every row; are they known beforehand?",
            listed(many)
        )),
    }
    let (mut seen, mut copies) = (HashMap::new(), Vec::new());
    for j in (0..d).filter(|&j| varies[j]) {
        let original = *seen.entry(hashes[j]).or_insert(j);
        let same_type = data.types.is_none_or(|types| types[original] == types[j]);
        if original != j && same_type {
            copies.push(format!("'{}' is one of '{}'", data.name(j), data.name(original)));
        }
    }
    if !copies.is_empty() {
        found.push(format!("a copy of a column shares its importance: {}", listed(&copies)));
    }
    found
}

/// The target as a cell of a column could state it.
struct Answer<'a> {
    y: Target<'a>,
    /// Classes that are numbers.
    numbers: Vec<Option<f32>>,
}

impl<'a> Answer<'a> {
    fn new(y: Target<'a>) -> Self {
        let numbers = match y {
            Target::Labels { classes, .. } => classes.iter().map(|class| class.parse().ok()).collect(),
            Target::Values { .. } => Vec::new(),
        };
        Self { y, numbers }
    }

    /// Whether the cell of row `i` is its target.
    fn is(&self, i: usize, cell: f32, holds: Option<&ColumnType>) -> bool {
        match (self.y, holds) {
            (Target::Labels { codes, classes }, Some(ColumnType::Category { levels })) => {
                cell >= 0.0 && levels.get(cell as usize) == Some(&classes[codes[i] as usize])
            }
            (Target::Labels { codes, .. }, _) => self.numbers[codes[i] as usize] == Some(cell),
            (Target::Values { .. }, Some(ColumnType::Category { .. })) => false,
            (Target::Values { values, outputs }, _) => outputs == 1 && values[i] as f32 == cell,
        }
    }
}

fn listed(names: &[String]) -> String {
    let shown = names[..names.len().min(LISTED)].join(", ");
    if names.len() > LISTED { format!("{shown} and {} more", names.len() - LISTED) } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;

    #[test]
    fn columns_that_give_the_target_away_and_copies_are_named() {
        let x: Vec<f32> = (0..40).flat_map(|i| [i as f32, (i * i) as f32, i as f32, 7.0, 7.0]).collect();
        let y: Vec<f64> = (0..40).map(|i| f64::from(i * i)).collect();
        let target = Target::Values { values: &y, outputs: 1 };
        let data = Data::new(Matrix::new(&x, 40, 5).expect("shape"), target);
        let rows: Vec<usize> = (0..40).collect();
        let found = suspicions(&data, &rows);
        assert_eq!(
            found,
            [
                "column 'x2' equals the target in every row; is it known beforehand?",
                "a copy of a column shares its importance: 'x3' is one of 'x1'",
            ]
        );
    }

    #[test]
    fn rare_classes_are_named() {
        let classes = ["a", "b", "c"].map(String::from);
        let codes: Vec<u32> = (0..2000).map(|i| if i < 4 { 1 } else { u32::from(i == 4) * 2 }).collect();
        let levels = classes.to_vec();
        let x: Vec<f32> = codes.iter().map(|&c| c as f32).collect();
        let types = [ColumnType::Category { levels }];
        let data = Data {
            types: Some(&types),
            ..Data::new(
                Matrix::new(&x, 2000, 1).expect("shape"),
                Target::Labels { codes: &codes, classes: &classes },
            )
        };
        let found = suspicions(&data, &(0..2000).collect::<Vec<_>>());
        assert_eq!(found[0], "classes 'b' (4 rows), 'c' (1 row) have too few rows to be learned");
        assert!(found[1].starts_with("1,995 of 2,000 rows are of class 'a'"), "{found:?}");
        assert_eq!(found[2], "column 'x1' equals the target in every row; is it known beforehand?");
    }
}
