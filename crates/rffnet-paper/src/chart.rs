//! Charts: panels with axes, lines with bands, bars, heat maps, and a legend above them.

use crate::axis::Axis;
use crate::svg::{Anchor, DASHES, FAINT, FONT, INK, Svg, ramp};

/// Room around the plotting area of a panel.
const LEFT: f64 = 72.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 56.0;
const LEGEND: f64 = 34.0;
/// A character's width in the legend, on average.
const CHARACTER: f64 = 0.6 * FONT;
/// From the end of a line to its name.
const LABEL_GAP: f64 = 4.0;
const LABEL_DROP: f64 = 1.35 * FONT;
/// Spreads on bars: dark enough to be seen, light enough to leave the bars alone.
const WHISKER: &str = "#777777";
/// Shades of a heat map.
const SHADES: usize = 60;

/// One thing to see.
pub(crate) enum Mark {
    /// `(x, mean, spread)`, the spread as a band.
    Line { points: Vec<(f64, f64, f64)>, style: Style },
    /// `(x, mean, range)`, with dots and the range as whiskers.
    Dots { points: Vec<(f64, f64, (f64, f64))>, style: Style },
    /// A bar at each x, `(x, height, spread)`.
    Bars { bars: Vec<(f64, f64, f64)>, width: f64, colours: Vec<String> },
    /// Values on an even grid over the panel, row after row from below; shades from `low` to `high`.
    Heat { values: Vec<f64>, columns: usize, low: f64, high: f64 },
    /// Points without a line.
    Points(Vec<(f64, f64)>),
    /// The end of a line: a dot, and the line's name below and to its right, where falling lines leave room.
    End { at: (f64, f64), label: String, colour: String },
}

/// How a line looks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Style {
    pub(crate) colour: String,
    /// Index into the dashes.
    pub(crate) dash: usize,
}

/// One plotting area.
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) marks: Vec<Mark>,
}

/// Panels side by side, row after row.
pub(crate) struct Chart {
    /// What a screen reader says.
    pub(crate) title: String,
    pub(crate) columns: usize,
    /// The plotting area of a panel.
    pub(crate) size: (f64, f64),
    pub(crate) legend: Vec<(String, Style)>,
    pub(crate) panels: Vec<Panel>,
    /// For heat maps: the label of the scale of shades, its ends.
    pub(crate) shades: Option<(String, f64, f64)>,
}

impl Chart {
    /// Without a legend and a scale of shades.
    pub(crate) fn new(title: &str, columns: usize, size: (f64, f64), panels: Vec<Panel>) -> Self {
        Chart { title: title.into(), columns, size, legend: Vec::new(), panels, shades: None }
    }

    fn has_bars(&self) -> bool {
        self.panels.iter().flat_map(|p| &p.marks).any(|m| matches!(m, Mark::Bars { .. }))
    }

    /// The file.
    pub(crate) fn render(&self) -> String {
        let columns = self.columns.clamp(1, self.panels.len().max(1));
        let rows = self.panels.len().div_ceil(columns);
        let (w, h) = self.size;
        let cell = (LEFT + w + RIGHT, TOP + h + BOTTOM);
        let width = columns as f64 * cell.0;
        let legend = legend_rows(&self.legend, width);
        let above = if legend.is_empty() { 0.0 } else { 8.0 + 24.0 * legend.len() as f64 };
        let below = if self.shades.is_some() { 58.0 } else { 0.0 };
        let mut svg = Svg::new(width, above + rows as f64 * cell.1 + below);
        for (i, row) in legend.iter().enumerate() {
            draw_legend(&mut svg, row, width, 24.0 * i as f64 + 22.0, self.has_bars());
        }
        for (i, panel) in self.panels.iter().enumerate() {
            let at = ((i % columns) as f64 * cell.0 + LEFT, above + (i / columns) as f64 * cell.1 + TOP);
            panel.draw(&mut svg, at, self.size);
        }
        if let Some((label, low, high)) = &self.shades {
            draw_shades(&mut svg, (width / 2.0, above + rows as f64 * cell.1 + 8.0), label, *low, *high);
        }
        svg.finish(&self.title)
    }
}

