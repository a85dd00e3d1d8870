//! Where rows come from, which column is what, and where a model goes.

use std::path::PathBuf;

use clap::Args;
use rffnet::Missing;
use rffnet_data::{ColumnRef, ReadOptions, Simulated, Task};
use serde::Deserialize;

use crate::apart::ApartOptions;
use crate::cli::Globals;
use crate::failure::Failure;
use crate::values::{self, named};

/// How a CSV file is written. Shared by all commands that read one.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct CsvOptions {
    /// The first line of a CSV file holds the names [default: found out]
    #[arg(long, num_args = 0, default_missing_value = "true", conflicts_with = "no_header")]
    pub(crate) header: Option<bool>,
    /// The first line of a CSV file holds data [default: found out]
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub(crate) no_header: Option<bool>,
    /// What separates the cells of a CSV file: `,` `;` `|`, tab, space or another character [default: found out]
    #[arg(long, value_name = "C", value_parser = values::delimiter)]
    #[serde(deserialize_with = "values::delimiter_key")]
    delimiter: Option<u8>,
}

impl CsvOptions {
    /// Puts these into `options`.
    pub(crate) fn with(&self, options: ReadOptions) -> ReadOptions {
        ReadOptions { header: self.header(), delimiter: self.delimiter, ..options }
    }

    /// Whether there is a header; `None` finds out.
    fn header(&self) -> Option<bool> {
        self.header.or(self.no_header.map(|no| !no))
    }

    /// These, and what they leave open from `file`.
    fn or(self, file: CsvOptions) -> CsvOptions {
        let own = self.header().is_some();
        CsvOptions {
            header: if own { self.header } else { file.header },
            no_header: if own { self.no_header } else { file.no_header },
            delimiter: self.delimiter.or(file.delimiter),
        }
    }
}

/// Columns of a model in which what cannot be read counts as a gap. Shared by the commands that read rows for a model.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct GapOptions {
    /// Columns of numbers in which what is none counts as a gap; repeat it or separate with commas [default: such cells
    /// are an error]
    #[arg(long, value_name = "COL", value_delimiter = ',')]
    numeric: Vec<ColumnRef>,
    /// Columns of dates or times in which what is none counts as a gap; repeat it or separate with commas [default: such
    /// cells are an error]
    #[arg(long, value_name = "COL", value_delimiter = ',')]
    date: Vec<ColumnRef>,
}

impl GapOptions {
    /// Puts these into `options`.
    pub(crate) fn with(&self, options: ReadOptions) -> ReadOptions {
        ReadOptions { numeric: self.numeric.clone(), date: self.date.clone(), ..options }
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
    /// Columns that are categories, whatever they hold; repeat it or separate with commas [default: found out]
    #[arg(long, value_name = "COL", value_delimiter = ',')]
    #[serde(deserialize_with = "values::columns")]
    categorical: Option<Vec<ColumnRef>>,
    /// Columns that are numbers: what is none counts as a gap; repeat it or separate with commas [default: found out]
    #[arg(long, value_name = "COL", value_delimiter = ',')]
    #[serde(deserialize_with = "values::columns")]
    numeric: Option<Vec<ColumnRef>>,
    /// Columns that are dates or times: what is none counts as a gap; repeat it or separate with commas [default: found
    /// out]
    #[arg(long, value_name = "COL", value_delimiter = ',')]
    #[serde(deserialize_with = "values::columns")]
    date: Option<Vec<ColumnRef>>,
    /// Leave out rows without a target [default: such rows are an error]
    #[arg(long)]
    drop_missing_target: bool,
    #[command(flatten)]
    #[serde(flatten)]
    csv: CsvOptions,
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
            categorical: self.categorical.or(file.categorical),
            numeric: self.numeric.or(file.numeric),
            date: self.date.or(file.date),
            drop_missing_target: self.drop_missing_target || file.drop_missing_target,
            csv: self.csv.or(file.csv),
            columns: self.columns.or(file.columns),
            task: self.task.or(file.task),
        }
    }

    pub(crate) fn task(&self) -> Task {
        self.task.unwrap_or_default()
    }

    /// Whether columns are left out.
    pub(crate) fn ignores(&self) -> bool {
        self.ignore.is_some()
    }

    /// How to read a file with these columns.
    pub(crate) fn read_options(&self, missing: Option<Missing>, globals: &Globals) -> ReadOptions {
        let list = |columns: &Option<Vec<ColumnRef>>| columns.clone().unwrap_or_default();
        self.csv.with(ReadOptions {
            format: globals.format,
            target: self.target.clone(),
            weight: self.weight.clone(),
            ignore: list(&self.ignore),
            categorical: list(&self.categorical),
            numeric: list(&self.numeric),
            date: list(&self.date),
            missing: missing != Some(Missing::Error),
            drop_missing_target: self.drop_missing_target,
            columns: self.columns,
            ..ReadOptions::default()
        })
    }

    /// The flags that mean nothing to a simulated set, and whether they are given.
    pub(crate) fn of_files(&self) -> [(&'static str, bool); 10] {
        [
            ("--weight", self.weight.is_some()),
            ("--ignore", self.ignore.is_some()),
            ("--categorical", self.categorical.is_some()),
            ("--numeric", self.numeric.is_some()),
            ("--date", self.date.is_some()),
            ("--drop-missing-target", self.drop_missing_target),
            ("--columns", self.columns.is_some()),
            ("--header", self.csv.header.is_some()),
            ("--no-header", self.csv.no_header.is_some()),
            ("--delimiter", self.csv.delimiter.is_some()),
        ]
    }
}

