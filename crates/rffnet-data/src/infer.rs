//! The type of a column, decided from all of its cells.

use std::collections::HashMap;

use rffnet::ColumnType;
use rffnet::text::{count, plural};

use crate::amounts::{self, Mark};
use crate::cell::{At, Cell, Fault, classify};
use crate::collector::Declared;
use crate::column::number_text;
use crate::dates::{self, Order};
use crate::error::shown;
use crate::facts::Facts;
use crate::layout::Asked;
use crate::report::ColumnKind;
use crate::words;

/// What becomes of a column.
#[derive(Debug, Default)]
pub(crate) struct Decision {
    pub(crate) kind: Option<ColumnKind>,
    /// `None` leaves the column out.
    pub(crate) column_type: Option<ColumnType>,
    /// The value of each text, by its code; NaN for a gap.
    pub(crate) values: Vec<f32>,
    /// The values of numbers, by their bits, where numbers are levels; numbers are themselves where there are none.
    pub(crate) numbers: Option<HashMap<u32, f32>>,
    /// Gaps, those in words included.
    pub(crate) gaps: usize,
    pub(crate) notes: Vec<String>,
}

/// Why a column cannot be read.
#[derive(Debug)]
pub(crate) struct ColumnFault {
    pub(crate) at: Option<At>,
    /// What stands in the first such cell.
    pub(crate) cell: String,
    pub(crate) fault: Fault,
    /// What the column is otherwise.
    pub(crate) expected: &'static str,
    pub(crate) cells: usize,
}

/// From this many rows on, all different texts are ids rather than levels that happen to differ.
const IDS_FROM: usize = 20;
/// A few whole numbers among texts are levels like them.
const FEW: usize = 20;

type Decided = Result<Decision, ColumnFault>;

/// What a text is when it stands alone.
#[derive(Clone, Copy, PartialEq)]
enum Entry {
    /// A word that may be a gap.
    Word,
    Number(f32),
    Beyond(Fault),
    Text,
}

fn entry(text: &str) -> Entry {
    match classify(text) {
        Cell::Number(v) if (v as f32).is_finite() => Entry::Number(text.parse().unwrap_or(v as f32)),
        Cell::Number(_) => Entry::Beyond(Fault::TooLarge),
        Cell::Unusable(Fault::Missing) => Entry::Word,
        Cell::Unusable(fault) => Entry::Beyond(fault),
        Cell::Text(_) => Entry::Text,
    }
}

/// Decides what an input column is, with nothing but its cells to go by, or with what a user said about it.
pub(crate) fn decide(facts: &Facts<'_>, asked: Option<Asked>) -> Decided {
    match asked {
        Some(Asked::Categorical) => categorical(facts),
        Some(Asked::Numeric) => Ok(numeric(facts)),
        Some(Asked::Date) => Ok(date(facts)),
        None => found(facts),
    }
}

/// Reads an input column as the type that a model's column has; what cannot be read is a gap if that was asked for.
pub(crate) fn read_as(facts: &Facts<'_>, of: &ColumnType, asked: Option<Asked>) -> Decided {
    let column = Column::new(facts);
    let kind = column.declared_kind();
    let gaps_for_rest = |kind, what, value: &dyn Fn(&str) -> Option<f32>| {
        let values = facts.entries().map(|(_, text)| value(text).unwrap_or(f32::NAN)).collect();
        Ok(on_request(&column, values, kind, of.clone(), what))
    };
    match of {
        ColumnType::Number | ColumnType::DecimalComma => {
            let comma = *of == ColumnType::DecimalComma;
            let (mark, usual) = if comma {
                (Mark::Comma, ColumnKind::DecimalComma)
            } else {
                (Mark::Point, ColumnKind::Number)
            };
            let kind = kind.unwrap_or(usual);
            match asked {
                Some(Asked::Numeric) => gaps_for_rest(kind, "a number", &|text| number_in(text, mark)),
                _ => column.written(kind, mark),
            }
        }
        ColumnType::Boolean => {
            let value = |text: &str| match entry(text) {
                Entry::Number(v) if v == 0.0 || v == 1.0 => Some(v),
                _ => words::boolean(text).map(|(_, value)| f32::from(u8::from(value))),
            };
            column.each(ColumnKind::Boolean, ColumnType::Boolean, "booleans", value)
        }
        ColumnType::Date { day_first } => {
            let order = Order::new(*day_first);
            let value = |text: &str| {
                dates::parse(text, order).or_else(|| dates::parse_digits(text)).map(|v| v as f32)
            };
            match asked {
                Some(Asked::Date) => gaps_for_rest(ColumnKind::Date, "a date", &value),
                _ => column.each(ColumnKind::Date, of.clone(), "dates", value),
            }
        }
        ColumnType::Category { levels } => Ok(known_levels(facts, levels)),
    }
}

