//! Figures 2 and 4: the relevances of columns.

use rffnet::text::count;
use rffnet_compare::Kind;

use crate::axis::{Axis, Kind as Scale};
use crate::bench::Bench;
use crate::chart::{Chart, Mark, Panel, Style};
use crate::grid::Grid;
use crate::page::{Page, Part};
use crate::scores::{Set, cell};
use crate::settings::{REGRESSION, ROWS, Variant, variants};
use crate::stats::figure;
use crate::svg::PALETTE;
use crate::{Error, Experiment};

const ACTIVE: &str = PALETTE[1];
const OTHER: &str = PALETTE[0];

/// Which colour means what.
pub(crate) fn legend() -> Vec<(String, Style)> {
    let entry = |label: &str, colour: &str| (label.to_string(), Style { colour: colour.into(), dash: 0 });
    vec![entry("columns the target depends on", ACTIVE), entry("other columns", OTHER)]
}

/// A panel of relevances `(height, spread)`, the columns counted from 1, the active ones marked below.
pub(crate) fn bars(title: &str, heights: &[(f64, f64)], active: &[usize]) -> Panel {
    let n = heights.len();
    let top = heights.iter().map(|h| h.0 + h.1);
    let y = Axis::over("relevance", Scale::Linear, top, true);
    let mut x = Axis::linear("column", 0.3, n as f64 + 0.7);
    x.marked = marks(active, n);
    let colours = (0..n).map(|j| if active.contains(&j) { ACTIVE } else { OTHER }.to_string()).collect();
    let bars = heights.iter().enumerate().map(|(j, h)| (j as f64 + 1.0, h.0, h.1)).collect();
    Panel { title: title.into(), x, y, marks: vec![Mark::Bars { bars, width: 0.8, colours }] }
}

/// Active columns that stand side by side as one mark, and the last column.
fn marks(active: &[usize], columns: usize) -> Vec<(f64, String)> {
    let runs = active.chunk_by(|a, b| a + 1 == *b);
    let run = |run: &[usize]| match (run.first(), run.last()) {
        (Some(a), Some(b)) if a != b => Some(((a + b) as f64 / 2.0 + 1.0, format!("{}-{}", a + 1, b + 1))),
        (Some(a), _) => Some((*a as f64 + 1.0, (a + 1).to_string())),
        _ => None,
    };
    let mut marked: Vec<(f64, String)> = runs.filter_map(run).collect();
    if !active.contains(&(columns - 1)) {
        marked.push((columns as f64, columns.to_string()));
    }
    marked
}

/// The rows of a table that know relevances of ours.
pub(crate) fn rffnet_variants(classification: bool, auto: bool) -> Vec<Variant> {
    let ours = |v: &Variant| matches!(v.kind, Kind::RffnetPaper | Kind::Rffnet);
    variants(classification, auto).into_iter().filter(ours).collect()
}

/// Figure 2: the first replica of table 1.
pub(crate) fn simulated(bench: &Bench<'_>) -> Result<Page, Error> {
    let mut raw = Grid::new(["set", "method", "column", "relevance", "active"]);
    let (mut panels, mut notes) = (Vec::new(), Vec::new());
    for variant in rffnet_variants(false, bench.request.auto) {
        for set in REGRESSION {
            let active = set.active().unwrap_or(&[]);
            let measured = cell(bench, &Set::Simulated(set), &variant, 0, false)?;
            let relevances = match measured.map(|m| m.relevances) {
                Ok(Some(relevances)) => relevances,
                Ok(None) => continue,
                Err(why) => {
                    notes.push(format!("{} on {set}: {why}", variant.label));
                    continue;
                }
            };
            for (j, r) in relevances.iter().enumerate() {
                let row =
                    [set.name().into(), variant.kind.name().into(), format!("x{}", j + 1), format!("{r:.6}")];
                raw.push(row.into_iter().chain([u8::from(active.contains(&j)).to_string()]));
            }
            let heights: Vec<(f64, f64)> = relevances.iter().map(|&r| (f64::from(r), 0.0)).collect();
            let title = if variant.kind == Kind::Rffnet { format!("{set}, auto") } else { set.to_string() };
            panels.push(bars(&title, &heights, active));
        }
    }
    let chart = Chart { legend: legend(), ..Chart::new(Experiment::Fig2.title(), 2, (420.0, 190.0), panels) };
    let text = format!(
        "Relevances of the first replica of table 1 at its full size, {} rows, preset `paper` and, where so named, `auto`; there is no quicker version.",
        count(ROWS)
    );
    let caption = "Relevances peak on the columns the target depends on.";
    let parts = vec![Part::Text(text), Part::drawing(caption, &chart)];
    Ok(Page { experiment: Experiment::Fig2, parts, notes, raw })
}

