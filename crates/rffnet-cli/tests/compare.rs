//! `rffnet compare`: the contract, the folds, what is refused and what is left behind.

mod common;

use common::{Folder, files, keys};
use serde_json::Value;

/// Methods that take no time.
const QUICK: &str = "--models linear,nystroem,constant";

fn models(report: &Value) -> Vec<&str> {
    report["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["model"].as_str().expect("a name"))
        .collect()
}

fn row<'a>(report: &'a Value, model: &str) -> &'a Value {
    let rows = report["rows"].as_array().expect("rows");
    rows.iter().find(|row| row["model"] == model).expect(model)
}

/// Ten shops with twenty days each: sales depend on the day's heat, and `shop` is text.
fn shops() -> String {
    let mut text = "shop,heat,rain,sales\n".to_string();
    for i in 0..200 {
        let (heat, rain) = (i * 37 % 101, i * 53 % 89);
        text += &format!("s{},{heat},{rain},{}\n", i % 10, heat * heat);
    }
    text
}

#[test]
fn the_object_is_that_of_the_contract() {
    let folder = Folder::new();
    let line = format!("compare --dataset jse2 --rows 300 --folds 3 {QUICK},rffnet");
    let report = folder.json(&line);
    let expected = ["folds", "metric", "rows"];
    assert!(expected.iter().all(|key| keys(&report).contains(key)), "{report}");
    assert_eq!((&report["folds"], &report["metric"]), (&3.into(), &"mse".into()));
    for row in report["rows"].as_array().expect("rows") {
        for key in ["mean", "sd", "fit_seconds", "predict_seconds"] {
            assert!(row[key].as_f64().is_some_and(|v| v >= 0.0), "{key} of {row}");
        }
        assert_eq!(row["scores"].as_array().map(Vec::len), Some(3));
        assert!(row["scores"][0]["r2"].is_f64());
        assert_eq!(row["note"], Value::Null, "{row}");
        if cfg!(target_os = "linux") {
            assert!(row["peak_mb"].as_f64().is_some_and(|mb| (1.0..2000.0).contains(&mb)), "{row}");
        }
    }
    let means: Vec<f64> = report["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["mean"].as_f64().expect("a mean"))
        .collect();
    assert!(means.is_sorted(), "{means:?}");
    assert_eq!(models(&report).first(), Some(&"rffnet"));
    assert_eq!(models(&report).last(), Some(&"constant"));
    assert_eq!(row(&report, "rffnet")["columns_found"], 2);
    assert_eq!(row(&report, "nystroem")["columns_found"], Value::Null);
}

/// Scores, not times: the same for any number of threads, and not for another seed.
#[test]
fn seeds_decide_and_threads_do_not() {
    let folder = Folder::new();
    let scores = |flags: &str| {
        let line = format!("compare --dataset gse1 --rows 400 --folds 2 {QUICK},rffnet-paper,krr {flags}");
        let report = folder.json(&line);
        let rows = report["rows"].as_array().expect("rows").clone();
        rows.into_iter().map(|row| row["scores"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(scores("--threads 1"), scores("--threads 2"));
    assert_ne!(scores("--seed 1"), scores("--seed 2"));
}

#[test]
fn classes_are_scored_by_auc_or_by_accuracy() {
    let folder = Folder::new();
    let report = folder.json(&format!("compare --dataset moons --rows 200 --folds 3 {QUICK}"));
    assert_eq!((&report["metric"], &report["split"]), (&"auc".into(), &"stratified".into()));
    assert_eq!(row(&report, "constant")["mean"], 0.5);
    assert_eq!(models(&report), ["nystroem", "linear", "constant"]);
    // The last block of rows is of one class: it has no AUC.
    let mut text = "a,b,kind\n".to_string();
    for i in 0..90 {
        text +=
            &format!("{},{},{}\n", i * 7 % 11, i * 5 % 13, if i % 2 == 0 || i >= 60 { "new" } else { "old" });
    }
    folder.write("kinds.csv", text);
    let report = folder.json(&format!("compare kinds.csv -t kind --time --folds 2 {QUICK}"));
    assert_eq!((&report["metric"], &report["split"]), (&"accuracy".into(), &"time".into()));
}

#[test]
fn groups_are_text_and_no_inputs() {
    let folder = Folder::new();
    folder.write("shops.csv", shops());
    let report = folder.json(&format!("compare shops.csv -t sales --group shop --folds 5 {QUICK}"));
    assert_eq!((&report["split"], &report["columns"]), (&"group".into(), &2.into()));
    assert_eq!(row(&report, "linear")["scores"].as_array().map(Vec::len), Some(5));
    let text = folder.ok(&format!("compare shops.csv -t sales --group shop --folds 5 {QUICK} -q"));
    assert!(text.contains("folds   5, no 'shop' in two of them\n"), "{text}");
    let refused = |flags: &str, words: &[&str]| {
        folder.run(&format!("compare shops.csv -t sales {flags} {QUICK} -q")).refused(1, words);
    };
    refused("--group shop --folds 11", &["shops.csv", "10 groups cannot be cut into 11 folds"]);
    refused("--group shap", &["no column 'shap' for --group", "did you mean 'shop'?"]);
    folder
        .run(&format!("compare shops.csv -t sales --group sales {QUICK}"))
        .refused(2, &["--group cannot be the column of --target"]);
    // Without the flag it is a category like any other.
    assert_eq!(folder.json(&format!("compare shops.csv -t sales --folds 2 {QUICK},rffnet"))["columns"], 3);
}

#[test]
fn a_method_that_is_refused_is_a_row_that_says_why() {
    let folder = Folder::new();
    let line =
        "compare --dataset classification --rows 300 --folds 2 --models gpr,krr,linear --memory-limit 1e-5";
    let report = folder.json(line);
    assert_eq!(models(&report).len(), 3);
    let note = row(&report, "krr")["note"].as_str().expect("a note");
    assert!(note.contains("needs") && note.contains("limit"), "{note}");
    assert!(row(&report, "gpr")["mean"].is_null() && row(&report, "gpr")["note"].is_string());
    let text = folder.ok(&format!("{line} -q"));
    assert!(text.lines().any(|l| l.starts_with("  krr") && l.contains("failed: needs")), "{text}");
}

#[test]
fn fewer_rows_are_stated() {
    let folder = Folder::new();
    let report = folder.json("compare --dataset jse3 --rows 300 --folds 3 --models krr,rff --max-rows 50");
    for model in ["krr", "rff"] {
        assert_eq!(row(&report, model)["note"], "learned from 50 of 200 rows of a fold", "{report}");
    }
    let report = folder.json("compare --dataset jse3 --rows 300 --folds 3 --models krr");
    assert_eq!(row(&report, "krr")["note"], Value::Null);
}

#[test]
fn missing_cells_become_the_training_mean() {
    let folder = Folder::new();
    let holes: String = shops().lines().enumerate().fold(String::new(), |text, (i, line)| {
        let cells: Vec<&str> = line.split(',').collect();
        let rain = if i % 9 == 4 { "" } else { cells[2] };
        text + &format!("{},{rain},{}\n", cells[1], cells[3])
    });
    folder.write("holes.csv", holes);
    let line = format!("compare holes.csv -t sales --folds 2 {QUICK},rffnet-paper -q");
    folder.run(&format!("{line} --missing error")).refused(1, &["holes.csv", "'rain'", "missing"]);
    for missing in ["", "--missing mean"] {
        let report = folder.json(&format!("{line} {missing}"));
        assert!(report["rows"].as_array().expect("rows").iter().all(|row| row["mean"].is_f64()), "{report}");
    }
}

#[test]
fn tables_are_printed_or_written() {
    let folder = Folder::new();
    let line = format!("compare --dataset jse3 --rows 200 --folds 2 {QUICK}");
    let run = folder.run(&line).ok();
    assert!(
        run.stdout.contains("mse ± sd") && run.stdout.contains("jse3: 200 rows, 10 columns"),
        "{}",
        run.stdout
    );
    assert!(!run.stderr.contains('\r'), "no progress line without a terminal: {}", run.stderr);
    assert_eq!(folder.run(&format!("{line} -q")).ok().stderr, "");
    let markdown = folder.ok(&format!("{line} --markdown"));
    assert!(markdown.starts_with("| model | mse ± sd | fit |"), "{markdown}");
    folder.ok(&format!("{line} --csv -o table.csv"));
    let csv = folder.text("table.csv");
    assert!(csv.starts_with("model,metric,mean,sd,") && csv.lines().count() == 4, "{csv}");
    folder.ok(&format!("{line} --json -o table.json"));
    let json: Value = serde_json::from_str(&folder.text("table.json")).expect("JSON");
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(3));
}

#[test]
fn standard_input_is_read_once() {
    let folder = Folder::new();
    let rows: String = (0..60).map(|i| format!("{},{},{}\n", i % 7, i % 3, i % 5)).collect();
    folder.run_with_input(&format!("compare - {QUICK} --folds 2"), rows.as_bytes()).ok();
    let grouped = folder.run_with_input(&format!("compare - {QUICK} --group 1 --folds 2"), rows.as_bytes());
    assert!(grouped.ok().stdout.contains("no '1' in two of them"));
}

#[test]
fn bad_requests_get_a_sentence_and_leave_nothing() {
    let folder = Folder::new();
    folder.write("shops.csv", shops());
    folder.write("few.csv", "a,y\n1,2\n3,4\n5,7\n");
    folder.write("out", "old");
    let before = files(&folder.path("."));
    let cases: &[(i32, &str, &[&str])] = &[
        (2, "compare", &["nothing to compare on"]),
        (2, "compare few.csv --dataset gse1", &["exclude each other"]),
        (2, "compare few.csv -t y --rows 10", &["--rows belongs to --dataset"]),
        (2, "compare --dataset gse1 --group x1", &["--group belongs to a data file"]),
        (2, "compare few.csv -t y --group a --time", &["--time"]),
        (2, "compare --time few.csv -t y", &["'few.csv', for a column", "before --time"]),
        (2, "compare few.csv -t y --json --csv", &["--json, --markdown and --csv exclude each other"]),
        (2, "compare few.csv -t y --models krr,nystrom", &["'nystrom'", "did you mean 'nystroem'?"]),
        (2, "compare few.csv -t y --folds five", &["whole number"]),
        (1, "compare few.csv -t y --folds 1", &["few.csv", "folds is 1", "at least 2"]),
        (1, "compare few.csv -t y", &["few.csv", "3 rows cannot be cut into 5 folds"]),
        (1, "compare few.csv -t y --max-rows 0", &["max-rows is 0"]),
        (1, "compare few.csv -t y --memory-limit 0", &["memory-limit is 0"]),
        (1, "compare few.csv -t z", &["no column 'z' for --target"]),
        (1, "compare few.csv", &["which column is the target?"]),
        (1, "compare nosuch.csv -t y", &["nosuch.csv"]),
        (1, "compare --dataset gse1 --rows 0", &["rows is 0"]),
        (1, "compare --dataset gse1 -t x1", &["the target of gse1 is 'y'"]),
    ];
    for (status, line, words) in cases {
        folder.run(&format!("{line} -q -o out")).refused(*status, words);
        assert_eq!(folder.text("out"), "old", "{line}");
        assert_eq!(files(&folder.path(".")), before, "{line}");
    }
    folder.run("compare few.csv -t y -o nosuch/table").refused(1, &["no folder 'nosuch'"]);
    folder.run("compare few.csv -t y -o few.csv").refused(1, &["is read and cannot be the output too"]);
}

/// The rows that jobs share are in a temporary file, which does not outlive the command.
#[cfg(unix)]
#[test]
fn no_temporary_file_stays() {
    use std::process::{Command, Stdio};
    use std::thread::sleep;
    use std::time::Duration;

    let folder = Folder::new();
    let start = |line: &str| {
        let mut command = folder.command(line);
        command.env("TMPDIR", folder.path(".")).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("starts")
    };
    let ended = start(&format!("compare --dataset jse3 --rows 100 --folds 2 {QUICK}")).wait().expect("ends");
    assert!(ended.success());
    assert!(files(&folder.path(".")).is_empty());

    let mut child = start("compare --dataset gse2 --rows 20000 --models rffnet");
    while files(&folder.path(".")).is_empty() {
        sleep(Duration::from_millis(20));
    }
    sleep(Duration::from_millis(500));
    // Any thread may have started the job.
    let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).into_iter().flatten().flatten();
    let jobs: String =
        tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok()).collect();
    assert!(!cfg!(target_os = "linux") || !jobs.trim().is_empty(), "a job is on its way");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
    assert_eq!(child.wait().expect("ends").code(), Some(130));
    assert!(files(&folder.path(".")).is_empty());
    // Nor does a job, where the system tells who they are.
    for _ in 0..100 {
        // One that has ended may wait for someone to ask how.
        let goes_on = |job: &str| {
            std::fs::read_to_string(format!("/proc/{job}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
        };
        if !jobs.split_whitespace().any(goes_on) {
            return;
        }
        sleep(Duration::from_millis(100));
    }
    panic!("the job goes on");
}

#[test]
fn jobs_are_for_the_command_itself() {
    let folder = Folder::new();
    assert!(!folder.ok("--help").contains("job"));
    folder.run_with_input("job", b"{}").refused(1, &["standard input is not a job"]);
    let job = r#"{"model":{"kind":"constant"},"seed":0,"threads":1,"memory_limit":1000000,
        "train":{"source":"simulated","set":"jse3","rows":50,"test_rows":20,"seed":1,"part":"train"},
        "test":{"source":"simulated","set":"jse3","rows":50,"test_rows":20,"seed":1,"part":"test"}}"#;
    let outcome = folder.run_with_input("job", job.as_bytes()).ok().stdout;
    let outcome: Value = serde_json::from_str(&outcome).expect("JSON");
    assert!(outcome["scores"]["mse"].is_f64(), "{outcome}");
}
