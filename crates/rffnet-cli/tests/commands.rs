//! The commands that start from a model, and those that need none.

mod common;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use common::{Folder, SMALL, keys};

fn fitted(set: &str) -> Folder {
    let folder = Folder::new();
    folder.generate(&format!("{set} --rows 150 --seed 1 -o a.csv"));
    folder.generate(&format!("{set} --rows 100 --seed 2 -o b.csv"));
    folder.ok(&format!("fit a.csv -t y {SMALL} -q -o m.rffnet"));
    folder
}

#[test]
fn predict_writes_csv_or_json() {
    let folder = fitted("gse1");
    let printed = folder.ok("predict m.rffnet b.csv");
    assert_eq!(printed.lines().count(), 101);
    assert_eq!(printed.lines().next(), Some("prediction"));
    assert_eq!(folder.ok("predict m.rffnet b.csv -o p.csv"), "");
    assert_eq!(folder.text("p.csv"), printed);
    assert_eq!(folder.ok("predict m.rffnet b.csv -o -"), printed);
    let report = folder.json("predict m.rffnet b.csv");
    assert_eq!(keys(&report), ["predictions", "rows"]);
    assert_eq!(report["rows"], 100);
    // As text, digit by digit: reading numbers back would hide a rounding.
    let json = folder.ok("predict m.rffnet b.csv --json");
    let numbers = json.split_once('[').and_then(|(_, rest)| rest.split_once(']')).expect("a list").0;
    let same = |a: &str, b: &str| a == b || a.parse::<f64>() == b.parse::<f64>();
    assert!(numbers.split(',').zip(printed.lines().skip(1)).all(|(a, b)| same(a, b)), "{json}");
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let folder = fitted("moons");
    folder.generate("moons --rows 30000 -o big.csv");
    let mut command = folder.command("predict m.rffnet big.csv --proba");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut first = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut first).expect("a line");
    assert_eq!(first, "prediction,p_0,p_1\n");
    let output = child.wait_with_output().expect("ends");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), b"".as_slice()));
}

#[test]
fn eval_prints_the_scores() {
    let folder = fitted("gse1");
    let scores = folder.json("eval m.rffnet b.csv --target y");
    assert_eq!(keys(&scores), ["mae", "median_ae", "mse", "r2"]);
    let text = folder.ok("eval m.rffnet b.csv --target y");
    assert!(text.starts_with("mse        ") && text.contains("\nr2         "), "{text}");
    let first: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(first, ["mse", "r2", "mae", "median_ae"]);
    // The model knows its target, and one score can be had alone.
    assert_eq!(folder.json("eval m.rffnet b.csv"), scores);
    let alone = folder.ok("eval m.rffnet b.csv --metric mae");
    assert_eq!(alone.trim().parse::<f64>().ok(), scores["mae"].as_f64());
    assert_eq!(folder.json("eval m.rffnet b.csv --metric r2"), serde_json::json!({ "r2": scores["r2"] }));
    folder
        .run("eval m.rffnet b.csv --metric auc -q")
        .refused(1, &["no score 'auc'", "the scores are mse, r2, mae, median_ae"]);
    let folder = fitted("classification");
    let scores = folder.json("eval m.rffnet b.csv -t y");
    assert!(
        ["auc", "accuracy", "log_loss", "average_precision"].iter().all(|k| scores[*k].is_f64()),
        "{scores}"
    );
}

#[test]
fn a_quantile_is_scored_as_one() {
    let folder = Folder::new();
    folder.generate("jse3 --rows 400 --seed 1 -o a.csv");
    let fitted = folder
        .json("fit a.csv -t y --loss quantile:0.8 --test-fraction 0.5 --features 32 --epochs 30 -o m.rffnet");
    let scores = folder.json("eval m.rffnet a.csv");
    for report in [&fitted["test"], &scores] {
        let score = |key: &str| report[key].as_f64().expect(key);
        assert!((0.5..=1.0).contains(&score("coverage")), "{report}");
        assert!(score("pinball") > 0.0 && score("pinball") <= 0.8 * score("mae"), "{report}");
    }
}

