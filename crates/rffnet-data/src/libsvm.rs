//! LIBSVM: `label index:value index:value ...`, one row per line, indices from 1 and ascending, zeros left
//! out.
//!
//! The width is known only at the end, so rows are kept sparse while reading and made dense afterwards.

use rffnet::text::{count, plural};

use crate::MAX_COLUMNS;
use crate::block::Block;
use crate::cell::{self, At, Fault, Use, classify, fault_error};
use crate::collector::Collector;
use crate::csv::not_utf8;
use crate::error::{DataError, shown};
use crate::input::Input;
use crate::layout::{Layout, Role, resolve};
use crate::options::{ColumnRef, ReadOptions, Select};

/// No line of this format is longer: a million columns of 64 characters.
const MAX_LINE: usize = 64 << 20;

/// Rows are handed on this many cells at a time.
const CELLS: usize = 1 << 18;

/// What the label's column is called.
const LABEL: &str = "label";

/// Reads all rows of `input` into `collector`.
pub(crate) fn read(mut input: Input<'_>, collector: &mut Collector<'_>) -> Result<(), DataError> {
    let options = collector.options;
    let source = input.source().to_string();
    refuse_other_target(&source, options)?;
    options.refuse_types(&source, "LIBSVM")?;
    if !options.keep.is_empty() {
        return Err(DataError::request(format!(
            "{source}: LIBSVM files hold no text to keep; leave out --keep"
        )));
    }
    input.expect_text()?;
    let mut rows = SparseRows::default();
    let mut line = Vec::new();
    let mut number = 0;
    while next_line(&mut input, &mut line, number + 1)? {
        number += 1;
        let text = std::str::from_utf8(&line).map_err(|_| not_utf8(&source, number))?;
        parse_line(text, number, &source, options.missing, &mut rows)?;
    }
    if rows.labels.is_empty() {
        return Err(DataError::format(format!(
            "{source}: the file has no rows; give lines of the form 'label 1:0.5 7:2'"
        )));
    }
    let width = find_width(&source, &rows, options, input.passed())?;
    let layout = find_layout(&source, width, options)?;
    let layout = collector.begin_with(&source, layout)?;
    collector.reserve(rows.labels.len())?;
    densify(&source, &rows, &layout, collector)
}

/// All rows, zeros left out.
#[derive(Default)]
struct SparseRows {
    labels: Vec<f64>,
    /// The line of each row.
    lines: Vec<u64>,
    /// Where each row ends in the two vectors below.
    ends: Vec<usize>,
    /// Counted from 1, ascending within a row.
    indices: Vec<u32>,
    values: Vec<f32>,
    /// The largest index, and the line it is on.
    largest: u32,
    largest_line: u64,
}

fn refuse_other_target(source: &str, options: &ReadOptions) -> Result<(), DataError> {
    let known = |name: &String| ["label", "target", "y"].iter().any(|word| name.eq_ignore_ascii_case(word));
    match &options.target {
        None => Ok(()),
        Some(ColumnRef::Named(name)) if known(name) => Ok(()),
        Some(other) => {
            let other = shown(&other.to_string());
            Err(DataError::column(format!(
                "{source}: in LIBSVM files the label is the target, so '{other}' cannot be; leave out --target"
            )))
        }
    }
}

/// The next line without its end into `line`; false at the end of the file.
fn next_line(input: &mut Input<'_>, line: &mut Vec<u8>, number: u64) -> Result<bool, DataError> {
    line.clear();
    let mut any = false;
    loop {
        let block = input.block()?;
        if block.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = block.iter().position(|&b| b == b'\n');
        let taken = end.unwrap_or(block.len());
        line.extend_from_slice(&block[..taken]);
        input.consume(taken + usize::from(end.is_some()));
        if end.is_some() {
            return Ok(true);
        }
        if line.len() > MAX_LINE {
            return Err(DataError::format(format!(
                "{}: line {number} is longer than {} characters; check that the file has one row per line",
                input.source(),
                count(MAX_LINE)
            )));
        }
    }
}

fn parse_line(
    text: &str,
    line: u64,
    source: &str,
    missing: bool,
    rows: &mut SparseRows,
) -> Result<(), DataError> {
    let mut words = text.split('#').next().unwrap_or_default().split_ascii_whitespace();
    let Some(label) = words.next() else { return Ok(()) };
    let at = At { row: rows.labels.len() as u64 + 1, line: Some(line) };
    rows.labels.push(parse_label(label, at, source)?);
    let mut last = 0;
    for word in words {
        let (index, value) = parse_pair(word, at, source)?;
        if index <= last {
            let what = if index == last { "occurs twice" } else { "comes after a larger one" };
            return Err(DataError::format(format!(
                "{source}: {at}: index {index} {what}; sort each line's indices and give each once"
            )));
        }
        last = index;
        let value = match cell::input(value) {
            Ok(value) => value,
            Err(Fault::Missing) if missing => f32::NAN,
            Err(fault) => return Err(fault_error(source, at, &index.to_string(), value, fault, Use::Input)),
        };
        if value != 0.0 {
            rows.indices.push(index);
            rows.values.push(value);
        }
    }
    if last > rows.largest {
        (rows.largest, rows.largest_line) = (last, line);
    }
    rows.lines.push(line);
    rows.ends.push(rows.indices.len());
    Ok(())
}

fn parse_label(label: &str, at: At, source: &str) -> Result<f64, DataError> {
    if label.contains(':') {
        return Err(DataError::format(format!(
            "{source}: {at} starts with '{}' and so has no label; put the target first, or 0 if it is unknown",
            shown(label)
        )));
    }
    classify(label).number().map_err(|fault| fault_error(source, at, LABEL, label, fault, Use::Target))
}

