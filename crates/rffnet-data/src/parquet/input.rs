//! The columns of a file that are read: an input's part of a window becomes cells of its block.

use parquet::file::metadata::ColumnChunkMetaData;

use crate::block::Odd;
use crate::cell::At;
use crate::packed::{NO_ROOM, Packed, Unpacked};
use crate::words;

use super::column::{Buffers, ColumnReader};
use super::damage::Damage;
use super::schema::{Leaf, Meaning};
use super::source::Source;

/// A column of the file that is read for one purpose.
pub(super) struct Used<V> {
    /// Its place in the file.
    pub(super) column: usize,
    pub(super) reader: ColumnReader<V>,
}

/// Why a column cannot be read on.
pub(super) enum Fail {
    Damage(Damage),
    /// In this row of the window.
    Infinite(usize),
}

/// An input column.
pub(super) enum Input {
    Cells(Used<Packed>),
    /// A category whose levels are no texts in the file: they are written out, so that no digit is lost.
    Levels {
        used: Used<String>,
        cells: Vec<Packed>,
    },
}

impl Input {
    pub(super) fn new(column: usize, leaf: Leaf, category: bool) -> Self {
        if category && !is_text(&leaf) {
            Input::Levels { used: Used { column, reader: ColumnReader::new(leaf) }, cells: Vec::new() }
        } else {
            Input::Cells(Used { column, reader: ColumnReader::new(leaf) })
        }
    }

    /// Its place in the file.
    pub(super) fn column(&self) -> usize {
        match self {
            Input::Cells(used) => used.column,
            Input::Levels { used, .. } => used.column,
        }
    }

    pub(super) fn leaf(&self) -> &Leaf {
        match self {
            Input::Cells(used) => &used.reader.leaf,
            Input::Levels { used, .. } => &used.reader.leaf,
        }
    }

    /// The cells that were read last.
    pub(super) fn cells(&self) -> &[Packed] {
        match self {
            Input::Cells(used) => used.reader.taken(),
            Input::Levels { cells, .. } => cells,
        }
    }

    /// Goes on with the column's part of a row group.
    pub(super) fn begin(&mut self, chunk: &ColumnChunkMetaData, rows: usize, end: u64) -> Result<(), Damage> {
        match self {
            Input::Cells(used) => used.reader.begin(chunk, rows, end),
            Input::Levels { used, .. } => used.reader.begin(chunk, rows, end),
        }
    }

    /// Reads the column's part of a window. Codes of texts become those of the block.
    pub(super) fn read(
        &mut self,
        rows: usize,
        source: &Source,
        buffers: &mut Buffers,
        odd: &mut Odd,
    ) -> Result<(), Fail> {
        match self {
            Input::Cells(used) => used.read(rows, source, buffers, odd),
            Input::Levels { used, cells } => {
                used.reader.take(rows, source, buffers).map_err(Fail::Damage)?;
                cells.clear();
                cells.extend((1..).zip(used.reader.taken()).map(|(row, text)| {
                    let at = At { row, line: None };
                    if words::is_gap(text) {
                        odd.gap("", at);
                        return Packed::GAP;
                    }
                    Packed::text(odd.text(text, at))
                }));
                Ok(())
            }
        }
    }
}

fn is_text(leaf: &Leaf) -> bool {
    matches!(leaf.meaning, Meaning::Text | Meaning::Uuid)
}

impl Used<Packed> {
    fn read(
        &mut self,
        rows: usize,
        source: &Source,
        buffers: &mut Buffers,
        odd: &mut Odd,
    ) -> Result<(), Fail> {
        self.reader.take(rows, source, buffers).map_err(Fail::Damage)?;
        let at = |row: usize| At { row: row as u64 + 1, line: None };
        if is_text(&self.reader.leaf) {
            let (cells, texts) = self.reader.taken_with_texts();
            let mut codes = Codes::new(texts.len());
            for (row, cell) in cells.iter_mut().enumerate() {
                match cell.get() {
                    Unpacked::Text(code) => {
                        *cell = Packed::text(codes.find(code, || odd.text(texts.get(code), at(row))))
                    }
                    _ => odd.gap("", at(row)),
                }
            }
            return Ok(());
        }
        let cells = self.reader.taken();
        // Most columns are done with this count, which is one pass of vector instructions.
        let odd_cells = cells.iter().filter(|cell| !cell.float().is_finite()).count();
        if odd_cells == 0 {
            return Ok(());
        }
        if let Some(row) = cells.iter().position(|cell| cell.float().is_infinite()) {
            return Err(Fail::Infinite(row));
        }
        if let Some(first) = cells.iter().position(|&cell| cell == Packed::GAP) {
            odd.gap("", at(first));
            odd.get_mut().gaps += odd_cells - 1;
        }
        Ok(())
    }
}

/// The codes that a column's texts have in a block, found as they come up.
pub(super) struct Codes(Vec<u32>);

impl Codes {
    const OPEN: u32 = u32::MAX;

    pub(super) fn new(texts: usize) -> Self {
        Codes(vec![Self::OPEN; texts])
    }

    pub(super) fn find(&mut self, code: u32, new: impl FnOnce() -> u32) -> u32 {
        // All texts beyond the most that a column may have share a code.
        let Some(slot) = self.0.get_mut(code as usize).filter(|_| code < NO_ROOM) else { return NO_ROOM };
        if *slot == Self::OPEN {
            *slot = new();
        }
        *slot
    }
}
