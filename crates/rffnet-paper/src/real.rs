//! The real sets: found in a folder under the names their publishers give them, read, cut into folds.

mod locate;
mod open;
mod reviews;
mod sheet;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod words;

use std::cell::OnceCell;
use std::ops::Range;
use std::path::Path;

use rand::Rng;
use rffnet::Data;
use rffnet::numerics::random::{seeded, shuffle_by};
use rffnet_compare::{Source, write_snapshot};
use rffnet_data::{Column, Table, Task};
use tempfile::TempDir;

use crate::Error;

/// Folds of the cross-validation.
const FOLDS: usize = 10;

/// A real set.
pub(crate) struct Real {
    pub(crate) name: &'static str,
    pub(crate) table: Table,
    /// What is not as in the paper.
    pub(crate) note: Option<String>,
    /// Of the rows themselves.
    pub(crate) fingerprint: String,
    /// The rows for processes of their own, once one is needed.
    snapshot: OnceCell<TempDir>,
}

impl Real {
    /// Looks for a set; otherwise one sentence says what to do.
    pub(crate) fn find(name: &'static str, folder: Option<&Path>) -> Result<Real, String> {
        let Some(folder) = folder else {
            return Err(format!(
                "{name} is skipped: pass --data-dir with a folder that has {}",
                locate::advice(name)
            ));
        };
        if !folder.is_dir() {
            return Err(format!("{name} is skipped: there is no folder '{}'", folder.display()));
        }
        match locate::read(name, folder) {
            Ok(Some(found)) => Ok(Real::new(name, found.table, found.note)),
            Ok(None) => Err(format!(
                "{name} is skipped: --data-dir has none of its files; get {}",
                locate::advice(name)
            )),
            Err(why) => Err(format!("{name} is skipped: {why}")),
        }
    }

    pub(crate) fn new(name: &'static str, table: Table, note: Option<String>) -> Real {
        let fingerprint = fingerprint(&table);
        Real { name, table, note, fingerprint, snapshot: OnceCell::new() }
    }

    fn is_classification(&self) -> bool {
        matches!(self.name, "a9a" | "amazon" | "higgs" | "w8a")
    }

    /// Training and test rows of a fold, in shuffled order.
    pub(crate) fn fold(&self, fold: usize, seed: u64) -> (Vec<usize>, Vec<usize>) {
        let mut order: Vec<usize> = (0..self.table.rows).collect();
        let mut rng = seeded(seed);
        shuffle_by(&mut order, |n| below(&mut rng, n as u64) as usize);
        let test = order.drain(self.held_out(fold)).collect();
        (order, test)
    }

    /// Where the test rows of a fold stand in the shuffled order.
    fn held_out(&self, fold: usize) -> Range<usize> {
        let (n, fold) = (self.table.rows, fold % FOLDS);
        fold * n / FOLDS..(fold + 1) * n / FOLDS
    }

    /// Test rows of a fold.
    pub(crate) fn test_rows(&self, fold: usize) -> usize {
        self.held_out(fold).len()
    }

    /// Training rows of the first fold; no other has more.
    pub(crate) fn training_rows(&self) -> usize {
        self.table.rows - self.test_rows(0)
    }

    /// Rows of this set for a process of its own.
    pub(crate) fn source(&self, rows: Vec<usize>) -> Result<Source, Error> {
        let folder = match self.snapshot.get() {
            Some(folder) => folder,
            None => {
                let folder = self.write()?;
                self.snapshot.get_or_init(|| folder)
            }
        };
        Ok(Source::Snapshot { path: folder.path().join("rows"), rows: Some(rows) })
    }

    fn write(&self) -> Result<TempDir, Error> {
        let failed =
            |e: &dyn std::fmt::Display| Error::new(format!("{}: the rows could not be kept: {e}", self.name));
        let column = self.table.target.as_ref().ok_or_else(|| failed(&"there is no target"))?;
        let task = if self.is_classification() { Task::Classification } else { Task::Regression };
        let target = column.to_target(task)?;
        let data = Data { names: Some(&self.table.names), ..Data::new(self.table.matrix()?, target.view()) };
        let folder = TempDir::with_prefix("rffnet-").map_err(|e| failed(&e))?;
        write_snapshot(&folder.path().join("rows"), &data).map_err(|e| failed(&e))?;
        Ok(folder)
    }
}

/// Below `bound`, evenly: what does not fill a whole number of bounds is drawn again.
fn below(rng: &mut impl Rng, bound: u64) -> u64 {
    let limit = u64::MAX - u64::MAX % bound;
    loop {
        let drawn = rng.next_u64();
        if drawn < limit {
            return drawn % bound;
        }
    }
}

/// FNV-1a over all numbers.
fn fingerprint(table: &Table) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |bits: u64| hash = (hash ^ bits).wrapping_mul(0x0100_0000_01b3);
    table.x.iter().for_each(|v| add(v.to_bits().into()));
    match &table.target {
        Some(Column::Numbers(values)) => values.iter().for_each(|v| add(v.to_bits())),
        Some(Column::Text { codes, .. }) => codes.iter().for_each(|&c| add(c.into())),
        None => {}
    }
    format!("{} x {}, {hash:016x}", table.rows, table.columns())
}
