//! How much work the default algorithm does, by counting multiplications. Effort sets the sizes, never a clock, so that a fit
//! is the same on every machine; a time budget sets the effort.

use super::constants::Constants;
use super::partitions::PENALTIES;
use crate::features::CELLS;
use crate::params::{Common, Effort, Partitions, SpectrumMode, VarPro};
use crate::ridge::MANY_COLUMNS;
use crate::solver::kept_design::{KeptDesign, MOST_BYTES};

/// Multiplications of a cosine and its sine, about.
const WAVE: f64 = 30.0;
/// What the head of a classifier takes for each output: Gram matrices, and steps on the design in multiplications per feature.
const CLASS_GRAMS: f64 = 1.5;
const CLASS_STEPS: f64 = 60.0;
/// Passes over the rows for a head with partitions, and what a number of the design costs in one, since it comes from memory.
const PASSES: f64 = 45.0;
const PASS: f64 = 60.0;
/// Values of cells, of all outputs, at most: a step of a head holds some twenty vectors of them.
const MOST_CELLS: usize = 1 << 19;
/// Bytes that the Gram matrices, factors and designs of heads may take at a time.
const HEADS_MEMORY: usize = 330_000_000;
/// The factor by which the effort shrinks until the work fits a time budget.
const SHRINK: f64 = 0.9;

/// Sizes of everything the fit does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sizes {
    pub(crate) constants: Constants,
    /// Members of the ensemble.
    pub(crate) members: usize,
    /// Rows that everything but a member's last head is found on.
    pub(crate) rows: usize,
    /// Rows of the last head.
    head_rows: usize,
    /// Features that relevances are found with.
    pub(crate) searched: usize,
    /// Features whose frequencies are learned; 0 for none.
    pub(crate) learned: usize,
    /// Features of a member, learned and random.
    pub(crate) features: usize,
    /// Partitions of a member, and whether it has them even where that is not better.
    pub(crate) partitions: usize,
    pub(crate) asks_partitions: bool,
    /// How much finer than the metric's own length scale the finest features are.
    pub(crate) finest: f32,
    /// L-BFGS steps of a stage, at most.
    pub(crate) steps: usize,
    columns: f64,
    outputs: f64,
    classes: bool,
    linear: bool,
}

impl Sizes {
    /// For a table of so many rows and columns. Fewer multiplications than `most` mean less effort.
    pub(crate) fn new(
        common: &Common,
        settings: &VarPro,
        (all, columns): (usize, usize),
        outputs: usize,
        most: f64,
    ) -> Self {
        let c = settings.recipe.clone().unwrap_or_default().constants();
        let mut effort = match settings.effort {
            Effort::Quick => c.quick,
            Effort::Normal => 1.0,
            Effort::Thorough => c.thorough,
        };
        let (classes, asked) = (common.loss.is_classification(), common.fixed_features);
        loop {
            // Members and rows grow with the root of the effort, features with its fourth root.
            let members = settings.committee.unwrap_or((c.members * effort.sqrt()).floor().max(1.0) as usize);
            let rows = (c.rows * effort.sqrt()).ceil().min(all as f64).max(1.0);
            let grown = |features: f64| (features * effort.powf(0.25)).ceil().min(rows).max(1.0) as usize;
            // A class tells less than a number: learning many frequencies from classes would learn noise.
            let few = if classes { c.class_learned * rows.cbrt() } else { c.learned * rows.cbrt().powi(2) };
            let (few, many) = (grown(few), grown(c.features * rows.sqrt()));
            let searched = if classes { few.div_ceil(2) } else { many.div_ceil(4) };
            let (learned, features) = match settings.spectrum {
                SpectrumMode::Fixed => (0, asked.unwrap_or(many)),
                SpectrumMode::Learned => (asked.unwrap_or(few), asked.unwrap_or(few)),
                SpectrumMode::Auto => asked.map_or((few, many.max(few)), |asked| (asked / 2, asked)),
            };
            let sizes = Self {
                constants: c.clone(),
                members,
                rows: rows as usize,
                head_rows: (rows as usize).max(all.div_ceil(members)),
                searched: searched.min(asked.unwrap_or(many)),
                learned,
                features,
                partitions: match settings.partitions {
                    Partitions::Auto => {
                        let most = (MOST_CELLS / (CELLS * outputs)).max(1) as f64;
                        (c.partitions * rows.sqrt() * effort.powf(0.25)).min(most) as usize
                    }
                    Partitions::None => 0,
                    Partitions::Count(asked) => asked,
                },
                asks_partitions: matches!(settings.partitions, Partitions::Count(_)),
                finest: if classes { 1.0 } else { c.finest as f32 },
                steps: settings.steps,
                columns: columns as f64,
                outputs: outputs as f64,
                classes,
                linear: common.linear,
            };
            if sizes.work() <= most || effort < f64::EPSILON {
                return sizes;
            }
            effort *= SHRINK;
        }
    }