/// What a name beside the end of a line needs to the right of it.
pub(crate) fn label_width(label: &str) -> f64 {
    LABEL_GAP + CHARACTER * label.chars().count() as f64 - RIGHT
}

/// By how much names below an axis must be smaller so that no two touch.
fn shrunk(ticks: &[(f64, String)], x: &impl Fn(f64) -> f64) -> f64 {
    let needed = |text: &str| CHARACTER * (text.chars().count() as f64 + 1.0);
    let fits = ticks.windows(2).map(|pair| {
        let room = (x(pair[1].0) - x(pair[0].0)).abs();
        room / (0.5 * (needed(&pair[0].1) + needed(&pair[1].1)))
    });
    fits.fold(1.0, f64::min).max(0.6)
}

/// Names that would be written over each other move down, a line each.
fn push_apart(ends: &mut [((f64, f64), &str, &str)]) {
    let line = 1.2 * FONT;
    ends.sort_by(|a, b| a.0.1.total_cmp(&b.0.1));
    for i in 1..ends.len() {
        for j in 0..i {
            let right = |k: usize| ends[k].0.0 + label_width(ends[k].1);
            let beside = ends[i].0.0 > right(j) || ends[j].0.0 > right(i);
            if !beside && ends[i].0.1 - ends[j].0.1 < line {
                ends[i].0.1 = ends[j].0.1 + line;
            }
        }
    }
}

/// Entries in lines that fit.
fn legend_rows(entries: &[(String, Style)], width: f64) -> Vec<Vec<&(String, Style)>> {
    let mut rows: Vec<Vec<&(String, Style)>> = Vec::new();
    let mut used = f64::INFINITY;
    for entry in entries {
        let needed = entry_width(entry);
        if used + needed > width - 20.0 {
            rows.push(Vec::new());
            used = 0.0;
        }
        used += needed;
        if let Some(row) = rows.last_mut() {
            row.push(entry);
        }
    }
    rows
}

fn entry_width(entry: &(String, Style)) -> f64 {
    LEGEND + 26.0 + CHARACTER * entry.0.chars().count() as f64
}

fn draw_legend(svg: &mut Svg, row: &[&(String, Style)], width: f64, y: f64, bars: bool) {
    let total: f64 = row.iter().map(|e| entry_width(e)).sum();
    let mut x = (width - total) / 2.0 + 10.0;
    for entry in row {
        let middle = y - 0.32 * FONT;
        if bars {
            svg.rectangle((x + 14.0, middle - 7.0), (LEGEND - 14.0, 14.0), &entry.1.colour);
        } else {
            svg.polyline(
                &[(x, middle), (x + LEGEND, middle)],
                &entry.1.colour,
                3.0,
                DASHES[entry.1.dash % 4],
            );
        }
        svg.text((x + LEGEND + 7.0, y), &entry.0, Anchor::Start, FONT);
        x += entry_width(entry);
    }
}

/// The scale of a heat map.
fn draw_shades(svg: &mut Svg, top: (f64, f64), label: &str, low: f64, high: f64) {
    let (width, left) = (300.0, top.0 - 150.0);
    for i in 0..SHADES {
        let x = left + width * i as f64 / SHADES as f64;
        let shade = ramp((i as f64 + 0.5) / SHADES as f64);
        svg.rectangle((x, top.1), (width / SHADES as f64 + 0.5, 14.0), &shade);
    }
    for (value, text) in Axis::linear("", low, high).ticks(4) {
        let x = left + width * (value - low) / (high - low);
        svg.line((x, top.1 + 14.0), (x, top.1 + 19.0), INK, 1.0);
        svg.text((x, top.1 + 34.0), &text, Anchor::Middle, FONT);
    }
    svg.text((left - 10.0, top.1 + 13.0), label, Anchor::End, FONT);
}

