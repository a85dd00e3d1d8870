//! `rffnet inspect`: what a model file holds.

use std::path::PathBuf;

use clap::Args;
use rffnet::{Init, Method, Model, Penalty, Plan, SolverKind, Stopped, Task};

use crate::bars::{SHOWN, chart, relevances};
use crate::cli::Globals;
use crate::columns;
use crate::failure::Failure;
use crate::output::{object, print, print_json, width};
use crate::progress::step;
use crate::text::{count, exact, listed, name, number, plural};

const EXAMPLES: &str = "\
Examples:
  rffnet inspect gse1.rffnet
  rffnet inspect gse1.rffnet --json | jq '.summary.losses'";

/// Show what a model file holds: its columns by importance, its settings, how its fit went
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Inspect {
    /// The model file
    model: PathBuf,
    /// Show every column [default: the 20 most important]
    #[arg(long)]
    all: bool,
}

impl Inspect {
    pub(crate) fn run(&self, globals: &Globals) -> Result<(), Failure> {
        let model = Model::load(&self.model)?;
        if globals.json {
            return print_json(&object! {
                task: model.task(),
                classes: model.classes(),
                columns: model.feature_names().len(),
                outputs: model.outputs(),
                random_features: model.random_features(),
                committee: model.committee(),
                kernel: model.kernel(),
                params: model.plan(),
                summary: model.summary(),
                relevances: relevances(&model),
                target: model.target_name(),
                column_types: columns::of_model(&model),
            });
        }
        let limit = if self.all { usize::MAX - 1 } else { SHOWN };
        let mut text = format!("{}\n{}", description(&model), chart(&relevances(&model), limit, width()));
        if !model.encoder().is_identity() {
            text.push_str(&format!("\n{}\n", columns::text(&columns::of_model(&model))));
        }
        print(&text)
    }
}

fn description(model: &Model) -> String {
    let (plan, summary) = (model.plan(), model.summary());
    let columns = plural(model.feature_names().len(), "column");
    let target = model.target_name().map_or(String::new(), |target| format!(" of {}", name(target, 40)));
    let what = match model.task() {
        Task::Regression if model.outputs() == 1 => format!("regression{target} on {columns}"),
        Task::Regression => format!("regression of {} targets on {columns}", model.outputs()),
        Task::Classification => {
            format!("classification{target} on {columns} into {}", listed(model.classes(), 8))
        }
    };
    let common = &plan.common;
    let mut lines = vec![
        ("model", what),
        ("features", format!("{}, {} kernel, {} sampling", features(model), model.kernel(), common.sampling)),
        (
            "objective",
            format!(
                "{} loss; penalty on the head {}, on the relevances {}",
                common.loss,
                match common.fixed_alpha {
                    None if plan.varpro().is_some() => "l2, chosen".into(),
                    _ => penalty(common.penalty),
                },
                penalty(plan.descent().map_or(Penalty::default(), |d| d.penalty_theta))
            ),
        ),
        ("solver", solver(plan)),
        (
            "start",
            format!(
                "preset {}, seed {}{}, class weights {}, missing values {}",
                common.preset,
                common.seed,
                match plan.descent().map(|d| (d.init, d.restarts)) {
                    None => String::new(),
                    Some((Init::Restarter, n)) => format!(", init restarter of {}", plural(n, "start")),
                    Some((init, _)) => format!(", init {init}"),
                },
                common.class_weight,
                common.missing
            ),
        ),
        (
            "fit",
            format!(
                "{} ({} for validation), {}",
                plural(summary.rows, "row"),
                count(summary.validation_rows),
                course(model)
            ),
        ),
    ];
    if !summary.chosen.is_empty() {
        lines.push(("chose", summary.chosen.clone()));
    }
    if let Some(loss) = summary.validation_loss {
        lines.push(("validation", validation(model, loss)));
    }
    lines.extend(summary.warnings.iter().map(|w| ("warning", w.clone())));
    lines.iter().map(|(label, text)| format!("{label:<12}{text}\n")).collect()
}

/// `300 random features`, `ensemble of 3 members with 400 random features each and linear terms`
pub(crate) fn features(model: &Model) -> String {
    let features = plural(model.random_features(), "random feature");
    let features = match model.committee() {
        1 => features,
        members => format!("ensemble of {members} members with {features} each"),
    };
    match (model.plan().common.linear, model.partitions()) {
        (false, 0) => features,
        (true, 0) => format!("{features} and linear terms"),
        (false, partitions) => format!("{features} and {}", plural(partitions, "partition")),
        (true, partitions) => format!("{features}, linear terms and {}", plural(partitions, "partition")),
    }
}

fn solver(plan: &Plan) -> String {
    match &plan.method {
        Method::Descent(d) => {
            let patience = d.patience.map_or(String::new(), |k| format!(", patience {k}"));
            format!(
                "{} at rate {} ({}), batches of {}, at most {}{patience}",
                d.solver,
                exact(d.lr),
                d.schedule,
                count(d.batch_size),
                plural(d.epochs, "epoch"),
            )
        }
        Method::VarPro(v) => format!(
            "{}, spectrum {}, effort {}, at most {} per penalty",
            plan.solver(),
            v.spectrum,
            v.effort,
            plural(v.steps, "step"),
        ),
        _ => plan.solver().to_string(),
    }
}

fn penalty(penalty: Penalty) -> String {
    let parts: Vec<String> = [("l1", penalty.l1), ("l2", penalty.l2)]
        .iter()
        .filter(|(_, strength)| *strength > 0.0)
        .map(|(name, strength)| format!("{name} {}", exact(*strength)))
        .collect();
    if parts.is_empty() { "none".into() } else { parts.join(" + ") }
}

/// `41 epochs, the 31st kept: ...`, as far as it is worth saying.
pub(crate) fn course(model: &Model) -> String {
    let summary = model.summary();
    let solver = model.plan().solver();
    let kept = match summary.best_epoch {
        _ if solver == SolverKind::Varpro => String::new(),
        0 => String::new(),
        best if best == summary.epochs => ", the last one kept".into(),
        best => format!(", epoch {best} kept"),
    };
    let why = match summary.stopped {
        Stopped::Epochs => String::new(),
        Stopped::Patience => match model.plan().descent().and_then(|d| d.patience) {
            Some(k) => format!(", stopped after {k} without improvement"),
            None => ", stopped for want of improvement".into(),
        },
        Stopped::Interrupted => ", interrupted".into(),
        Stopped::Diverged => ", diverged after that".into(),
        Stopped::ConstantTarget => ", the target is constant".into(),
        Stopped::Converged => String::new(),
        Stopped::Budget => ", the budget ran out".into(),
        other => format!(", stopped: {other}"),
    };
    format!("{}{kept}{why}", plural(summary.epochs, step(solver)))
}

/// The validation loss beside that of the best constant.
pub(crate) fn validation(model: &Model, loss: f64) -> String {
    let summary = model.summary();
    let constant = summary
        .baseline_loss
        .map_or(String::new(), |b| format!(", where the best constant has {}", number(b)));
    format!("loss {} on {}{constant}", number(loss), plural(summary.validation_rows, "row"))
}