/// Refuses no source of rows, two of them, and a number of rows for a file. `purpose` is what they are for.
pub(crate) fn check_source(
    purpose: &str,
    data: &[String],
    dataset: Option<Simulated>,
    rows: Option<usize>,
) -> Result<(), Failure> {
    Err(Failure::usage(match (data, dataset) {
        ([], None) => {
            format!("nothing to {purpose}: give a data file, or --dataset NAME for a simulated set")
        }
        ([_, ..], Some(_)) => "a data file and --dataset exclude each other; give one of them".into(),
        ([_, ..], None) if rows.is_some() => {
            "--rows belongs to --dataset; all rows of a file are used".into()
        }
        ([_, _, ..], None) if data.iter().any(|path| path == "-") => {
            "standard input cannot be read together with files; give the one or the others".into()
        }
        _ => return Ok(()),
    }))
}

/// The data of a fit, and where the model goes. A configuration file uses the same names.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Data")]
pub(crate) struct DataOptions {
    /// The rows to learn from: CSV, Parquet, JSON lines, LIBSVM or .npy, compressed or not; several files or a pattern such
    /// as 'part-*.csv' are read as one; `-` is standard input
    #[arg(help_heading = None)]
    #[serde(deserialize_with = "values::paths")]
    pub(crate) data: Vec<String>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) columns: ColumnOptions,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) apart: ApartOptions,
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
        let source = !self.data.is_empty() || self.dataset.is_some();
        let test = source || self.test.is_some() || self.test_fraction.is_some();
        DataOptions {
            data: if source { self.data } else { file.data },
            dataset: if source { self.dataset } else { file.dataset },
            rows: self.rows.or(if source { None } else { file.rows }),
            test: if test { self.test } else { file.test },
            test_fraction: if test { self.test_fraction } else { file.test_fraction },
            columns: self.columns.or(file.columns),
            apart: self.apart.or(file.apart),
            output: self.output.or(file.output),
        }
    }

    /// Refuses requests that contradict themselves, wherever their parts come from.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let usage = |sentence: &str| Err(Failure::usage(sentence));
        self.apart.check(&self.data, &self.columns)?;
        check_source("fit", &self.data, self.dataset, self.rows)?;
        if self.test.is_some() && self.test_fraction.is_some() {
            return usage("--test and --test-fraction exclude each other; give one of them");
        }
        if self.data == ["-"] && self.test.as_deref() == Some("-") {
            return usage("the data and --test cannot both be standard input");
        }
        if self.dataset.is_some() {
            let test = [("--test", self.test.is_some()), ("--test-fraction", self.test_fraction.is_some())];
            let mut flags = test.into_iter().chain(self.columns.of_files()).chain(self.apart.of_files());
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