fn parse_pair<'a>(word: &'a str, at: At, source: &str) -> Result<(u32, &'a str), DataError> {
    let wrong = |what: &str| Err(DataError::format(format!("{source}: {at}: '{}' {what}", shown(word))));
    let Some((index, value)) = word.split_once(':') else {
        return wrong("has no colon; write each entry as index:value");
    };
    match index.parse::<u32>() {
        Ok(0) => wrong("has index 0; LIBSVM counts columns from 1, so add 1 to every index"),
        Ok(index) => Ok((index, value)),
        Err(_) if index == "qid" => {
            wrong("is a query id; ranking data are not supported, so remove the qid entries")
        }
        Err(_) if !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()) => {
            wrong("has an index beyond 4,294,967,295; renumber the columns from 1")
        }
        Err(_) => wrong("has no whole number before the colon; write each entry as index:value"),
    }
}

/// The number of columns, refused where a dense matrix would be out of proportion to the file.
fn find_width(
    source: &str,
    rows: &SparseRows,
    options: &ReadOptions,
    bytes: u64,
) -> Result<usize, DataError> {
    let largest = rows.largest as usize;
    let width = match (options.columns, &options.select) {
        (Some(0), _) => {
            return Err(DataError::column(format!("{source}: --columns is 0; it must be at least 1")));
        }
        (Some(width), _) if largest > width => {
            return Err(DataError::format(format!(
                "{source}: line {} has index {largest}, beyond the {} of --columns; raise --columns or correct \
                     the line",
                rows.largest_line,
                count(width)
            )));
        }
        (Some(width), _) => width,
        // Columns that the model does not know are ignored, and those that no row mentions are zero.
        (None, Select::Named { names, .. }) => known_columns(names).last().copied().unwrap_or(0),
        (None, Select::All) => largest,
    };
    if width == 0 {
        return Err(DataError::format(format!(
            "{source}: no line has an index:value entry, so there is no input column"
        )));
    }
    let dense = width as u128 * rows.labels.len() as u128 * 4;
    if width > MAX_COLUMNS || dense > (64 << 20) + 4096 * u128::from(bytes) {
        return Err(DataError::format(format!(
            "{source}: index {} (line {}) makes {} x {}, {} MB as a dense matrix, from a file of {} bytes; \
                 renumber the columns that occur from 1",
            count(largest),
            rows.largest_line,
            plural(rows.labels.len(), "row"),
            plural(width, "column"),
            count(dense / 1_000_000),
            count(bytes)
        )));
    }
    Ok(width)
}

/// The file's column (from 1) for each of a model's columns: their own numbers if they are ascending numbers,
/// as they are when the model was fitted on a LIBSVM file; else one after the other.
fn known_columns(names: &[String]) -> Vec<usize> {
    let numbers: Option<Vec<usize>> = names.iter().map(|name| name.parse().ok()).collect();
    match numbers {
        Some(numbers) if numbers.first() != Some(&0) && numbers.is_sorted_by(|a, b| a < b) => numbers,
        _ => (1..=names.len()).collect(),
    }
}

fn find_layout(source: &str, width: usize, options: &ReadOptions) -> Result<Layout, DataError> {
    let mut names: Vec<String> = (1..=width).map(|k| k.to_string()).collect();
    // The label comes last here, where no index can be mistaken for its position.
    names.push(LABEL.to_string());
    let mut own = ReadOptions { target: Some(ColumnRef::Position(width + 1)), ..options.clone() };
    let Select::Named { names: wanted, .. } = &options.select else {
        return resolve(source, names, false, &own);
    };
    own.select = Select::All;
    let mut layout = resolve(source, names, false, &own)?;
    for role in &mut layout.roles {
        if matches!(role, Role::Input(_)) {
            *role = Role::Skip;
        }
    }
    for (k, column) in known_columns(wanted).into_iter().enumerate() {
        match layout.roles.get_mut(column - 1) {
            Some(role @ Role::Skip) => *role = Role::Input(k),
            Some(_) => {
                return Err(DataError::column(format!(
                    "{source}: column {column} is one of the model's inputs; take it out of --weight"
                )));
            }
            // Beyond --columns: zero in every row.
            None => {}
        }
    }
    layout.inputs = wanted.clone();
    Ok(layout)
}

fn densify(
    source: &str,
    rows: &SparseRows,
    layout: &Layout,
    collector: &mut Collector<'_>,
) -> Result<(), DataError> {
    let mut block = Block::new(layout.shape());
    let mut inputs = vec![0.0; layout.inputs.len()];
    let mut start = 0;
    for (row, ((&label, &line), &end)) in rows.labels.iter().zip(&rows.lines).zip(&rows.ends).enumerate() {
        inputs.fill(0.0);
        let at = At { row: row as u64 + 1, line: Some(line) };
        let mut weight = layout.weight.map(|_| 0.0);
        for (&index, &value) in rows.indices[start..end].iter().zip(&rows.values[start..end]) {
            match layout.roles.get(index as usize - 1) {
                Some(&Role::Input(k)) => inputs[k] = value,
                Some(Role::Weight) => {
                    let error = |fault| {
                        fault_error(source, at, &index.to_string(), &value.to_string(), fault, Use::Weight)
                    };
                    weight = Some(cell::weight(f64::from(value).into()).map_err(error)?);
                }
                // The label's own place, which no index of a file reaches within the width.
                Some(Role::Target | Role::Skip) | None => {}
            }
        }
        start = end;
        let place = At { row: block.rows as u64 + 1, line: None };
        block.push_numbers(&inputs, Some(label), weight, place);
        if block.cells.len() > CELLS {
            collector.push(std::mem::replace(&mut block, Block::new(layout.shape())))?;
        }
    }
    collector.push(block)
}
