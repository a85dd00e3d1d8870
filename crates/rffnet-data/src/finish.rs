//! The end of a collection: types are decided and the packed cells become a [`Table`].

use rffnet::ColumnType;

use crate::collector::Collector;
use crate::column::Column;
use crate::error::{DataError, shown};
use crate::packed::{Packed, Unpacked};
use crate::table::Table;

impl Collector<'_> {
    /// The table of all rows.
    pub(crate) fn finish(self) -> Result<Table, DataError> {
        let source = self.source().to_string();
        let Some(layout) = self.layout.as_deref() else {
            return Err(DataError::format(format!("{source}: there are no rows")));
        };
        if let Some(i) = layout.weight
            && self.weight.iter().all(|&w| w == 0.0)
        {
            let name = shown(&layout.names[i]);
            let sentence = format!("all weights in column '{name}' are zero; at least one row must count");
            return Err(DataError::cell(format!("{source}: {sentence}")));
        }
        let numbers = self.target.iter().map(|cell| match cell.get() {
            Unpacked::Number(v) => v,
            _ => f64::NAN,
        });
        let target = layout.target.map(|_| Column::Numbers(numbers.collect()));
        Ok(Table {
            names: layout.inputs.clone(),
            has_names: layout.has_names,
            types: vec![ColumnType::Number; layout.inputs.len()],
            rows: self.rows,
            target,
            target_name: layout.target.and_then(|i| layout.names.get(i).cloned()),
            weight: layout.weight.map(|_| self.weight),
            gaps: self.inputs.iter().filter_map(|odd| odd.get()).map(|odd| odd.gaps).sum(),
            notes: self.notes,
            source,
            x: self.cells.into_iter().map(Packed::float).collect(),
            ..Table::default()
        })
    }
}
