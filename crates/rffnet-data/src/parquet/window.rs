//! Windows of rows: all columns are read as far as a window goes, then its rows are put together.

use std::sync::{Mutex, PoisonError};

use parquet::file::metadata::RowGroupMetaData;
use rayon::prelude::*;

use crate::block::Block;
use crate::cell::{self, At, Cell, Fault, Use, fault_error};
use crate::collector::{Collector, Declared};
use crate::dates::Order;
use crate::error::{DataError, shown};
use crate::layout::{Layout, Role};
use crate::names::shell;
use crate::options::ReadOptions;
use crate::packed::{Packed, PackedWide, Unpacked};

use super::column::{Buffers, ColumnReader};
use super::damage::{Damage, damaged};
use super::input::{Codes, Fail, Input, Used};
use super::schema::{Leaf, Meaning};
use super::source::Source;

/// The cells of a window: small enough for the cache that cores share.
const WINDOW_CELLS: usize = 1 << 20;
/// Cells that are put together by one thread at a time: small enough for the cache of a core.
const TILE_CELLS: usize = 1 << 13;

/// Reads the row groups of a file.
pub(super) struct Windows<'a> {
    name: &'a str,
    source: &'a Source,
    layout: &'a Layout,
    /// In the order of the table.
    inputs: Vec<Input>,
    target: Option<Used<PackedWide>>,
    weight: Option<Used<PackedWide>>,
    kept: Vec<Used<String>>,
    /// Buffers that no thread uses at the moment.
    spare: Mutex<Vec<Buffers>>,
    rows_before: u64,
}

impl<'a> Windows<'a> {
    pub(super) fn new(
        name: &'a str,
        source: &'a Source,
        layout: &'a Layout,
        leaves: &[Option<Leaf>],
        options: &ReadOptions,
    ) -> Self {
        fn used<V: super::value::Value>(column: usize, leaves: &[Option<Leaf>]) -> Option<Used<V>> {
            let leaf = leaves.get(column).copied().flatten()?;
            Some(Used { column, reader: ColumnReader::new(leaf) })
        }
        let input = |column: usize| {
            let leaf = leaves.get(column).copied().flatten()?;
            Some(Input::new(column, leaf, layout.is_category(column, options)))
        };
        let mut places = vec![0; layout.inputs.len()];
        for (column, role) in layout.roles.iter().enumerate() {
            if let Role::Input(k) = *role {
                places[k] = column;
            }
        }
        let mut kept: Vec<(usize, usize)> =
            layout.kept.iter().enumerate().filter_map(|(column, place)| Some(((*place)?, column))).collect();
        kept.sort_unstable();
        Windows {
            name,
            source,
            layout,
            inputs: places.into_iter().filter_map(input).collect(),
            target: layout.target.and_then(|column| used(column, leaves)),
            weight: layout.weight.and_then(|column| used(column, leaves)),
            kept: kept.into_iter().filter_map(|(_, column)| used(column, leaves)).collect(),
            spare: Mutex::default(),
            rows_before: 0,
        }
    }

    /// Tells the collector which columns are booleans and dates.
    pub(super) fn declare(&self, collector: &mut Collector<'_>) {
        for (k, input) in self.inputs.iter().enumerate() {
            let Input::Cells(used) = input else { continue };
            match used.reader.leaf.meaning {
                Meaning::Boolean => collector.declare(k, Declared::Boolean),
                Meaning::Day | Meaning::Timestamp { .. } | Meaning::Time { .. } | Meaning::Int96 => {
                    collector.declare(k, Declared::Date(Order::MonthFirst));
                }
                _ => {}
            }
        }
    }

    /// Reads the rows of a row group whose pages end before `end`.
    pub(super) fn read_group(
        &mut self,
        group: &RowGroupMetaData,
        end: u64,
        collector: &mut Collector<'_>,
    ) -> Result<(), DataError> {
        let mut left = usize::try_from(group.num_rows()).unwrap_or(0);
        self.begin(group, left, end)?;
        let window = (WINDOW_CELLS / self.inputs.len().max(1)).max(64);
        // Rows are believed in only as far as the first window goes.
        let mut reserved = false;
        while left > 0 {
            let rows = left.min(window);
            let block = self.read_window(rows)?;
            if !reserved {
                collector.reserve(left)?;
                reserved = true;
            }
            collector.push(block)?;
            left -= rows;
            self.rows_before += rows as u64;
        }
        Ok(())
    }

    fn begin(&mut self, group: &RowGroupMetaData, rows: usize, end: u64) -> Result<(), DataError> {
        let (name, layout) = (self.name, self.layout);
        let chunk =
            |used: &Leaf| group.columns().get(used.place).ok_or_else(|| damaged("a row group lacks it"));
        for input in &mut self.inputs {
            chunk(input.leaf())
                .and_then(|chunk| input.begin(chunk, rows, end))
                .map_err(|d| broken(name, layout, input.column(), d))?;
        }
        for Used { column, reader } in self.target.iter_mut().chain(&mut self.weight) {
            chunk(&reader.leaf)
                .and_then(|chunk| reader.begin(chunk, rows, end))
                .map_err(|d| broken(name, layout, *column, d))?;
        }
        for Used { column, reader } in &mut self.kept {
            chunk(&reader.leaf)
                .and_then(|chunk| reader.begin(chunk, rows, end))
                .map_err(|d| broken(name, layout, *column, d))?;
        }
        Ok(())
    }

