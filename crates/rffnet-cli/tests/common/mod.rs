//! Runs the command and looks at what comes out.

#![allow(dead_code)] // not every test file uses all of it

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Small and quick: for tests that care about the way, not about the fit.
pub(crate) const SMALL: &str = "--solver adam --features 32 --epochs 3";

/// A folder that the command runs in, gone at the end of the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("a file");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).expect("UTF-8")
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rffnet"));
        command.current_dir(self.0.path()).args(words(line)).stdin(Stdio::null());
        command
    }

    /// Runs `rffnet LINE`; words are separated by blanks.
    pub(crate) fn run(&self, line: &str) -> Run {
        Run::new(line, self.command(line).output().expect("the command starts"))
    }

    pub(crate) fn run_with_input(&self, line: &str, input: &[u8]) -> Run {
        let mut command = self.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_vec();
        // Beside the reading of the output, so that neither pipe can fill up and block.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().expect("the command ends");
        writer.join().expect("the writer ends");
        Run::new(line, output)
    }

    /// Runs, expects success, and gives standard output.
    pub(crate) fn ok(&self, line: &str) -> String {
        self.run(line).ok().stdout
    }

    /// As [`Folder::ok`], with `--json`.
    pub(crate) fn json(&self, line: &str) -> Value {
        let text = self.ok(&format!("{line} --json"));
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{line}: {e}\n{text}"))
    }

    pub(crate) fn generate(&self, what: &str) {
        self.ok(&format!("generate {what}"));
    }
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split_whitespace()
}

/// What a run left behind.
pub(crate) struct Run {
    pub(crate) line: String,
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    fn new(line: &str, output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Run {
            line: line.to_string(),
            status: output.status.code().unwrap_or(-1),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.status, 0, "rffnet {}\n{}", self.line, self.stderr);
        self
    }

    /// Expects a refusal: nothing on standard output, and one sentence with these words.
    pub(crate) fn refused(&self, status: i32, expected: &[&str]) {
        let Run { line, stderr, .. } = self;
        // With --nocapture, all sentences can be read at a go.
        println!("$ rffnet {line}\n{stderr}");
        assert_eq!(self.status, status, "rffnet {line}\n{stderr}");
        assert_eq!(self.stdout, "", "rffnet {line}");
        let errors: Vec<&str> = stderr.lines().filter(|l| l.starts_with("error: ")).collect();
        assert_eq!(errors.len(), 1, "rffnet {line}\n{stderr}");
        if status == 1 {
            let last = stderr.lines().last();
            assert_eq!(last, Some(errors[0]), "rffnet {line}: the sentence is the end of it");
            assert!(errors[0].len() < 600, "rffnet {line}: {stderr}");
        }
        for word in expected {
            assert!(stderr.contains(word), "rffnet {line}\n{stderr}\nlacks '{word}'");
        }
    }
}

pub(crate) fn keys(object: &Value) -> Vec<&str> {
    object.as_object().expect("an object").keys().map(String::as_str).collect()
}

/// All files in a folder, sorted.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
