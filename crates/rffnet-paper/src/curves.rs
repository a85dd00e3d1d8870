//! Figures D.5-D.7 and E.8-E.10: losses and relevances along the epochs, one setting changed at a time.

use rayon::prelude::*;
use rffnet::text::{count, plural};
use rffnet::{Fit, Init, Kernel, Params, SolverKind};
use rffnet_data::Simulated;
use serde::{Deserialize, Serialize};

use crate::axis::{Axis, Kind};
use crate::bench::Bench;
use crate::cache::Fault;
use crate::chart::{Chart, Mark, Panel, Style};
use crate::grid::Grid;
use crate::page::{Page, Part};
use crate::relevance::{bars, legend};
use crate::selection::data;
use crate::settings::REGRESSION;
use crate::stats::Spread;
use crate::svg::{PALETTE, ramp};
use crate::{Error, Experiment};

const EPOCHS: usize = 100;
const VALIDATION_ROWS: usize = 2_000;
/// Rows, random features, rows of a batch.
const SIZES: [(usize, usize, usize); 3] = [(1_000, 100, 64), (5_000, 300, 256), (10_000, 300, 256)];
const LAMBDAS: [f64; 9] = [100.0, 50.0, 10.0, 1.0, 0.5, 0.1, 1e-2, 1e-3, 1e-4];

/// What one fit leaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Curve {
    /// The loss on the validation rows after each epoch.
    validation: Vec<f32>,
    relevances: Vec<f32>,
}

/// One line of a chart.
struct Choice {
    label: String,
    params: Params,
    style: Style,
}

fn choice(i: usize, label: &str, params: Params) -> Choice {
    Choice { label: label.into(), params, style: Style { colour: PALETTE[i].into(), dash: i } }
}

/// What is compared, how often it is repeated, what there is to say.
fn study(experiment: Experiment) -> (Vec<Choice>, usize, &'static str) {
    let base = || Params::paper().solver(SolverKind::PalmAdam);
    match experiment {
        Experiment::FigD5 => {
            let of = |i, label, kernel| choice(i, label, base().kernel(kernel));
            let choices = vec![
                of(0, "Gaussian density (Gaussian kernel)", Kernel::Gaussian),
                of(1, "Laplace density (Cauchy kernel)", Kernel::Cauchy),
                of(2, "Cauchy density (Laplace kernel)", Kernel::Laplace),
            ];
            (
                choices,
                20,
                "Frequencies are drawn from three spectral densities, which the paper's figure names.",
            )
        }
        Experiment::FigD6 => {
            let of = |i, label, init| choice(i, label, base().init(init));
            let choices = vec![
                of(0, "Constant", Init::Constant),
                of(1, "Regressor", Init::Regressor),
                of(2, "Restarter", Init::Restarter),
            ];
            (choices, 20, "Relevances start in three ways. The Restarter's trial epochs are not shown.")
        }
        Experiment::FigD7 => {
            let of = |i, label, solver| choice(i, label, Params::paper().solver(solver));
            let choices = vec![
                of(0, "Adam", SolverKind::Adam),
                of(1, "SGD", SolverKind::Sgd),
                of(2, "PALM-Adam", SolverKind::PalmAdam),
                of(3, "PALM-SGD", SolverKind::PalmSgd),
            ];
            (choices, 10, "Four solvers, head and relevances in one block or in two (PALM).")
        }
        _ => (lambdas(), 10, "The strength λ of the head's penalty, from 100 down to 0.0001."),
    }
}

/// The darker the stronger; the lightest shades would vanish on white.
fn lambdas() -> Vec<Choice> {
    let last = LAMBDAS.len() - 1;
    let of = |(i, &lambda): (usize, &f64)| Choice {
        label: format!("λ = {lambda}"),
        params: Params::paper().alpha(lambda),
        style: Style { colour: ramp(0.9 * i as f64 / last as f64), dash: i },
    };
    LAMBDAS.iter().enumerate().map(of).collect()
}

