//! Beyond the paper: whether predicted probabilities are the shares they claim to be.

use rffnet::OwnedTarget;
use rffnet::scores::Prediction;
use rffnet::text::{count, plural};
use rffnet_compare::{Job, Kind, ModelSpec, read_pair};
use rffnet_data::Simulated;
use serde::Serialize;

use crate::axis::Axis;
use crate::bench::Bench;
use crate::cache::Fault;
use crate::calibration::{Bin, Calibration};
use crate::chart::{Chart, Mark, Panel, Style};
use crate::grid::Grid;
use crate::page::{Page, Part};
use crate::relevance::rffnet_variants;
use crate::scores::{Set, size_note};
use crate::settings::{QUICK_ROWS, ROWS, TEST_ROWS, Variant};
use crate::svg::PALETTE;
use crate::{Error, Experiment};

/// Replicas of the simulated set, whose test rows are pooled. A real set has test rows enough in one fold.
const REPLICAS: usize = 5;
const QUICK_REPLICAS: usize = 2;
const REAL: [&str; 2] = ["a9a", "w8a"];
/// Where a curve should lie.
const DIAGONAL: &str = "#777777";

/// All that decides a cell.
#[derive(Serialize)]
struct Key<'a> {
    what: &'static str,
    set: &'a str,
    /// Tells versions of a real set apart.
    data: Option<&'a str>,
    model: &'a ModelSpec,
    rows: usize,
    replica: usize,
    seed: u64,
}

/// The test rows of a replica: the probability of the second class, and whether it was that.
fn cell(
    bench: &Bench<'_>,
    set: &Set<'_>,
    variant: &Variant,
    replica: usize,
) -> Result<Result<Vec<(f64, bool)>, String>, Error> {
    let seed = bench.request.seed.wrapping_add(replica as u64);
    let rows = set.rows(bench.request.quick);
    let model = variant.spec(set.name());
    let data = match set {
        Set::Simulated(_) => None,
        Set::Real(real) => Some(real.fingerprint.as_str()),
    };
    let key = Key { what: "reliability", set: set.name(), data, model: &model, rows, replica, seed };
    let name = format!("reliability-{}-{}-{replica}", set.name(), variant.kind);
    bench.cache.get(&name, &key, || {
        let (train, test) = set.sources(rows, replica, bench.request.seed)?;
        let job = Job { seed, threads: bench.request.threads, ..Job::new(model.clone(), train, test) };
        let predicted = bench.pool()?.install(|| predict(&job)).map_err(|e| Fault::Refused(e.to_string()))?;
        (bench.tell)(&format!("  {:<15} {:<15} replica {}: done", set.name(), variant.label, replica + 1));
        Ok(predicted)
    })
}

fn predict(job: &Job) -> Result<Vec<(f64, bool)>, Error> {
    let (train, test) = read_pair(&job.train, &job.test)?;
    let fitted = job.fit(&train.data()?)?;
    let prediction = fitted.predict(test.data()?.x)?;
    match (prediction, &test.target) {
        (Prediction::Probabilities(p), OwnedTarget::Labels { codes, classes }) if classes.len() == 2 => {
            Ok(p.chunks_exact(2).map(|p| p[1]).zip(codes.iter().map(|&code| code == 1)).collect())
        }
        _ => Err(Error::new("there are no probabilities of two classes")),
    }
}

