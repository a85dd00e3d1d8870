//! Ctrl-C: once keeps the best model, twice ends at once.
#![cfg(unix)]

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use common::Folder;

/// Starts a fit and waits until it is on its way.
fn start(folder: &Folder, line: &str) -> Child {
    let mut child =
        folder.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut said = String::new();
    while stderr.read_line(&mut said).expect("a line") > 0 && !said.contains("fitting") {}
    assert!(said.contains("fitting"), "{said}");
    // Keep reading, so that the command never writes into a closed pipe.
    std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
    child
}

fn interrupt(child: &Child) {
    sleep(Duration::from_millis(300));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
}

#[test]
fn once_keeps_the_best_model() {
    let folder = Folder::new();
    for fit in [
        "--rows 500 --solver adam --features 32 --epochs 100000000",
        "--rows 2000 --solver varpro --features 100 --committee 1000",
    ] {
        let child = start(&folder, &format!("fit --dataset gse1 {fit} --json -o m.rffnet"));
        interrupt(&child);
        let output = child.wait_with_output().expect("ends");
        assert_eq!(output.status.code(), Some(0), "{fit}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(report["stopped"], "interrupted", "{fit}");
        assert!(report["test"]["mse"].is_f64());
        assert_eq!(folder.json("inspect m.rffnet")["summary"]["stopped"], "interrupted");
    }
}

#[test]
fn twice_ends_at_once() {
    let folder = Folder::new();
    folder.write("m.rffnet", "old");
    // One epoch of this takes many seconds.
    let child = start(
        &folder,
        "fit --dataset jse3 --rows 300000 --solver adam --features 4000 --epochs 1000 -o m.rffnet",
    );
    interrupt(&child);
    interrupt(&child);
    let output = child.wait_with_output().expect("ends");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(130), b"".as_slice()));
    assert_eq!(folder.text("m.rffnet"), "old");
}
