//! Every parameter of a fit, described once: flags, configuration keys, Python arguments, help texts and reference
//! documentation are made from this table or tested against it.

use super::{
    ClassWeight, Effort, Init, Missing, Params, Partitions, Plan, Preset, Schedule, Shape, SolverKind,
    SpectrumMode,
};
use crate::Error;
use crate::auto::constants::Recipe;
use crate::loss::LossKind;
use crate::penalty::PenaltyKind;
use crate::spectrum::{Kernel, Sampling};

/// A parameter, as every front end shows it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Parameter {
    /// The key in [`Params`]' serialised form.
    pub key: &'static str,
    /// The flag of the command, and the key in its configuration files.
    pub flag: &'static str,
    /// The argument in Python.
    pub python: &'static str,
    /// Under which heading it stands.
    pub group: Group,
    /// What values it takes.
    pub value: ValueKind,
    /// What it does, in one line.
    pub help: &'static str,
    default: DefaultText,
}

/// A heading of the help text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Group {
    Model,
    Optimisation,
}

/// What values a parameter takes.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum ValueKind {
    /// One of these names.
    Name(fn() -> Vec<String>),
    /// The name of a loss, perhaps with a number.
    Loss,
    /// A whole number; how it is called in help texts.
    Whole(&'static str),
    /// A number; how it is called.
    Real(&'static str),
    /// True or false.
    Switch,
    /// Changes of the default algorithm's constants.
    Recipe,
    /// `auto`, `none` or a whole number.
    Partitions,
}

/// Where the text of a default comes from.
#[derive(Debug, Clone, Copy)]
enum DefaultText {
    /// It is the same for every preset and solver.
    Text(&'static str),
    /// It is read from the plans of descent.
    Planned(fn(&Plan) -> String),
    /// Variable projection has one of its own.
    Both(fn(&Plan) -> String, fn(&Plan) -> String),
}

impl Parameter {
    /// What is wrong with a value that cannot be read.
    pub(super) fn refusal(&self, text: &str) -> Error {
        let need = match self.value {
            ValueKind::Name(names) => format!("one of {}", names().join(" ")),
            ValueKind::Loss => match text.parse::<LossKind>() {
                Err(error) => return error,
                Ok(_) => "the name of a loss".into(),
            },
            ValueKind::Whole(_) => "a whole number".into(),
            ValueKind::Real(_) => "a number".into(),
            ValueKind::Switch => "true or false".into(),
            ValueKind::Partitions => match text.parse::<Partitions>() {
                Err(error) => return error,
                Ok(_) => "auto, none or a whole number".into(),
            },
            ValueKind::Recipe => match text.parse::<Recipe>() {
                Err(error) => return error,
                Ok(_) => "changes of constants".into(),
            },
        };
        Error::parameter(self.flag, format!("'{text}'"), need)
    }

    /// The default in words; where it depends on the number of rows, two numbers of rows are named.
    pub fn default_text(&self) -> String {
        let varpro = |value| planned(&Params::new().solver(SolverKind::Varpro), value);
        let descent = |value| {
            let auto = planned(&Params::new().solver(SolverKind::Adam), value);
            let paper = planned(&Params::paper(), value);
            if auto == paper { auto } else { format!("{auto}; paper: {paper}") }
        };
        match self.default {
            DefaultText::Text(text) => text.into(),
            DefaultText::Planned(value) => descent(value),
            DefaultText::Both(of_varpro, value) => {
                format!("{}; descent: {}", varpro(of_varpro), descent(value))
            }
        }
    }
}

fn planned(params: &Params, value: fn(&Plan) -> String) -> String {
    let of = |rows| {
        let shape = Shape { rows, columns: 10, classification: false };
        params.plan(shape).map(|plan| value(&plan)).unwrap_or_default()
    };
    let (few, many) = (of(1_000), of(1_000_000));
    if few == many { few } else { format!("{few} for 1,000 rows, {many} for 1,000,000") }
}

/// Reads a setting of descent for a default's text.
macro_rules! descent {
    (|$d:ident| $value:expr) => {
        |plan| plan.descent().map(|$d| $value).unwrap_or_default()
    };
}

/// The names of an enum.
macro_rules! names {
    ($name:ident) => {
        ValueKind::Name(|| $name::ALL.iter().map(ToString::to_string).collect())
    };
}

/// Rows are: key, flag, Python, group, values, default, help.
macro_rules! table {
    ($($key:literal $flag:literal $python:literal, $group:ident, $value:expr, $default:expr, $help:literal;)+) => {
        /// Every parameter but the seed, in the order of the help text.
        pub const PARAMETERS: &[Parameter] = &[$(Parameter {
            key: $key,
            flag: $flag,
            python: $python,
            group: Group::$group,
            value: $value,
            help: $help,
            default: $default,
        },)+];
    };
}

use DefaultText::{Both, Planned, Text};
use ValueKind::{Loss, Real, Switch, Whole};

table! {
    "preset" "preset" "preset", Model, names!(Preset), Text("auto"),
        "Where everything that is not set comes from";
    "loss" "loss" "loss", Model, Loss, Text("squared for regression, cross-entropy for classification"),
        "What is minimised: squared, huber[:DELTA], quantile[:TAU], poisson or cross-entropy";
    "kernel" "kernel" "kernel", Model, names!(Kernel), Planned(|p| p.common.kernel.to_string()),
        "The kernel";
    "sampling" "sampling" "sampling", Model, names!(Sampling), Planned(|p| p.common.sampling.to_string()),
        "How frequencies are drawn; orthogonal for the gaussian kernel only";
    "random-features" "features" "n_random_features", Model, Whole("S"),
        Both(|_| "chosen from the data".into(), |p| p.common.random_features.to_string()),
        "Number of random features";
    "alpha" "alpha" "alpha", Model, Real("L"),
        Both(|_| "chosen on validation rows".into(), |p| format!("{:?}", p.common.penalty.l1 + p.common.penalty.l2)),
        "Strength of the penalty on the head";
    "penalty" "penalty" "penalty", Model, names!(PenaltyKind), Text("l2"),
        "Its shape";
    "alpha-theta" "alpha-theta" "alpha_theta", Model, Real("L"), Text("0"),
        "Strength of the penalty on the relevances";
    "penalty-theta" "penalty-theta" "penalty_theta", Model, names!(PenaltyKind),
        Text("l1 if --alpha-theta is given, else none"),
        "Its shape";
    "l1-ratio" "l1-ratio" "l1_ratio", Model, Real("F"), Text("0.5"),
        "Share of l1 in elastic nets, from 0 to 1";
    "class-weight" "class-weight" "class_weight", Model, names!(ClassWeight),
        Planned(|p| p.common.class_weight.to_string()),
        "Weights of the classes";
    "missing" "missing" "missing", Model, names!(Missing), Planned(|p| p.common.missing.to_string()),
        "Missing values: the mean and, where they are common, an indicator; refuse them; or the mean alone";
    "spectrum" "spectrum" "spectrum", Model, names!(SpectrumMode), Text("auto"),
        "Frequencies: random, learned, or some of both; varpro";
    "linear" "linear" "linear", Model, Switch, Text("true"),
        "Linear terms beside the features; varpro";
    "committee" "committee" "committee", Model, Whole("M"),
        Text("by effort 3, 6 or 13"),
        "Members of the ensemble, whose predictions are averaged; varpro";
    "partitions" "partitions" "partitions", Model, ValueKind::Partitions, Text("auto"),
        "Partitions of the rows into cells beside the random features, for what steps: chosen on validation rows, none, or so \
         many for each member; varpro";
    "solver" "solver" "solver", Optimisation, names!(SolverKind), Text("auto"),
        "The solver; auto is varpro for the squared and the cross-entropy loss, and adam for other losses, other \
         penalties than l2 on the head, a given rate, schedule, batch size, patience or start, and the paper's preset";
    "effort" "effort" "effort", Optimisation, names!(Effort), Text("normal"),
        "How much work to do: about a third of normal, or about four times as much; varpro";
    "budget" "budget" "budget", Optimisation, Real("SECONDS"), Text("none"),
        "Stop after so many seconds with what there is; varpro";
    "recipe" "recipe" "recipe", Optimisation, ValueKind::Recipe, Text("none"),
        "Changes of the default algorithm's constants, as in members=8,judge-errors=2; docs/method.md lists them; varpro";
    "init" "init" "init", Optimisation, names!(Init), Planned(descent!(|d| d.init.to_string())),
        "Where the relevances start; varpro for losses that the solver varpro does not know";
    "restarts" "restarts" "n_restarts", Optimisation, Whole("N"),
        Planned(descent!(|d| d.restarts.to_string())),
        "Random starts that the start restarter tries; with --init restarter only";
    "epochs" "epochs" "max_iter", Optimisation, Whole("T"),
        Both(|p| p.varpro().map(|v| v.steps.to_string()).unwrap_or_default(), descent!(|d| d.epochs.to_string())),
        "Steps per penalty, or passes over the rows with descent, at most";
    "lr" "lr" "lr", Optimisation, Real("R"), Planned(descent!(|d| format!("{:?}", d.lr))),
        "Learning rate";
    "schedule" "schedule" "schedule", Optimisation, names!(Schedule),
        Planned(descent!(|d| d.schedule.to_string())),
        "How the learning rate changes";
    "batch-size" "batch-size" "batch_size", Optimisation, Whole("B"),
        Planned(descent!(|d| d.batch_size.to_string())),
        "Rows per step";
    "patience" "patience" "n_iter_no_change", Optimisation, Whole("K"),
        Planned(descent!(|d| d.patience.map_or("no such stop".into(), |k| k.to_string()))),
        "Epochs without improvement before the fit stops";
    "validation-fraction" "validation-fraction" "validation_fraction", Optimisation, Real("F"),
        Both(|p| format!("{:?}", p.common.validation_fraction), |p| format!("{:?}", p.common.validation_fraction)),
        "Share of the rows held out to choose by; 0 for none";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table and the struct name the same parameters.
    #[test]
    fn every_field_has_a_row() {
        let recipe = "members=2".parse::<Recipe>().expect("known");
        let json =
            serde_json::to_value(Params::new().restarts(1).partitions(Partitions::None).recipe(recipe))
                .expect("written");
        let mut fields: Vec<&str> = json.as_object().expect("an object").keys().map(String::as_str).collect();
        fields.retain(|field| *field != "seed");
        let mut rows: Vec<&str> = PARAMETERS.iter().map(|p| p.key).collect();
        fields.sort_unstable();
        rows.sort_unstable();
        assert_eq!(fields, rows);
    }

    #[test]
    fn names_are_read_and_defaults_are_said() {
        for parameter in PARAMETERS {
            assert!(!parameter.default_text().is_empty(), "{}", parameter.key);
            let refused = Params::new().set(parameter, "?").expect_err(parameter.key).to_string();
            assert!(refused.starts_with(&format!("{} is '?'; it must be ", parameter.flag)), "{refused}");
            if let ValueKind::Name(names) = parameter.value {
                for name in names() {
                    let json = serde_json::json!({ parameter.key: name });
                    let read = serde_json::from_value::<Params>(json).expect(parameter.key);
                    let mut set = Params::new();
                    set.set(parameter, &name).expect(parameter.key);
                    assert_eq!(set, read);
                }
            }
        }
    }
}
