//! Tables 1-4 (scores), F.7-F.10 (seconds), F.11-F.14 (megabytes): the same cells, seen three ways.

use std::collections::BTreeSet;

use rffnet::text::{count, plural};
use rffnet_compare::{Job, Kind, ModelSpec, Part as Half, Source};
use rffnet_data::Simulated;
use serde::{Deserialize, Serialize};

use crate::bench::Bench;
use crate::cache::Fault;
use crate::grid::Grid;
use crate::page::{Page, Part};
use crate::real::Real;
use crate::settings::{QUICK_REPLICAS, QUICK_ROWS, REGRESSION, REPLICAS, ROWS, TEST_ROWS, Variant, variants};
use crate::stats::Spread;
use crate::{Error, Experiment, Published, published};

/// What is measured in a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// Mean squared error or AUC on the test rows.
    pub(crate) score: f64,
    pub(crate) fit_seconds: f64,
    pub(crate) predict_seconds: f64,
    /// The most memory of the process, the rows included.
    pub(crate) peak_mb: Option<f64>,
    pub(crate) threads: usize,
    /// Of the first replica, where the method knows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) relevances: Option<Vec<f32>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

/// All that decides a cell but the machine.
#[derive(Serialize)]
struct Key<'a> {
    set: &'a str,
    /// Tells versions of a real set apart.
    data: Option<String>,
    model: &'a ModelSpec,
    rows: usize,
    test_rows: usize,
    replica: usize,
    seed: u64,
}

/// A set of a table.
pub(crate) enum Set<'a> {
    Simulated(Simulated),
    Real(&'a Real),
}

impl Set<'_> {
    pub(crate) fn name(&self) -> &str {
        match self {
            Set::Simulated(set) => set.name(),
            Set::Real(real) => real.name,
        }
    }

    /// Training rows of a replica, before a slow method's cut.
    pub(crate) fn rows(&self, quick: bool) -> usize {
        match self {
            Set::Simulated(_) if quick => QUICK_ROWS,
            Set::Simulated(_) => ROWS,
            Set::Real(real) if quick => real.training_rows().min(QUICK_ROWS),
            Set::Real(real) => real.training_rows(),
        }
    }

    /// The two parts of a replica.
    pub(crate) fn sources(&self, rows: usize, replica: usize, seed: u64) -> Result<(Source, Source), Error> {
        match self {
            Set::Simulated(set) => {
                let seed = seed.wrapping_add(replica as u64);
                let part = |part| Source::Simulated { set: *set, rows, test_rows: TEST_ROWS, seed, part };
                Ok((part(Half::Train), part(Half::Test)))
            }
            Set::Real(real) => {
                let (mut train, test) = real.fold(replica, seed);
                train.truncate(rows);
                Ok((real.source(train)?, real.source(test)?))
            }
        }
    }
}

/// One cell, from disk or measured now.
pub(crate) fn cell(
    bench: &Bench<'_>,
    set: &Set<'_>,
    variant: &Variant,
    replica: usize,
    quick: bool,
) -> Result<Result<Measured, String>, Error> {
    let seed = bench.request.seed.wrapping_add(replica as u64);
    let (rows, _) = variant.size(set.rows(quick), 1, quick);
    let model = variant.spec(set.name());
    let (test_rows, data) = match set {
        Set::Simulated(_) => (TEST_ROWS, None),
        Set::Real(real) => (real.test_rows(replica), Some(real.fingerprint.clone())),
    };
    let key = Key { set: set.name(), data, model: &model, rows, test_rows, replica, seed };
    let suffix = if variant.converged { "-converged" } else { "" };
    let name = format!("{}-{}{suffix}-{replica}", set.name(), variant.kind);
    bench.cache.get(&name, &key, || {
        let (train, test) = set.sources(rows, replica, bench.request.seed)?;
        let job = Job { seed, threads: bench.request.threads, ..Job::new(model.clone(), train, test) };
        let outcome = (bench.run)(&job);
        let line = |what: &str| {
            (bench.tell)(&format!(
                "  {:<15} {:<28} replica {}: {what}",
                set.name(),
                variant.label,
                replica + 1
            ))
        };
        let score = outcome.scores.and_then(|s| s.get("mse").or_else(|| s.get("auc")));
        let (Some(score), Some(fit_seconds)) = (score, outcome.fit_seconds) else {
            let why = outcome.note.unwrap_or_else(|| "it gave no score".into());
            line(&why);
            return Err(fault(why));
        };
        line(&format!("{score:.4} in {fit_seconds:.2} s"));
        Ok(Measured {
            score,
            fit_seconds,
            predict_seconds: outcome.predict_seconds.unwrap_or(0.0),
            peak_mb: outcome.peak_mb,
            threads: threads(bench.request.threads),
            relevances: outcome
                .relevances
                .filter(|_| replica == 0)
                .map(|r| r.iter().map(|&v| v as f32).collect()),
            note: outcome.note,
        })
    })
}