/// The number in a text whose fraction begins with `mark`. With a comma, a point sets thousands apart.
fn number_in(text: &str, mark: Mark) -> Option<f32> {
    let amount = amounts::parse(text, mark).map(|amount| amount.value as f32).filter(|v| v.is_finite());
    match entry(text) {
        Entry::Number(v) if mark == Mark::Point => Some(v),
        Entry::Number(v) => amount.or(Some(v)),
        _ => amount,
    }
}

/// A column, its texts sorted by what they are.
struct Column<'a> {
    facts: &'a Facts<'a>,
    entries: Vec<Entry>,
    /// Numbers, whether they are kept as such or as texts.
    numbers: usize,
    /// Cells that hold a text that is neither a number nor a word for a gap.
    texts: usize,
    /// Cells that hold a word that may be a gap.
    words: usize,
}

impl<'a> Column<'a> {
    fn new(facts: &'a Facts<'a>) -> Self {
        let entries: Vec<Entry> = facts.entries().map(|(_, text)| entry(text)).collect();
        let cells = |wanted: fn(&Entry) -> bool| {
            let codes = entries.iter().enumerate().filter(|(_, entry)| wanted(entry));
            codes.map(|(code, _)| facts.count(code)).sum::<usize>()
        };
        Column {
            numbers: facts.counts.numbers + cells(|e| matches!(e, Entry::Number(_))),
            texts: cells(|e| matches!(e, Entry::Text | Entry::Beyond(_))) + facts.counts.no_room,
            words: cells(|e| *e == Entry::Word),
            entries,
            facts,
        }
    }

    fn declared_kind(&self) -> Option<ColumnKind> {
        self.facts.declared.map(|declared| match declared {
            Declared::Boolean => ColumnKind::Boolean,
            Declared::Date(_) => ColumnKind::Date,
            Declared::Amount(kind, _) => kind,
        })
    }

    /// The texts that are neither numbers nor words for gaps.
    fn texts(&self) -> impl Iterator<Item = &str> + Clone {
        self.facts.entries().filter(|(code, _)| self.entries[*code] == Entry::Text).map(|(_, text)| text)
    }

    fn date_order(&self) -> Option<(Order, bool)> {
        dates::writing(self.texts())
            .filter(|_| self.facts.counts.no_room == 0)
            .map(|w| (w.order, w.ambiguous))
    }

    /// The column with a value for every text, by `value`; words are gaps, and a text without a value is a fault.
    fn each(
        &self,
        kind: ColumnKind,
        of: ColumnType,
        expected: &'static str,
        value: impl Fn(&str) -> Option<f32>,
    ) -> Decided {
        let mut values = vec![f32::NAN; self.entries.len()];
        let mut faults = Vec::new();
        for (code, text) in self.facts.entries() {
            match value(text) {
                Some(v) => values[code] = v,
                None if self.entries[code] == Entry::Word => {}
                None => faults.push(code),
            }
        }
        if !faults.is_empty() || self.facts.counts.no_room > 0 {
            return Err(self.fault(&faults, expected));
        }
        let gaps = self.facts.odd.gaps + self.words;
        Ok(Decision { kind: Some(kind), column_type: Some(of), values, gaps, ..Decision::default() })
    }

