//! The loss over two relevances (appendix "A toy model"): how n and the true relevances shape it.
//!
//! The target is f*(x) = a k(x1, x) with relevances θ* on both columns; for each θ the head is a z(θ o x1), which is right
//! where θ = ±θ*. What is drawn is the mean squared difference of the two functions over n rows.

use rand_distr::{Distribution, StandardNormal, Uniform};
use rayon::prelude::*;
use rffnet::numerics::random::seeded;
use rffnet::text::count;

use crate::axis::Axis;
use crate::bench::Bench;
use crate::chart::{Chart, Mark, Panel};
use crate::grid::Grid;
use crate::page::{Page, Part};
use crate::{Error, Experiment};

/// Relevances run from minus this to this.
const REACH: f64 = 10.0;
const GRID: usize = 50;
/// Shades cover these powers of ten.
const SHADES: (f64, f64) = (-3.0, 0.0);

/// Rows, random features, the true relevance of both columns.
const PANELS: [(usize, usize, f64); 4] =
    [(500, 300, 2.0), (500, 300, 7.0), (50, 200, 2.0), (1_000, 200, 2.0)];

/// The random parts of a panel.
struct World {
    /// The kernel's centre and its coefficient.
    centre: [f64; 2],
    scale: f64,
    rows: Vec<[f64; 2]>,
    omega: Vec<[f64; 2]>,
    phase: Vec<f64>,
    truth: f64,
}

impl World {
    fn new(rows: usize, features: usize, truth: f64, seed: u64) -> Result<Self, Error> {
        let mut rng = seeded(seed);
        let mut pair = |_| -> [f64; 2] { [StandardNormal.sample(&mut rng), StandardNormal.sample(&mut rng)] };
        let centre = pair(0);
        let rows = (0..rows).map(&mut pair).collect();
        let omega = (0..features).map(&mut pair).collect();
        // The coefficient only scales the loss; a small one would hide it below the shades.
        let scale = 1.0;
        let turn = Uniform::new(0.0, std::f64::consts::TAU).map_err(|e| Error::new(e.to_string()))?;
        let phase = (0..features).map(|_| turn.sample(&mut rng)).collect();
        Ok(Self { centre, scale, rows, omega, phase, truth })
    }

    /// The target at a row.
    fn target(&self, x: &[f64; 2]) -> f64 {
        let d2: f64 = (0..2).map(|j| (self.truth * (x[j] - self.centre[j])).powi(2)).sum();
        self.scale * (-0.5 * d2).exp()
    }

    fn cosines<'a>(&'a self, theta: [f64; 2], x: &[f64; 2]) -> impl Iterator<Item = f64> + use<'a> {
        let x = [theta[0] * x[0], theta[1] * x[1]];
        self.omega.iter().zip(&self.phase).map(move |(w, b)| (w[0] * x[0] + w[1] * x[1] + b).cos())
    }

    /// The approximation with the head that belongs to `theta`, at a row: a z(θ o x1) . z(θ o x).
    fn approximation(&self, theta: [f64; 2], head: &[f64], x: &[f64; 2]) -> f64 {
        self.cosines(theta, x).zip(head).map(|(z, h)| h * z).sum()
    }

    /// The mean squared difference.
    fn loss(&self, theta: [f64; 2]) -> f64 {
        let factor = self.scale * 2.0 / self.omega.len() as f64;
        let head: Vec<f64> = self.cosines(theta, &self.centre).map(|z| factor * z).collect();
        let squares =
            self.rows.iter().map(|x| (self.target(x) - self.approximation(theta, &head, x)).powi(2));
        squares.sum::<f64>() / self.rows.len() as f64
    }
}

/// The middle of cell `i`.
fn value(i: usize, cells: usize) -> f64 {
    REACH * (2.0 * (i as f64 + 0.5) / cells as f64 - 1.0)
}

/// The figure.
pub(crate) fn page(bench: &Bench<'_>) -> Result<Page, Error> {
    let cells = if bench.request.quick { GRID / 2 } else { GRID };
    let mut raw = Grid::new(["rows", "features", "true_relevance", "theta1", "theta2", "mse"]);
    let mut panels = Vec::new();
    for (i, (rows, features, truth)) in PANELS.into_iter().enumerate() {
        let world = World::new(rows, features, truth, bench.request.seed)?;
        let loss = |k: usize| world.loss([value(k % cells, cells), value(k / cells, cells)]);
        let losses: Vec<f64> = (0..cells * cells).into_par_iter().map(loss).collect();
        for (k, loss) in losses.iter().enumerate() {
            let theta = [value(k % cells, cells), value(k / cells, cells)].map(|t| format!("{t:.2}"));
            let place = [rows.to_string(), features.to_string(), truth.to_string()];
            raw.push(place.into_iter().chain(theta).chain([format!("{loss:.3e}")]));
        }
        let values = losses.iter().map(|l| l.max(1e-12).log10()).collect();
        let corners = [(truth, truth), (truth, -truth), (-truth, truth), (-truth, -truth)];
        panels.push(Panel {
            title: format!("n = {}, s = {features}, θ* = ({truth}, {truth})", count(rows)),
            x: Axis::linear("θ₁", -REACH, REACH),
            y: Axis::linear("θ₂", -REACH, REACH),
            marks: vec![
                Mark::Heat { values, columns: cells, low: SHADES.0, high: SHADES.1 },
                Mark::Points(corners.to_vec()),
            ],
        });
        (bench.tell)(&format!("  panel {} of {}: done", i + 1, PANELS.len()));
    }
    let shades = Some(("log10 of the mean squared error".into(), SHADES.0, SHADES.1));
    let chart = Chart { shades, ..Chart::new(Experiment::Landscape.title(), 2, (330.0, 330.0), panels) };
    let text = format!(
        "The loss of the appendix's toy model on a grid of {cells} x {cells} relevances. Dots mark the relevances of the \
         target, ±θ*. Above: a larger θ* makes the wells narrow and the rest flat. Below: more rows smooth the ripples. The \
         target's coefficient is 1 here; the paper draws it, which only shifts the shades."
    );
    let parts = vec![Part::Text(text), Part::drawing("Loss over two relevances.", &chart)];
    Ok(Page { experiment: Experiment::Landscape, parts, notes: Vec::new(), raw })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_wells_are_where_the_true_relevances_are() {
        let world = World::new(300, 2_000, 2.0, 0).unwrap();
        let (well, even, far) = (world.loss([2.0, 2.0]), world.loss([2.0, -2.0]), world.loss([0.2, 0.2]));
        // What is left in a well is the error of 2,000 random features.
        assert!(well < 5e-3 && even < 5e-3 && far > 0.1, "{well} {even} {far}");
    }
}
