//! The default algorithm, on one page: an ensemble of models trained by variable projection, whose predictions are averaged.
//!
//! 1. **transforms** (`transform/candidates.rs`): skewed columns become symmetric and long tails are soft-clipped, unless
//!    standardisation alone is better;
//! 2. **relevances** (`search.rs`): L-BFGS from relevances that slopes re-weight; columns of small relevance are dropped unless
//!    all are better;
//! 3. **AGOP metric** (`agop.rs`): frequencies are drawn from N(0, M), M the average gradient outer product, if that is better;
//! 4. **learned frequencies** (`member.rs`): some frequencies are learned by L-BFGS, random ones stand beside them;
//! 5. **head** (`head.rs`): finer random features double their number for as long as that is better, and the head is solved
//!    once more, on all rows.
//!
//! 2 to 4 are done by each member for itself, with validation rows and frequencies of its own, and side by side. *Better* has
//! one meaning: the validation loss is lower than the simpler candidate's by half a standard error of the difference, row by
//! row (`Fitter::better`). Sizes come from `sizes.rs`, every other number from `constants.rs`.

mod agop;
pub(crate) mod constants;
mod fitter;
mod head;
mod member;
pub(crate) mod outline;
mod search;
pub(crate) mod sizes;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Matrix;
use crate::features::Network;
use crate::params::VarPro;
use crate::problem::{Columns, Problem};
use crate::solver::monitor::{Deadline, Monitor, Shared, Steps};
use crate::solver::{Observer, Stopped};
use crate::training::{Trained, Training};
use crate::transform::Transforms;
use crate::transform::candidates::Candidate;
use crate::transform::statistics::ColumnStatistics;
use crate::validation::beats_constant;
pub(crate) use fitter::{Fitter, member_seed};
use head::Solved;
use member::Member;
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
    let (sizes, deadline) = match budget {
        Some(seconds) => {
            let rate = outline::rate();
            let sizes = sizes(seconds * rate);
            let last = sizes.members as f64 * sizes.heads(sizes.learned + sizes.random) / rate;
            (sizes, Some(Deadline { seconds, last, rate }))
        }
        None => (whole.clone(), None),
    };
    let shared = Shared::new(deadline, sizes.work(), problem.unit);
    if sizes != whole {
        shared.cut();
    }
    let mut monitor = Monitor::new(&shared, Some(observer));
    let tails = (sizes.constants.long_tail, sizes.constants.soft_clip);
    let plain = statistics.plain();
    let robust = statistics.robust(tails, problem.columns.x, rows, |i| problem.weight(i));
    let robust = robust.filter(|robust| !plain.is_better(robust, training, &sizes, &mut monitor));
    monitor.take_steps();
    let candidate = robust.unwrap_or(plain);
    let trained = candidate.with(training, |training| {
        let members = ensemble(training, &sizes, &mut monitor);
        finished(training, members, monitor, &candidate.transforms.describe())
    });
    (candidate.transforms.clip(&statistics.low, &statistics.range), trained)
}

/// The members with their heads on a sample of the rows. They get finer random features, twice as many each time, for as
/// long as that is better for all of them together.
fn ensemble<'a>(
    training: Training<'a>,
    sizes: &'a Sizes,
    monitor: &mut Monitor<'_>,
) -> Vec<(Member<'a>, Solved)> {
    let learned = side_by_side(sizes.members, monitor, |number, monitor| {
        Member::learn(Fitter::new(training, sizes, number), monitor)
    });
    let first_alone = monitor.shared.is_one_enough() || monitor.shared.reason() == Some(Stopped::Interrupted);
    let needed = if first_alone { 1 } else { sizes.members };
    let mut members = Vec::new();
    for (member, steps) in learned.into_iter().take(needed) {
        if let Some(member) = member {
            members.push(member);
            monitor.put_steps(steps);
        }
    }
    // One after the other: large Gram matrices would not fit into the memory side by side.
    let solve = |members: &[Member<'_>], monitor: &mut _| {
        let solved: Vec<Solved> = members.iter().map(|member| member.solve(monitor)).collect();
        let losses = members.iter().zip(&solved).flat_map(|(member, solved)| member.fitter.losses(solved));
        (losses.collect::<Vec<f64>>(), solved)
    };
    let (mut losses, mut solved) = solve(&members, monitor);
    loop {
        let (fitter, features) = (&members[0].fitter, solved[0].features.map.features());
        let more = features.min(sizes.most.saturating_sub(features));
        let work = members.len() as f64 * sizes.heads(features + more);
        if 2 * more < features || !fitter.validates() || !monitor.affords(work) {
            break;
        }
        members.iter_mut().for_each(|member| member.grow(more));
        let grown = solve(&members, monitor);
        if !members[0].fitter.better(&grown.0, &losses) {
            break;
        }
        (losses, solved) = grown;
    }
    members.into_iter().zip(solved).collect()
}

