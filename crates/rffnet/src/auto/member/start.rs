//! Where the first network's search for relevances begins.

use crate::features::{FeatureMap, Weights, mean_squared_slopes};
use crate::init;
use crate::solver::descent::Split;
use crate::solver::monitor::Watch;
use crate::solver::reduced::{HeadPlan, Reduced};
use crate::solver::varpro::{Frame, Settled};

use super::{BLIND_ALPHA, Source, Trial};

/// The penalty that starts are compared at.
const START_ALPHA: f64 = 1e-3;

/// Steps from each start before they are compared.
const START_STEPS: usize = 6;

/// Rounds of re-weighting by slopes.
const REWEIGHTINGS: usize = 3;

/// A first look at few rows is worth while where there are so many times more.
const FEW: usize = 2;

impl Trial<'_> {
    /// What the first network's features are drawn from: turned, where a look at few rows shows that relevances alone are
    /// far from what turning reaches; else along the axes.
    pub(crate) fn source(&self, watch: &mut Watch<'_>) -> Source {
        self.turned_early(watch).unwrap_or_else(|| Source::new(self.relevances(watch)))
    }

    /// The relevances alone, with frequencies as drawn.
    pub(crate) fn relevances(&self, watch: &mut Watch<'_>) -> Settled {
        self.relevances_on(&self.search, watch)
    }

    fn relevances_on(&self, split: &Split, watch: &mut Watch<'_>) -> Settled {
        let start = self.best_start(split, watch);
        self.settle(split, start.frame, &self.alphas, self.recipe.steps, false, watch)
    }

    /// Turned on few rows, if that leaves far less to explain than relevances that have settled on the same rows; these, if
    /// the fit has to end.
    fn turned_early(&self, watch: &mut Watch<'_>) -> Option<Source> {
        let few = self.search.with_fewer(self.recipe.few_rows);
        let saves_work = FEW * few.train.len() <= self.search.train.len();
        let may_turn = self.recipe.learned > 0 && self.may_turn(self.setting.support().len());
        if !saves_work || !may_turn || watch.stopped() {
            return None;
        }
        let mut axes = Source::new(self.relevances_on(&few, watch));
        let (_, mut rng) = self.first_draw();
        let turned = self.turned_source(&mut axes, &few, &mut rng, watch).filter(|t| t.settles_it(&axes));
        // From here on losses are of heads on all rows of the search.
        match turned {
            Some(turned) => Some(self.at_best_penalty(turned)),
            None if watch.stopped() => Some(self.at_best_penalty(axes)),
            None => None,
        }
    }

    /// A few steps from each start; the one with the smallest validation loss.
    fn best_start(&self, split: &Split, watch: &mut Watch<'_>) -> Settled {
        let (map, _) = self.first_draw();
        let d = map.support.len() as f32;
        let range: Vec<f32> = map.support.iter().map(|&j| self.setting.range[j]).collect();
        let even = |scale: f32| vec![scale / d.sqrt(); map.support.len()];
        let mut starts = vec![even(1.0), even(3.0), init::constant(&range, map.columns())];
        starts.push(self.reweighted(&map, even(1.5), &split.train));
        let alphas = [if self.holds_out() { START_ALPHA } else { BLIND_ALPHA }];
        let steps = START_STEPS.min(self.recipe.steps);
        let mut best: Option<Settled> = None;
        for theta in starts {
            let frame = Frame { map: map.clone(), theta };
            let settled = self.settle(split, frame, &alphas, steps, false, watch);
            if best.as_ref().is_none_or(|b| settled.loss < b.loss) {
                best = Some(settled);
            }
            if watch.stopped() {
                break;
            }
        }
        best.expect("there are starts")
    }

    /// Relevances in proportion to the slopes of the fit with the relevances before, of unchanged length: columns that
    /// act only through interactions rise out of the noise.
    fn reweighted(&self, map: &FeatureMap, start: Vec<f32>, rows: &[usize]) -> Vec<f32> {
        let p = self.setting.problem;
        let length = |theta: &[f32]| theta.iter().map(|t| t * t).sum::<f32>().sqrt();
        let wanted = length(&start);
        let mut theta = start;
        for _ in 0..REWEIGHTINGS {
            let head = HeadPlan { alpha: START_ALPHA, linear: self.linear };
            let (weights, _) = Reduced::new(p, rows, head).head(map, &theta);
            let without_linear = Weights { linear: Vec::new(), ..weights };
            let network = [(map, &without_linear)];
            let slopes = mean_squared_slopes(p.x, &p.scale, &network, rows, |i| p.weight(i));
            let next: Vec<f32> = map.support.iter().map(|&j| slopes[j].sqrt() as f32).collect();
            let size = length(&next);
            if !(size > 0.0 && size.is_finite()) {
                break;
            }
            theta = next.iter().map(|t| t * wanted / size).collect();
        }
        theta
    }
}
