//! JSON lines: one object a line, its keys are the columns.
//!
//! Lines are cut into blocks, and blocks are parsed in parallel. The columns are the keys of the first block in the order
//! in which they come up; a key that comes up later is an error, an absent one is a gap.

mod line;

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;
use rffnet::text::count;

use crate::MAX_COLUMNS;
use crate::block::Block;
use crate::cell::{self, At, Cell, Fault, Use, fault_error};
use crate::collector::Collector;
use crate::column::number_text;
use crate::error::{DataError, shown};
use crate::input::Input;
use crate::layout::{Layout, Role};
use crate::options::ReadOptions;
use crate::packed::{Packed, PackedWide};

use line::{Scalar, each_pair};

/// The bytes of a block, up to the end of its last line.
const BLOCK_BYTES: usize = 1 << 20;
/// No row is longer; a file without line ends is something else.
const LONGEST_LINE: usize = 64 << 20;

/// Reads all rows of `input` into `collector`.
pub(crate) fn read(input: Input<'_>, collector: &mut Collector<'_>) -> Result<(), DataError> {
    read_blocks(input, collector, BLOCK_BYTES)
}

fn read_blocks(mut input: Input<'_>, collector: &mut Collector<'_>, size: usize) -> Result<(), DataError> {
    let source = input.source().to_string();
    input.expect_text()?;
    let mut lines = Lines { input, rest: Vec::new(), size };
    let mut texts = vec![lines.next()?];
    let keys = find_keys(&texts[0]).map_err(|fault| fault.error(&source, 0, 0))?;
    if keys.is_empty() {
        return Err(DataError::format(format!(
            "{source}: there is no row; give a file with one JSON object a line"
        )));
    }
    let layout = collector.begin(&source, keys, true)?;
    let parser = Parser::new(&layout, collector.options);
    let (mut rows_before, mut lines_before) = (0, 0);
    while texts.last().is_some_and(|text| !text.is_empty()) {
        while texts.len() < 2 * rayon::current_num_threads() {
            let text = lines.next()?;
            if text.is_empty() {
                break;
            }
            texts.push(text);
        }
        let blocks: Vec<_> = texts.par_iter().map(|text| parser.parse(text)).collect();
        for block in blocks {
            let block = block.map_err(|fault| fault.error(&source, rows_before, lines_before))?;
            rows_before += block.rows as u64;
            lines_before += block.lines;
            collector.push(block)?;
        }
        texts.clear();
        texts.push(lines.next()?);
    }
    Ok(())
}

/// Cuts the input into blocks of whole lines.
struct Lines<'a> {
    input: Input<'a>,
    /// The beginning of a line whose end is still to come.
    rest: Vec<u8>,
    size: usize,
}

impl Lines<'_> {
    /// The next lines; empty at the end of the file.
    fn next(&mut self) -> Result<Vec<u8>, DataError> {
        let mut text = std::mem::take(&mut self.rest);
        loop {
            let fresh = text.len();
            let wanted = self.size.max(fresh);
            if self.input.append(wanted, &mut text)? < wanted {
                return Ok(text);
            }
            if let Some(end) = text[fresh..].iter().rposition(|&b| b == b'\n') {
                self.rest = text.split_off(fresh + end + 1);
                return Ok(text);
            }
            if text.len() > LONGEST_LINE {
                return Err(DataError::format(format!(
                    "{}: a line is longer than {} MB; write one JSON object a line",
                    self.input.source(),
                    LONGEST_LINE >> 20
                )));
            }
        }
    }
}

/// What is wrong in a block, and where: lines and rows count from its start.
struct LineFault {
    line: u64,
    kind: FaultKind,
}

enum FaultKind {
    /// The end of a sentence that begins with the file and the line.
    Line(String),
    /// A value that cannot be used.
    Cell { row: u64, column: String, written: String, fault: Fault, used: Use },
}

impl LineFault {
    fn error(self, source: &str, rows_before: u64, lines_before: u64) -> DataError {
        let line = lines_before + self.line;
        match self.kind {
            FaultKind::Line(what) => DataError::format(format!("{source}: line {} {what}", count(line))),
            FaultKind::Cell { row, column, written, fault, used } => {
                let at = At { row: rows_before + row, line: Some(line) };
                fault_error(source, at, &column, &written, fault, used)
            }
        }
    }
}

/// The keys of a block in the order in which they come up.
fn find_keys(text: &[u8]) -> Result<Vec<String>, LineFault> {
    let mut keys = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for (i, line) in text.split(|&b| b == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let mut too_many = false;
        let found = each_pair(line, |key, _| {
            if keys.len() < MAX_COLUMNS && !seen.contains(key) {
                seen.insert(key.to_string());
                keys.push(key.to_string());
            }
            too_many |= keys.len() == MAX_COLUMNS;
            Ok(())
        });
        let line = i as u64 + 1;
        found.map_err(|what| LineFault { line, kind: FaultKind::Line(what) })?;
        if too_many {
            let what = format!("brings the keys to {} or more, too many for a table", count(MAX_COLUMNS));
            return Err(LineFault { line, kind: FaultKind::Line(what) });
        }
    }
    Ok(keys)
}

