//! CSV: text with a separator between cells and one record per line, parsed in parallel.
//!
//! ```text
//! chunks  the text, cut where records end ──> parse  one block of rows per chunk ──> collector
//! head    the first records: delimiter, names, comments, how each column is likely to read
//! ```

mod chunks;
mod head;
mod parse;

use std::collections::{HashMap, HashSet};

use rffnet::ColumnType;
use rffnet::text::{count, plural};

use crate::MAX_COLUMNS;
use crate::block::Block;
use crate::cell::{Use, fault_error};
use crate::collector::{Collector, Declared};
use crate::dates::Order;
use crate::error::{DataError, shown};
use crate::input::Input;
use crate::layout::{Asked, Layout, Role, made_up_names};
use crate::options::{ColumnRef, ReadOptions, Select};
use crate::{amounts, dates};
use chunks::{Chunk, Chunks};
use head::Record;
use parse::{Action, Flaw, Plan, Reading, What, parse};

/// What is looked at before the first row is read. The same for every size of chunk, so that the table is, too.
const HEAD: usize = 64 << 10;
/// Text parsed at a time by one thread; its cells stay in the cache of the core until they are collected.
const CHUNK: usize = 256 << 10;
/// Chunks that each thread parses before the next ones are handed out.
const CHUNKS_PER_THREAD: usize = 4;

/// Reads all rows of `input` into `collector`.
pub(crate) fn read(input: Input<'_>, collector: &mut Collector<'_>) -> Result<(), DataError> {
    read_in_chunks(input, collector, CHUNK)
}

fn read_in_chunks(input: Input<'_>, collector: &mut Collector<'_>, size: usize) -> Result<(), DataError> {
    let mut chunks = Chunks::new(input, HEAD, 3)?;
    let source = chunks.source().to_string();
    let head = readable(&source, chunks.pending())?;
    let line_end = chunks.line_end();
    let options = collector.options;
    let delimiter = options.delimiter.unwrap_or_else(|| head::find_delimiter(head, line_end));
    let whole = chunks.is_whole() && head.len() == chunks.pending().len();
    let all = head::records(head, delimiter, line_end, whole);
    let leading = all.iter().take_while(|r| r.is_comment()).count();
    let (records, comments) = head::without_comments(all);
    chunks.set_comments(comments);
    let Some(first) = records.first() else {
        return Err(DataError::format(format!(
            "{source}: the file is empty; give a file with at least one row"
        )));
    };
    let asked = options.header;
    let has_names =
        asked.unwrap_or_else(|| has_names_of(&options.select, first) || head::is_header(&records));
    let rows = &records[usize::from(has_names)..];
    let names = if has_names {
        header_names(&source, first, rows, options)?
    } else {
        Names::made_up(first.cells.len())
    };
    if names.all.len() > MAX_COLUMNS {
        return Err(DataError::format(format!(
            "{source}: line 1 has more than {} columns; check that the file has one row per line",
            count(MAX_COLUMNS)
        )));
    }
    let layout = collector.begin(&source, names.all, has_names)?;
    collector.nameless = names.nameless;
    collector.notes.extend(names.notes);
    if has_names {
        if asked.is_none() && first.cells.iter().all(|cell| head::is_number(cell)) {
            collector.notes.push(
                "the first line holds numbers and is taken for names; pass --no-header if it is data".into(),
            );
        }
        // A comment that is the header is none.
        collector.comments += leading - usize::from(first.is_comment());
        let end = first.end;
        let lines = chunks.pending()[..end].iter().filter(|&&b| b == line_end).count();
        collector.skip_lines(lines as u64);
        let plan = find_plan(&layout, rows, delimiter, comments, collector);
        chunks.skip(end);
        return read_rows(chunks, collector, &plan, size);
    }
    let plan = find_plan(&layout, rows, delimiter, comments, collector);
    read_rows(chunks, collector, &plan, size)
}