/// How many threads that is.
pub(crate) fn threads(asked: usize) -> usize {
    if asked > 0 { asked } else { std::thread::available_parallelism().map_or(1, usize::from) }
}

/// A process that someone ended says nothing about its method: such a cell is tried again.
fn fault(why: String) -> Fault {
    let ended = why.starts_with("its process was ended by signal") && !why.contains("signal 9");
    if ended || why.starts_with("its process could not be run") {
        Fault::Stop(Error::new(format!(
            "a cell could not be measured: {why}; run the command again to go on"
        )))
    } else {
        Fault::Refused(why)
    }
}

/// What a table shows of a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Score,
    Seconds,
    Megabytes,
}

/// The sets of a table, the paper's number for it, and what it shows.
fn plan(experiment: Experiment) -> (&'static str, bool, bool, Shown) {
    use Experiment::*;
    match experiment {
        Table1 => ("1", false, false, Shown::Score),
        Table2 => ("2", true, false, Shown::Score),
        Table3 => ("3", false, true, Shown::Score),
        Table4 => ("4", true, true, Shown::Score),
        TableF7 => ("F7", false, false, Shown::Seconds),
        TableF8 => ("F8", true, false, Shown::Seconds),
        TableF9 => ("F9", false, true, Shown::Seconds),
        TableF10 => ("F10", true, true, Shown::Seconds),
        TableF11 => ("F11", false, false, Shown::Megabytes),
        TableF12 => ("F12", true, false, Shown::Megabytes),
        TableF13 => ("F13", false, true, Shown::Megabytes),
        _ => ("F14", true, true, Shown::Megabytes),
    }
}

/// A table's real sets.
pub(crate) fn real_sets(classification: bool) -> [&'static str; 4] {
    if classification {
        ["a9a", "amazon", "higgs", "w8a"]
    } else {
        ["abalone", "compact", "powerplant", "yearprediction"]
    }
}

/// A table and what has to be said about it.
pub(crate) fn page(bench: &Bench<'_>, experiment: Experiment) -> Result<Page, Error> {
    let (number, classification, real, shown) = plan(experiment);
    let mut notes = Vec::new();
    let found: Vec<_> =
        if real { real_sets(classification).map(|name| bench.real(name)).to_vec() } else { Vec::new() };
    let sets: Vec<Set<'_>> = match (real, classification) {
        (true, _) => {
            notes.extend(found.iter().filter_map(|set| set.as_ref().as_ref().err().cloned()));
            found.iter().filter_map(|set| set.as_ref().as_ref().ok()).map(Set::Real).collect()
        }
        (false, false) => REGRESSION.into_iter().map(Set::Simulated).collect(),
        (false, true) => {
            [Simulated::Classification, Simulated::Moons].into_iter().map(Set::Simulated).collect()
        }
    };

    let header = sets.iter().flat_map(|s| [format!("{}: paper", s.name()), "ours".into()]);
    let mut grid = Grid::new(std::iter::once("method".to_string()).chain(header));
    let mut raw = Grid::new([
        "set",
        "method",
        "setting",
        "replica",
        "rows",
        "score",
        "fit_seconds",
        "predict_seconds",
        "peak_mb",
        "threads",
        "note",
    ]);
    for variant in variants(classification, bench.request.auto) {
        let mut row = vec![variant.label.to_string()];
        for set in &sets {
            // The paper has these methods as it set them, not converged.
            let paper = published(number, set.name(), variant.kind.name()).filter(|_| !variant.converged);
            row.push(paper.map_or_else(|| "-".into(), |p| p.to_string()));
            row.push(ours(bench, set, &variant, shown, paper, (&mut raw, &mut notes))?);
        }
        grid.push(row);
    }
    if real {
        sets.iter().for_each(|set| notes.extend(size_note(set)));
    }
    if shown == Shown::Seconds {
        notes.extend(threads_used(&raw));
    }
    Ok(Page { experiment, parts: parts(bench, &sets, shown, classification, grid), notes, raw })
}

/// `every fit on 1 thread`, as the cells have it.
fn threads_used(raw: &Grid) -> Option<String> {
    let at = raw.header.iter().position(|name| name == "threads")?;
    let used: BTreeSet<usize> = raw.rows.iter().filter_map(|row| row[at].parse().ok()).collect();
    let used: Vec<String> = used.into_iter().map(|n| plural(n, "thread")).collect();
    (!used.is_empty()).then(|| format!("every fit on {}", used.join(" or ")))
}

