//! The columns that matter: relevances, by L-BFGS on a sample of the rows.

use super::Fitter;
use super::agop::length;
use crate::features::{Network, ScaledFeatures, Weights};
use crate::problem::root_mean_square;
use crate::solver::monitor::Monitor;

impl Fitter<'_> {
    /// The relevances, with random frequencies.
    pub(crate) fn relevances(&self, monitor: &mut Monitor<'_>) -> ScaledFeatures {
        monitor.stage("relevances", self.sizes.stage(self.sizes.searched));
        let start = self.start(monitor);
        self.optimise(start, self.alpha(), false, monitor)
    }

    /// The penalty while relevances are found.
    pub(crate) fn alpha(&self) -> f64 {
        self.training.common.fixed_alpha.unwrap_or(self.sizes.constants.alpha)
    }

    /// Relevances of length one, in proportion to the slopes of the fit with those before: columns that act only through
    /// interactions rise out of the noise.
    pub(super) fn start(&self, monitor: &mut Monitor<'_>) -> ScaledFeatures {
        let p = self.training.problem;
        let map = self.draw(self.sizes.searched, &self.support(), 0);
        let even = 1.0 / (map.support.len() as f32).sqrt();
        let mut features = ScaledFeatures { theta: vec![even; map.support.len()], map };
        for _ in 0..self.sizes.constants.reweightings as usize {
            if monitor.stopped() {
                break;
            }
            let solved = self.solve(features.clone(), None, monitor);
            let map = &features.map;
            let without_linear = Weights { linear: Vec::new(), ..solved.weights };
            let slopes = self.squared_slopes(Network::new(map, &without_linear));
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

    /// The mean squared slope along each column.
    pub(super) fn squared_slopes(&self, network: Network<'_>) -> Vec<f64> {
        let p = self.training.problem;
        p.backend.squared_slopes(p.columns, &[network], &self.split.train, &|i| p.weight(i))
    }

    /// Without the columns of small relevance, which keep their linear terms, unless all columns are better.
    pub(super) fn without_idle_columns(
        &self,
        all: ScaledFeatures,
        monitor: &mut Monitor<'_>,
    ) -> ScaledFeatures {
        let largest = all.theta.iter().fold(0.0, |m: f32, t| m.max(t.abs()));
        let least = self.sizes.constants.drop_below.min(1.0) as f32 * largest;
        let fewer = all.keep(|_, theta| theta.abs() >= least);
        let mut losses = |features: &ScaledFeatures| self.solve(features.clone(), None, monitor).losses();
        let idle = fewer.theta.len() < all.theta.len();
        if idle && self.better(&losses(&all), &losses(&fewer)) { all } else { fewer }
    }
}
