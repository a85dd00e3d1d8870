//! Which files make up a set, and how each is read.

use std::path::{Path, PathBuf};

use rffnet_data::{Column, ColumnRef, Format, ReadOptions, Table, read_from};

use super::open::{open, open_member};
use super::{reviews, sheet};
use crate::Error;

/// A set as it was found.
pub(super) struct Found {
    pub(super) table: Table,
    pub(super) note: Option<String>,
}

/// Where a set can be had.
pub(super) fn advice(name: &str) -> &'static str {
    match name {
        "abalone" => "'abalone' from https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/regression.html",
        "compact" => "'compact.tar.gz' from https://www.dcc.fc.up.pt/~ltorgo/Regression/DataSets.html",
        "powerplant" => "'combined+cycle+power+plant.zip' from https://archive.ics.uci.edu/dataset/294",
        "yearprediction" => {
            "'YearPredictionMSD.bz2' and 'YearPredictionMSD.t.bz2' from \
             https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/regression.html"
        }
        "a9a" => "'a9a' and 'a9a.t' from https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html",
        "w8a" => "'w8a' and 'w8a.t' from https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html",
        "higgs" => "'HIGGS.csv.gz' from https://archive.ics.uci.edu/dataset/280/higgs",
        _ => "'Reviews.csv' from https://www.kaggle.com/datasets/snap/amazon-fine-food-reviews",
    }
}

/// Reads a set, the publisher's files first; `None` if there is no file of it.
pub(super) fn read(name: &str, folder: &Path) -> Result<Option<Found>, Error> {
    let first = |names: &[&str]| names.iter().find_map(|n| packed(folder, n));
    let plain = |table: Table| Ok(Some(Found { table, note: None }));
    match name {
        "abalone" => match first(&["abalone", "abalone.libsvm"]) {
            Some(path) => plain(libsvm(&path, 8)?),
            None => prepared(folder, name),
        },
        "compact" => match (first(&["compact.tar", "cpu_act.tar"]), first(&["cpu_act.data"])) {
            (Some(path), _) => plain(values(open_member(&path, "cpu_act.data")?, "cpu_act.data", 22)?),
            (None, Some(path)) => plain(values(open(&path)?, "cpu_act.data", 22)?),
            _ => prepared(folder, name),
        },
        "powerplant" => {
            let zip = ["combined+cycle+power+plant.zip", "CCPP.zip", "Folds5x2_pp.xlsx"];
            match first(&zip) {
                Some(path) => plain(sheet::read(&path)?),
                None => prepared(folder, name),
            }
        }
        "yearprediction" => year(folder, &first),
        "a9a" => pair(folder, &first, "a9a", 123),
        "w8a" => pair(folder, &first, "w8a", 300),
        "higgs" => match (first(&["HIGGS.csv"]), first(&["higgs.zip"])) {
            (Some(path), _) => plain(values(open(&path)?, "HIGGS.csv", 1)?),
            (None, Some(path)) => plain(values(open_member(&path, "HIGGS.csv.gz")?, "HIGGS.csv", 1)?),
            _ => prepared(folder, name),
        },
        _ => {
            let zips = ["archive.zip", "amazon-fine-food-reviews.zip"];
            let (table, note) = match (first(&["Reviews.csv", "amazon_8550.csv"]), first(&zips)) {
                (Some(path), _) => reviews::read(open(&path)?)?,
                (None, Some(path)) => reviews::read(open_member(&path, "Reviews.csv")?)?,
                _ => return Ok(None),
            };
            Ok(Some(Found { table, note: Some(note) }))
        }
    }
}

/// A file in the folder, or in its folder of the set's name, as it is or packed.
fn packed(folder: &Path, name: &str) -> Option<PathBuf> {
    let stem = name.split('.').next().unwrap_or(name);
    let places = [folder.to_path_buf(), folder.join(stem)];
    let suffixes = ["", ".gz", ".bz2"];
    let mut all = places.iter().flat_map(|place| suffixes.map(|s| place.join(format!("{name}{s}"))));
    all.find(|path| path.is_file())
}

