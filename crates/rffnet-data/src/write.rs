//! Tables into files. Every number is written so that it reads back as the same number.

use std::borrow::Cow;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use rffnet::ColumnType;
use rffnet::text::plural;

use crate::column::Column;
use crate::dates::iso;
use crate::options::Format;
use crate::parquet::write_table;
use crate::table::Table;

/// Writes `table` in the format that `name` suggests (CSV if none), compressed if it ends in `.gz`.
///
/// # Errors
/// If `out` fails, or the format cannot hold the table (texts in LIBSVM and `.npy`, any table in JSON lines).
pub fn write(table: &Table, name: &str, out: &mut dyn Write) -> io::Result<()> {
    let format = Format::from_name(name).unwrap_or(Format::Csv);
    if name.to_ascii_lowercase().ends_with(".gz") {
        let mut packed = GzEncoder::new(out, Compression::default());
        write_format(table, format, &mut packed)?;
        packed.finish()?;
        return Ok(());
    }
    write_format(table, format, out)
}

fn write_format(table: &Table, format: Format, out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Csv => write_csv(table, out),
        Format::Libsvm => write_libsvm(table, out),
        Format::Npy => write_npy(table, out),
        Format::Parquet => write_table(table, out),
        Format::JsonLines => {
            Err(refused("JSON lines are not written; choose a name ending in .csv or .parquet"))
        }
    }
}

fn refused(sentence: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, sentence.into())
}

