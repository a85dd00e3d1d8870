//! The default algorithm: an ensemble of models trained by variable projection, whose predictions are averaged.
//!
//! Each member holds out other rows and draws other frequencies:
//!
//! 1. **start** (`member/start.rs`): several scales of the relevances, and relevances re-weighted by the slopes of a first
//!    fit, a few steps each; the best on validation goes on (later members start from the first one's relevances);
//! 2. **relevances**: L-BFGS over the relevances, penalties from strong to weak. The first member does so with each
//!    candidate of column transforms, and takes the most robust to outlying rows unless another is significantly better;
//! 3. **drop** columns of small relevance whose removal does not raise the validation loss;
//! 4. **AGOP** (`member/agop.rs`): frequencies are drawn from N(0, M), M the average gradient outer product, while the
//!    validation loss improves. With many rows this is tried first in a pilot run on a subsample; where it takes much off
//!    the loss there, 1 and 2 are left out;
//! 5. **learned frequencies** (`member/learn.rs`): frequencies and phases join the variables, from features of one length
//!    scale or, where the validation loss is smaller, of several; later members alternate between sources of about equal
//!    loss. Where random features from the AGOP metric explain nearly all of the target, no frequencies are learned;
//! 6. **finish** (`member/finish.rs`): learned and random features together, the penalty chosen on validation, the head
//!    solved once more on all rows.

use crate::Matrix;
use crate::auto::member::{ALPHAS, MemberFit, Origin, Source, TrainedMember};
use crate::auto::recipe::Recipe;
use crate::params::VarPro;
use crate::problem::{Columns, Problem};
use crate::ridge::Linear;
use crate::solver::monitor::Monitor;
use crate::solver::{Observer, Stopped};
use crate::training::{Trained, Training};
use crate::transform::candidates::{Candidate, Change};
use crate::transform::statistics::ColumnStatistics;
use crate::transform::{ColumnTransform, Transforms};
use crate::validation::significantly_smaller;

/// Standard errors by which transforms that change the columns less must lower the validation loss: they are less robust to
/// outlying rows.
const LESS_TRANSFORMED_ERRORS: f64 = 0.5;

/// Multiplications that a Yeo-Johnson power costs in a pass, and a soft clip; and the share of a pass over the rows that taking them
/// anew may cost before a transformed copy of the columns is made.
const POWER: f64 = 6000.0;
const SOFT_CLIP: f64 = 600.0;
const MAY_COST: f64 = 0.05;

/// The ensemble and its column transforms: the most robust to outlying rows, unless others validate better.
pub(crate) fn train(
    training: Training<'_>,
    statistics: &ColumnStatistics,
    settings: &VarPro,
    budget: Option<f64>,
    observer: &mut dyn Observer,
) -> (Transforms, Trained) {
    let Training { problem, rows, common, .. } = training;
    let recipe = Recipe::new(common, settings, rows.len(), training.support().len(), problem.outputs);
    let plain = Candidate { transforms: statistics.transforms.clone(), range: statistics.range.clone() };
    let other = |change| statistics.candidate(change, problem.columns.x, rows, |i| problem.weight(i));
    // The last is the most robust to outlying rows.
    let candidates: Vec<Candidate> =
        [plain].into_iter().chain(Change::ALL.into_iter().filter_map(other)).collect();
    let planned = (recipe.members + candidates.len() - 1) * ALPHAS.len() * recipe.steps.min(20);
    let mut monitor = Monitor::new(observer, budget, planned, problem.unit);
    let mut best: Option<(&Candidate, Source, Vec<f64>)> = None;
    for candidate in candidates.iter().rev() {
        if best.is_some() && monitor.stopped() {
            break;
        }
        let (losses, source, validates) = candidate.with(training, &recipe, |training| {
            let first = MemberFit::new(training, &recipe, 0);
            let source = first.source(&mut monitor);
            (first.row_losses(&source), source, first.validates())
        });
        let better = |before: &[f64]| match (is_finite(&losses), is_finite(before)) {
            (true, true) => validates && significantly_smaller(&losses, before, LESS_TRANSFORMED_ERRORS),
            (now, then) => now && !then,
        };
        if best.as_ref().is_none_or(|(_, _, before)| better(before)) {
            best = Some((candidate, source, losses));
        }
    }
    let (candidate, source, losses) = best.expect("there is a candidate");
    let trained = candidate.with(training, &recipe, |training| {
        let transforms = candidate.transforms.describe();
        ensemble(training, &recipe, Origin::Source(source, losses), &transforms, &mut monitor)
    });
    (candidate.transforms.clip(&statistics.low, &statistics.range), trained)
}

