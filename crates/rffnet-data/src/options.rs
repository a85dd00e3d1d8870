//! What to read: the format, and which column is what.

use std::fmt;
use std::str::FromStr;

use rffnet::ColumnType;

use crate::error::{DataError, shown};

/// How [`read`](crate::read) reads a table.
///
/// | field | default | meaning |
/// |---|---|---|
/// | `format` | `None` | by file name, else by the first bytes |
/// | `target` | `None` | see [`ReadOptions::target`] |
/// | `likely_target` | `None` | see [`ReadOptions::likely_target`] |
/// | `weight` | `None` | no weights |
/// | `ignore` | empty | columns to leave out |
/// | `categorical`, `numeric`, `date` | empty | columns whose type is not to be found out |
/// | `keep` | empty | columns whose text is returned as it is written |
/// | `header` | `None` | a CSV file has a header if its first row reads like one |
/// | `delimiter` | `None` | found from the first lines of a CSV file |
/// | `missing` | `false` | a gap in an input is an error |
/// | `drop_missing_target` | `false` | a gap in the target is an error |
/// | `columns` | `None` | LIBSVM: as many columns as the largest index |
/// | `select` | [`Select::All`] | every other column is an input |
/// | `memory` | `None` | a table may take 80 % of the memory that is available |
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The format; `None` decides by file name, else by the first bytes.
    pub format: Option<Format>,
    /// The target column. `None`: none in a CSV file with a header; the last column in a CSV file without one
    /// and in `.npy` files. In LIBSVM files the label is the target in any case.
    pub target: Option<ColumnRef>,
    /// The name of the target in a file that has a column of that name, where `target` is `None`: what a model was fitted to.
    pub likely_target: Option<String>,
    /// The column of row weights.
    pub weight: Option<ColumnRef>,
    /// Columns to leave out.
    pub ignore: Vec<ColumnRef>,
    /// Columns that are categories: every text and every number in them is a level.
    pub categorical: Vec<ColumnRef>,
    /// Columns that are numbers: whatever else stands in them counts as a gap.
    pub numeric: Vec<ColumnRef>,
    /// Columns that are dates or times: whatever else stands in them counts as a gap.
    pub date: Vec<ColumnRef>,
    /// Columns whose text is returned as it is written, in [`Table::kept`](crate::Table::kept). They may be inputs, the
    /// target, or ignored.
    pub keep: Vec<ColumnRef>,
    /// Whether the first row of a CSV file holds names; `None` finds out.
    pub header: Option<bool>,
    /// What separates the cells of a CSV file; a blank stands for runs of blanks and tabs. `None` finds out.
    pub delimiter: Option<u8>,
    /// Whether inputs may have gaps: cells that are empty or hold `?`, `.`, `-`, `NaN` or `#N/A`, and in columns of numbers
    /// `NA`, `N/A`, `none` and `null`, letter case aside. They become NaN.
    pub missing: bool,
    /// Whether rows without a target are dropped, rather than being an error. Then `NA`, `N/A`, `none` and `null` are gaps
    /// in a target of texts, too, however common they are.
    pub drop_missing_target: bool,
    /// The number of columns of a LIBSVM file, which cannot tell it by itself.
    pub columns: Option<usize>,
    /// Which columns become inputs.
    pub select: Select,
    /// The memory that the table may take, in bytes.
    pub memory: Option<u64>,
}

impl ReadOptions {
    /// Refuses types for the columns of a format that has nothing but numbers.
    pub(crate) fn refuse_types(&self, source: &str, format: &str) -> Result<(), DataError> {
        let flags =
            [("--categorical", &self.categorical), ("--numeric", &self.numeric), ("--date", &self.date)];
        match flags.iter().find(|(_, columns)| !columns.is_empty()) {
            None => Ok(()),
            Some((flag, _)) => Err(DataError::request(format!(
                "{source}: {format} files hold nothing but numbers; leave out {flag}, or save the table as CSV"
            ))),
        }
    }
}

