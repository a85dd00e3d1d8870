//! Tiny files in each format the publishers use.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use rffnet_data::{Column, Simulated, Table};
use tempfile::TempDir;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::{FOLDS, Real};

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn bz2(bytes: &[u8]) -> Vec<u8> {
    let mut out = BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        out.start_file(*name, SimpleFileOptions::default()).unwrap();
        out.write_all(bytes).unwrap();
    }
    out.finish().unwrap().into_inner()
}

fn tar(member: &str, bytes: &[u8]) -> Vec<u8> {
    let mut out = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    out.append_data(&mut header, member, bytes).unwrap();
    out.into_inner().unwrap()
}

fn find(name: &'static str, files: &[(&str, &[u8])]) -> Result<Real, String> {
    let folder = TempDir::new().unwrap();
    for (file, bytes) in files {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        File::create(path).unwrap().write_all(bytes).unwrap();
    }
    Real::find(name, Some(folder.path()))
}

fn numbers(table: &Table) -> Vec<f64> {
    match &table.target {
        Some(Column::Numbers(y)) => y.clone(),
        other => panic!("{other:?}"),
    }
}

/// Rows, columns, the first row, the target.
fn contents(real: &Real) -> (usize, usize, Vec<f32>, Vec<f64>) {
    (real.table.rows, real.table.columns(), real.table.row(0).to_vec(), numbers(&real.table))
}

#[test]
fn libsvm_plain_gz_and_bz2() {
    let text = b"9 1:1 3:0.5\n7 8:2\n";
    let expected = (2, 8, vec![1.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0], vec![9.0, 7.0]);
    for (file, bytes) in [
        ("abalone", text.to_vec()),
        ("abalone.libsvm.gz", gz(text)),
        ("abalone.bz2", bz2(text)),
        ("abalone/abalone", text.to_vec()),
    ] {
        assert_eq!(contents(&find("abalone", &[(file, &bytes)]).unwrap()), expected, "{file}");
    }
}

#[test]
fn two_files_are_stacked_and_one_is_said() {
    let both = find("a9a", &[("a9a", b"-1 1:1\n+1 2:1\n"), ("a9a.t", b"-1 122:1\n")]).unwrap();
    assert_eq!((both.table.rows, both.table.columns(), both.note.clone()), (3, 123, None));
    assert_eq!(numbers(&both.table), [-1.0, 1.0, -1.0]);
    let one = find("w8a", &[("w8a.libsvm.gz", &gz(b"-1 300:1\n+1 2:1\n"))]).unwrap();
    assert_eq!((one.table.rows, one.table.columns()), (2, 300));
    assert_eq!(one.note.as_deref(), Some("w8a.t is missing, so only w8a is used"));
    let msd = find(
        "yearprediction",
        &[
            ("YearPredictionMSD.bz2", &bz2(b"2001 1:1\n1999 90:1\n")),
            ("YearPredictionMSD.t.bz2", &bz2(b"1950 1:3\n")),
        ],
    );
    assert_eq!(contents(&msd.unwrap()).3, [2001.0, 1999.0, 1950.0]);
}

#[test]
fn the_archive_of_compact() {
    let row = |y: usize| (1..=21).map(|j| j.to_string()).collect::<Vec<_>>().join(",") + &format!(",{y}\n");
    let data = row(90) + &row(80);
    let archive = gz(&tar("ComputerActivity/cpu_act.data", data.as_bytes()));
    let real = find("compact", &[("compact.tar.gz", &archive)]).unwrap();
    let (rows, columns, first, y) = contents(&real);
    assert_eq!((rows, columns, first[20], y), (2, 21, 21.0, vec![90.0, 80.0]));
    let why = find("compact", &[("compact.tar.gz", &gz(&tar("other", b"1")))]).err().unwrap();
    assert!(why.contains("has no 'cpu_act.data' in it"), "{why}");
    let why = find("compact", &[("compact.tar.gz", b"not an archive")]).err().unwrap();
    assert!(why.starts_with("compact is skipped: cannot read"), "{why}");
}

#[test]
fn zips_of_uci() {
    let text = b"2001,1,2,3\n1999,4,5,6\n";
    let real = find("yearprediction", &[("yearpredictionmsd.zip", &zip(&[("YearPredictionMSD.txt", text)]))]);
    assert_eq!(contents(&real.unwrap()), (2, 3, vec![1.0, 2.0, 3.0], vec![2001.0, 1999.0]));

    let sheet = |pe: &str| {
        format!(
            "<worksheet><sheetData><row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c></row><row r=\"2\"><c r=\"A2\"><v>14.96</v></c>\
             <c r=\"B2\"><v>41.76</v></c><c r=\"C2\"><v>1024.07</v></c><c r=\"D2\"><v>73.17</v></c><c r=\"E2\"><v>{pe}</v></c>\
             </row></sheetData></worksheet>"
        )
    };
    let (one, two) = (sheet("463.26"), sheet("444.37"));
    let book =
        zip(&[("xl/worksheets/sheet1.xml", one.as_bytes()), ("xl/worksheets/sheet2.xml", two.as_bytes())]);
    let archive = zip(&[("CCPP/Folds5x2_pp.xlsx", &book), ("CCPP/Readme.txt", b"x")]);
    let real = find("powerplant", &[("combined+cycle+power+plant.zip", &archive)]).unwrap();
    assert_eq!(contents(&real), (2, 4, vec![14.96, 41.76, 1024.07, 73.17], vec![463.26, 444.37]));
    let why = find("powerplant", &[("CCPP.zip", &archive[..archive.len() / 2])]).err().unwrap();
    assert!(why.starts_with("powerplant is skipped: cannot read"), "{why}");
}

