//! One network of a committee: how it finds its relevances, its frequencies and its head.

use crate::features::{FeatureMap, Problem, Weights, mean_loss, mean_squared_slopes, row_losses};
use crate::finish::{Chosen, choose};
use crate::fit::{Setting, beats, clearly_smaller};
use crate::init;
use crate::normal::Linear;
use crate::params::Plan;
use crate::recipe::Recipe;
use crate::rng::{Stream, Use, stream};
use crate::solver::budget::Watch;
use crate::solver::descent::Split;
use crate::solver::reduced::{HeadPlan, Reduced};
use crate::solver::varpro::{Frame, Settled, Stage, settle};

/// Penalties from strong to weak, and the one that starts are compared at.
pub(crate) const ALPHAS: [f64; 3] = [1e-3, 1e-4, 1e-5];
const START_ALPHA: f64 = 1e-3;
/// Without rows to choose by, one penalty in the middle has to do.
const BLIND_ALPHA: f64 = 1e-4;

/// Steps from each start before they are compared.
const START_STEPS: usize = 6;
/// Rounds of re-weighting by slopes.
const REWEIGHTINGS: usize = 3;

/// Shares of the largest relevance below which columns are dropped, largest first, and the loss this may cost.
const DROPS: [f32; 4] = [0.1, 0.05, 0.02, 0.005];
const UNNOTICED: f64 = 0.0005;

/// What more columns must gain over fewer.
const WORTH_MORE_COLUMNS: f64 = 0.003;

/// Features of several scales: from that of the relevances to this many times finer, and what it must gain to learn
/// those.
const REACH: f32 = 4.0;
const WORTH_SPREADING: f64 = 0.003;

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

/// One trained network of the committee.
pub(crate) struct Member {
    pub(crate) map: FeatureMap,
    pub(crate) weights: Weights,
    pub(crate) loss: f64,
    pub(crate) baseline: f64,
    pub(crate) held_out: usize,
    pub(crate) alpha: f64,
    pub(crate) beats_constant: bool,
    pub(crate) guide: Guide,
}

/// What later members need not find out again.
pub(crate) struct Guide {
    /// Relevances the first member settled on, spread over all columns.
    relevances: Vec<f32>,
    /// Over how many scales learned features start, and fresh ones are spread: 1 for one, else up to this factor.
    reach: f32,
    fresh_reach: f32,
    pub(crate) linear: Linear,
}

/// What a member starts from.
pub(crate) enum Origin<'a> {
    /// The first: its own relevances, and the losses of the held-out rows with them.
    Settled(Settled, Vec<f64>),
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

/// What the frequencies are learned from, and what came of it.
struct Learning {
    settled: Settled,
    /// None where frequencies stay as drawn.
    learned: Option<Settled>,
    reach: f32,
}

