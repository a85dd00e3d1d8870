//! Where the first network's search for relevances begins.

use crate::features::{FeatureMap, Weights, mean_squared_slopes};
use crate::init;
use crate::solver::budget::Watch;
use crate::solver::reduced::{HeadPlan, Reduced};
use crate::solver::varpro::{Frame, Settled, Stage, settle};

use super::{BLIND_ALPHA, Trial};

/// The penalty that starts are compared at.
const START_ALPHA: f64 = 1e-3;

/// Steps from each start before they are compared.
const START_STEPS: usize = 6;

/// Rounds of re-weighting by slopes.
const REWEIGHTINGS: usize = 3;

impl Trial<'_> {
    /// A few steps from each start; the one with the smallest validation loss.
    pub(super) fn best_start(&self, watch: &mut Watch<'_>) -> Settled {
        let (map, _) = self.first_draw();
        let d = map.support.len() as f32;
        let range: Vec<f32> = map.support.iter().map(|&j| self.setting.range[j]).collect();
        let even = |scale: f32| vec![scale / d.sqrt(); map.support.len()];
        let mut starts = vec![even(1.0), even(3.0), init::constant(&range, map.columns())];
        starts.push(self.reweighted(&map, even(1.5)));
        let alphas = [if self.holds_out() { START_ALPHA } else { BLIND_ALPHA }];
        let stage = Stage {
            alphas: &alphas,
            steps: START_STEPS.min(self.recipe.steps),
            spectrum: false,
            linear: self.linear,
        };
        let mut best: Option<Settled> = None;
        for theta in starts {
            let frame = Frame { map: map.clone(), theta };
            let settled = settle(self.setting.problem, &self.search, frame, &stage, watch);
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
    fn reweighted(&self, map: &FeatureMap, start: Vec<f32>) -> Vec<f32> {
        let (p, rows) = (self.setting.problem, &self.search.train);
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
