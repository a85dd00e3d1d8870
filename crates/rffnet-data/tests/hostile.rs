//! Large and hostile tables: read, or refused with a sentence, without more memory than they are worth.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use rffnet_data::{ColumnKind, ReadOptions, read_from};

fn options() -> ReadOptions {
    ReadOptions { missing: true, ..ReadOptions::default() }
}

#[test]
fn a_million_different_texts() {
    let mut text = String::from("a,b\n");
    for i in 0..1_200_000 {
        text.push_str(&format!("{},t{i}\n", i % 10));
    }
    let table = read_from(text.as_bytes(), "t.csv", &options()).unwrap();
    assert_eq!((table.names.join(" "), table.report[1].kind), ("a".to_string(), ColumnKind::Id));
    let asked = ReadOptions { categorical: vec!["b".into()], ..options() };
    let message = read_from(text.as_bytes(), "t.csv", &asked).unwrap_err().to_string();
    assert!(message.contains("column 'b' holds more than a million different texts"), "{message}");
    let target = ReadOptions { target: Some("b".into()), ..options() };
    assert!(
        read_from(text.as_bytes(), "t.csv", &target)
            .unwrap_err()
            .to_string()
            .contains("a million different texts")
    );
}

#[test]
fn half_a_million_levels_are_a_category() {
    let text: String = (0..1_000_000).map(|i| format!("{},t{}\n", i % 10, i % 500_000)).collect();
    let table = read_from(format!("a,b\n{text}").as_bytes(), "t.csv", &options()).unwrap();
    assert_eq!((table.report[1].kind, table.report[1].levels), (ColumnKind::Category, Some(500_000)));
}

#[test]
fn a_million_columns() {
    let line = |cell: &str| vec![cell; 1_000_000].join(",");
    let names: Vec<String> = (0..1_000_000).map(|i| format!("c{i}")).collect();
    let text = format!("{}\n{}\n{}\n", names.join(","), line("1"), line("2.5"));
    let table = read_from(text.as_bytes(), "t.csv", &options()).unwrap();
    assert_eq!((table.rows, table.columns(), table.x[1_000_000]), (2, 1_000_000, 2.5));
}

#[test]
fn a_small_file_that_unpacks_to_a_large_table() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(b"a,b\n").unwrap();
    let rows = "1,2\n".repeat(1 << 18);
    for _ in 0..64 {
        packed.write_all(rows.as_bytes()).unwrap();
    }
    let packed = packed.finish().unwrap();
    let small = ReadOptions { memory: Some(8_000_000), ..options() };
    let message = read_from(&packed[..], "t.csv.gz", &small).unwrap_err().to_string();
    assert!(message.contains("more than the 8 MB that may be used"), "{message}");
}

#[test]
fn a_line_without_end() {
    // The reader gives up long before the source does.
    let endless = std::io::repeat(b'7').take(1 << 40);
    let message = read_from(endless, "t.csv", &options()).unwrap_err().to_string();
    assert!(message.contains("cell 1 on line 1 is longer than 1,048,576 characters"), "{message}");
    let quoted = (&b"a,b\n1,2\n3,\""[..]).chain(std::io::repeat(b'\n').take(1 << 40));
    let message = read_from(quoted, "t.csv", &options()).unwrap_err().to_string();
    assert!(message.contains("cell 2 on line 3 is longer than"), "{message}");
}

#[test]
fn every_truncation() {
    let text =
        "id,when,\"a \"\"name\"\"\",y\n1,2024-01-31,\"x, é\",yes\n2,2024-02-01,NA,no\n3,,\"z\nz\",yes\n";
    let target = ReadOptions { target: Some("y".into()), ..options() };
    for end in 0..text.len() {
        for options in [&options(), &target] {
            match read_from(&text.as_bytes()[..end], "t.csv", options) {
                Ok(table) => assert_eq!(table.x.len(), table.rows * table.columns()),
                Err(error) => assert!(error.to_string().starts_with("t.csv: "), "{error}"),
            }
        }
    }
}
