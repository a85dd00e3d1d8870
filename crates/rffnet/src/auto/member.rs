//! A member of the ensemble: learned frequencies, random ones beside them, and their head.

use super::Fitter;
use super::agop::Metric;
use super::head::Solved;
use super::sizes::Sizes;
use crate::features::{FeatureMap, ScaledFeatures};
use crate::numerics::random::Stream;
use crate::problem;
use crate::solver::monitor::Monitor;

/// A member and what it needs to grow.
pub(super) struct Member<'a> {
    pub(super) fitter: Fitter<'a>,
    pub(super) metric: Metric,
    support: Vec<usize>,
    /// Learned and random features.
    parts: Vec<ScaledFeatures>,
    /// Features whose frequencies were learned.
    pub(super) learned: usize,
    /// The penalty that a head begins with.
    alpha: f64,
    rng: Stream,
}

impl<'a> Member<'a> {
    /// Relevances, the AGOP metric, and frequencies, learned and random. `None` for a member that is not needed.
    pub(super) fn learn(fitter: Fitter<'a>, monitor: &mut Monitor<'_>) -> Option<Self> {
        let needed = |monitor: &Monitor<'_>| fitter.number == 0 || !monitor.stopped();
        if !needed(monitor) {
            return None;
        }
        let Sizes { mut learned, mut random, finest, .. } = *fitter.sizes;
        let found = fitter.relevances(monitor);
        let found = fitter.without_idle_columns(found, monitor);
        let (metric, fit) = fitter.metric(&found, monitor);
        if fitter.number == 0 && fitter.explains_all(&fit) {
            monitor.shared.one_is_enough();
        }
        let mut alpha = fit.alpha;
        let support = found.features.map.support.to_vec();
        let mut rng = fitter.frequencies();
        let mut parts = Vec::new();
        if learned > 0 && !monitor.stopped() {
            monitor.stage("learned frequencies", fitter.sizes.stage(learned));
            let drawn = fitter.draw(learned, &support, &mut rng);
            let start = metric.apply(drawn).over_scales(finest);
            let optimum = fitter.optimise(start, alpha, true, monitor);
            alpha = optimum.alpha;
            parts.push(optimum.features);
        } else {
            (learned, random) = (0, learned + random);
        }
        if random > 0 {
            parts.push(metric.apply(fitter.draw(random, &support, &mut rng)));
        }
        monitor.stage("head", fitter.sizes.heads(learned + random));
        needed(monitor).then_some(Self { fitter, metric, support, parts, learned, alpha, rng })
    }

    /// The head on the training rows.
    pub(super) fn solve(&self, monitor: &mut Monitor<'_>) -> Solved {
        let Self { fitter, parts, alpha, .. } = self;
        fitter.solve(fitter.join(parts), *alpha, fitter.range(), monitor)
    }

    /// So many random features more, down to finer length scales.
    pub(super) fn grow(&mut self, more: usize) {
        let finer = self.fitter.draw(more, &self.support, &mut self.rng);
        self.parts.push(self.metric.apply(finer).over_scales(self.fitter.sizes.finest));
    }
}

impl Fitter<'_> {
    /// Features in one. Relevances carry the size of the frequencies: those of a column have the root mean square that
    /// independent ones have.
    fn join(&self, parts: &[ScaledFeatures]) -> ScaledFeatures {
        let first = &parts[0].map;
        let (columns, support) = (first.support.len(), &first.support);
        let s: usize = parts.iter().map(|p| p.map.features()).sum();
        let drawn = self.draw(s, support, &mut self.frequencies());
        let (mut theta, mut omega) = (vec![0.0; columns], Vec::with_capacity(columns * s));
        for a in 0..columns {
            for part in parts {
                omega.extend(part.frequencies(a).iter().map(|w| w * part.theta[a]));
            }
            let independent = root_mean_square(&drawn.omega[a * s..(a + 1) * s]);
            theta[a] = (root_mean_square(&omega[a * s..]) / independent.max(1e-30)) as f32;
        }
        self.training.problem.tie(support, &mut theta, problem::root_mean_square);
        for (row, &theta) in omega.chunks_exact_mut(s).zip(&theta).filter(|(_, theta)| **theta > 0.0) {
            row.iter_mut().for_each(|o| *o /= theta);
        }
        let phase = parts.iter().flat_map(|p| p.map.phase.iter()).copied().collect();
        ScaledFeatures { map: FeatureMap::on(first.columns(), support.to_vec(), omega, phase), theta }
    }
}

fn root_mean_square(values: &[f32]) -> f64 {
    (values.iter().map(|&v| (v as f64).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}
