//! A member of the ensemble: what it learns, and the features of its head.

use super::Fitter;
use super::agop::Metric;
use super::head::Solved;
use super::sizes::Sizes;
use crate::features::{FeatureMap, Network, Partitions, ScaledFeatures, Weights};
use crate::problem::root_mean_square;
use crate::solver::monitor::Monitor;
use crate::validation::beats_constant;

/// What a member has learned, before its head is solved.
pub(super) struct Member<'a> {
    pub(super) fitter: Fitter<'a>,
    /// Learned and random Fourier features.
    pub(super) features: ScaledFeatures,
    /// Features whose frequencies were learned.
    pub(super) learned: usize,
    /// The penalty that the head begins with and, once it is solved, its own.
    pub(super) alpha: f64,
    /// Of the random frequencies.
    pub(super) metric: Metric,
    /// To stand beside the features, if that is better; none where they are not wanted.
    partitions: Partitions,
}

impl<'a> Member<'a> {
    /// Relevances, the AGOP metric, and frequencies, learned and random. `None` if there was no time for relevances and
    /// metric; the first member is always ready.
    pub(super) fn learn(fitter: Fitter<'a>, monitor: &mut Monitor<'_>) -> Option<Self> {
        monitor.member = fitter.number;
        let number = fitter.number;
        let needed = |monitor: &Monitor<'_>| number == 0 || !monitor.stopped();
        if !needed(monitor) {
            return None;
        }
        let fitter = fitter.screened(monitor);
        let Sizes { features, finest, .. } = *fitter.sizes;
        let found = fitter.without_idle_columns(fitter.relevances(monitor), monitor);
        let support = found.map.support.to_vec();
        let (metric, alpha, slopes) = fitter.metric(&found, monitor);
        if !needed(monitor) {
            return None;
        }
        let (shared, mut partitions) = (monitor.shared, Partitions::default());
        let learned = if monitor.stopped() { 0 } else { fitter.sizes.learned };
        let drawn = |count, behind| metric.apply(fitter.draw(count, &support, behind)).over_scales(finest);
        let mut parts = Vec::new();
        rayon::in_place_scope(|scope| {
            // Nothing else waits for the partitions, which one thread grows.
            scope.spawn(|_| partitions = fitter.grow_partitions(&slopes, shared));
            if learned > 0 {
                monitor.stage("learned frequencies", fitter.sizes.stage(learned));
                parts.push(fitter.optimise(drawn(learned, 0), alpha, true, monitor));
            }
        });
        if features > learned {
            parts.push(drawn(features - learned, learned));
        }
        let features = fitter.join(&parts);
        Some(Self { fitter, features, learned, alpha, metric, partitions })
    }

    /// The head, at last on the member's share of all rows.
    pub(super) fn finish(self, monitor: &mut Monitor<'_>) -> Finished<'a> {
        let fitter = &self.fitter;
        monitor.stage("head", fitter.sizes.heads());
        let solved = fitter.solve(self.features.clone(), Some(self.alpha), monitor);
        let solved = fitter.with_partitions(solved, &self.partitions, monitor);
        let solved = fitter.unless_linear(solved, self.alpha, monitor);
        let constant = fitter.training.constant_weights(&solved.features.map);
        let constant = Network::new(&solved.features.map, &constant);
        let (problem, rows) = (fitter.training.problem, fitter.split.judged_on());
        let (alpha, loss, baseline) = (solved.alpha, solved.loss, problem.mean_loss(constant, rows));
        let beats_constant = beats_constant(problem, solved.network(), constant, rows);
        let network = solved.on_more(&fitter.head_rows(), monitor);
        Finished { member: Self { alpha, ..self }, network, loss, baseline, beats_constant }
    }
}

/// A member with its head; the losses are on its validation rows.
pub(super) struct Finished<'a> {
    pub(super) member: Member<'a>,
    pub(super) network: (FeatureMap, Weights),
    pub(super) loss: f64,
    pub(super) baseline: f64,
    pub(super) beats_constant: bool,
}

impl<'a> Fitter<'a> {
    /// Of a table with many columns, with the few that seem to matter, if that is better than with all.
    fn screened(self, monitor: &mut Monitor<'_>) -> Self {
        if !self.is_wide() || monitor.stopped() {
            return self;
        }
        monitor.stage("columns", 0.0);
        let Some(screened) = self.screen(monitor.shared) else { return self };
        let screened = Self { screened: Some(screened), ..Self::new(self.training, self.sizes, self.number) };
        let mut losses = |fitter: &Self| {
            let start = fitter.start(monitor);
            fitter.solve(start, Some(fitter.alpha()), monitor).losses()
        };
        if self.better(&losses(&screened), &losses(&self)) { screened } else { self }
    }

    /// With few columns of many, the linear terms alone, unless the solution is better.
    fn unless_linear<'s>(&'s self, solved: Solved<'s>, alpha: f64, monitor: &mut Monitor<'_>) -> Solved<'s> {
        let asked = self.sizes.asks_partitions && solved.features.map.partitions.is_some();
        let contained = self.screened.is_some() && self.training.common.linear;
        if !contained || asked || monitor.stopped() {
            return solved;
        }
        let mut map = solved.features.map.clone();
        map.partitions = None;
        // Without relevances the cosines are constants.
        let linear = ScaledFeatures { theta: vec![0.0; map.support.len()], map };
        let linear = self.solve(linear, Some(alpha), monitor);
        if self.better(&solved.losses(), &linear.losses()) { solved } else { linear }
    }

    /// Features in one. Relevances carry the size of the frequencies: those of a column have the root mean square that
    /// independent ones have.
    fn join(&self, parts: &[ScaledFeatures]) -> ScaledFeatures {
        let first = &parts[0].map;
        let (columns, support) = (first.support.len(), &first.support);
        let s: usize = parts.iter().map(|p| p.map.features()).sum();
        let drawn = self.draw(s, support, 0);
        let (mut theta, mut omega) = (vec![0.0; columns], Vec::with_capacity(columns * s));
        for a in 0..columns {
            for part in parts {
                omega.extend(part.frequencies(a).iter().map(|w| w * part.theta[a]));
            }
            let independent = root_mean_square(&drawn.omega[a * s..(a + 1) * s]);
            theta[a] = root_mean_square(&omega[a * s..]) / independent.max(f32::MIN_POSITIVE);
        }
        self.training.problem.tie(support, &mut theta, root_mean_square);
        for (row, &theta) in omega.chunks_exact_mut(s).zip(&theta).filter(|(_, theta)| **theta > 0.0) {
            row.iter_mut().for_each(|o| *o /= theta);
        }
        let phase = parts.iter().flat_map(|p| p.map.phase.iter()).copied().collect();
        ScaledFeatures { map: FeatureMap::on(first.columns(), support.to_vec(), omega, phase), theta }
    }
}