    /// A column of numbers: each text must be one.
    fn numbers(&self, kind: ColumnKind, expected: &'static str) -> Decided {
        let value = |text: &str| match entry(text) {
            Entry::Number(v) => Some(v),
            _ => None,
        };
        self.each(kind, ColumnType::Number, expected, value)
    }

    /// A column of numbers whose texts are all numbers of one writing. Whole numbers among decimal commas are like them;
    /// fractions with a point are not, and percents are not mixed with other numbers.
    fn amounts(&self) -> Option<Decided> {
        if self.facts.counts.no_room > 0 {
            return None;
        }
        let writing = amounts::writing(self.texts())?;
        let fits = match self.declared_kind() {
            Some(kind) => kind == writing.kind || (kind != ColumnKind::Percent && !writing.percent),
            None if self.numbers == 0 => true,
            None if writing.percent => false,
            None if writing.mark == Mark::Comma => {
                self.facts.counts.distinct.few_whole(usize::MAX).is_some()
                    && self.entries.iter().all(|entry| !matches!(entry, Entry::Number(v) if v.fract() != 0.0))
            }
            None => true,
        };
        let kind = self.declared_kind().unwrap_or(writing.kind);
        fits.then(|| {
            let mut decided = self.written(kind, writing.mark)?;
            if writing.is_open() {
                decided.notes.push(format!(
                    "the commas of column '{}' are taken for those between thousands, which its numbers leave open",
                    shown(self.facts.name)
                ));
            }
            Ok(decided)
        })
    }

    /// A column of numbers whose fractions begin with `mark`.
    fn written(&self, kind: ColumnKind, mark: Mark) -> Decided {
        self.each(kind, mark.column_type(), "numbers", |text| number_in(text, mark))
    }

    fn fault(&self, codes: &[usize], expected: &'static str) -> ColumnFault {
        let (cells, first) = self.facts.first_of(codes);
        let (at, text) = first.map_or((None, ""), |(at, text)| (Some(at), text));
        let fault = match classify(text) {
            Cell::Unusable(fault) => fault,
            Cell::Number(_) if expected == "numbers" => Fault::TooLarge,
            Cell::Number(_) => Fault::Text,
            Cell::Text(_) => Fault::Text,
        };
        ColumnFault { at, cell: text.to_string(), fault, expected, cells: cells + self.facts.counts.no_room }
    }

    /// A category: texts, and numbers by how they are written. A word for a gap is a level if it is common.
    fn category(&self) -> Decision {
        let facts = self.facts;
        let common = |code: usize| facts.count(code) >= 2 && 100 * facts.count(code) >= facts.rows;
        let is_gap = |code: usize| self.entries[code] == Entry::Word && !common(code);
        let numbers: Vec<f64> = facts.counts.distinct.few_whole(FEW).unwrap_or_default().to_vec();
        let mut levels: Vec<String> =
            facts.entries().filter(|(code, _)| !is_gap(*code)).map(|(_, text)| text.to_string()).collect();
        levels.extend(numbers.iter().map(|&v| number_text(v)));
        levels.sort_unstable();
        levels.dedup();
        let place = |text: &str| {
            levels.binary_search_by(|level| level.as_str().cmp(text)).map_or(f32::NAN, |i| i as f32)
        };
        let values =
            facts.entries().map(|(code, text)| if is_gap(code) { f32::NAN } else { place(text) }).collect();
        let gap_cells: usize =
            facts.entries().filter(|(code, _)| is_gap(*code)).map(|(code, _)| facts.count(code)).sum();
        let as_levels =
            facts.entries().filter(|(code, _)| self.entries[*code] == Entry::Word && !is_gap(*code));
        let notes = as_levels.map(|(code, text)| {
            format!(
                "column '{}' holds '{}' in {}, which is a level of its own",
                shown(facts.name),
                shown(text),
                plural(facts.count(code), "row")
            )
        });
        Decision {
            kind: Some(ColumnKind::Category),
            notes: notes.collect(),
            gaps: facts.odd.gaps + gap_cells,
            values,
            numbers: Some(numbers.iter().flat_map(|&v| level_bits(v, place(&number_text(v)))).collect()),
            column_type: Some(ColumnType::Category { levels }),
        }
    }

