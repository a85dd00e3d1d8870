//! What columns of a CSV file are found to hold, and what is said about it.

#![allow(clippy::unwrap_used)]

use rffnet::{ColumnType, UNKNOWN_LEVEL};
use rffnet_data::{Column, ColumnKind, DataError, ReadOptions, Select, Table, read_from};

fn options() -> ReadOptions {
    ReadOptions { missing: true, ..ReadOptions::default() }
}

fn read(text: &str, options: &ReadOptions) -> Result<Table, DataError> {
    read_from(text.as_bytes(), "t.csv", options)
}

/// One column `c` beside a column `n` of numbers that do not count up.
fn with(cells: &[&str]) -> String {
    let rows = cells.iter().enumerate().map(|(i, cell)| format!("{}.5,{cell}\n", i * 7 % 5));
    format!("n,c\n{}", rows.collect::<String>())
}

/// A column of at least 20 rows.
fn long(cells: &[&str]) -> String {
    with(&cells.iter().copied().cycle().take(cells.len().max(24)).collect::<Vec<_>>())
}

fn column(table: &Table) -> Vec<f32> {
    let width = table.columns();
    table.x.iter().skip(width - 1).step_by(width).copied().collect()
}

#[track_caller]
fn is(cells: &[&str], kind: ColumnKind, of: &ColumnType, values: &[f32]) -> Table {
    let table = read(&with(cells), &options()).unwrap();
    assert_eq!((table.report[1].kind, table.column_type(1)), (kind, of), "{cells:?}");
    let bits =
        |v: &[f32]| v.iter().map(|v| if v.is_nan() { u32::MAX } else { v.to_bits() }).collect::<Vec<_>>();
    assert_eq!(bits(&column(&table)), bits(values), "{cells:?}: {:?}", column(&table));
    table
}

