//! Bad input: one sentence that says what to do, exit status 1, and nothing written.

mod common;

use common::{Folder, SMALL, files};

const OLD: &str = "the old output";

/// A folder with good data, a good model, and an output file that must survive.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.generate("gse1 --rows 60 -o good.csv");
    folder.ok(&format!("fit good.csv -t y {SMALL} -q -o good.rffnet"));
    folder.write("out", OLD);
    folder
}

/// A file of these columns and rows.
fn table(header: &str, row: &str, rows: usize) -> String {
    format!("{header}\n{}", format!("{row}\n").repeat(rows))
}

/// Runs each `rffnet LINE -o out -q` and checks its refusal, and that nothing is left behind.
fn check(folder: &Folder, status: i32, cases: &[(&str, &[&str])]) {
    let before = files(&folder.path("."));
    for (line, words) in cases {
        folder.run(&format!("{line} -o out -q")).refused(status, words);
        assert_eq!(folder.text("out"), OLD, "{line}");
        assert_eq!(files(&folder.path(".")), before, "{line}");
    }
}

#[test]
fn files_that_cannot_be_read() {
    let folder = folder();
    folder.write("empty.csv", "");
    folder.write("header.csv", "a,b,y\n");
    folder.write("single.csv", "a,b,y\n1,2,3\n");
    folder.write("latin1.csv", b"a,b,y\n1,2,caf\xe9\n3,4,x\n");
    folder.write("long.csv", "x".repeat(10_000_000));
    folder.write("long-row.csv", format!("a,y\n1,{}\n", "9".repeat(10_000_000)));
    folder.write("ragged.csv", "a,b,y\n1,2,3\n4,5\n6,7,8\n");
    folder.write("zip.csv", b"PK\x03\x04rest");
    folder.write("half.csv.gz", [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3]);
    folder.write("unsorted.libsvm", "1 3:1 2:1\n0 1:1\n");
    folder.write("zero.libsvm", "1 0:1 2:1\n0 1:1\n");
    folder.write("cut.npy", &b"\x93NUMPY\x01\x00\x76\x00{'descr'"[..]);
    let cases: &[(&str, &[&str])] = &[
        ("fit nosuch.csv -t y", &["nosuch.csv", "no file"]),
        ("fit goood.csv -t y", &["did you mean 'good.csv'?"]),
        ("fit . -t y", &["is a directory"]),
        ("fit empty.csv -t y", &["empty.csv", "is empty"]),
        ("fit header.csv -t y", &["header.csv", "no row"]),
        ("fit single.csv -t y", &["single.csv", "1 row", "at least 2"]),
        ("fit single.csv -t y --test-fraction 0.5", &["single.csv", "1 row"]),
        ("fit latin1.csv -t y", &["latin1.csv", "UTF-8"]),
        ("fit long.csv -t y", &["long.csv"]),
        ("fit long-row.csv -t y", &["long-row.csv"]),
        ("fit ragged.csv -t y", &["ragged.csv", "row 2", "2 cells", "3"]),
        ("fit zip.csv -t y", &["zip.csv", "zip archive"]),
        ("fit half.csv.gz -t y", &["half.csv.gz", "gzip"]),
        ("fit unsorted.libsvm", &["unsorted.libsvm", "line 1", "index 2"]),
        ("fit zero.libsvm", &["zero.libsvm", "line 1", "index 0", "from 1"]),
        ("fit cut.npy", &["cut.npy"]),
        ("fit good.csv -t y --format parquet", &["good.csv", "not a Parquet file"]),
        ("fit good.csv -t y --test nosuch.csv", &["nosuch.csv"]),
        ("predict good.rffnet nosuch.csv", &["nosuch.csv"]),
        ("predict good.rffnet empty.csv", &["empty.csv", "is empty"]),
    ];
    check(&folder, 1, cases);
}

