//! How much work `auto` does, decided from the data's shape by counting multiplications: never by a clock, so that a
//! fit is the same on every machine.

use crate::params::{Common, Effort, SpectrumMode, VarPro};
use crate::ridge::MANY_COLUMNS;

/// Multiplications spent on a member of 200 rows and 10 columns, at normal effort.
const WORK: f64 = 4e9;
/// How that grows: with rows up to `MANY`, with rows beyond, with columns.
const ROWS: (f64, f64, f64) = (200.0, 1.2, 0.6);
const MANY: f64 = 50_000.0;
const COLUMNS: (f64, f64) = (10.0, 0.17);

/// Evaluations a stage takes, about; and what the head of a classifier takes for each: Gram matrices, passes over the
/// rows, and steps on a cached design, each of which costs about as much as so many multiplications.
const EVALUATIONS: f64 = 60.0;
const CLASS_GRAMS: f64 = 1.5;
const CLASS_PASSES: f64 = 2.0;
const CLASS_STEPS: f64 = 10.0 * 25.0;
/// Multiplications of a cosine and its sine, about.
const WAVE: f64 = 30.0;

/// Shares of the work: the search for relevances, learning the spectrum (of numbers and of classes, which tell less about
/// it), the final heads.
const SEARCH: f64 = 0.3;
const LEARN: (f64, f64) = (0.55, 0.4);
const FINISH: f64 = 0.25;

/// Features to search with: enough to tell columns apart, few enough for many evaluations.
const SEARCH_FEATURES: usize = 300;
const FEWEST_FEATURES: usize = 24;
const MOST_FEATURES: f64 = 4000.0;

/// A first member whose share of unexplained loss (1 - R2 for the squared loss) is below this has little to gain from an
/// ensemble.
const SINGLE_MODEL: f64 = 0.01;

/// Sizes of everything a member of the ensemble does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Recipe {
    /// Members of the ensemble.
    pub(crate) members: usize,
    /// The share of unexplained loss below which the first member is the model; 0 where an ensemble was asked for.
    pub(crate) single_below: f64,
    /// Rows of a pilot run.
    pub(crate) pilot_rows: usize,
    /// Rows the relevances and frequencies are learned on.
    pub(crate) search_rows: usize,
    pub(crate) search_features: usize,
    /// Features whose frequencies are learned; 0 for none.
    pub(crate) learned: usize,
    /// Random features for the final head; 0 for none.
    pub(crate) random: usize,
    /// Features of a member that is tried without learned ones first; 0 for none.
    pub(crate) unlearned: usize,
    /// L-BFGS steps per penalty.
    pub(crate) steps: usize,
}

