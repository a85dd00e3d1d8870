//! JSON lines: types, gaps, and every sentence.

#![allow(clippy::unwrap_used)]

use rffnet::ColumnType;
use rffnet_data::{Column, ReadOptions, Select, Table, read_from};

fn table(text: &str, target: Option<&str>) -> Result<Table, String> {
    let options = ReadOptions { target: target.map(Into::into), missing: true, ..ReadOptions::default() };
    read_from(text.as_bytes(), "t.jsonl", &options).map_err(|e| e.to_string())
}

#[test]
fn rows_of_all_types() {
    let text = "\u{feff}{\"a\": 1, \"b\": \"x\\u00e9\", \"c\": true, \"y\": 0.1}\n\n\
                {\"y\": 2, \"c\": false, \"a\": -2.5e-3}\r\n\
                {\"b\": \"z\", \"a\": null, \"c\": null, \"y\": 12345678901}";
    let table = table(text, Some("y")).unwrap();
    assert_eq!(table.names, ["a", "b", "c"]);
    assert_eq!(table.target, Some(Column::Numbers(vec![0.1, 2.0, 12_345_678_901.0])));
    assert_eq!(table.row(0), [1.0, 0.0, 1.0]);
    assert!(table.row(1)[0] == -2.5e-3 && table.row(1)[1].is_nan() && table.row(1)[2] == 0.0);
    assert!(table.row(2)[0].is_nan() && table.row(2)[1] == 1.0 && table.row(2)[2].is_nan());
    assert_eq!(table.types[1].levels().unwrap(), ["xé", "z"]);
    assert_eq!(table.types[2], ColumnType::Boolean);
    assert_eq!(table.gaps, 3);
}

#[test]
fn many_blocks_are_one_table() {
    let rows = 60_000;
    let text: String = (0..rows)
        .map(|i| {
            format!(
                "{{\"number\": {}, \"colour\": \"{}\", \"y\": {i}}}\n",
                i as f32 / 8.0,
                ["red", "blue"][i % 2]
            )
        })
        .collect();
    let table = table(&text, Some("y")).unwrap();
    assert_eq!((table.rows, table.columns()), (rows, 2));
    for i in 0..rows {
        assert_eq!(table.row(i), [i as f32 / 8.0, if i % 2 == 0 { 1.0 } else { 0.0 }]);
    }
}

#[test]
fn ids_keep_their_digits() {
    let text = "{\"id\": 9007199254740993, \"x\": 1}\n{\"id\": 5, \"x\": 2}\n";
    let options =
        ReadOptions { keep: vec!["id".into()], ignore: vec!["id".into()], ..ReadOptions::default() };
    let table = read_from(text.as_bytes(), "t.jsonl", &options).unwrap();
    assert_eq!(table.kept, [("id".to_string(), vec!["9007199254740993".to_string(), "5".to_string()])]);
    assert_eq!(table.names, ["x"]);
}

#[test]
fn numbers_as_levels_keep_their_digits() {
    // As floats of 32 bits, neighbours would be one.
    let account = |i: usize| (1_u64 << 25) + i as u64;
    let large = |i: usize| (1_u64 << 63) + i as u64;
    let text: String = (0..60)
        .map(|i| format!("{{\"account\": {}, \"large\": {}, \"x\": {i}}}\n", account(i % 30), large(i % 30)))
        .collect();
    let columns = vec!["account".into(), "large".into()];
    let fit = ReadOptions { categorical: columns, ..ReadOptions::default() };
    let table = read_from(text.as_bytes(), "t.jsonl", &fit).unwrap();
    let levels = |number: &dyn Fn(usize) -> u64| (0..30).map(|i| number(i).to_string()).collect::<Vec<_>>();
    assert_eq!(table.types[0].levels().unwrap(), levels(&account));
    assert_eq!(table.types[1].levels().unwrap(), levels(&large));
    assert_eq!(table.row(31), [1.0, 1.0, 31.0]);
    let select = Select::Named { names: table.names.clone(), named: true, types: table.types.clone() };
    let again = ReadOptions { select, ..ReadOptions::default() };
    let again = read_from(text.as_bytes(), "t.jsonl", &again).unwrap();
    assert_eq!((again.x, again.unknown), (table.x, Vec::new()));
}

#[test]
fn found_by_its_first_bytes() {
    for name in ["standard input", "t.txt", "t.json"] {
        let table = read_from(&b" { \"a\": 1}\n{\"a\": 2}\n"[..], name, &ReadOptions::default()).unwrap();
        assert_eq!(table.x, [1.0, 2.0]);
    }
}

#[test]
fn sentences() {
    let late: String =
        (0..60_000).map(|_| "{\"a\": 1, \"b\": 1234567890}\n").chain(["{\"c\": 1}\n"]).collect();
    for (text, expected) in [
        ("", "there is no row"),
        ("\n \n", "there is no row"),
        ("{}\n", "there is no row"),
        ("[1, 2]\n", "line 1 begins a list"),
        ("{\"a\": 1}\n{\"a\": [1]}\n", "line 2 has a nested value under the key 'a'"),
        ("{\"a\": {\"b\": 1}}\n", "line 1 has a nested value under the key 'a'"),
        ("{\"a\": 1}\n{\"a\": 1\n", "line 2 is not a JSON object"),
        ("{\"a\": 1}\n{\"a\": 1} x\n", "line 2 is not a JSON object"),
        ("{\"a\": 1}\n3\n", "line 2 is not a JSON object"),
        ("{\"a\": 1}\n{\"a\": 1e39}\n", "row 2 (line 2), column 'a' holds"),
        ("{\"a\": \"\u{0}\"}\n", "NUL"),
        (&late, "line 60,001 has the key 'c', which no earlier row has"),
    ] {
        let error = table(text, None).unwrap_err();
        assert!(error.starts_with("t.jsonl: ") && error.contains(expected), "{error}");
    }
}