#[track_caller]
fn fails(text: &str, options: &ReadOptions, parts: &[&str]) {
    let message = read(text, options).unwrap_err().to_string();
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

fn levels(levels: &[&str]) -> ColumnType {
    ColumnType::Category { levels: levels.iter().map(|l| l.to_string()).collect() }
}

const NAN: f32 = f32::NAN;

#[test]
fn numbers_and_their_gaps() {
    is(
        &["1", "?", "-", ".", "#N/A", "nan", "2"],
        ColumnKind::Number,
        &ColumnType::Number,
        &[1.0, NAN, NAN, NAN, NAN, NAN, 2.0],
    );
    is(
        &["1", "NA", "n/a", "None", "null", "2"],
        ColumnKind::Number,
        &ColumnType::Number,
        &[1.0, NAN, NAN, NAN, NAN, 2.0],
    );
    let table = is(&["", "NA", ""], ColumnKind::Constant, &ColumnType::Number, &[NAN, NAN, NAN]);
    assert_eq!((table.gaps, table.report[1].gaps, table.report[1].used), (3, 3, true));
    is(&["0", "1", "1"], ColumnKind::Number, &ColumnType::Number, &[0.0, 1.0, 1.0]);
    is(&["7", "7", "7"], ColumnKind::Constant, &ColumnType::Number, &[7.0, 7.0, 7.0]);
}

#[test]
fn booleans() {
    for pair in [["true", "false"], ["Yes", "NO"], ["t", "F"], ["y", "n"], ["ON", "off"]] {
        is(
            &[pair[0], pair[1], "", pair[0]],
            ColumnKind::Boolean,
            &ColumnType::Boolean,
            &[1.0, 0.0, NAN, 1.0],
        );
    }
    is(&["yes", "no", "NA", "NA"], ColumnKind::Boolean, &ColumnType::Boolean, &[1.0, 0.0, NAN, NAN]);
    let mixed = ["yes", "no", "4", "yes", "yes"];
    is(&mixed, ColumnKind::Category, &levels(&["4", "no", "yes"]), &[2.0, 1.0, 0.0, 2.0, 2.0]);
    is(&["yes", "true", "yes"], ColumnKind::Category, &levels(&["true", "yes"]), &[1.0, 0.0, 1.0]);
}

#[test]
fn dates() {
    let date = |cells: &[&str], values: &[f32]| {
        is(
            cells,
            ColumnKind::Date,
            &ColumnType::Date { day_first: cells[0].contains('.') || cells[0].starts_with("31/") },
            values,
        )
    };
    date(&["2024-01-31", "", "2000-01-02"], &[8796.0, NAN, 1.0]);
    date(&["2024-01-31T12:00:00Z", "2000-01-02 06:00"], &[8796.5, 1.25]);
    date(&["31/01/2024", "01/02/2024"], &[8796.0, 8797.0]);
    assert!(date(&["01/31/2024", "02/01/2024"], &[8796.0, 8797.0]).notes.is_empty());
    let open = date(&["01/02/2000", "01/03/2000"], &[1.0, 2.0]);
    assert_eq!(open.notes, ["the dates of column 'c' are read with the month first, which they leave open"]);
    assert!(date(&["02.01.2000", "03.01.2000"], &[1.0, 2.0]).notes[0].contains("with the day first"));
    date(&["31 Jan 2024", "1 February 2024"], &[8796.0, 8797.0]);
    date(&["31-Jan-24", "1-Feb-24"], &[8796.0, 8797.0]);
    date(&["Jan-24", "Feb 2024", "2024-Mar"], &[8766.0, 8797.0, 8826.0]);
    date(&["13:30", "06:00"], &[0.5625, 0.25]);
    is(&["20240131", "20240201"], ColumnKind::Number, &ColumnType::Number, &[20_240_131.0, 20_240_201.0]);
    let asked = ReadOptions { date: vec!["c".into()], ..options() };
    let table = read(&with(&["20240131", "2024-02-01", "soon"]), &asked).unwrap();
    assert_eq!(
        (&column(&table)[..2], matches!(table.types[1], ColumnType::Date { .. })),
        (&[8796.0, 8797.0][..], true)
    );
    assert_eq!(table.notes, ["1 cell of column 'c' is not a date and counts as a gap"]);
    let odd = ["2024-01-31"; 5].into_iter().chain(["soon"]).collect::<Vec<_>>();
    fails(
        &with(&odd),
        &options(),
        &["row 6 (line 7), column 'c' holds 'soon', which is not a date", "--date c"],
    );
}

#[test]
fn amounts() {
    let number = |cells: &[&str], kind, values: &[f32]| {
        let comma = kind == ColumnKind::DecimalComma;
        is(cells, kind, if comma { &ColumnType::DecimalComma } else { &ColumnType::Number }, values)
    };
    number(&["\"$1,234.50\"", "$7"], ColumnKind::Money, &[1234.5, 7.0]);
    number(&["1 234 €", "5 €", ""], ColumnKind::Money, &[1234.0, 5.0, NAN]);
    number(&["USD 5", "USD 6"], ColumnKind::Money, &[5.0, 6.0]);
    number(&["12%", "3.5%", "NA"], ColumnKind::Percent, &[12.0, 3.5, NAN]);
    number(&["\"1,5\"", "\"2,25\""], ColumnKind::DecimalComma, &[1.5, 2.25]);
    number(&["\"1,234\"", "\"1,500\""], ColumnKind::Money, &[1234.0, 1500.0]);
    number(&["999", "\"1,500\"", "2"], ColumnKind::Money, &[999.0, 1500.0, 2.0]);
    number(&["3", "\"1,5\"", "2"], ColumnKind::DecimalComma, &[3.0, 1.5, 2.0]);
    fails(
        &with(&["12.5", "13.5", "12%"]),
        &options(),
        &["holds '12%', which is not a number (1 of 3 cells is not)"],
    );
}

#[test]
fn categories() {
    let table = is(&["b", "a", "", "b"], ColumnKind::Category, &levels(&["a", "b"]), &[1.0, 0.0, NAN, 1.0]);
    assert_eq!((table.report[1].levels, table.report[1].gaps), (Some(2), 1));
    // Few whole numbers and texts.
    is(
        &["0", "1", "2", "3+", "3+", "1"],
        ColumnKind::Category,
        &levels(&["0", "1", "2", "3+"]),
        &[0.0, 1.0, 2.0, 3.0, 3.0, 1.0],
    );
    is(
        &["3+", "1", "3+", "x", "0"],
        ColumnKind::Category,
        &levels(&["0", "1", "3+", "x"]),
        &[2.0, 1.0, 2.0, 3.0, 0.0],
    );
    // A common word for a gap is a level; a rare one is a gap.
    let table =
        is(&["a", "NA", "b", "NA"], ColumnKind::Category, &levels(&["NA", "a", "b"]), &[1.0, 0.0, 2.0, 0.0]);
    assert_eq!(table.notes, ["column 'c' holds 'NA' in 2 rows, which is a level of its own"]);
    is(&["a", "NA", "b", "b"], ColumnKind::Category, &levels(&["a", "b"]), &[0.0, NAN, 1.0, 1.0]);
    let asked = ReadOptions { categorical: vec!["c".into()], ..options() };
    let table = read(&with(&["01", "1", "", "x"]), &asked).unwrap();
    assert_eq!(
        (table.column_type(1), column(&table)[0], column(&table)[1]),
        (&levels(&["01", "1", "x"]), 0.0, 1.0)
    );
}

fn refs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

#[test]
fn columns_that_are_left_out() {
    let left = |cells: &[&str], kind, note: &str| {
        let table = read(&with(cells), &options()).unwrap();
        assert_eq!(
            (table.names.join(" "), table.report[1].kind, table.report[1].used),
            ("n".to_string(), kind, false)
        );
        assert_eq!(table.notes, [note]);
    };
    let ids: Vec<String> = (0..30).map(|i| format!("u{i}")).collect();
    let texts: Vec<String> = (0..30).map(|i| format!("this is sentence {i}")).collect();
    left(&refs(&ids), ColumnKind::Id, "column 'c' holds a different text in every row and is left out");
    left(&refs(&texts), ColumnKind::Text, "column 'c' holds free text and is left out");
    left(&["same"; 30], ColumnKind::Constant, "column 'c' holds the same text in every row and is left out");
    // Fewer rows may differ by chance.
    assert!(read(&with(&["a", "b", "c"]), &options()).unwrap().report[1].used);
    fails(
        &format!("c,y\n{}", "same,1\nsame,2\n"),
        &ReadOptions { target: Some("y".into()), ..options() },
        &["no input column is left"],
    );
}

#[test]
fn row_numbers_and_ids() {
    for name in ["", "Unnamed: 0", "index"] {
        let text = format!("{name},a,y\n0,5,1\n1,6,2\n2,5,3\n");
        let table = read(&text, &options()).unwrap();
        assert_eq!((table.names.join(" "), table.report[0].kind), ("a y".to_string(), ColumnKind::Index));
        assert!(table.notes[0].ends_with("counts the rows and is left out"), "{:?}", table.notes);
    }
    let rows: String = (0..25).map(|i| format!("{},{}\n", i * 7 % 25, i % 3)).collect();
    let table = read(&format!("user_id,a\n{rows}"), &options()).unwrap();
    assert_eq!((table.columns(), table.notes.len()), (2, 1));
    assert!(table.notes[0].starts_with("column 'user_id' looks like an id"), "{:?}", table.notes);
    // A delimiter at the end of every line.
    let table = read("a,b,\n1,2,\n3,4,\n", &ReadOptions::default()).unwrap();
    assert_eq!((table.names.join(" "), table.notes.len()), ("a b".to_string(), 0));
    assert_eq!(read("a,b\n1,2,\n3,4,\n", &ReadOptions::default()).unwrap().names, ["a", "b"]);
    // Row names as R writes them.
    assert_eq!(read("a,b\n1,2,3\n2,4,5\n", &ReadOptions::default()).unwrap().names, ["a", "b"]);
}

#[test]
fn odd_cells_are_listed_with_what_helps() {
    let cells: String = (0..100).map(|i| format!("{i}.5,{i}.5\n")).collect();
    let text = format!("age,home town\n{cells}x,1\n2,oops\n3,oh\n");
    fails(
        &text,
        &options(),
        &[
            "2 columns cannot be used as they are",
            "column 'age' holds 'x', not a number (first in row 101 (line 102); 1 of 103 cells)",
            "column 'home town' holds 'oops', not a number (first in row 102 (line 103); 2 of 103 cells)",
            "pass --numeric age,'home town'",
        ],
    );
    let asked = ReadOptions { numeric: vec!["age".into(), "2".into()], ..options() };
    let table = read(&text, &asked).unwrap();
    assert_eq!((table.gaps, table.notes.len()), (3, 2));
    assert_eq!(table.notes[1], "2 cells of column 'home town' are not a number and count as gaps");
    let both = ReadOptions { numeric: vec!["age".into()], date: vec!["age".into()], ..options() };
    fails(&text, &both, &["column 'age' is given to two of --categorical, --numeric and --date"]);
}

#[test]
fn targets() {
    let target = || ReadOptions { target: Some("c".into()), ..options() };
    let of = |cells: &[&str]| read(&with(cells), &target()).unwrap().target.unwrap();
    let text = |levels: &[&str], codes: &[u32]| Column::Text {
        levels: levels.iter().map(|l| l.to_string()).collect(),
        codes: codes.to_vec(),
    };
    assert_eq!(of(&["1", "2", "5", "U"]), text(&["1", "2", "5", "U"], &[0, 1, 2, 3]));
    assert_eq!(of(&["$1.50", "$2"]), Column::Numbers(vec![1.5, 2.0]));
    assert_eq!(of(&["5%", "6%"]), Column::Numbers(vec![5.0, 6.0]));
    assert_eq!(of(&["0.1", "16777217"]), Column::Numbers(vec![0.1, 16_777_217.0]));
    assert_eq!(of(&["none", "a", "none"]), text(&["a", "none"], &[1, 0, 1]));
    let gaps = with(&["1", "", "2", "NA"]);
    fails(
        &gaps,
        &target(),
        &[
            "row 2 (line 3), target column 'c' is empty",
            "the first of 2 gaps in 4 rows",
            "--drop-missing-target",
        ],
    );
    let table = read(&gaps, &ReadOptions { drop_missing_target: true, ..target() }).unwrap();
    assert_eq!((table.rows, table.x.as_slice()), (2, &[0.5, 4.5][..]));
    assert_eq!(
        (table.target, table.notes),
        (Some(Column::Numbers(vec![1.0, 2.0])), vec!["2 rows without a target are dropped".into()])
    );
    fails(&with(&["", ""]), &ReadOptions { drop_missing_target: true, ..target() }, &["no row has a target"]);
}

#[test]
fn columns_of_a_model() {
    let types = vec![
        ColumnType::Number,
        levels(&["1", "NA", "a"]),
        ColumnType::Boolean,
        ColumnType::Date { day_first: false },
    ];
    let names = ["n", "c", "b", "d"].map(String::from).to_vec();
    let model =
        ReadOptions { select: Select::Named { names, named: true, types: types.clone() }, ..options() };
    let table = read(
        "d,c,b,n\n2000-01-02,a,yes,\"1,000\"\n2000-01-03,1.0,0,$5\n,NA,,NA\n01/04/2000,new,T,7\n",
        &model,
    )
    .unwrap();
    let shown: Vec<String> = table.x.iter().map(f32::to_string).collect();
    let unknown = UNKNOWN_LEVEL.to_string();
    assert_eq!(
        shown,
        ["1000", "2", "1", "1", "5", "0", "0", "2", "NaN", "1", "NaN", "NaN", "7", &unknown, "1", "3"]
    );
    assert_eq!((table.types, table.unknown, table.gaps), (types, vec![("c".to_string(), 1)], 3));
    fails(
        "n,c,b,d\nx,a,maybe,2000-01-01\n1,a,yes,soon\n",
        &model,
        &[
            "3 columns cannot be used",
            "'n' holds 'x', not a number",
            "'b' holds 'maybe', not a boolean",
            "'d' holds 'soon', not a date",
        ],
    );
}

#[test]
fn kept_columns_are_as_they_are_written() {
    let keep = ReadOptions { keep: vec!["id".into(), "a".into()], ignore: vec!["id".into()], ..options() };
    let table = read("id,a,b\n007, 1.50,x\n\"8, 9\",NA,y\n", &keep).unwrap();
    assert_eq!(table.kept[0], ("id".to_string(), vec!["007".to_string(), "8, 9".into()]));
    assert_eq!(table.kept[1], ("a".to_string(), vec!["1.50".to_string(), "NA".into()]));
    assert_eq!((table.names.join(" "), table.report[0].kind), ("a b".to_string(), ColumnKind::Kept));
}

#[test]
fn delimiters_comments_and_numeric_headers() {
    let expected = read("a,b\n1.5,2\n3,4\n", &options()).unwrap();
    for text in ["a|b\n1.5|2\n3|4\n", "a b\n1.5  2\n 3\t4 \n", "#a,b\n1.5,2\n3,4\n"] {
        assert_eq!(read(text, &options()).unwrap(), expected, "{text:?}");
    }
    let table = read("# made by hand\na,b\n1.5,2\n# and more, or less, so\n3,4\n", &options()).unwrap();
    assert_eq!(
        (table.x, table.notes),
        (expected.x, vec!["2 lines that start with '#' are passed over as comments".into()])
    );
    let forced = ReadOptions { delimiter: Some(b':'), ..options() };
    assert_eq!(read("a:b\n1:2\n", &forced).unwrap().x, [1.0, 2.0]);
    let table = read("0,1,2\n0.5,7,1\n0.7,8,0\n", &options()).unwrap();
    assert_eq!((table.names.join(" "), table.notes.len()), ("0 1 2".to_string(), 1));
    assert!(table.notes[0].contains("pass --no-header if it is data"));
}

#[test]
fn half_quoted_cells() {
    let sentence = |text: &str| read(text, &options()).unwrap_err().to_string();
    assert!(
        sentence("a,b\n1,5\" pipe\n").contains("row 1 (line 2), column 'b' has a quote inside '5\" pipe'")
    );
    assert!(
        sentence("a,b\n1,2\n\"x\"y,2\n")
            .contains("row 2 (line 3), column 'a' has text after the closing quote of 'x'")
    );
    assert!(sentence("a,b\n1,\"x\n").contains("row 1 (line 2) has a quote that is never closed"));
}

#[test]
fn memory_has_a_limit() {
    let rows = "1.5,2.5\n".repeat(100_000);
    let small = ReadOptions { memory: Some(100_000), ..options() };
    fails(&format!("a,b\n{rows}"), &small, &["MB that may be used"]);
    let large = ReadOptions { memory: Some(1_000_000), ..options() };
    assert_eq!(read(&format!("a,b\n{rows}"), &large).unwrap().rows, 100_000);
    assert!(read(&long(&["a", "b"]), &small).is_ok());
}

/// A few cells may leave open what those of the fit did not.
#[test]
fn dates_and_commas_are_read_as_in_the_fit() {
    let cells = |text: &str, of: ColumnType| {
        let select = Select::Named { names: vec!["c".into()], named: true, types: vec![of] };
        read(text, &ReadOptions { select, ..options() }).unwrap().x
    };
    assert_eq!(cells("c,d\n01/02/2024,1\n", ColumnType::Date { day_first: true }), [8797.0]);
    assert_eq!(cells("c,d\n01/02/2024,1\n", ColumnType::Date { day_first: false }), [8767.0]);
    assert_eq!(cells("c;d\n3,125;1\n2,250;2\n7;3\n", ColumnType::DecimalComma), [3.125, 2.25, 7.0]);
    assert_eq!(cells("c;d\n3,125;1\n2,250;2\n7;3\n", ColumnType::Number), [3125.0, 2250.0, 7.0]);
    let fitted = read("c;y\n1,5;2\n2,125;3\n", &options()).unwrap();
    assert_eq!(
        (fitted.types[0].clone(), &fitted.x[..]),
        (ColumnType::DecimalComma, &[1.5, 2.0, 2.125, 3.0][..])
    );
}

#[test]
fn words_for_gaps_in_a_text_target() {
    let text = format!("x,y\n{}", "1,yes\n2,NA\n3,no\n".repeat(10));
    let options = ReadOptions { target: Some("y".into()), ..ReadOptions::default() };
    let table = read_from(text.as_bytes(), "t.csv", &options).unwrap();
    assert_eq!(table.rows, 30);
    let note = "the target holds 'NA' in 10 rows, which is taken for a class";
    assert!(table.notes.iter().any(|n| n.starts_with(note)), "{:?}", table.notes);
    let options = ReadOptions { drop_missing_target: true, ..options };
    let table = read_from(text.as_bytes(), "t.csv", &options).unwrap();
    let Some(Column::Text { levels, codes }) = &table.target else { panic!("{:?}", table.target) };
    assert_eq!((levels.as_slice(), codes.len()), (&["no".to_string(), "yes".to_string()][..], 20));
    assert_eq!(table.notes, ["10 rows without a target are dropped"]);
}
