//! Hundreds of thousands of damaged files: whatever the bytes, a reader returns a sound table or a sentence,
//! and never asks for memory out of proportion.

#![allow(clippy::unwrap_used)]

mod common;

use std::io::Write;

use common::{Chance, largest_request};
use flate2::Compression;
use flate2::write::GzEncoder;
use rffnet_data::{Column, ReadOptions, Select, Simulated, Table, Task, read_from, write};

const CASES: u64 = 100_000;
const LARGEST_ALLOCATION: usize = 256 << 20;

fn any_damaged(valid: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = valid[chance.below(valid.len())].clone();
    damage(&mut bytes, chance);
    bytes
}

fn damage(bytes: &mut Vec<u8>, chance: &mut Chance) {
    const TEXTS: &[&[u8]] = &[
        b",",
        b"\n",
        b"\"",
        b";",
        b"\t",
        b":",
        b"#",
        b" ",
        b"nan",
        b"inf",
        b"1e39",
        b"-",
        b"",
        b"\r",
        b"\0",
        b"\xC3",
        b"0:",
        b"qid:",
        b"99999999",
        b"4294967296",
        b"1e400",
        b"(",
        b"'",
        b"True",
        b">f8",
        b"\xEF\xBB\xBF",
        b"?",
    ];
    for _ in 0..1 + chance.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = chance.below(bytes.len());
        match chance.below(9) {
            0 => bytes[at] ^= 1 << chance.below(8),
            1 => bytes[at] = chance.next() as u8,
            2 => bytes.truncate(at),
            3 => {
                let text = TEXTS[chance.below(TEXTS.len())];
                bytes.splice(at..at, text.iter().copied());
            }
            4 => {
                let end = at + chance.below(bytes.len() - at) + 1;
                let slice = bytes[at..end].to_vec();
                let to = chance.below(bytes.len());
                bytes.splice(to..to, slice);
            }
            5 => {
                let end = (at + 1 + chance.below(16)).min(bytes.len());
                bytes.drain(at..end);
            }
            6 => {
                let random: Vec<u8> = (0..chance.below(24)).map(|_| chance.next() as u8).collect();
                bytes.splice(at..at, random);
            }
            // Inflates a number: another index, exponent, length or shape.
            7 => {
                if let Some(digit) = bytes[at..].iter().position(u8::is_ascii_digit) {
                    let digits: Vec<u8> =
                        (0..1 + chance.below(12)).map(|_| b'0' + chance.below(10) as u8).collect();
                    bytes.splice(at + digit..at + digit, digits);
                }
            }
            _ => {
                let to = chance.below(bytes.len());
                bytes.swap(at, to);
            }
        }
    }
}

fn options(chance: &mut Chance) -> ReadOptions {
    let mut options = ReadOptions { missing: chance.below(2) == 0, ..ReadOptions::default() };
    match chance.below(6) {
        0 => options.target = Some("y".into()),
        1 => options.target = Some("2".into()),
        2 => {
            let names = ["x1", "x2", "x3"].map(String::from).to_vec();
            options.select = Select::Named { names, named: chance.below(2) == 0, types: Vec::new() };
        }
        3 => options.header = Some(chance.below(2) == 0),
        4 => options.weight = Some("3".into()),
        _ => {}
    }
    options
}

fn is_sound(table: &Table, missing: bool) -> bool {
    let target = table.target.as_ref().is_none_or(|target| {
        let codes_fit = match target {
            Column::Numbers(values) => values.iter().all(|v| v.is_finite()),
            Column::Text { levels, codes } => codes.iter().all(|&code| (code as usize) < levels.len()),
        };
        codes_fit && target.len() == table.rows
    });
    let weight = table.weight.as_ref().is_none_or(|w| {
        w.len() == table.rows && w.iter().all(|w| w.is_finite() && *w >= 0.0) && w.iter().any(|w| *w > 0.0)
    });
    table.rows > 0
        && !table.names.is_empty()
        && table.x.len() == table.rows * table.names.len()
        && table.x.iter().all(|v| v.is_finite() || (missing && v.is_nan()))
        && target
        && weight
}

