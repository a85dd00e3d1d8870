//! From a path to a reader: open, decompress, recognise.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::collector::Collector;
use crate::error::{DataError, ErrorKind};
use crate::input::{BLOCK, Input};
use crate::names::nearest;
use crate::options::{Format, ReadOptions};
use crate::table::Table;
use crate::{csv, libsvm, npy};

/// Reads the table in the file at `path`; `-` is standard input.
///
/// # Errors
/// If the file cannot be read, is not a table, or does not hold what `options` ask for. See [`DataError`].
pub fn read(path: &str, options: &ReadOptions) -> Result<Table, DataError> {
    if path == "-" {
        return read_input(Input::new(io::stdin().lock(), "standard input"), options);
    }
    // A directory can be opened like a file on some systems; it fails only when read.
    match std::fs::metadata(path) {
        Ok(data) if data.is_dir() => Err(DataError::new(
            ErrorKind::Io,
            format!("'{}' is a directory; give a file in it", shown_path(path)),
        )),
        Ok(data) => {
            let file = File::open(path).map_err(|e| open_error(path, e))?;
            let size = Some(data.len()).filter(|_| data.is_file());
            read_input(Input::new(file, path).with_size(size), options)
        }
        Err(error) => Err(open_error(path, error)),
    }
}

/// Reads a table from any source of bytes. `source` stands for it in messages; its suffix may tell the
/// format.
///
/// # Errors
/// As [`read`].
pub fn read_from(reader: impl Read, source: &str, options: &ReadOptions) -> Result<Table, DataError> {
    read_input(Input::new(reader, source), options)
}

fn read_input(mut input: Input<'_>, options: &ReadOptions) -> Result<Table, DataError> {
    let source = input.source().to_string();
    if input.peek(2)? == [0x1F, 0x8B] {
        input = input.gunzip();
    }
    let mut collector = Collector::new(options);
    match find_format(&mut input, options.format)? {
        Format::Csv => csv::read(input, &mut collector)?,
        Format::Libsvm => libsvm::read(input, &mut collector)?,
        Format::Npy => npy::read(input, &mut collector)?,
        Format::Parquet => {
            return Err(DataError::request(format!(
                "{source}: Parquet files are not supported yet; save the table as CSV or .npy"
            )));
        }
    }
    collector.finish()
}

fn open_error(path: &str, error: io::Error) -> DataError {
    let name = shown_path(path);
    let sentence = match error.kind() {
        io::ErrorKind::NotFound => match neighbour(path) {
            Some(near) => format!("there is no file '{name}'; did you mean '{near}'?"),
            None => format!("there is no file '{name}'; check the path"),
        },
        io::ErrorKind::PermissionDenied => {
            format!("'{name}' may not be read by this user; change its permissions")
        }
        _ => format!("'{name}' could not be opened ({error}); check the path"),
    };
    DataError::io(sentence, error)
}

/// A path in full: unlike a cell, it must be recognised.
fn shown_path(path: &str) -> String {
    path.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

/// A file beside the one that is not there, with nearly its name.
fn neighbour(path: &str) -> Option<String> {
    let path = Path::new(path);
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).ok()?.take(10_000).flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let near = nearest(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(shown_path(&path.with_file_name(near).to_string_lossy()))
}

/// The format as asked for, else as the first bytes say, else as the name says; CSV where neither tells.
fn find_format(input: &mut Input<'_>, asked: Option<Format>) -> Result<Format, DataError> {
    let by_name = Format::from_name(input.source());
    let source = input.source().to_string();
    let start = input.peek(BLOCK)?;
    let by_content = sniff(start);
    if let Some(format) = asked {
        return Ok(format);
    }
    if by_content == Some(Format::Parquet) || by_content == Some(Format::Npy) {
        return Ok(by_content.unwrap_or(Format::Csv));
    }
    if let Some(what) = foreign(start) {
        return Err(DataError::format(format!("{source}: the file is {what}")));
    }
    match (by_name, by_content) {
        // No CSV file starts with a line of `label index:value`: a .txt file may well be LIBSVM.
        (None | Some(Format::Csv), Some(Format::Libsvm)) => Ok(Format::Libsvm),
        (Some(format), _) => Ok(format),
        (None, _) => Ok(Format::Csv),
    }
}

fn sniff(start: &[u8]) -> Option<Format> {
    if start.starts_with(b"\x93NUMPY") {
        Some(Format::Npy)
    } else if start.starts_with(b"PAR1") {
        Some(Format::Parquet)
    } else {
        looks_like_libsvm(start).then_some(Format::Libsvm)
    }
}

/// Whether the first line that has more than a label reads `label index:value ...`.
fn looks_like_libsvm(start: &[u8]) -> bool {
    let number = |text: &str| text.parse::<f64>().is_ok();
    let pair = |text: &str| {
        text.split_once(':').is_some_and(|(i, v)| (i == "qid" || i.parse::<u64>().is_ok()) && number(v))
    };
    for line in start.split(|&b| b == b'\n').take(100) {
        // A last line that the look ahead cut in two may end in the middle of a pair: the first pair decides.
        let Ok(line) = std::str::from_utf8(&line[..line.len().min(256)]) else { return false };
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_ascii_whitespace();
        match (words.next(), words.next()) {
            (None, _) => {}
            (Some(label), None) if number(label) => {}
            (Some(label), Some(first)) => return number(label) && pair(first),
            (Some(_), None) => return false,
        }
    }
    false
}

/// Files that are often taken for tables, by their first bytes.
fn foreign(start: &[u8]) -> Option<&'static str> {
    const KNOWN: &[(&[u8], &str)] = &[
        (b"PK\x03\x04", "a zip archive (.zip, .xlsx or .npz); unpack it, or save the table as CSV"),
        (b"\x28\xB5\x2F\xFD", "compressed with zstd; decompress it, or use gzip"),
        (b"\xFD7zXZ\0", "compressed with xz; decompress it, or use gzip"),
        (b"BZh", "compressed with bzip2; decompress it, or use gzip"),
        (b"\x1F\x8B", "compressed with gzip twice; decompress it once"),
        (b"\x89HDF", "an HDF5 file; save the table as CSV or .npy"),
        (b"\xD0\xCF\x11\xE0", "an old Excel file; save the table as CSV"),
        (b"\xFF\xFE", "UTF-16 text; save it as UTF-8"),
        (b"\xFE\xFF", "UTF-16 text; save it as UTF-8"),
    ];
    KNOWN.iter().find(|(magic, _)| start.starts_with(magic)).map(|&(_, what)| what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_libsvm() {
        for yes in ["1 1:0.5 2:3\n", "-1\n+1 3:1 7:1", "\n2.5 1:1 # note\n", "1 qid:3 1:2", "0 1:0.5 2"] {
            assert!(looks_like_libsvm(yes.as_bytes()), "{yes:?}");
        }
        for no in ["", "a,b\n", "1,2,3\n", "1 2 3\n", "12:30 1:5\n", "1\n2\n3\n", "x 1:2"] {
            assert!(!looks_like_libsvm(no.as_bytes()), "{no:?}");
        }
    }
}