/// Which columns become inputs.
#[derive(Debug, Clone, Default)]
pub enum Select {
    /// All but the target, the weight and the ignored ones.
    #[default]
    All,
    /// Exactly these, in this order: what a fitted model expects. Matched by name where both sides have
    /// names, by position otherwise; further columns are ignored, absent ones are an error.
    Named {
        /// The model's input columns.
        names: Vec<String>,
        /// Whether those are names from a file, rather than `x1..xd` made up for a file without names.
        named: bool,
        /// What the model's columns hold, one per name; none if all are numbers. Cells are read as these types say.
        types: Vec<ColumnType>,
    },
}

/// A column as a user writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnRef {
    /// A name; where no column has it and it is a whole number, a 1-based position.
    Named(String),
    /// A 1-based position.
    Position(usize),
}

impl From<&str> for ColumnRef {
    fn from(text: &str) -> Self {
        ColumnRef::Named(text.to_string())
    }
}

impl From<String> for ColumnRef {
    fn from(text: String) -> Self {
        ColumnRef::Named(text)
    }
}

impl FromStr for ColumnRef {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(text.into())
    }
}

impl fmt::Display for ColumnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnRef::Named(name) => f.write_str(name),
            ColumnRef::Position(k) => write!(f, "{k}"),
        }
    }
}

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Text with `,`, `;` or tabs between cells; compressed with gzip or zstd, or not.
    Csv,
    /// `label index:value index:value ...`, indices from 1; compressed or not.
    Libsvm,
    /// One two-dimensional NumPy array.
    Npy,
    /// One JSON object a line, its keys are the columns; compressed or not.
    JsonLines,
    /// Columns of numbers, texts, booleans and dates.
    Parquet,
}

impl Format {
    /// The format that a file's name suggests; `None` if it suggests none.
    ///
    /// ```
    /// use rffnet_data::Format;
    /// assert_eq!(Format::from_name("data/train.csv.gz"), Some(Format::Csv));
    /// assert_eq!(Format::from_name("a9a"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Format> {
        let name = name.to_ascii_lowercase();
        let stem = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        let (_, suffix) = stem.rsplit_once('.')?;
        match suffix {
            "csv" | "tsv" | "tab" | "txt" => Some(Format::Csv),
            "libsvm" | "svm" | "svmlight" => Some(Format::Libsvm),
            "npy" => Some(Format::Npy),
            "jsonl" | "ndjson" | "json" => Some(Format::JsonLines),
            "parquet" | "pq" => Some(Format::Parquet),
            _ => None,
        }
    }
}

impl FromStr for Format {
    type Err = DataError;

    fn from_str(text: &str) -> Result<Self, DataError> {
        match text.to_ascii_lowercase().as_str() {
            "csv" | "tsv" => Ok(Format::Csv),
            "libsvm" | "svmlight" => Ok(Format::Libsvm),
            "npy" => Ok(Format::Npy),
            "jsonl" | "ndjson" => Ok(Format::JsonLines),
            "parquet" => Ok(Format::Parquet),
            _ => Err(DataError::request(format!(
                "format is '{}'; it must be one of csv, libsvm, npy, jsonl, parquet",
                shown(text)
            ))),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Format::Csv => "csv",
            Format::Libsvm => "libsvm",
            Format::Npy => "npy",
            Format::JsonLines => "jsonl",
            Format::Parquet => "parquet",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_by_name() {
        for (name, format) in [
            ("a.csv", Some(Format::Csv)),
            ("a.TSV", Some(Format::Csv)),
            ("dir.svm/a.txt", Some(Format::Csv)),
            ("a.tsv.gz", Some(Format::Csv)),
            ("a.libsvm.gz", Some(Format::Libsvm)),
            ("a.svm", Some(Format::Libsvm)),
            ("a.npy", Some(Format::Npy)),
            ("a.csv.zst", Some(Format::Csv)),
            ("a.ndjson.gz", Some(Format::JsonLines)),
            ("a.parquet", Some(Format::Parquet)),
            ("a", None),
            ("a.gz", None),
            ("-", None),
        ] {
            assert_eq!(Format::from_name(name), format, "{name}");
        }
    }

    #[test]
    fn formats_parse_and_print() {
        for format in [Format::Csv, Format::Libsvm, Format::Npy, Format::JsonLines, Format::Parquet] {
            assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
        }
        assert_eq!(
            "xls".parse::<Format>().unwrap_err().to_string(),
            "format is 'xls'; it must be one of csv, libsvm, npy, jsonl, parquet"
        );
    }
}
