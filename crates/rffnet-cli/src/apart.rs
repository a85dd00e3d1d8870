//! Rows that must not be told apart by chance: those of one group, and those in the order of time.

use std::collections::HashMap;

use clap::Args;
use rffnet::Validation;
use rffnet_data::{ColumnRef, ReadOptions, Table, time_order};
use serde::Deserialize;

use crate::failure::Failure;
use crate::options::ColumnOptions;
use crate::text::name;
use crate::values;

/// Which rows stay together. Shared by `fit` and `compare`.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct ApartOptions {
    /// Rows that agree in this column are all learned from or all held out; it is not an input [default: none]
    #[arg(long, value_name = "COL", conflicts_with = "time")]
    #[serde(deserialize_with = "values::column")]
    group: Option<ColumnRef>,
    /// The rows are in the order of time, or of this column, which is no input then: what is held out comes after what is
    /// learned from [default: rows are held out at random]
    #[arg(long, value_name = "COL", num_args = 0..=1)]
    #[serde(deserialize_with = "values::time")]
    time: Option<Option<ColumnRef>>,
}

/// How rows are held out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Apart {
    /// At random.
    Random,
    /// By groups, a number for each row.
    Groups(Vec<u32>),
    /// The rows are in the order of time.
    Time,
}

impl ApartOptions {
    /// These, and what they leave open from `file`.
    pub(crate) fn or(self, file: ApartOptions) -> ApartOptions {
        if self.group.is_some() || self.time.is_some() { self } else { file }
    }

    pub(crate) fn group(&self) -> Option<&ColumnRef> {
        self.group.as_ref()
    }

    pub(crate) fn in_time(&self) -> bool {
        self.time.is_some()
    }

    /// The flags that mean nothing to a simulated set, and whether they are given.
    pub(crate) fn of_files(&self) -> [(&'static str, bool); 2] {
        [("--group", self.group.is_some()), ("--time", self.time.is_some())]
    }

    /// The column that says what stays together, and its flag.
    fn column(&self) -> Option<(&ColumnRef, &'static str)> {
        let time = self.time.as_ref().and_then(Option::as_ref);
        self.group.as_ref().map(|column| (column, "--group")).or(time.map(|column| (column, "--time")))
    }

    /// Refuses what contradicts itself.
    pub(crate) fn check(&self, data: &[String], columns: &ColumnOptions) -> Result<(), Failure> {
        if self.group.is_some() && self.time.is_some() {
            return Err(Failure::usage("--group and --time exclude each other; give one of them"));
        }
        let Some((column, flag)) = self.column() else { return Ok(()) };
        if data.is_empty() && flag == "--time" {
            return Err(Failure::usage(format!(
                "--time takes the word behind it, '{}', for a column; if that is the data file, put it before --time",
                name(&column.to_string(), 40)
            )));
        }
        if Some(column) == columns.target.as_ref() || Some(column) == columns.weight.as_ref() {
            return Err(Failure::usage(format!(
                "{flag} cannot be the column of --target or --weight; name another"
            )));
        }
        Ok(())
    }

    /// The column is read, but not as an input.
    pub(crate) fn reading(&self, mut options: ReadOptions) -> ReadOptions {
        let column = self.column().map(|(column, _)| column.clone());
        options.ignore.extend(column.clone());
        options.keep.extend(column);
        options
    }

    /// With the flag in the place of `--ignore`, by which the reader knows the column.
    pub(crate) fn named(&self, failure: Failure, columns: &ColumnOptions) -> Failure {
        let Some((column, flag)) = self.column() else { return failure };
        let failure = failure.with_flag(column, "--ignore", flag);
        // The column may be the target or the weight by its position; with --ignore, either flag may have named it.
        let reader = "cannot be left out; drop it from --ignore";
        let words = if columns.ignores() {
            format!("{reader}, or name another column for {flag}")
        } else {
            format!("cannot be the column of {flag}; name another")
        };
        failure.replaced(reader, &words)
    }

    /// The rows, in the order of time if there is a column of it, and how they are held out.
    pub(crate) fn arrange(&self, mut table: Table) -> Result<(Table, Apart), Failure> {
        let Some((_, flag)) = self.column() else {
            return Ok((table, if self.in_time() { Apart::Time } else { Apart::Random }));
        };
        let Some((column, texts)) = table.kept.pop() else {
            return Err(Failure::request(format!("{}: the column of {flag} was not read", table.source)));
        };
        if let Some(row) = texts.iter().position(|text| text.trim().is_empty()) {
            return Err(Failure::request(format!(
                "{}: row {} has no value in column '{}' of {flag}; drop the row or fill it in",
                table.source,
                row + 1,
                name(&column, 40)
            )));
        }
        if flag == "--group" {
            return Ok((table, Apart::Groups(numbered(&texts))));
        }
        let order = time_order(&texts).map_err(|row| {
            Failure::request(format!(
                "{}: row {} holds '{}' in column '{}' of --time, which is not a number or a date like those before",
                table.source,
                row + 1,
                name(&texts[row], 40),
                name(&column, 40)
            ))
        })?;
        Ok((if order.is_sorted() { table } else { table.take(&order) }, Apart::Time))
    }
}

impl Apart {
    /// As a fit holds out rows for validation.
    pub(crate) fn validation(&self) -> Validation<'_> {
        match self {
            Apart::Random => Validation::Random,
            Apart::Groups(groups) => Validation::Groups(groups),
            Apart::Time => Validation::Last,
        }
    }

    /// Of the given rows.
    pub(crate) fn take(&self, rows: &[usize]) -> Apart {
        match self {
            Apart::Groups(groups) => Apart::Groups(rows.iter().map(|&i| groups[i]).collect()),
            other => other.clone(),
        }
    }
}

/// Groups counted from 0 in the order of their first rows.
fn numbered(texts: &[String]) -> Vec<u32> {
    let mut seen: HashMap<&str, u32> = HashMap::new();
    let rows = texts.iter().map(|text| {
        let next = seen.len() as u32;
        *seen.entry(text.trim()).or_insert(next)
    });
    rows.collect()
}
