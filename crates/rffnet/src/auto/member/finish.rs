//! Learned and random features together, and their head.

use crate::features::{FeatureMap, ScaledFeatures};
use crate::numerics::random::Stream;
use crate::problem;
use crate::solver::monitor::Monitor;
use crate::solver::reduced::HeadSettings;

use super::MemberFit;
use super::head::{Chosen, choose};
use super::learn::{FINEST, Learning, Source};

/// A head and its features.
pub(super) struct Finished {
    pub(super) learning: Learning,
    pub(super) features: ScaledFeatures,
    pub(super) found: Chosen,
    /// The share of the constant's loss that is unexplained.
    pub(super) unexplained: f64,
    /// How much finer than the metric's length scale the random features become.
    pub(super) random_finest: f32,
}

impl MemberFit<'_> {
    /// Random features have one length scale or several: the first member tries both, the others do as it did. Once the fit
    /// is stopped, no more features are drawn.
    pub(super) fn finish(
        &self,
        learning: Learning,
        random: usize,
        guided: Option<f32>,
        rng: &Stream,
        monitor: &Monitor<'_>,
    ) -> Finished {
        let Learning { source, learned, .. } = &learning;
        let optimum = &source.optimum;
        let alpha = learned.as_ref().map_or(optimum.alpha, |l| l.alpha);
        let head = HeadSettings { alpha, linear: self.linear };
        let range = self.range.filter(|_| !monitor.stopped());
        let without = monitor.stopped() || random == 0;
        let with = |finest: f32| {
            let drawn = (!without).then(|| {
                let source = Source { finest, ..source.clone() };
                self.draw_from(&source, random, &mut rng.clone())
            });
            let kept = (learned.is_none() && without).then_some(&optimum.features);
            let features =
                self.join(&optimum.features, learned.as_ref().map(|l| &l.features), drawn.as_ref().or(kept));
            let found = choose(self.training.problem, &self.split, &features, head, range);
            (features, found, finest)
        };
        let mut best = with(guided.unwrap_or(source.finest));
        if !without && guided.is_none() {
            let other = with(if source.finest == 1.0 { FINEST } else { 1.0 });
            if other.1.loss < best.1.loss {
                best = other;
            }
        }
        let (features, found, random_finest) = best;
        let unexplained = self.unexplained(&features, &found.weights);
        Finished { learning, features, found, unexplained, random_finest }
    }

    /// The learned and the random features in one. Relevances carry the size of the frequencies: those of a column
    /// have the root mean square they would have when drawn.
    fn join(
        &self,
        optimum: &ScaledFeatures,
        learned: Option<&ScaledFeatures>,
        random: Option<&ScaledFeatures>,
    ) -> ScaledFeatures {
        let parts: Vec<&ScaledFeatures> = learned.into_iter().chain(random).collect();
        let s: usize = parts.iter().map(|p| p.map.features()).sum();
        let (columns, support) = (optimum.theta.len(), &optimum.map.support);
        let (mut theta, mut omega) = (vec![0.0; columns], vec![0.0; columns * s]);
        for a in 0..columns {
            let row = &mut omega[a * s..(a + 1) * s];
            let mut at = 0;
            for part in &parts {
                let k = part.map.features();
                row[at..at + k].iter_mut().zip(part.frequencies(a)).for_each(|(o, w)| *o = w * part.theta[a]);
                at += k;
            }
            // Learned frequencies have moved from what was drawn; the optimum's still are that.
            let drawn = root_mean_square(optimum.frequencies(a));
            theta[a] = (root_mean_square(row) / drawn) as f32;
        }
        self.training.problem.tie(support, &mut theta, problem::root_mean_square);
        for (row, &theta) in omega.chunks_exact_mut(s).zip(&theta).filter(|(_, theta)| **theta > 0.0) {
            row.iter_mut().for_each(|o| *o /= theta);
        }
        let phase = parts.iter().flat_map(|p| p.map.phase.iter()).copied().collect();
        let map = FeatureMap::on(optimum.map.columns(), support.to_vec(), omega, phase);
        ScaledFeatures { map, theta }
    }
}

fn root_mean_square(values: &[f32]) -> f64 {
    (values.iter().map(|&v| (v as f64).powi(2)).sum::<f64>() / values.len() as f64).sqrt().max(1e-30)
}
