//! Where parsed rows go. Readers know nothing about what is built from their rows: today a table in memory; a
//! source of chunks from disk is one more sink.

use crate::cell::At;
use crate::error::{DataError, shown};
use crate::layout::Layout;
use crate::table::Table;
use crate::target::Target;

/// The target's cell of one row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Number(f64),
    Text(&'a str),
}

/// One row of a file, checked.
pub(crate) struct Row<'a> {
    /// As many as [`Layout::inputs`]; NaN where a missing cell is allowed.
    pub(crate) inputs: &'a [f32],
    pub(crate) target: Option<Value<'a>>,
    pub(crate) weight: Option<f32>,
    pub(crate) at: At,
}

/// Receives a file's layout, then its rows in order.
pub(crate) trait RowSink {
    fn begin(&mut self, layout: &Layout);
    fn row(&mut self, row: Row<'_>) -> Result<(), DataError>;
}

/// Collects all rows into a [`Table`].
#[derive(Default)]
pub(crate) struct TableSink {
    x: Vec<f32>,
    rows: usize,
    target: Option<Target>,
    weight: Option<Vec<f32>>,
}

impl RowSink for TableSink {
    fn begin(&mut self, layout: &Layout) {
        self.target = layout.target.map(|_| Target::default());
        self.weight = layout.weight.map(|_| Vec::new());
    }

    fn row(&mut self, row: Row<'_>) -> Result<(), DataError> {
        self.x.extend_from_slice(row.inputs);
        self.rows += 1;
        if let (Some(target), Some(value)) = (&mut self.target, row.target) {
            target.push(value, row.at);
        }
        if let (Some(weights), Some(weight)) = (&mut self.weight, row.weight) {
            weights.push(weight);
        }
        Ok(())
    }
}

impl TableSink {
    pub(crate) fn finish(mut self, layout: Layout, source: &str) -> Result<Table, DataError> {
        let target_name = layout.target.and_then(|i| layout.names.get(i).cloned());
        let name = target_name.as_deref().unwrap_or_default();
        let target = self.target.map(|target| target.finish(source, name)).transpose()?;
        if let (Some(weights), Some(i)) = (&self.weight, layout.weight)
            && weights.iter().all(|&w| w == 0.0)
        {
            let name = shown(layout.names.get(i).map_or("", String::as_str));
            let sentence = format!("all weights in column '{name}' are zero; at least one row must count");
            return Err(DataError::cell(format!("{source}: {sentence}")));
        }
        self.x.shrink_to_fit();
        Ok(Table {
            names: layout.inputs,
            has_names: layout.has_names,
            x: self.x,
            rows: self.rows,
            target,
            target_name,
            weight: self.weight,
            source: source.to_string(),
            ..Table::default()
        })
    }
}
