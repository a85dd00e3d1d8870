//! Every kind of input, from file to prediction.

mod common;

use std::io::Write;

use common::{Folder, SMALL};
use flate2::Compression;
use flate2::write::GzEncoder;

/// The predictions of `data` by a model fitted on it.
fn fit_and_predict(folder: &Folder, data: &str, flags: &str) -> String {
    folder.ok(&format!("fit {data} {flags} {SMALL} -q -o m.rffnet"));
    folder.ok(&format!("predict m.rffnet {data}"))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).expect("memory");
    packed.finish().expect("memory")
}

#[test]
fn the_same_rows_in_every_format() {
    let folder = Folder::new();
    for name in ["a.csv", "a.csv.gz", "a.libsvm", "a.npy"] {
        folder.generate(&format!("gse1 --rows 120 --seed 4 -o {name}"));
    }
    let csv = folder.text("a.csv");
    folder.write("a.tsv", csv.replace(',', "\t"));
    folder.write("semicolons.csv", csv.replace(',', ";"));
    folder.write("crlf.csv", csv.replace('\n', "\r\n"));
    folder.write("packed", gzip(csv.as_bytes()));
    let headerless = csv.split_once('\n').expect("a header").1;
    folder.write("headerless.csv", headerless);
    folder.write("table", folder.read("a.npy"));
    folder.write("rows", folder.read("a.libsvm"));

    let expected = fit_and_predict(&folder, "a.csv", "--target y");
    assert_eq!(expected.lines().count(), 121);
    for (name, flags) in [
        ("a.csv.gz", "--target y"),
        ("packed", "-t y"),
        ("a.tsv", "--target 19"),
        ("semicolons.csv", "--target y --header"),
        ("crlf.csv", "--target y"),
        ("headerless.csv", ""),
        ("headerless.csv", "--no-header --target 19"),
        ("a.npy", ""),
        ("table", ""),
        ("a.libsvm", ""),
        ("rows", "--format libsvm --columns 18"),
    ] {
        assert_eq!(fit_and_predict(&folder, name, flags), expected, "{name} {flags}");
    }
}

#[test]
fn standard_input() {
    let folder = Folder::new();
    folder.generate("jse3 --rows 80 -o a.csv");
    let csv = folder.read("a.csv");
    folder.ok(&format!("fit a.csv -t y {SMALL} -q -o file.rffnet"));
    folder.run_with_input(&format!("fit - -t y {SMALL} -q -o pipe.rffnet"), &csv).ok();
    assert!(folder.read("file.rffnet") == folder.read("pipe.rffnet"));
    let predicted = folder.run_with_input("predict pipe.rffnet -", &gzip(&csv)).ok().stdout;
    assert_eq!(predicted, folder.ok("predict file.rffnet a.csv"));
    let scores = folder.run_with_input("eval pipe.rffnet - -t y --json", &csv).ok().stdout;
    assert_eq!(scores, folder.ok("eval file.rffnet a.csv -t y --json"));
}

#[test]
fn columns_are_matched_by_name() {
    let folder = Folder::new();
    let value = |i: usize, j: usize| ((i * 7 + j * 13) % 19) as f64 / 3.0;
    let mut plain = String::from("age,income,height,y\n");
    let mut mixed = String::from("note,height,y,age,extra,income\n");
    for i in 0..60 {
        let (a, b, c) = (value(i, 0), value(i, 1), value(i, 2));
        let y = a * b - c;
        plain += &format!("{a},{b},{c},{y}\n");
        mixed += &format!("\"free, text\",{c},{y},{a},0,{b}\n");
    }
    folder.write("plain.csv", plain);
    folder.write("mixed.csv", mixed);
    let expected = fit_and_predict(&folder, "plain.csv", "-t y");
    assert_eq!(folder.ok("predict m.rffnet mixed.csv"), expected);
    assert_eq!(folder.json("eval m.rffnet mixed.csv -t y"), folder.json("eval m.rffnet plain.csv -t y"));
    let report = folder.json(&format!("fit plain.csv -t y --test mixed.csv {SMALL}"));
    assert_eq!(report["test"], folder.json("eval m.rffnet mixed.csv -t y"));
    // The same by leaving out what the other file has more of.
    assert_eq!(fit_and_predict(&folder, "mixed.csv", "-t y --ignore note,extra").lines().count(), 61);
}

#[test]
fn a_target_in_the_first_column_of_a_file_without_header() {
    let folder = Folder::new();
    let rows: String = (0..50).map(|i| format!("{},{},{}\n", i % 6, i % 5, i % 7)).collect();
    folder.write("a.csv", &rows);
    folder.ok(&format!("fit a.csv -t 1 {SMALL} -q -o m.rffnet"));
    let inputs: String = (0..50).map(|i| format!("{},{}\n", i % 5, i % 7)).collect();
    folder.write("inputs.csv", inputs);
    assert_eq!(folder.ok("predict m.rffnet a.csv"), folder.ok("predict m.rffnet inputs.csv"));
    assert!(folder.ok("inspect m.rffnet").contains("  x2 "));
}

