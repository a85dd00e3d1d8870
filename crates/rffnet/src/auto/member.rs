//! One network of a committee: how it finds its relevances, its frequencies and its head.

mod agop;
mod finish;
mod head;
mod learn;
mod start;

use crate::auto::recipe::Recipe;
use crate::features::{FeatureMap, Weights, mean_loss, row_losses};
use crate::fit::{Setting, beats, clearly_smaller};
use crate::numerics::random::{Stream, Use, stream};
use crate::params::Plan;
use crate::ridge::Linear;
use crate::solver::descent::Split;
use crate::solver::monitor::Watch;
use crate::solver::reduced::{HeadPlan, Reduced};
use crate::solver::varpro::{Frame, Settled, Stage, settle};
use agop::Turned;
use finish::Finished;
use learn::Learning;
pub(crate) use learn::Source;

/// Penalties from strong to weak.
pub(crate) const ALPHAS: [f64; 3] = [1e-3, 1e-4, 1e-5];
/// Without rows to choose by, one penalty in the middle has to do.
const BLIND_ALPHA: f64 = 1e-4;

/// The strongest penalty.
const STRONGEST: f64 = 10.0;
/// Few held-out rows cannot tell weak penalties apart: the weakest one is this over their number, for numbers and for
/// classes.
const WEAKEST: (f64, f64) = (1e-3, 1e-2);

/// Factors of linear terms beyond the usual one, for columns that are nearly copies of one another; the standard errors by
/// which the held-out rows must prefer them, and the share of the loss this must take away: more features would take
/// away a little too.
const LINEAR_FACTORS: [Linear; 2] = [Linear(10.0), Linear(100.0)];
const SURE_OF_LINEAR: f64 = 2.0;
const WORTH_LINEAR: f64 = 0.25;

/// Held-out rows that can tell what a network leaves of the constant's loss. One in `WORST` of them, those with the largest
/// losses, may add to it so many times as much: a few rows that no network gets right are no reason for company.
const JURY: usize = 50;
const WORST: usize = 100;
const TOLERANCE: f64 = 10.0;

/// One trained network of the committee.
pub(crate) struct Member {
    pub(crate) map: FeatureMap,
    pub(crate) weights: Weights,
    /// Features whose frequencies were learned.
    pub(crate) learned: usize,
    pub(crate) loss: f64,
    pub(crate) baseline: f64,
    pub(crate) held_out: usize,
    pub(crate) alpha: f64,
    pub(crate) beats_constant: bool,
    /// The share of the constant's loss that it leaves, as far as the held-out rows can tell.
    pub(crate) left: f64,
    pub(crate) guide: Guide,
}

/// What later members need not find out again.
pub(crate) struct Guide {
    /// What the first member's features were drawn from, and what would have done about as well: members take turns.
    sources: Vec<Source>,
    /// Over how many scales the first member's fresh features are.
    fresh_reach: f32,
    pub(crate) linear: Linear,
}

impl Guide {
    pub(crate) fn is_turned(&self) -> bool {
        self.sources[0].metric.is_turned()
    }
}

/// What a member starts from.
pub(crate) enum Origin<'a> {
    /// The first: what its features are drawn from, and the losses of the held-out rows with that.
    Source(Source, Vec<f64>),
    /// The others: what the first found out.
    Guide(&'a Guide),
}

/// A member about to be trained: the rows it learns from, and the penalties it may use.
pub(crate) struct Trial<'a> {
    setting: Setting<'a>,
    plan: &'a Plan,
    recipe: &'a Recipe,
    number: usize,
    split: Split,
    /// The part of it that relevances and frequencies are learned on.
    search: Split,
    linear: Linear,
    /// Penalties from strong to weak.
    alphas: Vec<f64>,
    /// For the final penalty, if there is something to choose by.
    range: Option<(f64, f64)>,
}

impl<'a> Trial<'a> {
    /// Members differ in everything that is drawn.
    pub(crate) fn new(setting: Setting<'a>, plan: &'a Plan, recipe: &'a Recipe, number: usize) -> Self {
        let split = Split::new(setting.rows, plan.validation_fraction, seed(plan, number));
        let search = split.with_fewer(recipe.search_rows);
        let choosing = plan.fixed_alpha.is_none() && !split.validation.is_empty();
        let weakest =
            if plan.loss.is_classification() { WEAKEST.1 } else { WEAKEST.0 } / split.validation.len() as f64;
        let alphas = if choosing {
            ALPHAS.into_iter().filter(|&a| a >= weakest || a == ALPHAS[0]).collect()
        } else {
            vec![plan.fixed_alpha.unwrap_or(BLIND_ALPHA)]
        };
        let range = choosing.then_some((weakest.min(ALPHAS[0]), STRONGEST));
        let linear = plan.linear.into();
        Self { setting, plan, recipe, number, split, search, linear, alphas, range }
    }

