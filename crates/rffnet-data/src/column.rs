//! The target column: numbers or text, regression or classification.

use rffnet::OwnedTarget;
use rffnet::text::{count, plural};
use serde::{Deserialize, Serialize};

use crate::error::{DataError, shown};

/// A column of numbers, or of text.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Finite numbers.
    Numbers(Vec<f64>),
    /// Text: row `i` holds `levels[codes[i]]`.
    Text {
        /// The distinct texts, sorted.
        levels: Vec<String>,
        /// One index into `levels` per row.
        codes: Vec<u32>,
    },
}

rffnet::named_enum! {
    /// What is learned from a target.
    #[derive(Default)]
    pub enum Task {
        /// Classification if the target is text or has exactly two values, else regression.
        #[default]
        Auto => "auto",
        /// A number.
        Regression => "regression",
        /// A class.
        Classification => "classification",
    } else DataError = unknown_task
}

fn unknown_task(text: &str) -> DataError {
    let text = shown(text);
    DataError::request(format!("task is '{text}'; it must be one of auto, regression, classification"))
}

impl Task {
    /// Whether this task makes classes of the column.
    pub fn classifies(self, column: &Column) -> bool {
        match self {
            Task::Auto => column.is_classification(),
            Task::Regression => false,
            Task::Classification => true,
        }
    }
}

/// More distinct numbers than this are values, not classes.
const MAX_NUMERIC_CLASSES: usize = 1000;
/// Up to this many classes, each may have a single row.
const FEW_CLASSES: usize = 20;

impl Column {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::Numbers(values) => values.len(),
            Column::Text { codes, .. } => codes.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What [`Task::Auto`] means for this target: text (booleans included) or exactly two distinct numbers.
    ///
    /// ```
    /// use rffnet_data::Column;
    /// assert!(Column::Numbers(vec![-1.0, 1.0, 1.0]).is_classification());
    /// assert!(!Column::Numbers(vec![1.0, 2.0, 3.0]).is_classification());
    /// ```
    pub fn is_classification(&self) -> bool {
        match self {
            Column::Text { .. } => true,
            Column::Numbers(values) => {
                let Some(&first) = values.first() else { return false };
                let mut second = None;
                for &value in values {
                    if value != first && *second.get_or_insert(value) != value {
                        return false;
                    }
                }
                second.is_some()
            }
        }
    }

    /// The target as `task` learns it. Classes are those that occur: sorted as numbers if all are numbers, else as text.
    ///
    /// # Errors
    /// If text is to be learned as numbers, or there are so many distinct values that they cannot be meant as classes.
    pub fn to_target(&self, task: Task) -> Result<OwnedTarget, DataError> {
        match self {
            _ if !task.classifies(self) => Ok(self.numbers()?.to_vec().into()),
            Column::Numbers(values) => number_labels(values),
            Column::Text { levels, codes } => text_labels(levels, codes),
        }
    }

    /// The target as numbers.
    ///
    /// # Errors
    /// If it is text.
    pub fn numbers(&self) -> Result<&[f64], DataError> {
        match self {
            Column::Numbers(values) => Ok(values),
            Column::Text { levels, .. } => {
                let example = levels.first().map_or("", String::as_str);
                Err(DataError::request(format!(
                    "the target holds text such as '{}', so there is no number to learn; use --task \
                         classification, or choose another --target",
                    shown(example)
                )))
            }
        }
    }

    /// The given rows, in the given order; numbers of rows that do not exist are passed over.
    pub(crate) fn take(&self, rows: &[usize]) -> Column {
        match self {
            Column::Numbers(values) => {
                Column::Numbers(rows.iter().filter_map(|&r| values.get(r).copied()).collect())
            }
            Column::Text { levels, codes } => Column::Text {
                levels: levels.clone(),
                codes: rows.iter().filter_map(|&r| codes.get(r).copied()).collect(),
            },
        }
    }
}

fn number_labels(values: &[f64]) -> Result<OwnedTarget, DataError> {
    // -0 and 0 are one class.
    let mut distinct: Vec<f64> = values.iter().map(|v| v + 0.0).collect();
    distinct.sort_unstable_by(f64::total_cmp);
    distinct.dedup();
    let n = distinct.len();
    if n > MAX_NUMERIC_CLASSES || (n > FEW_CLASSES && n > values.len() / 2) {
        return Err(DataError::request(format!(
            "the target has {} distinct numbers in {}, too many to be classes; use --task regression, \
                 or choose another --target",
            count(n),
            plural(values.len(), "row")
        )));
    }
    let code = |v: &f64| distinct.partition_point(|d| d.total_cmp(&(v + 0.0)).is_lt()) as u32;
    Ok(OwnedTarget::Labels {
        codes: values.iter().map(code).collect(),
        classes: distinct.iter().map(|&v| number_text(v)).collect(),
    })
}