impl Recipe {
    pub(crate) fn new(
        common: &Common,
        settings: &VarPro,
        rows: usize,
        columns: usize,
        outputs: usize,
    ) -> Self {
        let (n, d) = (rows as f64, columns as f64);
        let classes = common.loss.is_classification();
        let (effort, fewest, most) = match settings.effort {
            Effort::Quick => (0.6, 1, 1),
            Effort::Normal => (1.0, 6, 8),
            Effort::Thorough => (4.0, 8, 12),
        };
        let growth = (n.min(MANY) / ROWS.0).powf(ROWS.1) * (n / MANY).max(1.0).powf(ROWS.2);
        let work = fewest as f64 * effort * WORK * growth * (d / COLUMNS.0).powf(COLUMNS.1);
        let (fewest, most_members) = settings.committee.map_or((fewest, most), |asked| (asked, asked));
        let each = work / fewest as f64;
        let k = outputs as f64;
        let grams = if classes { CLASS_GRAMS * k } else { 1.0 };
        // One pass forward and one back for the gradient by the relevances, and those of a classifier's head.
        let passes = if classes { 2.0 + CLASS_PASSES } else { 2.0 };
        let linear = if common.linear { d } else { 0.0 };
        let pass = passes * (d + WAVE) + if classes { k * CLASS_STEPS } else { 0.0 };
        // Far fewer rows than columns of the design: the Gram matrix is that of the rows.
        let cost = |s: usize| {
            let columns = s as f64 + linear;
            grams * columns * columns.min(MANY_COLUMNS * n) + s as f64 * pass
        };
        let features = |flops: f64, most: f64| {
            let (mut few, mut many) = (FEWEST_FEATURES, (most as usize).max(FEWEST_FEATURES) + 1);
            while many - few > 1 {
                let s = few.midpoint(many);
                if cost(s) <= flops { few = s } else { many = s }
            }
            few
        };
        // More features than rows learn nothing more.
        let most = MOST_FEATURES.min(n);
        let asked = common.fixed_features.unwrap_or(usize::MAX);
        let search_features = SEARCH_FEATURES.min((rows / 2).max(FEWEST_FEATURES)).min(asked);
        // Enough rows to pin the head of the search down several times over, the rest as far as the work goes.
        let enough = 5.0 * (search_features as f64 + linear);
        let affordable = SEARCH * each / (EVALUATIONS * cost(search_features));
        let pilot_rows = enough.min(n) as usize;
        let search_rows = affordable.max(enough).min(n) as usize;
        let share = if classes { LEARN.1 } else { LEARN.0 };
        let learned = features(share * each / (EVALUATIONS * search_rows as f64), most / 4.0);
        // The final head is solved for a few penalties; a regression's needs the Gram matrix just once.
        let heads = if classes { 4.0 } else { 2.0 };
        let total = features(FINISH * each / (heads * n), most);
        let (learned, random) = match (settings.spectrum, common.fixed_features) {
            (SpectrumMode::Fixed, total_wanted) => (0, total_wanted.unwrap_or(total)),
            (SpectrumMode::Learned, wanted) => (wanted.unwrap_or(learned), 0),
            (SpectrumMode::Auto, None) => (learned, total.saturating_sub(learned).max(learned)),
            (SpectrumMode::Auto, Some(wanted)) => (wanted / 2, wanted - wanted / 2),
        };
        // Features are limited by the rows; work that they leave over is for more members.
        let search = EVALUATIONS * search_rows as f64 * (cost(search_features) + cost(learned));
        let member = search + heads * n * cost(learned + random);
        let members = ((work / member) as usize).clamp(fewest, most_members);
        let asked_for_ensemble = settings.committee.is_some() || settings.effort == Effort::Thorough;
        let single_below = if asked_for_ensemble { 0.0 } else { SINGLE_MODEL };
        let unlearned = match (settings.spectrum, common.fixed_features) {
            (SpectrumMode::Auto, wanted) if single_below > 0.0 => wanted.unwrap_or((learned + random) / 2),
            _ => 0,
        };
        let steps = settings.steps;
        Self {
            members,
            single_below,
            pilot_rows,
            search_rows,
            search_features,
            learned,
            random,
            unlearned,
            steps,
        }
    }
}

impl Recipe {
    /// Multiplications that a row takes while relevances are optimised.
    pub(crate) fn search_cost(&self, columns: usize) -> f64 {
        let (s, d) = (self.search_features as f64, columns as f64);
        s * (s + d + WAVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Params, Shape};

    fn of(params: &Params, rows: usize, columns: usize) -> Recipe {
        let shape = Shape { rows, columns, classification: false };
        let plan = params.plan(shape).expect("valid");
        Recipe::new(&plan.common, plan.varpro().expect("the default"), rows, columns, 1)
    }

    fn recipe(rows: usize, columns: usize, effort: Effort) -> Recipe {
        let params = Params::new().effort(effort);
        of(&params, rows, columns)
    }

    #[test]
    fn more_effort_and_more_rows_buy_more_features() {
        let total = |r: Recipe| r.learned + r.random;
        for (rows, columns) in [(50, 3), (200, 10), (10_000, 20), (50_000, 100), (1_000_000, 28)] {
            let [quick, normal, thorough] =
                [Effort::Quick, Effort::Normal, Effort::Thorough].map(|e| recipe(rows, columns, e));
            assert!(quick.members < normal.members && normal.members < thorough.members);
            assert!(total(quick) <= total(thorough), "{quick:?} {thorough:?}");
            assert!(normal.search_rows <= rows && normal.search_features <= rows.max(24));
            assert!(total(normal) <= 2 * MOST_FEATURES as usize && total(normal) >= 24);
        }
        assert!(total(recipe(200, 10, Effort::Normal)) < total(recipe(10_000, 10, Effort::Normal)));
    }

    #[test]
    fn a_number_that_was_asked_for_is_kept() {
        for mode in [SpectrumMode::Auto, SpectrumMode::Fixed, SpectrumMode::Learned] {
            let params = Params::new().random_features(77).spectrum(mode);
            let recipe = of(&params, 1000, 5);
            assert_eq!(recipe.learned + recipe.random, 77, "{mode}");
            assert_eq!(recipe.unlearned, if mode == SpectrumMode::Auto { 77 } else { 0 }, "{mode}");
        }
    }
}
