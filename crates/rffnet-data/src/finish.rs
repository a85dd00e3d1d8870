//! The end of a collection: types are decided and the packed cells become a [`Table`].

use rayon::prelude::*;
use rffnet::text::{count, plural};
use rffnet::{ColumnType, UNKNOWN_LEVEL};

use crate::block::OddCells;
use crate::cell::{Fault, Use};
use crate::collector::Collector;
use crate::column::Column;
use crate::error::{DataError, shown};
use crate::facts::{Counts, Facts, count_columns};
use crate::faults::{Refused, refuse};
use crate::ids;
use crate::infer::{ColumnFault, Decision, decide, read_as};
use crate::layout::{Layout, Role};
use crate::options::Select;
use crate::packed::{Packed, Unpacked};
use crate::report::{ColumnKind, ColumnReport};
use crate::table::Table;
use crate::target;

impl Collector<'_> {
    /// The table of all rows.
    pub(crate) fn finish(mut self) -> Result<Table, DataError> {
        let Some(layout) = self.layout.clone() else {
            return Err(DataError::format(format!("{}: there are no rows", self.source())));
        };
        let mut refused = Vec::new();
        let mut decisions = self.decide_inputs(&layout, &mut refused);
        let target = self.decide_target(&layout, &mut refused);
        if !refused.is_empty() {
            return Err(refuse(&self, &refused));
        }
        self.leave_out_ids(&layout, &mut decisions);
        for decision in decisions.iter_mut().flatten() {
            self.notes.append(&mut decision.notes);
        }
        if self.comments > 0 {
            self.notes.push(match self.comments {
                1 => "1 line that starts with '#' is passed over as a comment".into(),
                n => format!("{} lines that start with '#' are passed over as comments", count(n)),
            });
        }
        let unknown = self.encode(&layout, &decisions);
        let mut column = None;
        if let Some(decided) = target {
            self.notes.extend(decided.notes);
            column = Some(self.without_gaps(decided.column, &decided.gaps)?);
        }
        self.check_weights(&layout)?;
        self.into_table(&layout, decisions, column, unknown)
    }

    /// What each input column is; `None` for a plain column of numbers.
    fn decide_inputs<'l>(
        &self,
        layout: &'l Layout,
        refused: &mut Vec<Refused<'l>>,
    ) -> Vec<Option<Box<Decision>>> {
        let types = match &self.options.select {
            Select::Named { types, .. } => Some(types),
            Select::All => None,
        };
        let type_of = |k: usize| types.map(|types| types.get(k).unwrap_or(&ColumnType::Number));
        let columns = file_columns(layout);
        let open = |k: &usize| {
            self.inputs[*k].get().is_some_and(|odd| !odd.texts.is_empty() || odd.gaps == self.rows)
                || self.declared[*k].is_some()
                || layout.asked(columns[*k]).is_some()
                || type_of(*k).is_some_and(|of| *of != ColumnType::Number)
        };
        let open: Vec<usize> = (0..self.inputs.len()).filter(open).collect();
        let counts = count_columns(&self.cells, self.inputs.len(), &open);
        let none = OddCells::default();
        let mut decisions: Vec<Option<Box<Decision>>> = Vec::new();
        decisions.resize_with(self.inputs.len(), || None);
        let decided: Vec<Result<Decision, ColumnFault>> = open
            .par_iter()
            .zip(counts)
            .map(|(&k, counts): (&usize, Counts)| {
                let odd = self.inputs[k].get().unwrap_or(&none);
                let name = &layout.inputs[k];
                let facts = Facts { name, rows: self.rows, declared: self.declared[k], odd, counts };
                match type_of(k) {
                    Some(of) => read_as(&facts, of, layout.asked(columns[k])),
                    None => decide(&facts, layout.asked(columns[k])),
                }
            })
            .collect();
        for (&k, decided) in open.iter().zip(decided) {
            match decided {
                Ok(decision) => decisions[k] = Some(Box::new(decision)),
                Err(fault) => refused.push(Refused { name: &layout.inputs[k], used: Use::Input, fault }),
            }
        }
        if !self.options.missing {
            self.refuse_gaps(layout, &decisions, refused);
        }
        decisions
    }

    fn refuse_gaps<'l>(
        &self,
        layout: &'l Layout,
        decisions: &[Option<Box<Decision>>],
        refused: &mut Vec<Refused<'l>>,
    ) {
        for (k, odd) in self.inputs.iter().enumerate() {
            let Some(odd) = odd.get() else { continue };
            let name = &layout.inputs[k];
            let decision = decisions[k].as_deref();
            let gaps = decision.map_or(odd.gaps, |d| if d.column_type.is_some() { d.gaps } else { 0 });
            if gaps == 0 || self.is_empty_tail(layout, k) || refused.iter().any(|r| r.name == name) {
                continue;
            }
            let word = |code: usize| {
                let text = odd.texts.get(code as u32);
                Some((odd.texts.first(code as u32)?, text.to_string()))
            };
            let lost = decision.map(|d| d.values.iter().position(|v| v.is_nan())).unwrap_or_default();
            let first =
                odd.first_gap.clone().into_iter().chain(lost.and_then(word)).min_by_key(|(at, _)| at.row);
            let (at, cell) = first.map_or((None, String::new()), |(at, cell)| (Some(at), cell));
            let fault = ColumnFault { at, cell, fault: Fault::Missing, expected: "numbers", cells: gaps };
            refused.push(Refused { name, used: Use::Input, fault });
        }
    }

    fn decide_target<'l>(
        &self,
        layout: &'l Layout,
        refused: &mut Vec<Refused<'l>>,
    ) -> Option<target::Decided> {
        let i = layout.target?;
        let name = &layout.names[i];
        let odd = &self.target_odd;
        let decided =
            target::decide(&self.target, odd, name, layout.asked(i), self.options.drop_missing_target);
        let fault = match decided {
            Err(fault) => fault,
            Ok(decided) if decided.gaps.is_empty() || self.options.drop_missing_target => {
                return Some(decided);
            }
            Ok(decided) => {
                let row = decided.gaps[0] as u64 + 1;
                let text = match self.target[decided.gaps[0]].get() {
                    Unpacked::Text(code) => {
                        odd.texts.first(code).map(|at| (at, odd.texts.get(code).to_string()))
                    }
                    _ => None,
                };
                let first = text.or(odd.first_gap.clone()).filter(|(at, _)| at.row == row);
                let (at, cell) = first.map_or((None, String::new()), |(at, cell)| (Some(at), cell));
                ColumnFault {
                    at,
                    cell,
                    fault: Fault::Missing,
                    expected: "numbers",
                    cells: decided.gaps.len(),
                }
            }
        };
        refused.push(Refused { name, used: Use::Target, fault });
        None
    }

    /// Whether an input is what a delimiter at the end of every line makes: a last column without a name and without cells.
    fn is_empty_tail(&self, layout: &Layout, k: usize) -> bool {
        let last = layout.names.len() - 1;
        layout.roles.get(last) == Some(&Role::Input(k))
            && self.nameless.contains(&last)
            && self.inputs[k].get().is_some_and(|odd| odd.gaps == self.rows)
            && self.inputs.len() > 1
    }

    /// Leaves out row numbers and empty last columns, and says which columns look like ids.
    fn leave_out_ids(&mut self, layout: &Layout, decisions: &mut [Option<Box<Decision>>]) {
        if !matches!(self.options.select, Select::All) || !layout.has_names {
            return;
        }
        let (width, rows) = (self.inputs.len(), self.rows);
        for (i, role) in layout.roles.iter().enumerate() {
            let &Role::Input(k) = role else { continue };
            if self.is_empty_tail(layout, k) {
                decisions[k] = Some(Box::new(Decision {
                    kind: Some(ColumnKind::Constant),
                    gaps: rows,
                    ..Decision::default()
                }));
                continue;
            }
            if decisions[k].is_some() || self.inputs[k].get().is_some() || layout.asked(i).is_some() {
                continue;
            }
            let name = &layout.names[i];
            let nameless = self.nameless.contains(&i);
            let values = || self.cells.iter().skip(k).step_by(width).map(|cell| cell.float());
            match ids::look(name, nameless && i == 0, i == 0, rows, values) {
                Some(ids::Looks::Index) if width > 1 => {
                    let note = format!("column '{}' counts the rows and is left out", shown(name));
                    let kind = Some(ColumnKind::Index);
                    decisions[k] = Some(Box::new(Decision { kind, notes: vec![note], ..Decision::default() }));
                }
                Some(_) => self.notes.push(format!(
                    "column '{}' looks like an id, different in every row; leave it out with --ignore if it is one",
                    shown(name)
                )),
                None => {}
            }
        }
    }

    /// Puts the values of texts and levels into their cells. Returns how many cells of each column hold a level that the
    /// model does not know.
    fn encode(&mut self, layout: &Layout, decisions: &[Option<Box<Decision>>]) -> Vec<(String, usize)> {
        let width = self.inputs.len();
        let coded: Vec<(usize, &Decision)> = decisions
            .iter()
            .enumerate()
            .filter_map(|(k, decision)| Some((k, decision.as_deref()?)))
            .filter(|(_, d)| d.column_type.is_some() && (!d.values.is_empty() || d.numbers.is_some()))
            .collect();
        if coded.is_empty() {
            return Vec::new();
        }
        let part = self.rows.div_ceil(4 * rayon::current_num_threads()).max(1) * width;
        let encode = |rows: &mut [Packed]| {
            let mut unknown = vec![0; coded.len()];
            for row in rows.chunks_exact_mut(width) {
                for ((k, decision), unknown) in coded.iter().zip(&mut unknown) {
                    let value = decision.value(row[*k]);
                    let category = matches!(decision.column_type, Some(ColumnType::Category { .. }));
                    *unknown += usize::from(category && value == UNKNOWN_LEVEL);
                    row[*k] = Packed::number(value);
                }
            }
            unknown
        };
        let parts: Vec<Vec<usize>> = self.cells.par_chunks_mut(part).map(encode).collect();
        let sum = |j: usize| parts.iter().map(|part| part[j]).sum::<usize>();
        let all = coded.iter().enumerate().map(|(j, (k, _))| (layout.inputs[*k].clone(), sum(j)));
        all.filter(|(_, cells)| *cells > 0).collect()
    }

    /// Drops the rows that have no target.
    fn without_gaps(&mut self, column: Column, gaps: &[usize]) -> Result<Column, DataError> {
        if gaps.is_empty() {
            return Ok(column);
        }
        let (width, name) = (self.inputs.len(), self.source().to_string());
        let mut dropped = vec![false; self.rows];
        gaps.iter().for_each(|&row| dropped[row] = true);
        let kept: Vec<usize> = (0..self.rows).filter(|&row| !dropped[row]).collect();
        if kept.is_empty() {
            return Err(DataError::cell(format!("{name}: no row has a target; choose another --target")));
        }
        for (new, &old) in kept.iter().enumerate() {
            self.cells.copy_within(old * width..(old + 1) * width, new * width);
        }
        self.cells.truncate(kept.len() * width);
        let mut row = 0..;
        self.weight.retain(|_| row.next().is_none_or(|row: usize| !dropped[row]));
        for texts in &mut self.kept {
            let mut row = 0..;
            texts.retain(|_| row.next().is_none_or(|row: usize| !dropped[row]));
        }
        self.rows = kept.len();
        self.notes.push(format!(
            "{} without a target {} dropped",
            plural(gaps.len(), "row"),
            if gaps.len() == 1 { "is" } else { "are" }
        ));
        Ok(column.take(&kept))
    }

    fn check_weights(&self, layout: &Layout) -> Result<(), DataError> {
        match layout.weight {
            Some(i) if self.weight.iter().all(|&w| w == 0.0) => {
                let name = shown(&layout.names[i]);
                let sentence =
                    format!("all weights in column '{name}' are zero; at least one row must count");
                Err(DataError::cell(format!("{}: {sentence}", self.source())))
            }
            _ => Ok(()),
        }
    }

    fn into_table(
        mut self,
        layout: &Layout,
        decisions: Vec<Option<Box<Decision>>>,
        target: Option<Column>,
        unknown: Vec<(String, usize)>,
    ) -> Result<Table, DataError> {
        let source = self.source().to_string();
        let report = self.report(layout, &decisions);
        let is_used = |k: &usize| decisions[*k].as_ref().is_none_or(|d| d.column_type.is_some());
        let used: Vec<usize> = (0..decisions.len()).filter(is_used).collect();
        if used.is_empty() && !decisions.is_empty() {
            return Err(DataError::column(format!(
                "{source}: no input column is left: {}; name those to keep with --categorical",
                self.notes.iter().take(4).cloned().collect::<Vec<_>>().join("; ")
            )));
        }
        let width = decisions.len();
        if used.len() < width {
            // In place: what is written never passes what is yet to be read.
            for row in 0..self.rows {
                for (j, &k) in used.iter().enumerate() {
                    self.cells[row * used.len() + j] = self.cells[row * width + k];
                }
            }
            self.cells.truncate(self.rows * used.len());
        }
        self.cells.shrink_to_fit();
        let x: Vec<f32> = self.cells.into_iter().map(Packed::float).collect();
        let type_of =
            |k: &usize| decisions[*k].as_ref().and_then(|d| d.column_type.clone()).unwrap_or_default();
        let mut kept: Vec<(usize, String)> = Vec::new();
        for (i, place) in layout.kept.iter().enumerate() {
            kept.extend(place.map(|place| (place, layout.names[i].clone())));
        }
        kept.sort_unstable();
        Ok(Table {
            names: used.iter().map(|&k| layout.inputs[k].clone()).collect(),
            has_names: layout.has_names,
            types: used.iter().map(type_of).collect(),
            rows: self.rows,
            target,
            target_name: layout.target.and_then(|i| layout.names.get(i).cloned()),
            weight: layout.weight.map(|_| self.weight),
            gaps: x.iter().filter(|v| v.is_nan()).count(),
            x,
            report,
            notes: self.notes,
            unknown,
            kept: kept.into_iter().map(|(_, name)| name).zip(self.kept).collect(),
            source,
        })
    }

    fn report(&self, layout: &Layout, decisions: &[Option<Box<Decision>>]) -> Vec<ColumnReport> {
        let width = self.inputs.len();
        let constant = |k: usize| {
            let mut cells = self.cells.iter().skip(k).step_by(width);
            let first = cells.next();
            first.is_some() && cells.all(|cell| Some(cell) == first)
        };
        let describe = |(i, role): (usize, &Role)| {
            let other = |kind| ColumnReport {
                name: layout.names[i].clone(),
                kind,
                gaps: 0,
                levels: None,
                used: false,
            };
            let k = match *role {
                Role::Input(k) => k,
                Role::Target => return other(ColumnKind::Target),
                Role::Weight => return other(ColumnKind::Weight),
                Role::Skip if layout.kept[i].is_some() => return other(ColumnKind::Kept),
                Role::Skip => return other(ColumnKind::Ignored),
            };
            let Some(decision) = &decisions[k] else {
                let gaps = self.inputs[k].get().map_or(0, |odd| odd.gaps);
                let kind = if constant(k) { ColumnKind::Constant } else { ColumnKind::Number };
                return ColumnReport { gaps, used: true, ..other(kind) };
            };
            ColumnReport {
                gaps: decision.gaps,
                levels: decision.column_type.as_ref().and_then(ColumnType::levels).map(<[String]>::len),
                used: decision.column_type.is_some(),
                ..other(decision.kind.unwrap_or(ColumnKind::Number))
            }
        };
        layout.roles.iter().enumerate().map(describe).collect()
    }
}

impl Decision {
    /// The number that a cell becomes.
    fn value(&self, cell: Packed) -> f32 {
        match cell.get() {
            Unpacked::Gap => f32::NAN,
            Unpacked::Text(code) => {
                let category = matches!(self.column_type, Some(ColumnType::Category { .. }));
                let none = if category { UNKNOWN_LEVEL } else { f32::NAN };
                self.values.get(code as usize).copied().unwrap_or(none)
            }
            Unpacked::Number(v) => match &self.numbers {
                Some(levels) => levels.get(&v.to_bits()).copied().unwrap_or(UNKNOWN_LEVEL),
                None => v,
            },
        }
    }
}

/// The column of the file for each input.
fn file_columns(layout: &Layout) -> Vec<usize> {
    let mut columns = vec![usize::MAX; layout.inputs.len()];
    for (i, role) in layout.roles.iter().enumerate() {
        if let Role::Input(k) = *role {
            columns[k] = i;
        }
    }
    columns
}