    fn left_out(&self, kind: ColumnKind, why: &str) -> Decision {
        let note = format!("column '{}' {why} and is left out", shown(self.facts.name));
        let gaps = self.facts.odd.gaps + self.words;
        Decision { kind: Some(kind), gaps, notes: vec![note], ..Decision::default() }
    }
}

/// The bits of a whole number as a cell may have them, with the level that it is.
fn level_bits(value: f64, level: f32) -> Vec<(u32, f32)> {
    let narrow = value as f32;
    let zero = (narrow == 0.0).then_some(((-0.0_f32).to_bits(), level));
    [(narrow.to_bits(), level)].into_iter().chain(zero).collect()
}

fn found(facts: &Facts<'_>) -> Decided {
    let column = Column::new(facts);
    let cells = column.numbers + column.texts;
    if let Some(declared) = facts.declared {
        return match declared {
            Declared::Boolean => column.each(ColumnKind::Boolean, ColumnType::Boolean, "booleans", |_| None),
            Declared::Date(order) => {
                let value = |text: &str| dates::parse(text, order).map(|v| v as f32);
                column.each(ColumnKind::Date, order.column_type(), "dates", value)
            }
            Declared::Amount(kind, mark) => column.written(kind, mark),
        };
    }
    if column.texts == 0 {
        // Nothing but gaps is a column of numbers, all of them absent.
        let kind = if column.numbers == 0 { ColumnKind::Constant } else { ColumnKind::Number };
        return column.numbers(kind, "numbers");
    }
    if let Some(amounts) = column.amounts() {
        return amounts;
    }
    if column.numbers > 0 {
        return mixed(&column, cells);
    }
    texts(&column)
}

/// Numbers and texts in one column.
fn mixed(column: &Column<'_>, cells: usize) -> Decided {
    let facts = column.facts;
    let written = column.entries.iter().filter_map(|entry| match entry {
        Entry::Number(v) => Some(f64::from(*v)),
        _ => None,
    });
    let mut distinct = facts.counts.distinct.clone();
    written.for_each(|v| distinct.add(v));
    let few = distinct.few_whole(FEW).is_some() && column.texts().count() <= FEW;
    let enough = column.texts >= 2 && 100 * column.texts >= facts.rows;
    let beyond = column.entries.iter().any(|entry| matches!(entry, Entry::Beyond(_)));
    let mostly_text = 2 * column.texts > cells;
    // Levels need every number in writing; numbers beyond the few were not kept in writing.
    let writable = facts.counts.distinct.few_whole(FEW).is_some();
    if writable && few && enough && !beyond && facts.counts.no_room == 0 {
        return Ok(column.category());
    }
    // Measurements among texts (`<0.1`) are no levels.
    let fraction = |code: usize| matches!(column.entries[code], Entry::Number(v) if v.fract() != 0.0);
    let fractions: usize = (0..column.entries.len()).filter(|&c| fraction(c)).map(|c| facts.count(c)).sum();
    if writable && mostly_text && 10 * fractions < cells {
        return texts(column);
    }
    column.numbers(ColumnKind::Number, "numbers")
}