/// All replicas of one line in one panel. They are independent, so they run side by side.
fn curves(
    bench: &Bench<'_>,
    set: Simulated,
    size: (usize, usize, usize),
    choice: &Choice,
    replicas: usize,
) -> Result<Vec<Result<Curve, String>>, Error> {
    let (rows, features, batch) = size;
    let all = rows + VALIDATION_ROWS;
    let (cache, seed) = (&bench.cache, bench.request.seed);
    let one = |replica: usize| {
        let params = choice
            .params
            .clone()
            .seed(seed.wrapping_add(replica as u64))
            .random_features(features)
            .batch_size(batch)
            .epochs(EPOCHS)
            .patience(EPOCHS)
            .validation_fraction(VALIDATION_ROWS as f64 / all as f64);
        let name = format!("curve-{}-{rows}-{replica}", set.name());
        cache.get(&name, &("curve", set.name(), all, &params), || fit(set, all, &params))
    };
    (0..replicas).into_par_iter().map(one).collect()
}

fn fit(set: Simulated, rows: usize, params: &Params) -> Result<Curve, Fault> {
    let table = set.generate(rows, params.seed);
    let model = Fit::new(params).run(&data(&table)?).map_err(|e| Fault::Refused(e.to_string()))?;
    let losses = model.history().losses().iter();
    Ok(Curve {
        validation: losses.map(|l| l.validation.unwrap_or(l.train) as f32).collect(),
        relevances: model.relevances(),
    })
}

/// Epochs that are drawn: every one at first, where curves are steep.
fn shown(epoch: usize) -> bool {
    epoch <= 10 || (epoch <= 30 && epoch.is_multiple_of(2)) || epoch.is_multiple_of(5)
}

/// D.5, D.6, D.7 and E.8.
pub(crate) fn page(bench: &Bench<'_>, experiment: Experiment) -> Result<Page, Error> {
    let (choices, full, about) = study(experiment);
    let replicas = bench.replicas(full, 3);
    let sizes = if bench.request.quick { &SIZES[..1] } else { &SIZES[..] };
    let mut raw = Grid::new(["set", "rows", "choice", "epoch", "mean", "sd", "fits"]);
    let header =
        ["set".to_string(), "rows".into()].into_iter().chain(choices.iter().map(|c| c.label.clone()));
    let mut grid = Grid::new(header);
    let (mut panels, mut notes) = (Vec::new(), Vec::new());
    for set in REGRESSION {
        for &size in sizes {
            let (mut marks, mut row) = (Vec::new(), vec![set.name().to_string(), count(size.0)]);
            for choice in &choices {
                let fits = curves(bench, set, size, choice, replicas)?;
                let (points, failed) = line(&fits);
                if let Some(why) = failed {
                    notes.push(format!("{} on {set}, {}: {why}", choice.label, plural(size.0, "row")));
                }
                for (epoch, spread) in &points {
                    let figures = [format!("{:.5}", spread.mean), format!("{:.5}", spread.sd)];
                    let place =
                        [set.name().into(), size.0.to_string(), choice.label.clone(), epoch.to_string()];
                    raw.push(place.into_iter().chain(figures).chain([spread.count.to_string()]));
                }
                row.push(points.last().map_or_else(|| "-".into(), |(_, spread)| spread.to_string()));
                let points = points.iter().map(|(e, s)| (*e as f64, s.mean, s.sd)).collect();
                marks.push(Mark::Line { points, style: choice.style.clone() });
            }
            (bench.tell)(&format!("  {set}, {}: done", plural(size.0, "row")));
            grid.push(row);
            panels.push(panel(set, size.0, marks));
        }
    }
    let legend = choices.iter().map(|c| (c.label.clone(), c.style.clone())).collect();
    let columns = if sizes.len() == 1 { 2 } else { 3 };
    let chart = Chart { legend, ..Chart::new(experiment.title(), columns, (270.0, 190.0), panels) };
    let quick = if bench.request.quick { " A quick run: 1,000 rows only." } else { "" };
    let text = format!(
        "{about} The loss is the squared error on {} validation rows, mean (line) and standard deviation (band) over {}; \
         settings are those of the preset `paper`, without early stopping.{quick}",
        count(VALIDATION_ROWS),
        plural(replicas, "fit")
    );
    let parts = vec![
        Part::Text(text),
        Part::drawing("Validation loss against epochs.", &chart),
        Part::Text(format!("Loss after {EPOCHS} epochs:")),
        Part::Table(grid),
    ];
    Ok(Page { experiment, parts, notes, raw })
}

