//! What every way of training starts from and leaves behind; Algorithm 1 of the paper.

use crate::Error;
use crate::features::{FeatureMap, Network, Weights, draw};
use crate::init;
use crate::model::{Member, Summary};
use crate::numerics::random::{Stream, Use, stream};
use crate::params::{Common, Descent};
use crate::problem::Problem;
use crate::solver::descent::{DescentState, Outcome, descend};
use crate::solver::{History, Observer, Stopped};
use crate::spectrum::Spectrum;
use crate::validation::{Split, Validation, beats_constant};

/// What every way of training starts from.
#[derive(Clone, Copy)]
pub(crate) struct Training<'a> {
    pub(crate) problem: &'a Problem<'a>,
    /// Rows of positive weight.
    pub(crate) rows: &'a [usize],
    /// Columns of the table, which may be encoded as more.
    pub(crate) table_columns: usize,
    /// The range of each transformed column; 0 where it is constant.
    pub(crate) range: &'a [f32],
    pub(crate) spectrum: &'a dyn Spectrum,
    pub(crate) common: &'a Common,
    pub(crate) held_out: Validation<'a>,
}

/// What every way of training leaves behind. Losses are in units of the target.
pub(crate) struct Trained {
    /// The members of the ensemble, all with the same number of features.
    pub(crate) members: Vec<(FeatureMap, Weights)>,
    pub(crate) stopped: Stopped,
    pub(crate) epochs: usize,
    pub(crate) best_epoch: usize,
    pub(crate) loss: f64,
    /// The loss of the best constant on the rows that `loss` is of.
    pub(crate) baseline: f64,
    /// Whether the gain over the constant is more than chance.
    pub(crate) beats_constant: bool,
    pub(crate) validation_rows: usize,
    pub(crate) history: History,
    /// See [`Summary::chosen`].
    pub(crate) chosen: String,
}

impl Training<'_> {
    /// Columns that vary; the first one if none does, since the kernels need one.
    pub(crate) fn support(&self) -> Vec<usize> {
        let varying: Vec<usize> = (0..self.range.len()).filter(|&j| self.range[j] != 0.0).collect();
        if varying.is_empty() { vec![0] } else { varying }
    }

    /// Frequencies and phases for the columns that vary.
    pub(crate) fn draw(&self, features: usize, rng: &mut Stream) -> FeatureMap {
        draw(self.spectrum, self.common.sampling, self.range.len(), self.support(), features, rng)
    }

    /// The frequencies of a single model.
    fn draw_all(&self) -> FeatureMap {
        self.draw(self.common.random_features, &mut stream(self.common.seed, Use::Frequencies))
    }

    /// No features, and the best constant as intercept: what a fit has to beat.
    pub(crate) fn constant_weights(&self, map: &FeatureMap) -> Weights {
        Weights::constant(map, &self.problem.constant(self.rows))
    }

    /// Nothing to learn.
    pub(crate) fn constant(&self) -> Trained {
        let map = self.draw_all();
        let outcome = Outcome {
            weights: self.constant_weights(&map),
            stopped: Stopped::ConstantTarget,
            epochs: 0,
            best_epoch: 0,
            loss: 0.0,
            history: History::default(),
        };
        Trained::by_descent(outcome, &map, 0.0, 0)
    }

    /// Algorithm 1 of the paper: draw features, find a start, descend.
    pub(crate) fn descent(&self, settings: &Descent, observer: &mut dyn Observer) -> Trained {
        let (problem, common) = (self.problem, self.common);
        let split = Split::new(self.rows, common.validation_fraction, self.held_out, common.seed);
        let map = self.draw_all();
        let constant = self.constant_weights(&map);
        let floor = Network::new(&map, &constant);
        let judged_on = split.judged_on();
        let baseline = problem.mean_loss(floor, judged_on) * problem.unit;
        let start = init::start(*self, &map, settings, &split, observer);
        let mut shuffling = stream(common.seed, Use::Shuffle);
        let state =
            DescentState::new(problem, &map, (common, settings), start, &split.train, settings.epochs);
        let outcome = descend(state, &split, baseline, &mut shuffling, observer);
        let network = Network::new(&map, &outcome.weights);
        let beats_constant = beats_constant(problem, network, floor, judged_on);
        let trained = Trained::by_descent(outcome, &map, baseline, split.validation.len());
        Trained { beats_constant, ..trained }
    }
}

impl Trained {
    /// What a descent leaves behind.
    pub(crate) fn by_descent(
        outcome: Outcome,
        map: &FeatureMap,
        baseline: f64,
        validation_rows: usize,
    ) -> Self {
        Self {
            members: vec![(map.clone(), outcome.weights)],
            stopped: outcome.stopped,
            epochs: outcome.epochs,
            best_epoch: outcome.best_epoch,
            loss: outcome.loss,
            baseline,
            beats_constant: true,
            validation_rows,
            history: outcome.history,
            chosen: String::new(),
        }
    }

    /// Refuses a fit that diverged before it had learned anything; warns of one that is no better than a constant.
    pub(crate) fn check(&self, lr: Option<f64>, warnings: &mut Vec<String>) -> Result<(), Error> {
        match self.stopped {
            Stopped::ConstantTarget => {}
            Stopped::Diverged if self.loss >= self.baseline => {
                let rate = lr.map_or(String::new(), |lr| format!(" (it was {lr:?})"));
                let advice = format!("try a smaller learning rate{rate} or a larger alpha");
                return Err(Error::Diverged { epoch: self.epochs, advice });
            }
            Stopped::Diverged => warnings.push(format!(
                "the fit diverged in epoch {}; epoch {}, the best before, was kept",
                self.epochs, self.best_epoch
            )),
            _ => {}
        }
        if !self.beats_constant {
            warnings.push(
                "the model is no better than a constant: the columns may not bear on the target, or alpha may be \
                 too large"
                    .into(),
            );
        }
        if self.members.iter().any(|(_, weights)| !weights.is_finite()) {
            let advice = "the features or the head are not finite; check the columns and the spectrum".into();
            return Err(Error::Diverged { epoch: self.epochs, advice });
        }
        Ok(())
    }

    /// The members as a model file holds them.
    pub(crate) fn members(&self, feature_scale: f64) -> Vec<Member> {
        let partitions = self.members.iter().map(|(map, _)| map.partition_count()).max().unwrap_or(0);
        let member = |(map, weights): &_| Member::from_weights(map, weights, feature_scale, partitions);
        self.members.iter().map(member).collect()
    }

    /// How the fit went; `rows` were learned from.
    pub(crate) fn summary(&self, rows: usize, warnings: Vec<String>) -> Summary {
        let learned = self.stopped != Stopped::ConstantTarget;
        Summary {
            rows,
            validation_rows: self.validation_rows,
            epochs: self.epochs,
            best_epoch: self.best_epoch,
            stopped: self.stopped,
            validation_loss: (self.validation_rows > 0 && learned).then_some(self.loss),
            baseline_loss: self.baseline.is_finite().then_some(self.baseline),
            chosen: self.chosen.clone(),
            warnings,
            losses: self.history.losses().to_vec(),
        }
    }
}
