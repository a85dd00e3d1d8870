//! LIBSVM, `.npy`, gzip, opening files, and telling formats apart.

#![allow(clippy::unwrap_used)]

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use rffnet_data::{Format, ReadOptions, Table, read, read_from};

fn options() -> ReadOptions {
    ReadOptions::default()
}

#[track_caller]
fn fails_with(bytes: impl AsRef<[u8]>, source: &str, options: &ReadOptions, parts: &[&str]) {
    let message = read_from(bytes.as_ref(), source, options).unwrap_err().to_string();
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    assert!(message.starts_with(source) && !message.contains('\n'), "{message:?}");
}

fn numbers(table: &Table) -> &[f64] {
    table.target.as_ref().unwrap().numbers().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

mod libsvm {
    use super::*;

    #[track_caller]
    fn fails(text: impl AsRef<[u8]>, options: &ReadOptions, parts: &[&str]) {
        fails_with(text, "t.svm", options, parts);
    }

    #[test]
    fn rows_become_dense() {
        let text = "# heading\n+1 2:0.5 4:-3 # note\n\n-1\r\n2.5 1:7\n";
        let table = read_from(text.as_bytes(), "t.svm", &options()).unwrap();
        assert_eq!(table.names, ["1", "2", "3", "4"]);
        assert_eq!(table.x, [0.0, 0.5, 0.0, -3.0, 0.0, 0.0, 0.0, 0.0, 7.0, 0.0, 0.0, 0.0]);
        assert_eq!(numbers(&table), [1.0, -1.0, 2.5]);
        assert_eq!((table.has_names, table.target_name.as_deref()), (false, Some("label")));
    }

    #[test]
    fn width() {
        let wide = ReadOptions { columns: Some(6), ..options() };
        assert_eq!(read_from(&b"1 2:1\n"[..], "t.svm", &wide).unwrap().x, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        fails("1 2:1\n0 7:1\n", &wide, &["line 2 has index 7, beyond the 6 of --columns"]);
        fails("1\n2\n", &options(), &["no input column"]);
        fails("1 1:1\n", &ReadOptions { columns: Some(0), ..options() }, &["--columns is 0"]);
        fails(
            "1 900000000:1\n",
            &options(),
            &["index 900,000,000 (line 1)", "1 row x 900,000,000 columns", "3,600 MB"],
        );
        let tall = "0 1:1\n".repeat(2000) + "1 1000000:1\n";
        fails(&tall, &options(), &["8,004 MB"]);
    }

    #[test]
    fn lines_that_are_wrong() {
        fails("1 0:5\n", &options(), &["row 1 (line 1): '0:5' has index 0", "from 1"]);
        fails("1 1:5\n\n1 3:1 2:1\n", &options(), &["row 2 (line 3): index 2 comes after a larger one"]);
        fails("1 3:1 3:1\n", &options(), &["index 3 occurs twice"]);
        fails("1 1:1 5\n", &options(), &["'5' has no colon"]);
        fails("1 qid:3 1:1\n", &options(), &["'qid:3' is a query id"]);
        fails("1 x:1\n", &options(), &["no whole number before the colon"]);
        fails("1 99999999999:1\n", &options(), &["beyond 4,294,967,295"]);
        fails("1:5 2:3\n", &options(), &["starts with '1:5' and so has no label"]);
        fails("cat 1:3\n", &options(), &["target column 'label' holds 'cat'"]);
        fails("nan 1:3\n", &options(), &["target column 'label' is missing"]);
        fails("1 1:x\n", &options(), &["column '1' holds 'x'"]);
        fails("1 1:inf\n", &options(), &["column '1' is infinite"]);
        fails("1 1:1e39\n", &options(), &["column '1' holds 1e39"]);
        fails("1 1:\n", &options(), &["column '1' is empty"]);
        fails("", &options(), &["no rows"]);
        fails(b"1 1:2\n1 \xFF:2\n", &options(), &["line 2 is not UTF-8"]);
        fails(b"1 1:2\n\0", &options(), &["byte 7 is NUL"]);
    }

    #[test]
    fn the_label_is_the_target() {
        fails(
            "1 1:5 2:3\n",
            &ReadOptions { target: Some("2".into()), ..options() },
            &["the label is the target"],
        );
        let asked = ReadOptions { target: Some("label".into()), ..options() };
        assert_eq!(numbers(&read_from(&b"3 1:5\n"[..], "t.svm", &asked).unwrap()), [3.0]);
    }

    #[test]
    fn weights_missing_and_ignored_columns() {
        let asked =
            ReadOptions { weight: Some("2".into()), ignore: vec!["1".into()], missing: true, ..options() };
        let table = read_from(&b"3 1:5 2:0.5 3:nan\n4 3:1\n"[..], "t.svm", &asked).unwrap();
        assert_eq!((table.names.join(" "), table.weight), ("3".to_string(), Some(vec![0.5, 0.0])));
        assert!(table.x[0].is_nan() && table.x[1] == 1.0);
        fails("3 1:5 2:-1 3:1\n", &asked, &["weight column '2' is -1"]);
    }
}

mod npy {
    use super::*;

    fn file(header: &str, version: u8, data: &[u8]) -> Vec<u8> {
        let mut out = b"\x93NUMPY".to_vec();
        out.extend([version, 0]);
        match version {
            1 => out.extend((header.len() as u16).to_le_bytes()),
            _ => out.extend((header.len() as u32).to_le_bytes()),
        }
        out.extend(header.as_bytes());
        out.extend(data);
        out
    }

    fn header(descr: &str, fortran: bool, shape: &str) -> String {
        let order = if fortran { "True" } else { "False" };
        format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n")
    }

    fn array(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
        file(&header(descr, fortran, shape), 1, data)
    }

    #[track_caller]
    fn fails(bytes: impl AsRef<[u8]>, parts: &[&str]) {
        fails_with(bytes, "t.npy", &options(), parts);
    }

    /// 2 x 3: rows 1 2 3 and 4 5 6, the last column being the target.
    #[track_caller]
    fn is_the_table(bytes: &[u8]) {
        let table = read_from(bytes, "t.npy", &options()).unwrap();
        assert_eq!((table.names.join(" "), table.rows, table.has_names), ("x1 x2".to_string(), 2, false));
        assert_eq!(table.x, [1.0, 2.0, 4.0, 5.0]);
        assert_eq!((numbers(&table), table.target_name.as_deref()), (&[3.0, 6.0][..], Some("x3")));
    }

    #[test]
    fn every_type_order_and_version() {
        macro_rules! check {
            ($type:ty, $name:literal) => {
                for fortran in [false, true] {
                    let order: [$type; 6] = if fortran {
                        [1, 4, 2, 5, 3, 6].map(|v| v as $type)
                    } else {
                        [1, 2, 3, 4, 5, 6].map(|v| v as $type)
                    };
                    let little: Vec<u8> = order.iter().flat_map(|v| v.to_le_bytes()).collect();
                    let big: Vec<u8> = order.iter().flat_map(|v| v.to_be_bytes()).collect();
                    is_the_table(&array(concat!("<", $name), fortran, "(2, 3)", &little));
                    is_the_table(&array(concat!(">", $name), fortran, "(2, 3)", &big));
                    for version in [2, 3] {
                        is_the_table(&file(
                            &header(concat!("<", $name), fortran, "(2, 3)"),
                            version,
                            &little,
                        ));
                    }
                }
            };
        }
        check!(f32, "f4");
        check!(f64, "f8");
        check!(i8, "i1");
        check!(i16, "i2");
        check!(i32, "i4");
        check!(i64, "i8");
        check!(u8, "u1");
        check!(u16, "u2");
        check!(u32, "u4");
        check!(u64, "u8");
        let halves: Vec<u8> = [0x3C00_u16, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600]
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        is_the_table(&array("<f2", false, "(2, 3)", &halves));
        let table =
            read_from(&array("|b1", false, "(2, 2)", &[0, 1, 1, 0])[..], "t.npy", &options()).unwrap();
        assert_eq!((table.x, table.target.unwrap().is_classification()), (vec![0.0, 1.0], true));
    }

    #[test]
    fn arrays_that_are_not_tables() {
        fails(array("<f4", false, "(6,)", &[0; 24]), &["the array has 1 dimension", "reshape"]);
        fails(array("<f4", false, "(1, 2, 3)", &[0; 24]), &["3 dimensions"]);
        fails(array("<f4", false, "(0, 3)", &[]), &["0 x 3", "no values"]);
        fails(array("<f4", false, "(3, 1)", &[0; 12]), &["no input column is left"]);
        fails(array("|O", false, "(1, 2)", b"pickle"), &["Python objects, which are code"]);
        fails(array("<U3", false, "(1, 2)", &[]), &["'<U3' is not a real number type"]);
        fails(
            file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }", 1, &[]),
            &["structured"],
        );
    }

    #[test]
    fn types_are_refused() {
        let asked = ReadOptions { categorical: vec!["x1".into()], ..options() };
        let bytes = array("<f4", false, "(2, 3)", &[0; 24]);
        fails_with(bytes, "t.npy", &asked, &[".npy files hold nothing but numbers; leave out --categorical"]);
        fails_with("1 1:2\n", "t.svm", &asked, &["LIBSVM files hold nothing but numbers"]);
        let keep = ReadOptions { keep: vec!["1".into()], ..options() };
        fails_with("1 1:2\n", "t.svm", &keep, &["leave out --keep"]);
    }

    #[test]
    fn files_that_are_damaged() {
        fails(array("<f4", false, "(2, 3)", &[0; 20]), &["promises 6 values and 5 are there", "cut short"]);
        fails(array("<f4", true, "(2, 3)", &[0; 20]), &["promises 6 values and 5 are there"]);
        fails(array("<f8", false, "(4294967296, 1000000)", &[0; 20]), &["values and 2 are there"]);
        fails(array("<f8", true, "(4294967296, 1000000)", &[0; 20]), &["values and 2 are there"]);
        fails(array("<f8", false, "(18446744073709551615, 1000)", &[]), &["more than can exist"]);
        fails(array("<f8", false, "(99999999999999999999, 1)", &[]), &["header is damaged"]);
        fails(array("<f8", false, "(1, 5000000)", &[]), &["5,000,000 columns", "transposed"]);
        fails(b"\x93NUMPY", &["ends within the .npy header"]);
        fails(b"\x93NUMPY\x01\0\xFF\xFF{", &["ends within the .npy header"]);
        fails(b"\x93NUMPY\x02\0\xFF\xFF\xFF\xFF{", &["claims 4,294,967,295 bytes"]);
        fails(b"\x93NUMPY\x09\0\0\0", &["version 9 is not known"]);
        fails(b"a,b\n1,2\n3,4\n", &["not a .npy file"]);
    }

    #[test]
    fn values_that_cannot_be_kept() {
        let with = |v: f64| {
            let values = [1.0, v, 3.0, 4.0, 5.0, 6.0];
            array("<f8", false, "(2, 3)", &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
        };
        fails(with(f64::NAN), &["row 1, column 'x2' is missing ('NaN')", "--missing mean"]);
        fails(with(f64::INFINITY), &["row 1, column 'x2' is infinite"]);
        fails(with(1e39), &["row 1, column 'x2' holds 1", "3.4e38"]);
        let missing = ReadOptions { missing: true, ..options() };
        assert!(read_from(&with(f64::NAN)[..], "t.npy", &missing).unwrap().x[1].is_nan());
        let weighted = ReadOptions { weight: Some("x2".into()), ..options() };
        fails_with(with(-2.0), "t.npy", &weighted, &["row 1, weight column 'x2' is -2"]);
        fails_with(with(f64::NAN), "t.npy", &weighted, &["weight column 'x2' is missing"]);
    }
}

mod opening {
    use super::*;

    #[test]
    fn gzip_with_one_member_or_more() {
        let plain = read_from(&b"a,b\n1,2\n3,4\n"[..], "t.csv", &options()).unwrap();
        for name in ["t.csv.gz", "t.csv", "standard input"] {
            let mut packed = gzip(b"a,b\n1,2\n");
            packed.extend(gzip(b"3,4\n"));
            let table = read_from(&packed[..], name, &options()).unwrap();
            assert_eq!(table.x, plain.x);
        }
        assert_eq!(read_from(&gzip(b"1 1:2\n")[..], "t.libsvm.gz", &options()).unwrap().x, [2.0]);
    }

    #[test]
    fn damaged_gzip() {
        let packed = gzip("a,b\n1.25,2\n".repeat(1000).as_bytes());
        fails_with(
            &packed[..packed.len() / 2],
            "t.csv.gz",
            &options(),
            &["gzip data is damaged or cut short"],
        );
        let mut flipped = packed.clone();
        let end = flipped.len();
        flipped[end - 6] ^= 1;
        fails_with(&flipped, "t.csv.gz", &ReadOptions { ignore: vec!["1".into()], ..options() }, &[]);
        fails_with(gzip(&gzip(b"a,b\n1,2\n")), "t.csv.gz", &options(), &["compressed twice"]);
    }

    #[test]
    fn formats_are_told_apart() {
        let is = |bytes: &[u8], name: &str| read_from(bytes, name, &options()).unwrap().names.join(" ");
        assert_eq!(is(b"1 2:5\n0 3:1\n", "a9a"), "1 2 3");
        assert_eq!(is(b"1 2:5\n0 3:1\n", "a9a.txt"), "1 2 3");
        assert_eq!(is(b"a,b\n1,2\n", "standard input"), "a b");
        let asked = ReadOptions { format: Some(Format::Libsvm), ..options() };
        fails_with("a,b\n1,2\n", "t.csv", &asked, &["target column 'label' holds 'a,b'"]);
        fails_with("PAR1....", "t.parquet", &options(), &["the Parquet file is damaged (it ends too early)"]);
        fails_with("anything", "t.parquet", &options(), &["this is not a Parquet file"]);
        fails_with(b"PK\x03\x04xyz", "t.xlsx", &options(), &["zip archive"]);
        fails_with(b"\x28\xB5\x2F\xFDxyz", "t.csv", &options(), &["zstd data is damaged"]);
    }

    #[test]
    fn files_that_cannot_be_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
        std::fs::write(path("train.csv"), "a,b\n1,2\n").unwrap();
        let say = |name: &str| read(&path(name), &options()).unwrap_err().to_string();
        let message = say("trian.csv");
        assert!(message.starts_with("there is no file '") && message.contains("did you mean '"), "{message}");
        assert!(message.contains("train.csv'?"), "{message}");
        assert!(say("other").ends_with("check the path"));
        assert!(say("").contains("is a directory"));
        assert_eq!(read(&path("train.csv"), &options()).unwrap().source, path("train.csv"));
        assert!(read("a\0b", &options()).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn files_that_may_not_be_read() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o000)).unwrap();
        // The superuser may read anything.
        if std::fs::File::open(file.path()).is_err() {
            let message = read(file.path().to_str().unwrap(), &options()).unwrap_err().to_string();
            assert!(message.contains("may not be read"), "{message}");
        }
    }

    /// A source that fails in the middle.
    struct Broken(usize);

    impl std::io::Read for Broken {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            if self.0 == 0 {
                return Err(std::io::Error::other("disk on fire"));
            }
            self.0 -= 1;
            out[..4].copy_from_slice(b"1,2\n");
            Ok(4)
        }
    }

    #[test]
    fn sources_that_fail() {
        let message = read_from(Broken(100), "t.csv", &options()).unwrap_err().to_string();
        assert_eq!(message, "t.csv could not be read (disk on fire); check the file and the disk");
    }
}