impl Panel {
    fn draw(&self, svg: &mut Svg, at: (f64, f64), (w, h): (f64, f64)) {
        let x = |v: f64| at.0 + w * self.x.place(v);
        let y = |v: f64| at.1 + h * (1.0 - self.y.place(v));
        let heat = self.marks.iter().any(|m| matches!(m, Mark::Heat { .. }));
        let y_ticks = self.y.ticks((h / 34.0) as usize);
        if !heat {
            for (value, _) in &y_ticks {
                svg.line((at.0, y(*value)), (at.0 + w, y(*value)), FAINT, 1.0);
            }
        }
        for mark in &self.marks {
            self.draw_mark(svg, mark, (at, (w, h)), &x, &y);
        }
        let mut ends: Vec<((f64, f64), &str, &str)> = Vec::new();
        for mark in &self.marks {
            if let Mark::End { at, label, colour } = mark {
                ends.push(((x(at.0) + LABEL_GAP, y(at.1) + LABEL_DROP), label, colour));
            }
        }
        push_apart(&mut ends);
        for (at, label, colour) in ends {
            svg.label(at, label, colour);
        }
        svg.line((at.0, at.1), (at.0, at.1 + h), INK, 1.2);
        svg.line((at.0, at.1 + h), (at.0 + w, at.1 + h), INK, 1.2);
        for (value, text) in &y_ticks {
            svg.line((at.0 - 5.0, y(*value)), (at.0, y(*value)), INK, 1.0);
            svg.text((at.0 - 9.0, y(*value) + 0.35 * FONT), text, Anchor::End, FONT);
        }
        let x_ticks = self.x.ticks((w / 52.0) as usize);
        let size = FONT * shrunk(&x_ticks, &x);
        for (value, text) in &x_ticks {
            svg.line((x(*value), at.1 + h), (x(*value), at.1 + h + 5.0), INK, 1.0);
            svg.text((x(*value), at.1 + h + 21.0), text, Anchor::Middle, size);
        }
        svg.bold((at.0 + w / 2.0, at.1 - 10.0), &self.title, Anchor::Middle, FONT + 1.0);
        svg.text((at.0 + w / 2.0, at.1 + h + 43.0), &self.x.label, Anchor::Middle, FONT);
        svg.upright((at.0 - 56.0, at.1 + h / 2.0), &self.y.label, FONT);
    }

