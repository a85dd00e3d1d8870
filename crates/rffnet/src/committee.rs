//! Training by variable projection: search with few features, learn the spectrum, finish with many; several times over.
//!
//! Each member of the committee holds out other rows and draws other frequencies:
//!
//! 1. **start**: several scales of the relevances, and relevances re-weighted by the slopes of a first fit, a few steps
//!    each, with columns of long tails as they are and bent; the best on the held-out rows goes on (later members start
//!    from the first one's relevances);
//! 2. **settle**: L-BFGS over the relevances, penalties from strong to weak;
//! 3. **drop** columns whose absence the held-out rows do not notice;
//! 4. **learn**: frequencies and phases join, from features of one scale or, where that does better, of several;
//! 5. **finish**: learned and fresh features together, the penalty chosen on the held-out rows, the head solved once
//!    more on all rows.

use crate::features::{FeatureMap, Problem, Weights, mean_loss, mean_squared_slopes};
use crate::finish::choose;
use crate::fit::{Setting, Trained, beats};
use crate::init;
use crate::params::Plan;
use crate::recipe::Recipe;
use crate::rng::{Stream, Use, stream};
use crate::solver::budget::Watch;
use crate::solver::descent::Split;
use crate::solver::reduced::{HeadPlan, Reduced};
use crate::solver::varpro::{Frame, Settled, Stage, settle};
use crate::solver::{Observer, Stopped};

/// Penalties from strong to weak, and the one that starts are compared at.
const ALPHAS: [f64; 3] = [1e-3, 1e-4, 1e-5];
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

/// What more columns must gain over fewer, and straight columns over bent ones, which are safer with far rows.
const WORTH_MORE_COLUMNS: f64 = 0.003;
const WORTH_STRAIGHT: f64 = 0.01;

/// Features of several scales: from that of the relevances to this many times finer, and what it must gain to learn
/// those.
const REACH: f32 = 4.0;
const WORTH_SPREADING: f64 = 0.003;

/// The strongest penalty.
const STRONGEST: f64 = 10.0;
/// Few held-out rows cannot tell weak penalties apart: the weakest one is this over their number, for numbers and for
/// classes.
const WEAKEST: (f64, f64) = (1e-3, 1e-2);

/// One trained network of the committee.
struct Member {
    map: FeatureMap,
    weights: Weights,
    loss: f64,
    baseline: f64,
    held_out: usize,
    alpha: f64,
    beats_constant: bool,
    guide: Guide,
}

/// What later members need not find out again.
#[derive(Clone)]
struct Guide {
    /// Relevances the first member settled on, spread over all columns.
    relevances: Vec<f32>,
    /// Over how many scales learned features start, and fresh ones are spread: 1 for one, else up to this factor.
    reach: f32,
    fresh_reach: f32,
}

/// Which rows a member learns from, and the penalties it may use.
struct Trial {
    split: Split,
    /// The part of it that relevances and frequencies are learned on.
    search: Split,
    /// Penalties from strong to weak.
    alphas: Vec<f64>,
    /// For the final penalty, if there is something to choose by.
    range: Option<(f64, f64)>,
    rng: Stream,
}

