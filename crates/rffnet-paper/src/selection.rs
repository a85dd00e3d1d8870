//! Figure 3: how many of the columns that TopK selects are false, and how many of the true ones it finds.

use rayon::prelude::*;
use rffnet::text::{count, plural};
use rffnet::{Data, Fit, Params, Target, select};
use rffnet_data::{Column, Simulated, Table};
use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::bench::Bench;
use crate::cache::Fault;
use crate::chart::{Chart, Mark, Panel, Style};
use crate::grid::Grid;
use crate::page::{Page, Part};
use crate::stats::Spread;
use crate::svg::PALETTE;
use crate::{Error, Experiment};

const SELECTION_ROWS: usize = 2_000;
/// Training rows and rows of a batch.
const SIZES: [(usize, usize); 3] = [(5_000, 256), (10_000, 512), (20_000, 512)];
const QUICK_SIZES: [(usize, usize); 3] = [(1_000, 256), (2_000, 256), (4_000, 256)];
const SETS: [Simulated; 2] = [Simulated::Gse1, Simulated::Gse2];

/// The columns selected, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Selected {
    columns: Vec<usize>,
}

impl Selected {
    /// The share of the selected columns that are false; none selected, none false.
    fn false_rate(&self, active: &[usize]) -> f64 {
        let wrong = self.columns.iter().filter(|j| !active.contains(j)).count();
        wrong as f64 / self.columns.len().max(1) as f64
    }

    /// The share of the true columns that are selected.
    fn true_rate(&self, active: &[usize]) -> f64 {
        active.iter().filter(|j| self.columns.contains(j)).count() as f64 / active.len().max(1) as f64
    }
}

fn select_columns(set: Simulated, rows: usize, params: &Params) -> Result<Selected, Fault> {
    let (train, held) = set.train_test(rows, SELECTION_ROWS, params.seed);
    let refused = |e: rffnet::Error| Fault::Refused(e.to_string());
    let model = Fit::new(params).run(&data(&train)?).map_err(refused)?;
    let found = select::top_k(&model, &data(&held)?).map_err(refused)?;
    let mut columns = found.selected().to_vec();
    columns.sort_unstable();
    Ok(Selected { columns })
}

/// The rows of a simulated regression set as the library takes them.
pub(crate) fn data(table: &Table) -> Result<Data<'_>, Error> {
    let Some(Column::Numbers(values)) = &table.target else {
        return Err(Error::new(format!("{} has no numbers to learn", table.source)));
    };
    Ok(Data::new(table.matrix()?, Target::Values { values, outputs: 1 }))
}

/// A line of the figure.
struct Line {
    label: &'static str,
    auto: bool,
    style: Style,
}

