//! From what was asked for to a valid and complete plan.

use super::plan::{Common, Descent, Method, Plan, VarPro};
use super::stored::PAPER_RESTARTS;
use super::{ClassWeight, Effort, Init, Missing, Params, Preset, Schedule, SolverKind, SpectrumMode};
use crate::loss::{ExactHead, Loss, LossKind};
use crate::penalty::{Penalty, PenaltyKind};
use crate::spectrum::{Kernel, Sampling};
use crate::{Error, Link};

/// The least and the most of the rows that are held out, and how many will do.
const VALIDATION_SHARE: (f64, f64) = (0.1, 0.25);
const VALIDATION_ROWS: f64 = 500.0;

/// Each start takes some epochs of descent: more than this is a slip of the finger.
const MOST_RESTARTS: usize = 10_000;

/// Frequencies there can be, over all columns: 16 GiB of them.
const MOST_FREQUENCIES: usize = 1 << 32;

/// What the defaults may depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Shape {
    pub rows: usize,
    pub columns: usize,
    pub classification: bool,
}

/// Checked parameters: a plan but for what depends on the number of rows.
pub(crate) struct Checked {
    plan: Plan,
    /// Left open: the validation fraction of variable projection, and the batch size.
    open: (bool, bool),
}

impl Checked {
    pub(crate) fn missing(&self) -> Missing {
        self.plan.common.missing
    }

    /// The plan for so many rows.
    pub(crate) fn for_rows(self, rows: usize) -> Plan {
        let Plan { mut common, mut method } = self.plan;
        match &mut method {
            Method::VarPro(_) if self.open.0 => {
                // Few rows cannot tell penalties apart: of a small set a larger share is held out.
                let (least, most) = VALIDATION_SHARE;
                common.validation_fraction = (VALIDATION_ROWS / rows.max(1) as f64).clamp(least, most);
            }
            // Enough steps per epoch to get somewhere on few rows, enough rows per step to be fast on many.
            Method::Descent(descent) if self.open.1 => descent.batch_size = (rows / 16).clamp(16, 128),
            _ => {}
        }
        Plan { common, method }
    }
}

impl Params {
    /// Fills the gaps and checks every number.
    pub fn plan(&self, shape: Shape) -> Result<Plan, Error> {
        Ok(self.check(shape.columns, shape.classification, None)?.for_rows(shape.rows))
    }

    /// The same without the number of rows, which need not be known yet; `custom` is a loss of the caller's.
    pub(crate) fn check(
        &self,
        columns: usize,
        classification: bool,
        custom: Option<&dyn Loss>,
    ) -> Result<Checked, Error> {
        let paper = self.preset == Preset::Paper;
        let alpha = at_least_zero("alpha", self.alpha.unwrap_or(if paper { 0.1 } else { 1e-5 }))?;
        let l1_ratio = self.l1_ratio.unwrap_or(0.5);
        let (kind_theta, penalty_theta) = self.checked_penalty_theta(l1_ratio)?;
        let loss = self.checked_loss(classification)?;
        let built_in = loss.build(2);
        let facts = custom.unwrap_or(built_in.as_ref());
        let (kernel, sampling) = self.checked_sampling()?;
        let lr = self.lr.unwrap_or(if paper { 1e-3 } else { 1e-2 });
        if !(lr > 0.0 && lr.is_finite()) {
            return Err(Error::parameter("lr", lr, "a positive number"));
        }
        let exact = !matches!(built_in.exact_head(), ExactHead::None);
        let ridge = matches!(self.penalty, None | Some(PenaltyKind::L2)) && kind_theta == PenaltyKind::None;
        let solver = self.checked_solver(loss, exact, ridge)?;
        // A loss of the caller's is minimised by descent.
        let by_descent = custom.is_some() && solver == SolverKind::Varpro;
        let solver = if by_descent { SolverKind::Adam } else { solver };
        let varpro = solver == SolverKind::Varpro;
        let validation_fraction = self.validation_fraction.unwrap_or(VALIDATION_SHARE.0);
        if !(0.0..1.0).contains(&validation_fraction) {
            let need = "at least 0 and below 1 (0 means no validation part and no early stopping)";
            return Err(Error::parameter("validation-fraction", validation_fraction, need));
        }
        if let Some(committee) = self.committee {
            at_least_one("committee", committee)?;
        }
        if let Some(budget) = self.budget
            && !(budget > 0.0 && budget.is_finite())
        {
            return Err(Error::parameter("budget", budget, "a positive number of seconds"));
        }
        let restarts = self.checked_restarts()?;
        let common = Common {
            preset: self.preset,
            seed: self.seed,
            loss,
            kernel,
            sampling,
            random_features: checked_features(self.random_features.unwrap_or(300), columns)?,
            penalty: Penalty::new(self.penalty.unwrap_or(PenaltyKind::L2), alpha, l1_ratio),
            validation_fraction,
            class_weight: self.class_weight.unwrap_or(ClassWeight::None),
            missing: self.missing.unwrap_or(Missing::Auto),
            scaled_features: !paper,
            intercept: !paper,
            standardise_target: !paper && facts.standardises_target(),
            linear: self.linear.unwrap_or(varpro) && varpro,
            fixed_features: self.random_features,
            fixed_alpha: self.alpha,
        };
        let descent = Descent {
            solver,
            init: self.init.unwrap_or(if paper || exact { Init::Constant } else { Init::Varpro }),
            restarts,
            penalty_theta,
            lr,
            schedule: self.schedule.unwrap_or(if paper { Schedule::Constant } else { Schedule::OneCycle }),
            batch_size: at_least_one("batch-size", self.batch_size.unwrap_or(128))?,
            epochs: at_least_one("epochs", self.epochs.unwrap_or(if paper { 100 } else { 60 }))?,
            patience: match self.patience {
                Some(k) => Some(at_least_one("patience", k)?),
                None => paper.then_some(10),
            },
            random_head: paper,
            drop_last: paper,
        };
        let method = if varpro {
            Method::VarPro(VarPro {
                spectrum: self.spectrum.unwrap_or(SpectrumMode::Auto),
                committee: self.committee,
                effort: self.effort.unwrap_or(Effort::Normal),
                partitions: self.partitions.unwrap_or_default(),
                recipe: self.recipe.clone(),
                steps: self.epochs.unwrap_or(if paper { 100 } else { 40 }),
            })
        } else {
            Method::Descent(descent)
        };
        let open = (self.validation_fraction.is_none(), self.batch_size.is_none() && !paper);
        Ok(Checked { plan: Plan { common, method }, open })
    }