/// What `work` makes of each number, and its steps, side by side on the threads there are: a thread that is free takes the
/// next one.
fn side_by_side<T: Send>(
    count: usize,
    monitor: &mut Monitor<'_>,
    work: impl Fn(usize, &mut Monitor<'_>) -> T + Sync,
) -> Vec<(T, Steps)> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let shared = monitor.shared;
    let work = |monitor: &mut Monitor<'_>| {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            monitor.first = number == 0;
            let result = work(number, monitor);
            done.lock().expect("no thread panics").push((number, (result, monitor.take_steps())));
        }
    };
    let before = monitor.take_steps();
    rayon::in_place_scope(|scope| {
        for _ in 1..count.min(rayon::current_num_threads()) {
            scope.spawn(|_| work(&mut Monitor::new(shared, None)));
        }
        work(monitor);
    });
    monitor.put_steps(before);
    monitor.first = true;
    let mut done = done.into_inner().expect("no thread panics");
    done.sort_by_key(|entry| entry.0);
    done.into_iter().map(|(_, result)| result).collect()
}

/// The members as one model, their heads on all rows; its losses are their means.
fn finished(
    training: Training<'_>,
    members: Vec<(Member<'_>, Solved)>,
    mut monitor: Monitor<'_>,
    transforms: &str,
) -> Trained {
    let problem = training.problem;
    let mean = |of: &dyn Fn(&(Member<'_>, Solved)) -> f64| {
        problem.unit * members.iter().map(of).sum::<f64>() / members.len() as f64
    };
    let beats = |(member, solved): &(Member<'_>, Solved)| {
        let map = &solved.features.map;
        let constant = training.constant_weights(map);
        let rows = member.fitter.split.judged_on();
        beats_constant(problem, solved.network(), Network::new(map, &constant), rows)
    };
    let loss = mean(&|(_, solved)| solved.loss);
    let baseline = mean(&|(member, solved)| member.fitter.baseline(&solved.features.map));
    let beats_constant = members.iter().any(beats);
    let validation_rows = members[0].0.fitter.split.validation.len();
    let chosen = chosen(&members, &training, transforms);
    let count = members.len();
    let finish = |(at, (Member { fitter, .. }, solved)): (usize, (Member<'_>, Solved))| {
        fitter.on_rows(solved, &fitter.head_rows((at, count)), &mut monitor)
    };
    let members = members.into_iter().enumerate().map(finish).collect();
    Trained {
        members,
        stopped: monitor.shared.reason().unwrap_or(Stopped::Converged),
        epochs: monitor.steps(),
        best_epoch: monitor.steps(),
        loss,
        baseline,
        beats_constant,
        validation_rows,
        chosen,
        history: monitor.history(),
    }
}

/// One line for people: sizes from the data's shape, the rest chosen on validation.
fn chosen(members: &[(Member<'_>, Solved)], training: &Training<'_>, transforms: &str) -> String {
    let (first, solved) = &members[0];
    let ensemble = match members.len() {
        1 => "single model".into(),
        many => format!("ensemble of {many} members"),
    };
    let (features, learned, rows) = (solved.features.map.features(), first.learned, first.fitter.sizes.rows);
    let sample = if rows < training.rows.len() { format!(" on {rows} rows") } else { String::new() };
    let features = match (learned, features - learned) {
        (0, random) => format!("{random} random Fourier features"),
        (learned, 0) => format!("{learned} Fourier features learned{sample}"),
        (learned, random) => {
            format!("{features} Fourier features ({learned} learned{sample}, {random} random)")
        }
    };
    let (kept, columns) = (solved.features.map.support.len(), training.range.len());
    let encoded = if columns == training.table_columns { "" } else { " encoded" };
    let agop = if first.metric.is_full() { ", AGOP metric" } else { "" };
    let alphas = || members.iter().map(|(_, solved)| solved.alpha);
    let (least, most) = (alphas().fold(f64::INFINITY, f64::min), alphas().fold(0.0, f64::max));
    let alpha = if least < most { format!("{least:.0e} to {most:.0e}") } else { format!("{most:.0e}") };
    format!("{ensemble}, {features}, {kept} of {columns}{encoded} columns{agop}{transforms}, alpha {alpha}")
}

impl Candidate {
    /// Whether it fits better than the less simple one, with the first member's relevances.
    fn is_better(
        &self,
        than: &Self,
        training: Training<'_>,
        sizes: &Sizes,
        monitor: &mut Monitor<'_>,
    ) -> bool {
        let judge = Fitter::new(training, sizes, 0);
        let mut losses = |candidate: &Self| {
            candidate.with(training, |training| {
                let fitter = Fitter::new(training, sizes, 0);
                let found = fitter.relevances(monitor);
                fitter.losses(&fitter.solve(found.features, found.alpha, None, monitor))
            })
        };
        judge.validates() && judge.better(&losses(self), &losses(than))
    }

    /// Calls `work` with the columns transformed: as a copy while it lasts, unless they are only standardised.
    fn with<T>(&self, training: Training<'_>, work: impl FnOnce(Training<'_>) -> T) -> T {
        let own = training.problem;
        let x = own.columns.x;
        let identity = Transforms::identity(x.columns());
        let columns = if self.transforms.is_plain() {
            Columns { x, transforms: &self.transforms }
        } else {
            let copy = self.copy.get_or_init(|| self.transforms.applied(x));
            let x = Matrix::new(copy, x.rows(), x.columns()).expect("as many cells as before");
            Columns { x, transforms: &identity }
        };
        let problem = Problem { columns, ..own.clone() };
        work(Training { problem: &problem, range: &self.range, ..training })
    }
}
