//! Parquet files of another writer: every type, every encoding, every codec.

#![allow(clippy::unwrap_used)]

use rffnet::ColumnType;
use rffnet_data::{Column, ReadOptions, Select, Table, Values, read, read_from, write_parquet};

const ROWS: usize = 60;
/// 2024-01-01 in days since the beginning of 2000.
const DAY_2024: f32 = 8766.0;

fn fixture(name: &str) -> String {
    format!("{}/tests/fixtures/{name}.parquet", env!("CARGO_MANIFEST_DIR"))
}

fn options(target: Option<&str>) -> ReadOptions {
    ReadOptions { target: target.map(Into::into), missing: true, ..ReadOptions::default() }
}

fn gap(i: usize) -> bool {
    i % 7 == 3
}

/// Asserts that a column holds what a formula gives, with gaps or without.
fn check(table: &Table, name: &str, gaps: bool, value: impl Fn(usize) -> f32) {
    let k =
        table.names.iter().position(|n| n == name).unwrap_or_else(|| panic!("{name} in {:?}", table.names));
    for i in 0..ROWS {
        let cell = table.row(i)[k];
        if gaps && gap(i) {
            assert!(cell.is_nan(), "{name} of row {i} is {cell}");
        } else {
            assert_eq!(cell, value(i), "{name} of row {i}");
        }
    }
}

fn check_common(table: &Table) {
    assert_eq!(table.rows, ROWS);
    check(table, "i8", false, |i| i as f32 - 30.0);
    check(table, "i64", true, |i| (i as i64 * 1_000_000_007) as f32);
    check(table, "u32", false, |i| (4_000_000_000 + i as u64) as f32);
    check(table, "u64", false, |i| ((1 << 63) + i as u64) as f32);
    check(table, "f32", true, |i| i as f32 / 8.0);
    check(table, "f64", false, |i| (i as f64 * 0.1) as f32);
    check(table, "truth", true, |i| f32::from(i % 3 == 0));
    check(table, "us", false, |i| DAY_2024 + 0.25 * i as f32);
    check(table, "colour", true, |i| [2.0, 1.0, 0.0][i % 3]);
    let kind = |name: &str| table.column_type(table.names.iter().position(|n| n == name).unwrap());
    assert_eq!(kind("colour").levels().unwrap(), ["blue", "green", "red"]);
    assert_eq!(*kind("truth"), ColumnType::Boolean);
    assert_eq!(*kind("us"), ColumnType::Date { day_first: false });
    assert_eq!(*kind("i64"), ColumnType::Number);
    // The target keeps all of its digits.
    assert_eq!(table.target, Some(Column::Numbers((0..ROWS).map(|i| i as f64 * 0.1).collect())));
}

#[test]
fn types() {
    let table = read(&fixture("types"), &options(Some("y"))).unwrap();
    check_common(&table);
    check(&table, "f16", false, |i| i as f32 / 4.0);
    check(&table, "decimal", true, |i| i as f32 / 4.0 - 3.0);
    check(&table, "wide", false, |i| -(i as f32) / 4.0);
    check(&table, "day", true, |i| DAY_2024 + i as f32);
    for name in ["ms", "ns"] {
        check(&table, name, false, |i| DAY_2024 + 0.25 * i as f32);
    }
    check(&table, "clock", false, |i| (i as f64 / 144.0) as f32);
    check(&table, "level", false, |i| if i % 2 == 0 { 1.0 } else { 0.0 });
    check(&table, "last", false, |i| i as f32);
    assert!(!table.names.iter().any(|name| name == "list" || name == "nested"));
    assert!(table.notes.iter().any(|note| note.contains("'list' and 'nested'")), "{:?}", table.notes);
}

#[test]
fn encodings_and_codecs() {
    check_common(&read(&fixture("encodings"), &options(Some("y"))).unwrap());
}

#[test]
fn old_files() {
    let table = read(&fixture("old"), &options(Some("y"))).unwrap();
    check(&table, "us", false, |i| DAY_2024 + 0.25 * i as f32);
    check(&table, "colour", true, |i| [2.0, 1.0, 0.0][i % 3]);
}

#[test]
fn text_targets_weights_and_kept_columns() {
    let options = ReadOptions {
        weight: Some("f64".into()),
        keep: vec!["u64".into(), "i64".into(), "level".into()],
        ignore: vec!["list".into()],
        drop_missing_target: true,
        ..options(Some("colour"))
    };
    let table = read(&fixture("types"), &options).unwrap();
    let Some(Column::Text { levels, codes }) = &table.target else { panic!("{:?}", table.target) };
    assert_eq!(levels, &["blue", "green", "red"]);
    assert_eq!(codes[..4], [2, 1, 0, 1]);
    assert_eq!(table.rows, ROWS - (0..ROWS).filter(|&i| gap(i)).count());
    assert_eq!(table.weight.as_ref().unwrap()[1], 0.1);
    assert_eq!(table.kept[0].1[0], "9223372036854775808");
    assert_eq!(table.kept[1].1[..4], ["0", "1000000007", "2000000014", "4000000028"]);
    assert_eq!(table.kept[2].1[0], "low");
}