fn run(name: &str, seed: u64, damaged: impl Fn(&mut Chance) -> Vec<u8>) {
    let mut chance = Chance(seed);
    let (mut tables, mut sentences) = (0, 0);
    for case in 0..CASES {
        let bytes = damaged(&mut chance);
        let options = options(&mut chance);
        match read_from(&bytes[..], name, &options) {
            Ok(table) => {
                assert!(is_sound(&table, options.missing), "case {case} of {name}: {table:?} from {bytes:?}");
                if let Some(target) = &table.target {
                    let _ = (
                        target.is_classification(),
                        target.to_target(Task::Classification),
                        target.numbers(),
                    );
                }
                tables += 1;
            }
            Err(error) => {
                let sentence = error.to_string();
                let one_line =
                    !sentence.is_empty() && !sentence.contains(char::is_control) && sentence.len() < 2000;
                assert!(one_line, "case {case} of {name}: {sentence:?}");
                sentences += 1;
            }
        }
        let largest = largest_request();
        assert!(largest < LARGEST_ALLOCATION, "case {case} of {name}: {largest} bytes at once for {bytes:?}");
    }
    // Both outcomes must be common, or the damage is too light or too heavy to test anything.
    assert!(tables > CASES / 50 && sentences > CASES / 50, "{name}: {tables} tables, {sentences} sentences");
}

fn written(name: &str) -> Vec<Vec<u8>> {
    let mut text = Simulated::Jse3.generate(5, 2);
    text.names.truncate(3);
    text.x.truncate(15);
    let mut all = vec![text.clone()];
    if name.contains(".csv") {
        text.target =
            Some(Column::Text { levels: vec!["a b".into(), "c,d".into()], codes: vec![0, 1, 1, 0, 1] });
        all.push(text.clone());
        text.names[0] = "say \"x\"".into();
        text.x[4] = f32::NAN;
        all.push(text);
    }
    all.push(Simulated::Moons.generate(6, 1));
    let bytes = |table: &Table| {
        let mut out = Vec::new();
        write(table, name, &mut out).unwrap();
        out
    };
    all.iter().map(bytes).collect()
}

#[test]
fn damaged_csv() {
    let mut valid = written("t.csv");
    valid.push(b"1.5;2;3\r\n4;5;6\r\n\r\n7;8;9".to_vec());
    run("t.csv", 0x9E37_79B9_7F4A_7C15, |chance| any_damaged(&valid, chance));
}

#[test]
fn damaged_gzip() {
    let plain = written("t.csv");
    let packed = |bytes: &[u8], level: u32| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::new(level));
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    };
    let (whole, stored): (Vec<_>, Vec<_>) = plain.iter().map(|p| (packed(p, 6), packed(p, 0))).unzip();
    run("t.csv.gz", 0xD1B5_4A32_D192_ED03, |chance| match chance.below(4) {
        // Under the wrapping, where no checksum guards; in several members at times.
        0 => packed(&any_damaged(&plain, chance), 0),
        1 => {
            let text = any_damaged(&plain, chance);
            let (head, tail) = text.split_at(chance.below(text.len() + 1));
            [packed(head, 0), packed(tail, 0)].concat()
        }
        // The wrapping itself.
        2 => any_damaged(&stored, chance),
        _ => any_damaged(&whole, chance),
    });
}

#[test]
fn damaged_libsvm() {
    let mut valid = written("t.svm");
    valid.push(b"+1 1:0.5 3:2 # note\n-1 2:1e-3\n\n+1 1:1 2:2 3:3 4:4\n".to_vec());
    run("t.svm", 0x94D0_49BB_1331_11EB, |chance| any_damaged(&valid, chance));
}

#[test]
fn damaged_npy() {
    let mut valid = written("t.npy");
    let header = b"{'descr': '>i2', 'fortran_order': True, 'shape': (4, 3), }\n";
    let mut fortran = b"\x93NUMPY\x02\0".to_vec();
    fortran.extend((header.len() as u32).to_le_bytes());
    fortran.extend(header);
    fortran.extend((0..24_u8).collect::<Vec<_>>());
    valid.push(fortran);
    run("t.npy", 0xBF58_476D_1CE4_E5B9, |chance| any_damaged(&valid, chance));
}
