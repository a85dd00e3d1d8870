//! What the members' frequencies are drawn from: the columns that matter and their metric, found on a sample of the rows.

use super::Fitter;
use super::agop::Metric;
use super::fitter::DEFAULT_ALPHA;
use super::sizes::Sizes;
use crate::features::{FeatureMap, Network, ScaledFeatures, Weights};
use crate::problem::root_mean_square;
use crate::solver::monitor::Monitor;
use crate::solver::varpro::Optimum;
use crate::training::Training;
use crate::transform::candidates::Candidate;

/// The penalty that starts are compared at.
const START_ALPHA: f64 = 1e-3;

/// Rounds of re-weighting by slopes.
const REWEIGHTINGS: usize = 3;

/// The columns that matter, their metric, and the penalty that suits it.
pub(super) struct Search {
    pub(super) support: Vec<usize>,
    pub(super) metric: Metric,
    pub(super) alpha: f64,
    single: bool,
}

/// The candidate of transforms to go on with: the most robust to outlying rows, unless one that changes less is better.
pub(super) fn best_transforms(
    training: Training<'_>,
    sizes: &Sizes,
    candidates: &[Candidate],
    monitor: &mut Monitor<'_>,
) -> usize {
    let mut best: Option<(usize, Vec<f64>)> = None;
    for (at, candidate) in candidates.iter().enumerate().rev() {
        if candidates.len() == 1 || best.is_some() && monitor.overdue() {
            return best.map_or(0, |b| b.0);
        }
        best = candidate.with(training, sizes, |training| {
            let fitter = Fitter::new(training, sizes, 0).on_sample();
            let Optimum { features, alpha, .. } = fitter.best_start(monitor);
            let losses = fitter.losses(&fitter.solve(features, alpha, None, monitor));
            match best.take() {
                Some(simpler) if !fitter.better(&losses, &simpler.1) => Some(simpler),
                _ => Some((at, losses)),
            }
        });
    }
    best.map_or(0, |b| b.0)
}

impl Search {
    pub(super) fn run(fitter: &Fitter<'_>, monitor: &mut Monitor<'_>) -> Self {
        monitor.stage("relevances", fitter.sizes.search());
        let relevances = fitter.relevances(monitor);
        let mut found = fitter.without_idle_columns(relevances, monitor);
        let mut metric = Metric::Diagonal(found.features.theta.clone());
        if fitter.sizes.learned > 0 && !monitor.overdue() {
            monitor.stage("AGOP metric", 0.0);
            let mut rng = fitter.frequencies();
            let drawn = fitter.draw(found.features.map.features(), &found.features.map.support, &mut rng);
            if let Some((full, solved)) = fitter.agop(&found, &drawn, monitor) {
                // With other frequencies than those it was found with.
                let drawn = fitter.draw(drawn.features(), &drawn.support, &mut rng);
                let mut redrawn = |metric: &Metric, alpha| {
                    fitter.solve(metric.apply(drawn.clone()), alpha, fitter.range, monitor)
                };
                let (before, after) = (redrawn(&metric, found.alpha), redrawn(&full, solved.alpha));
                if fitter.better(&fitter.losses(&after), &fitter.losses(&before)) {
                    (found.alpha, found.loss, metric) = (after.alpha, after.loss, full);
                }
            }
        }
        let Sizes { may_be_single, ref constants, .. } = *fitter.sizes;
        let single =
            may_be_single && fitter.validates() && fitter.unexplained(&found) < constants.single_below;
        Self { support: found.features.map.support.to_vec(), metric, alpha: found.alpha, single }
    }

    /// Whether what was found explains nearly all of the target, so that an ensemble has little to add.
    pub(super) fn explains_all(&self) -> bool {
        self.single
    }

    /// Gives independent frequencies the metric, at its own length scale and down to finer ones.
    pub(super) fn frequencies(&self, drawn: FeatureMap, finest: f32) -> ScaledFeatures {
        self.metric.apply(drawn).over_scales(finest)
    }
}

