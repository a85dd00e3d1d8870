//! One member of the ensemble: how it finds its relevances, its frequencies and its head.

mod agop;
mod finish;
mod head;
mod learn;
mod start;

use crate::auto::recipe::Recipe;
use crate::features::{FeatureMap, Network, ScaledFeatures, Weights};
use crate::numerics::random::{Stream, Use, stream};
use crate::ridge::Linear;
use crate::solver::monitor::Monitor;
use crate::solver::reduced::{HeadSettings, Reduced};
use crate::solver::varpro::{Optimum, Stage, optimise};
use crate::training::Training;
use crate::validation::{Split, beats_constant, significantly_smaller};
use agop::Agop;
use finish::Finished;
use learn::Learning;
pub(crate) use learn::Source;

/// Penalties from strong to weak.
pub(crate) const ALPHAS: [f64; 3] = [1e-3, 1e-4, 1e-5];
/// Without validation rows, one penalty in the middle has to do.
const DEFAULT_ALPHA: f64 = 1e-4;

/// The strongest penalty.
const STRONGEST: f64 = 10.0;
/// Few validation rows cannot tell weak penalties apart: the weakest one is this over their number, for numbers and for
/// classes.
const WEAKEST: (f64, f64) = (1e-3, 1e-2);

/// Factors of linear terms beyond the usual one, for columns that are nearly copies of one another; the standard errors by
/// which they must improve the validation loss, and the share of it they must take away: more features would take away a
/// little too.
const LINEAR_FACTORS: [Linear; 2] = [Linear(10.0), Linear(100.0)];
const LINEAR_ERRORS: f64 = 2.0;
const LINEAR_GAIN: f64 = 0.25;

/// The trimmed validation loss, from which the share of unexplained loss is estimated: at least so many validation rows are
/// needed, one in `TRIMMED` of them, those of the largest losses, is left out, and the share of all rows may be
/// `TRIMMED_WEIGHT` times larger. A few rows that no model gets right do not ask for an ensemble.
const MIN_VALIDATION_ROWS: usize = 50;
const TRIMMED: usize = 100;
const TRIMMED_WEIGHT: f64 = 10.0;

/// One trained member of the ensemble.
pub(crate) struct TrainedMember {
    pub(crate) map: FeatureMap,
    pub(crate) weights: Weights,
    /// Features whose frequencies were learned.
    pub(crate) learned: usize,
    pub(crate) loss: f64,
    pub(crate) baseline: f64,
    pub(crate) validation_rows: usize,
    pub(crate) alpha: f64,
    pub(crate) beats_constant: bool,
    /// The share of unexplained loss, by the trimmed validation loss.
    pub(crate) unexplained: f64,
    pub(crate) guide: Guide,
}

/// What the first member has found out for the later ones.
pub(crate) struct Guide {
    /// What the first member's features were drawn from, and sources of about equal loss: members alternate between them.
    sources: Vec<Source>,
    /// How much finer than the metric's length scale the first member's random features become.
    random_finest: f32,
    pub(crate) linear: Linear,
}

impl Guide {
    pub(crate) fn uses_agop(&self) -> bool {
        self.sources[0].metric.is_full()
    }
}

/// What a member starts from.
pub(crate) enum Origin<'a> {
    /// The first: what its features are drawn from, and the losses of the validation rows with that.
    Source(Source, Vec<f64>),
    /// The others: what the first found out.
    Guide(&'a Guide),
}

/// A member about to be trained: the rows it learns from, and the penalties it may use.
pub(crate) struct MemberFit<'a> {
    training: Training<'a>,
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

impl<'a> MemberFit<'a> {
    /// Members differ in everything that is drawn.
    pub(crate) fn new(training: Training<'a>, recipe: &'a Recipe, number: usize) -> Self {
        let common = training.common;
        let seed = seed(common.seed, number);
        let split = Split::new(training.rows, common.validation_fraction, training.held_out, seed);
        let search = split.with_fewer(recipe.search_rows);
        let choosing = common.fixed_alpha.is_none() && !split.validation.is_empty();
        let weakest = if common.loss.is_classification() { WEAKEST.1 } else { WEAKEST.0 }
            / split.validation.len() as f64;
        let alphas = if choosing {
            ALPHAS.into_iter().filter(|&a| a >= weakest || a == ALPHAS[0]).collect()
        } else {
            vec![common.fixed_alpha.unwrap_or(DEFAULT_ALPHA)]
        };
        let range = choosing.then_some((weakest.min(ALPHAS[0]), STRONGEST));
        let linear = common.linear.into();
        Self { training, recipe, number, split, search, linear, alphas, range }
    }

