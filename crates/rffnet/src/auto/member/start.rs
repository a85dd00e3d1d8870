//! Where the first member's search for relevances begins.

use crate::features::{FeatureMap, Network, ScaledFeatures, Weights};
use crate::init;
use crate::problem::root_mean_square;
use crate::solver::monitor::Monitor;
use crate::solver::reduced::{HeadSettings, Reduced};
use crate::solver::varpro::Optimum;
use crate::validation::Split;

use super::{DEFAULT_ALPHA, MemberFit, Source};

/// The penalty that starts are compared at.
const START_ALPHA: f64 = 1e-3;

/// Steps from each start before they are compared.
const START_STEPS: usize = 6;

/// Rounds of re-weighting by slopes.
const REWEIGHTINGS: usize = 3;

/// A pilot run on a subsample is made where the search has at least so many times more rows.
const PILOT_RATIO: usize = 2;

impl MemberFit<'_> {
    /// What the first member's features are drawn from: the AGOP metric, where its validation loss in a pilot run is far
    /// below that of the relevances; else the relevances.
    pub(crate) fn source(&self, monitor: &mut Monitor<'_>) -> Source {
        self.pilot(monitor).unwrap_or_else(|| Source::new(self.relevances(monitor)))
    }

    /// The relevances, with random frequencies.
    pub(crate) fn relevances(&self, monitor: &mut Monitor<'_>) -> Optimum {
        self.relevances_on(&self.search, monitor)
    }

    fn relevances_on(&self, split: &Split, monitor: &mut Monitor<'_>) -> Optimum {
        let start = self.best_start(split, monitor);
        self.optimise(split, start.features, self.stage(&self.alphas, self.recipe.steps, false), monitor)
    }

    /// The AGOP metric of a subsample, if its loss is far below that of relevances optimised on the same rows; these, if the
    /// fit has to end.
    fn pilot(&self, monitor: &mut Monitor<'_>) -> Option<Source> {
        let few = self.search.with_fewer(self.recipe.pilot_rows);
        let saves_work = PILOT_RATIO * few.train.len() <= self.search.train.len();
        let applies = self.recipe.learned > 0 && self.agop_applies(self.training.support().len());
        if !saves_work || !applies || monitor.stopped() {
            return None;
        }
        let mut diagonal = Source::new(self.relevances_on(&few, monitor));
        let (_, mut rng) = self.first_draw();
        let agop = self.agop_source(&mut diagonal, &few, &mut rng, monitor).filter(|a| a.decides(&diagonal));
        // From here on losses are of heads on all rows of the search.
        match agop {
            Some(agop) => Some(self.at_best_penalty(agop)),
            None if monitor.stopped() => Some(self.at_best_penalty(diagonal)),
            None => None,
        }
    }

    /// A few steps from each start; the one with the smallest validation loss.
    fn best_start(&self, split: &Split, monitor: &mut Monitor<'_>) -> Optimum {
        let (map, _) = self.first_draw();
        let d = map.support.len() as f32;
        let range: Vec<f32> = map.support.iter().map(|&j| self.training.range[j]).collect();
        let even = |scale: f32| vec![scale / d.sqrt(); map.support.len()];
        let mut starts = vec![even(1.0), even(3.0), init::constant(&range, map.columns())];
        starts.push(self.reweighted(&map, even(1.5), &split.train));
        let alphas = [if self.validates() { START_ALPHA } else { DEFAULT_ALPHA }];
        let steps = START_STEPS.min(self.recipe.steps);
        let mut best: Option<Optimum> = None;
        for theta in starts {
            let features = ScaledFeatures { map: map.clone(), theta };
            let optimum = self.optimise(split, features, self.stage(&alphas, steps, false), monitor);
            if best.as_ref().is_none_or(|b| optimum.loss < b.loss) {
                best = Some(optimum);
            }
            if monitor.stopped() {
                break;
            }
        }
        best.expect("there are starts")
    }

    /// Relevances in proportion to the slopes of the fit with the relevances before, of unchanged length: columns that
    /// act only through interactions rise out of the noise.
    fn reweighted(&self, map: &FeatureMap, start: Vec<f32>, rows: &[usize]) -> Vec<f32> {
        let p = self.training.problem;
        let length = |theta: &[f32]| theta.iter().map(|t| t * t).sum::<f32>().sqrt();
        let wanted = length(&start);
        let mut theta = start;
        for _ in 0..REWEIGHTINGS {
            let head = HeadSettings { alpha: START_ALPHA, linear: self.linear };
            let features = ScaledFeatures { map: map.clone(), theta: theta.clone() };
            let (weights, _) = Reduced::new(p, rows, head).head(&features);
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
}
