//! Where a job's rows come from.

use std::collections::BTreeSet;
use std::path::PathBuf;

use rffnet::OwnedTarget;
use rffnet_data::{Column, ColumnRef, ReadOptions, Sample, Select, Simulated, Table, Task};
use serde::{Deserialize, Serialize};

use crate::{Error, read_snapshot};

/// The training or the test part of a simulated set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Part {
    Train,
    Test,
}

/// Where rows come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Source {
    /// A part of a simulated set, as `--dataset` draws it: `rows` training rows, then `test_rows` test rows.
    Simulated {
        /// The set.
        set: Simulated,
        /// Training rows.
        rows: usize,
        /// Test rows.
        test_rows: usize,
        /// Where random numbers start.
        seed: u64,
        /// Which of the two parts.
        part: Part,
    },
    /// A data file.
    File {
        /// CSV, LIBSVM or .npy, gzip or not.
        path: PathBuf,
        /// The target column; by default the last one of a file without a header, and LIBSVM's label.
        #[serde(default)]
        target: Option<String>,
        /// The column of row weights.
        #[serde(default)]
        weight: Option<String>,
        /// Columns to leave out.
        #[serde(default)]
        ignore: Vec<String>,
        /// The width of a LIBSVM file.
        #[serde(default)]
        columns: Option<usize>,
        /// Whether cells may be missing; they are then filled with the mean over the training rows.
        #[serde(default)]
        missing: bool,
        /// What to learn.
        #[serde(default)]
        task: Task,
        /// Which rows, counted from 0; all without.
        #[serde(default)]
        rows: Option<Vec<usize>>,
    },
    /// Rows of a file made by [`write_snapshot`](crate::write_snapshot).
    Snapshot {
        /// The file.
        path: PathBuf,
        /// Which rows, counted from 0; all without.
        #[serde(default)]
        rows: Option<Vec<usize>>,
    },
}

/// The rows to learn from and the rows to be scored on, with the same classes in both.
pub fn read_pair(train: &Source, test: &Source) -> Result<(Sample, Sample), Error> {
    let (train, test) = (train.read(None)?, test.read(Some(train))?);
    match (train, test) {
        (Raw::Sample(train), Raw::Sample(test)) => agree(train, test),
        (Raw::Table(mut train, task), Raw::Table(mut test, _)) => {
            let (target, held_out) = targets(&mut train, &mut test, task)?;
            agree(Sample { table: train, target }, Sample { table: test, target: held_out })
        }
        _ => Err(Error::new("the training and the test rows must both be snapshots, or neither")),
    }
}

/// Rows as they are read.
enum Raw {
    Sample(Sample),
    Table(Table, Task),
}

impl Source {
    /// The rows; the columns are those of `like` where there is a choice.
    fn read(&self, like: Option<&Source>) -> Result<Raw, Error> {
        match self {
            Source::Snapshot { path, rows } => Ok(Raw::Sample(read_snapshot(path, rows.as_deref())?)),
            &Source::Simulated { set, rows, test_rows, seed, part } => {
                set.check_rows(rows.saturating_add(test_rows))?;
                let (train, test) = set.train_test(rows, test_rows, seed);
                Ok(Raw::Table(if part == Part::Train { train } else { test }, Task::Auto))
            }
            Source::File { path, target, weight, ignore, columns, missing, task, rows } => {
                let column = |name: &String| ColumnRef::from(name.as_str());
                // The test file of a LIBSVM set may lack the last columns.
                let width = match like {
                    Some(Source::File { columns, .. }) => *columns,
                    _ => None,
                };
                let options = ReadOptions {
                    target: target.as_ref().map(column),
                    weight: weight.as_ref().map(column),
                    ignore: ignore.iter().map(column).collect(),
                    columns: columns.or(width),
                    missing: *missing,
                    select: Select::All,
                    ..ReadOptions::default()
                };
                let table = rffnet_data::read(&path.to_string_lossy(), &options)?;
                if let Some(row) = rows.iter().flatten().find(|&&row| row >= table.rows) {
                    return Err(beyond(&table.source, *row, table.rows));
                }
                let table = match rows {
                    Some(rows) => table.take(rows),
                    None => table,
                };
                Ok(Raw::Table(table, *task))
            }
        }
    }
}

