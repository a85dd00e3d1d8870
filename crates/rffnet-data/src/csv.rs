//! CSV: records become rows of numbers.

use std::collections::HashSet;

use rffnet::text::plural;

use crate::cell::{self, At, Cell, Fault, Use, classify, decimal_comma, fault_error};
use crate::error::{DataError, shown};
use crate::input::Input;
use crate::layout::{Layout, Role, made_up_names, resolve};
use crate::names::{listed, shell};
use crate::options::{ReadOptions, Select};
use crate::records::{KeptRecord, Record, Records, not_utf8};
use crate::sink::{Row, RowSink, Value};

/// Reads all rows of `input` into `sink`.
pub(crate) fn read(
    input: Input<'_>,
    options: &ReadOptions,
    sink: &mut impl RowSink,
) -> Result<Layout, DataError> {
    let mut records = Records::new(input)?;
    let source = records.source().to_string();
    let Some(first) = records.next()?.map(KeptRecord::new) else {
        return Err(DataError::format(format!(
            "{source}: the file is empty; give a file with at least one row"
        )));
    };
    let first = first.get();
    let width = first.len();
    // The first data row is the second record if there is a header, and is needed to know whether there is
    // one.
    let second = records.next()?.map(KeptRecord::new);
    let header = options.header.unwrap_or_else(|| {
        has_names_of(&options.select, first) || is_header(first, second.as_ref().map(KeptRecord::get))
    });
    let names = if header { header_names(&source, first)? } else { made_up_names(width) };
    let layout = resolve(&source, names, header, options)?;
    sink.begin(&layout);

    let mut rows = RowReader::new(&source, &layout, options);
    let kept: Vec<Record<'_>> =
        (!header).then_some(first).into_iter().chain(second.as_ref().map(KeptRecord::get)).collect();
    for (i, &record) in kept.iter().enumerate() {
        if let Some(text) = rows.read(record, sink)? {
            return Err(text.error(&rows, &kept[i + 1..], &mut records));
        }
    }
    while let Some(record) = records.next()? {
        if let Some(text) = rows.read(record, sink)? {
            return Err(text.error(&rows, &[], &mut records));
        }
    }
    if rows.count == 0 {
        return Err(DataError::format(format!(
            "{source}: there is a header but no row under it; add rows, or pass --no-header if the first line is data"
        )));
    }
    Ok(layout)
}

/// Whether a first row holds every name that is looked for, numbers though they may be.
fn has_names_of(select: &Select, first: Record<'_>) -> bool {
    let Select::Named { names, named: true, .. } = select else { return false };
    let cells: HashSet<&str> = first.cells().flatten().map(str::trim).collect();
    names.iter().all(|name| cells.contains(name.as_str()))
}

/// A first row with text in it is a header, unless it looks just like the row after it: mostly decimal
/// fractions, which nobody uses as names, and text in the same places (a class name in the last column, say).
fn is_header(first: Record<'_>, second: Option<Record<'_>>) -> bool {
    // `1,5` is a number, though not one that is read: what is said about it helps more than taking it for a
    // name.
    let is_text = |cell: Option<&str>| match cell.map(classify) {
        Some(Cell::Text(text)) => !decimal_comma(text),
        Some(_) => false,
        None => true,
    };
    if !first.cells().any(is_text) {
        return false;
    }
    let fraction =
        |cell: &Option<&str>| matches!(cell.map(classify), Some(Cell::Number(v)) if v.fract() != 0.0);
    let fractions = first.cells().filter(fraction).count();
    let alike = |second: Record<'_>| {
        first.len() == second.len() && first.cells().map(is_text).eq(second.cells().map(is_text))
    };
    !(2 * fractions > first.len() && second.is_some_and(alike))
}

fn header_names(source: &str, first: Record<'_>) -> Result<Vec<String>, DataError> {
    let mut names = Vec::with_capacity(first.len());
    for (i, cell) in first.cells().enumerate() {
        let name = cell.ok_or_else(|| not_utf8(source, first.line))?.trim();
        names.push(if name.is_empty() { format!("x{}", i + 1) } else { name.to_string() });
    }
    let mut seen = HashSet::with_capacity(names.len());
    if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
        return Err(DataError::column(format!(
            "{source}: the header has the name '{}' twice; rename one, or pass --no-header if the first line is \
                 data",
            shown(twice)
        )));
    }
    Ok(names)
}

/// The first text in an input column: an error in any case, but which one depends on the rest of the column.
struct TextCell {
    column: usize,
    text: String,
    at: At,
    /// All input columns that hold text in this row and no number so far.
    text_columns: Vec<usize>,
}

struct RowReader<'a> {
    source: &'a str,
    layout: &'a Layout,
    missing: bool,
    /// Whether the user said that there is no header, where a first row of text is worth a hint.
    no_header: bool,
    inputs: Vec<f32>,
    count: u64,
    /// Missing cells per column of the file, counted only to tell a text column from one that holds numbers
    /// too.
    missing_cells: Vec<u64>,
}

impl<'a> RowReader<'a> {
    fn new(source: &'a str, layout: &'a Layout, options: &ReadOptions) -> Self {
        RowReader {
            source,
            layout,
            missing: options.missing,
            no_header: options.header == Some(false),
            inputs: vec![0.0; layout.inputs.len()],
            count: 0,
            missing_cells: vec![0; layout.names.len()],
        }
    }