#[test]
fn columns_and_cells() {
    let folder = folder();
    folder.write("people.csv", table("age,income,bought", "31,2.5,yes", 3) + "40,3,no\n");
    folder.write("text.csv", "a,b,y\n1,2,0.5\n3,x7,1.5\n5,6,2.5\n7,8,3\n");
    folder.write("nan.csv", "a,b,y\n1,2,0.5\n3,NaN,1.5\n5,6,2\n");
    folder.write("inf.csv", "a,b,y\n1,2,0.5\n3,4,1.5\ninf,6,2\n");
    folder.write("target-nan.csv", "a,b,y\n1,2,0.5\n3,4,\n5,6,2\n");
    folder.write("target-text.csv", "a,y\n1,2.5\n3,4\n5,oops\n7,8\n");
    folder.write("one-class.csv", table("a,y", "1,yes", 5));
    folder.write(
        "ids.csv",
        "a,y\n".to_string() + &(0..50).map(|i| format!("{i},name{i}\n")).collect::<String>(),
    );
    folder.write("weights.csv", "a,y,w\n1,2,1\n2,3,-1\n3,5,1\n");
    folder.write("no-weight.csv", "a,y,w\n1,2,0\n2,3,0\n");
    folder.write("twice.csv", "a,a,y\n1,2,3\n4,5,6\n");
    folder.write("only-target.csv", "y\n1\n2\n3\n");
    let cases: &[(&str, &[&str])] = &[
        ("fit people.csv", &["--target", "bought"]),
        ("fit good.csv", &["which column is the target?", "--target", "'x1'", "'y'"]),
        ("fit people.csv -t buoght", &["'buoght'", "did you mean 'bought'?"]),
        ("fit people.csv -t 9", &["no column 9", "3 columns"]),
        ("fit people.csv -t bought --weight incme", &["--weight", "did you mean 'income'?"]),
        ("fit people.csv -t bought --weight bought", &["'bought'", "both the target and the weight"]),
        ("fit people.csv -t bought --ignore bought", &["'bought'", "--ignore"]),
        ("fit people.csv -t bought --task regression", &["people.csv", "--task classification"]),
        ("fit text.csv -t y", &["text.csv", "row 2 (line 3)", "'b'", "'x7'"]),
        ("fit nan.csv -t y --missing error", &["nan.csv", "row 2", "'b'", "missing", "--missing mean"]),
        ("fit inf.csv -t y --missing mean", &["inf.csv", "row 3", "'a'", "inf"]),
        ("fit target-nan.csv -t y --missing mean", &["target-nan.csv", "row 2", "'y'"]),
        ("fit target-text.csv -t y", &["row 3", "'y'", "'oops'"]),
        ("fit one-class.csv -t y", &["one-class.csv", "'yes'", "two classes"]),
        ("fit ids.csv -t y", &["50 different texts"]),
        (
            "fit good.csv -t y --task classification",
            &["good.csv", "60 distinct numbers", "--task regression"],
        ),
        ("fit weights.csv -t y --weight w", &["row 2", "'w'", "-1"]),
        ("fit no-weight.csv -t y --weight w", &["'w'", "zero"]),
        ("fit only-target.csv -t y", &["no input column"]),
        ("fit --dataset gse1 --target x1", &["'y'"]),
    ];
    check(&folder, 1, cases);
}