#[test]
fn inspect_tells_everything() {
    let folder = fitted("gse1");
    let text = folder.ok("inspect m.rffnet");
    for part in [
        "regression of y on 18 columns",
        "32 random features",
        "gaussian",
        "adam",
        "150 rows",
        "validation",
        "x18",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let report = folder.json("inspect m.rffnet");
    for key in ["task", "classes", "columns", "random_features", "kernel", "params", "summary", "relevances"]
    {
        assert!(!report[key].is_null(), "{key}");
    }
    assert_eq!(report["summary"]["losses"].as_array().map(Vec::len), Some(3));
    assert_eq!(report["relevances"].as_array().map(Vec::len), Some(18));
    assert_eq!((&report["target"], &report["column_types"][17]["type"]), (&"y".into(), &"number".into()));

    let folder = fitted("gse2");
    assert!(folder.ok("inspect m.rffnet").contains("and 80 more columns"));
    assert_eq!(folder.ok("inspect m.rffnet --all").matches("\n  x").count(), 100);
}

#[test]
fn select_finds_the_columns_and_keeps_the_model() {
    let folder = Folder::new();
    folder.generate("jse3 --rows 600 --seed 1 -o a.csv");
    folder.generate("jse3 --rows 300 --seed 2 -o b.csv");
    folder.ok("fit a.csv -t y --effort quick -q -o m.rffnet");
    let report = folder.json("select m.rffnet b.csv --target y -o s.rffnet");
    for key in ["method", "fdr", "selected", "ranking", "note"] {
        assert!(keys(&report).contains(&key), "{key}");
    }
    assert_eq!(report["method"], "topk");
    assert!(report["fdr"].is_null() && report["note"].is_string());
    let selected: Vec<&str> =
        report["selected"].as_array().expect("a list").iter().filter_map(|v| v.as_str()).collect();
    assert!(selected.contains(&"x1") && selected.contains(&"x2"), "{selected:?}");
    assert_eq!(report["ranking"].as_array().map(Vec::len), Some(10));
    let path = report["path"].as_array().expect("a list");
    assert_eq!(path.len(), 11);
    // The model that was kept scores as the path says, and leaves the other columns alone.
    let best = path[selected.len()]["score"].as_f64().expect("a score");
    assert_eq!(folder.json("eval s.rffnet b.csv -t y")["mse"].as_f64(), Some(best));
    let kept = folder.json("inspect s.rffnet");
    // A column may act through its linear terms alone.
    let alive = |r: &&serde_json::Value| r["importance"].as_f64().is_some_and(|v| v > 0.0);
    assert_eq!(kept["relevances"].as_array().expect("a list").iter().filter(alive).count(), selected.len());

    let text = folder.ok("select m.rffnet b.csv --target y");
    assert!(text.contains("<- best") && text.contains("selected  x"), "{text}");
}

#[test]
fn select_ranks_a_classifier_by_auc() {
    let folder = fitted("classification");
    let report = folder.json("select m.rffnet b.csv -t y");
    assert_eq!((report["metric"].as_str(), report["path"][0]["score"].as_f64()), (Some("auc"), Some(0.5)));
}

#[test]
fn generate_is_seeded() {
    let folder = Folder::new();
    let a = folder.ok("generate jse2 --rows 5 --seed 3");
    assert!(a.starts_with("x1,x2,x3,x4,x5,x6,x7,x8,x9,x10,y\n") && a.lines().count() == 6);
    assert_eq!(a, folder.ok("generate jse2 --rows 5 --seed 3 -o -"));
    assert_ne!(a, folder.ok("generate jse2 --rows 5 --seed 4"));
    assert_eq!(folder.json("generate jse2 --rows 5 --seed 3 -o a.csv")["rows"], 5);
    assert_eq!(folder.text("a.csv"), a);
    assert!(folder.ok("generate moons --rows 3 --format libsvm").contains(" 1:"));
}

#[test]
fn help_version_and_completions() {
    let folder = Folder::new();
    assert!(folder.ok("--version").starts_with("rffnet "));
    for sub in ["fit", "predict", "eval", "inspect", "select", "export", "generate", "completions"] {
        let help = folder.ok(&format!("help {sub}"));
        assert!(help.contains("Usage: rffnet") && help.contains("Examples:"), "{sub}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(folder.ok(&format!("completions {shell}")).contains("rffnet"), "{shell}");
    }
    let bare = folder.run("");
    assert!(bare.status == 2 && bare.stderr.contains("Usage: rffnet"));
}

#[test]
fn export_writes_a_graph() {
    let folder = Folder::new();
    folder.ok(&format!("fit --dataset moons --rows 200 {SMALL} -o m.rffnet"));
    let run = folder.run("export m.rffnet --onnx m.onnx").ok();
    assert!(run.stdout.is_empty() && run.stderr.contains("label and probabilities"), "{}", run.stderr);
    assert_eq!(folder.run("export m.rffnet --onnx m.onnx --quiet").ok().stderr, "");
    let report = folder.json("export m.rffnet --onnx again.onnx");
    assert_eq!(report["outputs"], serde_json::json!(["label", "probabilities"]));
    assert_eq!(report["bytes"], folder.read("m.onnx").len());
    assert_eq!(folder.read("m.onnx"), folder.read("again.onnx"));
    let printed = folder.command("export m.rffnet --onnx -").output().expect("the command starts");
    assert_eq!(printed.stdout, folder.read("m.onnx"));

    folder.write("no.rffnet", "no model");
    folder.run("export no.rffnet --onnx n.onnx").refused(1, &["no.rffnet", "not an rffnet model"]);
    folder.run("export gone.rffnet --onnx n.onnx").refused(1, &["gone.rffnet"]);
    folder.run("export m.rffnet --onnx nosuch/n.onnx").refused(1, &["no folder 'nosuch'"]);
    folder.run("export m.rffnet --onnx m.rffnet").refused(1, &["'m.rffnet' is read"]);
    folder.run("export m.rffnet --onnx - --json").refused(2, &["--json needs --onnx FILE"]);
    folder.run("export m.rffnet").refused(2, &["--onnx <FILE>"]);
    assert!(!folder.path("n.onnx").exists());
}
