//! Where rows come from: files with a target, files for a model, a simulated set.

use std::path::Path;

use rffnet::{Missing, Model};
use rffnet_data::{ColumnRef, DataError, ErrorKind, ReadOptions, Select, Simulated, Table};

use crate::cli::Globals;
use crate::columns::lacking;
use crate::failure::Failure;
use crate::text::{listed, name};

/// Characters of a path that are shown at most.
const LONGEST_PATH: usize = 200;

/// Reads files as one table. Rows are counted through all of them, so that messages about rows name the pattern,
/// or the first file and how many follow, rather than the last file as the reader does.
pub(crate) fn read_files(paths: &[String], options: &ReadOptions) -> Result<Table, DataError> {
    let mut table = rffnet_data::read_all(paths, options)?;
    match paths {
        [pattern] if pattern != "-" && !Path::new(pattern).exists() => {
            table.source = name(pattern, LONGEST_PATH);
        }
        [first, more @ ..] if !more.is_empty() => {
            table.source = format!("{} and {} more", name(first, LONGEST_PATH), more.len());
        }
        _ => {}
    }
    Ok(table)
}

/// Reads files that must have a target.
pub(crate) fn read_with_target(paths: &[String], options: &ReadOptions) -> Result<Table, Failure> {
    let table = read_files(paths, options).map_err(|error| match (options, error.kind()) {
        // Without --target the target is taken for an input.
        (ReadOptions { target: None, select: Select::All, .. }, ErrorKind::Cell) => {
            Failure::request(format!("{error} (if that is the target, name it with --target)"))
        }
        _ => error.into(),
    })?;
    match (&table.target, &options.select) {
        (Some(_), _) => Ok(table),
        (None, Select::All) => Err(Failure::request(format!(
            "{}: which column is the target? Name it with --target; the columns are {}",
            table.source,
            listed(&table.names, 12)
        ))),
        (None, Select::Named { .. }) => Err(Failure::request(format!(
            "{}: which column is the target? Name the one that the model was fitted to with --target",
            table.source
        ))),
    }
}

/// Says what was decided while reading the rows for a model, and what they lack.
pub(crate) fn tell(table: &Table, globals: &Globals) {
    table.notes.iter().for_each(|note| globals.tell(format_args!("note: {note}")));
    lacking(table).iter().for_each(|sentence| globals.tell(sentence));
}

/// How to read a file for `model`: its columns, in its order, with gaps if it knows what to do with them.
pub(crate) fn for_model(model: &Model) -> ReadOptions {
    ReadOptions {
        missing: model.plan().common.missing != Missing::Error,
        select: Select::Named {
            names: model.feature_names().to_vec(),
            named: model.has_names(),
            types: model.column_types().cloned().collect(),
        },
        ..ReadOptions::default()
    }
}

/// How to read further rows like those of `table`, which was read with `options`. Only its columns and the target are looked
/// for: what is ignored may be absent.
pub(crate) fn like(table: &Table, options: ReadOptions) -> ReadOptions {
    ReadOptions {
        select: Select::Named {
            names: table.names.clone(),
            named: table.has_names,
            types: table.types.clone(),
        },
        ignore: Vec::new(),
        keep: Vec::new(),
        ..options
    }
}

/// Refuses more rows than a simulated set can have, and another target than its own.
pub(crate) fn check_simulated(
    set: Simulated,
    rows: usize,
    target: Option<&ColumnRef>,
) -> Result<(), Failure> {
    set.check_rows(rows)?;
    match target.filter(|target| target.to_string() != "y") {
        None => Ok(()),
        Some(target) => Err(Failure::request(format!(
            "there is no column '{target}' for --target; the target of {set} is 'y'"
        ))),
    }
}