/// The start of a file as far as it is whole characters; an error if it is not text.
fn readable<'a>(source: &str, bytes: &'a [u8]) -> Result<&'a [u8], DataError> {
    if let Some(before) = bytes.iter().position(|&b| b == 0) {
        return Err(nul(source, before as u64));
    }
    match std::str::from_utf8(bytes) {
        Ok(_) => Ok(bytes),
        Err(error) if error.error_len().is_none() && bytes.len() >= HEAD => Ok(&bytes[..error.valid_up_to()]),
        Err(error) => {
            let line = bytes[..error.valid_up_to()].iter().filter(|&&b| b == b'\n').count() as u64 + 1;
            Err(not_utf8(source, line))
        }
    }
}

fn nul(source: &str, before: u64) -> DataError {
    DataError::format(format!(
        "{source}: byte {} is NUL, so this is not plain text; if it is UTF-16, save it as UTF-8",
        count(before + 1)
    ))
}

pub(crate) fn not_utf8(source: &str, line: u64) -> DataError {
    DataError::format(format!("{source}: line {line} is not UTF-8 text; save the file as UTF-8"))
}

/// Whether a first row holds every name that is looked for, numbers though they may be.
fn has_names_of(select: &Select, first: &Record) -> bool {
    let Select::Named { names, named: true, .. } = select else { return false };
    let cells: HashSet<&str> = first.cells.iter().map(String::as_str).collect();
    names.iter().all(|name| cells.contains(name.as_str()))
}

struct Names {
    all: Vec<String>,
    /// Columns whose name is made up because the header has none.
    nameless: Vec<usize>,
    notes: Vec<String>,
}

impl Names {
    fn made_up(columns: usize) -> Self {
        Names { all: made_up_names(columns), nameless: Vec::new(), notes: Vec::new() }
    }
}

/// The names in a header. One that is used twice is told apart by a number; one column more than names is a column of row
/// names at the left, or of nothing at the right.
fn header_names(
    source: &str,
    first: &Record,
    rows: &[Record],
    options: &ReadOptions,
) -> Result<Names, DataError> {
    let mut cells = first.cells.clone();
    let wider = |row: &Record| row.cells.len() == cells.len() + 1;
    if rows.len() > 1 && rows.iter().all(wider) {
        let nothing = rows.iter().all(|row| row.cells.last().is_some_and(String::is_empty));
        cells.insert(if nothing { cells.len() } else { 0 }, String::new());
    }
    let mut names = Names { all: Vec::with_capacity(cells.len()), nameless: Vec::new(), notes: Vec::new() };
    let taken: HashSet<&str> = cells.iter().map(String::as_str).collect();
    let mut used: HashMap<String, usize> = HashMap::with_capacity(cells.len());
    for (i, name) in cells.iter().enumerate() {
        let name = match name.as_str() {
            "" => {
                names.nameless.push(i);
                format!("x{}", i + 1)
            }
            name => name.to_string(),
        };
        let before = used.entry(name.clone()).and_modify(|n| *n += 1).or_insert(0);
        if *before == 0 {
            names.all.push(name);
            continue;
        }
        let asked = [&options.target, &options.weight];
        if asked.iter().any(|column| **column == Some(ColumnRef::Named(name.clone()))) {
            return Err(DataError::column(format!(
                "{source}: the header has the name '{}' twice; rename one, or pass --no-header if the first line is data",
                shown(&name)
            )));
        }
        let new = (*before..).map(|n| format!("{name}.{n}")).find(|new| !taken.contains(new.as_str()));
        let new = new.unwrap_or_default();
        names.notes.push(format!(
            "the header has the name '{}' twice; the second is called '{}'",
            shown(&name),
            shown(&new)
        ));
        names.all.push(new);
    }
    Ok(names)
}

