//! Blocks of rows become one table: the end of every reader.
//!
//! ```text
//! reader ── begin(source, names) ──> Layout       for each file; the first decides the columns
//!        ── Block::new(shape) ──> filled on any thread ──> push      in the order of the rows
//!                                                          finish ──> types ──> Table
//! ```

use std::sync::Arc;

use rffnet::text::plural;

use crate::amounts::Mark;
use crate::block::{Block, Odd, OddCells, Shape};
use crate::cell::At;
use crate::dates::Order;
use crate::error::DataError;
use crate::layout::{Layout, resolve};
use crate::memory;
use crate::options::ReadOptions;
use crate::packed::{NO_ROOM, Packed, PackedWide, Unpacked};
use crate::report::ColumnKind;
use crate::several::match_columns;

/// More different texts than this are not a category, whatever else they are.
pub(crate) const MAX_TEXTS: usize = 1 << 20;
/// All different texts of a table may take this much; a column that comes later has too many.
const MAX_TEXT_BYTES: usize = 256 << 20;

/// What a reader that knows says about a column's cells, all of which are numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Declared {
    Boolean,
    /// Days since the beginning of 2000, and how their texts were read.
    Date(Order),
    /// Money, percents or numbers with a decimal comma, and what stands before their fractions.
    Amount(ColumnKind, Mark),
}

/// Collects the blocks of one file, or of several with the same columns.
pub(crate) struct Collector<'a> {
    pub(crate) options: &'a ReadOptions,
    pub(crate) limit: Option<u64>,
    /// Of the first file.
    pub(crate) layout: Option<Arc<Layout>>,
    pub(crate) files: Vec<SourceFile>,
    pub(crate) rows: usize,
    pub(crate) cells: Vec<Packed>,
    pub(crate) inputs: Vec<Odd>,
    /// What the current file says of its columns.
    pub(crate) declared: Vec<Option<Declared>>,
    /// What the files before it said.
    pub(crate) earlier: Vec<Option<Declared>>,
    pub(crate) target: Vec<PackedWide>,
    pub(crate) target_odd: OddCells,
    pub(crate) weight: Vec<f32>,
    pub(crate) kept: Vec<Vec<String>>,
    pub(crate) notes: Vec<String>,
    pub(crate) comments: usize,
    /// Columns of the file whose names are made up because the header has none.
    pub(crate) nameless: Vec<usize>,
    text_bytes: usize,
    kept_bytes: usize,
}

/// A file whose rows are being collected, or have been.
pub(crate) struct SourceFile {
    pub(crate) source: String,
    /// How many rows stand before its own.
    pub(crate) first_row: usize,
    /// The lines that its blocks have passed.
    lines: u64,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(options: &'a ReadOptions) -> Self {
        Collector {
            options,
            limit: options.memory.or_else(memory::default_limit),
            layout: None,
            files: Vec::new(),
            rows: 0,
            cells: Vec::new(),
            inputs: Vec::new(),
            declared: Vec::new(),
            earlier: Vec::new(),
            target: Vec::new(),
            target_odd: OddCells::default(),
            weight: Vec::new(),
            kept: Vec::new(),
            notes: Vec::new(),
            comments: 0,
            nameless: Vec::new(),
            text_bytes: 0,
            kept_bytes: 0,
        }
    }

    /// Starts a file with these columns and returns what each of them is.
    pub(crate) fn begin(
        &mut self,
        source: &str,
        names: Vec<String>,
        has_names: bool,
    ) -> Result<Arc<Layout>, DataError> {
        let layout = match (&self.layout, self.files.first()) {
            (Some(first), Some(file)) => {
                match_columns((&file.source, first), source, names, has_names, self.options)?
            }
            _ => resolve(source, names, has_names, self.options)?,
        };
        self.begin_with(source, layout)
    }

    /// Starts a file whose columns have been given their roles.
    pub(crate) fn begin_with(&mut self, source: &str, layout: Layout) -> Result<Arc<Layout>, DataError> {
        if let (Some(first), Some(file)) = (&self.layout, self.files.first())
            && layout.shape() != first.shape()
        {
            return Err(DataError::column(format!(
                "{source}: there are {}, but {} in {}; give files with the same columns",
                plural(layout.inputs.len(), "input column"),
                first.inputs.len(),
                file.source
            )));
        }
        let layout = Arc::new(layout);
        self.files.push(SourceFile { source: source.to_string(), first_row: self.rows, lines: 0 });
        if self.layout.is_none() {
            let shape = layout.shape();
            self.inputs.resize_with(shape.inputs, Odd::default);
            self.declared.resize(shape.inputs, None);
            self.kept.resize(shape.kept, Vec::new());
            self.layout = Some(layout.clone());
        }
        Ok(layout)
    }

    /// Lines of the current file that come before the first block, such as its header.
    pub(crate) fn skip_lines(&mut self, lines: u64) {
        if let Some(file) = self.files.last_mut() {
            file.lines += lines;
        }
    }

    /// Says what the cells of input `k` mean, all of which are numbers or gaps.
    pub(crate) fn declare(&mut self, k: usize, what: Declared) {
        if let Some(slot) = self.declared.get_mut(k) {
            *slot = Some(what);
        }
    }

    /// The shape that blocks must have.
    pub(crate) fn shape(&self) -> Shape {
        self.layout.as_ref().map(|layout| layout.shape()).unwrap_or_default()
    }

    /// The name of the file that is being read.
    pub(crate) fn source(&self) -> &str {
        self.files.last().map_or("", |file| &file.source)
    }