#[test]
fn parameters_out_of_range() {
    let folder = folder();
    folder.write("unknown.toml", "epoch = 3\n");
    folder.write("type.toml", "lr = 'fast'\n");
    folder.write("broken.toml", "lr = \n");
    folder.write("both.toml", "kernel = 'gaussian'\nkernel = 'cauchy'\n");
    let cases: &[(&str, &[&str])] = &[
        ("fit good.csv -t y --alpha -1", &["alpha is -1", "zero or positive"]),
        ("fit good.csv -t y --alpha nan", &["alpha is NaN"]),
        ("fit good.csv -t y --alpha-theta -0.5", &["alpha-theta is -0.5"]),
        ("fit good.csv -t y --lr 0", &["lr is 0", "positive"]),
        ("fit good.csv -t y --batch-size 0", &["batch-size is 0", "at least 1"]),
        ("fit good.csv -t y --features 0", &["features is 0", "at least 1"]),
        ("fit good.csv -t y --features 10000000000000000000", &["features is 1", "columns", "at most"]),
        ("fit good.csv -t y --epochs 0", &["epochs is 0"]),
        ("fit good.csv -t y --committee 0", &["committee is 0", "at least 1"]),
        ("fit good.csv -t y --budget 0", &["budget is 0", "positive"]),
        ("fit good.csv -t y --budget -1", &["budget is -1", "positive"]),
        ("fit good.csv -t y --solver varpro --loss huber", &["varpro", "huber", "adam"]),
        ("fit good.csv -t y --solver varpro --penalty l1", &["varpro", "l2", "adam"]),
        ("fit good.csv -t y --patience 0", &["patience is 0"]),
        ("fit good.csv -t y --l1-ratio 2", &["l1-ratio is 2"]),
        ("fit good.csv -t y --init restarter --restarts 0", &["restarts is 0", "between 1 and 10000"]),
        (
            "fit good.csv -t y --init restarter --restarts 10001",
            &["restarts is 10001", "between 1 and 10000"],
        ),
        ("fit good.csv -t y --restarts 3", &["restarts is 3", "left out unless init is restarter"]),
        ("fit good.csv -t y --solver varpro --restarts 3", &["restarts belong to descent"]),
        ("fit good.csv -t y --validation-fraction 1", &["validation-fraction is 1", "below 1"]),
        ("fit good.csv -t y --test-fraction 1", &["test-fraction is 1", "below 1"]),
        ("fit good.csv -t y --test-fraction -0.1", &["test-fraction is -0.1"]),
        ("fit good.csv -t y --penalty-theta l1", &["alpha-theta"]),
        ("fit good.csv -t y --kernel laplace --sampling orthogonal", &["orthogonal", "biased"]),
        ("fit good.csv -t y --loss cross-entropy", &["cross-entropy", "regression"]),
        ("fit good.csv -t y --loss poisson", &["good.csv", "negative", "poisson"]),
        ("fit good.csv -t y --config nosuch.toml", &["nosuch.toml"]),
        ("fit good.csv -t y --config unknown.toml", &["unknown.toml", "'epoch'", "did you mean 'epochs'?"]),
        ("fit good.csv -t y --config type.toml", &["type.toml", "lr = \"fast\""]),
        ("fit good.csv -t y --config broken.toml", &["broken.toml", "line 1"]),
        ("fit good.csv -t y --config both.toml", &["both.toml", "line 2"]),
        ("fit --dataset gse1 --rows 0", &["rows is 0"]),
        ("fit --dataset gse1 --rows 1000000000000000000", &["rows is"]),
        ("generate gse1 --rows 0", &["rows is 0"]),
        ("fit good.csv -t y --solver sgd --lr 1e6 --alpha 0", &["diverged", "smaller learning rate"]),
        ("select good.rffnet good.csv -t y --method hrt", &["hrt", "not available yet"]),
        ("select good.rffnet good.csv -t y --fdr 0.1", &["--fdr"]),
    ];
    check(&folder, 1, cases);
}

#[test]
fn usage() {
    let folder = folder();
    let cases: &[(&str, &[&str])] = &[
        ("fit", &["data file", "--dataset"]),
        ("fit good.csv --dataset gse1", &["exclude each other"]),
        ("fit good.csv -t y --rows 5", &["--rows"]),
        ("fit good.csv -t y --test good.csv --test-fraction 0.5", &["exclude each other"]),
        ("fit --dataset gse1 --test-fraction 0.5", &["--test-fraction"]),
        ("fit good.csv -t y --threads 0", &["--threads", "from 1"]),
        ("fit good.csv -t y --solver newton", &["newton", "varpro", "palm-adam"]),
        ("fit good.csv -t y --effort much", &["much", "thorough"]),
        ("fit good.csv -t y --spectrum none", &["none", "learned"]),
        ("fit good.csv -t y --linear maybe", &["maybe", "--linear"]),
        ("fit good.csv -t y --budget soon", &["soon", "--budget", "a number"]),
        ("fit good.csv -t y --kernel gausian", &["gausian", "similar value exists: 'gaussian'"]),
        ("fit good.csv -t y --loss nonsense", &["nonsense", "huber"]),
        ("fit good.csv -t y --init restarter --restarts few", &["few", "--restarts", "whole number"]),
        ("fit good.csv -t y --epochs many", &["many", "--epochs", "whole number"]),
        ("fit good.csv -t y --header --no-header", &["--header", "--no-header"]),
        ("fit --dataset gse9", &["gse9", "gse1"]),
        ("predict good.rffnet", &["DATA"]),
        ("frobnicate", &["frobnicate"]),
    ];
    check(&folder, 2, cases);
    folder.run(&format!("fit good.csv -t y {SMALL} -o -")).refused(2, &["standard output"]);
    assert!(!folder.path("-").exists());
}