fn text_labels(levels: &[String], codes: &[u32]) -> Result<OwnedTarget, DataError> {
    const ABSENT: u32 = u32::MAX;
    let mut renumbered = vec![ABSENT; levels.len()];
    for &code in codes {
        if let Some(slot) = renumbered.get_mut(code as usize) {
            *slot = 0;
        }
    }
    let mut classes = Vec::new();
    for (level, slot) in levels.iter().zip(&mut renumbered) {
        if *slot != ABSENT {
            *slot = classes.len() as u32;
            classes.push(level.clone());
        }
    }
    if classes.len() > FEW_CLASSES && classes.len() > codes.len() / 2 {
        return Err(DataError::request(format!(
            "the target has {} different texts in {}, more like names than classes; choose another \
                 --target",
            count(classes.len()),
            plural(codes.len(), "row")
        )));
    }
    let codes = codes.iter().filter_map(|&c| renumbered.get(c as usize).copied()).collect();
    Ok(OwnedTarget::Labels { classes, codes })
}

/// A number as a class name: the shortest text that reads back as the same number (`1`, `-1`, `0.5`).
pub(crate) fn number_text(value: f64) -> String {
    let value = value + 0.0;
    let size = value.abs();
    if size != 0.0 && !(1e-5..1e16).contains(&size) { format!("{value:e}") } else { format!("{value}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(column: &Column) -> Result<(Vec<String>, Vec<u32>), DataError> {
        match column.to_target(Task::Classification)? {
            OwnedTarget::Labels { codes, classes } => Ok((classes, codes)),
            OwnedTarget::Values { .. } => panic!("numbers"),
        }
    }

    #[test]
    fn two_values_are_classes() {
        let is = |v: &[f64]| Column::Numbers(v.to_vec()).is_classification();
        assert!(is(&[0.0, 1.0]));
        assert!(is(&[2.5, -1.0, 2.5]));
        assert!(!is(&[]));
        assert!(!is(&[1.0, 1.0]));
        assert!(!is(&[1.0, 2.0, 3.0]));
        assert!(!is(&[0.0, -0.0]));
        assert!(Column::Text { levels: vec!["a".into()], codes: vec![0] }.is_classification());
    }

    #[test]
    fn numeric_classes_sort_as_numbers() {
        let (classes, codes) = labels(&Column::Numbers(vec![10.0, -1.0, 9.0, 0.5, -0.0, 0.0])).unwrap();
        assert_eq!(classes, ["-1", "0", "0.5", "9", "10"]);
        assert_eq!(codes, [4, 0, 3, 2, 1, 1]);
        assert_eq!(number_text(1e300), "1e300");
        assert_eq!(number_text(0.1), "0.1");
    }

    #[test]
    fn values_are_not_classes() {
        let many = Column::Numbers((0..5000).map(f64::from).collect());
        let message = labels(&many).unwrap_err().to_string();
        assert!(message.contains("5,000 distinct numbers in 5,000 rows"), "{message}");
        assert!(message.contains("--task regression"), "{message}");
        assert!(labels(&Column::Numbers((0..100).map(f64::from).collect())).is_err());
        assert!(labels(&Column::Numbers((0..10).map(f64::from).collect())).is_ok());
        let names: Vec<String> = (0..50).map(|i| format!("id{i:02}")).collect();
        assert!(labels(&Column::Text { levels: names, codes: (0..50).collect() }).is_err());
    }

    #[test]
    fn only_classes_that_occur() {
        let column = Column::Text { levels: vec!["a".into(), "b".into(), "c".into()], codes: vec![2, 0, 2] };
        assert_eq!(labels(&column).unwrap(), (vec!["a".into(), "c".into()], vec![1, 0, 1]));
        assert_eq!(labels(&column.take(&[1, 0])).unwrap().1, [0, 1]);
    }

    #[test]
    fn text_is_no_number() {
        let column = Column::Text { levels: vec!["no".into()], codes: vec![0] };
        assert!(column.numbers().unwrap_err().to_string().contains("such as 'no'"));
        assert_eq!(Column::Numbers(vec![1.5]).numbers().unwrap(), [1.5]);
    }

    #[test]
    fn tasks_parse_and_print() {
        for task in [Task::Auto, Task::Regression, Task::Classification] {
            assert_eq!(task.to_string().parse::<Task>().unwrap(), task);
        }
        assert!("rank".parse::<Task>().is_err());
    }
}
