//! What a user may ask for ([`Params`]) and what a fit then does ([`Plan`]).
//!
//! Every field of `Params` may be left open. [`Params::plan`] fills the gaps from the preset and the data's shape and
//! checks every number once; solvers take the `Plan` as it is.

use serde::{Deserialize, Serialize};

use crate::loss::LossKind;
use crate::penalty::{Penalty, PenaltyKind};
use crate::spectrum::{Kernel, Sampling};
use crate::{Error, names::named_enum};

named_enum! {
    /// Where unset parameters come from.
    pub enum Preset "preset" {
        /// What we think is best today.
        Auto => "auto",
        /// What produced the tables of the paper; never changes.
        Paper => "paper",
    }
}

named_enum! {
    /// How the objective is minimised.
    pub enum SolverKind "solver" {
        /// The preset's choice.
        Auto => "auto",
        /// Adam, head and relevances in one block.
        Adam => "adam",
        /// Plain stochastic gradient descent, one block.
        Sgd => "sgd",
        /// Adam, alternating between head and relevances.
        PalmAdam => "palm-adam",
        /// Gradient descent, alternating between head and relevances.
        PalmSgd => "palm-sgd",
        /// Variable projection: the head exactly, L-BFGS for the rest.
        Varpro => "varpro",
    }
}

named_enum! {
    /// What becomes of the frequencies, with the varpro solver.
    pub enum SpectrumMode "spectrum" {
        /// They stay as drawn.
        Fixed => "fixed",
        /// They are learned once the relevances have settled.
        Learned => "learned",
        /// Learned ones and fresh ones together; fresh ones alone where these explain next to all.
        Auto => "auto",
    }
}

named_enum! {
    /// How much work is done, with the varpro solver.
    pub enum Effort "effort" {
        /// A tenth of normal.
        Quick => "quick",
        /// About 0.1 s for 200 x 10, 15 s for 10,000 x 20, two minutes for 50,000 x 100.
        Normal => "normal",
        /// Five times normal.
        Thorough => "thorough",
    }
}

named_enum! {
    /// Where the relevances start.
    pub enum Init "init" {
        /// The range of each standardised column over their number.
        Constant => "constant",
        /// The best of several random starts after a few epochs each.
        Restarter => "restarter",
        /// The coefficients of a lasso fit.
        Regressor => "regressor",
        /// Where variable projection settles, with the squared loss in place of one it does not know.
        Varpro => "varpro",
    }
}

named_enum! {
    /// How the learning rate changes from step to step.
    pub enum Schedule "schedule" {
        /// It does not.
        Constant => "constant",
        /// Up to the rate over the first 30 % of the steps, down to nothing by the last.
        OneCycle => "one-cycle",
        /// From the rate down to nothing along half a cosine.
        Cosine => "cosine",
    }
}

named_enum! {
    /// What to do with missing values.
    pub enum Missing "missing" {
        /// Refuse them, naming the first.
        Error => "error",
        /// Read them as the column's mean over the training rows.
        Mean => "mean",
    }
}

named_enum! {
    /// Weights of the classes.
    pub enum ClassWeight "class-weight" {
        /// All rows count the same.
        None => "none",
        /// All classes count the same.
        Balanced => "balanced",
    }
}