/// Writes a header and one line per row: the inputs, the weight if there is one, the target last.
///
/// ```
/// let table = rffnet_data::Simulated::Moons.generate(2, 1);
/// let mut out = Vec::new();
/// rffnet_data::write_csv(&table, &mut out)?;
/// assert!(out.starts_with(b"x1,x2,y\n"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_csv(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let mut line = String::new();
    let mut names: Vec<&str> = table.names.iter().map(String::as_str).collect();
    names.extend(table.weight.as_ref().map(|_| "weight"));
    names.extend(table.target.as_ref().map(|_| table.target_name.as_deref().unwrap_or("y")));
    for (i, name) in names.iter().enumerate() {
        push_delimiter(&mut line, i);
        line.push_str(&csv_cell(name));
    }
    line.push('\n');
    out.write_all(line.as_bytes())?;
    for r in 0..table.rows {
        line.clear();
        for (i, &v) in table.row(r).iter().enumerate() {
            push_delimiter(&mut line, i);
            // A single empty cell would be a blank line.
            if v.is_nan() && names.len() == 1 {
                line.push_str("NaN");
            } else {
                push_typed(&mut line, v, table.column_type(i));
            }
        }
        if let Some(weight) = table.weight.as_ref().and_then(|w| w.get(r)) {
            push_delimiter(&mut line, table.columns());
            push_f32(&mut line, *weight);
        }
        if let Some(target) = &table.target {
            push_delimiter(&mut line, names.len() - 1);
            match target {
                Column::Numbers(values) => push_f64(&mut line, values.get(r).copied().unwrap_or(f64::NAN)),
                Column::Text { levels, codes } => {
                    let level = codes.get(r).and_then(|&code| levels.get(code as usize));
                    line.push_str(&csv_cell(level.map_or("", String::as_str)));
                }
            }
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// A cell as its type reads it: levels by their text, dates as `2024-01-31`. A level that is unknown is nothing.
fn push_typed(line: &mut String, v: f32, of: &ColumnType) {
    match of {
        _ if v.is_nan() => {}
        ColumnType::Number | ColumnType::DecimalComma => push_f32(line, v),
        ColumnType::Boolean => line.push_str(if v == 0.0 { "false" } else { "true" }),
        ColumnType::Category { levels } => {
            // A negative number is no index: it becomes one that does not exist.
            let level = if v < 0.0 { None } else { levels.get(v as usize) };
            line.push_str(&level.map_or("".into(), |level| csv_cell(level)));
        }
        ColumnType::Date { .. } => match iso(v) {
            Some(date) => line.push_str(&date),
            None => push_f32(line, v),
        },
    }
}

fn push_delimiter(line: &mut String, column: usize) {
    if column > 0 {
        line.push(',');
    }
}

/// A text as a cell of a CSV file, in quotes where it needs them.
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    let special = |c: char| matches!(c, ',' | ';' | '|' | '\t' | '"' | '\n' | '\r');
    if text.is_empty() || text.contains(special) || text.starts_with('#') || text.trim() != text {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}

/// The shortest text that reads back as `v`; nothing for NaN, which is a missing cell.
fn push_f32(line: &mut String, v: f32) {
    use std::fmt::Write as _;
    let size = v.abs();
    let plain = size == 0.0 || (1e-4..1e9).contains(&size);
    let _ = match plain {
        _ if v.is_nan() => Ok(()),
        true => write!(line, "{v}"),
        false => write!(line, "{v:e}"),
    };
}

fn push_f64(line: &mut String, v: f64) {
    use std::fmt::Write as _;
    let size = v.abs();
    let plain = size == 0.0 || (1e-4..1e16).contains(&size);
    let _ = match plain {
        _ if v.is_nan() => Ok(()),
        true => write!(line, "{v}"),
        false => write!(line, "{v:e}"),
    };
}

fn number_target(table: &Table) -> io::Result<Option<&[f64]>> {
    match &table.target {
        None => Ok(None),
        Some(Column::Numbers(values)) => Ok(Some(values)),
        Some(Column::Text { .. }) => {
            Err(refused("the target holds text, which only CSV can hold; choose a name ending in .csv"))
        }
    }
}

fn refuse_weights(table: &Table) -> io::Result<()> {
    match table.weight {
        None => Ok(()),
        Some(_) => {
            Err(refused("the table has weights, which only CSV can name; choose a name ending in .csv"))
        }
    }
}

fn refuse_types(table: &Table) -> io::Result<()> {
    match table.types.iter().position(|of| *of != ColumnType::Number) {
        None => Ok(()),
        Some(j) => Err(refused(format!(
            "column '{}' is a {}, which only CSV can hold; choose a name ending in .csv",
            table.names.get(j).map_or("", String::as_str),
            table.column_type(j).name()
        ))),
    }
}

/// Writes `label index:value ...` with zeros left out; the label of a table without a target is 0.
///
/// # Errors
/// If `out` fails, or the table has weights, a text target, or columns of another type than numbers.
pub fn write_libsvm(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    refuse_weights(table)?;
    refuse_types(table)?;
    let target = number_target(table)?;
    let mut line = String::new();
    for r in 0..table.rows {
        line.clear();
        push_f64(&mut line, target.and_then(|t| t.get(r).copied()).unwrap_or(0.0));
        for (j, &v) in table.row(r).iter().enumerate().filter(|(_, v)| **v != 0.0) {
            use std::fmt::Write as _;
            let _ = write!(line, " {}:", j + 1);
            if v.is_nan() { line.push_str("nan") } else { push_f32(&mut line, v) }
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// Writes one array of 64-bit floats, the target last: 32 bits would round the target.
///
/// # Errors
/// If `out` fails, or the table has weights, a text target, or columns of another type than numbers.
pub fn write_npy(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    refuse_weights(table)?;
    refuse_types(table)?;
    let target = number_target(table)?;
    let columns = table.columns() + usize::from(target.is_some());
    let shape = format!("({}, {columns})", table.rows);
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    // The data start at a multiple of 64 bytes, after 10 bytes of preamble, this text and a line end.
    header.push_str(&" ".repeat(63 - (10 + header.len()) % 64));
    header.push('\n');
    let length = u16::try_from(header.len())
        .map_err(|_| refused(format!("{} do not fit", plural(columns, "column"))))?;
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    let mut bytes = Vec::new();
    for r in 0..table.rows {
        bytes.clear();
        let last = target.map(|t| t.get(r).copied().unwrap_or(f64::NAN));
        for v in table.row(r).iter().map(|&v| f64::from(v)).chain(last) {
            bytes.extend_from_slice(&v.to_le_bytes());
        }
        out.write_all(&bytes)?;
    }
    Ok(())
}
