//! The `rffnet` command: parses, runs one subcommand, reports.
//!
//! A library, so that the Python package's `rffnet` is the same code.
//!
//! Results go to standard output, everything else to standard error. Exit status: 0 done, 1 the data or the request
//! is at fault, 2 wrong usage.

mod bars;
mod cli;
mod command;
mod config;
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

use clap::Parser;
use rayon::ThreadPoolBuilder;

use crate::cli::{Cli, Sub};
use crate::failure::Failure;

/// Runs the command line `args`, the program's name first, and returns the exit status.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    match Cli::try_parse_from(args) {
        Ok(cli) => run(cli).map_or_else(|failure| failure.report(), |()| 0),
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