/// The figure and its table.
pub(crate) fn page(bench: &Bench<'_>) -> Result<Page, Error> {
    let found = REAL.map(|name| bench.real(name));
    let mut notes: Vec<String> =
        found.iter().filter_map(|set| set.as_ref().as_ref().err().cloned()).collect();
    let real = found.iter().filter_map(|set| set.as_ref().as_ref().ok()).map(Set::Real);
    let sets: Vec<Set<'_>> = [Set::Simulated(Simulated::Classification)].into_iter().chain(real).collect();
    let replicas = bench.replicas(REPLICAS, QUICK_REPLICAS);
    let mut raw = Grid::new(["set", "method", "bin", "rows", "predicted", "share", "low", "high"]);
    let mut grid = Grid::new([
        "set",
        "method",
        "test rows",
        "positives",
        "rows of a bin",
        "log-loss",
        "Brier score",
        "ECE",
        "ECE by chance alone",
    ]);
    let variants = rffnet_variants(true, true);
    let mut panels = Vec::new();
    for set in &sets {
        let folds = if matches!(set, Set::Real(_)) { 1 } else { replicas };
        let ends = vec![(0.001, 0.001, 0.0), (0.999, 0.999, 0.0)];
        let mut marks = vec![Mark::Line { points: ends, style: diagonal() }];
        for variant in &variants {
            let mut rows = Vec::new();
            for replica in 0..folds {
                match cell(bench, set, variant, replica)? {
                    Ok(more) => rows.extend(more),
                    Err(why) => notes.push(format!("{} on {}: {why}", variant.label, set.name())),
                }
            }
            let Some(found) = Calibration::of(&rows) else { continue };
            grid.push(line(set, variant, &found));
            record(&mut raw, set, variant, &found);
            marks.extend(curves(&found, &style(variant)));
        }
        let mut x = Axis::odds("predicted probability, mean of the bin");
        // The last mark would stand out over the edge; the upright axis has it.
        x.marked.pop();
        let y = Axis::odds("share of positives");
        panels.push(Panel { title: set.name().into(), x, y, marks });
    }
    sets.iter().for_each(|set| notes.extend(size_note(set)));
    let legend = variants.iter().map(|v| (v.label.replace('`', ""), style(v)));
    let legend = legend.chain([("probability = share".to_string(), diagonal())]).collect();
    let chart = Chart { legend, ..Chart::new(Experiment::Reliability.title(), 3, (340.0, 340.0), panels) };
    let caption = "Share of positives against predicted probability, in bins of equal count.";
    let parts = vec![
        Part::Text(about(bench, replicas)),
        Part::drawing(caption, &chart),
        Part::Table(grid),
        Part::Text(
            "Log-loss and Brier score (mean squared difference between probability and outcome) reward both sharp and \
             right probabilities; smaller is better. ECE, the expected calibration error, is the mean distance between \
             probability and share over the bins, weighted by rows; the last column is what right probabilities would have \
             with as many rows, about."
                .into(),
        ),
    ];
    Ok(Page { experiment: Experiment::Reliability, parts, notes, raw })
}

fn about(bench: &Bench<'_>, replicas: usize) -> String {
    let (rows, quick) = if bench.request.quick {
        (QUICK_ROWS, format!(" A quick run: {} training rows at most.", count(QUICK_ROWS)))
    } else {
        (ROWS, String::new())
    };
    format!(
        "Of the rows to which a model gives a probability of 0.8, are 80 % positive? Test rows are sorted by their \
         probability and cut into ten bins of equal count; each dot is a bin, with a 95 % interval of its share. Axes are \
         log-odds, so that rare and nearly sure cases can be seen; what lies beyond 0.001 or 0.999 stands at the edge. \
         RFFNet is the preset `paper`. `classification` is simulated: {} training and {} test rows, {} pooled. Real sets: the first of ten folds.{quick}",
        count(rows),
        count(TEST_ROWS),
        plural(replicas, "replica"),
    )
}

fn diagonal() -> Style {
    Style { colour: DIAGONAL.into(), dash: 1 }
}

/// The preset `auto` has the first colour.
fn style(variant: &Variant) -> Style {
    let (colour, dash) = if variant.kind == Kind::Rffnet { (PALETTE[0], 0) } else { (PALETTE[1], 2) };
    Style { colour: colour.into(), dash }
}

/// Bins without a positive, or with nothing else, have no place on an axis of odds: they stand at its end, on their own.
fn curves(found: &Calibration, style: &Style) -> Vec<Mark> {
    let dots = |bins: &[Bin]| Mark::Dots {
        points: bins.iter().map(|b| (b.predicted, b.share, b.interval())).collect(),
        style: style.clone(),
    };
    let (joined, alone): (Vec<Bin>, Vec<Bin>) =
        found.bins.iter().partition(|b| b.share > 0.0 && b.share < 1.0);
    std::iter::once(dots(&joined)).chain(alone.iter().map(|&bin| dots(&[bin]))).collect()
}

fn line(set: &Set<'_>, variant: &Variant, found: &Calibration) -> Vec<String> {
    let (fewest, most) = found.bin_rows();
    let size = if fewest == most { count(most) } else { format!("{} to {}", count(fewest), count(most)) };
    vec![
        set.name().into(),
        variant.label.into(),
        count(found.rows),
        format!("{:.1} %", 100.0 * found.share),
        size,
        format!("{:.4}", found.log_loss),
        format!("{:.4}", found.brier),
        format!("{:.4}", found.error),
        format!("{:.4}", found.chance),
    ]
}

fn record(raw: &mut Grid, set: &Set<'_>, variant: &Variant, found: &Calibration) {
    for (i, bin) in found.bins.iter().enumerate() {
        let (low, high) = bin.interval();
        let place =
            [set.name().into(), variant.kind.name().into(), (i + 1).to_string(), bin.rows.to_string()];
        let figures = [bin.predicted, bin.share, low, high].map(|v| format!("{v:.6}"));
        raw.push(place.into_iter().chain(figures));
    }
}
