//! The method's parameters as flags and as names in a configuration file.

use clap::Args;
use rffnet::{
    ClassWeight, Effort, Init, Kernel, LossKind, Missing, Params, PenaltyKind, Plan, Preset, Sampling,
    Schedule, Shape, SolverKind, SpectrumMode,
};
use serde::Deserialize;

use crate::values::{self, named};

/// What `value` is in a plan; both sizes of data are named where it depends on them.
fn planned(params: &Params, value: fn(&Plan) -> String) -> String {
    let of = |rows| {
        let shape = Shape { rows, columns: 10, classification: false };
        params.plan(shape).map(|plan| value(&plan)).unwrap_or_default()
    };
    let (few, many) = (of(1_000), of(1_000_000));
    if few == many { few } else { format!("{few} for 1,000 rows, {many} for 1,000,000") }
}

/// Appends the default of descent and of the paper to a help text, asked from the library so that it is stated once.
fn with_default(text: &str, value: fn(&Plan) -> String) -> String {
    format!("{text} [default: {}]", descent(value))
}

/// The same where varpro has a default of its own.
fn with_defaults(text: &str, varpro: fn(&Plan) -> String, value: fn(&Plan) -> String) -> String {
    let varpro = planned(&Params { solver: SolverKind::Varpro, ..Params::default() }, varpro);
    format!("{text} [default: {varpro}; descent: {}]", descent(value))
}

fn descent(value: fn(&Plan) -> String) -> String {
    let auto = planned(&Params { solver: SolverKind::Adam, ..Params::default() }, value);
    let paper = planned(&Params::paper(), value);
    if auto == paper { auto } else { format!("{auto}; paper: {paper}") }
}