    fn read_window(&mut self, rows: usize) -> Result<Block, DataError> {
        let mut block = Block::new(self.layout.shape());
        block.rows = rows;
        let (source, spare) = (self.source, &self.spare);
        let read: Vec<Result<(), Fail>> = self
            .inputs
            .par_iter_mut()
            .zip(&mut block.inputs)
            .map(|(input, odd)| with_buffers(spare, |buffers| input.read(rows, source, buffers, odd)))
            .collect();
        for (input, read) in self.inputs.iter().zip(read) {
            read.map_err(|fail| self.error(input.column(), fail))?;
        }
        put_together(&self.inputs, rows, &mut block.cells);
        self.read_others(rows, &mut block)?;
        Ok(block)
    }

    /// The target, the weight and the columns that are kept as text.
    fn read_others(&mut self, rows: usize, block: &mut Block) -> Result<(), DataError> {
        let (name, layout, source) = (self.name, self.layout, self.source);
        let buffers = &mut Buffers::default();
        if let Some(Used { column, reader }) = &mut self.target {
            reader.take(rows, source, buffers).map_err(|d| broken(name, layout, *column, d))?;
            block.target.extend_from_slice(reader.taken());
            if let Some(row) = block
                .target
                .iter()
                .position(|cell| matches!(cell.get(), Unpacked::Number(v) if v.is_infinite()))
            {
                let at = At { row: self.rows_before + row as u64 + 1, line: None };
                return Err(fault_error(name, at, &layout.names[*column], "", Fault::Infinite, Use::Target));
            }
            let texts = reader.taken_with_texts().1;
            let mut codes = Codes::new(texts.len());
            for (row, cell) in block.target.iter_mut().enumerate() {
                let at = At { row: row as u64 + 1, line: None };
                match cell.get() {
                    Unpacked::Number(_) => {}
                    Unpacked::Gap => block.target_odd.gap("", at),
                    Unpacked::Text(code) => {
                        *cell =
                            PackedWide::text(codes.find(code, || block.target_odd.text(texts.get(code), at)));
                    }
                }
            }
        }
        if let Some(Used { column, reader }) = &mut self.weight {
            reader.take(rows, source, buffers).map_err(|d| broken(name, layout, *column, d))?;
            let (values, texts) = reader.taken_with_texts();
            for (row, value) in values.iter().enumerate() {
                let (cell, written) = match value.get() {
                    Unpacked::Number(v) => (Cell::from(v), v.to_string()),
                    Unpacked::Gap => (Cell::Unusable(Fault::Missing), String::new()),
                    Unpacked::Text(code) => (Cell::Text(texts.get(code)), texts.get(code).to_string()),
                };
                let at = At { row: self.rows_before + row as u64 + 1, line: None };
                let fault =
                    |fault| fault_error(name, at, &layout.names[*column], &written, fault, Use::Weight);
                block.weight.push(cell::weight(cell).map_err(fault)?);
            }
        }
        for (Used { column, reader }, texts) in self.kept.iter_mut().zip(&mut block.kept) {
            reader.take(rows, source, buffers).map_err(|d| broken(name, layout, *column, d))?;
            texts.extend_from_slice(reader.taken());
        }
        Ok(())
    }

    fn error(&self, column: usize, fail: Fail) -> DataError {
        match fail {
            Fail::Damage(damage) => broken(self.name, self.layout, column, damage),
            Fail::Infinite(row) => {
                let name = &self.layout.names[column];
                DataError::cell(format!(
                    "{}: row {}, column '{}' is infinite or beyond the largest number that can be kept (3.4e38); correct it, \
                     rescale the column, or leave it out with --ignore {}",
                    self.name,
                    self.rows_before + row as u64 + 1,
                    shown(name),
                    shell(name)
                ))
            }
        }
    }
}

fn broken(name: &str, layout: &Layout, column: usize, damage: Damage) -> DataError {
    DataError::format(format!(
        "{name}: column '{}' of the Parquet file is damaged ({}); write or fetch the file again",
        shown(layout.names.get(column).map_or("", String::as_str)),
        damage.0
    ))
}

/// Turns columns into rows, tile by tile.
fn put_together(inputs: &[Input], rows: usize, cells: &mut Vec<Packed>) {
    let columns = inputs.len();
    if columns == 0 {
        return;
    }
    cells.resize(rows * columns, Packed::GAP);
    let tile = (TILE_CELLS / columns).max(16);
    cells.par_chunks_mut(tile * columns).enumerate().for_each(|(i, out)| {
        let first = i * tile;
        for (k, input) in inputs.iter().enumerate() {
            let values = &input.cells()[first..];
            for (slot, &value) in out[k..].iter_mut().step_by(columns).zip(values) {
                *slot = value;
            }
        }
    });
}

/// Calls `work` with buffers that are given back after it.
fn with_buffers<T>(spare: &Mutex<Vec<Buffers>>, work: impl FnOnce(&mut Buffers) -> T) -> T {
    let lock = || spare.lock().unwrap_or_else(PoisonError::into_inner);
    let mut buffers = lock().pop().unwrap_or_default();
    let out = work(&mut buffers);
    lock().push(buffers);
    out
}
