//! How much work the default algorithm does, by counting multiplications. Effort sets the sizes, never a clock, so that a fit
//! is the same on every machine; only a time budget asks what a multiplication takes.

use super::constants::Constants;
use crate::params::{Common, Effort, SpectrumMode, VarPro};
use crate::ridge::MANY_COLUMNS;
use crate::solver::monitor::Shared;

/// Multiplications of a cosine and its sine, about.
const WAVE: f64 = 30.0;
/// What the head of a classifier takes for each output: Gram matrices, and steps on the design in multiplications per feature.
const CLASS_GRAMS: f64 = 1.5;
const CLASS_STEPS: f64 = 60.0;
/// Evaluations per L-BFGS step, about: some steps take several, some stages end early.
const EVALUATIONS: f64 = 1.1;
/// Gram matrices that the choice of a penalty takes: one for a regression, a few Hessians for classes.
const HEADS: (f64, f64) = (1.1, 3.0);
/// The share of a time budget that is planned for, and the factor by which sizes shrink until the plan fits.
const BUDGET_SHARE: f64 = 0.8;
const SHRINK: f64 = 0.8;
pub(super) const FEWEST_FEATURES: usize = 24;

/// Sizes of everything the fit does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sizes {
    pub(crate) constants: Constants,
    /// Members of the ensemble.
    pub(crate) members: usize,
    pub(crate) search_features: usize,
    pub(crate) search_rows: usize,
    /// L-BFGS steps per penalty while relevances are optimised.
    pub(crate) search_steps: usize,
    /// Features whose frequencies are learned; 0 for none.
    pub(crate) learned: usize,
    pub(crate) learn_rows: usize,
    pub(crate) learn_steps: usize,
    /// Random features of a member.
    pub(crate) random: usize,
    /// One member may be enough.
    pub(crate) may_be_single: bool,
    shape: Shape,
}

/// What the cost of a step depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shape {
    rows: f64,
    columns: f64,
    outputs: f64,
    classes: bool,
    linear: bool,
}

impl Sizes {
    /// Effort is 1 for normal: members grow with its root, rows and features more slowly.
    pub(crate) fn new(
        common: &Common,
        settings: &VarPro,
        (rows, columns): (usize, usize),
        outputs: usize,
    ) -> Self {
        let effort = match settings.effort {
            Effort::Quick => 0.25,
            Effort::Normal => 1.0,
            Effort::Thorough => 5.0,
        };
        let constants = settings.recipe.clone().unwrap_or_default().constants();
        let c = &constants;
        let shape = Shape {
            rows: rows as f64,
            columns: columns as f64,
            outputs: outputs as f64,
            classes: common.loss.is_classification(),
            linear: common.linear,
        };
        // The exact heads of a classifier cost more, in proportion to its outputs: they are smaller.
        let each = if shape.classes { effort / (2.0 * shape.outputs).sqrt() } else { effort };
        let grown = |value: f64, power: f64| value * each.powf(power);
        let features = |wanted: f64, most: f64| (wanted.min(most) as usize).max(FEWEST_FEATURES);
        let asked = common.fixed_features.unwrap_or(usize::MAX);
        let search_rows = grown(c.search_rows * shape.rows.sqrt(), 0.3).min(shape.rows);
        let search_features =
            features(c.search_features * search_rows.sqrt(), c.most_search_features.min(shape.rows / 2.0))
                .min(asked);
        let enough = 5.0 * (search_features as f64 + if common.linear { shape.columns } else { 0.0 });
        let learn_rows = grown(c.learn_rows, 0.5).min(shape.rows);
        let learned = features(grown(c.learned, 0.3) * learn_rows.sqrt(), shape.rows);
        let total = features(grown((c.features * shape.rows.sqrt()).min(c.most_features), 0.3), shape.rows);
        let (learned, random) = match (settings.spectrum, common.fixed_features) {
            (SpectrumMode::Fixed, wanted) => (0, wanted.unwrap_or(total)),
            (SpectrumMode::Learned, wanted) => (wanted.unwrap_or(learned), 0),
            (SpectrumMode::Auto, None) if c.learned == 0.0 => (0, total),
            (SpectrumMode::Auto, None) => (learned, total.saturating_sub(learned).max(learned)),
            (SpectrumMode::Auto, Some(wanted)) => (wanted / 2, wanted - wanted / 2),
        };
        Self {
            members: settings.committee.unwrap_or((c.members * effort.sqrt()).floor().max(1.0) as usize),
            search_features,
            search_rows: search_rows.max(enough).min(shape.rows) as usize,
            search_steps: settings.steps,
            learned,
            learn_rows: learn_rows as usize,
            learn_steps: settings.steps.min(c.learn_steps as usize),
            random,
            may_be_single: settings.committee.is_none() && settings.effort != Effort::Thorough,
            constants,
            shape,
        }
    }

    /// Multiplications of an evaluation of the reduced objective.
    pub(crate) fn evaluation(&self, rows: usize, features: usize) -> f64 {
        let Shape { columns, outputs, classes, linear, .. } = self.shape;
        let (n, s) = (rows as f64, features as f64);
        let design = s + if linear { columns } else { 0.0 };
        let grams = if classes { CLASS_GRAMS * outputs } else { 1.0 };
        let steps = if classes { outputs * CLASS_STEPS } else { 0.0 };
        n * (grams * design * design.min(MANY_COLUMNS * n) + s * (2.0 * (columns + WAVE) + steps))
    }

    /// Multiplications of a stage of L-BFGS steps.
    pub(crate) fn stage(&self, steps: usize, rows: usize, features: usize) -> f64 {
        EVALUATIONS * steps as f64 * self.evaluation(rows, features)
    }

    /// Multiplications of the final head of a member.
    pub(crate) fn head(&self) -> f64 {
        self.heads_of(self.learned + self.random)
    }

    /// The same with another number of features.
    pub(crate) fn heads_of(&self, features: usize) -> f64 {
        let heads = if self.shape.classes { HEADS.1 } else { HEADS.0 };
        heads * self.evaluation(self.shape.rows as usize, features)
    }

    /// Multiplications of a member.
    pub(crate) fn member(&self) -> f64 {
        self.stage(2 * self.learn_steps, self.learn_rows, self.learned) + self.head()
    }

    /// Multiplications of the search.
    pub(crate) fn search(&self) -> f64 {
        let steps = 2 * self.search_steps + 2 * self.constants.start_steps as usize;
        self.stage(steps, self.search_rows, self.search_features)
    }

    /// Fewer members, rows and features where the rest of a time budget is too short for all.
    pub(crate) fn within(&self, shared: &Shared) -> Self {
        let mut sizes = self.clone();
        let Some((seconds, rate)) = shared.left() else { return sizes };
        let affordable = BUDGET_SHARE * seconds * rate;
        while sizes.rest() > affordable && sizes.random > FEWEST_FEATURES {
            if sizes.members > 1 {
                sizes.members -= 1;
                continue;
            }
            let less = |size: usize| (SHRINK * size as f64) as usize;
            (sizes.learned, sizes.random) = (less(sizes.learned), less(sizes.random));
            sizes.learn_rows = less(sizes.learn_rows).max(1);
        }
        if sizes != *self {
            shared.cut();
        }
        shared.end_stage(1.0, sizes.head());
        sizes
    }

    /// Multiplications after the first member's search.
    fn rest(&self) -> f64 {
        self.work() - self.search()
    }

    /// Multiplications of the whole fit.
    pub(crate) fn work(&self) -> f64 {
        self.members as f64 * (self.search() + self.member())
    }
}