#[test]
fn models_and_the_rows_for_them() {
    let folder = folder();
    let model = folder.read("good.rffnet");
    folder.write("cut.rffnet", &model[..model.len() / 2]);
    folder.write("head.rffnet", &model[..100]);
    folder.write("nothing.rffnet", "");
    let csv = folder.text("good.csv");
    folder.write("renamed.csv", csv.replacen("x3,", "x3b,", 1));
    let fewer: String =
        csv.lines().map(|l| l.split_once(',').map_or("", |(_, rest)| rest).to_string() + "\n").collect();
    folder.write("fewer.csv", &fewer);
    folder.write("narrow.csv", "1,2,3\n4,5,6\n");
    let inputs = csv.lines().map(|l| l.rsplit_once(',').map_or("", |(rest, _)| rest).to_string() + "\n");
    folder.write("only-inputs.csv", inputs.collect::<String>());
    folder.generate("moons --rows 60 -o moons.csv");
    folder.ok(&format!("fit moons.csv -t y {SMALL} -q -o moons.rffnet"));
    folder.write("moons2.csv", folder.text("moons.csv") + "0.5,0.5,2\n");
    folder.write("moons-text.csv", "x1,x2,y\n1,2,left\n2,3,right\n");
    let cases: &[(&str, &[&str])] = &[
        ("predict nosuch.rffnet good.csv", &["nosuch.rffnet"]),
        ("predict good.csv good.csv", &["good.csv", "not an rffnet model file"]),
        ("predict cut.rffnet good.csv", &["cut.rffnet"]),
        ("predict head.rffnet good.csv", &["head.rffnet", "not an rffnet model file, or cut short"]),
        ("predict nothing.rffnet good.csv", &["nothing.rffnet", "not an rffnet model file, or cut short"]),
        ("predict good.rffnet renamed.csv", &["renamed.csv", "'x3'", "'x3b'"]),
        ("predict good.rffnet fewer.csv", &["fewer.csv", "'x1'"]),
        ("predict good.rffnet narrow.csv", &["narrow.csv", "18 input columns"]),
        ("predict good.rffnet good.csv --proba", &["no class probabilities", "--proba"]),
        ("fit good.csv -t y --test renamed.csv", &["renamed.csv", "'x3'"]),
        ("fit moons.csv -t y --test moons2.csv", &["moons2.csv", "row 61", "'2'", "'0', '1'"]),
        ("fit moons.csv -t y --test moons-text.csv", &["moons-text.csv", "row 1", "'left'"]),
        ("select good.rffnet only-inputs.csv", &["only-inputs.csv", "--target"]),
        ("select good.rffnet good.csv -t yy", &["did you mean 'y'?"]),
    ];
    check(&folder, 1, cases);
    for (line, words) in [
        ("eval moons.rffnet moons2.csv -t y", ["row 61", "'2'"]),
        ("eval good.rffnet only-inputs.csv", ["only-inputs.csv", "--target"]),
        ("eval good.rffnet moons-text.csv -t y", ["absent", "'x3'"]),
        ("inspect good.csv", ["good.csv", "not an rffnet model file"]),
    ] {
        folder.run(line).refused(1, &words);
    }
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = folder();
    let fit = format!("fit good.csv -t y {SMALL} -q -o");
    folder.run(&format!("{fit} nosuch/m.rffnet")).refused(1, &["no folder 'nosuch'"]);
    folder.run(&format!("{fit} good.csv/m.rffnet")).refused(1, &["no folder 'good.csv'"]);
    folder.run(&format!("{fit} .")).refused(1, &["directory"]);
    folder.run(&format!("{fit} good.csv")).refused(1, &["good.csv", "output"]);
    folder.run("predict good.rffnet good.csv -o good.rffnet").refused(1, &["good.rffnet", "output"]);
    folder.run("generate gse1 --rows 5 -o nosuch/a.csv").refused(1, &["no folder 'nosuch'"]);
    folder.run("generate gse1 --rows 5 -o a.jsonl").refused(1, &["a.jsonl", "not written"]);
    assert!(!folder.path("a.jsonl").exists());
}

// Other systems have no such device.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    let folder = folder();
    let full = "No space left";
    folder.run(&format!("fit good.csv -t y {SMALL} -q -o /dev/full")).refused(1, &["/dev/full", full]);
    folder.run("predict good.rffnet good.csv -o /dev/full").refused(1, &["/dev/full", full]);
    folder.run("generate gse1 --rows 5 -o /dev/full").refused(1, &["/dev/full", full]);
    folder.run("select good.rffnet good.csv -t y -o /dev/full").refused(1, &["/dev/full", full]);
    let to_full = |line: &str| {
        let file = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the device");
        let output = folder.command(line).stdout(file).output().expect("starts");
        assert_eq!(output.status.code(), Some(1), "{line}");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            stderr.contains("error: cannot write to standard output") && stderr.contains(full),
            "{stderr}"
        );
    };
    to_full("predict good.rffnet good.csv");
    to_full("inspect good.rffnet --json");
    to_full("completions bash");
}