/// The committee, in the setting that starts best: straight columns, or bent ones if there are such; which it was.
pub(crate) fn train(
    settings: &[Setting<'_>],
    plan: &Plan,
    budget: Option<f64>,
    observer: &mut dyn Observer,
) -> (usize, Trained) {
    let first = &settings[0];
    let recipe = Recipe::new(plan, first.rows.len(), first.support().len(), first.problem.outputs);
    let planned = recipe.committee * ALPHAS.len() * recipe.steps.min(20);
    let mut watch = Watch::new(observer, budget, planned, first.problem.unit);
    let mut starts: Vec<Settled> =
        settings.iter().map(|setting| setting.best_start(plan, &recipe, &mut watch)).collect();
    let at = match starts.as_slice() {
        [straight, bent] if straight.loss < bent.loss * (1.0 - WORTH_STRAIGHT) => 0,
        starts => starts.len() - 1,
    };
    let start = starts.swap_remove(at);
    (at, settings[at].committee(plan, &recipe, start.frame.theta, &mut watch))
}

impl Setting<'_> {
    fn committee(&self, plan: &Plan, recipe: &Recipe, start: Vec<f32>, watch: &mut Watch<'_>) -> Trained {
        let mut members: Vec<Member> = Vec::new();
        for number in 0..recipe.committee {
            if number > 0 && watch.stopped() {
                break;
            }
            let guide = members.first().map(|m| m.guide.clone());
            let member = self.member(plan, recipe, number, &start, guide, watch);
            // A network cut short would only spoil the average.
            if members.is_empty() || !watch.stopped() {
                members.push(member);
            }
        }
        let count = members.len() as f64;
        Trained {
            stopped: watch.reason().unwrap_or(Stopped::Converged),
            epochs: watch.steps,
            best_epoch: watch.steps,
            loss: self.problem.unit * members.iter().map(|m| m.loss).sum::<f64>() / count,
            baseline: self.problem.unit * members.iter().map(|m| m.baseline).sum::<f64>() / count,
            beats_constant: members.iter().any(|m| m.beats_constant),
            validation_rows: members[0].held_out,
            history: std::mem::take(&mut watch.history),
            chosen: chosen(recipe, &members, self.rows.len(), &self.problem.scale.bend),
            networks: members.into_iter().map(|m| (m.map, m.weights)).collect(),
        }
    }

    /// Members differ in everything that is drawn; the first one has the seed itself.
    fn trial(&self, plan: &Plan, recipe: &Recipe, number: usize) -> Trial {
        let seed = plan.seed.wrapping_add((number as u64) << 40);
        let split = Split::new(self.rows, plan.validation_fraction, seed);
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
        Trial { split, search, alphas, range, rng: stream(seed, Use::Frequencies) }
    }

    fn member(
        &self,
        plan: &Plan,
        recipe: &Recipe,
        number: usize,
        start: &[f32],
        guide: Option<Guide>,
        watch: &mut Watch<'_>,
    ) -> Member {
        let problem = self.problem;
        let Trial { split, search, alphas, range, mut rng } = self.trial(plan, recipe, number);
        let stage =
            |alphas, spectrum: bool| Stage { alphas, steps: recipe.steps, spectrum, linear: plan.linear };

        let map = self.draw(plan, recipe.search_features, &mut rng);
        let theta = guide.as_ref().map_or_else(|| start.to_vec(), |guide| pick(&map, &guide.relevances));
        let settled = settle(problem, &search, Frame { map, theta }, &stage(&alphas, false), watch);
        let fewer = match &guide {
            Some(guide) => restrict(&settled, &guide.relevances),
            None => drop_columns(problem, &search, &settled, plan.linear),
        };
        let (settled, learned, reach) = match &guide {
            _ if recipe.learned == 0 => (fewer, None, 1.0),
            Some(guide) => {
                let frame = self.redraw(plan, &fewer.frame, recipe.learned, guide.reach, &mut rng);
                let learned = settle(problem, &search, frame, &stage(&alphas, true), watch);
                (fewer, Some(learned), guide.reach)
            }
            None => {
                let mut learn = |from: &Settled, reach: f32, path: &[f64], watch: &mut Watch<'_>| {
                    let frame = self.redraw(plan, &from.frame, recipe.learned, reach, &mut rng);
                    settle(problem, &search, frame, &Stage { alphas: path, ..stage(&alphas, true) }, watch)
                };
                let even = learn(&fewer, 1.0, &alphas, watch);
                // A function with detail on several scales is learned better from features of several scales.
                let nearby = [even.alpha * 10.0, even.alpha];
                let near = if alphas.len() > 1 { &nearby[..] } else { &alphas };
                let spread = (!watch.stopped()).then(|| learn(&fewer, REACH, near, watch));
                let (short, reach) = match spread {
                    Some(spread) if spread.loss < even.loss * (1.0 - WORTH_SPREADING) => (spread, REACH),
                    _ => (even, 1.0),
                };
                // A column that the relevances alone can do without may still be of use to learned frequencies.
                let undecided = fewer.frame.theta.len() < settled.frame.theta.len();
                let long =
                    (undecided && !watch.stopped()).then(|| learn(&settled, reach, &[short.alpha], watch));
                match long {
                    Some(long) if long.loss < short.loss * (1.0 - WORTH_MORE_COLUMNS) => {
                        (settled, Some(long), reach)
                    }
                    _ => (fewer, Some(short), reach),
                }
            }
        };
        let relevances = settled.frame.map.spread(&settled.frame.theta);
        let head =
            HeadPlan { alpha: learned.as_ref().map_or(settled.alpha, |l| l.alpha), linear: plan.linear };
        let finish = |fresh: Option<&Frame>, range| {
            let frame = join(&settled.frame, learned.as_ref().map(|l| &l.frame), fresh);
            let found = choose(problem, &split, &frame, head, range);
            (frame, found)
        };
        // Fresh features of one scale or of several: the first member tries both ways, the others follow. Once
        // stopped, what has been learned has to do.
        let mut fresh_reach = guide.map_or(reach, |guide| guide.fresh_reach);
        let (frame, found) = if watch.stopped() || recipe.fresh == 0 {
            let kept = learned.is_none().then_some(&settled.frame);
            finish(kept, range.filter(|_| !watch.stopped()))
        } else {
            let with = |reach: f32| {
                let fresh = self.redraw(plan, &settled.frame, recipe.fresh, reach, &mut rng.clone());
                finish(Some(&fresh), range)
            };
            let first = with(fresh_reach);
            let other = if fresh_reach == 1.0 { REACH } else { 1.0 };
            let second = (number == 0).then(|| with(other));
            match second {
                Some(second) if second.1.loss < first.1.loss => {
                    fresh_reach = other;
                    second
                }
                _ => first,
            }
        };
        let floor = self.constant_weights(&frame.map);
        let judges = if split.validation.is_empty() { &split.train } else { &split.validation };
        Member {
            baseline: mean_loss(problem, &frame.map, &floor, judges),
            beats_constant: beats(problem, &frame.map, &found.weights, &floor, judges),
            weights: found.on_all(problem, &split, self.rows, &frame, plan.linear),
            map: frame.map,
            loss: found.loss,
            held_out: split.validation.len(),
            alpha: found.alpha,
            guide: Guide { relevances, reach, fresh_reach },
        }
    }

    /// Other frequencies for the same relevances, from their own scale to `reach` times it.
    fn redraw(&self, plan: &Plan, frame: &Frame, features: usize, reach: f32, rng: &mut Stream) -> Frame {
        let drawn = Frame { map: self.draw(plan, features, rng), theta: vec![1.0; self.support().len()] };
        let kept = drawn.keep(|j, _| frame.map.support.contains(&j));
        Frame { theta: frame.theta.clone(), ..kept.spread(reach) }
    }

    /// A few steps from each start; the one with the smallest validation loss.
    fn best_start(&self, plan: &Plan, recipe: &Recipe, watch: &mut Watch<'_>) -> Settled {
        let Trial { search: split, mut rng, .. } = self.trial(plan, recipe, 0);
        let map = self.draw(plan, recipe.search_features, &mut rng);
        let d = map.support.len() as f32;
        let range: Vec<f32> = map.support.iter().map(|&j| self.range[j]).collect();
        let even = |scale: f32| vec![scale / d.sqrt(); map.support.len()];
        let mut starts = vec![even(1.0), even(3.0), init::constant(&range, map.columns())];
        starts.push(self.reweighted(plan, &map, even(1.5), &split));
        let alphas = [if split.validation.is_empty() { BLIND_ALPHA } else { START_ALPHA }];
        let stage = Stage {
            alphas: &alphas,
            steps: START_STEPS.min(recipe.steps),
            spectrum: false,
            linear: plan.linear,
        };
        let mut best: Option<Settled> = None;
        for theta in starts {
            let settled = settle(self.problem, &split, Frame { map: map.clone(), theta }, &stage, watch);
            if best.as_ref().is_none_or(|b| settled.loss < b.loss) {
                best = Some(settled);
            }
            if watch.stopped() {
                break;
            }
        }
        best.expect("there are starts")
    }

    /// Relevances in proportion to the slopes of the fit with the relevances before, of unchanged length: columns that
    /// act only through interactions rise out of the noise.
    fn reweighted(&self, plan: &Plan, map: &FeatureMap, start: Vec<f32>, split: &Split) -> Vec<f32> {
        let length = |theta: &[f32]| theta.iter().map(|t| t * t).sum::<f32>().sqrt();
        let wanted = length(&start);
        let mut theta = start;
        for _ in 0..REWEIGHTINGS {
            let head = HeadPlan { alpha: START_ALPHA, linear: plan.linear };
            let (weights, _) = Reduced::new(self.problem, &split.train, head).head(map, &theta);
            let without_linear = Weights { linear: Vec::new(), ..weights };
            let network = [(map, &without_linear)];
            let p = self.problem;
            let slopes = mean_squared_slopes(p.x, &p.scale, &network, &split.train, |i| p.weight(i));
            let next: Vec<f32> = map.support.iter().map(|&j| slopes[j].sqrt() as f32).collect();
            let size = length(&next);
            if !(size > 0.0 && size.is_finite()) {
                break;
            }
            theta = next.iter().map(|t| t * wanted / size).collect();
        }
        theta
    }
}

/// One line for people: sizes from the data's shape, the rest from the held-out rows.
fn chosen(recipe: &Recipe, members: &[Member], rows: usize, bend: &[f32]) -> String {
    let networks = match members.len() {
        1 => "1 network".into(),
        many => format!("the average of {many} networks"),
    };
    let first = &members[0];
    let kept = first.map.support.len();
    let columns = first.map.columns();
    let searched =
        if recipe.search_rows < rows { format!(" on {} rows", recipe.search_rows) } else { String::new() };
    let bent = match bend.iter().filter(|&&b| b > 0.0).count() {
        0 => String::new(),
        some => format!(", long tails of {some} columns bent"),
    };
    let alphas: Vec<String> = members.iter().map(|m| format!("{:.0e}", m.alpha)).collect();
    format!(
        "{networks} of {} features ({} learned{searched}, {} drawn), {kept} of {columns} columns in them{bent}, alpha {}",
        recipe.learned + recipe.fresh,
        recipe.learned,
        recipe.fresh,
        alphas.join(" ")
    )
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
fn drop_columns(problem: &Problem<'_>, split: &Split, settled: &Settled, linear: bool) -> Settled {
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
