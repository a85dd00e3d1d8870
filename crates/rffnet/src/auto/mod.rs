//! The default algorithm, on one page: an ensemble of models trained by variable projection, whose predictions are averaged.
//!
//! 1. **transforms** (`transform/candidates.rs`): skewed columns become symmetric, long tails are soft-clipped, unless fewer
//!    transforms are better;
//! 2. **relevances** (`search.rs`): L-BFGS over the relevances from the better of two starts, on a sample of rows; columns of
//!    small relevance are dropped unless all are better;
//! 3. **AGOP metric** (`agop.rs`): frequencies are drawn from N(0, M), M the average gradient outer product, if that is better;
//! 4. **learned frequencies and head** (`member.rs`): some frequencies are learned by L-BFGS, random ones stand beside them, and
//!    the head is solved on all rows. Members hold out other rows and draw other frequencies, and are trained side by side.
//!
//! 2 to 4 are done by each member for itself. *Better* has one meaning: the validation loss is lower than the simpler
//! candidate's by half a standard error of the difference, row by row (`Fitter::better`). Sizes come from `sizes.rs`, every
//! other number from `constants.rs`.

mod agop;
pub(crate) mod constants;
mod fitter;
mod head;
mod member;
pub(crate) mod outline;
mod search;
pub(crate) mod sizes;

use crate::Matrix;
use crate::params::VarPro;
use crate::problem::{Columns, Problem};
use crate::solver::monitor::{Monitor, Shared};
use crate::solver::{Observer, Stopped};
use crate::training::{Trained, Training};
use crate::transform::Transforms;
use crate::transform::candidates::Candidate;
use crate::transform::statistics::ColumnStatistics;
pub(crate) use fitter::Fitter;
pub(crate) use member::member_seed;
use member::{TrainedMember, chosen};
use search::Search;
use sizes::Sizes;

/// The share of a time budget that the first search may take.
const SEARCH_SHARE: f64 = 0.4;

/// The ensemble and its column transforms.
pub(crate) fn train(
    training: Training<'_>,
    statistics: &ColumnStatistics,
    settings: &VarPro,
    budget: Option<f64>,
    observer: &mut dyn Observer,
) -> (Transforms, Trained) {
    let Training { problem, rows, common, .. } = training;
    let sizes = Sizes::new(common, settings, (rows.len(), training.support().len()), problem.outputs);
    let shared = Shared::new(budget, sizes.work(), problem.unit);
    shared.end_stage(SEARCH_SHARE, 0.0);
    let mut monitor = Monitor::new(&shared, Some(observer));
    let tails = (sizes.constants.long_tail, sizes.constants.soft_clip);
    let candidates = statistics.candidates(tails, problem.columns.x, rows, |i| problem.weight(i));
    let at = search::best_transforms(training, &sizes, &candidates, &mut monitor);
    let candidate = &candidates[at];
    let trained = candidate.with(training, &sizes, |training| {
        let first = Search::run(&Fitter::new(training, &sizes, 0).on_sample(), &mut monitor);
        let sizes = sizes.within(&shared);
        let count = if first.explains_all() { 1 } else { sizes.members };
        let members = member::train_all(training, &sizes, first, count, &mut monitor);
        finished(training, &sizes, members, monitor, &candidate.transforms.describe())
    });
    (candidate.transforms.clip(&statistics.low, &statistics.range), trained)
}

/// The members as one model; its losses are their means.
fn finished(
    training: Training<'_>,
    sizes: &Sizes,
    members: Vec<TrainedMember>,
    monitor: Monitor<'_>,
    transforms: &str,
) -> Trained {
    let mean = |of: fn(&TrainedMember) -> f64| {
        training.problem.unit * members.iter().map(of).sum::<f64>() / members.len() as f64
    };
    Trained {
        stopped: monitor.shared.reason().unwrap_or(Stopped::Converged),
        epochs: monitor.steps(),
        best_epoch: monitor.steps(),
        loss: mean(|m| m.loss),
        baseline: mean(|m| m.baseline),
        beats_constant: members.iter().any(|m| m.beats_constant),
        validation_rows: members[0].validation_rows,
        history: monitor.history(),
        chosen: chosen(sizes, &members, &training, transforms),
        members: members.into_iter().map(|m| (m.map, m.weights)).collect(),
    }
}

/// The share of a pass over the rows that transforming them anew may cost before a transformed copy of them is made.
const MAY_COST: f64 = 0.05;

impl Candidate {
    /// Calls `work` with the columns transformed: as a copy while it lasts, where taking powers anew in every pass would
    /// cost much.
    fn with<T>(&self, training: Training<'_>, sizes: &Sizes, work: impl FnOnce(Training<'_>) -> T) -> T {
        let own = training.problem;
        let x = own.columns.x;
        let (copy, identity);
        let columns = if self.cost() > MAY_COST * sizes.evaluation(1, sizes.search_features) {
            (copy, identity) = (self.transforms.applied(x), Transforms::identity(x.columns()));
            let x = Matrix::new(&copy, x.rows(), x.columns()).expect("as many cells as before");
            Columns { x, transforms: &identity }
        } else {
            Columns { x, transforms: &self.transforms }
        };
        let problem = Problem { columns, ..own.clone() };
        work(Training { problem: &problem, range: &self.range, ..training })
    }
}