/// Everything that can be set; `None` leaves the choice to the preset.
///
/// ```
/// use rffnet::{Kernel, Params};
/// let params = Params { kernel: Some(Kernel::Matern32), alpha: Some(1e-3), seed: 7, ..Params::default() };
/// ```
///
/// | field | default in `auto` | purpose | range |
/// |---|---|---|---|
/// | `preset` | `auto` | where unset fields come from | `auto`, `paper` |
/// | `seed` | 0 | one seed for all random choices | any |
/// | `loss` | by task | what is minimised | see [`LossKind`] |
/// | `solver` | `adam` | how | see [`SolverKind`] |
/// | `kernel` | `gaussian` | the ARD kernel | see [`Kernel`] |
/// | `sampling` | `iid` | how frequencies are drawn | `iid`, `orthogonal` (Gaussian only) |
/// | `init` | `constant`; `varpro` for losses that the solver of that name does not know | where relevances start | see [`Init`] |
/// | `restarts` | 10 | starts that `restarter` tries (no other start takes it) | 1 to 10000 |
/// | `random_features` | 300 | features s | at least 1 |
/// | `alpha` | 1e-5 | strength of the head's penalty | 0 or more |
/// | `penalty` | `l2` | its shape | see [`PenaltyKind`] |
/// | `alpha_theta` | 0 | strength of the relevances' penalty | 0 or more |
/// | `penalty_theta` | `none` (`l1` if `alpha_theta` is set) | its shape | see [`PenaltyKind`] |
/// | `l1_ratio` | 0.5 | share of L1 in elastic nets | 0 to 1 |
/// | `lr` | 0.01 | learning rate (peak of the schedule) | above 0 |
/// | `schedule` | `one-cycle` | how the rate changes | see [`Schedule`] |
/// | `batch_size` | a 16th of the rows, 16 to 128 | rows per step | at least 1 |
/// | `epochs` | 60 | passes over the rows, at most | at least 1 |
/// | `patience` | none | epochs without improvement before stopping | at least 1 |
/// | `validation_fraction` | varpro: 500 rows, at least 0.1, at most 0.25; else 0.1 | rows held out to choose by | 0 up to, not including, 1 |
/// | `class_weight` | `none` | weights of the classes | `none`, `balanced` |
/// | `missing` | `error` | missing values | `error`, `mean` |
/// | `spectrum` | `auto` | learn frequencies too (varpro) | see [`SpectrumMode`] |
/// | `linear` | true | linear terms beside the features (varpro) | |
/// | `committee` | by effort: 1, 6, 8; up to 8, 12 where work is left; 1 where the first leaves next to nothing | networks that are averaged (varpro) | at least 1 |
/// | `effort` | `normal` | how much work to do (varpro) | see [`Effort`] |
/// | `budget` | none | seconds after which to stop with what there is (varpro) | above 0 |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[allow(missing_docs)] // the table above documents each field
pub struct Params {
    pub preset: Preset,
    pub seed: u64,
    pub loss: Option<LossKind>,
    pub solver: SolverKind,
    pub kernel: Option<Kernel>,
    pub sampling: Option<Sampling>,
    pub init: Option<Init>,
    // Left out where it is not set: results that were kept under a key of all parameters are found again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restarts: Option<usize>,
    pub random_features: Option<usize>,
    pub alpha: Option<f64>,
    pub penalty: Option<PenaltyKind>,
    pub alpha_theta: Option<f64>,
    pub penalty_theta: Option<PenaltyKind>,
    pub l1_ratio: Option<f64>,
    pub lr: Option<f64>,
    pub schedule: Option<Schedule>,
    pub batch_size: Option<usize>,
    pub epochs: Option<usize>,
    pub patience: Option<usize>,
    pub validation_fraction: Option<f64>,
    pub class_weight: Option<ClassWeight>,
    pub missing: Option<Missing>,
    pub spectrum: Option<SpectrumMode>,
    pub linear: Option<bool>,
    pub committee: Option<usize>,
    pub effort: Option<Effort>,
    pub budget: Option<f64>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            preset: Preset::Auto,
            seed: 0,
            loss: None,
            solver: SolverKind::Auto,
            kernel: None,
            sampling: None,
            init: None,
            restarts: None,
            random_features: None,
            alpha: None,
            penalty: None,
            alpha_theta: None,
            penalty_theta: None,
            l1_ratio: None,
            lr: None,
            schedule: None,
            batch_size: None,
            epochs: None,
            patience: None,
            validation_fraction: None,
            class_weight: None,
            missing: None,
            spectrum: None,
            linear: None,
            committee: None,
            effort: None,
            budget: None,
        }
    }
}

/// The least and the most of the rows that are held out, and how many will do.
const HELD_OUT: (f64, f64) = (0.1, 0.25);
const ENOUGH_HELD_OUT: f64 = 500.0;

