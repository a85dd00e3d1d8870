//! Rows of numbers, wherever they are kept.
//!
//! The method reads rows by index, a block at a time, and some columns by themselves. [`Rows`] is that interface; dense
//! rows in memory ([`Matrix::new`]) are its first implementation and the only one the kernels read without a copy.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use crate::Error;

/// Rows that are read at a time from a source that is not dense.
const BLOCK: usize = 64;

/// A source of rows; a missing value is NaN.
///
/// Implement it to learn from rows that are not a dense array in memory:
///
/// ```
/// use rffnet::{Matrix, Rows};
///
/// /// Row i is (i, i^2).
/// struct Parabola;
/// impl Rows for Parabola {
///     fn rows(&self) -> usize { 100 }
///     fn columns(&self) -> usize { 2 }
///     fn read(&self, rows: &[usize], out: &mut [f32]) {
///         for (out, &i) in out.chunks_exact_mut(2).zip(rows) {
///             out.copy_from_slice(&[i as f32, (i * i) as f32]);
///         }
///     }
/// }
/// assert_eq!(Matrix::from_rows(&Parabola).rows(), 100);
/// ```
pub trait Rows: Sync {
    /// Number of rows.
    fn rows(&self) -> usize;

    /// Number of columns.
    fn columns(&self) -> usize;

    /// Writes the given rows, each `columns()` long, one after the other.
    fn read(&self, rows: &[usize], out: &mut [f32]);

    /// Writes rows that follow one another.
    fn read_range(&self, rows: Range<usize>, out: &mut [f32]) {
        self.read(&rows.collect::<Vec<_>>(), out);
    }

    /// Writes one column of the given rows. Sources that keep columns apart do better than this.
    fn read_column(&self, column: usize, rows: &[usize], out: &mut [f32]) {
        let d = self.columns();
        let mut block = vec![0.0; BLOCK.min(rows.len()) * d];
        for (rows, out) in rows.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
            let block = &mut block[..rows.len() * d];
            self.read(rows, block);
            block.chunks_exact(d).zip(out).for_each(|(row, out)| *out = row[column]);
        }
    }
}

/// A view of rows: `rows x columns` numbers in memory, row after row, or any other source of [`Rows`].
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a> {
    source: Source<'a>,
    rows: usize,
    columns: usize,
}

#[derive(Clone, Copy)]
enum Source<'a> {
    Dense(&'a [f32]),
    Other(&'a dyn Rows),
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Dense(_) => "dense",
            Source::Other(_) => "rows",
        })
    }
}

impl<'a> Matrix<'a> {
    /// Views `data` as `rows x columns`, row-major.
    pub fn new(data: &'a [f32], rows: usize, columns: usize) -> Result<Self, Error> {
        match rows.checked_mul(columns) {
            Some(len) if len == data.len() => Ok(Self { source: Source::Dense(data), rows, columns }),
            _ => Err(Error::Shape(format!(
                "{} numbers cannot be read as {rows} rows of {columns} columns",
                data.len()
            ))),
        }
    }

    /// Views any source of rows.
    pub fn from_rows(rows: &'a dyn Rows) -> Self {
        Self { source: Source::Other(rows), rows: rows.rows(), columns: rows.columns() }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All numbers, row after row; copied where they are not dense already.
    pub fn to_dense(&self) -> Cow<'a, [f32]> {
        match self.source {
            Source::Dense(data) => Cow::Borrowed(data),
            Source::Other(rows) => {
                let mut all = vec![0.0; self.rows * self.columns];
                rows.read_range(0..self.rows, &mut all);
                Cow::Owned(all)
            }
        }
    }

    /// The numbers, row after row, if that is how they are kept.
    pub(crate) fn dense(&self) -> Option<&'a [f32]> {
        match self.source {
            Source::Dense(data) => Some(data),
            Source::Other(_) => None,
        }
    }

    /// Hands over the given rows, one by one, in their order, each with its place among them.
    pub fn for_each_row(&self, rows: &[usize], mut take: impl FnMut(usize, &[f32])) {
        let d = self.columns;
        match self.source {
            Source::Dense(data) => {
                rows.iter().enumerate().for_each(|(at, &i)| take(at, &data[i * d..(i + 1) * d]));
            }
            Source::Other(source) => {
                let mut block = vec![0.0; BLOCK.min(rows.len()) * d];
                for (first, rows) in rows.chunks(BLOCK).enumerate() {
                    let block = &mut block[..rows.len() * d];
                    source.read(rows, block);
                    let places = block.chunks_exact(d.max(1)).enumerate();
                    places.for_each(|(at, row)| take(first * BLOCK + at, row));
                }
            }
        }
    }

    /// One column of the given rows.
    pub(crate) fn column(&self, j: usize, rows: impl Iterator<Item = usize>) -> Vec<f32> {
        match self.source {
            Source::Dense(data) => rows.map(|i| data[i * self.columns + j]).collect(),
            Source::Other(source) => {
                let rows: Vec<usize> = rows.collect();
                let mut out = vec![0.0; rows.len()];
                source.read_column(j, &rows, &mut out);
                out
            }
        }
    }

    /// The first cell, in the order of the rows, that is `wanted`: its row, its column, its value.
    pub fn find(&self, wanted: impl Fn(f32) -> bool) -> Option<(usize, usize, f32)> {
        let d = self.columns;
        let place = |first: usize, cells: &[f32]| {
            let at = cells.iter().position(|&v| wanted(v))?;
            Some((first + at / d, at % d, cells[at]))
        };
        match self.source {
            Source::Dense(data) => place(0, data),
            Source::Other(source) => (0..self.rows).step_by(BLOCK).find_map(|first| {
                let end = self.rows.min(first + BLOCK);
                let mut block = vec![0.0; (end - first) * d];
                source.read_range(first..end, &mut block);
                place(first, &block)
            }),
        }
    }
}
