//! A column of a Parquet file, read page by page.

use parquet::file::metadata::ColumnChunkMetaData;

use crate::dictionary::Dictionary;

use super::damage::{Damage, damaged};
use super::encoding::{PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY, hybrid, length_prefix, no_gaps};
use super::page::{PageHeader, PageKind, Pages, Scratch};
use super::schema::Leaf;
use super::source::Source;
use super::value::{Encoded, Value, Workspace, decode};

/// A page with more rows is taken for damaged: no writer makes one.
const MAX_PAGE_ROWS: usize = 1 << 27;

/// Buffers of a thread that decodes pages.
#[derive(Default)]
pub(super) struct Buffers {
    scratch: Scratch,
    workspace: Workspace,
    levels: Vec<u32>,
    indices: Vec<u32>,
}

/// The values of a column, which wait here until all columns have got as far.
pub(super) struct ColumnReader<V> {
    pub(super) leaf: Leaf,
    pages: Pages,
    /// Rows of the row group that are still in its pages.
    left: usize,
    dictionary: Option<Vec<V>>,
    /// The texts of the row group; the codes in the cells are those of this dictionary.
    texts: Dictionary,
    waiting: Vec<V>,
    /// How many of those that wait have been taken.
    taken: usize,
}

impl<V: Value> ColumnReader<V> {
    pub(super) fn new(leaf: Leaf) -> Self {
        ColumnReader {
            leaf,
            pages: Pages::new(parquet::basic::Compression::UNCOMPRESSED, 0, 0),
            left: 0,
            dictionary: None,
            texts: Dictionary::default(),
            waiting: Vec::new(),
            taken: 0,
        }
    }

    /// Goes on with the column's part of a row group of `rows` rows in a file whose pages end before `end`.
    pub(super) fn begin(&mut self, chunk: &ColumnChunkMetaData, rows: usize, end: u64) -> Result<(), Damage> {
        // Some writers put the dictionary first and do not say so, others say that it is at zero.
        let data = chunk.data_page_offset();
        let start = chunk.dictionary_page_offset().filter(|&at| at > 0).map_or(data, |at| at.min(data));
        let start = u64::try_from(start).ok().filter(|&at| at < end).ok_or(Damage::CUT)?;
        if chunk.file_path().is_some() {
            return Err(damaged("it is in another file"));
        }
        self.pages = Pages::new(chunk.compression(), start, end);
        self.left = rows;
        self.dictionary = None;
        self.texts = Dictionary::default();
        self.waiting.clear();
        self.taken = 0;
        Ok(())
    }

    /// Takes the next `n` values, for which pages are read as needed.
    pub(super) fn take(&mut self, n: usize, source: &Source, buffers: &mut Buffers) -> Result<(), Damage> {
        self.waiting.drain(..self.taken);
        while self.waiting.len() < n {
            self.read_page(source, buffers)?;
        }
        self.taken = n;
        Ok(())
    }

    /// The same, to be changed, with the texts that their codes stand for.
    pub(super) fn taken_with_texts(&mut self) -> (&mut [V], &Dictionary) {
        (&mut self.waiting[..self.taken], &self.texts)
    }

    /// The values that were taken last.
    pub(super) fn taken(&self) -> &[V] {
        &self.waiting[..self.taken]
    }

    fn read_page(&mut self, source: &Source, buffers: &mut Buffers) -> Result<(), Damage> {
        let Buffers { scratch, workspace, levels, indices } = buffers;
        let (header, page) = self.pages.next(source, scratch)?;
        let values = match header.kind {
            PageKind::Other => return Ok(()),
            PageKind::Dictionary => return self.read_dictionary(header, page, workspace),
            PageKind::Data | PageKind::DataV2 { .. } => header.values,
        };
        if values > self.left || values > MAX_PAGE_ROWS {
            return Err(damaged("it has more rows than its row group"));
        }
        self.left -= values;
        let (level_bytes, page) = self.split_levels(header, page)?;
        if !self.leaf.optional || no_gaps(level_bytes, values) {
            return self.read_values(header.encoding, page, values, indices, workspace);
        }
        hybrid(level_bytes, 1, values, levels)?;
        let present = levels.iter().filter(|&&level| level == 1).count();
        let start = self.waiting.len();
        self.read_values(header.encoding, page, present, indices, workspace)?;
        self.spread(start, levels);
        Ok(())
    }

    fn split_levels<'p>(&self, header: PageHeader, page: &'p [u8]) -> Result<(&'p [u8], &'p [u8]), Damage> {
        match header.kind {
            PageKind::DataV2 { levels } => page.split_at_checked(levels).ok_or(Damage::CUT),
            _ if self.leaf.optional => {
                let (length, rest) = length_prefix(page)?;
                rest.split_at_checked(length).ok_or(Damage::CUT)
            }
            _ => Ok((&[], page)),
        }
    }

    fn read_dictionary(
        &mut self,
        header: PageHeader,
        page: &[u8],
        workspace: &mut Workspace,
    ) -> Result<(), Damage> {
        // Every entry takes at least a bit of the page, so that a claim alone allocates nothing.
        if self.dictionary.is_some() || header.values > page.len().saturating_mul(8) {
            return Err(damaged("its dictionary is damaged"));
        }
        let mut entries = Vec::new();
        let values = Encoded { encoding: PLAIN, bytes: page, n: header.values };
        decode(&self.leaf, values, &mut entries, &mut self.texts, workspace)?;
        self.dictionary = Some(entries);
        Ok(())
    }

    /// Appends the `n` values of a page.
    fn read_values(
        &mut self,
        encoding: i64,
        page: &[u8],
        n: usize,
        indices: &mut Vec<u32>,
        workspace: &mut Workspace,
    ) -> Result<(), Damage> {
        if n == 0 {
            return Ok(());
        }
        if !matches!(encoding, PLAIN_DICTIONARY | RLE_DICTIONARY) {
            let values = Encoded { encoding, bytes: page, n };
            return decode(&self.leaf, values, &mut self.waiting, &mut self.texts, workspace);
        }
        let entries = self.dictionary.as_ref().ok_or_else(|| damaged("its dictionary is absent"))?;
        let (&width, packed) = page.split_first().ok_or(Damage::CUT)?;
        hybrid(packed, width.into(), n, indices)?;
        if indices.iter().any(|&i| i as usize >= entries.len()) {
            return Err(damaged("a value is not in its dictionary"));
        }
        self.waiting.extend(indices.iter().filter_map(|&i| entries.get(i as usize)).cloned());
        Ok(())
    }

    /// Moves the values from `start` on to the rows that have one, and puts gaps between them.
    fn spread(&mut self, start: usize, levels: &[u32]) {
        let mut next = self.waiting.len();
        self.waiting.resize(start + levels.len(), V::gap());
        // From the last row to the first, so that no value is overwritten before it has moved.
        for (row, &level) in levels.iter().enumerate().rev() {
            if level == 1 && next > start {
                next -= 1;
                self.waiting.swap(start + row, next);
            }
        }
    }
}