/// A column of texts, in which a few numbers are texts like the others.
fn texts(column: &Column<'_>) -> Decided {
    let facts = column.facts;
    let distinct = column.texts().count();
    if facts.counts.no_room == 0 && column.numbers == 0 {
        if let Some(boolean) = boolean(column) {
            return boolean;
        }
        if let Some((order, ambiguous)) = column.date_order() {
            let value = |text: &str| dates::parse(text, order).map(|v| v as f32);
            let mut decided = column.each(ColumnKind::Date, order.column_type(), "dates", value)?;
            if ambiguous {
                let first = if order == Order::MonthFirst { "month" } else { "day" };
                decided.notes.push(format!(
                    "the dates of column '{}' are read with the {first} first, which they leave open",
                    shown(facts.name)
                ));
            }
            return Ok(decided);
        }
        if let Some(code) = column.entries.iter().position(|entry| matches!(entry, Entry::Beyond(_))) {
            // `inf` among texts is a text, and so it is alone.
            if column.entries.iter().all(|entry| matches!(entry, Entry::Beyond(_) | Entry::Word)) {
                return Err(column.fault(&[code], "numbers"));
            }
        }
    }
    if let Some(fault) = odd_among_others(column) {
        return Err(fault);
    }
    let words = || {
        let texts = facts.entries().filter(|(code, _)| column.entries[*code] != Entry::Word);
        texts.map(|(code, text)| facts.count(code) * text.split_whitespace().count()).sum::<usize>()
    };
    let known = column.texts - facts.counts.no_room;
    let sentences = words() >= 3 * known;
    let many = facts.rows >= IDS_FROM;
    Ok(if facts.counts.no_room > 0 || (many && 2 * distinct > column.texts && sentences) {
        match sentences {
            true => column.left_out(ColumnKind::Text, "holds free text"),
            false => column.left_out(ColumnKind::Id, "holds more than a million different texts"),
        }
    } else if many && distinct == column.texts {
        column.left_out(ColumnKind::Id, "holds a different text in every row")
    } else if distinct == 1 && facts.odd.gaps == 0 && column.words == 0 && facts.rows > 1 {
        column.left_out(ColumnKind::Constant, "holds the same text in every row")
    } else {
        column.category()
    })
}

/// The fault of a column that is mostly dates or amounts, with a few other texts among them.
fn odd_among_others(column: &Column<'_>) -> Option<ColumnFault> {
    let facts = column.facts;
    let texts = facts.entries().filter(|(code, _)| column.entries[*code] == Entry::Text);
    let weighted = texts.clone().map(|(code, text)| (text, facts.count(code)));
    let others = |is_one: &dyn Fn(&str) -> bool| -> Vec<usize> {
        texts.clone().filter(|(_, text)| !is_one(text)).map(|(code, _)| code).collect()
    };
    if let Some(writing) = dates::usual_writing(weighted.clone()) {
        return Some(column.fault(&others(&|text| dates::parse(text, writing.order).is_some()), "dates"));
    }
    let writing = amounts::usual_writing(weighted)?;
    Some(column.fault(&others(&|text| writing.value(text).is_some()), "numbers"))
}

/// A column of booleans, if all texts belong to one pair.
fn boolean(column: &Column<'_>) -> Option<Decided> {
    let mut pairs = column.texts().map(|text| words::boolean(text).map(|(pair, _)| pair));
    let first = pairs.next()??;
    if !pairs.all(|pair| pair == Some(first)) {
        return None;
    }
    let value = |text: &str| words::boolean(text).map(|(_, value)| f32::from(u8::from(value)));
    Some(column.each(ColumnKind::Boolean, ColumnType::Boolean, "booleans", value))
}

/// A category on request. Numbers were read as texts, so that every level is written as it is in the file.
fn categorical(facts: &Facts<'_>) -> Decided {
    let column = Column::new(facts);
    if facts.counts.no_room > 0 {
        return Err(column.fault(&[], "a category"));
    }
    Ok(column.category())
}

/// A column of numbers on request: whatever else there is counts as a gap.
fn numeric(facts: &Facts<'_>) -> Decision {
    let column = Column::new(facts);
    let mark = amounts::writing(column.texts().filter(|text| {
        amounts::parse(text, Mark::Point).is_some() || amounts::parse(text, Mark::Comma).is_some()
    }));
    let mark = mark.map_or(Mark::Point, |writing| writing.mark);
    let value = |code: usize, text: &str| match column.entries[code] {
        Entry::Number(v) => v,
        Entry::Text => amounts::parse(text, mark).map_or(f32::NAN, |amount| amount.value as f32),
        Entry::Word | Entry::Beyond(_) => f32::NAN,
    };
    let finite = |v: f32| if v.is_finite() { v } else { f32::NAN };
    let values = facts.entries().map(|(code, text)| finite(value(code, text))).collect();
    on_request(&column, values, ColumnKind::Number, mark.column_type(), "a number")
}

