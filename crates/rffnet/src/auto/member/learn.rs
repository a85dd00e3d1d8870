//! Frequencies and phases join the relevances.

use crate::fit::clearly_smaller;
use crate::numerics::random::Stream;
use crate::solver::descent::Split;
use crate::solver::monitor::Watch;
use crate::solver::reduced::HeadPlan;
use crate::solver::varpro::{Frame, Settled};

use super::agop::{Metric, Turned};
use super::head::choose;
use super::{Trial, on_columns};

/// Shares of the largest relevance below which columns are dropped, largest first, and the loss this may cost.
const DROPS: [f32; 4] = [0.1, 0.05, 0.02, 0.005];
const UNNOTICED: f64 = 0.0005;

/// The penalty that learning from classes begins with, at least.
const STRONG: f64 = 3e-4;

/// Features of several scales: from that of the relevances to this many times finer.
pub(super) const REACH: f32 = 4.0;

/// Steps from each source before they are compared, and what one must gain over a simpler one.
const FIRST_STEPS: usize = 20;
const WORTH_MORE: f64 = 0.003;

/// A source whose loss is no more than this share above the leader's does about as well: later networks take turns with it.
const EQUAL: f64 = 0.01;

/// Turning must gain that too, by so many standard errors; beyond the second share nothing else is tried.
const SURE_OF_TURNING: f64 = 2.0;
const SETTLES_IT: f64 = 0.25;

/// What features are drawn from.
#[derive(Clone)]
pub(crate) struct Source {
    /// The columns, and frequencies on them of this metric.
    pub(super) settled: Settled,
    pub(super) metric: Metric,
    /// Over how many scales: 1 for one, else up to this factor.
    pub(super) reach: f32,
}

impl Source {
    pub(super) fn new(settled: Settled) -> Self {
        Self { metric: Metric::Axes(settled.frame.theta.clone()), settled, reach: 1.0 }
    }

    fn columns(&self) -> usize {
        self.settled.frame.theta.len()
    }

    /// Whether turned frequencies are so much better than these along the axes that nothing else need be tried.
    pub(super) fn settles_it(&self, axes: &Self) -> bool {
        self.settled.loss < (1.0 - SETTLES_IT) * axes.settled.loss
    }
}

/// What the frequencies are learned from, and what came of it.
pub(super) struct Learning {
    pub(super) source: Source,
    /// None where frequencies stay as drawn.
    pub(super) learned: Option<Settled>,
    /// Sources that do about as well.
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
    /// On as few columns as will do.
    fewer: Source,
    turned: Option<Source>,
    /// Nothing but the turned one need be tried.
    turned_alone: bool,
}

impl Sources {
    /// The turned one, where nothing else need be tried.
    pub(super) fn turned_alone(&self) -> Option<&Source> {
        self.turned.as_ref().filter(|_| self.turned_alone)
    }
}

