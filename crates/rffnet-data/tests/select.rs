//! Reading the columns that a fitted model expects.

#![allow(clippy::unwrap_used)]

use rffnet_data::{DataError, ReadOptions, Select, Table, read_from, write_npy};

fn model(names: &[&str], named: bool) -> ReadOptions {
    let names = names.iter().map(|n| n.to_string()).collect();
    ReadOptions { select: Select::Named { names, named, types: Vec::new() }, ..ReadOptions::default() }
}

fn with_target(options: ReadOptions, target: &str) -> ReadOptions {
    ReadOptions { target: Some(target.into()), ..options }
}

fn read(text: &str, options: &ReadOptions) -> Result<Table, DataError> {
    read_from(text.as_bytes(), "new.csv", options)
}

#[track_caller]
fn fails(text: &str, options: &ReadOptions, parts: &[&str]) {
    let message = read(text, options).unwrap_err().to_string();
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

fn target(table: &Table) -> Option<&[f64]> {
    table.target.as_ref().map(|t| t.numbers().unwrap())
}

#[test]
fn by_name_in_the_models_order() {
    let table = read("b,extra,a,y\n2,text,1,9\n", &model(&["a", "b"], true)).unwrap();
    assert_eq!((table.x.as_slice(), target(&table)), (&[1.0, 2.0][..], None));
    assert_eq!(table.names, ["a", "b"]);
    let table = read("b,extra,a,y\n2,text,1,9\n", &with_target(model(&["a", "b"], true), "y")).unwrap();
    assert_eq!(target(&table), Some(&[9.0][..]));
}

#[test]
fn absent_columns_are_named() {
    fails(
        "a,incom,y\n1,2,3\n",
        &model(&["a", "income", "b"], true),
        &[
            "2 of the model's 3 columns are absent: 'income' and 'b'",
            "the nearest names in the file are 'incom'",
        ],
    );
    fails(
        "p,q\n1,2\n",
        &model(&["alpha"], true),
        &["1 of the model's 1 column is absent", "the file has 'p' and 'q'"],
    );
    fails("a,b\n1,2\n", &with_target(model(&["a"], true), "y"), &["there is no column 'y' for --target"]);
    fails(
        "a,b\n1,2\n",
        &with_target(model(&["a"], true), "a"),
        &["'a' is one of the model's inputs", "--target"],
    );
}

#[test]
fn by_position_without_names() {
    let two = model(&["a", "b"], true);
    let table = read("1,2\n3,4\n", &two).unwrap();
    assert_eq!((table.x.as_slice(), target(&table)), (&[1.0, 2.0, 3.0, 4.0][..], None));
    // Which of three columns is the target is not known.
    fails("1,2,9\n3,4,8\n", &two, &["the model needs 2 input columns, and there are 3 here"]);
    let table = read("1,2,9\n3,4,8\n", &with_target(two.clone(), "3")).unwrap();
    assert_eq!((table.x.as_slice(), target(&table)), (&[1.0, 2.0, 3.0, 4.0][..], Some(&[9.0, 8.0][..])));
    let table = read("9,1,2\n8,3,4\n", &with_target(model(&["a", "b"], true), "1")).unwrap();
    assert_eq!((table.x.as_slice(), target(&table)), (&[1.0, 2.0, 3.0, 4.0][..], Some(&[9.0, 8.0][..])));
    fails("1\n2\n", &two, &["the model needs 2 input columns, and there is 1 here", "the file has no names"]);
    fails("1,2,3,4\n", &two, &["there are 4 here"]);
}

#[test]
fn made_up_names_keep_their_place() {
    // Fitted on a file whose first column was the target.
    let options = model(&["x2", "x3"], false);
    let table = read("9,1,2\n", &options).unwrap();
    assert_eq!((table.x.as_slice(), target(&table)), (&[1.0, 2.0][..], Some(&[9.0][..])));
    assert_eq!(read("1,2\n", &options).unwrap().x, [1.0, 2.0]);
    // A header on one side only: position, or the same names by chance.
    assert_eq!(read("a,b\n1,2\n", &options).unwrap().x, [1.0, 2.0]);
    assert_eq!(read("x3,x2\n1,2\n", &options).unwrap().x, [2.0, 1.0]);
    fails("a,b,c,d\n1,2,3,4\n", &model(&["x1", "x9"], false), &["the model has no names"]);
}

#[test]
fn libsvm_and_npy() {
    let svm = |text: &str, options: &ReadOptions| read_from(text.as_bytes(), "new.svm", options).unwrap();
    let table = svm("1 2:5 9:1\n0 1:1\n", &model(&["1", "2", "3"], false));
    assert_eq!(
        (table.x.as_slice(), target(&table)),
        (&[0.0, 5.0, 0.0, 1.0, 0.0, 0.0][..], Some(&[1.0, 0.0][..]))
    );
    assert_eq!(svm("1 2:5 3:1\n", &model(&["1", "3"], false)).x, [0.0, 1.0]);
    assert_eq!(svm("1 2:5\n", &model(&["a", "b"], true)).x, [0.0, 5.0]);

    let mut npy = Vec::new();
    write_npy(&read("1,2,9\n3,4,8\n", &ReadOptions::default()).unwrap(), &mut npy).unwrap();
    let table = read_from(&npy[..], "new.npy", &model(&["x1", "x2"], false)).unwrap();
    assert_eq!((table.x.as_slice(), target(&table)), (&[1.0, 2.0, 3.0, 4.0][..], Some(&[9.0, 8.0][..])));
    let table = read_from(&npy[..], "new.npy", &model(&["x1", "x2", "x3"], false)).unwrap();
    assert_eq!((table.x.as_slice(), target(&table)), (&[1.0, 2.0, 9.0, 3.0, 4.0, 8.0][..], None));
}
