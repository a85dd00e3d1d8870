//! Training by variable projection: search with few features, learn the spectrum, finish with many; several times over.
//!
//! Each member of the committee holds out other rows and draws other frequencies:
//!
//! 1. **start**: several scales of the relevances, and relevances re-weighted by the slopes of a first fit, a few steps
//!    each; the best on the held-out rows goes on (later members start from the first one's relevances);
//! 2. **settle**: L-BFGS over the relevances, penalties from strong to weak; the first member does so with the columns
//!    in several shapes, and takes the safest unless the held-out rows clearly prefer another;
//! 3. **drop** columns whose absence the held-out rows do not notice;
//! 4. **turn**: frequencies follow the directions in which the network changes, where the held-out rows like that; of many
//!    rows, few are looked at first, and where turning takes much off their loss, 1 and 2 are left out;
//! 5. **learn**: frequencies and phases join, from features of one scale or, where that does better, of several; later
//!    members take turns with what does about as well. Where turned features explain it all as drawn, nothing is learned;
//! 6. **finish**: learned and fresh features together, the penalty chosen on the held-out rows, the head solved once
//!    more on all rows.

use crate::auto::member::{ALPHAS, Member, Origin, Source, Trial};
use crate::auto::recipe::Recipe;
use crate::fit::{Setting, Trained, clearly_smaller};
use crate::params::Plan;
use crate::ridge::Linear;
use crate::solver::monitor::Watch;
use crate::solver::{Observer, Stopped};

/// Standard errors by which the held-out rows must prefer columns nearer to their own shape, which are less safe with far
/// rows.
const SURE: f64 = 0.5;

/// The committee, in the setting that settles best, and which it was. The last setting is the safest with far rows.
pub(crate) fn train(
    settings: &[Setting<'_>],
    plan: &Plan,
    budget: Option<f64>,
    observer: &mut dyn Observer,
) -> (usize, Trained) {
    let first = &settings[0];
    let recipe = Recipe::new(plan, first.rows.len(), first.support().len(), first.problem.outputs);
    let planned = (recipe.committee + settings.len() - 1) * ALPHAS.len() * recipe.steps.min(20);
    let mut watch = Watch::new(observer, budget, planned, first.problem.unit);
    let mut best: Option<(usize, Source, Vec<f64>)> = None;
    for (at, &setting) in settings.iter().enumerate().rev() {
        if best.is_some() && watch.stopped() {
            break;
        }
        let trial = Trial::new(setting, plan, &recipe, 0);
        let held_out = trial.holds_out();
        let source = trial.source(&mut watch);
        let losses = trial.row_losses(&source);
        let better = |before: &[f64]| match (is_finite(&losses), is_finite(before)) {
            (true, true) => held_out && clearly_smaller(&losses, before, SURE),
            (now, then) => now && !then,
        };
        if best.as_ref().is_none_or(|(_, _, before)| better(before)) {
            best = Some((at, source, losses));
        }
    }
    let (at, source, losses) = best.expect("there is a setting");
    (at, committee(settings[at], plan, &recipe, Origin::Source(source, losses), &mut watch))
}

fn is_finite(losses: &[f64]) -> bool {
    losses.iter().all(|loss| loss.is_finite())
}

fn committee(
    setting: Setting<'_>,
    plan: &Plan,
    recipe: &Recipe,
    origin: Origin<'_>,
    watch: &mut Watch<'_>,
) -> Trained {
    let trial = |number: usize| Trial::new(setting, plan, recipe, number);
    let mut members = vec![trial(0).member(origin, watch).expect("the first is always finished")];
    let count = if members[0].left < recipe.alone { 1 } else { recipe.committee };
    for number in 1..count {
        if watch.stopped() {
            break;
        }
        members.extend(trial(number).member(Origin::Guide(&members[0].guide), watch));
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
        chosen: chosen(recipe, &members, setting.rows.len(), setting.shape),
        networks: members.into_iter().map(|m| (m.map, m.weights)).collect(),
    }
}

/// One line for people: sizes from the data's shape, the rest from the held-out rows.
fn chosen(recipe: &Recipe, members: &[Member], rows: usize, shape: &str) -> String {
    let networks = match members.len() {
        1 => "1 network".into(),
        many => format!("the average of {many} networks"),
    };
    let first = &members[0];
    let kept = span(members.iter().map(|m| m.map.support.len() as f64), |kept| kept.to_string());
    let columns = first.map.columns();
    let learned = first.learned;
    let searched = match recipe.search_rows {
        some if learned > 0 && some < rows => format!(" on {some} rows"),
        _ => String::new(),
    };
    let linear = match first.guide.linear {
        Linear(factor) if factor > 1.0 => format!(", linear terms times {factor}"),
        _ => String::new(),
    };
    let turned = match members.iter().filter(|m| m.guide.is_turned()).count() {
        0 => String::new(),
        all if all == members.len() => ", turned".into(),
        some => format!(", {some} turned"),
    };
    let alpha = span(members.iter().map(|m| m.alpha), |alpha| format!("{alpha:.0e}"));
    let features = first.map.features();
    let drawn = features - learned;
    format!(
        "{networks} of {features} features ({learned} learned{searched}, {drawn} drawn), {kept} of {columns} columns in them{turned}{shape}{linear}, alpha {alpha}",
    )
}

/// The smallest and the largest, or the one that both look like.
fn span(values: impl Iterator<Item = f64> + Clone, show: impl Fn(f64) -> String) -> String {
    let (least, most) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max));
    let (least, most) = (show(least), show(most));
    if least == most { most } else { format!("{least} to {most}") }
}
