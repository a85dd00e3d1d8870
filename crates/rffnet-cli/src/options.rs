//! Where `fit` takes its rows from, which column is what, and where the model goes.

use std::path::PathBuf;

use clap::Args;
use rffnet::Missing;
use rffnet_data::{ColumnRef, ReadOptions, Simulated, Task};
use serde::Deserialize;

use crate::cli::Globals;
use crate::failure::Failure;
use crate::values::{self, named};

/// Whether a CSV file starts with names. Shared by all commands that read one.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct Header {
    /// The first line of a CSV file holds the names [default: found out]
    #[arg(long, num_args = 0, default_missing_value = "true", conflicts_with = "no_header")]
    pub(crate) header: Option<bool>,
    /// The first line of a CSV file holds data [default: found out]
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub(crate) no_header: Option<bool>,
}

impl Header {
    /// Whether there is one; `None` finds out.
    pub(crate) fn choice(&self) -> Option<bool> {
        self.header.or(self.no_header.map(|no| !no))
    }
}

/// Which column of a file is what, and what to learn. Shared by `fit` and `compare`.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct ColumnOptions {
    /// The column to predict, by name or 1-based position [default: the last one of a file without a header, and
    /// LIBSVM's label]
    #[arg(long, short, value_name = "COL")]
    #[serde(deserialize_with = "values::column")]
    pub(crate) target: Option<ColumnRef>,
    /// The column of row weights [default: none]
    #[arg(long, value_name = "COL")]
    #[serde(deserialize_with = "values::column")]
    pub(crate) weight: Option<ColumnRef>,
    /// Columns to leave out; repeat it or separate with commas [default: none]
    #[arg(long, value_name = "COL", value_delimiter = ',')]
    #[serde(deserialize_with = "values::columns")]
    ignore: Option<Vec<ColumnRef>>,
    #[command(flatten)]
    #[serde(flatten)]
    header: Header,
    /// The width of a LIBSVM file [default: its largest index]
    #[arg(long, value_name = "N", value_parser = values::whole::<usize>)]
    columns: Option<usize>,
    /// What to learn: `auto` takes text and targets of two values for classes [default: auto]
    #[arg(long, value_parser = named(Task::ALL))]
    #[serde(deserialize_with = "values::parsed")]
    task: Option<Task>,
}

impl ColumnOptions {
    /// These, and what they leave open from `file`.
    fn or(self, file: ColumnOptions) -> ColumnOptions {
        ColumnOptions {
            target: self.target.or(file.target),
            weight: self.weight.or(file.weight),
            ignore: self.ignore.or(file.ignore),
            header: if self.header.choice().is_some() { self.header } else { file.header },
            columns: self.columns.or(file.columns),
            task: self.task.or(file.task),
        }
    }

    pub(crate) fn task(&self) -> Task {
        self.task.unwrap_or_default()
    }

    /// How to read a file with these columns.
    pub(crate) fn read_options(&self, missing: Option<Missing>, globals: &Globals) -> ReadOptions {
        ReadOptions {
            format: globals.format,
            target: self.target.clone(),
            weight: self.weight.clone(),
            ignore: self.ignore.clone().unwrap_or_default(),
            header: self.header.choice(),
            missing: missing == Some(Missing::Mean),
            columns: self.columns,
            ..ReadOptions::default()
        }
    }

    /// The flags that mean nothing to a simulated set, and whether they are given.
    pub(crate) fn of_files(&self) -> [(&'static str, bool); 5] {
        [
            ("--weight", self.weight.is_some()),
            ("--ignore", self.ignore.is_some()),
            ("--columns", self.columns.is_some()),
            ("--header", self.header.header.is_some()),
            ("--no-header", self.header.no_header.is_some()),
        ]
    }
}

/// Refuses no source of rows, two of them, and a number of rows for a file. `purpose` is what they are for.
pub(crate) fn check_source(
    purpose: &str,
    data: Option<&String>,
    dataset: Option<Simulated>,
    rows: Option<usize>,
) -> Result<(), Failure> {
    Err(Failure::usage(match (data, dataset) {
        (None, None) => {
            format!("nothing to {purpose}: give a data file, or --dataset NAME for a simulated set")
        }
        (Some(_), Some(_)) => "a data file and --dataset exclude each other; give one of them".into(),
        (Some(_), None) if rows.is_some() => {
            "--rows belongs to --dataset; all rows of a file are used".into()
        }
        _ => return Ok(()),
    }))
}

/// The data of a fit, and where the model goes. A configuration file uses the same names.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Data")]
pub(crate) struct DataOptions {
    /// The rows to learn from: CSV, LIBSVM or .npy, gzip or not; `-` is standard input
    #[arg(help_heading = None)]
    pub(crate) data: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) columns: ColumnOptions,
    /// Fit a built-in simulated set instead of a file; 2,000 further rows are the test part [default: none]
    #[arg(long, value_name = "NAME", value_parser = named(Simulated::ALL))]
    #[serde(deserialize_with = "values::parsed")]
    pub(crate) dataset: Option<Simulated>,
    /// Rows to draw from the simulated set [default: 10000]
    #[arg(long, value_name = "N", value_parser = values::whole::<usize>)]
    pub(crate) rows: Option<usize>,
    /// A file of rows to test on, with the same columns [default: none]
    #[arg(long, value_name = "FILE")]
    pub(crate) test: Option<String>,
    /// Share of the rows to hold out and test on, above 0 and below 1 [default: none]
    #[arg(long, value_name = "F", value_parser = values::real, allow_negative_numbers = true)]
    pub(crate) test_fraction: Option<f64>,
    /// Write the model to this file [default: do not keep it]
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) output: Option<PathBuf>,
}

impl DataOptions {
    /// These, and what they leave open from `file`.
    pub(crate) fn or(self, file: DataOptions) -> DataOptions {
        // Of things that exclude each other, the command line's choice shuts out the file's.
        let source = self.data.is_some() || self.dataset.is_some();
        let test = source || self.test.is_some() || self.test_fraction.is_some();
        DataOptions {
            data: if source { self.data } else { file.data },
            dataset: if source { self.dataset } else { file.dataset },
            rows: self.rows.or(if source { None } else { file.rows }),
            test: if test { self.test } else { file.test },
            test_fraction: if test { self.test_fraction } else { file.test_fraction },
            columns: self.columns.or(file.columns),
            output: self.output.or(file.output),
        }
    }

    /// Refuses requests that contradict themselves, wherever their parts come from.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let usage = |sentence: &str| Err(Failure::usage(sentence));
        check_source("fit", self.data.as_ref(), self.dataset, self.rows)?;
        if self.test.is_some() && self.test_fraction.is_some() {
            return usage("--test and --test-fraction exclude each other; give one of them");
        }
        if self.data.as_deref() == Some("-") && self.test.as_deref() == Some("-") {
            return usage("the data and --test cannot both be standard input");
        }
        if self.dataset.is_some() {
            let test = [("--test", self.test.is_some()), ("--test-fraction", self.test_fraction.is_some())];
            let mut flags = test.into_iter().chain(self.columns.of_files());
            if let Some((flag, _)) = flags.find(|(_, given)| *given) {
                return usage(&format!(
                    "{flag} belongs to a data file; --dataset has its own columns and test rows"
                ));
            }
        }
        if self.output.as_ref().is_some_and(|path| path.as_os_str() == "-") {
            return usage("a model cannot be written to standard output; give -o a file name");
        }
        Ok(())
    }
}
