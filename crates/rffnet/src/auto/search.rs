//! The columns that matter: relevances, by L-BFGS on a sample of the rows.

use super::Fitter;
use super::agop::length;
use super::head::Solved;
use crate::features::{Network, ScaledFeatures, Weights};
use crate::problem::root_mean_square;
use crate::solver::monitor::Monitor;
use crate::solver::varpro::Optimum;

impl Fitter<'_> {
    /// The relevances, with random frequencies.
    pub(crate) fn relevances(&self, monitor: &mut Monitor<'_>) -> Optimum {
        monitor.stage("relevances", self.sizes.stage(self.sizes.searched));
        let start = self.start(monitor);
        self.optimise(start, self.alpha(), false, monitor)
    }

    /// The penalty while relevances are found.
    pub(super) fn alpha(&self) -> f64 {
        self.training.common.fixed_alpha.unwrap_or(self.sizes.constants.alpha)
    }

    /// Relevances of length one, in proportion to the slopes of the fit with those before: columns that act only through
    /// interactions rise out of the noise.
    fn start(&self, monitor: &mut Monitor<'_>) -> ScaledFeatures {
        let p = self.training.problem;
        let map = self.draw(self.sizes.searched, &self.training.support(), &mut self.frequencies());
        let even = 1.0 / (map.support.len() as f32).sqrt();
        let mut features = ScaledFeatures { theta: vec![even; map.support.len()], map };
        for _ in 0..self.sizes.constants.reweightings as usize {
            if monitor.stopped() {
                break;
            }
            let solved = self.solve(features.clone(), self.alpha(), None, monitor);
            let map = &features.map;
            let without_linear = Weights { linear: Vec::new(), ..solved.weights };
            let network = [Network::new(map, &without_linear)];
            let slopes = p.backend.squared_slopes(p.columns, &network, &self.split.train, &|i| p.weight(i));
            let mut theta: Vec<f32> = map.support.iter().map(|&j| slopes[j].sqrt() as f32).collect();
            p.tie(&map.support, &mut theta, root_mean_square);
            let factor = length(&theta).recip();
            if !(factor > 0.0 && factor.is_finite()) {
                break;
            }
            features.theta = theta.iter().map(|t| t * factor).collect();
        }
        features
    }

    /// Without the columns of small relevance, unless all columns are better.
    pub(super) fn without_idle_columns(&self, all: Optimum, monitor: &mut Monitor<'_>) -> Optimum {
        let largest = all.features.theta.iter().fold(0.0, |m: f32, t| m.max(t.abs()));
        let stays = |theta: f32| theta.abs() >= self.sizes.constants.drop_below as f32 * largest;
        let idle = all.features.theta.iter().any(|&theta| !stays(theta));
        if !idle || largest == 0.0 || !self.validates() || monitor.stopped() {
            return all;
        }
        let mut solve = |features| self.solve(features, all.alpha, None, monitor);
        let fewer = solve(all.features.keep(|_, theta| stays(theta)));
        if self.better(&self.losses(&solve(all.features.clone())), &self.losses(&fewer)) {
            return all;
        }
        Optimum { features: fewer.features, loss: fewer.loss, ..all }
    }

    /// Whether what was found explains nearly all of the target, so that an ensemble has little to add.
    pub(super) fn explains_all(&self, fit: &Solved) -> bool {
        let share = fit.loss / self.baseline(&fit.features.map);
        self.sizes.may_be_single && self.validates() && share < self.sizes.constants.single_below
    }
}