    /// One record into the sink. Text in an input column stops the reading and is handed back.
    fn read(&mut self, record: Record<'_>, sink: &mut impl RowSink) -> Result<Option<TextCell>, DataError> {
        if self.is_blank(record) {
            return Ok(None);
        }
        self.count += 1;
        let at = At { row: self.count, line: Some(record.line) };
        self.check_width(record, at)?;
        let (mut target, mut weight) = (None, None);
        for (i, (cell, role)) in record.cells().zip(&self.layout.roles).enumerate() {
            let Some(cell) = cell else { return Err(not_utf8(self.source, record.line)) };
            match *role {
                Role::Input(k) => match cell::input(cell) {
                    Ok(value) => self.inputs[k] = value,
                    Err(Fault::Missing) if self.missing => {
                        self.inputs[k] = f32::NAN;
                        self.missing_cells[i] += 1;
                    }
                    Err(Fault::Text) => return Ok(Some(self.text_cell(record, i, cell, at))),
                    Err(fault) => return Err(self.fault(at, i, cell, fault, Use::Input)),
                },
                Role::Skip => {}
                Role::Target => target = Some(self.target(at, i, cell)?),
                Role::Weight => weight = Some(self.weight(at, i, cell)?),
            }
        }
        sink.row(Row { inputs: &self.inputs, target, weight, at })?;
        Ok(None)
    }

    /// A line of blanks, which is not a row unless rows are single cells.
    fn is_blank(&self, record: Record<'_>) -> bool {
        record.len() == 1 && self.layout.names.len() > 1 && record.text.trim().is_empty()
    }

    fn check_width(&self, record: Record<'_>, at: At) -> Result<(), DataError> {
        let width = self.layout.names.len();
        if record.len() == width {
            return Ok(());
        }
        let quote = if record.last_line > record.line + 1 { " (a quote may be open)" } else { "" };
        Err(DataError::format(format!(
            "{}: {at} has {} where {width} {} expected{quote}; correct the row or drop it",
            self.source,
            plural(record.len(), "cell"),
            if width == 1 { "is" } else { "are" }
        )))
    }

    fn target<'c>(&self, at: At, column: usize, cell: &'c str) -> Result<Value<'c>, DataError> {
        match classify(cell) {
            Cell::Number(v) => Ok(Value::Number(v)),
            Cell::Text(text) => Ok(Value::Text(text)),
            Cell::Unusable(fault) => Err(self.fault(at, column, cell, fault, Use::Target)),
        }
    }

    fn weight(&self, at: At, column: usize, cell: &str) -> Result<f32, DataError> {
        cell::weight(classify(cell)).map_err(|fault| self.fault(at, column, cell, fault, Use::Weight))
    }

    fn fault(&self, at: At, column: usize, cell: &str, fault: Fault, used: Use) -> DataError {
        fault_error(self.source, at, &self.layout.names[column], cell, fault, used)
    }

    #[cold]
    fn text_cell(&self, record: Record<'_>, column: usize, cell: &str, at: At) -> TextCell {
        let no_number_before = |i: usize| self.missing_cells[i] == self.count - 1;
        let is_text = |i: usize| record.cell(i).is_some_and(|cell| matches!(classify(cell), Cell::Text(_)));
        let inputs = (0..record.len()).filter(|&i| matches!(self.layout.roles[i], Role::Input(_)));
        let text_columns = inputs.filter(|&i| no_number_before(i) && is_text(i)).collect();
        TextCell { column, text: cell.to_string(), at, text_columns }
    }
}

impl TextCell {
    /// Drops the columns that hold a number in `record`; true while the column of this cell is not among
    /// them.
    fn narrow(&mut self, record: Record<'_>) -> bool {
        let is_number =
            |cell: &str| !matches!(classify(cell), Cell::Text(_) | Cell::Unusable(Fault::Missing));
        self.text_columns.retain(|&i| !record.cell(i).is_some_and(is_number));
        self.all_text()
    }

    fn all_text(&self) -> bool {
        self.text_columns.contains(&self.column)
    }

    /// Reads on to see whether the column is text throughout, and says which of the two mistakes it is.
    fn error(mut self, rows: &RowReader<'_>, kept: &[Record<'_>], records: &mut Records<'_>) -> DataError {
        let mut all_text = self.all_text() && kept.iter().all(|record| self.narrow(*record));
        // Damage further down matters less than what was found first.
        while all_text && let Ok(Some(record)) = records.next() {
            all_text = self.narrow(record);
        }
        let names = &rows.layout.names;
        if !all_text || decimal_comma(&self.text) {
            let error = rows.fault(self.at, self.column, &self.text, Fault::Text, Use::Input);
            return match rows.no_header && self.at.row == 1 {
                true => DataError::new(
                    error.kind(),
                    format!("{error} (if the first line holds the columns' names, leave out --no-header)"),
                ),
                false => error,
            };
        }
        let columns = self.text_columns.iter().map(|&i| names[i].as_str());
        let one = columns.len() == 1;
        let flags: Vec<String> =
            columns.clone().take(5).map(|name| format!("--ignore {}", shell(name))).collect();
        DataError::cell(format!(
            "{}: {} {} {} text; text columns are not supported yet: encode {} as numbers, or leave {} out \
                 with {}{}",
            rows.source,
            if one { "column" } else { "columns" },
            listed(columns.clone(), 5),
            if one { "holds" } else { "hold" },
            if one { "it" } else { "them" },
            if one { "it" } else { "them" },
            flags.join(" "),
            if columns.len() > flags.len() { " ..." } else { "" },
        ))
    }
}
