//! The target of a table, as the library takes it.

use rffnet::{Model, OwnedTarget};
use rffnet_data::{Column, Sample, Table, Task};

use crate::failure::Failure;
use crate::text::{name, plural};

/// What is there to learn: the classes, or numbers.
pub(crate) fn learn(table: &Table, task: Task) -> Result<OwnedTarget, Failure> {
    column(table)?.to_target(task).map_err(|e| Failure::request(format!("{}: {e}", table.source)))
}

/// The target in terms of what was learned: `classes` of a classifier, `None` for numbers.
pub(crate) fn compare(table: &Table, classes: Option<&[String]>) -> Result<OwnedTarget, Failure> {
    let target = target_name(table);
    match (column(table)?, classes) {
        (Column::Numbers(values), None) => Ok(values.clone().into()),
        (Column::Text { levels, .. }, None) => Err(Failure::request(format!(
            "{}: the model predicts numbers but the target '{target}' holds text such as '{}'; choose another --target",
            table.source,
            levels.first().map_or(String::new(), |level| name(level, 40)),
        ))),
        (column, Some(classes)) => match codes(column, classes) {
            Ok(codes) => Ok(OwnedTarget::Labels { codes, classes: classes.to_vec() }),
            Err((row, label)) => Err(Failure::request(format!(
                "{}: row {row} of the target '{target}' is '{}', a class the model does not know; it knows {}",
                table.source,
                name(&label, 40),
                crate::text::listed(classes, 6),
            ))),
        },
    }
}

/// As [`compare`], for a model.
pub(crate) fn of_model(table: &Table, model: &Model) -> Result<OwnedTarget, Failure> {
    compare(table, (model.task() == rffnet::Task::Classification).then(|| model.classes()))
}

/// `classification: the target 'y' has 2 classes`
pub(crate) fn sentence(sample: &Sample) -> String {
    let target = target_name(&sample.table);
    match &sample.target {
        OwnedTarget::Labels { classes, .. } => {
            format!("classification: the target '{target}' has {}", plural(classes.len(), "class"))
        }
        OwnedTarget::Values { values, .. } => match few_whole_numbers(values) {
            Some(n) => format!(
                "regression: the target '{target}' has {n} different values (if they are classes: --task classification)"
            ),
            None => format!("regression: the target '{target}' is a number"),
        },
    }
}

fn column(table: &Table) -> Result<&Column, Failure> {
    table
        .target
        .as_ref()
        .ok_or_else(|| Failure::request(format!("{}: there is no target column", table.source)))
}

fn target_name(table: &Table) -> String {
    name(table.target_name.as_deref().unwrap_or("target"), 40)
}

/// How many, if they look like classes: between 2 and 20 distinct whole numbers.
fn few_whole_numbers(values: &[f64]) -> Option<usize> {
    let mut seen: Vec<f64> = Vec::new();
    for &v in values {
        if v.fract() != 0.0 {
            return None;
        }
        if !seen.contains(&v) {
            seen.push(v);
        }
        if seen.len() > 20 {
            return None;
        }
    }
    (seen.len() > 1).then_some(seen.len())
}

/// Indices into `classes`, or the first row (from 1) whose label is none of them. A number is the class that reads as
/// the same number, so that `1.0` in one file is `1` in the other.
fn codes(column: &Column, classes: &[String]) -> Result<Vec<u32>, (usize, String)> {
    let position = |same: &dyn Fn(&String) -> bool| classes.iter().position(same).map(|i| i as u32);
    match column {
        Column::Numbers(values) => {
            let numbers: Vec<Option<f64>> = classes.iter().map(|c| c.parse().ok()).collect();
            let code = |v: f64| numbers.iter().position(|n| *n == Some(v)).map(|i| i as u32);
            let rows = values.iter().enumerate();
            rows.map(|(i, &v)| code(v).ok_or_else(|| (i + 1, crate::text::exact(v)))).collect()
        }
        Column::Text { levels, codes } => {
            // Some of the texts may be numbers.
            let same = |class: &String, level: &String| {
                class == level || class.parse::<f64>().is_ok_and(|class| level.parse() == Ok(class))
            };
            let known: Vec<Option<u32>> =
                levels.iter().map(|level| position(&|class| same(class, level))).collect();
            let rows = codes.iter().map(|&c| c as usize).enumerate();
            rows.map(|(i, c)| known[c].ok_or_else(|| (i + 1, levels[c].clone()))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_find_their_class() {
        let classes = ["0.5".to_string(), "3".into(), "3a".into()];
        assert_eq!(codes(&Column::Numbers(vec![3.0, 0.5]), &classes), Ok(vec![1, 0]));
        assert_eq!(codes(&Column::Numbers(vec![3.0, 4.0]), &classes), Err((2, "4".into())));
        let text =
            Column::Text { levels: vec!["3a".into(), "zz".into(), "3.0".into()], codes: vec![0, 2, 1] };
        assert_eq!(codes(&text, &classes), Err((3, "zz".into())));
    }

    #[test]
    fn whole_numbers_may_be_classes() {
        assert_eq!(few_whole_numbers(&[1.0, 2.0, 3.0, 1.0]), Some(3));
        assert_eq!(few_whole_numbers(&[1.0, 2.5]), None);
        assert_eq!(few_whole_numbers(&[4.0, 4.0]), None);
    }
}