/// Declares the flags and, from the same list, how those of a configuration file fill the gaps.
macro_rules! param_options {
    ($($(#[$meta:meta])* $field:ident: $type:ty,)+) => {
        /// Every parameter of a fit; what is left open comes from the preset.
        #[derive(Debug, Clone, Default, Args, Deserialize)]
        #[serde(default, rename_all = "kebab-case")]
        pub(crate) struct ParamOptions {
            $($(#[$meta])* pub(crate) $field: Option<$type>,)+
        }

        impl ParamOptions {
            /// These, and what they leave open from `file`.
            pub(crate) fn or(self, file: Self) -> Self {
                Self { $($field: self.$field.or(file.$field),)+ }
            }
        }
    };
}

param_options! {
    #[arg(long, help_heading = "Model", value_parser = named(Preset::ALL),
        help = with_default("Where everything that is not set comes from", |_| Preset::Auto.to_string()))]
    preset: Preset,
    /// What is minimised: squared, huber[:DELTA], quantile[:TAU], poisson or cross-entropy [default: squared for
    /// regression, cross-entropy for classification]
    #[arg(long, help_heading = "Model", value_name = "NAME")]
    loss: LossKind,
    #[arg(long, help_heading = "Model", value_parser = named(Kernel::ALL),
        help = with_default("The kernel", |p| p.kernel.to_string()))]
    kernel: Kernel,
    #[arg(long, help_heading = "Model", value_parser = named(Sampling::ALL),
        help = with_default("How frequencies are drawn; orthogonal for the gaussian kernel only", |p| p.sampling.to_string()))]
    sampling: Sampling,
    #[arg(long, help_heading = "Model", value_name = "S", value_parser = values::whole::<usize>,
        help = with_defaults("Number of random features", |_| "chosen from the data".into(),
            |p| p.random_features.to_string()))]
    features: usize,
    #[arg(long, help_heading = "Model", value_name = "L", value_parser = values::real, allow_negative_numbers = true,
        help = with_defaults("Strength of the penalty on the head", |_| "chosen on held-out rows".into(),
            |p| format!("{:?}", p.penalty.l1 + p.penalty.l2)))]
    alpha: f64,
    #[arg(long, help_heading = "Model", value_parser = named(PenaltyKind::ALL),
        help = with_default("Its shape", |_| PenaltyKind::L2.to_string()))]
    penalty: PenaltyKind,
    /// Strength of the penalty on the relevances [default: 0]
    #[arg(long, help_heading = "Model", value_name = "L", value_parser = values::real, allow_negative_numbers = true)]
    alpha_theta: f64,
    /// Its shape [default: l1 if --alpha-theta is given, else none]
    #[arg(long, help_heading = "Model", value_name = "PENALTY", value_parser = named(PenaltyKind::ALL))]
    penalty_theta: PenaltyKind,
    /// Share of l1 in elastic nets, from 0 to 1 [default: 0.5]
    #[arg(long, help_heading = "Model", value_name = "F", value_parser = values::real, allow_negative_numbers = true)]
    l1_ratio: f64,
    #[arg(long, help_heading = "Model", value_name = "WEIGHTS", value_parser = named(ClassWeight::ALL),
        help = with_default("Weights of the classes", |p| p.class_weight.to_string()))]
    class_weight: ClassWeight,
    #[arg(long, help_heading = "Model", value_parser = named(Missing::ALL),
        help = with_default("Missing values: refuse them, or take the column's mean", |p| p.missing.to_string()))]
    missing: Missing,
    #[arg(long, help_heading = "Model", value_parser = named(SpectrumMode::ALL),
        help = with_default("Frequencies: random, learned, or some of both; varpro", |p| p.spectrum.to_string()))]
    spectrum: SpectrumMode,
    /// Linear terms beside the features; varpro [default: true]
    #[arg(long, help_heading = "Model", value_name = "BOOL")]
    linear: bool,
    /// Members of the ensemble that are averaged; varpro [default: by effort 1, 6 or 8, more where work is left; 1 where the first leaves next to nothing]
    #[arg(long, help_heading = "Model", value_name = "M", value_parser = values::whole::<usize>)]
    committee: usize,
    #[arg(long, help_heading = "Optimisation", value_parser = named(SolverKind::ALL),
        help = with_default("The solver; auto is varpro for the squared and the cross-entropy loss, and adam for other \
            losses, other penalties than l2 on the head, a given rate, schedule, batch size, patience or start, and the \
            paper's preset", |_| SolverKind::Auto.to_string()))]
    solver: SolverKind,
    #[arg(long, help_heading = "Optimisation", value_parser = named(Effort::ALL),
        help = with_default("How much work to do: a tenth of normal, or five times as much; varpro",
            |p| p.effort.to_string()))]
    effort: Effort,
    /// Stop after so many seconds with what there is; varpro [default: none]
    #[arg(long, help_heading = "Optimisation", value_name = "SECONDS", value_parser = values::real,
        allow_negative_numbers = true)]
    budget: f64,
    #[arg(long, help_heading = "Optimisation", value_parser = named(Init::ALL),
        help = with_default("Where the relevances start; varpro for losses that the solver varpro does not know",
            |p| p.init.to_string()))]
    init: Init,
    #[arg(long, help_heading = "Optimisation", value_name = "N", value_parser = values::whole::<usize>,
        help = with_default("Random starts that the start restarter tries; with --init restarter only",
            |p| p.restarts.to_string()))]
    restarts: usize,
    #[arg(long, help_heading = "Optimisation", value_name = "T", value_parser = values::whole::<usize>,
        help = with_defaults("Steps per penalty, or passes over the rows with descent, at most",
            |p| p.epochs.to_string(), |p| p.epochs.to_string()))]
    epochs: usize,
    #[arg(long, help_heading = "Optimisation", value_name = "R", value_parser = values::real, allow_negative_numbers = true,
        help = with_default("Learning rate", |p| format!("{:?}", p.lr)))]
    lr: f64,
    #[arg(long, help_heading = "Optimisation", value_parser = named(Schedule::ALL),
        help = with_default("How the learning rate changes", |p| p.schedule.to_string()))]
    schedule: Schedule,
    #[arg(long, help_heading = "Optimisation", value_name = "B", value_parser = values::whole::<usize>,
        help = with_default("Rows per step", |p| p.batch_size.to_string()))]
    batch_size: usize,
    #[arg(long, help_heading = "Optimisation", value_name = "K", value_parser = values::whole::<usize>,
        help = with_default("Epochs without improvement before the fit stops",
            |p| p.patience.map_or("no such stop".into(), |k| k.to_string())))]
    patience: usize,
    #[arg(long, help_heading = "Optimisation", value_name = "F", value_parser = values::real, allow_negative_numbers = true,
        help = with_defaults("Share of the rows held out to choose by; 0 for none",
            |p| format!("{:?}", p.validation_fraction), |p| format!("{:?}", p.validation_fraction)))]
    validation_fraction: f64,
}

impl ParamOptions {
    pub(crate) fn params(&self, seed: u64) -> Params {
        Params {
            preset: self.preset.unwrap_or(Preset::Auto),
            seed,
            loss: self.loss,
            solver: self.solver.unwrap_or(SolverKind::Auto),
            kernel: self.kernel,
            sampling: self.sampling,
            init: self.init,
            restarts: self.restarts,
            random_features: self.features,
            alpha: self.alpha,
            penalty: self.penalty,
            alpha_theta: self.alpha_theta,
            penalty_theta: self.penalty_theta,
            l1_ratio: self.l1_ratio,
            lr: self.lr,
            schedule: self.schedule,
            batch_size: self.batch_size,
            epochs: self.epochs,
            patience: self.patience,
            validation_fraction: self.validation_fraction,
            class_weight: self.class_weight,
            missing: self.missing,
            spectrum: self.spectrum,
            linear: self.linear,
            committee: self.committee,
            effort: self.effort,
            budget: self.budget,
        }
    }
}
