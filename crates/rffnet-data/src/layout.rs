//! Which column of a file is what: input, target, weight, or left out.

use std::cell::OnceCell;
use std::collections::HashMap;

use rffnet::ColumnType;
use rffnet::text::plural;

use crate::block::Shape;
use crate::error::{DataError, shown};
use crate::names::{listed, nearest};
use crate::options::{ColumnRef, ReadOptions, Select};

/// What one column of the file is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Skip,
    /// The input column with this number in the table.
    Input(usize),
    Target,
    Weight,
}

/// What a user said a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Categorical,
    Numeric,
    Date,
}

/// The columns of a file and their roles.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// The file's columns.
    pub(crate) names: Vec<String>,
    pub(crate) has_names: bool,
    /// One per column of the file.
    pub(crate) roles: Vec<Role>,
    /// The table's input columns.
    pub(crate) inputs: Vec<String>,
    pub(crate) target: Option<usize>,
    pub(crate) weight: Option<usize>,
    /// One per column of the file: its place among the kept ones.
    pub(crate) kept: Vec<Option<usize>>,
    /// One per column of the file; empty if nothing was said about any.
    pub(crate) asked: Vec<Option<Asked>>,
}

impl Layout {
    /// What a user said about a column of the file.
    pub(crate) fn asked(&self, column: usize) -> Option<Asked> {
        self.asked.get(column).copied().flatten()
    }

    /// Whether the cells of a column of the file are the levels of a category, since a user or a model says so. A reader
    /// keeps these as they are written, numbers too: as floats, long ones would become one.
    pub(crate) fn is_category(&self, column: usize, options: &ReadOptions) -> bool {
        let &Role::Input(k) = &self.roles[column] else { return false };
        let of = match &options.select {
            Select::Named { types, .. } => types.get(k),
            Select::All => None,
        };
        self.asked(column) == Some(Asked::Categorical) || matches!(of, Some(ColumnType::Category { .. }))
    }

    /// The shape of blocks of this file's rows.
    pub(crate) fn shape(&self) -> Shape {
        Shape {
            inputs: self.inputs.len(),
            target: self.target.is_some(),
            weight: self.weight.is_some(),
            kept: self.kept.iter().flatten().count(),
        }
    }
}

/// The names of columns that have none: `x1..xd`.
pub(crate) fn made_up_names(columns: usize) -> Vec<String> {
    (1..=columns).map(|k| format!("x{k}")).collect()
}

/// Decides the roles of a file's columns. Without names, the last free column is the target unless one is
/// given.
pub(crate) fn resolve(
    source: &str,
    names: Vec<String>,
    has_names: bool,
    options: &ReadOptions,
) -> Result<Layout, DataError> {
    let finder = Finder { source, names: &names, has_names, index: OnceCell::new() };
    let target = match (&options.target, &options.likely_target) {
        (Some(column), _) => Some(finder.find(column, "target")?),
        (None, Some(name)) if has_names => finder.named(name),
        (None, _) => None,
    };
    let weight = options.weight.as_ref().map(|c| finder.find(c, "weight")).transpose()?;
    if let (Some(t), true) = (target, target == weight) {
        let name = shown(&names[t]);
        return Err(DataError::column(format!(
            "{source}: column '{name}' cannot be both the target and the weight; change --target or --weight"
        )));
    }
    let mut free = vec![true; names.len()];
    for column in &options.ignore {
        let i = finder.find(column, "ignore")?;
        free[i] = false;
    }
    for (i, role) in [(target, "target"), (weight, "weight")].into_iter().filter_map(|(i, r)| Some((i?, r))) {
        if !free[i] {
            let name = shown(&names[i]);
            return Err(DataError::column(format!(
                "{source}: column '{name}' is the {role} and cannot be left out; drop it from --ignore"
            )));
        }
        free[i] = false;
    }
    let choice = Choice { finder: &finder, free, target, weight };
    let (inputs, taken, target) = match &options.select {
        Select::All => choice.all()?,
        Select::Named { names, named, .. } => choice.named(names, *named)?,
    };
    let mut roles = vec![Role::Skip; names.len()];
    for (k, &i) in taken.iter().enumerate() {
        roles[i] = Role::Input(k);
    }
    if let Some(i) = target {
        roles[i] = Role::Target;
    }
    if let Some(i) = weight {
        roles[i] = Role::Weight;
    }
    let mut kept = vec![None; names.len()];
    let mut places = 0..;
    for column in &options.keep {
        let slot = &mut kept[finder.find(column, "keep")?];
        if slot.is_none() {
            *slot = places.next();
        }
    }
    let asked = find_asked(&finder, options)?;
    Ok(Layout { roles, inputs, target, weight, kept, asked, has_names, names })
}