/// Few rows cannot tell penalties apart: of a small set a larger share is held out. The final head sees all rows.
fn held_out(rows: usize) -> f64 {
    (ENOUGH_HELD_OUT / rows.max(1) as f64).clamp(HELD_OUT.0, HELD_OUT.1)
}

impl Params {
    /// The paper's settings.
    pub fn paper() -> Self {
        Self { preset: Preset::Paper, ..Self::default() }
    }
}

/// Checked and complete: what a fit does. Kept in the model file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // named as in Params
pub struct Plan {
    pub preset: Preset,
    pub seed: u64,
    pub loss: LossKind,
    pub solver: SolverKind,
    pub kernel: Kernel,
    pub sampling: Sampling,
    pub init: Init,
    /// Files of before it could be set do not have it.
    #[serde(default = "paper_restarts")]
    pub restarts: usize,
    pub random_features: usize,
    pub penalty: Penalty,
    pub penalty_theta: Penalty,
    pub lr: f64,
    pub schedule: Schedule,
    pub batch_size: usize,
    pub epochs: usize,
    pub patience: Option<usize>,
    pub validation_fraction: f64,
    pub class_weight: ClassWeight,
    pub missing: Missing,
    /// Features are sqrt(2/s) cos, as in the paper's text, or plain cos, as in its tables.
    pub scaled_features: bool,
    pub intercept: bool,
    pub standardise_target: bool,
    /// The head starts at random, as torch's Linear does, or at zero.
    pub random_head: bool,
    /// The last, partial batch of an epoch is left out.
    pub drop_last: bool,
    pub spectrum: SpectrumMode,
    pub linear: bool,
    pub committee: Option<usize>,
    pub effort: Effort,
    /// A number of features that was asked for; otherwise varpro chooses.
    pub fixed_features: Option<usize>,
    /// A penalty that was asked for; otherwise varpro chooses.
    pub fixed_alpha: Option<f64>,
}

impl Plan {
    /// A loss of the caller's sees the target as it is, and is minimised by descent.
    pub(crate) fn use_custom_loss(&mut self) {
        self.standardise_target = false;
        if self.solver == SolverKind::Varpro {
            self.solver = SolverKind::Adam;
        }
    }

    /// What multiplies the cosines.
    pub(crate) fn feature_scale(&self) -> f64 {
        if self.scaled_features { (2.0 / self.random_features as f64).sqrt() } else { 1.0 }
    }
}

/// What the defaults may depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Shape {
    pub rows: usize,
    pub columns: usize,
    pub classification: bool,
}

