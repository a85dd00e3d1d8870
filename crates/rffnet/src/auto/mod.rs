//! The default algorithm, on one page: an ensemble of models trained by variable projection, whose predictions are averaged.
//!
//! Skewed columns become symmetric and long tails are soft-clipped (`transform/robust.rs`), unless standardisation alone is
//! better. Then every member for itself, with validation rows and random numbers of its own, finds
//!
//! 0. where columns are many for the rows, the **columns** that matter (`screen/`): those of the lasso and of significant
//!    products, if that is better;
//! 1. **relevances** (`search.rs`): L-BFGS from relevances that slopes re-weight; columns of small relevance are dropped,
//!    unless all are better;
//! 2. **AGOP metric** (`agop.rs`): frequencies are drawn from N(0, M), M the average gradient outer product, if that is better;
//! 3. **learned frequencies** (`member.rs`): some frequencies are learned by L-BFGS, random ones stand beside them, down to
//!    finer length scales;
//! 4. **head** (`head.rs`): the penalty is chosen on validation;
//! 5. **partitions** (`partitions.rs`): cells of the rows stand beside the cosines in one head, if that is better. The head is
//!    solved once more, on all rows.
//!
//! *Better* has one meaning: the validation loss is lower than the simpler candidate's by half a standard error of the
//! difference, row by row (`Fitter::better`). Sizes come from `sizes.rs`, every other number from `constants.rs`.

mod agop;
pub(crate) mod constants;
mod fitter;
mod head;
mod in_two_steps;
mod member;
pub(crate) mod outline;
mod partitions;
mod screen;
mod search;
pub(crate) mod sizes;

use crate::Matrix;
use crate::params::VarPro;
use crate::problem::{Columns, Problem};
use crate::solver::monitor::{Monitor, Shared};
use crate::solver::{History, Observer, Stopped};
use crate::training::{Trained, Training};
use crate::transform::Transforms;
use crate::transform::statistics::ColumnStatistics;
pub(crate) use fitter::{Fitter, member_seed};
use in_two_steps::in_two_steps;
use member::{Finished, Member};
use sizes::Sizes;

/// The ensemble and its column transforms.
pub(crate) fn train(
    training: Training<'_>,
    statistics: &ColumnStatistics,
    settings: &VarPro,
    budget: Option<f64>,
    observer: &mut dyn Observer,
) -> (Transforms, Trained) {
    let Training { problem, rows, common, .. } = training;
    let shape = (rows.len(), training.support().len());
    let sizes = |most| Sizes::new(common, settings, shape, problem.outputs, most);
    let whole = sizes(f64::INFINITY);
    let timed = budget.map(|seconds| (seconds, outline::rate()));
    let sizes = timed.map_or(whole.clone(), |(seconds, rate)| sizes(seconds * rate));
    let end = timed.map(|(seconds, rate)| seconds - sizes.members as f64 * sizes.heads() / rate);
    let shared = Shared::new(end, sizes.work(), problem.unit);
    if sizes != whole {
        shared.cut();
    }
    let mut monitor = Monitor::new(&shared, Some(observer));
    let tails = (sizes.constants.long_tail, sizes.constants.soft_clip);
    let robust = statistics.robust(tails, problem.columns.x, rows, |i| problem.weight(i));
    let standardised = standardised_is_better(statistics, &robust, training, &sizes, &mut monitor);
    let columns = if standardised { statistics } else { &robust };
    let trained = columns.transformed(training, |training| {
        trained(ensemble(training, &sizes, &mut monitor), &columns.transforms, &shared)
    });
    (columns.transforms.clip(&columns.low, &columns.range), trained)
}

/// Whether columns that are only standardised are better, with the relevances that the first member starts from.
fn standardised_is_better(
    plain: &ColumnStatistics,
    robust: &ColumnStatistics,
    training: Training<'_>,
    sizes: &Sizes,
    monitor: &mut Monitor<'_>,
) -> bool {
    let judge = Fitter::new(training, sizes, 0);
    if robust.transforms.is_plain() || !judge.validates() {
        return false;
    }
    let losses = |at: usize, monitor: &mut Monitor<'_>| {
        [plain, robust][at].transformed(training, |training| {
            let fitter = Fitter::new(training, sizes, 0);
            fitter.solve(fitter.start(monitor), Some(fitter.alpha()), monitor).losses()
        })
    };
    let losses =
        in_two_steps(2, 2, monitor, |at, monitor| Some(losses(at, monitor)), |_, losses, _| Some(losses));
    judge.better(&losses[0], &losses[1])
}