fn find_asked(finder: &Finder<'_>, options: &ReadOptions) -> Result<Vec<Option<Asked>>, DataError> {
    let flags = [
        (Asked::Categorical, "categorical", &options.categorical),
        (Asked::Numeric, "numeric", &options.numeric),
        (Asked::Date, "date", &options.date),
    ];
    if flags.iter().all(|(_, _, columns)| columns.is_empty()) {
        return Ok(Vec::new());
    }
    let mut asked = vec![None; finder.names.len()];
    for (what, flag, columns) in flags {
        for column in columns {
            let i = finder.find(column, flag)?;
            if asked[i].is_some_and(|other| other != what) {
                return Err(DataError::column(format!(
                    "{}: column '{}' is given to two of --categorical, --numeric and --date; give it to one",
                    finder.source,
                    shown(&finder.names[i])
                )));
            }
            asked[i] = Some(what);
        }
    }
    Ok(asked)
}

struct Finder<'a> {
    source: &'a str,
    names: &'a [String],
    has_names: bool,
    /// Made when first needed: positions need none, and a million names take a while.
    index: OnceCell<HashMap<&'a str, usize>>,
}

impl Finder<'_> {
    fn named(&self, name: &str) -> Option<usize> {
        let index = || self.names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
        self.index.get_or_init(index).get(name).copied()
    }

    /// The column that a user means, for the flag `--{flag}`.
    fn find(&self, column: &ColumnRef, flag: &str) -> Result<usize, DataError> {
        let position = match column {
            ColumnRef::Named(name) => match self.named(name) {
                Some(i) => return Ok(i),
                None => name.trim().parse::<usize>().ok(),
            },
            ColumnRef::Position(k) => Some(*k),
        };
        let total = self.names.len();
        match position {
            Some(k) if (1..=total).contains(&k) => Ok(k - 1),
            Some(k) => Err(DataError::column(format!(
                "{}: there is no column {k} for --{flag}; there are {}, counted from 1",
                self.source,
                plural(total, "column")
            ))),
            None => {
                let name = column.to_string();
                let called = listed(self.names.iter().map(String::as_str), 6);
                let have = if self.has_names {
                    format!("the columns are {called}")
                } else {
                    format!("the file has no header, so its columns are called {called}")
                };
                let advice = match nearest(&name, self.names.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean '{}'? ({have})", shown(near)),
                    None => have,
                };
                let name = shown(&name);
                Err(DataError::column(format!(
                    "{}: there is no column '{name}' for --{flag}; {advice}",
                    self.source
                )))
            }
        }
    }
}

/// The table's inputs, the file's column for each, and the target's column.
type Chosen = (Vec<String>, Vec<usize>, Option<usize>);

struct Choice<'a> {
    finder: &'a Finder<'a>,
    /// Columns that are neither target nor weight nor ignored.
    free: Vec<bool>,
    target: Option<usize>,
    weight: Option<usize>,
}

