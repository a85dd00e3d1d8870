//! From a path to a reader: open, decompress, recognise.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use crate::collector::Collector;
use crate::error::{DataError, ErrorKind};
use crate::input::{BLOCK, Input};
use crate::names::nearest;
use crate::options::{Format, ReadOptions};
use crate::several::Contents;
use crate::table::Table;
use crate::{csv, glob, jsonl, libsvm, npy, parquet};

/// How files that are compressed with zstd begin.
const ZSTD: &[u8] = b"\x28\xB5\x2F\xFD";

/// Reads the table in the file at `path`; `-` is standard input. A path with `*`, `?` or `[...]` that is not the name of a
/// file is a pattern: all files that fit it are read as by [`read_all`].
///
/// # Errors
/// If the file cannot be read, is not a table, or does not hold what `options` ask for. See [`DataError`].
pub fn read(path: &str, options: &ReadOptions) -> Result<Table, DataError> {
    if is_glob(path) {
        return read_all(&[path], options);
    }
    let mut collector = Collector::new(options);
    read_path(path, &mut collector)?;
    collector.finish()
}

/// Reads several files as one table: the rows of the first, then those of the second, and so on. Patterns stand for the
/// files that fit them, sorted by name. Columns are matched by name where there are names, in any order, else by position;
/// types are found from all rows together.
///
/// # Errors
/// As [`read`]; and if a pattern fits no file, or a column is missing from one of the files or holds numbers in one and
/// texts in another.
pub fn read_all(paths: &[impl AsRef<str>], options: &ReadOptions) -> Result<Table, DataError> {
    let mut files = Vec::new();
    for path in paths.iter().map(AsRef::as_ref) {
        if !is_glob(path) {
            files.push(path.to_string());
            continue;
        }
        let found = glob::expand(path);
        if found.is_empty() {
            let sentence = format!("no file fits '{}'; check the pattern", shown_path(path));
            return Err(DataError::new(ErrorKind::Io, sentence));
        }
        files.extend(found);
    }
    let mut collector = Collector::new(options);
    let mut contents = Vec::new();
    for file in &files {
        if files.len() == 1 {
            read_path(file, &mut collector)?;
            break;
        }
        let first_row = collector.rows;
        collector.earlier = std::mem::take(&mut collector.declared);
        collector.declared.resize(collector.earlier.len(), None);
        read_path(file, &mut collector)?;
        contents.push(Contents::of(&collector, first_row));
        Contents::compare(&contents, &collector)?;
        for (now, earlier) in collector.declared.iter_mut().zip(&collector.earlier) {
            *now = now.or(*earlier);
        }
    }
    if files.is_empty() {
        return Err(DataError::request("no file is given; give at least one".to_string()));
    }
    collector.finish()
}

/// Reads a table from any source of bytes. `source` stands for it in messages; its suffix may tell the
/// format.
///
/// # Errors
/// As [`read`].
pub fn read_from(reader: impl Read, source: &str, options: &ReadOptions) -> Result<Table, DataError> {
    let mut collector = Collector::new(options);
    read_input(Input::new(reader, source), &mut collector)?;
    collector.finish()
}

fn is_glob(path: &str) -> bool {
    glob::is_pattern(path) && !Path::new(path).exists()
}

fn read_path(path: &str, collector: &mut Collector<'_>) -> Result<(), DataError> {
    if path == "-" {
        return read_input(Input::new(io::stdin().lock(), "standard input"), collector);
    }
    // A directory can be opened like a file on some systems; it fails only when read.
    let size = match std::fs::metadata(path) {
        Ok(data) if data.is_dir() => {
            let sentence = format!("'{}' is a directory; give a file in it", shown_path(path));
            return Err(DataError::new(ErrorKind::Io, sentence));
        }
        Ok(data) => data.is_file().then_some(data.len()),
        Err(error) => return Err(open_error(path, error)),
    };
    let mut file = File::open(path).map_err(|e| open_error(path, e))?;
    // Parquet is read from its end, and in parallel: not through a stream.
    if size.is_some() && collector.options.format.is_none_or(|format| format == Format::Parquet) {
        let mut magic = [0; 4];
        let is_parquet = file.read_exact(&mut magic).is_ok() && magic == *parquet::MAGIC;
        file.rewind().map_err(|e| open_error(path, e))?;
        if is_parquet {
            return parquet::read_file(file, path, collector);
        }
    }
    read_input(Input::new(file, path).with_size(size), collector)
}

fn read_input(mut input: Input<'_>, collector: &mut Collector<'_>) -> Result<(), DataError> {
    if input.peek(2)? == [0x1F, 0x8B] {
        input = input.gunzip();
    } else if input.peek(4)? == ZSTD {
        input = input.unzstd()?;
    }
    match find_format(&mut input, collector.options.format)? {
        Format::Csv => csv::read(input, collector),
        Format::Libsvm => libsvm::read(input, collector),
        Format::Npy => npy::read(input, collector),
        Format::JsonLines => jsonl::read(input, collector),
        Format::Parquet => parquet::read(input, collector),
    }
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
        (None | Some(Format::Csv), Some(Format::JsonLines)) => Ok(Format::JsonLines),
        // No CSV file starts with a line of `label index:value`: a .txt file may well be LIBSVM.
        (None | Some(Format::Csv), Some(Format::Libsvm)) => Ok(Format::Libsvm),
        (Some(format), _) => Ok(format),
        (None, _) => Ok(Format::Csv),
    }
}

fn sniff(start: &[u8]) -> Option<Format> {
    if start.starts_with(b"\x93NUMPY") {
        Some(Format::Npy)
    } else if start.starts_with(parquet::MAGIC) {
        Some(Format::Parquet)
    } else if begins_object(start) {
        Some(Format::JsonLines)
    } else {
        looks_like_libsvm(start).then_some(Format::Libsvm)
    }
}

/// Whether text begins with an object that has a key, or none.
fn begins_object(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start);
    let inside = start.trim_ascii_start().strip_prefix(b"{");
    inside.is_some_and(|inside| matches!(inside.trim_ascii_start().first(), Some(b'"' | b'}')))
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
        (b"\xFD7zXZ\0", "compressed with xz; decompress it, or use gzip or zstd"),
        (b"BZh", "compressed with bzip2; decompress it, or use gzip or zstd"),
        (b"\x1F\x8B", "compressed twice; decompress it once"),
        (ZSTD, "compressed twice; decompress it once"),
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