/// The columns at the ends of the ranking that are shown.
const ENDS: usize = 7;

/// Figure 4: the first fold of table 4.
pub(crate) fn real(bench: &Bench<'_>) -> Result<Page, Error> {
    let mut raw = Grid::new(["set", "method", "rank", "column", "relevance"]);
    let (mut parts, mut notes) = (Vec::new(), Vec::new());
    parts.push(Part::Text(
        "Relevances of the first fold of table 4: the seven largest and the seven smallest.".to_string(),
    ));
    for (name, suffix) in [("amazon", "-amazon"), ("higgs", "-higgs")] {
        let found = bench.real(name);
        let real = match found.as_ref() {
            Ok(real) => real,
            Err(why) => {
                notes.push(why.clone());
                continue;
            }
        };
        let mut panels = Vec::new();
        for variant in rffnet_variants(true, bench.request.auto) {
            let relevances = match cell(bench, &Set::Real(real), &variant, 0, bench.request.quick)?
                .map(|m| m.relevances)
            {
                Ok(relevances) => relevances.unwrap_or_default(),
                Err(why) => {
                    notes.push(format!("{} on {name}: {why}", variant.label));
                    continue;
                }
            };
            let mut order: Vec<usize> = (0..relevances.len()).collect();
            order.sort_by(|&a, &b| relevances[b].total_cmp(&relevances[a]));
            for (rank, &j) in order.iter().enumerate() {
                let row = [
                    name.into(),
                    variant.kind.name().into(),
                    (rank + 1).to_string(),
                    real.table.names[j].clone(),
                ];
                raw.push(row.into_iter().chain([format!("{:.6}", relevances[j])]));
            }
            panels.push(ends(variant.label, &order, &relevances, &real.table.names));
        }
        let chart = Chart::new(&format!("Relevances, {name}"), 1, (860.0, 210.0), panels);
        let caption = format!("{name}: largest and smallest relevances.");
        parts.push(Part::Drawing { suffix, caption, svg: chart.render() });
    }
    Ok(Page { experiment: Experiment::Fig4, parts, notes, raw })
}

fn ends(label: &str, order: &[usize], relevances: &[f32], names: &[String]) -> Panel {
    let n = order.len();
    let shown: Vec<usize> = if n <= 2 * ENDS {
        order.to_vec()
    } else {
        order[..ENDS].iter().chain(&order[n - ENDS..]).copied().collect()
    };
    let bars: Vec<(f64, f64, f64)> =
        shown.iter().enumerate().map(|(i, &j)| (i as f64 + 1.0, relevances[j].into(), 0.0)).collect();
    let mut x = Axis::linear(&format!("column, of {}", count(n)), 0.4, shown.len() as f64 + 0.6);
    x.marked = shown
        .iter()
        .enumerate()
        .map(|(i, &j)| (i as f64 + 1.0, names[j].chars().take(9).collect::<String>()))
        .collect();
    let y = Axis::over("relevance", Scale::Linear, bars.iter().map(|b| b.1), true);
    let colours = (0..shown.len()).map(|i| if i < ENDS { ACTIVE } else { OTHER }.to_string()).collect();
    let largest = shown.first().map_or(0.0, |&j| relevances[j].into());
    let title = format!("{}: largest relevance {}", label.replace('`', ""), figure(largest));
    Panel { title, x, y, marks: vec![Mark::Bars { bars, width: 0.7, colours }] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_a_mark() {
        let texts = |active: &[usize], n| marks(active, n).into_iter().map(|m| m.1).collect::<Vec<_>>();
        assert_eq!(texts(&[0, 2, 6, 7, 8], 18), ["1", "3", "7-9", "18"]);
        assert_eq!(texts(&[10, 11, 12, 13, 14], 100), ["11-15", "100"]);
        assert_eq!(texts(&[0, 1], 2), ["1-2"]);
    }
}