    /// Multiplications of an evaluation of the reduced objective.
    pub(crate) fn evaluation(&self, rows: usize, features: usize) -> f64 {
        let Self { columns, outputs, classes, linear, .. } = *self;
        let (n, s) = (rows as f64, features as f64);
        let design = s + if linear { columns } else { 0.0 };
        let unknowns = design.min(MANY_COLUMNS * n);
        let grams = if classes { CLASS_GRAMS * outputs } else { 1.0 };
        let steps = if classes { outputs * CLASS_STEPS } else { 0.0 };
        grams * (n * design + unknowns * unknowns) * unknowns + n * s * (2.0 * (columns + WAVE) + steps)
    }

    /// Multiplications of a stage of L-BFGS steps.
    pub(crate) fn stage(&self, features: usize) -> f64 {
        self.steps as f64 * self.evaluation(self.rows, features)
    }

    /// Multiplications of the head of a member.
    pub(crate) fn heads(&self) -> f64 {
        self.evaluation(self.head_rows, self.features)
            + self.beside(self.rows)
            + self.beside(self.head_rows) / 3.0
    }

    /// Multiplications of the head with partitions beside the features, of three penalties.
    fn beside(&self, rows: usize) -> f64 {
        match self.partitions {
            0 => 0.0,
            p => PASSES * PASS * self.outputs * rows as f64 * (self.features + p) as f64,
        }
    }

    /// Heads that are solved at a time: their Gram matrices, factors and designs are to fit into the memory
    /// side by side.
    pub(crate) fn heads_at_a_time(&self) -> usize {
        let columns = self.features + self.columns as usize + 1;
        let kept = |rows| Some(KeptDesign::bytes(rows, self.features, columns)).filter(|&b| b <= MOST_BYTES);
        let passes = match self.partitions {
            0 => 0,
            p => {
                // Sums over blocks of rows in f32, and vectors in f64, of the heads of all penalties.
                let heads = PENALTIES.len() * self.outputs as usize * (CELLS / 3 * p + columns);
                self.head_rows * p + kept(self.head_rows).or(kept(self.rows)).unwrap_or(0) + 100 * heads
            }
        };
        (HEADS_MEMORY / (16 * columns * columns + passes)).max(1)
    }

    /// Multiplications of the whole fit.
    pub(crate) fn work(&self) -> f64 {
        self.members as f64 * (self.stage(self.searched) + self.stage(self.learned) + self.heads())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Params, Shape as Table};

    fn sizes(rows: usize, effort: Effort, most: f64) -> Sizes {
        let table = Table { rows, columns: 20, classification: false };
        let plan = Params::new().effort(effort).plan(table).expect("valid");
        Sizes::new(&plan.common, plan.varpro().expect("the default"), (rows, 20), 1, most)
    }

    #[test]
    fn effort_sets_the_work_and_a_bound_on_it_the_effort() {
        for rows in [1, 50, 5_000, 1_000_000] {
            let work = |effort| sizes(rows, effort, f64::INFINITY).work();
            assert!(
                work(Effort::Quick) < work(Effort::Normal) && work(Effort::Normal) < work(Effort::Thorough)
            );
            let whole = sizes(rows, Effort::Normal, f64::INFINITY);
            assert_eq!(sizes(rows, Effort::Normal, whole.work()), whole);
            let half = sizes(rows, Effort::Normal, 0.5 * whole.work());
            assert!(half.work() <= 0.5 * whole.work() || rows == 1, "{half:?}");
            let least = sizes(rows, Effort::Normal, 0.0);
            assert_eq!((least.members, least.features, least.rows), (1, 1, 1));
        }
    }

    #[test]
    fn the_work_grows_no_faster_than_the_rows() {
        let work = |rows| sizes(rows, Effort::Normal, f64::INFINITY).work();
        let slope = (work(1_000_000) / work(10_000)).ln() / 100f64.ln();
        assert!(slope < 1.0, "{slope}");
    }
}
