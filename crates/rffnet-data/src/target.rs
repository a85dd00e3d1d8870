//! The target, decided from all of its cells: numbers, or classes.

use rffnet::text::plural;

use crate::amounts;
use crate::block::OddCells;
use crate::cell::{Cell, Fault, classify};
use crate::column::{Column, number_text};
use crate::error::shown;
use crate::facts::{Counts, Facts};
use crate::infer::ColumnFault;
use crate::layout::Asked;
use crate::packed::{PackedWide, Unpacked};

/// Up to so many whole numbers among texts are classes like them.
const FEW: usize = 50;

/// The target and the rows that have none.
pub(crate) struct Decided {
    pub(crate) column: Column,
    /// Rows without a target, in their order. The column has some value for them.
    pub(crate) gaps: Vec<usize>,
    pub(crate) notes: Vec<String>,
}

/// What becomes of each text.
#[derive(Clone, Copy)]
enum Value {
    Gap,
    Number(f64),
    Text,
}

/// Numbers if all are; classes if texts are among few whole numbers, or are most. A few texts among many numbers are
/// mistakes. Rows without a target may be `droppable`: then every word for a gap is one.
pub(crate) fn decide(
    cells: &[PackedWide],
    odd: &OddCells,
    name: &str,
    asked: Option<Asked>,
    droppable: bool,
) -> Result<Decided, ColumnFault> {
    let mut counts = Counts::default();
    cells.iter().for_each(|cell| counts.add(cell.get()));
    let facts = Facts { name, rows: cells.len(), declared: None, odd, counts };
    let classes = asked == Some(Asked::Categorical);
    let mut values: Vec<Value> = facts.entries().map(|(_, text)| value(text)).collect();
    let beyond: Vec<usize> = facts
        .entries()
        .filter(|(_, text)| matches!(classify(text), Cell::Unusable(f) if f != Fault::Missing))
        .map(|e| e.0)
        .collect();
    if !beyond.is_empty() && asked.is_none() {
        return Err(fault(&facts, &beyond));
    }
    let texts = |values: &[Value]| -> Vec<usize> {
        (0..values.len()).filter(|&code| matches!(values[code], Value::Text)).collect()
    };
    let odd_ones = texts(&values);
    let written = amounts::writing(odd_ones.iter().map(|&code| odd.texts.get(code as u32)));
    if let Some(writing) =
        written.filter(|w| !classes && facts.counts.no_room == 0 && (!w.percent || facts.counts.numbers == 0))
    {
        for &code in &odd_ones {
            values[code] = writing.value(odd.texts.get(code as u32)).map_or(Value::Text, Value::Number);
        }
    }
    if asked == Some(Asked::Numeric) {
        texts(&values).into_iter().for_each(|code| values[code] = Value::Gap);
    }
    let left = texts(&values);
    if !classes && left.is_empty() && facts.counts.no_room == 0 {
        return Ok(numbers(cells, &values));
    }
    let (count, _) = facts.first_of(&left);
    let few = few_numbers(&facts, &values);
    if facts.counts.no_room > 0 {
        return Err(ColumnFault { at: None, ..fault(&facts, &left) });
    }
    if !(classes || few || 2 * count > cells.len()) {
        return Err(fault(&facts, &left));
    }
    let mixed = (facts.counts.numbers > 0).then(|| {
        format!(
            "the target holds numbers and texts such as '{}', and is read as classes",
            shown(odd.texts.get(left.first().map_or(0, |&c| c as u32)))
        )
    });
    let mut decided = labels(cells, &facts, droppable);
    decided.notes.extend(mixed.filter(|_| !classes));
    Ok(decided)
}

fn value(text: &str) -> Value {
    match classify(text) {
        Cell::Number(v) => Value::Number(v),
        Cell::Unusable(Fault::Missing) => Value::Gap,
        _ => Value::Text,
    }
}

fn few_numbers(facts: &Facts<'_>, values: &[Value]) -> bool {
    let mut distinct = facts.counts.distinct.clone();
    for value in values {
        if let Value::Number(v) = value {
            distinct.add(*v);
        }
    }
    distinct.few_whole(FEW).is_some()
}

fn fault(facts: &Facts<'_>, codes: &[usize]) -> ColumnFault {
    let (cells, first) = facts.first_of(codes);
    let (at, text) = first.map_or((None, ""), |(at, text)| (Some(at), text));
    let fault = match classify(text) {
        Cell::Unusable(fault) => fault,
        _ => Fault::Text,
    };
    ColumnFault {
        at,
        cell: text.to_string(),
        fault,
        expected: "numbers",
        cells: cells + facts.counts.no_room,
    }
}