/// Figure 3.
pub(crate) fn page(bench: &Bench<'_>) -> Result<Page, Error> {
    let replicas = bench.replicas(10, 2);
    let sizes = if bench.request.quick { QUICK_SIZES } else { SIZES };
    let style = |i: usize| Style { colour: PALETTE[i].into(), dash: i };
    let mut lines = vec![Line { label: "RFFNet, preset paper", auto: false, style: style(0) }];
    if bench.request.auto {
        lines.push(Line { label: "rffnet, preset auto", auto: true, style: style(1) });
    }
    let mut raw = Grid::new(["set", "preset", "rows", "replica", "selected", "fdr", "tdr"]);
    let mut grid = Grid::new(["set", "preset", "rows", "false discoveries (FDR)", "true discoveries (TDR)"]);
    let (mut panels, mut notes) = (Vec::new(), Vec::new());
    for set in SETS {
        let active = set.active().unwrap_or(&[]);
        let (mut fdr, mut tdr) = (Vec::new(), Vec::new());
        for line in &lines {
            let preset = if line.auto { "auto" } else { "paper" };
            let (mut fdr_points, mut tdr_points) = (Vec::new(), Vec::new());
            for (rows, batch) in sizes {
                let found = replicas_of(bench, set, rows, batch, line.auto, replicas)?;
                for (replica, selected) in found.iter().enumerate() {
                    match selected {
                        Ok(s) => {
                            let names: Vec<String> =
                                s.columns.iter().map(|j| format!("x{}", j + 1)).collect();
                            raw.push([
                                set.name().into(),
                                preset.to_string(),
                                rows.to_string(),
                                (replica + 1).to_string(),
                                names.join(" "),
                                format!("{:.4}", s.false_rate(active)),
                                format!("{:.4}", s.true_rate(active)),
                            ]);
                        }
                        Err(why) => notes.push(format!("{set}, {preset}, {}: {why}", plural(rows, "row"))),
                    }
                }
                let rates = |rate: &dyn Fn(&Selected) -> f64| {
                    Spread::of(&found.iter().flatten().map(rate).collect::<Vec<_>>())
                };
                let both = (rates(&|s| s.false_rate(active)), rates(&|s| s.true_rate(active)));
                let (Some(f), Some(t)) = both else { continue };
                grid.push([set.name().into(), preset.into(), count(rows), f.to_string(), t.to_string()]);
                fdr_points.push((rows as f64, f.mean, (f.mean - f.sd, f.mean + f.sd)));
                tdr_points.push((rows as f64, t.mean, (t.mean - t.sd, t.mean + t.sd)));
                (bench.tell)(&format!("  {set}, {preset}, {}: FDR {f}, TDR {t}", plural(rows, "row")));
            }
            fdr.push(Mark::Dots { points: fdr_points, style: line.style.clone() });
            tdr.push(Mark::Dots { points: tdr_points, style: line.style.clone() });
        }
        panels.push(panel(&format!("{set}: false discoveries"), "FDR", fdr, sizes));
        panels.push(panel(&format!("{set}: true discoveries"), "TDR", tdr, sizes));
    }
    let legend = lines.iter().map(|l| (l.label.to_string(), l.style.clone())).collect();
    let chart = Chart { legend, ..Chart::new(Experiment::Fig3.title(), 2, (380.0, 200.0), panels) };
    let quick =
        if bench.request.quick { " A quick run: fewer rows than the paper's 5,000 to 20,000." } else { "" };
    let text = format!(
        "TopK on {} rows that the fit has not seen, mean and standard deviation over {}. FDR is the share of selected \
         columns that are false, TDR the share of true columns that are selected.{quick}",
        count(SELECTION_ROWS),
        plural(replicas, "replica")
    );
    let drawing = Part::drawing("Discoveries against training rows.", &chart);
    let parts = vec![Part::Text(text), drawing, Part::Table(grid)];
    Ok(Page { experiment: Experiment::Fig3, parts, notes, raw })
}

fn replicas_of(
    bench: &Bench<'_>,
    set: Simulated,
    rows: usize,
    batch: usize,
    auto: bool,
    replicas: usize,
) -> Result<Vec<Result<Selected, String>>, Error> {
    let (cache, seed) = (&bench.cache, bench.request.seed);
    let one = |replica: usize| {
        let preset = if auto { Params::default() } else { Params::paper().batch_size(batch) };
        let params = preset.seed(seed.wrapping_add(replica as u64));
        let name = format!("topk-{}-{rows}-{replica}", set.name());
        cache.get(&name, &("topk", set.name(), rows, &params), || select_columns(set, rows, &params))
    };
    (0..replicas).into_par_iter().map(one).collect()
}

fn panel(title: &str, label: &str, marks: Vec<Mark>, sizes: [(usize, usize); 3]) -> Panel {
    let last = sizes[2].0 as f64;
    let mut x = Axis::linear("training rows", 0.0, 1.08 * last);
    x.marked = sizes.iter().map(|(rows, _)| (*rows as f64, count(*rows))).collect();
    Panel { title: title.into(), x, y: Axis::linear(label, 0.0, 1.04), marks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_shares() {
        let found = Selected { columns: vec![0, 2, 5] };
        assert_eq!(found.false_rate(&[0, 1, 2, 3]), 1.0 / 3.0);
        assert_eq!(found.true_rate(&[0, 1, 2, 3]), 0.5);
        assert_eq!(Selected { columns: Vec::new() }.false_rate(&[0]), 0.0);
    }
}
