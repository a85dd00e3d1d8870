//! One cell: a number, missing, or neither. The same rules for every format.

use std::fmt;

use crate::error::{DataError, shown};
use crate::names::shell;

/// Where a cell stands: the 1-based row of data, and the line of the file where there are lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) row: u64,
    pub(crate) line: Option<u64>,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "row {} (line {line})", self.row),
            None => write!(f, "row {}", self.row),
        }
    }
}

/// What a cell's text is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell<'a> {
    Number(f64),
    Text(&'a str),
    /// Neither.
    Unusable(Fault),
}

/// Why a cell cannot be an input, a target or a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Missing,
    Infinite,
    /// A number beyond the range of the type it is read into.
    TooLarge,
    Text,
    /// Of a weight alone.
    Negative,
}

impl Cell<'_> {
    /// The number in it.
    pub(crate) fn number(self) -> Result<f64, Fault> {
        match self {
            Cell::Number(v) => Ok(v),
            Cell::Text(_) => Err(Fault::Text),
            Cell::Unusable(fault) => Err(fault),
        }
    }
}

/// Classifies a cell that is a number already.
impl From<f64> for Cell<'_> {
    fn from(value: f64) -> Self {
        match value {
            _ if value.is_nan() => Cell::Unusable(Fault::Missing),
            _ if value.is_infinite() => Cell::Unusable(Fault::Infinite),
            _ => Cell::Number(value),
        }
    }
}

/// Classifies a cell that is read as a 64-bit number.
pub(crate) fn classify(cell: &str) -> Cell<'_> {
    let cell = cell.trim();
    match cell.parse::<f64>() {
        Ok(v) if v.is_infinite() && cell.bytes().any(|b| b.is_ascii_digit()) => {
            Cell::Unusable(Fault::TooLarge)
        }
        Ok(v) => v.into(),
        Err(_) if is_missing(cell) => Cell::Unusable(Fault::Missing),
        Err(_) => Cell::Text(cell),
    }
}

fn is_missing(trimmed: &str) -> bool {
    matches!(trimmed, "" | "?" | ".")
        || ["na", "n/a", "null", "none"].iter().any(|word| trimmed.eq_ignore_ascii_case(word))
}

/// An input cell. The common case, a finite number without blanks around it, is one call of the parser.
#[inline]
pub(crate) fn input(cell: &str) -> Result<f32, Fault> {
    match cell.parse::<f32>() {
        Ok(v) if v.is_finite() => Ok(v),
        _ => unusual_input(cell),
    }
}

#[cold]
fn unusual_input(cell: &str) -> Result<f32, Fault> {
    match cell.trim().parse::<f32>() {
        Ok(v) if v.is_finite() => Ok(v),
        // Finite in 64 bits, not in 32.
        _ => classify(cell).number().and(Err(Fault::TooLarge)),
    }
}

/// The same rules for a cell that is a number already.
#[inline]
pub(crate) fn input_number(value: f64) -> Result<f32, Fault> {
    let narrow = value as f32;
    if narrow.is_finite() { Ok(narrow) } else { Cell::from(value).number().and(Err(Fault::TooLarge)) }
}

/// A weight: finite and not negative.
pub(crate) fn weight(cell: Cell<'_>) -> Result<f32, Fault> {
    let v = cell.number()?;
    if v < 0.0 { Err(Fault::Negative) } else { input_number(v) }
}

/// What a column is used for, as far as advice differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Input,
    Target,
    Weight,
}