/// How each column is read, by a sample of its rows, by what was asked for and by the types of a model.
fn find_plan(
    layout: &Layout,
    rows: &[Record],
    delimiter: u8,
    comments: bool,
    collector: &mut Collector<'_>,
) -> Plan {
    let types: &[ColumnType] = match &collector.options.select {
        Select::Named { types, .. } => types,
        Select::All => &[],
    };
    let first_file = collector.files.len() == 1;
    let mut actions = Vec::with_capacity(layout.roles.len());
    for (i, role) in layout.roles.iter().enumerate() {
        let reading = |of: Option<&ColumnType>| match (layout.asked(i), of) {
            (Some(Asked::Categorical), _)
            | (_, Some(ColumnType::Category { .. } | ColumnType::Boolean | ColumnType::DecimalComma)) => {
                Reading::Text
            }
            // A model's columns are written as they were in its fit, whatever this file's would be taken for.
            (None | Some(Asked::Numeric), Some(ColumnType::Number)) => Reading::Number,
            (None | Some(Asked::Date), Some(&ColumnType::Date { day_first })) => {
                Reading::Date(Order::new(day_first))
            }
            (asked, _) => {
                let (dates, numbers) = (asked == Some(Asked::Date), asked == Some(Asked::Numeric));
                sampled(&head::sample(rows, i), dates, numbers)
            }
        };
        actions.push(match *role {
            Role::Skip => Action::Skip,
            Role::Weight => Action::Weight,
            Role::Target => match reading(None) {
                Reading::Date(_) => Action::Target(Reading::Text),
                // Numbers of a target are told from its texts at the end.
                Reading::Text if layout.asked(i).is_none() => Action::Target(Reading::Number),
                reading => Action::Target(reading),
            },
            Role::Input(k) => {
                let reading = reading(types.get(k));
                let meaning = declared(reading);
                if first_file || meaning == collector.earlier.get(k).copied().flatten() {
                    if let Some(meaning) = meaning {
                        collector.declare(k, meaning);
                    }
                    Action::Input(k, reading)
                } else {
                    Action::Input(k, Reading::Text)
                }
            }
        });
    }
    let kept = if layout.shape().kept == 0 { Vec::new() } else { layout.kept.clone() };
    Plan { delimiter, comments, actions, kept, shape: layout.shape() }
}

fn declared(reading: Reading) -> Option<Declared> {
    match reading {
        Reading::Number | Reading::Text => None,
        Reading::Date(order) => Some(Declared::Date(order)),
        Reading::Amount(writing) => Some(Declared::Amount(writing.kind, writing.mark)),
    }
}

/// What most of a sample is. Whatever a sample cannot tell for sure is left to the whole column: texts keep everything open.
fn sampled(cells: &[&str], dates: bool, numbers: bool) -> Reading {
    let weighted = cells.iter().map(|cell| (*cell, 1));
    if dates {
        return match dates::usual_writing(weighted).filter(|w| !w.ambiguous) {
            Some(writing) => Reading::Date(writing.order),
            None => Reading::Text,
        };
    }
    let plain = cells.iter().filter(|cell| head::is_number(cell)).count();
    if 2 * plain >= cells.len() {
        return Reading::Number;
    }
    if let Some(writing) = amounts::usual_writing(weighted.clone()).filter(|w| w.is_sure()) {
        return Reading::Amount(writing);
    }
    match dates::usual_writing(weighted).filter(|w| !w.ambiguous && !numbers) {
        Some(writing) => Reading::Date(writing.order),
        None => Reading::Text,
    }
}

