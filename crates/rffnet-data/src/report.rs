//! What was found out about each column of a file.

use std::fmt;

/// What a column of a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnKind {
    /// Numbers.
    Number,
    /// Numbers with a currency or with thousands set apart.
    Money,
    /// Numbers followed by `%`.
    Percent,
    /// Numbers with a comma before their fraction.
    DecimalComma,
    /// Yes or no in one of its forms.
    Boolean,
    /// Texts that come up again and again.
    Category,
    /// Dates, times, or both.
    Date,
    /// One value in all rows, or nothing but gaps.
    Constant,
    /// Row numbers.
    Index,
    /// A different text in every row.
    Id,
    /// Sentences.
    Text,
    /// The target.
    Target,
    /// The row weights.
    Weight,
    /// Left out on request, or not among the columns that were asked for.
    Ignored,
    /// Not an input, but kept as it is written.
    Kept,
}

impl ColumnKind {
    /// For people: `number`, `decimal comma`, ...
    pub fn name(self) -> &'static str {
        match self {
            ColumnKind::Number => "number",
            ColumnKind::Money => "money",
            ColumnKind::Percent => "percent",
            ColumnKind::DecimalComma => "decimal comma",
            ColumnKind::Boolean => "boolean",
            ColumnKind::Category => "category",
            ColumnKind::Date => "date",
            ColumnKind::Constant => "constant",
            ColumnKind::Index => "index",
            ColumnKind::Id => "id",
            ColumnKind::Text => "text",
            ColumnKind::Target => "target",
            ColumnKind::Weight => "weight",
            ColumnKind::Ignored => "ignored",
            ColumnKind::Kept => "kept",
        }
    }
}

impl fmt::Display for ColumnKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One column of a file, as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnReport {
    /// The column's name.
    pub name: String,
    /// What it is.
    pub kind: ColumnKind,
    /// Cells without a value; not counted in columns that are left out on request.
    pub gaps: usize,
    /// The number of levels of a category.
    pub levels: Option<usize>,
    /// Whether it is one of the table's inputs.
    pub used: bool,
}