    /// Makes room for `rows` further rows, as far as they are expected to come; refused if the table would pass its limit.
    pub(crate) fn reserve(&mut self, rows: usize) -> Result<(), DataError> {
        let shape = self.shape();
        let bytes = self.bytes_of(self.rows.saturating_add(rows));
        // Rows that are only expected may be fewer in the end: what is just beyond the limit is left to the rows that come.
        if let Some(limit) = self.limit.filter(|&limit| bytes / 5 * 4 > limit) {
            return Err(memory::too_large(self.source(), self.rows + rows, shape.inputs, bytes, limit));
        }
        // A refusal shows up again when the rows really come; until then it is only an estimate.
        let cells = rows.saturating_mul(shape.inputs);
        let _ = self.cells.try_reserve_exact(cells);
        if shape.target {
            let _ = self.target.try_reserve_exact(rows);
        }
        Ok(())
    }

    /// What a table with so many rows takes.
    fn bytes_of(&self, rows: usize) -> u64 {
        let shape = self.shape();
        let row = 4 * shape.inputs as u64 + 8 * u64::from(shape.target) + 4 * u64::from(shape.weight);
        (rows as u64).saturating_mul(row).saturating_add((self.text_bytes + self.kept_bytes) as u64)
    }

    /// Appends the rows of a block.
    pub(crate) fn push(&mut self, mut block: Block) -> Result<(), DataError> {
        let base = At { row: self.rows as u64, line: self.files.last().map(|file| file.lines) };
        self.kept_bytes +=
            block.kept.iter().flatten().map(|text| text.len() + size_of::<String>()).sum::<usize>();
        let rows = self.rows + block.rows;
        let bytes = self.bytes_of(rows);
        let columns = self.shape().inputs;
        if let Some(limit) = self.limit.filter(|&limit| bytes > limit) {
            return Err(memory::too_large(self.source(), rows, columns, bytes, limit));
        }
        let room =
            self.cells.try_reserve(block.cells.len()).and_then(|()| self.target.try_reserve(block.rows));
        if room.is_err() {
            return Err(memory::too_large(self.source(), rows, columns, bytes, self.bytes_of(self.rows)));
        }
        self.renumber_inputs(&mut block, base);
        self.renumber_target(&mut block, base);
        self.cells.append(&mut block.cells);
        self.target.append(&mut block.target);
        self.weight.append(&mut block.weight);
        for (all, texts) in self.kept.iter_mut().zip(&mut block.kept) {
            all.append(texts);
        }
        self.rows = rows;
        self.comments += block.comments;
        self.skip_lines(block.lines);
        Ok(())
    }

    fn renumber_inputs(&mut self, block: &mut Block, base: At) {
        let mut changed: Vec<(usize, Vec<u32>)> = Vec::new();
        for (k, odd) in block.inputs.iter().enumerate() {
            let Some(odd) = odd.get() else { continue };
            let codes = merge(self.inputs[k].get_mut(), odd, base, &mut self.text_bytes);
            let same = codes.iter().enumerate().all(|(i, &code)| i as u32 == code);
            if !same {
                changed.push((k, codes));
            }
        }
        if changed.is_empty() {
            return;
        }
        for row in block.cells.chunks_exact_mut(block.shape.inputs.max(1)) {
            for (k, codes) in &changed {
                if let Unpacked::Text(code) = row[*k].get() {
                    row[*k] = Packed::text(codes.get(code as usize).copied().unwrap_or(NO_ROOM));
                }
            }
        }
    }

    fn renumber_target(&mut self, block: &mut Block, base: At) {
        let Some(odd) = block.target_odd.get() else { return };
        let codes = merge(&mut self.target_odd, odd, base, &mut self.text_bytes);
        for cell in &mut block.target {
            if let Unpacked::Text(code) = cell.get() {
                *cell = PackedWide::text(codes.get(code as usize).copied().unwrap_or(NO_ROOM));
            }
        }
    }

    /// The place in the current file of a row that comes `at.row` rows after those that are here.
    pub(crate) fn next_place(&self, at: At) -> At {
        let (first, lines) = self.files.last().map_or((0, 0), |file| (file.first_row, file.lines));
        At { row: (self.rows - first) as u64 + at.row, line: at.line.map(|line| lines + line) }
    }

    /// The file that a row of the table is from, and the row's place in it.
    pub(crate) fn place(&self, at: At) -> (&str, At) {
        let after = self.files.partition_point(|file| (file.first_row as u64) < at.row);
        match after.checked_sub(1).and_then(|i| self.files.get(i)) {
            Some(file) => (&file.source, At { row: at.row - file.first_row as u64, line: at.line }),
            None => (self.source(), at),
        }
    }
}

/// Adds a block's gaps and texts of a column to those of all blocks before. Returns the codes that the block's have now.
fn merge(all: &mut OddCells, block: &OddCells, base: At, bytes: &mut usize) -> Vec<u32> {
    let moved =
        |at: At| At { row: base.row + at.row, line: at.line.and_then(|line| Some(base.line? + line)) };
    all.gaps += block.gaps;
    if all.first_gap.is_none() {
        all.first_gap = block.first_gap.as_ref().map(|(at, written)| (moved(*at), written.clone()));
    }
    let before = all.texts.bytes();
    let codes = (0..block.texts.len() as u32).map(|code| {
        let text = block.texts.get(code);
        let full = all.texts.len() >= MAX_TEXTS || *bytes + text.len() > MAX_TEXT_BYTES;
        match block.texts.first(code) {
            Some(at) if !full => all.texts.code(text, moved(at)),
            _ => all.texts.find(text).unwrap_or(NO_ROOM),
        }
    });
    let codes = codes.collect();
    *bytes += all.texts.bytes() - before;
    codes
}