impl<'a> Trial<'a> {
    /// Members differ in everything that is drawn.
    pub(crate) fn new(setting: Setting<'a>, plan: &'a Plan, recipe: &'a Recipe, number: usize) -> Self {
        let split = Split::new(setting.rows, plan.validation_fraction, seed(plan, number));
        let search = Split {
            train: split.train[..recipe.search_rows.min(split.train.len())].to_vec(),
            validation: split.validation.clone(),
        };
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

    /// A few steps from each start; the one with the smallest validation loss.
    fn best_start(&self, watch: &mut Watch<'_>) -> Settled {
        let (map, _) = self.first_draw();
        let d = map.support.len() as f32;
        let range: Vec<f32> = map.support.iter().map(|&j| self.setting.range[j]).collect();
        let even = |scale: f32| vec![scale / d.sqrt(); map.support.len()];
        let mut starts = vec![even(1.0), even(3.0), init::constant(&range, map.columns())];
        starts.push(self.reweighted(&map, even(1.5)));
        let alphas = [if self.split.validation.is_empty() { BLIND_ALPHA } else { START_ALPHA }];
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

    /// Whether there are rows to judge by that it does not learn from.
    pub(crate) fn holds_out(&self) -> bool {
        !self.split.validation.is_empty()
    }

    /// The loss of every held-out row with the head of `settled`.
    pub(crate) fn row_losses(&self, settled: &Settled) -> Vec<f64> {
        self.losses_with(settled, self.linear)
    }

    fn losses_with(&self, settled: &Settled, linear: Linear) -> Vec<f64> {
        let (problem, Frame { map, theta }) = (self.setting.problem, &settled.frame);
        let head = HeadPlan { alpha: settled.alpha, linear };
        let (weights, _) = Reduced::new(problem, &self.search.train, head).head(map, theta);
        row_losses(problem, map, &weights, self.split.judges())
    }

    /// Takes up the factor of the linear terms that the held-out rows clearly prefer, and settles with it. Regressions
    /// only: few rows of several classes mislead it.
    fn with_linear(&mut self, settled: Settled, mut losses: Vec<f64>, watch: &mut Watch<'_>) -> Settled {
        let regression = self.plan.linear && !self.plan.loss.is_classification();
        if !regression || self.range.is_none() || watch.stopped() {
            return settled;
        }
        let mut best = self.linear;
        for factor in LINEAR_FACTORS {
            let others = self.losses_with(&settled, factor);
            let much = others.iter().sum::<f64>() < (1.0 - WORTH_LINEAR) * losses.iter().sum::<f64>();
            if much && clearly_smaller(&others, &losses, SURE_OF_LINEAR) {
                (best, losses) = (factor, others);
            }
        }
        if best == self.linear {
            return settled;
        }
        self.linear = best;
        self.settle(settled.frame, &[settled.alpha], false, watch)
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

    /// The relevances alone, with frequencies as drawn.
    pub(crate) fn relevances(&self, watch: &mut Watch<'_>) -> Settled {
        let start = self.best_start(watch);
        self.settle(start.frame, &self.alphas, false, watch)
    }

    /// The rest of the course: drop, learn, finish. Later members settle first, guided by the first.
    pub(crate) fn member(mut self, origin: Origin<'_>, watch: &mut Watch<'_>) -> Member {
        let (map, mut rng) = self.first_draw();
        let (learning, fresh_reach) = match origin {
            Origin::Settled(settled, losses) => {
                let settled = self.with_linear(settled, losses, watch);
                let fewer = drop_columns(self.setting.problem, &self.search, &settled, self.linear);
                (self.best_learning(settled, fewer, &mut rng, watch), None)
            }
            Origin::Guide(guide) => {
                self.linear = guide.linear;
                let theta = pick(&map, &guide.relevances);
                let settled = self.settle(Frame { map, theta }, &self.alphas, false, watch);
                let fewer = restrict(&settled, &guide.relevances);
                let learned = (self.recipe.learned > 0)
                    .then(|| self.learn(&fewer, guide.reach, &self.alphas, &mut rng, watch));
                (Learning { settled: fewer, learned, reach: guide.reach }, Some(guide.fresh_reach))
            }
        };
        let (problem, split) = (self.setting.problem, &self.split);
        let (frame, found, fresh_reach) = self.finish(&learning, fresh_reach, &rng, watch);
        let floor = self.setting.constant_weights(&frame.map);
        let judges = split.judges();
        let Learning { settled, reach, .. } = learning;
        Member {
            baseline: mean_loss(problem, &frame.map, &floor, judges),
            beats_constant: beats(problem, &frame.map, &found.weights, &floor, judges),
            weights: found.on_all(problem, split, self.setting.rows, &frame, self.linear),
            map: frame.map,
            loss: found.loss,
            held_out: split.validation.len(),
            alpha: found.alpha,
            guide: Guide {
                relevances: settled.frame.map.spread(&settled.frame.theta),
                reach,
                fresh_reach,
                linear: self.linear,
            },
        }
    }

    fn settle(&self, frame: Frame, alphas: &[f64], spectrum: bool, watch: &mut Watch<'_>) -> Settled {
        let stage = Stage { alphas, steps: self.recipe.steps, spectrum, linear: self.linear };
        settle(self.setting.problem, &self.search, frame, &stage, watch)
    }

    /// Frequencies learned for the relevances of `from`, starting from features of `reach` scales.
    fn learn(
        &self,
        from: &Settled,
        reach: f32,
        alphas: &[f64],
        rng: &mut Stream,
        watch: &mut Watch<'_>,
    ) -> Settled {
        let frame = self.redraw(&from.frame, self.recipe.learned, reach, rng);
        self.settle(frame, alphas, true, watch)
    }

    /// Learned from one scale or several, on few columns or all: what does best on the held-out rows.
    fn best_learning(
        &self,
        settled: Settled,
        fewer: Settled,
        rng: &mut Stream,
        watch: &mut Watch<'_>,
    ) -> Learning {
        if self.recipe.learned == 0 {
            return Learning { settled: fewer, learned: None, reach: 1.0 };
        }
        let even = self.learn(&fewer, 1.0, &self.alphas, rng, watch);
        // A function with detail on several scales is learned better from features of several scales.
        let nearby = [even.alpha * 10.0, even.alpha];
        let near = if self.alphas.len() > 1 { &nearby[..] } else { &self.alphas };
        let spread = (!watch.stopped()).then(|| self.learn(&fewer, REACH, near, rng, watch));
        let (short, reach) = match spread {
            Some(spread) if spread.loss < even.loss * (1.0 - WORTH_SPREADING) => (spread, REACH),
            _ => (even, 1.0),
        };
        // A column that the relevances alone can do without may still be of use to learned frequencies.
        let undecided = fewer.frame.theta.len() < settled.frame.theta.len();
        let long =
            (undecided && !watch.stopped()).then(|| self.learn(&settled, reach, &[short.alpha], rng, watch));
        match long {
            Some(long) if long.loss < short.loss * (1.0 - WORTH_MORE_COLUMNS) => {
                Learning { settled, learned: Some(long), reach }
            }
            _ => Learning { settled: fewer, learned: Some(short), reach },
        }
    }

    /// Learned and fresh features together, and their head. Fresh features have one scale or several: the first member
    /// tries both ways, the others follow. Once stopped, what has been learned has to do.
    fn finish(
        &self,
        learning: &Learning,
        fresh_reach: Option<f32>,
        rng: &Stream,
        watch: &Watch<'_>,
    ) -> (Frame, Chosen, f32) {
        let Learning { settled, learned, reach } = learning;
        let alpha = learned.as_ref().map_or(settled.alpha, |l| l.alpha);
        let head = HeadPlan { alpha, linear: self.linear };
        let with = |fresh: Option<&Frame>, range| {
            let frame = join(&settled.frame, learned.as_ref().map(|l| &l.frame), fresh);
            let found = choose(self.setting.problem, &self.split, &frame, head, range);
            (frame, found)
        };
        let first_reach = fresh_reach.unwrap_or(*reach);
        if watch.stopped() || self.recipe.fresh == 0 {
            let kept = learned.is_none().then_some(&settled.frame);
            let (frame, found) = with(kept, self.range.filter(|_| !watch.stopped()));
            return (frame, found, first_reach);
        }
        let spread = |reach: f32| {
            let fresh = self.redraw(&settled.frame, self.recipe.fresh, reach, &mut rng.clone());
            let (frame, found) = with(Some(&fresh), self.range);
            (frame, found, reach)
        };
        let first = spread(first_reach);
        let other = if first_reach == 1.0 { REACH } else { 1.0 };
        match fresh_reach.is_none().then(|| spread(other)) {
            Some(second) if second.1.loss < first.1.loss => second,
            _ => first,
        }
    }

    /// Other frequencies for the same relevances, from their own scale to `reach` times it.
    fn redraw(&self, frame: &Frame, features: usize, reach: f32, rng: &mut Stream) -> Frame {
        let map = self.setting.draw(self.plan, features, rng);
        let drawn = Frame { theta: vec![1.0; map.support.len()], map };
        let kept = drawn.keep(|j, _| frame.map.support.contains(&j));
        Frame { theta: frame.theta.clone(), ..kept.spread(reach) }
    }
}

/// The seed of a committee's network; the first one has the plan's own.
pub(crate) fn seed(plan: &Plan, number: usize) -> u64 {
    plan.seed.wrapping_add((number as u64) << 40)
}

/// Values of the supported columns.
fn pick(map: &FeatureMap, all: &[f32]) -> Vec<f32> {
    map.support.iter().map(|&j| all[j]).collect()
}

/// On the columns that have a relevance in `guide`.
fn restrict(settled: &Settled, guide: &[f32]) -> Settled {
    Settled { frame: settled.frame.keep(|j, _| guide[j] != 0.0), ..settled.clone() }
}

/// Drops as many small relevances as the held-out rows do not notice.
fn drop_columns(problem: &Problem<'_>, split: &Split, settled: &Settled, linear: Linear) -> Settled {
    let largest = settled.frame.theta.iter().fold(0.0, |m: f32, t| m.max(t.abs()));
    if split.validation.is_empty() || largest == 0.0 {
        return settled.clone();
    }
    let mut tried = settled.frame.theta.len();
    for share in DROPS {
        let frame = settled.frame.keep(|_, theta| theta.abs() >= share * largest);
        if frame.theta.len() == tried || frame.theta.len() == settled.frame.theta.len() {
            continue;
        }
        tried = frame.theta.len();
        let head = HeadPlan { alpha: settled.alpha, linear };
        let (weights, _) = Reduced::new(problem, &split.train, head).head(&frame.map, &frame.theta);
        let loss = mean_loss(problem, &frame.map, &weights, &split.validation);
        if loss <= settled.loss * (1.0 + UNNOTICED) {
            return Settled { frame, loss, alpha: settled.alpha };
        }
    }
    settled.clone()
}

/// One frame of the learned and the fresh features. Relevances carry the size of the frequencies: those of a column
/// have the root mean square they would have when drawn.
fn join(settled: &Frame, learned: Option<&Frame>, fresh: Option<&Frame>) -> Frame {
    let parts: Vec<&Frame> = learned.into_iter().chain(fresh).collect();
    let s: usize = parts.iter().map(|p| p.map.features()).sum();
    let columns = settled.theta.len();
    let (mut theta, mut omega) = (vec![0.0; columns], vec![0.0; columns * s]);
    for a in 0..columns {
        let row = &mut omega[a * s..(a + 1) * s];
        let mut at = 0;
        for part in &parts {
            let k = part.map.features();
            row[at..at + k].iter_mut().zip(part.frequencies(a)).for_each(|(o, w)| *o = w * part.theta[a]);
            at += k;
        }
        // Learned frequencies have moved from what was drawn; the settled frame's still are that.
        let drawn = root_mean_square(settled.frequencies(a));
        theta[a] = (root_mean_square(row) / drawn) as f32;
        if theta[a] > 0.0 {
            row.iter_mut().for_each(|o| *o /= theta[a]);
        }
    }
    let phase = parts.iter().flat_map(|p| p.map.phase.iter()).copied().collect();
    let map = FeatureMap::on(settled.map.columns(), settled.map.support.to_vec(), omega, phase);
    Frame { map, theta }
}

fn root_mean_square(values: &[f32]) -> f64 {
    (values.iter().map(|&v| (v as f64).powi(2)).sum::<f64>() / values.len() as f64).sqrt().max(1e-30)
}
