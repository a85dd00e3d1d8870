//! All columns that cannot be read, in one message that ends with what would help.

use rffnet::text::{count, plural};

use crate::cell::{Fault, Use, fault_error};
use crate::collector::Collector;
use crate::error::{DataError, shown};
use crate::infer::ColumnFault;
use crate::names::shell;

/// A column with cells that cannot be used.
pub(crate) struct Refused<'a> {
    pub(crate) name: &'a str,
    pub(crate) used: Use,
    pub(crate) fault: ColumnFault,
}

/// A message lists this many columns, and the flags for them, in full.
const LISTED: usize = 8;

/// The message for all columns at fault, of which there is at least one.
pub(crate) fn refuse(collector: &Collector<'_>, refused: &[Refused<'_>]) -> DataError {
    if let [one] = refused {
        return sentence(collector, one);
    }
    let source = collector.source();
    let clauses: Vec<String> = refused.iter().take(LISTED).map(|one| clause(collector, one)).collect();
    let more = match refused.len() - clauses.len() {
        0 => String::new(),
        n => format!("; and {} more", plural(n, "column")),
    };
    DataError::cell(format!(
        "{source}: {} cannot be used as they are: {}{more}; {}",
        plural(refused.len(), "column"),
        clauses.join("; "),
        flags(collector, refused)
    ))
}

fn sentence(collector: &Collector<'_>, one: &Refused<'_>) -> DataError {
    let Refused { name, used, fault } = one;
    let Some(at) = fault.at else {
        return DataError::cell(format!(
            "{}: {} '{}' holds more than a million different texts, too many for {}; {}",
            collector.source(),
            role(*used),
            shown(name),
            if *used == Use::Target { "classes" } else { "levels" },
            match used {
                Use::Target => "choose another --target".into(),
                _ => format!("leave it out with --ignore {}", shell(name)),
            }
        ));
    };
    let (source, at) = collector.place(at);
    let error = match fault.fault {
        Fault::Text if *used == Use::Input => DataError::cell(format!(
            "{source}: {at}, column '{}' holds '{}', which is not {} ({} {} not); {}",
            shown(name),
            shown(&fault.cell),
            singular(fault.expected),
            fault.extent(collector.rows),
            if fault.cells == 1 { "is" } else { "are" },
            flags(collector, std::slice::from_ref(one))
        )),
        Fault::Missing if *used == Use::Target && fault.cells > 1 => DataError::cell(format!(
            "{source}: {at}, target column '{}' is empty, the first of {} gaps in {}; fill them in, or pass \
             --drop-missing-target to leave these rows out",
            shown(name),
            count(fault.cells),
            plural(collector.rows, "row"),
        )),
        kind => fault_error(source, at, name, &fault.cell, kind, *used),
    };
    if collector.options.header == Some(false) && at.row == 1 && fault.fault == Fault::Text {
        let hint = "(if the first line holds the columns' names, leave out --no-header)";
        return DataError::new(error.kind(), format!("{error} {hint}"));
    }
    error
}

fn role(used: Use) -> &'static str {
    if used == Use::Target { "target column" } else { "column" }
}

fn singular(expected: &str) -> String {
    match expected {
        "numbers" => "a number".into(),
        "dates" => "a date".into(),
        "booleans" => "a boolean".into(),
        other => other.into(),
    }
}

fn clause(collector: &Collector<'_>, one: &Refused<'_>) -> String {
    let Refused { name, used, fault } = one;
    let role = role(*used);
    let place = fault.at.map(|at| collector.place(at).1.to_string()).unwrap_or_default();
    let extent = fault.extent(collector.rows);
    let cell = shown(&fault.cell);
    let what = match fault.fault {
        Fault::Missing => format!("has gaps (first in {place}; {extent})"),
        Fault::Infinite | Fault::TooLarge => format!("holds {cell} (first in {place}; {extent})"),
        Fault::Text | Fault::Negative if fault.at.is_none() => {
            "holds more than a million different texts".into()
        }
        Fault::Text | Fault::Negative => {
            format!("holds '{cell}', not {} (first in {place}; {extent})", singular(fault.expected))
        }
    };
    format!("{role} '{}' {what}", shown(name))
}

/// The flags that make the command work, all together.
fn flags(collector: &Collector<'_>, refused: &[Refused<'_>]) -> String {
    let columns = |wanted: &dyn Fn(&Refused<'_>) -> bool| {
        let names: Vec<String> =
            refused.iter().filter(|one| wanted(one)).map(|one| shell(one.name)).collect();
        let more = if names.len() > LISTED { ",..." } else { "" };
        (!names.is_empty()).then(|| names[..names.len().min(LISTED)].join(",") + more)
    };
    let input = |one: &Refused<'_>| one.used == Use::Input && one.fault.fault != Fault::Missing;
    let numeric = columns(&|one| input(one) && one.fault.expected == "numbers");
    let date = columns(&|one| input(one) && one.fault.expected == "dates");
    let ignore = columns(&|one| input(one) && !matches!(one.fault.expected, "numbers" | "dates"));
    let gaps = refused.iter().any(|one| one.used == Use::Input && one.fault.fault == Fault::Missing);
    let target = refused.iter().any(|one| one.used == Use::Target && one.fault.fault == Fault::Missing);
    let mean = (gaps || numeric.is_some() || date.is_some()) && !collector.options.missing;
    let parts = [
        numeric.as_ref().map(|names| format!("--numeric {names}")),
        date.as_ref().map(|names| format!("--date {names}")),
        ignore.as_ref().map(|names| format!("--ignore {names}")),
        mean.then(|| "--missing mean".to_string()),
        target.then(|| "--drop-missing-target".to_string()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return "correct these cells or drop their rows".into();
    }
    let other = match numeric.or(date) {
        // Counting as gaps is not all that can be done.
        Some(names) if refused.len() == 1 => {
            format!(
                " to count such cells as gaps, --categorical {names} if it has levels, or --ignore {names}"
            )
        }
        Some(_) => " (such cells count as gaps; --categorical or --ignore are the other choices)".into(),
        None => String::new(),
    };
    format!("pass {}{other}", parts.join(" "))
}