impl ColumnStatistics {
    /// Calls `work` with the columns transformed: as a copy while it lasts, unless they are only standardised, which is done
    /// whenever they are read.
    fn transformed<T>(&self, training: Training<'_>, work: impl FnOnce(Training<'_>) -> T) -> T {
        if self.transforms.is_plain() {
            return work(training);
        }
        let x = training.problem.columns.x;
        let (copy, identity) = (self.transforms.applied(x), Transforms::identity(x.columns()));
        let x = Matrix::new(&copy, x.rows(), x.columns()).expect("as many cells as before");
        let problem = Problem { columns: Columns { x, transforms: &identity }, ..training.problem.clone() };
        work(Training { problem: &problem, ..training })
    }
}

/// The members: what they learn, and their heads.
fn ensemble<'a>(training: Training<'a>, sizes: &'a Sizes, monitor: &mut Monitor<'_>) -> Vec<Finished<'a>> {
    let shared = monitor.shared;
    // What other members than the first have come to when the fit is interrupted is chance.
    let wanted = |number| number == 0 || shared.reason() != Some(Stopped::Interrupted);
    let mut members = in_two_steps(
        sizes.members,
        sizes.heads_at_a_time(),
        monitor,
        |number, monitor| Member::learn(Fitter::new(training, sizes, number), monitor),
        |number, member, monitor| wanted(number).then(|| member.finish(monitor)),
    );
    members.retain(|finished| wanted(finished.member.fitter.number));
    members
}

/// The members as one model; its losses are their means.
fn trained(members: Vec<Finished<'_>>, transforms: &Transforms, shared: &Shared) -> Trained {
    let first = &members[0].member.fitter;
    let mean = |of: fn(&Finished<'_>) -> f64| {
        first.training.problem.unit * members.iter().map(of).sum::<f64>() / members.len() as f64
    };
    let steps = shared.steps(members.iter().map(|finished| finished.member.fitter.number));
    Trained {
        stopped: shared.reason().unwrap_or(Stopped::Converged),
        epochs: steps.len(),
        best_epoch: steps.len(),
        loss: mean(|member| member.loss),
        baseline: mean(|member| member.baseline),
        beats_constant: members.iter().any(|member| member.beats_constant),
        validation_rows: first.split.validation.len(),
        chosen: chosen(&members, transforms),
        history: History::of(&steps),
        members: members.into_iter().map(|member| member.network).collect(),
    }
}

/// One line for people: sizes from the data's shape, the rest chosen on validation.
fn chosen(members: &[Finished<'_>], transforms: &Transforms) -> String {
    let Finished { member: first, network: (map, _), .. } = &members[0];
    let training = first.fitter.training;
    let ensemble = match members.len() {
        1 => "single model".into(),
        many => format!("ensemble of {many} members"),
    };
    let (features, kept, columns) = (map.features(), map.support.len(), training.range.len());
    let random = features - first.learned;
    let encoded = if columns == training.table_columns { "" } else { " encoded" };
    let agop = if first.metric.is_full() { ", AGOP metric" } else { "" };
    let alphas = members.iter().map(|finished| finished.member.alpha);
    let (least, most) = alphas.fold((f64::INFINITY, 0.0), |(least, most), a| (a.min(least), a.max(most)));
    let alpha = if least < most { format!("{least:.0e} to {most:.0e}") } else { format!("{most:.0e}") };
    let transforms = transforms.describe();
    let of = |finished: &Finished<'_>| finished.network.0.partition_count();
    let partitions = match members.iter().map(of).max() {
        None | Some(0) => String::new(),
        Some(count) => match members.iter().filter(|finished| of(finished) > 0).count() {
            with if with == members.len() => format!(", {count} partitions"),
            with => format!(", {count} partitions in {with} of them"),
        },
    };
    let features = format!("{features} Fourier features ({} learned, {random} random)", first.learned);
    format!(
        "{ensemble}, {features}, {kept} of {columns}{encoded} columns{agop}{transforms}{partitions}, alpha {alpha}"
    )
}