impl Params {
    /// Fills the gaps and checks every number.
    pub fn plan(&self, shape: Shape) -> Result<Plan, Error> {
        let classification = shape.classification;
        let paper = self.preset == Preset::Paper;
        let alpha = at_least_zero("alpha", self.alpha.unwrap_or(if paper { 0.1 } else { 1e-5 }))?;
        let alpha_theta = at_least_zero("alpha-theta", self.alpha_theta.unwrap_or(0.0))?;
        let l1_ratio = self.l1_ratio.unwrap_or(0.5);
        if !(0.0..=1.0).contains(&l1_ratio) {
            return Err(Error::parameter("l1-ratio", l1_ratio, "between 0 and 1"));
        }
        let kind_theta = match (self.penalty_theta, self.alpha_theta) {
            (Some(kind), _) => kind,
            (None, Some(_)) => PenaltyKind::L1,
            (None, None) => PenaltyKind::None,
        };
        if kind_theta != PenaltyKind::None && self.alpha_theta.is_none() {
            return Err(Error::Unsupported(format!(
                "penalty-theta {kind_theta} needs its strength: pass alpha-theta as well"
            )));
        }
        let loss =
            self.loss.unwrap_or(if classification { LossKind::CrossEntropy } else { LossKind::Squared });
        if loss.is_classification() != classification {
            let task = if classification { "classification" } else { "regression" };
            return Err(Error::Unsupported(format!(
                "the loss {loss} does not fit the task, which is {task}"
            )));
        }
        loss.check()?;
        let kernel = self.kernel.unwrap_or(Kernel::Gaussian);
        let sampling = self.sampling.unwrap_or(Sampling::Iid);
        if sampling == Sampling::Orthogonal && kernel != Kernel::Gaussian {
            return Err(Error::Unsupported(format!(
                "orthogonal sampling is biased for the {kernel} kernel; use iid sampling or the gaussian kernel"
            )));
        }
        let lr = self.lr.unwrap_or(if paper { 1e-3 } else { 1e-2 });
        if !(lr > 0.0 && lr.is_finite()) {
            return Err(Error::parameter("lr", lr, "a positive number"));
        }
        let exact = matches!(loss, LossKind::Squared | LossKind::CrossEntropy);
        let ridge = matches!(self.penalty, None | Some(PenaltyKind::L2)) && kind_theta == PenaltyKind::None;
        let solver = match self.solver {
            SolverKind::Auto if !paper && exact && ridge && !self.asks_for_descent() => SolverKind::Varpro,
            SolverKind::Auto => SolverKind::Adam,
            SolverKind::Varpro if !exact => {
                return Err(Error::Unsupported(format!(
                    "the varpro solver is for the squared and the cross-entropy loss; the loss {loss} needs adam"
                )));
            }
            SolverKind::Varpro if !ridge => {
                return Err(Error::Unsupported(
                    "the varpro solver has an l2 penalty on the head and none on the relevances; use adam"
                        .into(),
                ));
            }
            other => other,
        };
        let varpro = solver == SolverKind::Varpro;
        let validation_fraction = self
            .validation_fraction
            .unwrap_or_else(|| if varpro { held_out(shape.rows) } else { HELD_OUT.0 });
        if !(0.0..1.0).contains(&validation_fraction) {
            let need = "at least 0 and below 1 (0 means no validation part and no early stopping)";
            return Err(Error::parameter("validation-fraction", validation_fraction, need));
        }
        if varpro && self.asks_for_descent() {
            return Err(Error::Unsupported(
                "lr, schedule, batch-size, patience, init and restarts belong to descent; leave them out or choose another \
                 solver"
                    .into(),
            ));
        }
        let exact_only = self.spectrum.is_some() || self.committee.is_some() || self.budget.is_some();
        if !varpro && (exact_only || self.linear == Some(true)) {
            return Err(Error::Unsupported(format!(
                "spectrum, linear, committee and budget belong to the varpro solver; the solver here is {solver}"
            )));
        }
        if let Some(committee) = self.committee {
            at_least_one("committee", committee)?;
        }
        if let Some(budget) = self.budget
            && !(budget > 0.0 && budget.is_finite())
        {
            return Err(Error::parameter("budget", budget, "a positive number of seconds"));
        }
        Ok(Plan {
            preset: self.preset,
            seed: self.seed,
            loss,
            solver,
            kernel,
            sampling,
            init: self.init.unwrap_or(if paper || exact { Init::Constant } else { Init::Varpro }),
            restarts: self.checked_restarts()?,
            random_features: checked_features(self.random_features.unwrap_or(300), shape.columns)?,
            penalty: Penalty::new(self.penalty.unwrap_or(PenaltyKind::L2), alpha, l1_ratio),
            penalty_theta: Penalty::new(kind_theta, alpha_theta, l1_ratio),
            lr,
            schedule: self.schedule.unwrap_or(if paper { Schedule::Constant } else { Schedule::OneCycle }),
            batch_size: at_least_one(
                "batch-size",
                self.batch_size.unwrap_or(if paper { 128 } else { batch_size(shape.rows) }),
            )?,
            epochs: at_least_one(
                "epochs",
                self.epochs.unwrap_or(match () {
                    () if paper => 100,
                    () if varpro => 40,
                    () => 60,
                }),
            )?,
            patience: match (self.patience, paper) {
                (Some(k), _) => Some(at_least_one("patience", k)?),
                (None, true) => Some(10),
                (None, false) => None,
            },
            validation_fraction,
            class_weight: self.class_weight.unwrap_or(ClassWeight::None),
            missing: self.missing.unwrap_or(Missing::Error),
            scaled_features: !paper,
            intercept: !paper,
            standardise_target: !paper
                && matches!(loss, LossKind::Squared | LossKind::Huber { .. } | LossKind::Quantile { .. }),
            random_head: paper,
            drop_last: paper,
            spectrum: self.spectrum.unwrap_or(SpectrumMode::Auto),
            linear: self.linear.unwrap_or(varpro) && varpro,
            committee: self.committee,
            effort: self.effort.unwrap_or(Effort::Normal),
            fixed_features: self.random_features,
            fixed_alpha: self.alpha,
        })
    }