    /// Frequencies to search with, and where the stream stands after them.
    fn first_draw(&self) -> (FeatureMap, Stream) {
        let mut rng = stream(seed(self.plan, self.number), Use::Frequencies);
        (self.setting.draw(self.plan, self.recipe.search_features, &mut rng), rng)
    }

    /// Whether there are rows to judge by that it does not learn from.
    pub(crate) fn holds_out(&self) -> bool {
        !self.split.validation.is_empty()
    }

    /// The loss of every held-out row with the head of `source`.
    pub(crate) fn row_losses(&self, source: &Source) -> Vec<f64> {
        self.losses_with(&source.settled, self.linear, &self.search)
    }

    fn losses_with(&self, settled: &Settled, linear: Linear, split: &Split) -> Vec<f64> {
        let (problem, Frame { map, theta }) = (self.setting.problem, &settled.frame);
        let head = HeadPlan { alpha: settled.alpha, linear };
        let (weights, _) = Reduced::new(problem, &split.train, head).head(map, theta);
        row_losses(problem, map, &weights, split.judges())
    }

    /// Takes up the factor of the linear terms that the held-out rows clearly prefer, and settles with it. Regressions
    /// along the axes only: few rows of several classes mislead it.
    fn with_linear(&mut self, source: Source, mut losses: Vec<f64>, watch: &mut Watch<'_>) -> Source {
        let regression = self.plan.linear && !self.plan.loss.is_classification();
        if !regression || source.metric.is_turned() || self.range.is_none() || watch.stopped() {
            return source;
        }
        let mut best = self.linear;
        for factor in LINEAR_FACTORS {
            let others = self.losses_with(&source.settled, factor, &self.search);
            let much = others.iter().sum::<f64>() < (1.0 - WORTH_LINEAR) * losses.iter().sum::<f64>();
            if much && clearly_smaller(&others, &losses, SURE_OF_LINEAR) {
                (best, losses) = (factor, others);
            }
        }
        if best == self.linear {
            return source;
        }
        self.linear = best;
        let Settled { frame, alpha, .. } = source.settled;
        Source::new(self.settle(&self.search, frame, &[alpha], self.recipe.steps, false, watch))
    }

    /// The rest of the course: drop, turn, learn, finish. Later members settle first, guided by the first; one that was cut
    /// short would only spoil the average, and is none.
    pub(crate) fn member(mut self, origin: Origin<'_>, watch: &mut Watch<'_>) -> Option<Member> {
        let (map, mut rng) = self.first_draw();
        let finished = match origin {
            Origin::Source(source, losses) => {
                let source = self.with_linear(source, losses, watch);
                self.first(source, &mut rng, watch)
            }
            Origin::Guide(guide) => {
                self.linear = guide.linear;
                let learning = self.guided_learning(map, guide, &mut rng, watch);
                if watch.stopped() {
                    return None;
                }
                self.finish(learning, self.recipe.fresh, Some(guide.fresh_reach), &rng, watch)
            }
        };
        Some(self.elected(finished))
    }

    /// The first member. Where turning has settled what features are drawn from, they are tried without learning.
    fn first(&self, source: Source, rng: &mut Stream, watch: &mut Watch<'_>) -> Finished {
        let sources = self.sources(source, rng, watch);
        let mut drawn = None;
        if let Some(turned) = sources.turned_alone().filter(|_| self.recipe.drawn > 0 && !watch.overdue()) {
            let finished = self.finish(Learning::none(turned.clone()), self.recipe.drawn, None, rng, watch);
            if finished.left < self.recipe.alone {
                return finished;
            }
            drawn = Some(finished);
        }
        let learning = self.best_learning(sources, rng, watch);
        let learned = self.finish(learning, self.recipe.fresh, None, rng, watch);
        // Learning that was cut short may be worse than none.
        drawn.filter(|d| watch.stopped() && d.found.loss < learned.found.loss).unwrap_or(learned)
    }

    /// The share of the constant's loss that a head leaves; infinite where too few rows are held out to tell.
    fn left(&self, frame: &Frame, weights: &Weights) -> f64 {
        let (problem, judges) = (self.setting.problem, &self.split.validation);
        if judges.len() < JURY {
            return f64::INFINITY;
        }
        let floor = self.setting.constant_weights(&frame.map);
        let losses = |weights: &Weights| row_losses(problem, &frame.map, weights, judges);
        share_left(&losses(weights), &losses(&floor))
    }