impl Choice<'_> {
    fn free_columns(&self) -> Vec<usize> {
        (0..self.free.len()).filter(|&i| self.free[i]).collect()
    }

    fn all(self) -> Result<Chosen, DataError> {
        let mut taken = self.free_columns();
        let mut target = self.target;
        if target.is_none() && !self.finder.has_names {
            target = taken.pop();
        }
        if taken.is_empty() {
            return Err(DataError::column(format!(
                "{}: no input column is left beside the target; the file has {}",
                self.finder.source,
                plural(self.free.len(), "column")
            )));
        }
        let inputs = taken.iter().map(|&i| self.finder.names[i].clone()).collect();
        Ok((inputs, taken, target))
    }

    fn named(self, wanted: &[String], named: bool) -> Result<Chosen, DataError> {
        let finder = self.finder;
        let by_name = finder.has_names && (named || wanted.iter().all(|name| finder.named(name).is_some()));
        let (taken, target) = if by_name { self.by_name(wanted)? } else { self.by_position(wanted, named)? };
        Ok((wanted.to_vec(), taken, target))
    }

    fn by_name(self, wanted: &[String]) -> Result<(Vec<usize>, Option<usize>), DataError> {
        let Finder { source, names, .. } = self.finder;
        let mut taken = Vec::with_capacity(wanted.len());
        let mut absent = Vec::new();
        for name in wanted {
            match self.finder.named(name) {
                None => absent.push(name.as_str()),
                Some(i) if self.free[i] => taken.push(i),
                Some(i) => {
                    let flag = if self.target == Some(i) {
                        "--target"
                    } else if self.weight == Some(i) {
                        "--weight"
                    } else {
                        "--ignore"
                    };
                    return Err(DataError::column(format!(
                        "{source}: column '{}' is one of the model's inputs; take it out of {flag}",
                        shown(name)
                    )));
                }
            }
        }
        if absent.is_empty() {
            return Ok((taken, self.target));
        }
        let near: Vec<&str> = absent
            .iter()
            .take(3)
            .filter_map(|name| nearest(name, names.iter().map(String::as_str)))
            .filter(|near| !wanted.iter().any(|w| w == near))
            .collect();
        let advice = if near.is_empty() {
            format!("the file has {}", listed(names.iter().map(String::as_str), 6))
        } else {
            format!("the nearest names in the file are {}", listed(near.into_iter(), 3))
        };
        Err(DataError::column(format!(
            "{source}: {} of the model's {} {} absent: {}; {advice}",
            absent.len(),
            plural(wanted.len(), "column"),
            if absent.len() == 1 { "is" } else { "are" },
            listed(absent.iter().copied(), 3)
        )))
    }

    /// Without names on one side, order is all there is.
    fn by_position(self, wanted: &[String], named: bool) -> Result<(Vec<usize>, Option<usize>), DataError> {
        let (n, free) = (wanted.len(), self.free_columns());
        if free.len() == n {
            return Ok((free, self.target));
        }
        // `x3` made up for a file without names was its third column: so it is in a file of the same shape,
        // wherever the target stood.
        let same_place = || -> Option<Vec<usize>> {
            wanted.iter().map(|name| name.strip_prefix('x')?.parse::<usize>().ok()?.checked_sub(1)).collect()
        };
        let taken = match same_place() {
            Some(places)
                if !named && free.len() > n && places.iter().all(|&i| self.free.get(i) == Some(&true)) =>
            {
                places
            }
            // A model with names may have been fitted on a file whose target stood anywhere.
            _ if !named && self.target.is_none() && free.len() == n + 1 => free[..n].to_vec(),
            _ => {
                return Err(DataError::column(format!(
                    "{}: the model needs {}, and {} here (matched by position, since {}); give the columns \
                         the model was fitted on, in their order",
                    self.finder.source,
                    plural(n, "input column"),
                    if free.len() == 1 {
                        "there is 1".to_string()
                    } else {
                        format!("there are {}", free.len())
                    },
                    if self.finder.has_names { "the model has no names" } else { "the file has no names" },
                )));
            }
        };
        // The one column that is left in a file without names is its target.
        if self.target.is_none() && !self.finder.has_names && free.len() == n + 1 {
            let mut left = self.free;
            taken.iter().for_each(|&i| left[i] = false);
            let target = left.iter().position(|&left| left);
            return Ok((taken, target));
        }
        Ok((taken, self.target))
    }
}