#[test]
fn numbers_as_levels_keep_their_digits() {
    // As floats of 32 bits, neighbours would be one.
    let account = |i: usize| f64::from(1 << 25) + (i % 30) as f64;
    let accounts: Vec<f64> = (0..ROWS).map(account).collect();
    let x = vec![0.5; ROWS];
    let mut bytes = Vec::new();
    write_parquet(&[("account", Values::Numbers(&accounts)), ("x", Values::Numbers(&x))], &mut bytes)
        .unwrap();
    let fit = ReadOptions { categorical: vec!["account".into()], ..options(None) };
    let table = read_from(&bytes[..], "t.parquet", &fit).unwrap();
    let levels: Vec<String> = (0..30).map(|i| account(i).to_string()).collect();
    assert_eq!(table.types[0].levels().unwrap(), levels);
    assert_eq!((table.row(0)[0], table.row(31)[0]), (0.0, 1.0));
    let again = read_from(&bytes[..], "t.parquet", &fitted(&table)).unwrap();
    assert_eq!((again.x, again.unknown), (table.x, Vec::new()));

    let fit =
        ReadOptions { categorical: ["i64", "u64", "truth"].map(Into::into).to_vec(), ..options(Some("y")) };
    let table = read(&fixture("types"), &fit).unwrap();
    let levels = |name: &str| {
        table.types[table.names.iter().position(|n| n == name).unwrap()].levels().unwrap().to_vec()
    };
    assert_eq!(levels("i64").len(), ROWS - (0..ROWS).filter(|&i| gap(i)).count());
    assert!(levels("i64").contains(&"58000000406".to_string()));
    assert_eq!((levels("u64").len(), levels("u64")[1].as_str()), (ROWS, "9223372036854775809"));
    assert_eq!(levels("truth"), ["false", "true"]);
    let again = read(&fixture("types"), &fitted(&table)).unwrap();
    assert!(again.unknown.is_empty() && again.gaps == table.gaps, "{:?}", again.unknown);
}

/// What a model that was fitted on a table reads.
fn fitted(table: &Table) -> ReadOptions {
    let select = Select::Named { names: table.names.clone(), named: true, types: table.types.clone() };
    ReadOptions { select, ..options(None) }
}

#[test]
fn nested_columns_cannot_be_asked_for() {
    let error = read(&fixture("types"), &options(Some("nested"))).unwrap_err().to_string();
    assert!(error.contains("column 'nested' is nested, which cannot be read"), "{error}");
}

#[test]
fn bytes_that_cannot_be_sought() {
    let bytes = std::fs::read(fixture("encodings")).unwrap();
    check_common(&read_from(&bytes[..], "standard input", &options(Some("y"))).unwrap());
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &bytes).unwrap();
    check_common(&read_from(&packed.finish().unwrap()[..], "t.parquet.gz", &options(Some("y"))).unwrap());
    let small = ReadOptions { memory: Some(1000), ..options(None) };
    let error = read_from(&bytes[..], "t.parquet", &small).unwrap_err().to_string();
    assert!(error.contains("MB that may be used"), "{error}");
}

#[test]
fn other_bytes_are_refused() {
    let parquet = ReadOptions { format: Some(rffnet_data::Format::Parquet), ..ReadOptions::default() };
    let error = read_from(&b"a,b\n1,2\n"[..], "t.csv", &parquet).unwrap_err().to_string();
    assert!(error.contains("not a Parquet file"), "{error}");
    let mut bytes = Vec::new();
    write_parquet(&[("x", Values::Numbers(&[]))], &mut bytes).unwrap();
    let error = read_from(&bytes[..], "t.parquet", &options(None)).unwrap_err().to_string();
    assert!(error.contains("no rows"), "{error}");
    bytes.clear();
    write_parquet(
        &[("x", Values::Numbers(&[1.0, f64::INFINITY])), ("y", Values::Numbers(&[0.0, 0.0]))],
        &mut bytes,
    )
    .unwrap();
    let error = read_from(&bytes[..], "t.parquet", &options(None)).unwrap_err().to_string();
    assert!(error.starts_with("t.parquet: row 2, column 'x' is infinite or beyond"), "{error}");
}

#[test]
fn what_is_written_reads_back() {
    let rows = 300_000;
    let numbers: Vec<f64> = (0..rows).map(|i| if i % 5 == 0 { f64::NAN } else { i as f64 * 0.1 }).collect();
    let texts = (0..rows).map(|i| (i % 4 != 1).then_some(["a", "é"][i % 2])).collect();
    let target = vec![0.5; rows];
    let columns = [
        ("n", Values::Numbers(&numbers)),
        ("f", Values::Floats(numbers.iter().map(|&v| v as f32).collect())),
        ("t", Values::Texts(texts)),
        ("b", Values::Booleans((0..rows).map(|i| (i != 7).then_some(i % 3 == 0)).collect())),
        ("d", Values::Dates((0..rows).map(|i| i as f32 / 4.0).collect())),
        ("y", Values::Numbers(&target)),
    ];
    let mut bytes = Vec::new();
    write_parquet(&columns, &mut bytes).unwrap();
    let table = read_from(&bytes[..], "t.parquet", &options(Some("y"))).unwrap();
    assert_eq!((table.rows, table.columns()), (rows, 5));
    for (i, &number) in numbers.iter().enumerate() {
        let row = table.row(i);
        let number = number as f32;
        assert!(
            row[0] == number && row[1] == number || row[0].is_nan() && row[1].is_nan() && number.is_nan(),
            "{i}"
        );
        if i % 4 == 1 {
            assert!(row[2].is_nan())
        } else {
            assert_eq!(row[2], (i % 2) as f32)
        }
        if i == 7 {
            assert!(row[3].is_nan())
        } else {
            assert_eq!(row[3], f32::from(i % 3 == 0))
        }
        assert_eq!(row[4], i as f32 / 4.0);
    }
}
