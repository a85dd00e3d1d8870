//! Beyond the paper: how soon each solver gets where.
//!
//! The same rows, the same seed and the same rows held out; an observer notes the clock at every step of a fit. All fits
//! are one cell: seconds can be compared only if they were measured together.

use std::ops::ControlFlow;
use std::time::Instant;

use rffnet::text::{count, plural};
use rffnet::{Data, Fit, OwnedTarget, Params, Progress, SolverKind, SpectrumMode, metrics};
use rffnet_compare::{Part as Half, Source, read_pair};
use rffnet_data::Simulated;
use serde::{Deserialize, Serialize};

use crate::axis::{Axis, Kind};
use crate::bench::Bench;
use crate::cache::Fault;
use crate::chart::{Chart, Mark, Panel, Style, label_width};
use crate::grid::Grid;
use crate::page::{Page, Part};
use crate::scores::threads;
use crate::settings::{QUICK_ROWS, ROWS, TEST_ROWS};
use crate::stats::figure;
use crate::svg::PALETTE;
use crate::{Error, Experiment};

const SET: Simulated = Simulated::Gse2;
/// Held out by every fit; with the same seed, the same rows.
const HELD_OUT: f64 = 0.1;
/// The plotting area.
const SIZE: (f64, f64) = (660.0, 380.0);

/// A line of the chart: how it is named there, how it is asked for.
struct Method {
    label: &'static str,
    options: &'static str,
    params: Params,
}

/// The paper's own comes first: the others are measured against it.
fn methods(seed: u64) -> [Method; 4] {
    let base = Params::new().seed(seed).validation_fraction(HELD_OUT);
    let paper = base.clone().preset(rffnet::Preset::Paper);
    let adam = base.clone().solver(SolverKind::Adam);
    let fixed = base.clone().solver(SolverKind::Varpro).spectrum(SpectrumMode::Fixed);
    [
        Method { label: "Adam, preset paper", options: "`--preset paper`", params: paper },
        Method { label: "Adam, our settings", options: "`--solver adam`", params: adam },
        Method { label: "variable projection", options: "`--solver varpro --spectrum fixed`", params: fixed },
        Method { label: "auto", options: "none: `auto`", params: base },
    ]
}

/// One fit, watched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Run {
    /// Seconds since the fit began and the validation loss, at every epoch or step.
    steps: Vec<(f64, f64)>,
    /// When the fit ended.
    seconds: f64,
    /// The validation loss of what it kept.
    kept: f64,
    /// The mean squared error on rows no fit has seen.
    test: f64,
    networks: usize,
}

impl Run {
    /// The lowest loss so far, at every step that lowers it.
    fn lowest(&self) -> Vec<(f64, f64)> {
        let mut lowest: Vec<(f64, f64)> = Vec::new();
        for &(seconds, loss) in &self.steps {
            if loss.is_finite() && lowest.last().is_none_or(|l| loss < l.1) {
                lowest.push((seconds, loss));
            }
        }
        lowest
    }

    /// The first time the loss was not above this one.
    fn reaches(&self, loss: f64) -> Option<f64> {
        let end = (self.seconds, self.kept);
        self.steps.iter().chain([&end]).find(|step| step.1 <= loss).map(|step| step.0)
    }

    /// What is drawn: the lowest loss so far is kept until the next one; the last height is that of what was kept.
    fn line(&self) -> Vec<(f64, f64, f64)> {
        let mut line: Vec<(f64, f64, f64)> = Vec::new();
        for (seconds, loss) in self.lowest().into_iter().chain([(self.seconds, self.kept)]) {
            if let Some(&(_, before, _)) = line.last() {
                line.push((seconds, before, 0.0));
            }
            line.push((seconds, loss, 0.0));
        }
        line
    }
}

/// Fits and notes the clock.
fn watch(params: &Params, data: &Data<'_>, test: &Data<'_>, truth: &[f64]) -> Result<Run, rffnet::Error> {
    let mut steps = Vec::new();
    let begun = Instant::now();
    let mut observer = |progress: &Progress| {
        let loss = progress.validation_loss.unwrap_or(progress.train_loss);
        steps.push((begun.elapsed().as_secs_f64(), loss));
        ControlFlow::Continue(())
    };
    let model = Fit::new(params).observer(&mut observer).run(data)?;
    let seconds = begun.elapsed().as_secs_f64();
    let lowest = steps.iter().map(|s| s.1).fold(f64::INFINITY, f64::min);
    Ok(Run {
        seconds,
        kept: model.summary().validation_loss.unwrap_or(lowest),
        test: metrics::mse(truth, &model.predict(test.x)?, None),
        networks: model.committee(),
        steps,
    })
}