    /// Frequencies to search with, and where the stream stands after them.
    fn first_draw(&self) -> (FeatureMap, Stream) {
        let mut rng = stream(seed(self.training.common.seed, self.number), Use::Frequencies);
        (self.training.draw(self.recipe.search_features, &mut rng), rng)
    }

    /// Whether there are validation rows.
    pub(crate) fn validates(&self) -> bool {
        !self.split.validation.is_empty()
    }

    /// The loss of every validation row with the head of `source`.
    pub(crate) fn row_losses(&self, source: &Source) -> Vec<f64> {
        self.losses_with(&source.optimum, self.linear, &self.search)
    }

    fn losses_with(&self, optimum: &Optimum, linear: Linear, split: &Split) -> Vec<f64> {
        let (problem, features) = (self.training.problem, &optimum.features);
        let head = HeadSettings { alpha: optimum.alpha, linear };
        let (weights, _) = Reduced::new(problem, &split.train, head).head(features);
        problem.row_losses(Network::new(&features.map, &weights), split.judged_on())
    }

    /// Takes up the factor of the linear terms that validates significantly better, and optimises with it. Regressions
    /// with a diagonal metric only: few rows of several classes mislead it.
    fn with_linear(&mut self, source: Source, mut losses: Vec<f64>, monitor: &mut Monitor<'_>) -> Source {
        let common = self.training.common;
        let regression = common.linear && !common.loss.is_classification();
        if !regression || source.metric.is_full() || self.range.is_none() || monitor.stopped() {
            return source;
        }
        let mut best = self.linear;
        for factor in LINEAR_FACTORS {
            let others = self.losses_with(&source.optimum, factor, &self.search);
            let much = others.iter().sum::<f64>() < (1.0 - LINEAR_GAIN) * losses.iter().sum::<f64>();
            if much && significantly_smaller(&others, &losses, LINEAR_ERRORS) {
                (best, losses) = (factor, others);
            }
        }
        if best == self.linear {
            return source;
        }
        self.linear = best;
        let Optimum { features, alpha, .. } = source.optimum;
        Source::new(self.optimise(
            &self.search,
            features,
            self.stage(&[alpha], self.recipe.steps, false),
            monitor,
        ))
    }

    /// The remaining steps: drop columns, AGOP, learn, finish. Later members optimise the relevances first, guided by the
    /// first member. `None` for a later member that was stopped before its end: its error would be averaged in.
    pub(crate) fn train(mut self, origin: Origin<'_>, monitor: &mut Monitor<'_>) -> Option<TrainedMember> {
        let (map, mut rng) = self.first_draw();
        let finished = match origin {
            Origin::Source(source, losses) => {
                let source = self.with_linear(source, losses, monitor);
                self.first(source, &mut rng, monitor)
            }
            Origin::Guide(guide) => {
                self.linear = guide.linear;
                let learning = self.guided_learning(map, guide, &mut rng, monitor);
                if monitor.stopped() {
                    return None;
                }
                self.finish(learning, self.recipe.random, Some(guide.random_finest), &rng, monitor)
            }
        };
        Some(self.on_all_rows(finished))
    }

    /// The first member. Where only the AGOP metric is in question, random features are tried without learned ones first.
    fn first(&self, source: Source, rng: &mut Stream, monitor: &mut Monitor<'_>) -> Finished {
        let sources = self.sources(source, rng, monitor);
        let mut unlearned = None;
        if let Some(agop) = sources.agop_alone().filter(|_| self.recipe.unlearned > 0 && !monitor.overdue()) {
            let finished =
                self.finish(Learning::none(agop.clone()), self.recipe.unlearned, None, rng, monitor);
            if finished.unexplained < self.recipe.single_below {
                return finished;
            }
            unlearned = Some(finished);
        }
        let learning = self.best_learning(sources, rng, monitor);
        let learned = self.finish(learning, self.recipe.random, None, rng, monitor);
        // Learning that was stopped before its end may be worse than none.
        unlearned.filter(|u| monitor.stopped() && u.found.loss < learned.found.loss).unwrap_or(learned)
    }

    /// The share of unexplained loss with this head; infinite where there are too few validation rows to estimate it.
    fn unexplained(&self, features: &ScaledFeatures, weights: &Weights) -> f64 {
        let (problem, validation) = (self.training.problem, &self.split.validation);
        if validation.len() < MIN_VALIDATION_ROWS {
            return f64::INFINITY;
        }
        let constant = self.training.constant_weights(&features.map);
        let losses = |weights: &Weights| problem.row_losses(Network::new(&features.map, weights), validation);
        unexplained_share(&losses(weights), &losses(&constant))
    }

