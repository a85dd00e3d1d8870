//! Rows with their target, read from a file or drawn, ready for the library.

use rffnet::{Data, Error, Matrix, Missing, Model};
use rffnet_data::{ErrorKind, ReadOptions, Select, Table};

use crate::failure::{Failure, in_file};
use crate::labels::Known;
use crate::text::listed;

/// A table and its target.
pub(crate) struct Sample {
    pub(crate) table: Table,
    pub(crate) known: Known,
}

impl Sample {
    /// What the library fits and scores.
    pub(crate) fn data(&self) -> Result<Data<'_>, Failure> {
        let table = &self.table;
        Ok(Data {
            x: matrix(table).map_err(in_file(&table.source))?,
            y: self.known.target(),
            weight: table.weight.as_deref(),
            names: names(table),
        })
    }

    /// The given rows.
    pub(crate) fn take(&self, rows: &[usize]) -> Sample {
        Sample { table: self.table.take(rows), known: self.known.take(rows) }
    }
}

pub(crate) fn matrix(table: &Table) -> Result<Matrix<'_>, Error> {
    Matrix::new(&table.x, table.rows, table.columns())
}

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
    let named = model.has_names() && !made_up(&names);
    ReadOptions {
        missing: model.plan().missing == Missing::Mean,
        select: Select::Named { names, named },
        ..ReadOptions::default()
    }
}

/// How to read further rows like those of `table`.
pub(crate) fn like(table: &Table) -> Select {
    Select::Named { names: table.names.clone(), named: table.has_names }
}

/// The names to keep in the model. The library makes up `x1..xd` by itself; what differs from that has to be given,
/// even if it was made up (`x2..xd` beside a target in the first column, LIBSVM's numbers).
fn names(table: &Table) -> Option<&[String]> {
    (table.has_names || !counted(&table.names)).then_some(&table.names)
}

/// `x1..xd`.
fn counted(names: &[String]) -> bool {
    names.iter().enumerate().all(|(i, name)| *name == format!("x{}", i + 1))
}

/// Whether names that a model keeps are positions all the same, as [`names`] gives them: ascending numbers, or `x` and
/// ascending numbers with gaps.
fn made_up(names: &[String]) -> bool {
    let numbers = |prefix: &str| -> Option<Vec<usize>> {
        names.iter().map(|name| name.strip_prefix(prefix)?.parse().ok()).collect()
    };
    let ascending = |numbers: Vec<usize>| numbers.is_sorted_by(|a, b| a < b);
    numbers("").is_some_and(ascending) || (!counted(names) && numbers("x").is_some_and(ascending))
}

#[cfg(test)]
mod tests {
    use super::made_up;

    #[test]
    fn positions_are_not_names() {
        let is = |names: &[&str]| made_up(&names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert!(is(&["1", "2", "5"]) && is(&["x2", "x3"]));
        assert!(!is(&["x1", "x2"]) && !is(&["age", "x2"]) && !is(&["2", "1"]));
    }
}
