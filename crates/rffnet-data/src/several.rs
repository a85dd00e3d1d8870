//! Several files as one table: which column of a file is which of the first, and whether they hold the same.

use std::collections::HashMap;

use rffnet::text::plural;

use crate::block::OddCells;
use crate::cell::{Cell, classify};
use crate::collector::{Collector, Declared};
use crate::dictionary::Dictionary;
use crate::error::{DataError, shown};
use crate::layout::{Layout, Role};
use crate::names::{listed, shell};
use crate::options::{ReadOptions, Select};
use crate::packed::Unpacked;

/// The roles of the columns of a further file: those that the same columns have in the first. Columns are the same if they
/// have the same name, or without names the same position.
pub(crate) fn match_columns(
    (first_source, first): (&str, &Layout),
    source: &str,
    names: Vec<String>,
    has_names: bool,
    options: &ReadOptions,
) -> Result<Layout, DataError> {
    if first.has_names != has_names {
        let (with, without) = if has_names { (source, first_source) } else { (first_source, source) };
        return Err(DataError::column(format!(
            "{without}: the columns have no names, but those of {with} have; give all files a header, or none"
        )));
    }
    let places = if has_names {
        places_by_name((first_source, first), source, &names, options)?
    } else if names.len() == first.names.len() {
        (0..names.len()).map(Some).collect()
    } else {
        return Err(DataError::column(format!(
            "{source}: there are {}, but {} in {first_source}; give files with the same columns",
            plural(names.len(), "column"),
            first.names.len()
        )));
    };
    let place_of =
        |of_first: Option<usize>| places.iter().position(|&place| place.is_some() && place == of_first);
    Ok(Layout {
        roles: places.iter().map(|place| place.map_or(Role::Skip, |i| first.roles[i])).collect(),
        kept: places.iter().map(|place| place.and_then(|i| first.kept[i])).collect(),
        asked: places.iter().map(|place| place.and_then(|i| first.asked(i))).collect(),
        inputs: first.inputs.clone(),
        target: place_of(first.target),
        weight: place_of(first.weight),
        has_names,
        names,
    })
}

/// The place in the first file of each column.
fn places_by_name(
    (first_source, first): (&str, &Layout),
    source: &str,
    names: &[String],
    options: &ReadOptions,
) -> Result<Vec<Option<usize>>, DataError> {
    let index: HashMap<&str, usize> =
        first.names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
    let places: Vec<Option<usize>> = names.iter().map(|name| index.get(name.as_str()).copied()).collect();
    let mut found = vec![false; first.names.len()];
    places.iter().flatten().for_each(|&i| found[i] = true);
    let used = |i: usize| first.roles[i] != Role::Skip || first.kept[i].is_some();
    let absent: Vec<&str> =
        (0..found.len()).filter(|&i| !found[i] && used(i)).map(|i| first.names[i].as_str()).collect();
    if !absent.is_empty() {
        return Err(missing(source, &absent, first_source));
    }
    // A model takes what it needs; a table must not silently lose a column.
    let ignored = |name: &str| options.ignore.iter().any(|column| column.to_string() == name);
    let further: Vec<&str> = names
        .iter()
        .zip(&places)
        .filter(|(name, place)| place.is_none() && matches!(options.select, Select::All) && !ignored(name))
        .map(|(name, _)| name.as_str())
        .collect();
    if !further.is_empty() {
        return Err(missing(first_source, &further, source));
    }
    Ok(places)
}

fn missing(source: &str, columns: &[&str], other: &str) -> DataError {
    let (word, pronoun) = if columns.len() == 1 { ("column", "it") } else { ("columns", "them") };
    let flags: Vec<String> = columns.iter().take(5).map(|name| shell(name)).collect();
    DataError::column(format!(
        "{source}: {word} {} of {other} {} absent here; add {pronoun}, or leave {pronoun} out with --ignore {}",
        listed(columns.iter().copied(), 5),
        if columns.len() == 1 { "is" } else { "are" },
        flags.join(",")
    ))
}

/// What stands in the input columns of a file.
pub(crate) struct Contents(Vec<Column>);

#[derive(Clone, Copy, Default)]
struct Column {
    numbers: bool,
    texts: bool,
    declared: Option<Declared>,
}

impl Column {
    /// Whether two files can agree on what it is. Texts may be the dates or amounts that the other file declares: that is told from all
    /// rows at the end.
    fn agrees(self, other: Column) -> bool {
        let open = |texts: Column, declared: Column| {
            texts.kind() == Some("texts") && !matches!(declared.declared, None | Some(Declared::Boolean))
        };
        self.kind().is_none()
            || other.kind().is_none()
            || self.kind() == other.kind()
            || open(self, other)
            || open(other, self)
    }

    /// What it is, if it is one thing only.
    fn kind(self) -> Option<&'static str> {
        match (self.numbers, self.texts) {
            (true, false) => Some(match self.declared {
                Some(Declared::Date(_)) => "dates",
                Some(Declared::Boolean) => "booleans",
                _ => "numbers",
            }),
            (false, true) => Some("texts"),
            _ => None,
        }
    }
}

impl Contents {
    /// Of the last file, whose rows begin at `first_row`.
    pub(crate) fn of(collector: &Collector<'_>, first_row: usize) -> Self {
        let width = collector.inputs.len();
        let mut columns: Vec<Column> =
            collector.declared.iter().map(|&declared| Column { declared, ..Column::default() }).collect();
        let none = OddCells::default();
        let texts: Vec<&Dictionary> =
            collector.inputs.iter().map(|odd| &odd.get().unwrap_or(&none).texts).collect();
        for row in collector.cells.chunks_exact(width.max(1)).skip(first_row) {
            for ((column, cell), texts) in columns.iter_mut().zip(row).zip(&texts) {
                match cell.get() {
                    Unpacked::Number(_) => column.numbers = true,
                    Unpacked::Gap => {}
                    // Readers may keep numbers and words for gaps as texts until the column is complete.
                    Unpacked::Text(code) if !column.texts => match classify(texts.get(code)) {
                        Cell::Number(_) => column.numbers = true,
                        Cell::Text(_) => column.texts = true,
                        Cell::Unusable(_) => {}
                    },
                    Unpacked::Text(_) => {}
                }
            }
        }
        Contents(columns)
    }

    /// Compares the last file with those before it.
    pub(crate) fn compare(files: &[Contents], collector: &Collector<'_>) -> Result<(), DataError> {
        let Some((last, before)) = files.split_last() else { return Ok(()) };
        for (k, column) in last.0.iter().enumerate() {
            let Some(kind) = column.kind() else { continue };
            let other = before.iter().enumerate().find_map(|(i, file)| {
                let other = file.0.get(k).filter(|other| !column.agrees(**other))?;
                Some((i, other.kind()?))
            });
            let Some((i, other)) = other else { continue };
            let name =
                collector.layout.as_ref().and_then(|layout| layout.inputs.get(k)).map_or("", String::as_str);
            return Err(DataError::column(format!(
                "{}: column '{}' holds {kind}, but {other} in {}; make them alike, or leave the column out with --ignore {}",
                collector.source(),
                shown(name),
                collector.files.get(i).map_or("", |file| &file.source),
                shell(name)
            )));
        }
        Ok(())
    }
}
