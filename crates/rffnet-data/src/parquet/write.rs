//! Writing columns as a Parquet file, compressed with zstd.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use rffnet::ColumnType;

use crate::column::Column;
use crate::table::Table;

/// The rows of a row group, the part that readers take in at a time.
const GROUP_ROWS: usize = 1 << 18;
/// Days from 1970 to 2000, and microseconds a day.
const DAYS_TO_2000: f64 = 10_957.0;
const MICROSECONDS: f64 = 86_400e6;

/// The values of a column to be written, one per row.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Values<'a> {
    /// Numbers of 64 bits; NaN is a gap.
    Numbers(&'a [f64]),
    /// Numbers of 32 bits; NaN is a gap.
    Floats(Vec<f32>),
    /// Texts and gaps.
    Texts(Vec<Option<&'a str>>),
    /// Truth values and gaps.
    Booleans(Vec<Option<bool>>),
    /// Days since the beginning of 2000; NaN is a gap. They are written to the microsecond.
    Dates(Vec<f32>),
}

impl Values<'_> {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Values::Numbers(values) => values.len(),
            Values::Floats(values) | Values::Dates(values) => values.len(),
            Values::Texts(values) => values.len(),
            Values::Booleans(values) => values.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn field(&self, name: &str) -> Result<Type, ParquetError> {
        let (physical, logical) = match self {
            Values::Numbers(_) => (Physical::DOUBLE, None),
            Values::Floats(_) => (Physical::FLOAT, None),
            Values::Texts(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Values::Booleans(_) => (Physical::BOOLEAN, None),
            Values::Dates(_) => (Physical::INT64, Some(LogicalType::timestamp(false, TimeUnit::MICROS))),
        };
        Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()
    }

    /// Writes the rows from `start` to `end`.
    fn write(
        &self,
        start: usize,
        end: usize,
        column: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        match self {
            Values::Numbers(values) => {
                put::<DoubleType, _>(column, &values[start..end], |&v| (!v.is_nan()).then_some(v))
            }
            Values::Floats(values) => {
                put::<FloatType, _>(column, &values[start..end], |&v| (!v.is_nan()).then_some(v))
            }
            Values::Texts(values) => {
                put::<ByteArrayType, _>(column, &values[start..end], |v| v.map(ByteArray::from))
            }
            Values::Booleans(values) => put::<BoolType, _>(column, &values[start..end], |&v| v),
            Values::Dates(values) => put::<Int64Type, _>(column, &values[start..end], |&days| {
                let microseconds = (f64::from(days) + DAYS_TO_2000) * MICROSECONDS;
                (!days.is_nan()).then_some(microseconds.round() as i64)
            }),
        }
    }
}

/// Writes values with a definition level each: one if there is a value, zero for a gap.
fn put<D: DataType, V>(
    column: &mut SerializedColumnWriter<'_>,
    values: &[V],
    value: impl Fn(&V) -> Option<D::T>,
) -> Result<(), ParquetError> {
    let present: Vec<Option<D::T>> = values.iter().map(value).collect();
    let levels: Vec<i16> = present.iter().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<D::T> = present.into_iter().flatten().collect();
    column.typed::<D>().write_batch(&present, Some(&levels), None)?;
    Ok(())
}

/// Writes named columns as a Parquet file.
///
/// ```
/// use rffnet_data::{ReadOptions, Values, read_from, write_parquet};
/// let columns = [("age", Values::Numbers(&[31.0, f64::NAN])), ("city", Values::Texts(vec![Some("Rome"), Some("Oslo")]))];
/// let mut file = Vec::new();
/// write_parquet(&columns, &mut file)?;
/// let table = read_from(&file[..], "people.parquet", &ReadOptions { missing: true, ..ReadOptions::default() })?;
/// assert_eq!(table.names, ["age", "city"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If `out` fails, or the columns do not have the same number of rows.
pub fn write_parquet(columns: &[(&str, Values<'_>)], out: &mut dyn Write) -> io::Result<()> {
    let rows = columns.first().map_or(0, |(_, values)| values.len());
    if columns.iter().any(|(_, values)| values.len() != rows) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the columns do not have the same number of rows",
        ));
    }
    write_columns(columns, rows, out).map_err(|error| match error {
        ParquetError::External(cause) => io::Error::other(cause),
        other => io::Error::other(other.to_string()),
    })
}

/// Writes a table: the inputs, the weight if there is one, the target last.
pub(crate) fn write_table(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let input = |k: usize| {
        let cells = || table.x.iter().skip(k).step_by(table.columns()).copied();
        match table.column_type(k) {
            ColumnType::Number | ColumnType::DecimalComma => Values::Floats(cells().collect()),
            ColumnType::Date { .. } => Values::Dates(cells().collect()),
            ColumnType::Boolean => {
                Values::Booleans(cells().map(|cell| (!cell.is_nan()).then_some(cell != 0.0)).collect())
            }
            ColumnType::Category { levels } => {
                let level = |cell: f32| (cell >= 0.0).then(|| levels.get(cell as usize)).flatten();
                Values::Texts(cells().map(|cell| level(cell).map(String::as_str)).collect())
            }
        }
    };
    let mut columns: Vec<(&str, Values<'_>)> =
        table.names.iter().enumerate().map(|(k, name)| (name.as_str(), input(k))).collect();
    columns.extend(table.weight.as_ref().map(|weights| ("weight", Values::Floats(weights.clone()))));
    let target = table.target.as_ref().map(|target| match target {
        Column::Numbers(values) => Values::Numbers(values),
        Column::Text { levels, codes } => {
            Values::Texts(codes.iter().map(|&code| levels.get(code as usize).map(String::as_str)).collect())
        }
    });
    columns.extend(target.map(|values| (table.target_name.as_deref().unwrap_or("y"), values)));
    write_parquet(&columns, out)
}

fn write_columns(
    columns: &[(&str, Values<'_>)],
    rows: usize,
    out: &mut dyn Write,
) -> Result<(), ParquetError> {
    let fields: Result<Vec<_>, _> =
        columns.iter().map(|(name, values)| values.field(name).map(Arc::new)).collect();
    let schema = Type::group_type_builder("schema").with_fields(fields?).build()?;
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    // The writer of files must own its output and send it between threads: one in memory does both.
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    for start in (0..rows).step_by(GROUP_ROWS) {
        let mut group = file.next_row_group()?;
        for (_, values) in columns {
            if let Some(mut column) = group.next_column()? {
                values.write(start, rows.min(start + GROUP_ROWS), &mut column)?;
                column.close()?;
            }
        }
        group.close()?;
        // What is complete goes out, so that no more than a row group is held.
        out.write_all(file.inner())?;
        file.inner_mut().clear();
    }
    out.write_all(&file.into_inner()?)?;
    Ok(())
}
