//! Several files as one table, and compressed ones.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;

use rffnet_data::{ErrorKind, ReadOptions, Table, Values, read, read_all, read_from, write_parquet};

fn options() -> ReadOptions {
    ReadOptions { target: Some("y".into()), missing: true, ..ReadOptions::default() }
}

/// A folder with these files in it.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn all(folder: &tempfile::TempDir, names: &[&str]) -> Result<Table, String> {
    let paths: Vec<String> =
        names.iter().map(|name| folder.path().join(name).to_str().unwrap().to_string()).collect();
    let path = folder.path().to_str().unwrap();
    read_all(&paths, &options()).map_err(|e| e.to_string().replace(&format!("{path}/"), ""))
}

#[test]
fn files_of_any_format_and_order() {
    let folder = folder(&[
        ("a.csv", "colour,x,y\nred,1,0\ngreen,2,1\n"),
        ("b.csv", "y;x;colour\n0;3;red\n"),
        ("c.jsonl", "{\"x\": 4, \"y\": 1, \"colour\": \"blue\"}\n"),
    ]);
    let mut bytes = Vec::new();
    let columns = [
        ("y", Values::Numbers(&[1.0][..])),
        ("colour", Values::Texts(vec![Some("green")])),
        ("x", Values::Numbers(&[5.0][..])),
    ];
    write_parquet(&columns, &mut bytes).unwrap();
    fs::write(folder.path().join("d.parquet"), &bytes).unwrap();
    let table = all(&folder, &["[ab].csv", "c.*", "d.parquet"]).unwrap();
    assert_eq!(table.names, ["colour", "x"]);
    assert_eq!(table.types[0].levels().unwrap(), ["blue", "green", "red"]);
    assert_eq!(table.x, [2.0, 1.0, 1.0, 2.0, 2.0, 3.0, 0.0, 4.0, 1.0, 5.0]);
    assert_eq!(table.target.unwrap().numbers().unwrap(), [0.0, 1.0, 0.0, 1.0, 1.0]);
    // One path may be a pattern, too.
    let csv = folder.path().join("*.csv");
    assert_eq!(read(csv.to_str().unwrap(), &options()).unwrap().rows, 3);
}

#[test]
fn files_without_names_match_by_position() {
    let folder =
        folder(&[("a.csv", "1.5,2.5,0\n2.5,3.5,1\n"), ("b.csv", "4.5,5.5,1\n"), ("c.csv", "1.5,2.5\n")]);
    let paths = |names: [&str; 2]| names.map(|name| folder.path().join(name).to_str().unwrap().to_string());
    let table = read_all(&paths(["a.csv", "b.csv"]), &ReadOptions::default()).unwrap();
    assert_eq!((table.rows, table.x), (3, vec![1.5, 2.5, 2.5, 3.5, 4.5, 5.5]));
    let error = read_all(&paths(["a.csv", "c.csv"]), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("c.csv: there are 2 columns, but 3 in"), "{error}");
}

#[test]
fn names_in_some_files_only() {
    let folder = folder(&[("a.csv", "x,z,y\n1.5,2.5,0\n3.5,4.5,1\n"), ("b.csv", "4.5,5.5,1\n2.5,3.5,0\n")]);
    let expected =
        "b.csv: the columns have no names, but those of a.csv have; give all files a header, or none";
    assert_eq!(all(&folder, &["a.csv", "b.csv"]).unwrap_err(), expected);
    let paths = ["b.csv", "a.csv"].map(|name| folder.path().join(name).to_str().unwrap().to_string());
    let error = read_all(&paths, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.ends_with("give all files a header, or none"), "{error}");
}

#[test]
fn sentences() {
    let folder = folder(&[
        ("a.csv", "x,z,y\n1,2,0\n3,4,1\n"),
        ("less.csv", "x,y\n1,0\n"),
        ("more.csv", "x,z,q,y\n1,2,3,0\n"),
        ("text.csv", "x,z,y\nred,2,0\nblue,2,0\n"),
        ("gaps.csv", "x,z,y\nNA,2,0\n,2,0\n"),
    ]);
    let error = |names: &[&str]| all(&folder, names).unwrap_err();
    assert_eq!(
        error(&["a.csv", "less.csv"]),
        "less.csv: column 'z' of a.csv is absent here; add it, or leave it out with --ignore z"
    );
    assert_eq!(
        error(&["a.csv", "more.csv"]),
        "a.csv: column 'q' of more.csv is absent here; add it, or leave it out with --ignore q"
    );
    assert_eq!(
        error(&["a.csv", "text.csv"]),
        "text.csv: column 'x' holds texts, but numbers in a.csv; make them alike, or leave the column out with --ignore x"
    );
    assert_eq!(error(&["a.csv", "none-*.csv"]), "no file fits 'none-*.csv'; check the pattern");
    assert!(error(&["a.csv", "b.csv"]).starts_with("there is no file 'b.csv'"));
    assert_eq!(all(&folder, &["a.csv", "gaps.csv"]).unwrap().rows, 4);
    let nothing: [&str; 0] = [];
    assert_eq!(read_all(&nothing, &options()).unwrap_err().kind(), ErrorKind::Request);
}

#[test]
fn zstd() {
    let text = "a,b,y\n1,2,0\n3,4,1\n";
    let packed = zstd::encode_all(text.as_bytes(), 3).unwrap();
    for name in ["t.csv.zst", "t.csv", "standard input"] {
        assert_eq!(read_from(&packed[..], name, &options()).unwrap().x, [1.0, 2.0, 3.0, 4.0]);
    }
    // Frames one after the other are one file.
    let mut frames = zstd::encode_all(&b"a,b,y\n1,2"[..], 1).unwrap();
    frames.write_all(&zstd::encode_all(&b",0\n3,4,1\n"[..], 1).unwrap()).unwrap();
    assert_eq!(read_from(&frames[..], "t.csv", &options()).unwrap().rows, 2);
    let error = read_from(&packed[..packed.len() - 3], "t.csv.zst", &options()).unwrap_err().to_string();
    assert!(error.starts_with("t.csv.zst: the zstd data is damaged or cut short"), "{error}");
    let twice = zstd::encode_all(&packed[..], 3).unwrap();
    let error = read_from(&twice[..], "t.csv.zst", &options()).unwrap_err().to_string();
    assert!(error.contains("compressed twice"), "{error}");
}
