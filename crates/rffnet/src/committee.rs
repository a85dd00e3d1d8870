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

use crate::fit::{Setting, Trained};
use crate::member::{ALPHAS, Member, Trial};
use crate::params::Plan;
use crate::recipe::Recipe;
use crate::solver::budget::Watch;
use crate::solver::varpro::Settled;
use crate::solver::{Observer, Stopped};

/// What straight columns must gain over bent ones, which are safer with far rows.
const WORTH_STRAIGHT: f64 = 0.01;

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
    let mut starts: Vec<Settled> = settings
        .iter()
        .map(|&setting| Trial::new(setting, plan, &recipe, 0).best_start(&mut watch))
        .collect();
    let at = match starts.as_slice() {
        [straight, bent] if straight.loss < bent.loss * (1.0 - WORTH_STRAIGHT) => 0,
        starts => starts.len() - 1,
    };
    let start = starts.swap_remove(at);
    (at, committee(settings[at], plan, &recipe, &start.frame.theta, &mut watch))
}

fn committee(
    setting: Setting<'_>,
    plan: &Plan,
    recipe: &Recipe,
    start: &[f32],
    watch: &mut Watch<'_>,
) -> Trained {
    let mut members: Vec<Member> = Vec::new();
    for number in 0..recipe.committee {
        if number > 0 && watch.stopped() {
            break;
        }
        let guide = members.first().map(|m| &m.guide);
        let member = Trial::new(setting, plan, recipe, number).member(start, guide, watch);
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
        loss: setting.problem.unit * members.iter().map(|m| m.loss).sum::<f64>() / count,
        baseline: setting.problem.unit * members.iter().map(|m| m.baseline).sum::<f64>() / count,
        beats_constant: members.iter().any(|m| m.beats_constant),
        validation_rows: members[0].held_out,
        history: std::mem::take(&mut watch.history),
        chosen: chosen(recipe, &members, setting.rows.len(), &setting.problem.scale.bend),
        networks: members.into_iter().map(|m| (m.map, m.weights)).collect(),
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
