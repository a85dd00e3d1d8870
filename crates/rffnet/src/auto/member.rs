//! The members of the ensemble: learned frequencies, random ones beside them, and their head.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Fitter;
use super::head::Solved;
use super::search::Search;
use super::sizes::{FEWEST_FEATURES, Sizes};
use crate::features::{FeatureMap, Network, ScaledFeatures, Weights};
use crate::problem;
use crate::solver::monitor::Monitor;
use crate::solver::varpro::Optimum;
use crate::training::Training;
use crate::validation::beats_constant;

/// One trained member of the ensemble. Losses are of its validation rows.
pub(crate) struct TrainedMember {
    pub(super) map: FeatureMap,
    pub(super) weights: Weights,
    /// Features whose frequencies were learned.
    learned: usize,
    pub(super) loss: f64,
    pub(super) baseline: f64,
    pub(super) validation_rows: usize,
    alpha: f64,
    pub(super) beats_constant: bool,
    agop: bool,
}

/// Trains so many members, side by side on the threads there are: each thread that is free takes the next one. Once the fit
/// is stopped, members other than the first are given up: their error would be averaged in.
pub(super) fn train_all(
    training: Training<'_>,
    sizes: &Sizes,
    first: Search,
    count: usize,
    monitor: &mut Monitor<'_>,
) -> Vec<TrainedMember> {
    let (next, trained) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let shared = monitor.shared;
    let work = |monitor: &mut Monitor<'_>| {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count || number > 0 && monitor.stopped() {
                return;
            }
            let fitter = || Fitter::new(training, sizes, number);
            let own = (number > 0).then(|| Search::run(&fitter().on_sample(), monitor));
            let member = fitter().member(own.as_ref().unwrap_or(&first), monitor);
            if number == 0 || !monitor.stopped() {
                let entry = (number, member, monitor.take_history());
                trained.lock().expect("no thread panics").push(entry);
            }
        }
    };
    rayon::in_place_scope(|scope| {
        for _ in 1..count.min(rayon::current_num_threads()) {
            scope.spawn(|_| work(&mut Monitor::new(shared, None)));
        }
        let before = monitor.take_history();
        work(monitor);
        monitor.put_history(before);
    });
    let mut trained = trained.into_inner().expect("no thread panics");
    trained.sort_by_key(|entry| entry.0);
    let members = trained.into_iter().map(|(_, member, history)| {
        monitor.put_history(history);
        member
    });
    members.collect()
}