fn panel(set: Simulated, rows: usize, marks: Vec<Mark>) -> Panel {
    let values = marks.iter().flat_map(|mark| match mark {
        Mark::Line { points, .. } => points.iter().map(|p| p.1).collect(),
        _ => Vec::new(),
    });
    let y = Axis::over("validation loss", Kind::Log, values, false);
    Panel {
        title: format!("{set}, n = {}", count(rows)),
        x: Axis::linear("epoch", 0.0, EPOCHS as f64),
        y,
        marks,
    }
}

/// Mean and spread at the epochs shown, over the fits that got that far; why others did not.
fn line(fits: &[Result<Curve, String>]) -> (Vec<(usize, Spread)>, Option<String>) {
    let point = |epoch: usize| {
        let values = fits.iter().flatten().filter_map(|c| c.validation.get(epoch - 1));
        let values: Vec<f64> = values.filter(|v| v.is_finite()).map(|&v| v.into()).collect();
        Some((epoch, Spread::of(&values)?))
    };
    let failed: Vec<&String> = fits.iter().filter_map(|f| f.as_ref().err()).collect();
    let note = failed.first().map(|why| format!("{} of {} fits failed ({why})", failed.len(), fits.len()));
    ((1..=EPOCHS).filter(|&e| shown(e)).filter_map(point).collect(), note)
}

/// E.9 and E.10.
pub(crate) fn relevances(bench: &Bench<'_>, experiment: Experiment) -> Result<Page, Error> {
    let set = if experiment == Experiment::FigE9 { Simulated::Gse1 } else { Simulated::Gse2 };
    let replicas = bench.replicas(10, 3);
    let size = if bench.request.quick { SIZES[0] } else { SIZES[1] };
    let mut raw = Grid::new(["lambda", "column", "mean", "sd", "fits"]);
    let (mut panels, mut notes) = (Vec::new(), Vec::new());
    for choice in lambdas() {
        let fits = curves(bench, set, size, &choice, replicas)?;
        if let (_, Some(why)) = line(&fits) {
            notes.push(format!("{}: {why}", choice.label));
        }
        let column = |j: usize| {
            let values: Vec<f64> = fits.iter().flatten().map(|c| c.relevances[j].into()).collect();
            Spread::of(&values)
        };
        let heights: Vec<Spread> = (0..set.columns()).filter_map(column).collect();
        for (j, spread) in heights.iter().enumerate() {
            let lambda = choice.label.trim_start_matches("λ = ").to_string();
            let figures =
                [format!("{:.5}", spread.mean), format!("{:.5}", spread.sd), spread.count.to_string()];
            raw.push([lambda, format!("x{}", j + 1)].into_iter().chain(figures));
        }
        (bench.tell)(&format!("  {}: done", choice.label));
        let heights: Vec<(f64, f64)> = heights.iter().map(|s| (s.mean, s.sd)).collect();
        panels.push(bars(&choice.label, &heights, set.active().unwrap_or(&[])));
    }
    let chart = Chart { legend: legend(), ..Chart::new(experiment.title(), 3, (290.0, 150.0), panels) };
    let text = format!(
        "Relevances of fits of {EPOCHS} epochs on {} of {set}, mean and standard deviation over {}, for each strength λ of the \
         head's penalty; the epoch with the best validation loss is kept.",
        plural(size.0, "row"),
        plural(replicas, "fit")
    );
    let parts = vec![Part::Text(text), Part::drawing("Relevances of the columns for each λ.", &chart)];
    Ok(Page { experiment, parts, notes, raw })
}
