//! CSV files: what is read, and what is said about those that cannot be.

#![allow(clippy::unwrap_used)]

use rffnet::OwnedTarget;
use rffnet_data::{Column, ColumnKind, DataError, ErrorKind, ReadOptions, Table, Task, read_from};

fn options() -> ReadOptions {
    ReadOptions::default()
}

fn target(name: &str) -> ReadOptions {
    ReadOptions { target: Some(name.into()), ..options() }
}

fn read(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Table, DataError> {
    read_from(text.as_ref(), "t.csv", options)
}

/// Asserts that reading fails with a sentence that has all of `parts`.
#[track_caller]
fn fails(text: impl AsRef<[u8]>, options: &ReadOptions, parts: &[&str]) {
    let message = read(text, options).unwrap_err().to_string();
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    assert!(message.starts_with("t.csv: ") && !message.contains('\n'), "{message:?}");
}

fn numbers(table: &Table) -> &[f64] {
    table.target.as_ref().unwrap().numbers().unwrap()
}

#[test]
fn header_and_target() {
    let table = read("a,y,b\n1,10,2\n3,20,4\n", &target("y")).unwrap();
    assert_eq!(table.names, ["a", "b"]);
    assert_eq!(table.x, [1.0, 2.0, 3.0, 4.0]);
    assert_eq!((table.rows, numbers(&table)), (2, &[10.0, 20.0][..]));
    assert_eq!(
        (table.target_name.as_deref(), table.has_names, table.source.as_str()),
        (Some("y"), true, "t.csv")
    );
}

#[test]
fn a_header_needs_a_target_to_have_one() {
    let table = read("a,y\n1,10\n", &options()).unwrap();
    assert_eq!((table.names.len(), table.target), (2, None));
}

#[test]
fn without_a_header_the_last_column_is_the_target() {
    let table = read("1,2,3\n4,5,6\n", &options()).unwrap();
    assert_eq!((table.names.as_slice(), table.has_names), (&["x1".to_string(), "x2".to_string()][..], false));
    assert_eq!((numbers(&table), table.target_name.as_deref()), (&[3.0, 6.0][..], Some("x3")));
    let table = read("1,2,3\n4,5,6\n", &target("1")).unwrap();
    assert_eq!((table.names.join(" "), numbers(&table)), ("x2 x3".to_string(), &[1.0, 4.0][..]));
    let table = read("1,2,3\n", &ReadOptions { weight: Some("3".into()), ..options() }).unwrap();
    assert_eq!((table.target_name.as_deref(), table.weight), (Some("x2"), Some(vec![3.0])));
}

#[test]
fn header_can_be_forced() {
    let named = ReadOptions { header: Some(true), ..target("3") };
    assert_eq!(read("1,2,3\n4,5,6\n", &named).unwrap().names, ["1", "2"]);
    let plain = ReadOptions { header: Some(false), ..options() };
    fails("a,b\n1,2\n3,4\n", &plain, &["row 1 (line 1), column 'x1' holds 'a'", "leave out --no-header"]);
}

#[test]
fn a_row_of_fractions_and_a_class_is_not_a_header() {
    let table = read("5.1,3.5,1.4,setosa\n4.9,3.0,1.3,setosa\n6.3,3.3,6.1,virginica\n", &options()).unwrap();
    assert_eq!((table.rows, table.has_names), (3, false));
    let Some(Column::Text { levels, codes }) = table.target else { panic!() };
    assert_eq!((levels.join(" "), codes), ("setosa virginica".into(), vec![0, 0, 1]));
    // Wavelengths as names: the text stands over a number.
    assert!(read("y,1100.5,1102.5\n3,0.1,0.2\n", &target("y")).unwrap().has_names);
}

#[test]
fn delimiters_quotes_line_ends_and_byte_order_mark() {
    let expected = read("a,b\n1,2\n", &options()).unwrap();
    for text in [
        "a;b\n1;2\n",
        "a\tb\r\n1\t2\r\n",
        "\u{feff}a,b\n1,2",
        "\n\n\"a\",\"b\"\n\n\"1\", 2 \n\n",
        "a,b\r1,2\r",
        "a,b\n1,2\n   \n",
    ] {
        assert_eq!(read(text, &options()).unwrap(), expected, "{text:?}");
    }
}

#[test]
fn numbers_in_all_their_forms() {
    let table = read("a,b,c,d\n+1,-2.5e-3,.5,1E2\n", &options()).unwrap();
    assert_eq!(table.x, [1.0, -2.5e-3, 0.5, 100.0]);
}

#[test]
fn empty_names_are_made_up_and_double_ones_told_apart() {
    assert_eq!(read(",a,\n1,2,3\n", &options()).unwrap().names, ["x1", "a", "x3"]);
    let table = read("a,b,a\n1,2,3\n", &options()).unwrap();
    assert_eq!((table.names.join(" "), table.notes.len()), ("a b a.1".to_string(), 1));
    assert!(table.notes[0].contains("the name 'a' twice"), "{:?}", table.notes);
    fails("a,b,a\n1,2,3\n", &target("a"), &["the name 'a' twice", "rename one"]);
}

#[test]
fn missing_cells() {
    let text = "a,b,y\n1,,0\nNA,2,1\n3,?,0\n";
    fails("a,b,y\n1,,0\n2,2,1\n", &target("y"), &["row 1 (line 2), column 'b' is empty", "--missing mean"]);
    fails(
        text,
        &target("y"),
        &[
            "2 columns cannot be used as they are",
            "column 'a' has gaps (first in row 2 (line 3); 1 of 3 cells)",
            "column 'b' has gaps (first in row 1 (line 2); 2 of 3 cells)",
            "pass --missing mean",
        ],
    );
    let table = read(text, &ReadOptions { missing: true, ..target("y") }).unwrap();
    let shown: Vec<String> = table.x.iter().map(f32::to_string).collect();
    assert_eq!(shown.join(" "), "1 NaN NaN 2 3 NaN");
    let missing = ReadOptions { missing: true, ..target("y") };
    fails("a,y\n1,2\n2,NA\n", &missing, &["row 2 (line 3), target column 'y' is missing ('NA')"]);
    fails("a\n1\n\"\"\n", &options(), &["row 2 (line 3), column 'a' is empty"]);
}

#[test]
fn values_that_cannot_be_kept() {
    fails("a,b\n1,1e39\n", &options(), &["row 1 (line 2), column 'b' holds 1e39", "3.4e38", "rescale"]);
    fails("a,b\n1,-inf\n", &options(), &["row 1 (line 2), column 'b' is infinite"]);
    fails("a,y\n1,inf\n", &target("y"), &["target column 'y' is infinite"]);
    fails("a,y\n1,1e999\n", &target("y"), &["target column 'y' holds 1e999", "1.8e308"]);
    assert_eq!(numbers(&read("a,y\n1,1e39\n", &target("y")).unwrap()), [1e39]);
}

#[test]
fn text_in_a_column_of_numbers() {
    fails(
        "a,b\n1,2\n3,oops\n5,6\n",
        &options(),
        &[
            "row 2 (line 3), column 'b' holds 'oops', which is not a number (1 of 3 cells is not)",
            "pass --numeric b --missing mean to count such cells as gaps",
            "--categorical b",
            "--ignore b",
        ],
    );
    fails("a,b\n1,x\n3,4\n", &options(), &["row 1 (line 2), column 'b' holds 'x'"]);
    let long = format!("a,b\n1,2\n3,{}\n", "z".repeat(500));
    fails(&long, &options(), &[&format!("holds '{}...'", "z".repeat(40))]);
    let missing = ReadOptions { missing: true, ..options() };
    fails("a,b\n1,\n1,x\n2,3\n", &missing, &["row 2 (line 3), column 'b' holds 'x'"]);
}

#[test]
fn decimal_commas() {
    let table = read("a;b\n1,5;2\n-0,25;3\n", &options()).unwrap();
    assert_eq!(
        (table.x.as_slice(), table.report[0].kind),
        (&[1.5, 2.0, -0.25, 3.0][..], ColumnKind::DecimalComma)
    );
    let table = read("1,5;2,5\n3,5;4\n", &options()).unwrap();
    assert_eq!((table.x.as_slice(), numbers(&table)), (&[1.5, 3.5][..], &[2.5, 4.0][..]));
    let table = read("a,b\n\"1,234.5\",2\n", &options()).unwrap();
    assert_eq!((table.x.as_slice(), table.report[0].kind), (&[1234.5, 2.0][..], ColumnKind::Money));
    fails("a;b\n1,5;2\n2.5;3\n", &options(), &["column 'a' holds '1,5'"]);
}

#[test]
fn ragged_rows() {
    fails("a,b\n1,2\n\n3\n", &options(), &["row 2 (line 4) has 1 cell where 2 are expected"]);
    fails("a,b\n1,2,3\n", &options(), &["row 1 (line 2) has 3 cells where 2 are expected"]);
    fails("a,b\n1,2\n\"3,4\n5,6\n7,8\n", &options(), &["row 2 (line 3) has 1 cell", "a quote may be open"]);
}

#[test]
fn files_without_rows() {
    for empty in ["", "\n\n", "\u{feff}"] {
        fails(empty, &options(), &["the file is empty"]);
    }
    fails("a,b\n", &options(), &["there is a header but no row under it"]);
}

#[test]
fn unknown_columns() {
    fails(
        "age,income\n1,2\n",
        &target("incom"),
        &["no column 'incom' for --target", "did you mean 'income'?", "'age' and 'income'"],
    );
    fails("age,income\n1,2\n", &target("zzz"), &["the columns are 'age' and 'income'"]);
    fails("1,2\n1,2\n", &target("y"), &["no header", "'x1' and 'x2'"]);
    fails("a,b\n1,2\n", &target("3"), &["no column 3 for --target; there are 2 columns"]);
    fails("a,b\n1,2\n", &target("0"), &["no column 0"]);
    fails("a,b\n1,2\n", &ReadOptions { ignore: vec!["c".into()], ..options() }, &["for --ignore"]);
    let error = read("a,b\n1,2\n", &target("zzz")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Column);
}

#[test]
fn columns_used_twice_or_up() {
    let both = ReadOptions { weight: Some("2".into()), ..target("b") };
    fails("a,b\n1,2\n", &both, &["column 'b' cannot be both the target and the weight"]);
    let ignored = ReadOptions { ignore: vec!["b".into()], ..target("b") };
    fails("a,b\n1,2\n", &ignored, &["column 'b' is the target and cannot be left out"]);
    fails("1\n2\n", &options(), &["no input column is left"]);
    fails("y\n2\n", &target("y"), &["no input column is left"]);
}

#[test]
fn weights() {
    let weighted = ReadOptions { weight: Some("w".into()), ..target("y") };
    let table = read("w,a,y\n0,1,2\n2.5,3,4\n", &weighted).unwrap();
    assert_eq!((table.weight, table.names.join(" ")), (Some(vec![0.0, 2.5]), "a".to_string()));
    let row = |w: &str| format!("w,a,y\n1,1,1\n{w},1,2\n");
    fails(row("-1"), &weighted, &["row 2 (line 3), weight column 'w' is -1; weights must be zero or more"]);
    fails(row("inf"), &weighted, &["weight column 'w' is infinite"]);
    fails(row(""), &weighted, &["weight column 'w' is empty"]);
    fails(row("x"), &weighted, &["weight column 'w' holds 'x'"]);
    fails("w,a,y\n0,1,1\n0,1,2\n", &weighted, &["all weights in column 'w' are zero"]);
}

#[test]
fn text_targets() {
    let table = read("a,y\n1,yes\n2,no\n3,yes\n", &target("y")).unwrap();
    let expected = OwnedTarget::Labels { codes: vec![1, 0, 1], classes: vec!["no".into(), "yes".into()] };
    assert_eq!(table.target.unwrap().to_target(Task::Auto).unwrap(), expected);
    assert!(read("a,y\n1,True\n2,True\n", &target("y")).unwrap().target.unwrap().is_classification());
    fails("a,y\n1,1\n2,2.5\n3,x\n4,4\n", &target("y"), &["row 3 (line 4), target column 'y' holds 'x'"]);
}

#[test]
fn bytes_that_are_not_text() {
    fails(b"a,b\n1,2\n\xFF,3\n", &options(), &["line 3 is not UTF-8"]);
    fails(b"a,b\n1,2\n\xC3,\xA9\n", &options(), &["line 3 is not UTF-8"]);
    fails(b"\xFF\xFEa\0,\0b\0", &options(), &["UTF-16"]);
    fails(b"a,b\n1,2\n3,\0\n", &options(), &["byte 11 is NUL", "UTF-16"]);
}

#[test]
fn lines_without_end() {
    fails(vec![b'x'; 10_000_000], &options(), &["cell 1 on line 1 is longer than 1,048,576 characters"]);
    fails("1,".repeat(5_000_000), &options(), &["line 1 has more than 1,000,000 columns"]);
}

#[test]
fn terminals_are_safe() {
    let message = read("a,b\n1,2\n3,\u{1b}[2Jx\n", &options()).unwrap_err().to_string();
    assert!(!message.contains('\u{1b}'), "{message:?}");
}
