//! Data for RFFNet: files in, matrices out.
//!
//! Everything that reads a table ends in the same plain struct, a [`Table`]: input columns as one row-major
//! `f32` matrix with their types, the target and the weights beside it.
//!
//! ```text
//! bytes  ->  open       files or standard input, gzip and zstd by magic, format by name or by the first bytes
//!        ->  csv | parquet | jsonl | libsvm | npy       blocks of rows; the first three on all threads
//!        ->  layout     which column is an input, the target, the weight, or left out
//!        ->  collector  all rows: numbers, gaps, and codes of texts
//!        ->  finish     the type of each column, from all of its cells  =>  Table  ->  split, take, write
//! simulate -----------------------------------------------------------------^
//! ```
//!
//! ```
//! use rffnet_data::{ReadOptions, Task, read_from};
//!
//! let text = "age,income,bought\n31,2.5,yes\n47,3.1,no\n";
//! let options = ReadOptions { target: Some("bought".into()), ..ReadOptions::default() };
//! let table = read_from(text.as_bytes(), "shop.csv", &options)?;
//! assert_eq!(table.names, ["age", "income"]);
//! assert_eq!(table.x, [31.0, 2.5, 47.0, 3.1]);
//! let target = table.target.unwrap().to_target(Task::Auto)?;
//! assert_eq!(target.classes().unwrap(), ["no", "yes"]);
//! # Ok::<(), rffnet_data::DataError>(())
//! ```
//!
//! A column is a number, a boolean, a category or a date ([`rffnet::ColumnType`]). In text files that is found out:
//!
//! | the cells of a column | its type |
//! |---|---|
//! | numbers; amounts of money, percents, decimal commas | number |
//! | `true`/`false`, `yes`/`no`, `t`/`f`, `y`/`n`, `on`/`off` | boolean |
//! | dates and times, with the order of day and month that all of them allow | date |
//! | texts; few whole numbers among texts (`0`, `1`, `2`, `3+`) | category |
//! | a different text in every row, sentences, one text, row numbers | left out, with a note |
//! | numbers with a few other texts | an error that says what can be done |
//!
//! [`Table::report`] says what each column is, [`Table::notes`] what was decided, and [`ReadOptions`] decide otherwise.
//!
//! What holds for every reader:
//!
//! - **Memory follows the bytes that are there**, never what a header claims: cells, columns and dense sizes
//!   have limits, and a file that passes one is refused with a sentence.
//! - **No input panics.** Every fault is a [`DataError`]: one sentence that names the file, the row, the line
//!   and the column, and says what to do.
//! - **Nothing is guessed silently**: a decision that another reader might take differently is in the notes, and all columns
//!   that cannot be read are named in one error, with the flags that help.
//! - **A table is the same** for any number of threads.
//!
//! [`Simulated`] draws the six simulated sets of the paper, [`split`] and [`stratified_split`] cut rows into
//! a training and a test part, [`folds()`] and its like into several, and [`write()`] puts a table back into a file.

#![deny(missing_docs)]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod amounts;
mod block;
mod cell;
mod collector;
mod column;
mod csv;
mod dates;
mod dictionary;
mod error;
mod facts;
mod faults;
mod finish;
mod folds;
mod glob;
mod ids;
mod infer;
mod input;
mod jsonl;
mod layout;
mod libsvm;
mod memory;
mod names;
mod npy;
mod npy_header;
mod number;
mod open;
mod options;
mod order;
mod packed;
mod parquet;
mod random;
mod report;
mod sample;
mod several;
mod simulate;
mod split;
mod table;
mod target;
mod words;
mod write;

pub use column::{Column, Task};
pub use error::{DataError, ErrorKind};
pub use folds::{Fold, folds, group_folds, stratified_folds, subsample, time_folds};
pub use names::nearest;
pub use open::{read, read_all, read_from};
pub use options::{ColumnRef, Format, ReadOptions, Select};
pub use order::time_order;
pub use parquet::{Values, write_parquet};
pub use report::{ColumnKind, ColumnReport};
pub use sample::Sample;
pub use simulate::Simulated;
pub use split::{group_split, split, stratified_split, time_split};
pub use table::Table;
pub use write::{csv_cell, write, write_csv, write_libsvm, write_npy};

/// More columns than this are taken for a mistake (a matrix written on one line), not for data.
pub const MAX_COLUMNS: usize = 1_000_000;