impl Candidate {
    /// Calls `work` with the columns transformed: as a copy while it lasts, where taking powers anew in every pass would
    /// cost much.
    fn with<T>(&self, training: Training<'_>, recipe: &Recipe, work: impl FnOnce(Training<'_>) -> T) -> T {
        let own = training.problem;
        let x = own.columns.x;
        let (copy, identity);
        let columns = if self.cost() > MAY_COST * recipe.search_cost(x.columns()) {
            (copy, identity) = (self.transforms.applied(x), Transforms::identity(x.columns()));
            let x = Matrix::new(&copy, x.rows(), x.columns()).expect("as many cells as before");
            Columns { x, transforms: &identity }
        } else {
            Columns { x, transforms: &self.transforms }
        };
        let problem = Problem { columns, ..own.clone() };
        work(Training { problem: &problem, range: &self.range, ..training })
    }

    /// Multiplications that transforming a row takes.
    fn cost(&self) -> f64 {
        let of_column = |column: &ColumnTransform| {
            let power = column.power.is_some_and(|power| !power.is_clip());
            f64::from(power) * POWER + f64::from(column.soft_clip.is_some()) * SOFT_CLIP
        };
        self.transforms.columns().iter().map(of_column).sum()
    }
}

fn is_finite(losses: &[f64]) -> bool {
    losses.iter().all(|loss| loss.is_finite())
}

fn ensemble(
    training: Training<'_>,
    recipe: &Recipe,
    origin: Origin<'_>,
    transforms: &str,
    monitor: &mut Monitor<'_>,
) -> Trained {
    let member = |number: usize| MemberFit::new(training, recipe, number);
    let mut members = vec![member(0).train(origin, monitor).expect("the first is always finished")];
    let count = if members[0].unexplained < recipe.single_below { 1 } else { recipe.members };
    for number in 1..count {
        if monitor.stopped() {
            break;
        }
        members.extend(member(number).train(Origin::Guide(&members[0].guide), monitor));
    }
    let (count, unit) = (members.len() as f64, training.problem.unit);
    Trained {
        stopped: monitor.reason().unwrap_or(Stopped::Converged),
        epochs: monitor.steps,
        best_epoch: monitor.steps,
        loss: unit * members.iter().map(|m| m.loss).sum::<f64>() / count,
        baseline: unit * members.iter().map(|m| m.baseline).sum::<f64>() / count,
        beats_constant: members.iter().any(|m| m.beats_constant),
        validation_rows: members[0].validation_rows,
        history: std::mem::take(&mut monitor.history),
        chosen: chosen(recipe, &members, &training, transforms),
        members: members.into_iter().map(|m| (m.map, m.weights)).collect(),
    }
}

/// One line for people: sizes from the data's shape, the rest chosen on validation.
fn chosen(recipe: &Recipe, members: &[TrainedMember], training: &Training<'_>, transforms: &str) -> String {
    let ensemble = match members.len() {
        1 => "single model".into(),
        many => format!("ensemble of {many} members"),
    };
    let first = &members[0];
    let (features, learned) = (first.map.features(), first.learned);
    let searched = match recipe.search_rows {
        some if learned > 0 && some < training.rows.len() => format!(" learned on {some} rows"),
        _ => " learned".into(),
    };
    let random = features - learned;
    let features = match (learned, random) {
        (0, random) => format!("{random} random Fourier features"),
        (learned, 0) => format!("{learned} Fourier features{searched}"),
        (learned, random) => format!("{features} Fourier features ({learned}{searched}, {random} random)"),
    };
    let kept = range(members.iter().map(|m| m.map.support.len() as f64), |kept| kept.to_string());
    let columns = first.map.columns();
    let encoded = if columns == training.table_columns { "" } else { " encoded" };
    let agop = match members.iter().filter(|m| m.guide.uses_agop()).count() {
        0 => String::new(),
        all if all == members.len() => ", AGOP metric".into(),
        some => format!(", AGOP metric in {some}"),
    };
    let linear = match first.guide.linear {
        Linear(factor) if factor > 1.0 => format!(", linear terms times {factor}"),
        _ => String::new(),
    };
    let alpha = range(members.iter().map(|m| m.alpha), |alpha| format!("{alpha:.0e}"));
    format!(
        "{ensemble}, {features}, {kept} of {columns}{encoded} columns{agop}{transforms}{linear}, alpha {alpha}"
    )
}

/// The smallest and the largest, or the one that both look like.
fn range(values: impl Iterator<Item = f64> + Clone, show: impl Fn(f64) -> String) -> String {
    let (least, most) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max));
    let (least, most) = (show(least), show(most));
    if least == most { most } else { format!("{least} to {most}") }
}