impl Fitter<'_> {
    /// Learning from a sample of the rows.
    pub(crate) fn on_sample(self) -> Self {
        Self { split: self.split.with_fewer(self.sizes.search_rows), ..self }
    }

    /// The relevances, with random frequencies.
    pub(crate) fn relevances(&self, monitor: &mut Monitor<'_>) -> Optimum {
        let start = self.best_start(monitor).features;
        self.optimise(self.split.train.len(), start, (&self.alphas, self.sizes.search_steps, false), monitor)
    }

    /// A few steps from each start; the one with the smallest validation loss.
    fn best_start(&self, monitor: &mut Monitor<'_>) -> Optimum {
        let all = self.training.support();
        let map = self.draw(self.sizes.search_features, &all, &mut self.frequencies());
        let d = map.support.len() as f32;
        let even = |scale: f32| vec![scale / d.sqrt(); map.support.len()];
        let starts = [even(1.0), self.reweighted(&map, even(1.5), monitor)];
        let alphas = [if self.validates() { START_ALPHA } else { DEFAULT_ALPHA }];
        let steps = self.sizes.search_steps.min(self.sizes.constants.start_steps as usize);
        let mut best: Option<Optimum> = None;
        for theta in starts {
            let features = ScaledFeatures { map: map.clone(), theta };
            let optimum = self.optimise(self.split.train.len(), features, (&alphas, steps, false), monitor);
            if best.as_ref().is_none_or(|b| optimum.loss < b.loss) {
                best = Some(optimum);
            }
            if monitor.overdue() {
                break;
            }
        }
        best.expect("there are starts")
    }

    /// Relevances in proportion to the slopes of the fit with the relevances before, of unchanged length: columns that
    /// act only through interactions rise out of the noise.
    fn reweighted(&self, map: &FeatureMap, start: Vec<f32>, monitor: &mut Monitor<'_>) -> Vec<f32> {
        let (p, rows) = (self.training.problem, &self.split.train);
        let length = |theta: &[f32]| theta.iter().map(|t| t * t).sum::<f32>().sqrt();
        let wanted = length(&start);
        let mut theta = start;
        for _ in 0..REWEIGHTINGS {
            if monitor.overdue() {
                break;
            }
            let features = ScaledFeatures { map: map.clone(), theta: theta.clone() };
            let weights = self.solve(features, START_ALPHA, None, monitor).weights;
            let without_linear = Weights { linear: Vec::new(), ..weights };
            let network = [Network::new(map, &without_linear)];
            let slopes = p.backend.squared_slopes(p.columns, &network, rows, &|i| p.weight(i));
            let mut next: Vec<f32> = map.support.iter().map(|&j| slopes[j].sqrt() as f32).collect();
            p.tie(&map.support, &mut next, root_mean_square);
            let size = length(&next);
            if !(size > 0.0 && size.is_finite()) {
                break;
            }
            theta = next.iter().map(|t| t * wanted / size).collect();
        }
        theta
    }

    /// Without the columns of small relevance, unless all columns are better.
    fn without_idle_columns(&self, all: Optimum, monitor: &mut Monitor<'_>) -> Optimum {
        let largest = all.features.theta.iter().fold(0.0, |m: f32, t| m.max(t.abs()));
        let stays = |theta: f32| theta.abs() >= self.sizes.constants.drop_below as f32 * largest;
        let idle = all.features.theta.iter().any(|&theta| !stays(theta));
        if !idle || largest == 0.0 || !self.validates() || monitor.overdue() {
            return all;
        }
        let mut solve = |features| self.solve(features, all.alpha, None, monitor);
        let fewer = solve(all.features.keep(|_, theta| stays(theta)));
        if self.better(&self.losses(&solve(all.features.clone())), &self.losses(&fewer)) {
            return all;
        }
        Optimum { features: fewer.features, loss: fewer.loss, ..all }
    }

    /// The share of the constant's validation loss that is left.
    fn unexplained(&self, found: &Optimum) -> f64 {
        let (map, judged_on) = (&found.features.map, self.split.judged_on());
        let constant = self.training.constant_weights(map);
        found.loss / self.training.problem.mean_loss(Network::new(map, &constant), judged_on)
    }
}
