//! What is written reads back as it was.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use rffnet::{ColumnType, UNKNOWN_LEVEL};
use rffnet_data::{Column, ReadOptions, Select, Simulated, Table, read_from, write};

fn table(names: &[&str], x: Vec<f32>, target: Column) -> Table {
    Table {
        names: names.iter().map(|n| n.to_string()).collect(),
        has_names: true,
        rows: target.len(),
        x,
        target: Some(target),
        target_name: Some("y".into()),
        weight: None,
        source: "t".into(),
        ..Table::default()
    }
}

fn round_trip(table: &Table, name: &str) -> Table {
    let mut bytes = Vec::new();
    write(table, name, &mut bytes).unwrap();
    let csv = name.contains(".csv") || name.contains(".parquet");
    let options = ReadOptions {
        target: csv.then(|| "y".into()),
        weight: table.weight.as_ref().map(|_| "weight".into()),
        columns: name.contains("svm").then_some(table.names.len()),
        missing: true,
        ..ReadOptions::default()
    };
    read_from(&bytes[..], name, &options).unwrap()
}

#[test]
fn simulated_sets_in_every_format() {
    for &set in Simulated::ALL {
        let table = set.generate(40, 3);
        for name in ["t.csv", "t.csv.gz", "t.svm", "t.npy", "t.parquet"] {
            let back = round_trip(&table, name);
            assert_eq!(
                (&back.x, &back.target, back.rows),
                (&table.x, &table.target, table.rows),
                "{set} {name}"
            );
        }
    }
}

#[test]
fn awkward_names_text_weights_and_missing_cells() {
    let target = Column::Text { levels: vec!["no, \"never\"".into(), "yes".into()], codes: vec![1, 0] };
    let mut awkward =
        table(&["a,b", " say \"hi\"\nthere", "3"], vec![1.0, f32::NAN, -0.0, 4.0, 1e-30, 3e38], target);
    awkward.names[1] = awkward.names[1].trim().to_string();
    awkward.weight = Some(vec![0.5, 2.0]);
    for name in ["t.csv", "t.parquet"] {
        let back = round_trip(&awkward, name);
        let beside = |t: &Table| (t.names.clone(), t.target.clone(), t.weight.clone());
        assert_eq!(beside(&back), beside(&awkward), "{name}");
        let bits = |t: &Table| t.x.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&back), bits(&awkward), "{name}");
    }
    for name in ["t.svm", "t.npy"] {
        assert!(write(&awkward, name, &mut Vec::new()).unwrap_err().to_string().contains("only CSV"));
    }
    assert!(write(&awkward, "t.jsonl", &mut Vec::new()).unwrap_err().to_string().contains("not written"));
}

#[test]
fn a_single_missing_cell_is_not_a_blank_line() {
    let mut lone = table(&["a"], vec![f32::NAN, 2.0], Column::Numbers(vec![0.0, 1.0]));
    lone.target = None;
    let mut bytes = Vec::new();
    write(&lone, "t.csv", &mut bytes).unwrap();
    assert_eq!(bytes, b"a\nNaN\n2\n");
}

proptest! {
    #[test]
    fn any_finite_numbers(rows in prop::collection::vec((any::<[f32; 3]>(), any::<f64>()), 1..20)) {
        let finite = |v: f32| if v.is_finite() { v } else { 1.0 };
        let x: Vec<f32> = rows.iter().flat_map(|(r, _)| r.map(finite)).collect();
        let y = rows.iter().map(|(_, y)| if y.is_finite() { *y } else { 0.5 }).collect();
        let table = table(&["a", "b", "c"], x, Column::Numbers(y));
        for name in ["t.csv", "t.npy", "t.libsvm", "t.parquet"] {
            let back = round_trip(&table, name);
            prop_assert_eq!(&back.x, &table.x);
            prop_assert_eq!(&back.target, &table.target);
        }
    }

    /// A column of each type: gaps, levels with quotes and line ends, words for gaps, dates with times.
    #[test]
    fn any_table_with_types(
        rows in prop::collection::vec((any::<f32>(), 0..9_usize, prop::option::of(any::<bool>()), -700_000.0..2_000_000.0_f32), 1..30)
    ) {
        let levels = ["#1", "1", "NA", "a \"b\"", "a,b", "c;d|e", "line\nend", "é"].map(String::from).to_vec();
        let types = vec![ColumnType::Number, ColumnType::Category { levels: levels.clone() }, ColumnType::Boolean, ColumnType::Date { day_first: false }];
        let cells = |(number, level, boolean, date): &(f32, usize, Option<bool>, f32)| {
            let number = if number.is_finite() { *number } else { f32::NAN };
            let level = if *level < levels.len() { *level as f32 } else { f32::NAN };
            [number, level, boolean.map_or(f32::NAN, |b| f32::from(u8::from(b))), *date]
        };
        let x: Vec<f32> = rows.iter().flat_map(cells).collect();
        let names: Vec<String> = ["n", "c", "b", "d"].map(String::from).to_vec();
        let table = Table { names: names.clone(), has_names: true, types: types.clone(), x, rows: rows.len(), ..Table::default() };
        let mut bytes = Vec::new();
        write(&table, "t.csv", &mut bytes).unwrap();
        let select = Select::Named { names, named: true, types };
        let back = read_from(&bytes[..], "t.csv", &ReadOptions { select, missing: true, ..ReadOptions::default() }).unwrap();
        let bits = |x: &[f32]| x.iter().map(|v| if v.is_nan() { 1 } else { v.to_bits() }).collect::<Vec<_>>();
        prop_assert_eq!(bits(&back.x), bits(&table.x));
        prop_assert!(back.unknown.is_empty() && back.types == table.types);
    }
}

#[test]
fn only_csv_has_types() {
    let mut typed = table(&["a"], vec![0.0, UNKNOWN_LEVEL], Column::Numbers(vec![0.0, 1.0]));
    typed.types = vec![ColumnType::Category { levels: vec!["x".into()] }];
    let mut bytes = Vec::new();
    write(&typed, "t.csv", &mut bytes).unwrap();
    assert_eq!(bytes, b"a,y\nx,0\n,1\n");
    for name in ["t.svm", "t.npy"] {
        assert!(write(&typed, name, &mut Vec::new()).unwrap_err().to_string().contains("is a category"));
    }
}
