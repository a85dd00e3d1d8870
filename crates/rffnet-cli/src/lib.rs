//! The `rffnet` command: parses, runs one subcommand, reports.
//!
//! A library, so that the Python package's `rffnet` is the same code.
//!
//! Results go to standard output, everything else to standard error. Exit status: 0 done, 1 the data or the request
//! is at fault, 2 wrong usage.

mod advice;
mod apart;
mod bars;
mod cli;
mod columns;
mod command;
mod config;
mod copies;
mod failure;
mod options;
mod output;
mod params;
mod progress;
mod read;
mod scores;
mod target;
mod text;
mod values;

use std::ffi::OsString;

use clap::{Command, CommandFactory, FromArgMatches};
use rayon::ThreadPoolBuilder;

use crate::cli::{Cli, Sub};
use crate::failure::Failure;

/// Runs the command line `args`, the program's name first, and returns the exit status.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    let mut command = Cli::command();
    match command
        .try_get_matches_from_mut(args)
        .and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)))
    {
        Ok((cli, matches)) => run(cli).map_or_else(
            |failure| {
                let subcommand = matches.subcommand_name().and_then(|name| command.find_subcommand(name));
                let has =
                    |sub: &Command, flag: &str| sub.get_arguments().any(|arg| arg.get_long() == Some(flag));
                failure.for_flags(|flag| subcommand.is_some_and(|sub| has(sub, flag))).report()
            },
            |()| 0,
        ),
        Err(usage) => {
            // Help and versions come this way too. That printing may fail is nobody's concern.
            let _ = usage.print();
            usage.exit_code() as u8
        }
    }
}

fn run(mut cli: Cli) -> Result<(), Failure> {
    // First of all, since the file may set the number of threads too.
    if let Sub::Fit(fit) = &mut cli.command {
        fit.read_config(&mut cli.globals)?;
    }
    rffnet::simd::requested().map_err(Failure::request)?;
    let pool = ThreadPoolBuilder::new()
        .num_threads(cli.globals.threads.map_or(0, |n| n.get().into()))
        .build()
        .map_err(|e| {
            Failure::request(format!("the threads could not be started ({e}); try a smaller --threads"))
        })?;
    pool.install(|| cli.command.run(&cli.globals))
}