#[test]
fn narrower_libsvm_files_have_zeros() {
    let folder = Folder::new();
    let rows: String = (0..40).map(|i| format!("{} 1:{} 3:{}\n", i % 2, i % 5, i % 3)).collect();
    folder.write("a.libsvm", rows);
    folder.ok(&format!("fit a.libsvm --columns 5 {SMALL} -q -o m.rffnet"));
    folder.write("b.libsvm", "0 1:2\n1 1:2 3:0\n0 1:2 9:1\n");
    let predicted = folder.ok("predict m.rffnet b.libsvm --proba");
    let rows: Vec<&str> = predicted.lines().collect();
    assert!(rows.len() == 4 && rows[1] == rows[2] && rows[2] == rows[3], "{predicted}");
}

#[test]
fn text_labels_come_back() {
    let folder = Folder::new();
    let labels = ["plain", "with, comma", "with \"quote\"", "ä b"];
    let mut csv = String::from("x1,x2,kind\n");
    for i in 0..120usize {
        let label = labels[i % 4].replace('"', "\"\"");
        csv += &format!("{},{},\"{label}\"\n", i % 4, (i * 7) % 5);
    }
    folder.write("a.csv", csv);
    folder.ok("fit a.csv --target kind --effort quick -q -o m.rffnet");
    let predicted = folder.ok("predict m.rffnet a.csv --proba");
    let mut lines = predicted.lines();
    let header = "prediction,p_plain,\"p_with \"\"quote\"\"\",\"p_with, comma\",p_ä b";
    assert_eq!(lines.next(), Some(header));
    assert!(lines.next().is_some_and(|l| l.starts_with("plain,")));
    assert!(lines.next().is_some_and(|l| l.starts_with("\"with, comma\",")));
    assert!(lines.next().is_some_and(|l| l.starts_with("\"with \"\"quote\"\"\",")));
    assert!(lines.next().is_some_and(|l| l.starts_with("ä b,")));
    let report = folder.json("predict m.rffnet a.csv --proba");
    assert_eq!(report["predictions"][1], "with, comma");
    assert_eq!(report["probabilities"][0].as_array().map(Vec::len), Some(4));
    assert_eq!(folder.json("eval m.rffnet a.csv --target kind")["accuracy"], 1.0);
}

#[test]
fn a_label_is_the_same_number_in_any_spelling() {
    let folder = Folder::new();
    let rows = |one: &str, two: &str| -> String {
        (0..40).map(|i| format!("{},{}\n", i % 9, if i % 9 > 4 { one } else { two })).collect()
    };
    folder.write("a.csv", format!("a,y\n{}", rows("1", "2")));
    folder.write("b.csv", format!("a,y\n{}", rows("1.0", "2e0")));
    folder.ok(&format!("fit a.csv -t y {SMALL} -q -o m.rffnet"));
    assert_eq!(folder.json("eval m.rffnet a.csv -t y"), folder.json("eval m.rffnet b.csv -t y"));
}

#[test]
fn missing_values_by_the_mean() {
    let folder = Folder::new();
    let mut csv = String::from("a,b,y\n");
    for i in 0..60 {
        let a = if i % 10 == 3 { "NA".into() } else { format!("{}", i % 7) };
        csv += &format!("{a},{},{}\n", i % 5, i % 7);
    }
    folder.write("a.csv", csv);
    folder
        .run(&format!("fit a.csv -t y --missing error {SMALL} -q"))
        .refused(1, &["row 4", "'a'", "--missing mean"]);
    folder.ok(&format!("fit a.csv -t y --missing mean {SMALL} -q -o m.rffnet"));
    folder.write("new.csv", "a,b\n,1\n2,\n");
    assert_eq!(folder.ok("predict m.rffnet new.csv").lines().count(), 3);
}

#[test]
fn names_that_look_like_positions_are_still_names() {
    let folder = Folder::new();
    folder.generate("jse3 --rows 120 -o g.csv");
    folder.ok(&format!("fit g.csv -t y --ignore x1,x5 {SMALL} -q -o m.rffnet"));
    let renamed = folder.text("g.csv").replacen("x3", "zzz", 1);
    folder.write("renamed.csv", renamed);
    folder.run("predict m.rffnet renamed.csv").refused(1, &["x3"]);

    // Numbers for names, as data frames without names are written.
    let rows: Vec<String> =
        (0..60).map(|i| format!("{},{},{},{}", i % 7, i % 5, i % 3, i % 7 - i % 3)).collect();
    folder.write("a.csv", format!("0,1,2,y\n{}\n", rows.join("\n")));
    folder.ok(&format!("fit a.csv -t y {SMALL} -q -o n.rffnet"));
    let reversed = |row: &String| {
        row.split(',').take(3).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join(",")
    };
    let body: Vec<String> = rows.iter().map(reversed).collect();
    folder.write("b.csv", format!("2,1,0\n{}\n", body.join("\n")));
    assert_eq!(folder.ok("predict n.rffnet b.csv"), folder.ok("predict n.rffnet a.csv"));
}