    fn draw_mark(
        &self,
        svg: &mut Svg,
        mark: &Mark,
        (at, (w, h)): ((f64, f64), (f64, f64)),
        x: &impl Fn(f64) -> f64,
        y: &impl Fn(f64) -> f64,
    ) {
        match mark {
            Mark::Line { points, style } => {
                if points.iter().any(|p| p.2 > 0.0) {
                    let upper = points.iter().map(|p| (x(p.0), y(p.1 + p.2)));
                    let lower = points.iter().rev().map(|p| (x(p.0), y(p.1 - p.2)));
                    let outline: Vec<(f64, f64)> = upper.chain(lower).collect();
                    svg.polygon(&outline, &style.colour);
                }
                let line: Vec<(f64, f64)> = points.iter().map(|p| (x(p.0), y(p.1))).collect();
                svg.polyline(&line, &style.colour, 2.2, DASHES[style.dash % DASHES.len()]);
            }
            Mark::Dots { points, style } => {
                let line: Vec<(f64, f64)> = points.iter().map(|p| (x(p.0), y(p.1))).collect();
                svg.polyline(&line, &style.colour, 2.2, DASHES[style.dash % DASHES.len()]);
                for p in points {
                    svg.whisker(x(p.0), (y(p.2.0), y(p.2.1)), 6.0, &style.colour);
                    svg.circle((x(p.0), y(p.1)), 4.5, &style.colour);
                }
            }
            Mark::Bars { bars, width, colours } => {
                for (i, bar) in bars.iter().enumerate() {
                    let (left, right) = (x(bar.0 - width / 2.0), x(bar.0 + width / 2.0));
                    let (top, foot) = (y(bar.1), y(0.0));
                    let colour = &colours[i % colours.len()];
                    svg.rectangle((left, top), (right - left, foot - top), colour);
                    if bar.2 > 0.0 {
                        let ends = 0.5 * (right - left).min(12.0);
                        svg.whisker(x(bar.0), (y(bar.1 - bar.2), y(bar.1 + bar.2)), ends, WHISKER);
                    }
                }
            }
            Mark::Heat { values, columns, low, high } => {
                let rows = values.len() / (*columns).max(1);
                let size = (w / *columns as f64, h / rows.max(1) as f64);
                let mut tiles = vec![Vec::new(); SHADES];
                for (i, value) in values.iter().enumerate() {
                    let (column, row) = ((i % columns) as f64, (i / columns) as f64);
                    let corner = (at.0 + column * size.0, at.1 + h - (row + 1.0) * size.1);
                    let shade = (value - low) / (high - low) * SHADES as f64;
                    tiles[shade.clamp(0.0, SHADES as f64 - 1.0) as usize].push(corner);
                }
                for (i, corners) in tiles.iter().enumerate().filter(|(_, corners)| !corners.is_empty()) {
                    svg.tiles(corners, size, &ramp((i as f64 + 0.5) / SHADES as f64));
                }
            }
            Mark::Points(points) => {
                for p in points {
                    svg.circle((x(p.0), y(p.1)), 5.0, "#ffffff");
                    svg.circle((x(p.0), y(p.1)), 3.5, "#D55E00");
                }
            }
            Mark::End { at, colour, .. } => svg.circle((x(at.0), y(at.1)), 5.0, colour),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Kind;

    fn style() -> Style {
        Style { colour: "#0072B2".into(), dash: 0 }
    }

    fn chart(marks: Vec<Mark>, panels: usize) -> String {
        let panel = |marks| Panel {
            title: "t".into(),
            x: Axis::linear("x (epochs)", 0.0, 10.0),
            y: Axis { kind: Kind::Log, ..Axis::linear("y", 0.1, 10.0) },
            marks,
        };
        let mut panels: Vec<Panel> = (1..panels).map(|_| panel(Vec::new())).collect();
        panels.push(panel(marks));
        let legend = vec![("a rather long entry".into(), style()); 9];
        Chart { title: "c".into(), columns: 3, size: (200.0, 150.0), legend, panels, shades: None }.render()
    }

    #[test]
    fn a_point_stands_where_its_value_is() {
        let svg = chart(vec![Mark::Points(vec![(5.0, 1.0)])], 1);
        // The middle of both axes; three entries of the legend fit side by side in no line of 288.
        let y = 8.0 + 24.0 * 9.0 + TOP + 75.0;
        assert!(svg.contains(&format!(r#"<circle cx="172" cy="{y}""#)), "{svg}");
    }

    #[test]
    fn panels_fill_rows_and_the_legend_wraps() {
        let svg = chart(Vec::new(), 4);
        let size = (3.0 * (LEFT + 200.0 + RIGHT), 2.0 * (TOP + 150.0 + BOTTOM));
        assert!(svg.contains(&format!(r#"width="{}""#, size.0)));
        let height: f64 =
            svg.split("height=\"").nth(1).and_then(|s| s.split('"').next()?.parse().ok()).expect("a height");
        assert!(height > size.1 + 24.0 && height < size.1 + 110.0, "{height}");
    }

    #[test]
    fn names_of_lines_are_not_written_over_each_other() {
        let end =
            |y: f64, label: &str| Mark::End { at: (5.0, y), label: label.into(), colour: "#000".into() };
        let svg = chart(vec![end(1.0, "lower"), end(1.01, "upper"), end(8.0, "far")], 1);
        let place = |label: &str| -> f64 {
            let line = svg.lines().find(|l| l.contains(&format!(">{label}<"))).expect("drawn");
            line.split("y=\"").nth(1).and_then(|s| s.split('"').next()?.parse().ok()).expect("a place")
        };
        assert!(place("lower") - place("upper") >= FONT, "{svg}");
        assert!(place("upper") - place("far") > 30.0, "{svg}");
    }

    #[test]
    fn strange_values_stay_inside() {
        let points = vec![(0.0, f64::NAN, 1.0), (20.0, 1e9, f64::INFINITY), (3.0, -1.0, 0.5)];
        let svg = chart(vec![Mark::Line { points, style: style() }], 1);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