/// A column of dates on request.
fn date(facts: &Facts<'_>) -> Decision {
    let column = Column::new(facts);
    let readable = |text: &&str| {
        dates::parse(text, Order::MonthFirst).is_some() || dates::parse(text, Order::DayFirst).is_some()
    };
    let order = dates::writing(column.texts().filter(readable)).map_or(Order::MonthFirst, |w| w.order);
    let value = |text: &str| {
        dates::parse(text, order).or_else(|| dates::parse_digits(text)).map_or(f32::NAN, |v| v as f32)
    };
    let values = facts.entries().map(|(_, text)| value(text)).collect();
    on_request(&column, values, ColumnKind::Date, order.column_type(), "a date")
}

fn on_request(
    column: &Column<'_>,
    values: Vec<f32>,
    kind: ColumnKind,
    of: ColumnType,
    what: &str,
) -> Decision {
    let facts = column.facts;
    let lost = |(code, _): &(usize, &str)| values[*code].is_nan() && column.entries[*code] != Entry::Word;
    let odd: usize = facts.entries().filter(lost).map(|(code, _)| facts.count(code)).sum();
    let odd = odd + facts.counts.no_room;
    let note = format!(
        "{} of column '{}' {} not {what} and {} as {}",
        plural(odd, "cell"),
        shown(facts.name),
        if odd == 1 { "is" } else { "are" },
        if odd == 1 { "counts" } else { "count" },
        if odd == 1 { "a gap" } else { "gaps" },
    );
    Decision {
        kind: Some(kind),
        column_type: Some(of),
        gaps: facts.odd.gaps + column.words + odd,
        values,
        notes: if odd > 0 { vec![note] } else { Vec::new() },
        numbers: None,
    }
}

/// The cells of a category by the levels of a model. A text that is none of them may still be the same number as one.
fn known_levels(facts: &Facts<'_>, levels: &[String]) -> Decision {
    let places: HashMap<&str, usize> =
        levels.iter().enumerate().map(|(i, level)| (level.as_str(), i)).collect();
    let numbers: Vec<(f64, usize)> =
        levels.iter().enumerate().filter_map(|(i, level)| Some((level.trim().parse().ok()?, i))).collect();
    let equal = |value: f64| numbers.iter().find(|(number, _)| *number == value).map(|(_, i)| *i);
    let mut gaps = facts.odd.gaps;
    let mut value = |code: usize, text: &str| match places.get(text).copied() {
        Some(i) => i as f32,
        None if words::may_be_gap(text) => {
            gaps += facts.count(code);
            f32::NAN
        }
        None => text.parse().ok().and_then(equal).map_or(rffnet::UNKNOWN_LEVEL, |i| i as f32),
    };
    let values = facts.entries().map(|(code, text)| value(code, text)).collect();
    let few = facts.counts.distinct.few_whole(usize::MAX).unwrap_or_default();
    let level = |v: f64| equal(v).map_or(rffnet::UNKNOWN_LEVEL, |i| i as f32);
    Decision {
        kind: Some(ColumnKind::Category),
        column_type: Some(ColumnType::Category { levels: levels.to_vec() }),
        values,
        numbers: Some(few.iter().flat_map(|&v| level_bits(v, level(v))).collect()),
        gaps,
        notes: Vec::new(),
    }
}

impl ColumnFault {
    /// `2 such cells of 100`.
    pub(crate) fn extent(&self, rows: usize) -> String {
        format!("{} of {}", count(self.cells), plural(rows, "cell"))
    }
}
