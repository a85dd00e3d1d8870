//! What a column holds, counted over all rows: the ground on which its type is decided.

use rayon::prelude::*;

use crate::block::OddCells;
use crate::cell::At;
use crate::collector::Declared;
use crate::packed::{NO_ROOM, Packed, Unpacked};

/// The cells of one column.
pub(crate) struct Facts<'a> {
    pub(crate) name: &'a str,
    pub(crate) rows: usize,
    pub(crate) declared: Option<Declared>,
    pub(crate) odd: &'a OddCells,
    pub(crate) counts: Counts,
}

/// What the cells of a column are.
#[derive(Clone, Default)]
pub(crate) struct Counts {
    pub(crate) numbers: usize,
    /// Cells per text.
    pub(crate) texts: Vec<usize>,
    /// Cells whose texts did not fit into the dictionary.
    pub(crate) no_room: usize,
    pub(crate) distinct: Distinct,
}

/// The different numbers of a column, as long as they are few.
#[derive(Clone)]
pub(crate) struct Distinct(Option<Vec<f64>>);

impl Default for Distinct {
    fn default() -> Self {
        Distinct(Some(Vec::new()))
    }
}

impl Distinct {
    /// More are not counted.
    const LIMIT: usize = 50;

    pub(crate) fn add(&mut self, value: f64) {
        let Some(values) = &mut self.0 else { return };
        if let Err(place) = values.binary_search_by(|v| v.total_cmp(&value)) {
            values.insert(place, value);
            if values.len() > Self::LIMIT {
                self.0 = None;
            }
        }
    }

    fn merge(&mut self, other: &Distinct) {
        match &other.0 {
            Some(values) => values.iter().for_each(|&v| self.add(v)),
            None => self.0 = None,
        }
    }

    /// All of them, in their order, if they are whole and at most `limit`.
    pub(crate) fn few_whole(&self, limit: usize) -> Option<&[f64]> {
        self.0.as_deref().filter(|values| values.len() <= limit && values.iter().all(|v| v.fract() == 0.0))
    }
}

impl Counts {
    pub(crate) fn add<T: Into<f64>>(&mut self, cell: Unpacked<T>) {
        match cell {
            Unpacked::Gap => {}
            Unpacked::Number(value) => {
                self.numbers += 1;
                // -0 and 0 are one number.
                self.distinct.add(value.into() + 0.0);
            }
            Unpacked::Text(NO_ROOM) => self.no_room += 1,
            Unpacked::Text(code) => {
                let code = code as usize;
                if self.texts.len() <= code {
                    self.texts.resize(code + 1, 0);
                }
                self.texts[code] += 1;
            }
        }
    }

    fn merge(mut self, other: &Counts) -> Self {
        self.numbers += other.numbers;
        self.no_room += other.no_room;
        if self.texts.len() < other.texts.len() {
            self.texts.resize(other.texts.len(), 0);
        }
        self.texts.iter_mut().zip(&other.texts).for_each(|(sum, n)| *sum += n);
        self.distinct.merge(&other.distinct);
        self
    }
}

/// Counts the cells of the given columns, in one pass over the rows.
pub(crate) fn count_columns(cells: &[Packed], width: usize, columns: &[usize]) -> Vec<Counts> {
    if columns.is_empty() || width == 0 {
        return vec![Counts::default(); columns.len()];
    }
    let rows = cells.len() / width;
    let part = rows.div_ceil(rayon::current_num_threads()).max(1);
    let parts: Vec<Vec<Counts>> = cells
        .par_chunks(part * width)
        .map(|rows| {
            let mut counts = vec![Counts::default(); columns.len()];
            for row in rows.chunks_exact(width) {
                for (counts, &k) in counts.iter_mut().zip(columns) {
                    counts.add(row[k].get());
                }
            }
            counts
        })
        .collect();
    let none = vec![Counts::default(); columns.len()];
    parts.iter().fold(none, |sums, part| sums.into_iter().zip(part).map(|(sum, n)| sum.merge(n)).collect())
}

impl Facts<'_> {
    /// How many different texts there are, as far as they are known.
    pub(crate) fn texts(&self) -> usize {
        self.odd.texts.len()
    }

    /// The texts with their codes.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (usize, &str)> + Clone {
        (0..self.texts()).map(|code| (code, self.odd.texts.get(code as u32)))
    }

    /// The cells that hold a text.
    pub(crate) fn count(&self, code: usize) -> usize {
        self.counts.texts.get(code).copied().unwrap_or(0)
    }

    /// The cells that hold one of these texts, and the first of them with its place.
    pub(crate) fn first_of(&self, codes: &[usize]) -> (usize, Option<(At, &str)>) {
        let cells = codes.iter().map(|&code| self.count(code)).sum();
        // Codes are given out in the order of the rows.
        let first = codes.iter().min().map(|&code| code as u32);
        let first = first.and_then(|code| Some((self.odd.texts.first(code)?, self.odd.texts.get(code))));
        (cells, first)
    }
}
