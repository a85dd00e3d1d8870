//! The subcommands, and the flags they all share.

use std::fmt::Display;
use std::num::NonZeroU16;

use clap::{Args, Parser, Subcommand};
use rffnet_data::Format;
use serde::Deserialize;

#[cfg(feature = "reproduce")]
use crate::command::reproduce;
#[cfg(feature = "compare")]
use crate::command::{compare, job};
use crate::command::{completions, eval, export, fit, generate, inspect, predict, select};
use crate::failure::{Failure, say};
use crate::values::{self, FORMATS, named};

const EXAMPLES: &str = "\
Examples:
  rffnet fit --dataset gse1 -o gse1.rffnet          fit a built-in simulated set, keep the model
  rffnet fit houses.csv --target price --test-fraction 0.2 -o houses.rffnet
  rffnet predict houses.rffnet new.csv > prices.csv
  rffnet inspect houses.rffnet                      which columns matter, and how the fit went

`rffnet help SUBCOMMAND` says more. Exit status: 0 done, 1 the data or the request is at fault, 2 wrong usage.";

/// Kernel machines that say which columns matter.
#[derive(Debug, Parser)]
#[command(name = "rffnet", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Sub,
    #[command(flatten)]
    pub(crate) globals: Globals,
}

/// What every subcommand understands; a configuration file may set it as well.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Globals {
    /// Print the result as one JSON object [default: text for people]
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Nothing on standard error but errors [default: say what is done, and warn]
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// One seed for all random choices [default: 0]
    #[arg(long, global = true, value_name = "N", value_parser = values::whole::<u64>)]
    pub(crate) seed: Option<u64>,
    /// Threads to work with; the result does not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = values::threads)]
    pub(crate) threads: Option<NonZeroU16>,
    /// Format of the data files [default: by name, else by content]
    #[arg(long, global = true, value_name = "FORMAT", value_parser = named(FORMATS))]
    #[serde(deserialize_with = "values::parsed")]
    pub(crate) format: Option<Format>,
}

impl Globals {
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(0)
    }

    /// Says what is done, unless asked to be quiet.
    pub(crate) fn tell(&self, line: impl Display) {
        if !self.quiet {
            say(line);
        }
    }

    /// These, and what they leave open from `file`.
    pub(crate) fn or(self, file: Globals) -> Globals {
        Globals {
            json: self.json || file.json,
            quiet: self.quiet || file.quiet,
            seed: self.seed.or(file.seed),
            threads: self.threads.or(file.threads),
            format: self.format.or(file.format),
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Sub {
    Fit(Box<fit::Fit>),
    Predict(predict::Predict),
    Eval(eval::Eval),
    Inspect(inspect::Inspect),
    Select(select::Select),
    Export(export::Export),
    #[cfg(feature = "compare")]
    Compare(Box<compare::Compare>),
    #[cfg(feature = "reproduce")]
    Reproduce(reproduce::Reproduce),
    Generate(generate::Generate),
    Completions(completions::Completions),
    #[cfg(feature = "compare")]
    #[command(name = rffnet_compare::JOB, hide = true)]
    Job(job::Job),
}

impl Sub {
    pub(crate) fn run(&self, globals: &Globals) -> Result<(), Failure> {
        match self {
            Sub::Fit(command) => command.run(globals),
            Sub::Predict(command) => command.run(globals),
            Sub::Eval(command) => command.run(globals),
            Sub::Inspect(command) => command.run(globals),
            Sub::Select(command) => command.run(globals),
            Sub::Export(command) => command.run(globals),
            #[cfg(feature = "compare")]
            Sub::Compare(command) => command.run(globals),
            #[cfg(feature = "reproduce")]
            Sub::Reproduce(command) => command.run(globals),
            Sub::Generate(command) => command.run(globals),
            Sub::Completions(command) => command.run(),
            #[cfg(feature = "compare")]
            Sub::Job(command) => command.run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_parser_is_well_formed() {
        super::Cli::command().debug_assert();
    }

    /// Every flag that takes a value, or changes what happens without it, names its default.
    #[test]
    fn every_flag_states_its_default() {
        let mut command = super::Cli::command();
        command.build();
        for sub in command.get_subcommands().filter(|s| s.get_name() != "help") {
            for flag in sub.get_arguments().filter(|a| !a.is_positional() && a.get_id() != "help") {
                let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
                let stated = help.contains("[default:") || !flag.get_default_values().is_empty();
                assert!(stated, "{} --{}: {help}", sub.get_name(), flag.get_id());
            }
        }
    }
}
