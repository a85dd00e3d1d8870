//! Values on the command line and in configuration files: one spelling for both, the libraries' own.

use std::fmt::Display;
use std::num::NonZeroU16;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use rffnet_data::{ColumnRef, Format};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

pub(crate) const FORMATS: &[Format] =
    &[Format::Csv, Format::Libsvm, Format::Npy, Format::JsonLines, Format::Parquet];

/// Parses one of a closed set of names, and lists them in the help text.
pub(crate) fn named<T>(all: &[T]) -> impl TypedValueParser<Value = T> + use<T>
where
    T: FromStr + Display + Clone + Send + Sync + 'static,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    let names = all.iter().map(|value| PossibleValue::new(value.to_string()));
    PossibleValuesParser::new(names).try_map(|text: String| text.parse())
}

/// More threads than any machine has are a slip of the finger.
const MOST_THREADS: u16 = 1024;

pub(crate) fn threads(text: &str) -> Result<NonZeroU16, String> {
    match text.parse::<NonZeroU16>() {
        Ok(n) if n.get() <= MOST_THREADS => Ok(n),
        _ => Err(format!("it must be a whole number from 1 to {MOST_THREADS}")),
    }
}

/// A count.
pub(crate) fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "it must be a whole number".into())
}

/// A number; its range is the library's business.
pub(crate) fn real(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "it must be a number".into())
}

/// What separates cells: a character of one byte, or its name.
pub(crate) fn delimiter(text: &str) -> Result<u8, String> {
    match (text, text.as_bytes()) {
        ("tab" | "\\t", _) => Ok(b'\t'),
        ("space" | "blank", _) => Ok(b' '),
        (_, &[c]) if c.is_ascii_alphanumeric() || matches!(c, b'"' | b'.' | b'-' | b'+' | b'\n' | b'\r') => {
            Err("it stands in cells or ends rows; give another".into())
        }
        (_, &[c]) if c.is_ascii() => Ok(c),
        _ => Err("it must be one character such as ; or |, tab, or space".into()),
    }
}

/// As [`delimiter`], in a configuration file.
pub(crate) fn delimiter_key<'de, D: Deserializer<'de>>(input: D) -> Result<Option<u8>, D::Error> {
    delimiter(&String::deserialize(input)?).map(Some).map_err(D::Error::custom)
}

/// One file or several.
pub(crate) fn paths<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<String>, D::Error> {
    Ok(match Paths::deserialize(input)? {
        Paths::One(path) => vec![path],
        Paths::Several(paths) => paths,
    })
}

/// Whether rows are in the order of time (`true`), or of a column.
pub(crate) fn time<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Option<ColumnRef>>, D::Error> {
    Ok(match Time::deserialize(input)? {
        Time::Is(is) => is.then_some(None),
        Time::By(column) => Some(Some(column.into())),
    })
}

/// A value of a configuration file that is written as a name.
pub(crate) fn parsed<'de, D, T>(input: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr,
    T::Err: Display,
{
    String::deserialize(input)?.parse().map(Some).map_err(D::Error::custom)
}

/// A column in a configuration file: a name, or a position.
pub(crate) fn column<'de, D: Deserializer<'de>>(input: D) -> Result<Option<ColumnRef>, D::Error> {
    Column::deserialize(input).map(|column| Some(column.into()))
}

/// Several columns, or one.
pub(crate) fn columns<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Vec<ColumnRef>>, D::Error> {
    Ok(Some(match Columns::deserialize(input)? {
        Columns::One(column) => vec![column.into()],
        Columns::Several(columns) => columns.into_iter().map(ColumnRef::from).collect(),
    }))
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a column's name or position")]
enum Column {
    Name(String),
    Position(usize),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a file or a list of files")]
enum Paths {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected true, false, or a column's name or position")]
enum Time {
    Is(bool),
    By(Column),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected columns' names or positions")]
enum Columns {
    One(Column),
    Several(Vec<Column>),
}

impl From<Column> for ColumnRef {
    fn from(column: Column) -> Self {
        match column {
            Column::Name(name) => ColumnRef::Named(name),
            Column::Position(k) => ColumnRef::Position(k),
        }
    }
}