/// Parses blocks, on any thread.
struct Parser {
    layout: Arc<Layout>,
    columns: HashMap<String, usize>,
    /// The columns of the file that are inputs, in the order of the table.
    inputs: Vec<usize>,
    /// Whether each input is a category.
    categories: Vec<bool>,
}

impl Parser {
    fn new(layout: &Arc<Layout>, options: &ReadOptions) -> Self {
        let columns = layout.names.iter().enumerate().map(|(i, name)| (name.clone(), i)).collect();
        let mut inputs = vec![0; layout.inputs.len()];
        for (i, role) in layout.roles.iter().enumerate() {
            if let Role::Input(k) = *role {
                inputs[k] = i;
            }
        }
        let categories = inputs.iter().map(|&i| layout.is_category(i, options)).collect();
        Parser { layout: layout.clone(), columns, inputs, categories }
    }

    fn parse(&self, text: &[u8]) -> Result<Block, LineFault> {
        let mut block = Block::new(self.layout.shape());
        let mut row = vec![Scalar::Gap; self.layout.names.len()];
        for line in text.split_inclusive(|&b| b == b'\n') {
            block.lines += 1;
            if line.trim_ascii().is_empty() {
                continue;
            }
            row.fill(Scalar::Gap);
            let mut next = 0;
            let parsed = each_pair(line, |key, value| {
                // Rows mostly have the same keys in the same order.
                let column = match self.layout.names.get(next) {
                    Some(name) if name == key => next,
                    _ => *self.columns.get(key).ok_or_else(|| {
                        let key = shown(key);
                        format!("has the key '{key}', which no earlier row has; put it into the first row, null if need be")
                    })?,
                };
                next = column + 1;
                row[column] = value;
                Ok(())
            });
            let line = block.lines;
            parsed.map_err(|what| LineFault { line, kind: FaultKind::Line(what) })?;
            let at = At { row: block.rows as u64 + 1, line: Some(line) };
            self.push(&mut block, &row, at)?;
        }
        Ok(block)
    }

    fn push(&self, block: &mut Block, row: &[Scalar], at: At) -> Result<(), LineFault> {
        for (k, &column) in self.inputs.iter().enumerate() {
            let cell = match &row[column] {
                Scalar::Gap => block.gap(k, "null", at),
                Scalar::Text(text) => block.text(k, text, at),
                Scalar::Boolean(value) => block.text(k, truth(*value), at),
                number @ (Scalar::Whole(_) | Scalar::Number(_)) if self.categories[k] => {
                    block.text(k, &number.to_string(), at)
                }
                Scalar::Whole(value) => Packed::number(*value as f32),
                Scalar::Number(value) => {
                    let narrow = cell::input_number(*value);
                    let fault = |fault| self.fault(at, column, &number_text(*value), fault, Use::Input);
                    Packed::number(narrow.map_err(fault)?)
                }
            };
            block.cells.push(cell);
        }
        if let Some(column) = self.layout.target {
            let cell = match &row[column] {
                Scalar::Gap => block.target_gap("null", at),
                Scalar::Text(text) => block.target_text(text, at),
                Scalar::Boolean(value) => block.target_text(truth(*value), at),
                Scalar::Whole(value) => PackedWide::number(*value as f64),
                Scalar::Number(value) => PackedWide::number(*value),
            };
            block.target.push(cell);
        }
        if let Some(column) = self.layout.weight {
            let cell = match &row[column] {
                Scalar::Gap => Cell::Unusable(Fault::Missing),
                Scalar::Text(text) => cell::classify(text),
                Scalar::Boolean(value) => Cell::Text(truth(*value)),
                Scalar::Whole(value) => Cell::Number(*value as f64),
                Scalar::Number(value) => Cell::Number(*value),
            };
            let fault = |fault| self.fault(at, column, &row[column].to_string(), fault, Use::Weight);
            block.weight.push(cell::weight(cell).map_err(fault)?);
        }
        for (column, place) in self.layout.kept.iter().enumerate() {
            if let Some(texts) = place.and_then(|place| block.kept.get_mut(place)) {
                texts.push(row[column].to_string());
            }
        }
        block.rows += 1;
        Ok(())
    }

    fn fault(&self, at: At, column: usize, written: &str, fault: Fault, used: Use) -> LineFault {
        let (column, written) = (self.layout.names[column].clone(), written.to_string());
        LineFault {
            line: at.line.unwrap_or(0),
            kind: FaultKind::Cell { row: at.row, column, written, fault, used },
        }
    }
}

fn truth(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}
