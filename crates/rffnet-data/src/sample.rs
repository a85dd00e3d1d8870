//! A table and its target, as the library takes them.

use rffnet::{Data, OwnedTarget};

use crate::table::Table;

/// Rows with their target.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Columns and weights.
    pub table: Table,
    /// The table's target column as numbers or classes.
    pub target: OwnedTarget,
}

impl Sample {
    /// What the library fits and scores.
    ///
    /// # Errors
    /// If the table's cells are not `rows x columns`.
    pub fn data(&self) -> Result<Data<'_>, rffnet::Error> {
        let table = &self.table;
        Ok(Data {
            weight: table.weight.as_deref(),
            names: Some(&table.names),
            positional: !table.has_names,
            types: (!table.types.is_empty()).then_some(&table.types[..]),
            // A made-up name would be looked for in vain in later files.
            target_name: table.target_name.as_deref().filter(|_| table.has_names),
            ..Data::new(table.matrix()?, self.target.view())
        })
    }

    /// The given rows, in the given order.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn take(&self, rows: &[usize]) -> Sample {
        Sample { table: self.table.take(rows), target: self.target.take(rows) }
    }
}