    /// Whether something is set that only descent knows.
    fn asks_for_descent(&self) -> bool {
        self.lr.is_some()
            || self.schedule.is_some()
            || self.batch_size.is_some()
            || self.patience.is_some()
            || self.init.is_some()
            || self.restarts.is_some()
    }

    /// A number of starts is for the one start that draws several.
    fn checked_restarts(&self) -> Result<usize, Error> {
        match self.restarts {
            None => Ok(paper_restarts()),
            Some(n) if !(1..=MOST_RESTARTS).contains(&n) => {
                Err(Error::parameter("restarts", n, format!("between 1 and {MOST_RESTARTS}")))
            }
            Some(n) if self.init != Some(Init::Restarter) => {
                Err(Error::parameter("restarts", n, "left out unless init is restarter"))
            }
            Some(n) => Ok(n),
        }
    }
}

/// Starts the Restarter tries in the paper.
fn paper_restarts() -> usize {
    10
}

/// Each start takes some epochs of descent: more than this is a slip of the finger.
const MOST_RESTARTS: usize = 10_000;

/// Enough steps per epoch to get somewhere on few rows, enough rows per step to be fast on many.
fn batch_size(rows: usize) -> usize {
    (rows / 16).clamp(16, 128)
}

/// Frequencies there can be, over all columns: 16 GiB of them.
const MOST_FREQUENCIES: usize = 1 << 32;

fn checked_features(features: usize, columns: usize) -> Result<usize, Error> {
    let most = MOST_FREQUENCIES / columns.max(1);
    if features > most {
        return Err(Error::parameter("features", features, format!("at most {most} with so many columns")));
    }
    at_least_one("features", features)
}

fn at_least_one(name: &'static str, value: usize) -> Result<usize, Error> {
    if value == 0 { Err(Error::parameter(name, value, "at least 1")) } else { Ok(value) }
}

