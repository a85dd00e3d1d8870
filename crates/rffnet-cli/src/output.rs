//! Where results go: standard output, or a file written whole or not at all.

use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::failure::Failure;

/// Writes to standard output.
pub(crate) fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    write(&mut out).and_then(|()| out.flush()).map_err(Failure::stdout)
}

/// Text, as it is.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    to_stdout(|out| out.write_all(text.as_bytes()))
}

/// The fields of a JSON object, in this order: `object! { rows: table.rows, columns }`.
macro_rules! object {
    ($($field:ident $(: $value:expr)?),+ $(,)?) => {{
        // Each field has a type parameter of its own name.
        #[allow(non_camel_case_types)]
        let object = {
            #[derive(serde::Serialize)]
            struct Object<$($field),+> { $($field: $field),+ }
            Object { $($field $(: $value)?),+ }
        };
        object
    }};
}
pub(crate) use object;

/// One JSON object; a number that is not finite is null.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    to_stdout(|out| write_json(value, out))
}

/// As [`print_json`], to a file perhaps.
pub(crate) fn write_json(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Columns of text to fill: the terminal's, or 80 where there is none.
pub(crate) fn width() -> usize {
    if !io::stdout().is_terminal() {
        return 80;
    }
    terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0)).clamp(40, 120)
}

/// Standard output, or a file that has been found fit to be written.
pub(crate) enum Destination<'a> {
    Stdout,
    File(&'a Path),
}

impl<'a> Destination<'a> {
    /// What `-o` asked for; `-` and nothing are standard output. `inputs` are files that must not be overwritten.
    pub(crate) fn new(path: Option<&'a Path>, inputs: &[&str]) -> Result<Self, Failure> {
        match path {
            None => Ok(Destination::Stdout),
            Some(path) if path == Path::new("-") => Ok(Destination::Stdout),
            Some(path) => {
                check_writable(path, inputs)?;
                Ok(Destination::File(path))
            }
        }
    }

    pub(crate) fn write(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        match self {
            Destination::Stdout => to_stdout(write),
            Destination::File(path) => {
                let mut bytes = Vec::new();
                write(&mut bytes).map_err(|e| Failure::request(format!("{}: {e}", path.display())))?;
                Ok(rffnet::write_file(path, &bytes)?)
            }
        }
    }
}

/// Refuses, before any work is done, a path that could not be written after it.
pub(crate) fn check_writable(path: &Path, inputs: &[&str]) -> Result<(), Failure> {
    let shown = path.display();
    if path.file_name().is_none() || path.is_dir() {
        return Err(Failure::request(format!("cannot write '{shown}': it is a directory; give a file name")));
    }
    let same = |input: &&str| match (fs::canonicalize(path), fs::canonicalize(input)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    };
    if inputs.iter().any(same) {
        return Err(Failure::request(format!(
            "'{shown}' is read and cannot be the output too; write to another file"
        )));
    }
    // Pipes and devices are written to directly: there is nothing to find out about them beforehand.
    if fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        return Ok(());
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        return Err(Failure::request(format!(
            "cannot write '{shown}': there is no folder '{}'; make it first",
            folder.display()
        )));
    }
    let probe = probe(folder);
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&probe)
        .and_then(|_| fs::remove_file(&probe))
        .map_err(|e| Failure::request(format!("cannot write into the folder '{}': {e}", folder.display())))
}

fn probe(folder: &Path) -> PathBuf {
    folder.join(format!(".rffnet.{}.probe", std::process::id()))
}
