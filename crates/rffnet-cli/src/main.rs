//! The `rffnet` command: parses, runs one subcommand, reports.
//!
//! Results go to standard output, everything else to standard error. Exit status: 0 done, 1 the data or the request
//! is at fault, 2 wrong usage.

mod bars;
mod cli;
mod command;
mod config;
mod failure;
mod labels;
mod options;
mod output;
mod params;
mod progress;
mod sample;
mod scores;
mod table;
mod text;
mod values;

use std::process::ExitCode;

use clap::Parser;
use rayon::ThreadPoolBuilder;

use crate::cli::{Cli, Sub};
use crate::failure::Failure;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
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
