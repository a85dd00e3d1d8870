//! A job in a process of its own: the same program again, with the job on standard input and the outcome on standard
//! output.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use crate::{Job, Outcome, run};

/// The argument after which a program answers a job.
pub const JOB: &str = "job";

/// Does a job in a process of its own. Whatever becomes of that process is an outcome.
///
/// The process is this program, started with the argument [`JOB`], which must [`answer`].
pub fn run_apart(job: &Job) -> Outcome {
    let started = own_program().and_then(|program| ask(Command::new(program), job));
    started.unwrap_or_else(|e| Outcome::failed(format!("its process could not be run: {e}")))
}

/// Reads a job, does it, writes the outcome. The error is for a job that cannot be read or an outcome that cannot be
/// written.
pub fn answer(mut input: impl Read, output: impl Write) -> io::Result<()> {
    let mut text = String::new();
    input.read_to_string(&mut text)?;
    let job: Job = serde_json::from_str(&text)?;
    drop(text);
    serde_json::to_writer(output, &run(&job))?;
    Ok(())
}

/// The program that runs, even if its file has been replaced since.
fn own_program() -> io::Result<PathBuf> {
    let linux = Path::new("/proc/self/exe");
    if linux.exists() { Ok(linux.into()) } else { std::env::current_exe() }
}

fn ask(mut program: Command, job: &Job) -> io::Result<Outcome> {
    let text = serde_json::to_vec(job)?;
    let mut child =
        program.arg(JOB).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let input = child.stdin.take();
    // Beside the reading of the output, so that neither pipe can fill up and block. A child that ends early closes its
    // end, and its status says more than the failed write would.
    let writer = thread::spawn(move || input.map(|mut input| input.write_all(&text)));
    let output = child.wait_with_output()?;
    let _ = writer.join();
    if output.status.success()
        && let Ok(outcome) = serde_json::from_slice(&output.stdout)
    {
        return Ok(outcome);
    }
    Ok(Outcome::failed(end(output.status, &String::from_utf8_lossy(&output.stderr))))
}

/// How a process ended that gave no outcome.
fn end(status: ExitStatus, errors: &str) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let likely = if signal == 9 { ", most likely for want of memory" } else { "" };
        return format!("its process was ended by signal {signal}{likely}");
    }
    let last: String =
        errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("").chars().take(200).collect();
    match status.code() {
        Some(code) if last.is_empty() => format!("its process ended with status {code}"),
        Some(code) => format!("its process ended with status {code}: {last}"),
        None => "its process ended without a status".into(),
    }
}

/// The most memory this process has had so far, in MB; none where the system does not say.
pub(crate) fn peak_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Part, Source};
    use rffnet_data::Simulated;

    fn job() -> Job {
        let part = |part| Source::Simulated { set: Simulated::Jse3, rows: 50, test_rows: 50, seed: 0, part };
        Job::new(Kind::Constant, part(Part::Train), part(Part::Test))
    }

    #[test]
    fn answers_are_outcomes() {
        let mut answered = Vec::new();
        answer(serde_json::to_vec(&job()).unwrap().as_slice(), &mut answered).unwrap();
        let outcome: Outcome = serde_json::from_slice(&answered).unwrap();
        assert_eq!(outcome.scores, run(&job()).scores);
        assert!(answer(&b"{}"[..], Vec::new()).is_err());
    }

    /// Programs that are not this one: they fail, or say something else.
    #[cfg(unix)]
    #[test]
    fn a_process_that_fails_is_an_outcome() {
        let note = |program: &str| ask(Command::new(program), &job()).map(|outcome| outcome.note);
        assert_eq!(note("false").unwrap().as_deref(), Some("its process ended with status 1"));
        assert_eq!(note("echo").unwrap().as_deref(), Some("its process ended with status 0"));
        assert!(note("no such program").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_process_that_is_killed_is_an_outcome() {
        // The shell's own text, not a file of it: a program just written cannot be started while another test forks.
        let mut killed = Command::new("sh");
        killed.args(["-c", "kill -9 $$"]);
        let note = ask(killed, &job()).unwrap().note.unwrap();
        assert_eq!(note, "its process was ended by signal 9, most likely for want of memory");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_peak_is_some_megabytes() {
        assert!((1.0..100_000.0).contains(&peak_mb().unwrap()));
    }
}