fn numbers(cells: &[PackedWide], values: &[Value]) -> Decided {
    let mut gaps = Vec::new();
    let mut gap = |row: usize| {
        gaps.push(row);
        f64::NAN
    };
    let number = |(row, cell): (usize, &PackedWide)| match cell.get() {
        Unpacked::Number(v) => v,
        Unpacked::Gap => gap(row),
        Unpacked::Text(code) => match values.get(code as usize) {
            Some(Value::Number(v)) => *v,
            _ => gap(row),
        },
    };
    let column = Column::Numbers(cells.iter().enumerate().map(number).collect());
    Decided { column, gaps, notes: Vec::new() }
}

/// Classes by their texts; a word for a gap is a class if it is common and rows without a target are not to be dropped.
fn labels(cells: &[PackedWide], facts: &Facts<'_>, droppable: bool) -> Decided {
    let common = |code: usize| !droppable && facts.count(code) >= 2 && 100 * facts.count(code) >= facts.rows;
    let is_gap = |code: usize, text: &str| matches!(value(text), Value::Gap) && !common(code);
    let numbers = facts.counts.distinct.few_whole(FEW).unwrap_or_default();
    let mut others: Vec<f64> = Vec::new();
    if numbers.is_empty() && facts.counts.numbers > 0 {
        // Texts are most, and numbers of any sort are names among them.
        others.extend(cells.iter().filter_map(|cell| match cell.get() {
            Unpacked::Number(v) => Some(v + 0.0),
            _ => None,
        }));
        others.sort_unstable_by(f64::total_cmp);
        others.dedup();
    }
    let texts = facts.entries().filter(|(code, text)| !is_gap(*code, text)).map(|(_, text)| text.to_string());
    let mut levels: Vec<String> =
        texts.chain(numbers.iter().chain(&others).map(|&v| number_text(v))).collect();
    levels.sort_unstable();
    levels.dedup();
    let place = |text: &str| levels.binary_search_by(|level| level.as_str().cmp(text)).unwrap_or(0) as u32;
    let by_code: Vec<Option<u32>> =
        facts.entries().map(|(code, text)| (!is_gap(code, text)).then(|| place(text))).collect();
    let mut gaps = Vec::new();
    let mut codes = Vec::with_capacity(cells.len());
    for (row, cell) in cells.iter().enumerate() {
        let code = match cell.get() {
            Unpacked::Number(v) => Some(place(&number_text(v + 0.0))),
            Unpacked::Gap => None,
            Unpacked::Text(code) => by_code.get(code as usize).copied().flatten(),
        };
        gaps.extend(code.is_none().then_some(row));
        codes.push(code.unwrap_or(0));
    }
    let words = facts.entries().filter(|(code, text)| matches!(value(text), Value::Gap) && common(*code));
    let notes = words.map(|(code, text)| {
        format!(
            "the target holds '{}' in {}, which is taken for a class; --drop-missing-target drops such rows",
            shown(text),
            plural(facts.count(code), "row")
        )
    });
    Decided { column: Column::Text { levels, codes }, gaps, notes: notes.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Odd;
    use crate::cell::At;

    fn column(cells: &[&str]) -> Result<Column, String> {
        let mut odd = Odd::default();
        let packed: Vec<PackedWide> = (1..)
            .zip(cells)
            .map(|(row, cell)| {
                let at = At { row, line: None };
                cell.parse().map_or_else(|_| PackedWide::text(odd.text(cell, at)), PackedWide::number)
            })
            .collect();
        let decided = decide(&packed, odd.get().unwrap_or(&OddCells::default()), "y", None, false);
        decided.map(|d| d.column).map_err(|fault| format!("{:?}: {}", fault.at.map(|at| at.row), fault.cell))
    }

    fn text(levels: &[&str], codes: &[u32]) -> Result<Column, String> {
        Ok(Column::Text { levels: levels.iter().map(|l| l.to_string()).collect(), codes: codes.to_vec() })
    }

    #[test]
    fn numbers_stay_numbers() {
        assert_eq!(column(&["1", "2.5"]), Ok(Column::Numbers(vec![1.0, 2.5])));
        assert_eq!(column(&["$1,000", "$2.50"]), Ok(Column::Numbers(vec![1000.0, 2.5])));
        assert_eq!(column(&["1,5", "2"]), Ok(Column::Numbers(vec![1.5, 2.0])));
    }

    #[test]
    fn texts_are_sorted() {
        assert_eq!(column(&["b", "a", "b"]), text(&["a", "b"], &[1, 0, 1]));
    }

    #[test]
    fn numbers_among_texts_are_names() {
        assert_eq!(column(&["3.0", "3a", "3b"]), text(&["3", "3a", "3b"], &[0, 1, 2]));
        assert_eq!(column(&["1", "2", "5", "U", "1"]), text(&["1", "2", "5", "U"], &[0, 1, 2, 3, 0]));
        assert_eq!(column(&["0.5", "a", "b"]), text(&["0.5", "a", "b"], &[0, 1, 2]));
    }

    #[test]
    fn a_few_texts_among_numbers_are_mistakes() {
        assert_eq!(column(&["1.5", "2", "x", "3"]), Err("Some(3): x".into()));
    }
}