/// The sentence for a faulty cell.
pub(crate) fn fault_error(
    source: &str,
    at: At,
    column: &str,
    cell: &str,
    fault: Fault,
    used: Use,
) -> DataError {
    let (name, cell) = (shown(column), cell.trim());
    let role = match used {
        Use::Input => "column",
        Use::Target => "target column",
        Use::Weight => "weight column",
    };
    let place = format!("{at}, {role} '{name}'");
    let out = match used {
        Use::Input => format!(", or leave the column out with --ignore {}", shell(column)),
        Use::Target | Use::Weight => String::new(),
    };
    let sentence = match fault {
        Fault::Missing => {
            let what =
                if cell.is_empty() { "is empty".into() } else { format!("is missing ('{}')", shown(cell)) };
            match used {
                Use::Input => format!("{place} {what}; fill it in, drop the row, or pass --missing mean"),
                Use::Target => {
                    format!("{place} {what}; fill it in, drop the row, or pass --drop-missing-target")
                }
                Use::Weight => format!("{place} {what}; fill it in or drop the row"),
            }
        }
        Fault::Infinite => format!("{place} is infinite; write a finite number or drop the row{out}"),
        Fault::TooLarge => {
            let limit = if used == Use::Target { "1.8e308" } else { "3.4e38" };
            let cell = shown(cell);
            format!(
                "{place} holds {cell}, beyond the largest number that can be kept ({limit}); rescale the \
                 column"
            )
        }
        Fault::Negative => format!("{place} is {}; weights must be zero or more", shown(cell)),
        Fault::Text if decimal_comma(cell) => format!(
            "{place} holds '{}'; write numbers with a decimal point and without thousands separators",
            shown(cell)
        ),
        Fault::Text => {
            let or = if out.is_empty() { " or" } else { "," };
            format!(
                "{place} holds '{}', which is not a number; correct it{or} drop the row{out}",
                shown(cell)
            )
        }
    };
    DataError::cell(format!("{source}: {sentence}"))
}

/// Digits and commas only, as in `1,5` or `1,234.5`.
pub(crate) fn decimal_comma(cell: &str) -> bool {
    let digits = cell.trim().trim_start_matches(['+', '-']);
    digits.contains(',')
        && digits.starts_with(|c: char| c.is_ascii_digit() || c == ',')
        && digits.bytes().any(|b| b.is_ascii_digit())
        && digits.bytes().all(|b| b.is_ascii_digit() || b == b',' || b == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells() {
        assert_eq!(classify(" +1.5e3 "), Cell::Number(1500.0));
        assert_eq!(classify("-.5"), Cell::Number(-0.5));
        for missing in ["", " ", "NA", "na", "NaN", "nan", "null", "NULL", "?", ".", "n/a"] {
            assert_eq!(classify(missing), Cell::Unusable(Fault::Missing), "{missing:?}");
        }
        assert_eq!(classify("-inf"), Cell::Unusable(Fault::Infinite));
        assert_eq!(classify("Infinity"), Cell::Unusable(Fault::Infinite));
        assert_eq!(classify("1e400"), Cell::Unusable(Fault::TooLarge));
        for text in ["abc", "0x10", "1_000", "1 2", "--1", "1e", "e5", "true"] {
            assert_eq!(classify(text), Cell::Text(text), "{text:?}");
        }
    }

    #[test]
    fn inputs_are_finite_in_32_bits() {
        assert_eq!(input("0.1"), Ok(0.1));
        assert_eq!(input(" 7\t"), Ok(7.0));
        assert_eq!(input("1e-60"), Ok(0.0));
        assert_eq!(input("1e39"), Err(Fault::TooLarge));
        assert_eq!(input("1e400"), Err(Fault::TooLarge));
        assert_eq!(input("inf"), Err(Fault::Infinite));
        assert_eq!(input("NaN"), Err(Fault::Missing));
        assert_eq!(input("x"), Err(Fault::Text));
        assert_eq!(input_number(1e39), Err(Fault::TooLarge));
        assert_eq!(input_number(f64::NEG_INFINITY), Err(Fault::Infinite));
        assert_eq!(input_number(f64::NAN), Err(Fault::Missing));
    }

    #[test]
    fn commas() {
        for yes in ["1,5", "-1,5", "1,234.5", ",5", "1,234,567"] {
            assert!(decimal_comma(yes), "{yes}");
        }
        for no in ["1.5", "a,5", "", ",", "1,x"] {
            assert!(!decimal_comma(no), "{no}");
        }
    }

    #[test]
    fn sentences() {
        let at = At { row: 12, line: Some(13) };
        let say = |cell, fault, used| fault_error("t.csv", at, "age", cell, fault, used).to_string();
        assert_eq!(
            say("", Fault::Missing, Use::Input),
            "t.csv: row 12 (line 13), column 'age' is empty; fill it in, drop the row, or pass --missing mean"
        );
        assert_eq!(
            say("x", Fault::Text, Use::Input),
            "t.csv: row 12 (line 13), column 'age' holds 'x', which is not a number; correct it, drop the \
             row, or leave the column out with --ignore age"
        );
        assert_eq!(
            say("x", Fault::Text, Use::Weight),
            "t.csv: row 12 (line 13), weight column 'age' holds 'x', which is not a number; correct it or \
             drop the row"
        );
    }
}