/// Reads chunks, has them parsed, and collects their rows: while one batch is parsed, the one before is collected and the
/// one after is read (and decompressed).
fn read_rows(
    mut chunks: Chunks<'_>,
    collector: &mut Collector<'_>,
    plan: &Plan,
    size: usize,
) -> Result<(), DataError> {
    let before = collector.rows;
    let batch = CHUNKS_PER_THREAD * rayon::current_num_threads();
    let total = chunks.size();
    let start = chunks.passed();
    let mut unparsed = read_batch(&mut chunks, batch, size)?;
    let mut parsed: Vec<(u64, Result<Block, Flaw>)> = Vec::new();
    let mut reserved = false;
    while !unparsed.is_empty() {
        let mut results: Vec<Option<Result<Block, Flaw>>> = unparsed.iter().map(|_| None).collect();
        let (mut collected, mut next) = (Ok(()), Ok(Vec::new()));
        rayon::in_place_scope(|scope| {
            for (slot, chunk) in results.iter_mut().zip(&unparsed) {
                scope.spawn(move |_| *slot = Some(parse(&chunk.bytes, plan)));
            }
            collected = collect(&mut parsed, collector, plan);
            next = read_batch(&mut chunks, batch, size);
        });
        collected?;
        // By now the first batch tells how many rows a byte makes.
        if let (Some(total), false, true) = (total, reserved, collector.rows > before) {
            reserved = true;
            let passed = unparsed.first().map_or(start + 1, |chunk| chunk.start) - start;
            let rows = (collector.rows - before) as f64 / passed.max(1) as f64
                * (total.saturating_sub(start)) as f64;
            collector.reserve((rows * 1.01) as usize + 1 - (collector.rows - before).min(rows as usize))?;
        }
        let starts = unparsed.iter().map(|chunk| chunk.start);
        parsed.extend(starts.zip(results).filter_map(|(start, result)| Some((start, result?))));
        match next {
            Ok(next) => unparsed = next,
            Err(error) => {
                collect(&mut parsed, collector, plan)?;
                return Err(error);
            }
        }
    }
    collect(&mut parsed, collector, plan)?;
    if collector.rows == before {
        return Err(DataError::format(format!(
            "{}: there is a header but no row under it; add rows, or pass --no-header if the first line is data",
            collector.source()
        )));
    }
    Ok(())
}

fn read_batch(chunks: &mut Chunks<'_>, batch: usize, size: usize) -> Result<Vec<Chunk>, DataError> {
    let mut out = Vec::with_capacity(batch);
    while out.len() < batch
        && let Some(chunk) = chunks.next(size)?
    {
        out.push(chunk);
    }
    Ok(out)
}

fn collect(
    parsed: &mut Vec<(u64, Result<Block, Flaw>)>,
    collector: &mut Collector<'_>,
    plan: &Plan,
) -> Result<(), DataError> {
    for (start, result) in parsed.drain(..) {
        match result {
            Ok(block) => collector.push(block)?,
            Err(flaw) => return Err(sentence(flaw, start, collector, plan)),
        }
    }
    Ok(())
}

/// The sentence for a flaw in a chunk that comes after all rows of the collector.
fn sentence(flaw: Flaw, start: u64, collector: &Collector<'_>, plan: &Plan) -> DataError {
    let source = collector.source();
    let at = collector.next_place(flaw.at);
    let width = plan.actions.len();
    let name = |column: usize| {
        let layout = collector.layout.as_deref();
        layout.and_then(|layout| layout.names.get(column)).map_or("", String::as_str).to_string()
    };
    let expected = if width == 1 { "is" } else { "are" };
    let ragged = |cells: usize, quote: &str| {
        format!(
            "{source}: {at} has {} where {width} {expected} expected{quote}; correct the row or drop it",
            plural(cells, "cell")
        )
    };
    DataError::format(match flaw.what {
        What::NotUtf8 => return not_utf8(source, at.line.unwrap_or(0)),
        What::Nul { before } => return nul(source, start + before as u64),
        What::Weight { column, cell, fault } => {
            return fault_error(source, at, &name(column), &cell, fault, Use::Weight);
        }
        What::Ragged { cells, lines } => ragged(cells, if lines { " (a quote may be open)" } else { "" }),
        What::OpenQuote { cell } if cell < width => ragged(cell, " (a quote may be open)"),
        What::OpenQuote { .. } => format!("{source}: {at} has a quote that is never closed; close it"),
        What::InnerQuote { column, cell } => format!(
            "{source}: {at}, column '{}' has a quote inside '{}'; put the whole cell in quotes and double those within",
            shown(&name(column)),
            shown(&cell)
        ),
        What::AfterQuote { column, cell } => format!(
            "{source}: {at}, column '{}' has text after the closing quote of '{}'; double the quotes within a cell",
            shown(&name(column)),
            shown(&cell)
        ),
    })
}

#[cfg(test)]
mod tests;
