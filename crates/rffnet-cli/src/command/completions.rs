//! `rffnet completions`: what the shell needs to complete flags and names.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::to_stdout;

const EXAMPLES: &str = "\
Examples:
  rffnet completions bash > ~/.local/share/bash-completion/completions/rffnet
  rffnet completions zsh > ~/.zfunc/_rffnet
  rffnet completions fish > ~/.config/fish/completions/rffnet.fish";

/// Print the completions of a shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        // Into memory first: the generator takes a failed write for a fault in the program.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "rffnet", &mut script);
        to_stdout(|out| out.write_all(&script))
    }
}
