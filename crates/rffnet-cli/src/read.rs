//! Where rows come from: a file with a target, a file for a model, a simulated set.

use rffnet::{Missing, Model};
use rffnet_data::{ColumnRef, ErrorKind, ReadOptions, Select, Simulated, Table};

use crate::failure::Failure;
use crate::text::listed;

/// Reads a file that must have a target.
pub(crate) fn read_with_target(path: &str, options: &ReadOptions) -> Result<Table, Failure> {
    let table = rffnet_data::read(path, options).map_err(|error| match (&options.target, error.kind()) {
        // Without --target the target is taken for an input, where text is not allowed.
        (None, ErrorKind::Cell) => {
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

/// How to read a file for `model`: its columns, in its order, with missing values if it knows what to do with them.
pub(crate) fn for_model(model: &Model) -> ReadOptions {
    let names = model.feature_names().to_vec();
    let named = model.has_names();
    ReadOptions {
        missing: model.plan().common.missing == Missing::Mean,
        select: Select::Named { names, named, types: Vec::new() },
        ..ReadOptions::default()
    }
}

/// How to read further rows like those of `table`.
pub(crate) fn like(table: &Table) -> Select {
    Select::Named { names: table.names.clone(), named: table.has_names, types: table.types.clone() }
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