impl Fitter<'_> {
    /// Learned and random frequencies, the penalty chosen on validation, and the head on all rows.
    fn member(&self, search: &Search, monitor: &mut Monitor<'_>) -> TrainedMember {
        let rng = &mut self.frequencies();
        let Sizes { mut learned, mut random, learn_rows, learn_steps, ref constants, .. } = *self.sizes;
        let mut alpha = search.alpha;
        let mut optimum = None;
        if learned > 0 && !monitor.overdue() {
            monitor.stage("learned frequencies", self.sizes.stage(2 * learn_steps, learn_rows, learned));
            let start = search.frequencies(self.draw(learned, &search.support, rng), 1.0);
            let found = self.learn(start, alpha, monitor);
            alpha = found.alpha;
            optimum = Some(found.features);
        }
        monitor.stage("final head", self.sizes.head());
        learned = optimum.as_ref().map_or(0, |_| learned);
        while random > FEWEST_FEATURES && !monitor.affords(self.sizes.heads_of(learned + random)) {
            random /= 2;
        }
        let drawn = self.draw(random.max(1), &search.support, rng);
        let with = |finest: f32, monitor: &mut Monitor<'_>| {
            let random = (random > 0).then(|| search.frequencies(drawn.clone(), finest));
            let parts: Vec<ScaledFeatures> = optimum.iter().cloned().chain(random).collect();
            let solved = self.solve(self.join(&parts, &drawn), alpha, self.range, monitor);
            (self.losses(&solved), solved)
        };
        // Random frequencies on the metric's own length scale, unless several down to finer ones are better.
        let (losses, mut solved) = with(1.0, monitor);
        let in_time = monitor.affords(self.sizes.heads_of(learned + random)) && !monitor.stopped();
        if random > 0 && constants.finest != 1.0 && self.validates() && in_time {
            let (finer_losses, finer) = with(constants.finest as f32, monitor);
            if self.better(&finer_losses, &losses) {
                solved = finer;
            }
        }
        monitor.stage("final head", 0.0);
        self.finished(&solved, (learned, search.metric.is_full()))
    }

    /// From strong to weak penalties around the one that suits random frequencies, first on a part of the rows. Classes tell
    /// less: with the weak penalty that many rows allow, frequencies would learn noise, so a stronger one comes first.
    fn learn(&self, start: ScaledFeatures, alpha: f64, monitor: &mut Monitor<'_>) -> Optimum {
        let Sizes { learn_rows, learn_steps: steps, ref constants, .. } = *self.sizes;
        if self.alphas.len() == 1 {
            return self.optimise(learn_rows, start, (&self.alphas, steps, true), monitor);
        }
        let strong = self.training.common.loss.is_classification().then_some(constants.class_alpha);
        let alphas = [10.0 * alpha, alpha];
        let alphas: Vec<f64> =
            strong.into_iter().filter(|&strong| strong > alphas[0]).chain(alphas).collect();
        let (last, stronger) = alphas.split_last().expect("there are two at least");
        let half = learn_rows.min(self.split.train.len()).div_ceil(2);
        let first = self.optimise(half, start, (stronger, steps, true), monitor);
        self.optimise(learn_rows, first.features, (&[*last], steps, true), monitor)
    }

    /// Features in one. Relevances carry the size of the frequencies: those of a column have the root mean square that
    /// `drawn`, independent ones, have.
    fn join(&self, parts: &[ScaledFeatures], drawn: &FeatureMap) -> ScaledFeatures {
        let first = &parts[0].map;
        let (columns, support) = (first.support.len(), &first.support);
        let s: usize = parts.iter().map(|p| p.map.features()).sum();
        let (mut theta, mut omega) = (vec![0.0; columns], vec![0.0; columns * s]);
        for a in 0..columns {
            let row = &mut omega[a * s..(a + 1) * s];
            let mut at = 0;
            for part in parts {
                let k = part.map.features();
                row[at..at + k].iter_mut().zip(part.frequencies(a)).for_each(|(o, w)| *o = w * part.theta[a]);
                at += k;
            }
            let drawn = &drawn.omega[a * drawn.features()..(a + 1) * drawn.features()];
            theta[a] = (root_mean_square(row) / root_mean_square(drawn).max(1e-30)) as f32;
        }
        self.training.problem.tie(support, &mut theta, problem::root_mean_square);
        for (row, &theta) in omega.chunks_exact_mut(s).zip(&theta).filter(|(_, theta)| **theta > 0.0) {
            row.iter_mut().for_each(|o| *o /= theta);
        }
        let phase = parts.iter().flat_map(|p| p.map.phase.iter()).copied().collect();
        ScaledFeatures { map: FeatureMap::on(first.columns(), support.to_vec(), omega, phase), theta }
    }

    /// The member, its head on all rows.
    fn finished(&self, solved: &Solved, (learned, agop): (usize, bool)) -> TrainedMember {
        let problem = self.training.problem;
        let map = &solved.features.map;
        let constant = self.training.constant_weights(map);
        let floor = Network::new(map, &constant);
        let judged_on = self.split.judged_on();
        TrainedMember {
            baseline: problem.mean_loss(floor, judged_on),
            beats_constant: beats_constant(problem, solved.network(), floor, judged_on),
            weights: self.on_all_rows(solved),
            map: map.clone(),
            learned,
            loss: solved.loss,
            validation_rows: self.split.validation.len(),
            alpha: solved.alpha,
            agop,
        }
    }
}

fn root_mean_square(values: &[f32]) -> f64 {
    (values.iter().map(|&v| (v as f64).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

/// The seed of a member; the first one has the plan's own.
pub(crate) fn member_seed(seed: u64, number: usize) -> u64 {
    seed.wrapping_add((number as u64) << 40)
}

/// One line for people: sizes from the data's shape, the rest chosen on validation.
pub(super) fn chosen(
    sizes: &Sizes,
    members: &[TrainedMember],
    training: &Training<'_>,
    transforms: &str,
) -> String {
    let ensemble = match members.len() {
        1 => "single model".into(),
        many => format!("ensemble of {many} members"),
    };
    let first = &members[0];
    let (features, learned) = (first.map.features(), first.learned);
    let searched = match sizes.learn_rows {
        some if learned > 0 && some < training.rows.len() => format!(" learned on {some} rows"),
        _ => " learned".into(),
    };
    let random = features - learned;
    let features = match (learned, random) {
        (0, random) => format!("{random} random Fourier features"),
        (learned, 0) => format!("{learned} Fourier features{searched}"),
        (learned, random) => format!("{features} Fourier features ({learned}{searched}, {random} random)"),
    };
    let (kept, columns) = (first.map.support.len(), first.map.columns());
    let encoded = if columns == training.table_columns { "" } else { " encoded" };
    let agop = if first.agop { ", AGOP metric" } else { "" };
    let show = |alpha: f64| format!("{alpha:.0e}");
    let alphas = || members.iter().map(|m| m.alpha);
    let (least, most) = (show(alphas().fold(f64::INFINITY, f64::min)), show(alphas().fold(0.0, f64::max)));
    let alpha = if least == most { most } else { format!("{least} to {most}") };
    format!("{ensemble}, {features}, {kept} of {columns}{encoded} columns{agop}{transforms}, alpha {alpha}")
}