/// Our own preparation: a header, the column `target`.
fn prepared(folder: &Path, name: &str) -> Result<Option<Found>, Error> {
    let Some(path) = packed(folder, &format!("{name}.csv")) else { return Ok(None) };
    Ok(Some(Found { table: titled(&path)?, note: None }))
}

fn titled(path: &Path) -> Result<Table, Error> {
    let options =
        ReadOptions { target: Some("target".into()), format: Some(Format::Csv), ..ReadOptions::default() };
    Ok(read_from(open(path)?, &path.to_string_lossy(), &options)?)
}

/// LIBSVM rows of a given width.
fn libsvm(path: &Path, width: usize) -> Result<Table, Error> {
    let options =
        ReadOptions { format: Some(Format::Libsvm), columns: Some(width), ..ReadOptions::default() };
    Ok(read_from(open(path)?, &path.to_string_lossy(), &options)?)
}

/// Comma-separated numbers without a header.
fn values(reader: Box<dyn std::io::Read>, source: &str, target: usize) -> Result<Table, Error> {
    let options = ReadOptions {
        format: Some(Format::Csv),
        header: Some(false),
        target: Some(ColumnRef::Position(target)),
        ..ReadOptions::default()
    };
    Ok(read_from(reader, source, &options)?)
}

/// A LIBSVM set in two files, stacked as in the paper.
fn pair(
    folder: &Path,
    first: &dyn Fn(&[&str]) -> Option<PathBuf>,
    name: &str,
    width: usize,
) -> Result<Option<Found>, Error> {
    let Some(train) = first(&[name, &format!("{name}.libsvm")]) else { return prepared(folder, name) };
    let table = libsvm(&train, width)?;
    match first(&[&format!("{name}.t"), &format!("{name}.t.libsvm")]) {
        Some(test) => Ok(Some(Found { table: stacked(table, libsvm(&test, width)?)?, note: None })),
        None => Ok(Some(Found { table, note: Some(format!("{name}.t is missing, so only {name} is used")) })),
    }
}

fn year(folder: &Path, first: &dyn Fn(&[&str]) -> Option<PathBuf>) -> Result<Option<Found>, Error> {
    let plain = |table: Table| Ok(Some(Found { table, note: None }));
    if let Some(path) = first(&["YearPredictionMSD.txt"]) {
        return plain(values(open(&path)?, "YearPredictionMSD.txt", 1)?);
    }
    if let Some(path) = first(&["yearpredictionmsd.zip", "YearPredictionMSD.txt.zip", "203.zip"]) {
        return plain(values(open_member(&path, "YearPredictionMSD.txt")?, "YearPredictionMSD.txt", 1)?);
    }
    if let Some(train) = first(&["YearPredictionMSD"]) {
        let table = libsvm(&train, 90)?;
        return match first(&["YearPredictionMSD.t"]) {
            Some(test) => plain(stacked(table, libsvm(&test, 90)?)?),
            None => {
                let note = Some("YearPredictionMSD.t is missing, so only the first file is used".into());
                Ok(Some(Found { table, note }))
            }
        };
    }
    let small = (first(&["yearprediction_5k_train.csv"]), first(&["yearprediction_2k_test.csv"]));
    if let (Some(train), Some(test)) = small {
        return plain(stacked(titled(&train)?, titled(&test)?)?);
    }
    prepared(folder, "yearprediction")
}

/// The rows of both, one after the other.
fn stacked(mut table: Table, more: Table) -> Result<Table, Error> {
    if table.names.len() != more.names.len() {
        let (a, b) = (table.names.len(), more.names.len());
        return Err(Error::new(format!("{} has {a} columns but {} has {b}", table.source, more.source)));
    }
    match (&mut table.target, more.target) {
        (Some(Column::Numbers(y)), Some(Column::Numbers(others))) => y.extend(others),
        _ => {
            return Err(Error::new(format!(
                "the targets of {} and {} differ in kind",
                table.source, more.source
            )));
        }
    }
    table.x.extend(more.x);
    table.rows += more.rows;
    Ok(table)
}