    /// The network, its head on all rows.
    fn elected(&self, finished: Finished) -> Member {
        let Finished { learning, frame, found, left, fresh_reach } = finished;
        let (problem, split) = (self.setting.problem, &self.split);
        let floor = self.setting.constant_weights(&frame.map);
        let judges = split.judges();
        let mut sources = vec![learning.source];
        sources.extend(learning.equals);
        Member {
            baseline: mean_loss(problem, &frame.map, &floor, judges),
            beats_constant: beats(problem, &frame.map, &found.weights, &floor, judges),
            left,
            weights: found.on_all(problem, split, self.setting.rows, &frame, self.linear),
            map: frame.map,
            learned: learning.learned.map_or(0, |l| l.frame.map.features()),
            loss: found.loss,
            held_out: split.validation.len(),
            alpha: found.alpha,
            guide: Guide { sources, fresh_reach, linear: self.linear },
        }
    }

    /// As the first member went, without its detours.
    fn guided_learning(
        &self,
        map: FeatureMap,
        guide: &Guide,
        rng: &mut Stream,
        watch: &mut Watch<'_>,
    ) -> Learning {
        let source = &guide.sources[self.number % guide.sources.len()];
        let Source { settled: Settled { frame, alpha, .. }, metric, reach } = source;
        let map = on_columns(map, &frame.map.support);
        let source = if metric.is_turned() {
            let Turned { settled, metric, .. } =
                self.turned(&map, metric.clone(), *alpha, &self.search, watch);
            Source { settled, metric, reach: *reach }
        } else {
            let start = metric.apply(map);
            let settled = self.settle(&self.search, start, &self.alphas, self.recipe.steps, false, watch);
            Source { reach: *reach, ..Source::new(settled) }
        };
        let learned = (self.recipe.learned > 0).then(|| {
            let frame = self.draw_from(&source, self.recipe.learned, rng);
            self.settle(&self.search, frame, &self.learning_alphas(&source), self.recipe.steps, true, watch)
        });
        Learning { learned, ..Learning::none(source) }
    }

    fn settle(
        &self,
        split: &Split,
        frame: Frame,
        alphas: &[f64],
        steps: usize,
        spectrum: bool,
        watch: &mut Watch<'_>,
    ) -> Settled {
        let stage = Stage { alphas, steps, spectrum, linear: self.linear };
        settle(self.setting.problem, split, frame, &stage, watch)
    }
}

/// The share of the constant's loss that is left: without the worst rows, or a part of it with them if that is more.
fn share_left(losses: &[f64], constant: &[f64]) -> f64 {
    let mut rows: Vec<usize> = (0..losses.len()).collect();
    rows.sort_by(|&a, &b| losses[a].total_cmp(&losses[b]));
    let share = |rows: &[usize]| {
        let sum = |of: &[f64]| rows.iter().map(|&i| of[i]).sum::<f64>();
        sum(losses) / sum(constant)
    };
    let (most, all) = (share(&rows[..rows.len() - rows.len() / WORST]), share(&rows));
    if most.is_finite() && all.is_finite() { most.max(all / TOLERANCE) } else { f64::INFINITY }
}

/// Drawn features on some of their columns.
fn on_columns(map: FeatureMap, support: &[usize]) -> FeatureMap {
    let drawn = Frame { theta: vec![1.0; map.support.len()], map };
    drawn.keep(|j, _| support.binary_search(&j).is_ok()).map
}

/// The seed of a committee's network; the first one has the plan's own.
pub(crate) fn seed(plan: &Plan, number: usize) -> u64 {
    plan.seed.wrapping_add((number as u64) << 40)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_without_the_worst_rows() {
        let constant = vec![1.0; 200];
        let mut losses = vec![0.01; 200];
        (losses[3], losses[77]) = (4.0, 6.0);
        assert!((share_left(&losses, &constant) - 0.01).abs() < 1e-12);
        losses[5] = 4.0;
        assert!(share_left(&losses, &constant) > 0.025, "three rows are more than one in a hundred");
        (losses[5], losses[77]) = (0.01, 60.0);
        assert!(share_left(&losses, &constant) > 0.03, "the worst rows may not hold it all");
        losses[5] = f64::NAN;
        assert_eq!(share_left(&losses, &constant), f64::INFINITY);
        assert_eq!(share_left(&[0.0; 60], &[0.0; 60]), f64::INFINITY);
    }
}