impl Trial<'_> {
    /// Along the axes and turned, on few columns and all.
    pub(super) fn sources(&self, all: Source, rng: &mut Stream, watch: &mut Watch<'_>) -> Sources {
        let mut fewer = self.with_fewer_columns(&all).unwrap_or_else(|| all.clone());
        let turned = if self.recipe.learned > 0 {
            self.turned_source(&mut fewer, &self.search, rng, watch)
        } else {
            None
        };
        let settles_it =
            |turned: &Source| fewer.metric.is_turned() || turned.settles_it(&fewer) || watch.stopped();
        let turned_alone = turned.as_ref().is_some_and(settles_it);
        Sources { all, fewer, turned, turned_alone }
    }

    /// Learned from features along the axes or turned, of one scale or several, on few columns or all: a few steps from
    /// each, then on from what does best on the held-out rows.
    pub(super) fn best_learning(
        &self,
        sources: Sources,
        rng: &mut Stream,
        watch: &mut Watch<'_>,
    ) -> Learning {
        let Sources { all, fewer, turned, turned_alone } = sources;
        if self.recipe.learned == 0 {
            return Learning::none(fewer);
        }
        let dropped = fewer.columns() < all.columns();
        let mut contest = Contest { trial: self, rng, entries: Vec::new(), leader: 0 };
        if !turned_alone {
            contest.enter(fewer, WORTH_MORE, watch);
        }
        if let Some(turned) = turned {
            contest.enter(turned, WORTH_MORE, watch);
        }
        // A function with detail on several scales is learned better from features of several scales.
        let leading = contest.leading().clone();
        if !turned_alone {
            contest.enter(Source { reach: REACH, ..leading }, WORTH_MORE, watch);
        }
        // A column that the relevances alone can do without may still be of use to learned frequencies.
        let leading = contest.leading();
        if dropped && !leading.metric.is_turned() {
            let all = Source { reach: leading.reach, ..self.at_best_penalty(all) };
            contest.enter(all, UNNOTICED, watch);
        }
        let (source, mut learned, equals) = contest.end();
        if !watch.stopped() {
            let alphas = self.learning_alphas(&source);
            learned = self.settle(&self.search, learned.frame, &alphas, self.recipe.steps, true, watch);
        }
        Learning { source, learned: Some(learned), equals }
    }

    /// Without as many columns of small relevance as the held-out rows do not notice; `None` if they notice every one, or
    /// there are none to ask.
    fn with_fewer_columns(&self, source: &Source) -> Option<Source> {
        let Settled { frame, alpha, loss } = &source.settled;
        let largest = frame.theta.iter().fold(0.0, |m: f32, t| m.max(t.abs()));
        if !self.holds_out() || largest == 0.0 {
            return None;
        }
        let head = HeadPlan { alpha: *alpha, linear: self.linear };
        let mut tried = 0;
        for share in DROPS {
            let stays = |theta: f32| theta.abs() >= share * largest;
            let kept: Vec<usize> = (0..source.columns()).filter(|&a| stays(frame.theta[a])).collect();
            if kept.len() == source.columns() {
                break;
            }
            if kept.len() == tried {
                continue;
            }
            tried = kept.len();
            let frame = frame.keep(|_, theta| stays(theta));
            let found = choose(self.setting.problem, &self.search, &frame, head, None);
            if found.loss.is_finite() && found.loss <= loss * (1.0 + UNNOTICED) {
                let settled = Settled { frame, alpha: *alpha, loss: found.loss };
                return Some(Source { metric: source.metric.on(&kept)?, settled, reach: source.reach });
            }
        }
        None
    }

    /// With the penalty that does best on the held-out rows.
    pub(super) fn at_best_penalty(&self, mut source: Source) -> Source {
        let Settled { frame, alpha, loss } = &mut source.settled;
        let head = HeadPlan { alpha: *alpha, linear: self.linear };
        let found = choose(self.setting.problem, &self.search, frame, head, self.range);
        (*alpha, *loss) = (found.alpha, found.loss);
        source
    }

    /// From strong to weak, around what is right for frequencies as drawn. Classes tell less: with the weak penalty that many
    /// rows allow, frequencies would learn noise, so a stronger one comes first.
    pub(super) fn learning_alphas(&self, source: &Source) -> Vec<f64> {
        if self.alphas.len() == 1 {
            return self.alphas.clone();
        }
        let alpha = source.settled.alpha;
        let strong = self.plan.loss.is_classification().then_some(STRONG);
        let alphas = [10.0 * alpha, alpha];
        strong.into_iter().filter(|&strong| strong > alphas[0]).chain(alphas).collect()
    }

    /// Turned, if that clearly helps: with other frequencies than those it was found with, and more than the right penalty
    /// does, which `from` gets too. What has been turned before is only turned further.
    pub(super) fn turned_source(
        &self,
        from: &mut Source,
        split: &Split,
        rng: &mut Stream,
        watch: &mut Watch<'_>,
    ) -> Option<Source> {
        if !self.may_turn(from.columns()) || watch.stopped() {
            return None;
        }
        let Settled { frame, alpha, .. } = &from.settled;
        let drawn = on_columns(self.first_draw().0, &frame.map.support);
        let Turned { settled, metric, before } =
            self.turned(&drawn, from.metric.clone(), *alpha, split, watch);
        (from.settled.alpha, from.settled.loss) = before;
        let turned = Source { settled, metric, reach: from.reach };
        if from.metric.is_turned() {
            return Some(turned);
        }
        if !turned.metric.is_turned() || turned.settled.loss >= from.settled.loss * (1.0 - WORTH_MORE) {
            return None;
        }
        let losses = |source: &Source, rng: &mut Stream| {
            let frame = self.draw_from(source, self.recipe.search_features, rng);
            self.losses_with(&Settled { frame, ..source.settled }, self.linear, split)
        };
        let (before, after) = (losses(from, &mut rng.clone()), losses(&turned, rng));
        clearly_smaller(&after, &before, SURE_OF_TURNING).then_some(turned)
    }

    /// Fresh frequencies.
    pub(super) fn draw_from(&self, source: &Source, features: usize, rng: &mut Stream) -> Frame {
        let map = self.setting.draw(self.plan, features, rng);
        let kept = on_columns(map, &source.settled.frame.map.support);
        source.metric.apply(kept).spread(source.reach)
    }
}

/// Sources take a few steps each; one that is entered later must do better by a share of the loss. Each draws
/// anew: what goes on are the leader's own features, so luck with them counts.
struct Contest<'a, 'b> {
    trial: &'a Trial<'a>,
    rng: &'b mut Stream,
    entries: Vec<(Source, Settled)>,
    leader: usize,
}

impl Contest<'_, '_> {
    fn enter(&mut self, source: Source, share: f64, watch: &mut Watch<'_>) {
        let leading = self.entries.get(self.leader).map(|(_, learned)| learned.loss);
        if leading.is_some() && watch.stopped() {
            return;
        }
        let trial = self.trial;
        let alphas = trial.learning_alphas(&source);
        let frame = trial.draw_from(&source, trial.recipe.learned, self.rng);
        let steps = FIRST_STEPS.min(trial.recipe.steps);
        let learned = trial.settle(&trial.search, frame, &alphas[..1], steps, true, watch);
        if leading.is_none_or(|loss| learned.loss < loss * (1.0 - share)) {
            self.leader = self.entries.len();
        }
        self.entries.push((source, learned));
    }

    fn leading(&self) -> &Source {
        &self.entries[self.leader].0
    }

    /// The leader, what it has learned, and the sources that do about as well.
    fn end(mut self) -> (Source, Settled, Vec<Source>) {
        let (source, learned) = self.entries.remove(self.leader);
        let near = (1.0 + EQUAL) * learned.loss;
        let equals = self.entries.into_iter().filter(|(_, other)| other.loss < near);
        let equals = equals.map(|(source, _)| source).collect();
        (source, learned, equals)
    }
}