/// All fits, one after the other.
fn measure(bench: &Bench<'_>, rows: usize, methods: &[Method]) -> Result<Vec<Run>, Fault> {
    let refused = |e: &dyn std::fmt::Display| Fault::Refused(e.to_string());
    let seed = bench.request.seed;
    let part = |part| Source::Simulated { set: SET, rows, test_rows: TEST_ROWS, seed, part };
    let (train, test) = read_pair(&part(Half::Train), &part(Half::Test)).map_err(|e| refused(&e))?;
    let (data, held) = (train.data().map_err(|e| refused(&e))?, test.data().map_err(|e| refused(&e))?);
    let OwnedTarget::Values { values: truth, .. } = &test.target else {
        return Err(Error::new(format!("{SET} has no numbers to learn")).into());
    };
    let pool = bench.pool()?;
    let mut runs = Vec::new();
    for method in methods {
        let run = pool.install(|| watch(&method.params, &data, &held, truth)).map_err(|e| refused(&e))?;
        (bench.tell)(&format!("  {:<20} {} in {:.2} s", method.label, figure(run.kept), run.seconds));
        runs.push(run);
    }
    Ok(runs)
}

/// The figure.
pub(crate) fn page(bench: &Bench<'_>) -> Result<Page, Error> {
    let rows = if bench.request.quick { QUICK_ROWS } else { ROWS };
    let methods = methods(bench.request.seed);
    let threads = threads(bench.request.threads);
    let params: Vec<&Params> = methods.iter().map(|m| &m.params).collect();
    let key = ("convergence", SET.name(), rows, TEST_ROWS, threads, params);
    let runs = bench.cache.get("convergence", &key, || measure(bench, rows, &methods))?;
    let held_out = (HELD_OUT * rows as f64) as usize;
    let quick = if bench.request.quick { " A quick run: a tenth of the rows." } else { "" };
    let text = format!(
        "Adam and variable projection on {SET}: {} training rows, seed {}, {}, one fit after the other in one process; \
         drawing the rows is not counted. A line is the lowest loss so far on the {} that a fit holds out (mean squared \
         error), the same for all; the other members of an ensemble hold out others, and the line is then the lowest on \
         any. A dot is the end of a fit, with the loss of what it kept, the mean over its members.{quick}",
        count(rows),
        bench.request.seed,
        plural(threads, "thread"),
        plural(held_out, "row"),
    );
    let (mut parts, mut notes) = (vec![Part::Text(text)], Vec::new());
    let mut raw = Grid::new(["method", "step", "seconds", "validation_loss", "lowest"]);
    match runs {
        Ok(runs) => {
            let pairs: Vec<(&Method, &Run)> = methods.iter().zip(&runs).collect();
            for (method, run) in &pairs {
                record(&mut raw, method, run);
            }
            parts.push(Part::drawing("Validation loss against seconds.", &chart(&pairs)));
            parts.push(Part::Table(table(&pairs)));
            parts.extend(seen(&pairs).map(Part::Text));
        }
        Err(why) => notes.push(why),
    }
    Ok(Page { experiment: Experiment::Convergence, parts, notes, raw })
}

fn record(raw: &mut Grid, method: &Method, run: &Run) {
    let mut lowest = f64::INFINITY;
    for (i, &(seconds, loss)) in run.steps.iter().enumerate() {
        lowest = lowest.min(loss);
        let place = [method.label.replace(',', ""), (i + 1).to_string(), format!("{seconds:.4}")];
        raw.push(place.into_iter().chain([format!("{loss:.5}"), format!("{lowest:.5}")]));
    }
    let end = ["end".to_string(), format!("{:.4}", run.seconds)];
    let kept = format!("{:.5}", run.kept);
    raw.push([method.label.replace(',', "")].into_iter().chain(end).chain([kept.clone(), kept]));
}

fn table(pairs: &[(&Method, &Run)]) -> Grid {
    let mut grid = Grid::new([
        "method",
        "options",
        "seconds",
        "steps",
        "members",
        "validation loss",
        "mean squared error on the test rows",
    ]);
    for (method, run) in pairs {
        grid.push([
            method.label.into(),
            method.options.into(),
            figure(run.seconds),
            count(run.steps.len()),
            run.networks.to_string(),
            figure(run.kept),
            figure(run.test),
        ]);
    }
    grid
}