#[test]
fn higgs_and_prepared_files() {
    let real = find("higgs", &[("HIGGS.csv.gz", &gz(b"1.0,0.5,0.25\n0.0,2,3\n"))]).unwrap();
    assert_eq!(contents(&real), (2, 2, vec![0.5, 0.25], vec![1.0, 0.0]));
    let csv = gz(b"a,b,target\n1,2,3\n4,5,6\n");
    let real = find("higgs", &[("higgs.csv.gz", &csv)]).unwrap();
    assert_eq!(
        (contents(&real), real.table.names[0].as_str()),
        ((2, 2, vec![1.0, 2.0], vec![3.0, 6.0]), "a")
    );
    let parts: [(&str, &[u8]); 2] =
        [("yearprediction_5k_train.csv.gz", &csv), ("yearprediction_2k_test.csv.gz", &csv)];
    assert_eq!(contents(&find("yearprediction", &parts).unwrap()).0, 4);
    let why = find("compact", &[("compact.csv", b"a,b\n1,2\n")]).err().unwrap();
    assert!(why.contains("target"), "{why}");
}

#[test]
fn reviews_from_a_file_or_a_zip() {
    let text = "Id,ProductId,UserId,ProfileName,HelpfulnessNumerator,HelpfulnessDenominator,Score,Time,Summary,Text\n\
                1,p,u,n,0,0,5,1,s,good food\n2,p,v,n,0,0,1,1,s,bad food\n";
    for (file, bytes) in [
        ("Reviews.csv", text.as_bytes().to_vec()),
        ("amazon_8550.csv.gz", gz(text.as_bytes())),
        ("archive.zip", zip(&[("Reviews.csv", text.as_bytes())])),
    ] {
        let real = find("amazon", &[(file, &bytes)]).unwrap();
        assert_eq!(
            (real.table.names.clone(), numbers(&real.table)),
            (["bad", "food", "good"].map(String::from).to_vec(), vec![1.0, 0.0])
        );
    }
}

#[test]
fn rows_reach_another_process_as_they_are() {
    let real = find("a9a", &[("a9a", b"-1 1:1\n+1 2:1\n-1 3:1\n"), ("a9a.t", b"+1 122:1\n")]).unwrap();
    let source = real.source(vec![2, 1]).unwrap();
    let other = real.source(vec![0, 3]).unwrap();
    let (train, test) = rffnet_compare::read_pair(&source, &other).unwrap();
    assert_eq!((train.table.rows, test.table.rows), (2, 2));
    assert_eq!(train.table.x[..3], real.table.row(2)[..3]);
    let rffnet::OwnedTarget::Labels { codes, classes } = train.target else { panic!("classes") };
    assert_eq!((codes, classes), (vec![0, 1], vec!["-1".to_string(), "1".to_string()]));
}

#[test]
fn folds_hold_every_row_once() {
    let real = Real::new("abalone", Simulated::Jse3.generate(103, 1), None);
    let mut seen = vec![0; 103];
    for fold in 0..FOLDS {
        let (train, test) = real.fold(fold, 7);
        assert_eq!(train.len() + test.len(), 103);
        assert!(test.iter().all(|row| !train.contains(row)));
        test.iter().for_each(|&row| seen[row] += 1);
    }
    assert!(seen.iter().all(|&n| n == 1));
    // A seed is a promise: this order never changes.
    let ten = Real::new("abalone", Simulated::Jse3.generate(10, 1), None);
    assert_eq!(ten.fold(0, 7), (vec![9, 3, 6, 0, 4, 5, 2, 8, 1], vec![7]));
    assert_ne!(real.fold(3, 7), real.fold(3, 8));
}

#[test]
fn other_rows_have_another_fingerprint() {
    let print = |seed| Real::new("abalone", Simulated::Jse3.generate(10, seed), None).fingerprint;
    assert_eq!(print(1), print(1));
    assert_ne!(print(1), print(2));
}

#[test]
fn a_missing_set_is_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let sentence = |folder| Real::find("higgs", folder).err().unwrap();
    assert!(sentence(None).contains("--data-dir") && sentence(None).contains("HIGGS.csv.gz"));
    assert!(sentence(Some(folder.path())).contains("archive.ics.uci.edu"));
    assert!(sentence(Some(Path::new("no such folder"))).contains("there is no folder"));
}