    /// The member, its head on all rows.
    fn on_all_rows(&self, finished: Finished) -> TrainedMember {
        let Finished { learning, features, found, unexplained, random_finest } = finished;
        let (problem, split) = (self.training.problem, &self.split);
        let constant = self.training.constant_weights(&features.map);
        let floor = Network::new(&features.map, &constant);
        let judged_on = split.judged_on();
        let mut sources = vec![learning.source];
        sources.extend(learning.equals);
        let network = Network::new(&features.map, &found.weights);
        TrainedMember {
            baseline: problem.mean_loss(floor, judged_on),
            beats_constant: beats_constant(problem, network, floor, judged_on),
            unexplained,
            weights: found.on_all(problem, split, self.training.rows, &features, self.linear),
            map: features.map,
            learned: learning.learned.map_or(0, |l| l.features.map.features()),
            loss: found.loss,
            validation_rows: split.validation.len(),
            alpha: found.alpha,
            guide: Guide { sources, random_finest, linear: self.linear },
        }
    }

    /// As the first member went, without its comparisons.
    fn guided_learning(
        &self,
        map: FeatureMap,
        guide: &Guide,
        rng: &mut Stream,
        monitor: &mut Monitor<'_>,
    ) -> Learning {
        let source = &guide.sources[self.number % guide.sources.len()];
        let Source { optimum: Optimum { features, alpha, .. }, metric, finest } = source;
        let map = on_columns(map, &features.map.support);
        let source = if metric.is_full() {
            let Agop { optimum, metric, .. } =
                self.agop_rounds(&map, metric.clone(), *alpha, &self.search, monitor);
            Source { optimum, metric, finest: *finest }
        } else {
            let start = metric.apply(map);
            let optimum = self.optimise(
                &self.search,
                start,
                self.stage(&self.alphas, self.recipe.steps, false),
                monitor,
            );
            Source { finest: *finest, ..Source::new(optimum) }
        };
        let learned = (self.recipe.learned > 0).then(|| {
            let features = self.draw_from(&source, self.recipe.learned, rng);
            let alphas = self.learning_alphas(&source);
            self.optimise(&self.search, features, self.stage(&alphas, self.recipe.steps, true), monitor)
        });
        Learning { learned, ..Learning::none(source) }
    }

    /// So many steps for each penalty, over the relevances or over the frequencies too.
    fn stage<'b>(&self, alphas: &'b [f64], steps: usize, spectrum: bool) -> Stage<'b> {
        Stage { alphas, steps, spectrum, linear: self.linear }
    }

    fn optimise(
        &self,
        split: &Split,
        features: ScaledFeatures,
        stage: Stage<'_>,
        monitor: &mut Monitor<'_>,
    ) -> Optimum {
        optimise(self.training.problem, split, features, &stage, monitor)
    }
}

/// The loss as a share of the constant's: without the rows of the largest losses or, if that is more, a tenth of the share
/// of all rows.
fn unexplained_share(losses: &[f64], constant: &[f64]) -> f64 {
    let mut rows: Vec<usize> = (0..losses.len()).collect();
    rows.sort_by(|&a, &b| losses[a].total_cmp(&losses[b]));
    let share = |rows: &[usize]| {
        let sum = |of: &[f64]| rows.iter().map(|&i| of[i]).sum::<f64>();
        sum(losses) / sum(constant)
    };
    let (most, all) = (share(&rows[..rows.len() - rows.len() / TRIMMED]), share(&rows));
    if most.is_finite() && all.is_finite() { most.max(all / TRIMMED_WEIGHT) } else { f64::INFINITY }
}

/// Random features on some of their columns.
fn on_columns(map: FeatureMap, support: &[usize]) -> FeatureMap {
    let drawn = ScaledFeatures { theta: vec![1.0; map.support.len()], map };
    drawn.keep(|j, _| support.binary_search(&j).is_ok()).map
}

/// The seed of a member; the first one has the plan's own.
pub(crate) fn seed(seed: u64, number: usize) -> u64 {
    seed.wrapping_add((number as u64) << 40)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unexplained_share_is_told_without_the_worst_rows() {
        let constant = vec![1.0; 200];
        let mut losses = vec![0.01; 200];
        (losses[3], losses[77]) = (4.0, 6.0);
        assert!((unexplained_share(&losses, &constant) - 0.01).abs() < 1e-12);
        losses[5] = 4.0;
        assert!(unexplained_share(&losses, &constant) > 0.025, "three rows are more than one in a hundred");
        (losses[5], losses[77]) = (0.01, 60.0);
        assert!(unexplained_share(&losses, &constant) > 0.03, "the worst rows may not hold it all");
        losses[5] = f64::NAN;
        assert_eq!(unexplained_share(&losses, &constant), f64::INFINITY);
        assert_eq!(unexplained_share(&[0.0; 60], &[0.0; 60]), f64::INFINITY);
    }
}