pub(crate) fn beyond(source: &str, row: usize, rows: usize) -> Error {
    Error::new(format!("{source}: there is no row {row}, counted from 0; there are {rows}"))
}

/// Both targets, with the same classes.
fn targets(train: &mut Table, test: &mut Table, task: Task) -> Result<(OwnedTarget, OwnedTarget), Error> {
    let column = |table: &mut Table| {
        let none = || Error::new(format!("{}: which column is the target? Name it", table.source));
        table.target.take().ok_or_else(none)
    };
    let (first, second) = (column(train)?, column(test)?);
    if !task.classifies(&first) {
        return Ok((first.to_target(Task::Regression)?, second.to_target(Task::Regression)?));
    }
    let rows: Vec<usize> = (0..first.len() + second.len()).collect();
    let (train, test) = rows.split_at(first.len());
    let both = joined(first, second)?.to_target(Task::Classification)?;
    Ok((both.take(train), both.take(test)))
}

/// One column, then the other.
fn joined(first: Column, second: Column) -> Result<Column, Error> {
    match (first, second) {
        (Column::Numbers(mut values), Column::Numbers(more)) => {
            values.extend(more);
            Ok(Column::Numbers(values))
        }
        (Column::Text { levels, codes }, Column::Text { levels: other, codes: more }) => {
            let names: BTreeSet<&String> = levels.iter().chain(&other).collect();
            let names: Vec<String> = names.into_iter().cloned().collect();
            let place = |level: &String| names.partition_point(|name| name < level) as u32;
            let first = codes.iter().map(|&c| place(&levels[c as usize]));
            let codes = first.chain(more.iter().map(|&c| place(&other[c as usize]))).collect();
            Ok(Column::Text { codes, levels: names })
        }
        _ => Err(Error::new("the target holds numbers in one part and text in the other")),
    }
}

/// The same columns and the same classes in both parts.
fn agree(train: Sample, test: Sample) -> Result<(Sample, Sample), Error> {
    if train.table.names != test.table.names {
        return Err(Error::new("the training and the test rows have different columns"));
    }
    if train.target.classes() != test.target.classes() {
        return Err(Error::new("the training and the test rows have different targets"));
    }
    Ok((train, test))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: PathBuf, rows: Option<Vec<usize>>) -> Source {
        Source::File {
            path,
            target: Some("y".into()),
            weight: None,
            ignore: Vec::new(),
            columns: None,
            missing: false,
            task: Task::Auto,
            rows,
        }
    }

    #[test]
    fn classes_are_numbered_alike_in_both_parts() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a.csv"), folder.path().join("b.csv"));
        std::fs::write(&a, "x,y\n1,red\n2,blue\n3,red\n").unwrap();
        std::fs::write(&b, "x,y\n1,red\n2,green\n").unwrap();
        let (train, test) = read_pair(&file(a.clone(), Some(vec![1, 2])), &file(b, None)).unwrap();
        let classes: Vec<String> = ["blue", "green", "red"].map(String::from).to_vec();
        assert_eq!(train.target, OwnedTarget::Labels { codes: vec![0, 2], classes: classes.clone() });
        assert_eq!(test.target, OwnedTarget::Labels { codes: vec![2, 1], classes });
        assert_eq!((train.table.x, test.table.x), (vec![2.0, 3.0], vec![1.0, 2.0]));
        let error = read_pair(&file(a.clone(), Some(vec![3])), &file(a, None)).unwrap_err();
        assert!(error.to_string().ends_with("there is no row 3, counted from 0; there are 3"), "{error}");
    }

    #[test]
    fn simulated_parts_are_those_of_the_command() {
        let part = |part| Source::Simulated { set: Simulated::Moons, rows: 50, test_rows: 20, seed: 3, part };
        let (train, test) = read_pair(&part(Part::Train), &part(Part::Test)).unwrap();
        let (expected, held) = Simulated::Moons.train_test(50, 20, 3);
        assert_eq!((train.table.x, test.table.x), (expected.x, held.x));
        let text = serde_json::to_string(&part(Part::Test)).unwrap();
        assert_eq!(serde_json::from_str::<Source>(&text).unwrap(), part(Part::Test));
    }
}
