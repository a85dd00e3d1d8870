//! The table: what every reader returns.

use rffnet::{ColumnType, Matrix};

use crate::column::Column;
use crate::report::ColumnReport;

/// Rows of numbers, with a target and weights where there are any.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// The input columns' names.
    pub names: Vec<String>,
    /// Whether the names come from the file, rather than being made up (`x1..xd`, LIBSVM's `1..d`).
    pub has_names: bool,
    /// What the input columns hold, one per name; none if all are numbers.
    pub types: Vec<ColumnType>,
    /// The inputs, row after row: `rows x names.len()`. A gap is NaN; nothing is infinite. Booleans are 0 and 1, levels of
    /// categories their number among the levels ([`rffnet::UNKNOWN_LEVEL`] if they are not among those of a model), dates
    /// days since the beginning of 2000.
    pub x: Vec<f32>,
    /// The number of rows.
    pub rows: usize,
    /// The target, one value per row.
    pub target: Option<Column>,
    /// The target column's name.
    pub target_name: Option<String>,
    /// Row weights: finite, not negative, not all zero.
    pub weight: Option<Vec<f32>>,
    /// Where the rows come from, as messages name it: `train.csv`, `standard input`, `gse1`.
    pub source: String,
    /// Every column of the file in its order; empty for tables that were not read from one.
    pub report: Vec<ColumnReport>,
    /// What was decided while reading, one sentence each.
    pub notes: Vec<String>,
    /// Input columns with levels that the model does not know, and how many cells hold one.
    pub unknown: Vec<(String, usize)>,
    /// The number of gaps in the inputs.
    pub gaps: usize,
    /// The columns that were asked for by [`ReadOptions::keep`](crate::ReadOptions::keep): their names, and their text as it
    /// is written, one per row.
    pub kept: Vec<(String, Vec<String>)>,
}

impl Table {
    /// The number of input columns.
    pub fn columns(&self) -> usize {
        self.names.len()
    }

    /// What input column `j` holds.
    pub fn column_type(&self, j: usize) -> &ColumnType {
        self.types.get(j).unwrap_or(&ColumnType::Number)
    }

    /// The inputs as the library takes them.
    ///
    /// # Errors
    /// If they are not `rows x columns` numbers.
    pub fn matrix(&self) -> Result<Matrix<'_>, rffnet::Error> {
        Matrix::new(&self.x, self.rows, self.columns())
    }

    /// The inputs of one row; empty for a row that does not exist.
    pub fn row(&self, row: usize) -> &[f32] {
        let d = self.names.len();
        let range = || -> Option<_> {
            let start = row.checked_mul(d)?;
            Some(start..start.checked_add(d)?)
        };
        range().and_then(|range| self.x.get(range)).unwrap_or(&[])
    }

    /// The given rows, in the given order (a row may occur twice); rows that do not exist are passed over.
    ///
    /// ```
    /// use rffnet_data::{Simulated, split};
    /// let table = Simulated::Jse3.generate(100, 7);
    /// let (train, test) = split(table.rows, 0.2, 7);
    /// assert_eq!((table.take(&train).rows, table.take(&test).rows), (80, 20));
    /// ```
    pub fn take(&self, rows: &[usize]) -> Table {
        let kept: Vec<usize> = rows.iter().copied().filter(|&r| r < self.rows).collect();
        let mut x = Vec::with_capacity(kept.len() * self.names.len());
        for &r in &kept {
            x.extend_from_slice(self.row(r));
        }
        Table {
            names: self.names.clone(),
            has_names: self.has_names,
            rows: kept.len(),
            target: self.target.as_ref().map(|column| column.take(&kept)),
            target_name: self.target_name.clone(),
            weight: self.weight.as_ref().map(|w| kept.iter().filter_map(|&r| w.get(r).copied()).collect()),
            gaps: x.iter().filter(|v| v.is_nan()).count(),
            x,
            kept: self.kept.iter().map(|(name, texts)| (name.clone(), texts_of(texts, &kept))).collect(),
            types: self.types.clone(),
            source: self.source.clone(),
            report: self.report.clone(),
            notes: self.notes.clone(),
            unknown: self.unknown.clone(),
        }
    }
}

fn texts_of(texts: &[String], rows: &[usize]) -> Vec<String> {
    rows.iter().filter_map(|&r| texts.get(r).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn take_keeps_rows_together() {
        let table = Table {
            names: vec!["a".into(), "b".into()],
            has_names: true,
            x: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            rows: 3,
            target: Some(Column::Numbers(vec![10.0, 20.0, 30.0])),
            target_name: Some("y".into()),
            weight: Some(vec![0.1, 0.2, 0.3]),
            source: "t".into(),
            kept: vec![("id".into(), vec!["p".into(), "q".into(), "r".into()])],
            ..Table::default()
        };
        let part = table.take(&[2, 0, 2, 9]);
        assert_eq!(part.rows, 3);
        assert_eq!(part.x, [5.0, 6.0, 1.0, 2.0, 5.0, 6.0]);
        assert_eq!(part.target, Some(Column::Numbers(vec![30.0, 10.0, 30.0])));
        assert_eq!(part.weight, Some(vec![0.3, 0.1, 0.3]));
        assert_eq!(part.kept[0].1, ["r", "p", "r"]);
        assert_eq!(table.row(1), [3.0, 4.0]);
        assert!(table.row(usize::MAX).is_empty());
        assert!(table.row(3).is_empty());
    }
}
