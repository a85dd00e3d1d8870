//! Learned frequencies: frequencies and phases join the relevances as variables.

use crate::features::ScaledFeatures;
use crate::numerics::random::Stream;
use crate::solver::monitor::Monitor;
use crate::solver::reduced::HeadSettings;
use crate::solver::varpro::Optimum;
use crate::validation::{Split, significantly_smaller};

use super::agop::{Agop, Metric};
use super::head::choose;
use super::{MemberFit, on_columns};

/// Shares of the largest relevance below which columns are dropped, the largest share first, and the share by which that may
/// raise the validation loss.
const DROPS: [f32; 4] = [0.1, 0.05, 0.02, 0.005];
const DROP_COST: f64 = 0.0005;

/// The penalty that learning frequencies of a classifier begins with, at least.
const CLASS_ALPHA: f64 = 3e-4;

/// Features of several length scales: from that of the metric to this many times finer.
pub(super) const FINEST: f32 = 4.0;

/// Steps from each source before they are compared, and the share by which one must lower the validation loss of a simpler
/// one.
const FIRST_STEPS: usize = 20;
const MIN_GAIN: f64 = 0.003;

/// A source whose validation loss is above the best one's by less than this share counts as equal: later members alternate
/// between them.
const ABOUT_EQUAL: f64 = 0.01;

/// The AGOP metric must lower the validation loss by `MIN_GAIN` and by so many standard errors; where it does by the second
/// share, nothing else is tried.
const AGOP_ERRORS: f64 = 2.0;
const DECISIVE: f64 = 0.25;

/// What random features are drawn from: a metric on some of the columns, and a range of length scales.
#[derive(Clone)]
pub(crate) struct Source {
    /// The columns, and frequencies on them of this metric.
    pub(super) optimum: Optimum,
    pub(super) metric: Metric,
    /// Length scales from the metric's own (1) to one this many times finer.
    pub(super) finest: f32,
}

impl Source {
    pub(super) fn new(optimum: Optimum) -> Self {
        Self { metric: Metric::Diagonal(optimum.features.theta.clone()), optimum, finest: 1.0 }
    }

    fn columns(&self) -> usize {
        self.optimum.features.theta.len()
    }

    /// Whether the AGOP metric is so much better than the diagonal one that nothing else need be tried.
    pub(super) fn decides(&self, diagonal: &Self) -> bool {
        self.optimum.loss < (1.0 - DECISIVE) * diagonal.optimum.loss
    }
}

/// What the frequencies are learned from, and what came of it.
pub(super) struct Learning {
    pub(super) source: Source,
    /// None where all frequencies stay random.
    pub(super) learned: Option<Optimum>,
    /// Sources of about equal loss.
    pub(super) equals: Vec<Source>,
}

impl Learning {
    pub(super) fn none(source: Source) -> Self {
        Self { source, learned: None, equals: Vec::new() }
    }
}

/// What learning may start from.
pub(super) struct Sources {
    all: Source,
    /// Without the columns that were dropped.
    fewer: Source,
    agop: Option<Source>,
    /// Nothing but the AGOP metric need be tried.
    agop_alone: bool,
}

impl Sources {
    /// The AGOP metric, where nothing else need be tried.
    pub(super) fn agop_alone(&self) -> Option<&Source> {
        self.agop.as_ref().filter(|_| self.agop_alone)
    }
}

