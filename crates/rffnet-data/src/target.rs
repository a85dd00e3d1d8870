//! The target while it is read: numbers until a text shows up.

use std::collections::HashMap;

use crate::cell::{At, Fault, Use, fault_error};
use crate::column::{Column, number_text};
use crate::error::{DataError, shown};
use crate::sink::Value;

/// Marks a row that holds a number among rows of text.
const NUMBER: u32 = u32::MAX;

#[derive(Default)]
pub(crate) struct Target {
    /// One per row; NaN where the row holds text.
    numbers: Vec<f64>,
    /// One per row from the first text on: an index into the texts, or `NUMBER`.
    codes: Vec<u32>,
    texts: HashMap<String, u32>,
    text_rows: usize,
    first_text: Option<(At, String)>,
}

impl Target {
    pub(crate) fn push(&mut self, value: Value<'_>, at: At) {
        match value {
            Value::Number(v) => {
                self.numbers.push(v);
                if self.first_text.is_some() {
                    self.codes.push(NUMBER);
                }
            }
            Value::Text(text) => {
                if self.first_text.is_none() {
                    self.first_text = Some((at, shown(text)));
                    self.codes.resize(self.numbers.len(), NUMBER);
                }
                self.numbers.push(f64::NAN);
                let code = self.code(text);
                self.codes.push(code);
                self.text_rows += 1;
            }
        }
    }

    fn code(&mut self, text: &str) -> u32 {
        if let Some(&code) = self.texts.get(text) {
            return code;
        }
        let code = self.texts.len() as u32;
        self.texts.insert(text.to_string(), code);
        code
    }

    /// Numbers if all are; text if most are, the numbers among them then being class names like the rest
    /// (`3`, `3a`, `3b`). A few texts among numbers are mistakes, and the first is named.
    pub(crate) fn finish(mut self, source: &str, name: &str) -> Result<Column, DataError> {
        let Some((at, text)) = self.first_text.take() else {
            self.numbers.shrink_to_fit();
            return Ok(Column::Numbers(self.numbers));
        };
        if self.text_rows <= self.numbers.len() / 2 {
            return Err(fault_error(source, at, name, &text, Fault::Text, Use::Target));
        }
        for row in 0..self.codes.len() {
            if self.codes[row] == NUMBER {
                self.codes[row] = self.code(&number_text(self.numbers[row]));
            }
        }
        let mut levels: Vec<(String, u32)> = self.texts.into_iter().collect();
        levels.sort_unstable();
        let mut place = vec![0; levels.len()];
        for (new, (_, old)) in levels.iter().enumerate() {
            place[*old as usize] = new as u32;
        }
        for code in &mut self.codes {
            *code = place[*code as usize];
        }
        Ok(Column::Text { levels: levels.into_iter().map(|(text, _)| text).collect(), codes: self.codes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(cells: &[&str]) -> Result<Column, String> {
        let mut target = Target::default();
        for (i, cell) in cells.iter().enumerate() {
            let at = At { row: i as u64 + 1, line: None };
            target.push(cell.parse().map_or(Value::Text(cell), Value::Number), at);
        }
        target.finish("t.csv", "y").map_err(|e| e.to_string())
    }

    #[test]
    fn numbers_stay_numbers() {
        assert_eq!(column(&["1", "2.5"]), Ok(Column::Numbers(vec![1.0, 2.5])));
    }

    #[test]
    fn text_is_sorted() {
        let text = Column::Text { levels: vec!["a".into(), "b".into()], codes: vec![1, 0, 1] };
        assert_eq!(column(&["b", "a", "b"]), Ok(text));
    }

    #[test]
    fn numbers_among_text_are_names() {
        let text = Column::Text { levels: vec!["3".into(), "3a".into(), "3b".into()], codes: vec![0, 1, 2] };
        assert_eq!(column(&["3.0", "3a", "3b"]), Ok(text));
    }

    #[test]
    fn a_few_texts_among_numbers_are_mistakes() {
        let message = column(&["1", "2", "x", "3"]).unwrap_err();
        assert!(message.starts_with("t.csv: row 3, target column 'y' holds 'x'"), "{message}");
    }
}
