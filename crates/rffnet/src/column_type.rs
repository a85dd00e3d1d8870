//! What the columns of a table hold, and how their cells are written as numbers.

use serde::{Deserialize, Serialize};

/// What a column holds. Tables are matrices of 32-bit numbers: the type says what the numbers of a column mean. NaN is a gap
/// in a column of any type.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ColumnType {
    /// Numbers.
    #[default]
    Number,
    /// Numbers whose texts have a decimal comma: `1,234` is a little more than one.
    DecimalComma,
    /// 0 for false, 1 for true.
    Boolean,
    /// Indices into the levels; [`UNKNOWN_LEVEL`] is a level that is not among them.
    Category {
        /// The distinct texts.
        levels: Vec<String>,
    },
    /// Days since the beginning of the year 2000, with the time of day as fraction.
    Date {
        /// How texts that leave it open are read: `01/02/2024` is the first of February.
        #[serde(default)]
        day_first: bool,
    },
}

/// The cell of a category whose level is not among those of its column.
pub const UNKNOWN_LEVEL: f32 = -1.0;

impl ColumnType {
    /// For people: `number`, `boolean`, `category`, `date`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Number | Self::DecimalComma => "number",
            Self::Boolean => "boolean",
            Self::Category { .. } => "category",
            Self::Date { .. } => "date",
        }
    }

    /// The levels of a category.
    pub fn levels(&self) -> Option<&[String]> {
        match self {
            Self::Category { levels } => Some(levels),
            _ => None,
        }
    }
}