/// What the lines say, in numbers: when each method gets as far as the first. (Further down, the members of an ensemble
/// are on other rows.)
fn seen(pairs: &[(&Method, &Run)]) -> Option<String> {
    let ((goal, by), others) = pairs.split_first()?;
    let needed = by.reaches(by.kept)?;
    let others: Vec<String> = others
        .iter()
        .map(|(method, run)| match run.reaches(by.kept) {
            Some(seconds) => {
                let (ratio, than) = if seconds <= needed {
                    (needed / seconds, "sooner")
                } else {
                    (seconds / needed, "later")
                };
                format!("{} after {} s ({ratio:.1} times {than})", method.label, figure(seconds))
            }
            None => format!("{} never does", method.label),
        })
        .collect();
    let (loss, needed) = (figure(by.kept), figure(needed));
    Some(format!("{} gets to {loss} after {needed} s. There or below: {}.", goal.label, others.join("; ")))
}

fn chart(pairs: &[(&Method, &Run)]) -> Chart {
    let lines: Vec<Vec<(f64, f64, f64)>> = pairs.iter().map(|(_, run)| run.line()).collect();
    let points = || lines.iter().flatten();
    let mut x = Axis::over("seconds since the fit began", Kind::Log, points().map(|p| p.0), false);
    // To the right of its end, every line's name must fit.
    let all = (x.high / x.low).ln();
    let needed = pairs.iter().map(|(method, run)| {
        let left = (SIZE.0 - label_width(method.label)).max(0.2 * SIZE.0);
        (run.seconds / x.low).ln() * SIZE.0 / left
    });
    x.high = x.low * needed.fold(all, f64::max).exp();
    let y = Axis::over("lowest validation loss (squared error)", Kind::Log, points().map(|p| p.1), false);
    let mut marks = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let style = Style { colour: PALETTE[i].into(), dash: 0 };
        marks.push(Mark::Line { points: line.clone(), style });
    }
    for (i, (method, run)) in pairs.iter().enumerate() {
        let at = (run.seconds, run.kept);
        marks.push(Mark::End { at, label: method.label.into(), colour: PALETTE[i].into() });
    }
    let panel = Panel { title: SET.to_string(), x, y, marks };
    Chart::new(Experiment::Convergence.title(), 1, SIZE, vec![panel])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(steps: &[(f64, f64)], seconds: f64, kept: f64) -> Run {
        Run { steps: steps.to_vec(), seconds, kept, test: kept, networks: 1 }
    }

    #[test]
    fn the_lowest_loss_never_rises_and_ends_at_what_was_kept() {
        let run = run(&[(0.1, 4.0), (0.2, 5.0), (0.3, 2.0), (0.4, f64::NAN), (0.5, 2.5)], 0.9, 1.5);
        assert_eq!(run.lowest(), [(0.1, 4.0), (0.3, 2.0)]);
        let line: Vec<(f64, f64)> = run.line().iter().map(|p| (p.0, p.1)).collect();
        assert_eq!(line, [(0.1, 4.0), (0.3, 4.0), (0.3, 2.0), (0.9, 2.0), (0.9, 1.5)]);
        assert_eq!(
            [5.0, 2.2, 1.5, 1.0].map(|loss| run.reaches(loss)),
            [Some(0.1), Some(0.3), Some(0.9), None]
        );
    }

    #[test]
    fn what_is_seen_is_said_in_numbers() {
        let methods = methods(0);
        let slow = run(&[(1.0, 4.0), (8.0, 2.0), (9.0, 3.0)], 10.0, 2.0);
        let fast = run(&[(2.0, 1.9)], 3.0, 0.5);
        let worse = run(&[(16.0, 2.0)], 20.0, 1.0);
        let said = seen(&[(&methods[0], &slow), (&methods[2], &fast), (&methods[3], &worse)]);
        assert_eq!(
            said.as_deref(),
            Some(
                "Adam, preset paper gets to 2.000 after 8.000 s. There or below: variable projection after 2.000 s (4.0 times \
                 sooner); auto after 16.00 s (2.0 times later)."
            )
        );
        let never = run(&[(2.0, 3.0)], 3.0, 3.0);
        let said = seen(&[(&methods[0], &slow), (&methods[2], &never)]);
        assert!(said.is_some_and(|said| said.ends_with("variable projection never does.")));
    }
}