impl MemberFit<'_> {
    /// With a diagonal metric and with that of AGOP, on few columns and all.
    pub(super) fn sources(&self, all: Source, rng: &mut Stream, monitor: &mut Monitor<'_>) -> Sources {
        let mut fewer = self.with_fewer_columns(&all).unwrap_or_else(|| all.clone());
        let agop = if self.recipe.learned > 0 {
            self.agop_source(&mut fewer, &self.search, rng, monitor)
        } else {
            None
        };
        let decides = |agop: &Source| fewer.metric.is_full() || agop.decides(&fewer) || monitor.stopped();
        let agop_alone = agop.as_ref().is_some_and(decides);
        Sources { all, fewer, agop, agop_alone }
    }

    /// Learned from features of a diagonal or the AGOP metric, of one length scale or several, on few columns or all: a few
    /// steps from each, then on from what has the smallest validation loss.
    pub(super) fn best_learning(
        &self,
        sources: Sources,
        rng: &mut Stream,
        monitor: &mut Monitor<'_>,
    ) -> Learning {
        let Sources { all, fewer, agop, agop_alone } = sources;
        if self.recipe.learned == 0 {
            return Learning::none(fewer);
        }
        let dropped = fewer.columns() < all.columns();
        let mut comparison = Comparison { member: self, rng, entries: Vec::new(), leader: 0 };
        if !agop_alone {
            comparison.enter(fewer, MIN_GAIN, monitor);
        }
        if let Some(agop) = agop {
            comparison.enter(agop, MIN_GAIN, monitor);
        }
        // A function with detail on several length scales is learned better from features of several scales.
        let leading = comparison.leading().clone();
        if !agop_alone {
            comparison.enter(Source { finest: FINEST, ..leading }, MIN_GAIN, monitor);
        }
        // Columns that were dropped from random features may still lower the loss of learned ones.
        let leading = comparison.leading();
        if dropped && !leading.metric.is_full() {
            let all = Source { finest: leading.finest, ..self.at_best_penalty(all) };
            comparison.enter(all, DROP_COST, monitor);
        }
        let (source, mut learned, equals) = comparison.end();
        if !monitor.stopped() {
            let alphas = self.learning_alphas(&source);
            learned = self.optimise(
                &self.search,
                learned.features,
                self.stage(&alphas, self.recipe.steps, true),
                monitor,
            );
        }
        Learning { source, learned: Some(learned), equals }
    }

    /// Without as many columns of small relevance as can go without raising the validation loss; `None` if none can, or
    /// there are no validation rows.
    fn with_fewer_columns(&self, source: &Source) -> Option<Source> {
        let Optimum { features, alpha, loss } = &source.optimum;
        let largest = features.theta.iter().fold(0.0, |m: f32, t| m.max(t.abs()));
        if !self.validates() || largest == 0.0 {
            return None;
        }
        let head = HeadSettings { alpha: *alpha, linear: self.linear };
        let mut tried = 0;
        for share in DROPS {
            let stays = |theta: f32| theta.abs() >= share * largest;
            let kept: Vec<usize> = (0..source.columns()).filter(|&a| stays(features.theta[a])).collect();
            if kept.len() == source.columns() {
                break;
            }
            if kept.len() == tried {
                continue;
            }
            tried = kept.len();
            let features = features.keep(|_, theta| stays(theta));
            let found = choose(self.training.problem, &self.search, &features, head, None);
            if found.loss.is_finite() && found.loss <= loss * (1.0 + DROP_COST) {
                let optimum = Optimum { features, alpha: *alpha, loss: found.loss };
                return Some(Source { metric: source.metric.on(&kept)?, optimum, finest: source.finest });
            }
        }
        None
    }

    /// With the penalty chosen on validation.
    pub(super) fn at_best_penalty(&self, mut source: Source) -> Source {
        let Optimum { features, alpha, loss } = &mut source.optimum;
        let head = HeadSettings { alpha: *alpha, linear: self.linear };
        let found = choose(self.training.problem, &self.search, features, head, self.range);
        (*alpha, *loss) = (found.alpha, found.loss);
        source
    }

    /// From strong to weak, around the penalty chosen for random frequencies. Classes tell less: with the weak penalty that
    /// many rows allow, frequencies would learn noise, so a stronger one comes first.
    pub(super) fn learning_alphas(&self, source: &Source) -> Vec<f64> {
        if self.alphas.len() == 1 {
            return self.alphas.clone();
        }
        let alpha = source.optimum.alpha;
        let strong = self.training.common.loss.is_classification().then_some(CLASS_ALPHA);
        let alphas = [10.0 * alpha, alpha];
        strong.into_iter().filter(|&strong| strong > alphas[0]).chain(alphas).collect()
    }

    /// With the AGOP metric, if that significantly improves the validation loss: with other frequencies than those it was
    /// found with, and by more than a better penalty does, which `from` gets too. A full metric only gets further rounds.
    pub(super) fn agop_source(
        &self,
        from: &mut Source,
        split: &Split,
        rng: &mut Stream,
        monitor: &mut Monitor<'_>,
    ) -> Option<Source> {
        if !self.agop_applies(from.columns()) || monitor.stopped() {
            return None;
        }
        let Optimum { features, alpha, .. } = &from.optimum;
        let drawn = on_columns(self.first_draw().0, &features.map.support);
        let Agop { optimum, metric, before } =
            self.agop_rounds(&drawn, from.metric.clone(), *alpha, split, monitor);
        (from.optimum.alpha, from.optimum.loss) = before;
        let agop = Source { optimum, metric, finest: from.finest };
        if from.metric.is_full() {
            return Some(agop);
        }
        if !agop.metric.is_full() || agop.optimum.loss >= from.optimum.loss * (1.0 - MIN_GAIN) {
            return None;
        }
        let losses = |source: &Source, rng: &mut Stream| {
            let features = self.draw_from(source, self.recipe.search_features, rng);
            self.losses_with(&Optimum { features, ..source.optimum }, self.linear, split)
        };
        let (before, after) = (losses(from, &mut rng.clone()), losses(&agop, rng));
        significantly_smaller(&after, &before, AGOP_ERRORS).then_some(agop)
    }

    /// Random frequencies.
    pub(super) fn draw_from(&self, source: &Source, features: usize, rng: &mut Stream) -> ScaledFeatures {
        let map = self.training.draw(features, rng);
        let kept = on_columns(map, &source.optimum.features.map.support);
        source.metric.apply(kept).over_scales(source.finest)
    }
}

/// Sources are compared by the validation loss after a few steps; one that is entered later must be better by a share of it.
/// Each draws frequencies of its own, and learning goes on with those of the best.
struct Comparison<'a, 'b> {
    member: &'a MemberFit<'a>,
    rng: &'b mut Stream,
    entries: Vec<(Source, Optimum)>,
    leader: usize,
}

impl Comparison<'_, '_> {
    fn enter(&mut self, source: Source, share: f64, monitor: &mut Monitor<'_>) {
        let leading = self.entries.get(self.leader).map(|(_, learned)| learned.loss);
        if leading.is_some() && monitor.stopped() {
            return;
        }
        let member = self.member;
        let alphas = member.learning_alphas(&source);
        let features = member.draw_from(&source, member.recipe.learned, self.rng);
        let steps = FIRST_STEPS.min(member.recipe.steps);
        let learned =
            member.optimise(&member.search, features, member.stage(&alphas[..1], steps, true), monitor);
        if leading.is_none_or(|loss| learned.loss < loss * (1.0 - share)) {
            self.leader = self.entries.len();
        }
        self.entries.push((source, learned));
    }

    fn leading(&self) -> &Source {
        &self.entries[self.leader].0
    }

    /// The best source, what it has learned, and the sources of about equal loss.
    fn end(mut self) -> (Source, Optimum, Vec<Source>) {
        let (source, learned) = self.entries.remove(self.leader);
        let near = (1.0 + ABOUT_EQUAL) * learned.loss;
        let equals = self.entries.into_iter().filter(|(_, other)| other.loss < near);
        let equals = equals.map(|(source, _)| source).collect();
        (source, learned, equals)
    }
}
