//! `rffnet job`: one piece of a comparison, in a process of its own. Not for people.

use std::io;

use clap::Args;

use crate::failure::Failure;
use crate::output::to_stdout;

/// Do one job, JSON in and JSON out
#[derive(Debug, Args)]
pub(crate) struct Job {}

impl Job {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        #[cfg(unix)]
        end_with_parent();
        let mut answered = Vec::new();
        rffnet_compare::answer(io::stdin().lock(), &mut answered)
            .map_err(|e| Failure::request(format!("standard input is not a job: {e}")))?;
        to_stdout(|out| out.write_all(&answered))
    }
}

/// Nobody reads the outcome once the command that asked for it is gone, however it ended.
#[cfg(unix)]
fn end_with_parent() {
    use std::os::unix::process::parent_id;
    let parent = parent_id();
    std::thread::spawn(move || {
        while parent_id() == parent {
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        std::process::exit(1);
    });
}