    fn checked_penalty_theta(&self, l1_ratio: f64) -> Result<(PenaltyKind, Penalty), Error> {
        let alpha = at_least_zero("alpha-theta", self.alpha_theta.unwrap_or(0.0))?;
        if !(0.0..=1.0).contains(&l1_ratio) {
            return Err(Error::parameter("l1-ratio", l1_ratio, "between 0 and 1"));
        }
        let kind = match (self.penalty_theta, self.alpha_theta) {
            (Some(kind), _) => kind,
            (None, Some(_)) => PenaltyKind::L1,
            (None, None) => PenaltyKind::None,
        };
        if kind != PenaltyKind::None && self.alpha_theta.is_none() {
            return Err(Error::Unsupported(format!(
                "penalty-theta {kind} needs its strength: pass alpha-theta as well"
            )));
        }
        Ok((kind, Penalty::new(kind, alpha, l1_ratio)))
    }

    fn checked_loss(&self, classification: bool) -> Result<LossKind, Error> {
        let loss =
            self.loss.unwrap_or(if classification { LossKind::CrossEntropy } else { LossKind::Squared });
        if loss.is_classification() != classification {
            let task = if classification { "classification" } else { "regression" };
            return Err(Error::Unsupported(format!(
                "the loss {loss} does not fit the task, which is {task}"
            )));
        }
        loss.check()?;
        Ok(loss)
    }

    fn checked_sampling(&self) -> Result<(Kernel, Sampling), Error> {
        let kernel = self.kernel.unwrap_or(Kernel::Gaussian);
        let sampling = self.sampling.unwrap_or(Sampling::Iid);
        if sampling == Sampling::Orthogonal && kernel != Kernel::Gaussian {
            return Err(Error::Unsupported(format!(
                "orthogonal sampling is biased for the {kernel} kernel; use iid sampling or the gaussian kernel"
            )));
        }
        Ok((kernel, sampling))
    }

    /// The solver for a loss whose head can or cannot be solved exactly; refuses what it has no use for.
    fn checked_solver(&self, loss: LossKind, exact: bool, ridge: bool) -> Result<SolverKind, Error> {
        let descent = self.asks_for_descent();
        let solver = match self.solver {
            SolverKind::Auto if self.preset != Preset::Paper && exact && ridge && !descent => {
                SolverKind::Varpro
            }
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
        if varpro && descent {
            return Err(Error::Unsupported(
                "lr, schedule, batch-size, patience, init and restarts belong to descent; leave them out or choose another \
                 solver"
                    .into(),
            ));
        }
        let exact_only = self.spectrum.is_some()
            || self.committee.is_some()
            || self.partitions.is_some()
            || self.budget.is_some()
            || self.recipe.is_some();
        if !varpro && (exact_only || self.linear == Some(true)) {
            return Err(Error::Unsupported(format!(
                "spectrum, linear, committee, partitions, budget and recipe belong to the varpro solver; the solver here is {solver}"
            )));
        }
        Ok(solver)
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
            None => Ok(PAPER_RESTARTS),
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

/// A custom loss must speak of the kind of target there is.
pub(crate) fn check_link(link: Link, classes: usize) -> Result<(), Error> {
    match (link, classes) {
        (Link::Identity | Link::Log, 0) | (Link::Logistic, 2) => Ok(()),
        (Link::Softmax, classes) if classes > 2 => Ok(()),
        _ => Err(Error::Unsupported(format!(
            "a loss with the {link} link does not fit a target with {}",
            if classes == 0 { "numbers".into() } else { format!("{classes} classes") }
        ))),
    }
}

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
mod tests;