fn at_least_zero(name: &'static str, value: f64) -> Result<f64, Error> {
    if value >= 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(Error::parameter(name, value, "zero or positive"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGRESSION: Shape = Shape { rows: 1000, columns: 5, classification: false };
    const CLASSIFICATION: Shape = Shape { classification: true, ..REGRESSION };

    #[test]
    fn the_paper_preset_is_frozen() {
        let plan = Params::paper().plan(REGRESSION).expect("valid");
        let expected = Plan {
            preset: Preset::Paper,
            seed: 0,
            loss: LossKind::Squared,
            solver: SolverKind::Adam,
            kernel: Kernel::Gaussian,
            sampling: Sampling::Iid,
            init: Init::Constant,
            restarts: 10,
            random_features: 300,
            penalty: Penalty { l1: 0.0, l2: 0.1 },
            penalty_theta: Penalty::default(),
            lr: 1e-3,
            schedule: Schedule::Constant,
            batch_size: 128,
            epochs: 100,
            patience: Some(10),
            validation_fraction: 0.1,
            class_weight: ClassWeight::None,
            missing: Missing::Error,
            scaled_features: false,
            intercept: false,
            standardise_target: false,
            random_head: true,
            drop_last: true,
            spectrum: SpectrumMode::Auto,
            linear: false,
            committee: None,
            effort: Effort::Normal,
            fixed_features: None,
            fixed_alpha: None,
        };
        assert_eq!(plan, expected);
    }

    #[test]
    fn numbers_out_of_range_are_refused_by_name() {
        type Change = fn(&mut Params);
        let cases: [(&str, Change); 13] = [
            ("alpha", |p| p.alpha = Some(-1.0)),
            ("alpha", |p| p.alpha = Some(f64::NAN)),
            ("alpha-theta", |p| p.alpha_theta = Some(-1.0)),
            ("lr", |p| p.lr = Some(0.0)),
            ("batch-size", |p| p.batch_size = Some(0)),
            ("features", |p| p.random_features = Some(0)),
            ("epochs", |p| p.epochs = Some(0)),
            ("patience", |p| p.patience = Some(0)),
            ("validation-fraction", |p| p.validation_fraction = Some(1.0)),
            ("l1-ratio", |p| p.l1_ratio = Some(1.5)),
            ("restarts", |p| (p.init, p.restarts) = (Some(Init::Restarter), Some(0))),
            ("restarts", |p| (p.init, p.restarts) = (Some(Init::Restarter), Some(MOST_RESTARTS + 1))),
            ("restarts", |p| (p.init, p.restarts) = (Some(Init::Restarter), Some(usize::MAX))),
        ];
        for (name, change) in cases {
            let mut params = Params::default();
            change(&mut params);
            let text = params.plan(REGRESSION).expect_err(name).to_string();
            assert!(text.starts_with(&format!("{name} is ")), "{text}");
        }
    }

    #[test]
    fn contradictions_are_refused() {
        let orthogonal = Params {
            kernel: Some(Kernel::Cauchy),
            sampling: Some(Sampling::Orthogonal),
            ..Params::default()
        };
        assert!(orthogonal.plan(REGRESSION).expect_err("biased").to_string().contains("biased"));
        let loss = Params { loss: Some(LossKind::Poisson), ..Params::default() };
        assert!(loss.plan(CLASSIFICATION).is_err() && loss.plan(REGRESSION).is_ok());
        let theta = Params { penalty_theta: Some(PenaltyKind::L1), ..Params::default() };
        assert!(theta.plan(REGRESSION).expect_err("strength").to_string().contains("alpha-theta"));
    }

    #[test]
    fn a_number_of_starts_is_for_the_restarter_alone() {
        let plan =
            |init, solver, restarts| Params { init, solver, restarts, ..Params::default() }.plan(REGRESSION);
        let restarter = Some(Init::Restarter);
        for n in [1, 3, MOST_RESTARTS] {
            let plan = plan(restarter, SolverKind::Auto, Some(n)).expect("valid");
            assert_eq!((plan.restarts, plan.solver), (n, SolverKind::Adam));
        }
        assert_eq!(plan(restarter, SolverKind::Auto, None).expect("valid").restarts, 10);
        for init in [None, Some(Init::Constant), Some(Init::Regressor)] {
            let text = plan(init, SolverKind::Auto, Some(3)).expect_err("no effect").to_string();
            assert_eq!(text, "restarts is 3; it must be left out unless init is restarter");
        }
        let text = plan(None, SolverKind::Varpro, Some(3)).expect_err("exact").to_string();
        assert!(text.contains("init and restarts belong to descent"), "{text}");
    }

    /// Tables and figures are kept under keys of all parameters, and model files hold the plan.
    #[test]
    fn what_was_written_before_restarts_could_be_set_is_still_read() {
        let params = Params::default();
        let json = serde_json::to_value(&params).expect("written");
        assert!(json.get("restarts").is_none(), "{json}");
        assert_eq!(serde_json::from_value::<Params>(json).expect("read"), params);

        let params = Params { init: Some(Init::Restarter), restarts: Some(4), ..params };
        let json = serde_json::to_value(&params).expect("written");
        assert_eq!(serde_json::from_value::<Params>(json).expect("read"), params);
        let plan = params.plan(REGRESSION).expect("valid");
        let mut json = serde_json::to_value(&plan).expect("written");
        assert_eq!(serde_json::from_value::<Plan>(json.clone()).expect("read"), plan);
        json.as_object_mut().expect("an object").remove("restarts").expect("kept in the file");
        assert_eq!(serde_json::from_value::<Plan>(json).expect("read").restarts, 10);
    }
}
