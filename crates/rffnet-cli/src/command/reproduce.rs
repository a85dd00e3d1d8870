//! `rffnet reproduce`: the tables and figures of the paper.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rffnet_compare::run_apart;
use rffnet_paper::{Experiment, Request};

use crate::cli::Globals;
use crate::failure::Failure;
use crate::output::{object, print, print_json};
use crate::values;

const EXAMPLES: &str = "\
Examples:
  rffnet reproduce table1 --quick
  rffnet reproduce fig3 --preset auto -o results
  rffnet reproduce table3 --data-dir data --replicas 3
  rffnet reproduce all --preset auto --data-dir data -o results

Names: table1 to table4, tableC5, tableD6, tableF7 to tableF14, fig2 to fig4, figD5 to figD7, figE8 to figE10, landscape;
beyond the paper: convergence, reliability.
Every cell is kept under DIR/cells, so that a run that was stopped goes on where it was; delete that folder to measure anew.";

/// What stands beside the paper's methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shown {
    /// Nothing: the paper's methods alone
    Paper,
    /// rffnet as it fits by default
    Auto,
}

/// Reproduce the tables and figures of the paper
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Reproduce {
    /// A table or figure by name, several, or `all`
    #[arg(value_name = "TABLE|FIGURE", required = true)]
    what: Vec<String>,
    /// Fewer rows and replicas: minutes instead of hours [default: the paper's numbers]
    #[arg(long)]
    quick: bool,
    /// `auto` adds rffnet's own defaults beside the preset of the paper
    #[arg(long, value_enum, value_name = "PRESET", default_value = "paper")]
    preset: Shown,
    /// Replicas or folds at most; tables state how many there are [default: the paper's, 10 or 20]
    #[arg(long, value_name = "N", value_parser = values::whole::<usize>)]
    replicas: Option<usize>,
    /// The folder with the real sets; docs/data.md says where to get them [default: real sets are skipped]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// The folder for the results
    #[arg(long, short, value_name = "DIR", default_value = "results")]
    output: PathBuf,
}

impl Reproduce {
    pub(crate) fn run(&self, globals: &Globals) -> Result<(), Failure> {
        let what = self.experiments()?;
        if self.replicas == Some(0) {
            return Err(Failure::request("replicas is 0; it must be at least 1"));
        }
        if let Some(folder) = self.data_dir.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(Failure::request(format!(
                "there is no folder '{}' for --data-dir; docs/data.md says what belongs there",
                folder.display()
            )));
        }
        let request = Request {
            what: what.clone(),
            quick: self.quick,
            auto: self.preset == Shown::Auto,
            replicas: self.replicas,
            data_dir: self.data_dir.clone(),
            output: self.output.clone(),
            seed: globals.seed(),
            threads: globals.threads.map_or(0, |n| n.get().into()),
        };
        let index = rffnet_paper::reproduce(&request, &run_apart, &|line| globals.tell(line))?;
        let index = index.first().map_or_else(String::new, |path| path.display().to_string());
        if globals.json {
            return print_json(&object! {
                experiments: what.iter().map(|e| e.name()).collect::<Vec<_>>(),
                quick: self.quick,
                output: self.output.display().to_string(),
                index,
            });
        }
        print(&format!("{index}\n"))
    }

    /// What is asked for, each once, in the order of the paper.
    fn experiments(&self) -> Result<Vec<Experiment>, Failure> {
        let mut chosen = Vec::new();
        for name in &self.what {
            if name.eq_ignore_ascii_case("all") {
                return Ok(Experiment::ALL.to_vec());
            }
            chosen.push(name.parse::<Experiment>()?);
        }
        Ok(Experiment::ALL.iter().copied().filter(|e| chosen.contains(e)).collect())
    }
}