/// Our figure for a set and a method; what is cut or refused goes to the notes.
fn ours(
    bench: &Bench<'_>,
    set: &Set<'_>,
    variant: &Variant,
    shown: Shown,
    paper: Option<Published>,
    (raw, notes): (&mut Grid, &mut Vec<String>),
) -> Result<String, Error> {
    let usual = bench.replicas(REPLICAS, QUICK_REPLICAS);
    let quick = bench.request.quick;
    let all = set.rows(quick);
    let (rows, replicas) = variant.size(all, usual, quick);
    let mut values = Vec::new();
    for replica in 0..replicas {
        let measured = cell(bench, set, variant, replica, quick)?;
        let setting = match variant.kind {
            Kind::Rffnet => "auto",
            _ if variant.converged => "converged",
            _ => "paper",
        };
        let head = [set.name(), variant.kind.name(), setting].map(String::from);
        let place = [(replica + 1).to_string(), rows.to_string()];
        match measured {
            Ok(m) => {
                let mb = m.peak_mb.map_or_else(String::new, |mb| format!("{mb:.1}"));
                let figures = [
                    format!("{:.6}", m.score),
                    format!("{:.4}", m.fit_seconds),
                    format!("{:.4}", m.predict_seconds),
                    mb,
                    m.threads.to_string(),
                    m.note.clone().unwrap_or_default(),
                ];
                raw.push(head.into_iter().chain(place).chain(figures));
                values.extend(match shown {
                    Shown::Score => Some(m.score),
                    Shown::Seconds => Some(m.fit_seconds),
                    Shown::Megabytes => m.peak_mb,
                });
            }
            Err(why) => {
                let blank = ["", "", "", "", ""].map(String::from);
                raw.push(head.into_iter().chain(place).chain(blank).chain([why.clone()]));
                let note = format!("{} on {}: {why}", variant.label, set.name());
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }
    if rows < all || replicas < usual {
        let place = match set {
            Set::Simulated(_) => String::new(),
            Set::Real(real) => format!(" on {}", real.name),
        };
        let cut = format!(
            "{}{place}: {} of {} training rows and {} of {} replicas, since more take too long",
            variant.label,
            count(rows),
            count(all),
            replicas,
            usual
        );
        if !notes.contains(&cut) {
            notes.push(cut);
        }
    }
    let Some(spread) = Spread::of(&values) else { return Ok("refused, see below".into()) };
    let far = shown == Shown::Score && !quick && paper.is_some_and(|p| p.is_far_from(spread.mean));
    let failed =
        if spread.count < replicas { format!(" ({} of {replicas})", spread.count) } else { String::new() };
    Ok(format!("{spread}{}{failed}", if far { " ≠" } else { "" }))
}

/// Where a real set is not the paper's.
pub(crate) fn size_note(set: &Set<'_>) -> Option<String> {
    let Set::Real(real) = set else { return None };
    let described = crate::REAL_SETS.iter().find(|d| d.name == real.name)?;
    let (ours, paper) = (real.table.rows, described.train + described.test);
    let size = (ours != paper).then(|| {
        format!("{}: {} rows here, {} in the paper's table C.5", real.name, count(ours), count(paper))
    });
    match (size, &real.note) {
        (Some(size), Some(note)) => Some(format!("{size}; {note}")),
        (None, Some(note)) => Some(format!("{}: {note}", real.name)),
        (size, None) => size,
    }
}

fn parts(bench: &Bench<'_>, sets: &[Set<'_>], shown: Shown, classification: bool, grid: Grid) -> Vec<Part> {
    let replicas = bench.replicas(REPLICAS, QUICK_REPLICAS);
    let what = match shown {
        Shown::Score if classification => {
            "Area under the ROC curve on rows that were held out; larger is better."
        }
        Shown::Score => "Mean squared error on rows that were held out; smaller is better.",
        Shown::Seconds => {
            "Seconds to fit, without reading or drawing the rows. The paper's are from another machine."
        }
        Shown::Megabytes => {
            "Peak memory of the process in MB, the rows included. The paper's figures include Python and PyTorch."
        }
    };
    let drawn = match sets.first() {
        Some(Set::Real(_)) => {
            let folds = format!("{replicas} of 10 folds of a cross-validation over shuffled rows");
            let quick = format!("{folds}, a quick run with {} training rows at most", count(QUICK_ROWS));
            if bench.request.quick { quick } else { folds }
        }
        _ if bench.request.quick => format!(
            "a quick run: {} training rows instead of {}, {} test rows, {} instead of {REPLICAS}",
            count(QUICK_ROWS),
            count(ROWS),
            count(TEST_ROWS),
            plural(replicas, "replica")
        ),
        _ => format!(
            "{} training and {} test rows, {}",
            count(ROWS),
            count(TEST_ROWS),
            plural(replicas, "replica")
        ),
    };
    let mut parts = vec![Part::Text(format!("{what} Mean ± standard deviation over replicas; {drawn}."))];
    if sets.is_empty() {
        parts.push(Part::Text("None of the sets was found.".into()));
    } else {
        parts.push(Part::Table(grid));
    }
    if shown == Shown::Score && !sets.is_empty() && !bench.request.quick {
        parts.push(Part::Text(
            "≠ marks a mean further from the paper's than two of the paper's standard deviations.".into(),
        ));
    }
    parts
}
