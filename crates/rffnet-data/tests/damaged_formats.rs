//! Damaged Parquet, zstd and JSON-lines files: every truncation and thousands of flipped bytes give a sound table or a
//! sentence, never a panic, and never ask for memory out of proportion.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Chance, largest_request};
use rffnet_data::{ReadOptions, Table, read_from};

const FLIPS: usize = 10_000;
/// The largest page that is believed without its bytes takes 64 MB.
const LARGEST_ALLOCATION: usize = 160 << 20;

/// Reads what may be damaged; true if it is a table.
fn outcome(bytes: &[u8], name: &str, case: &str) -> bool {
    let options = ReadOptions { missing: true, ..ReadOptions::default() };
    let read = read_from(bytes, name, &options);
    let largest = largest_request();
    assert!(largest < LARGEST_ALLOCATION, "{case} of {name}: {largest} bytes at once");
    match read {
        Ok(table) => {
            assert!(is_sound(&table), "{case} of {name}: {table:?}");
            true
        }
        Err(error) => {
            let sentence = error.to_string();
            let one_line =
                !sentence.is_empty() && !sentence.contains(char::is_control) && sentence.len() < 2000;
            assert!(one_line, "{case} of {name}: {sentence:?}");
            false
        }
    }
}

fn is_sound(table: &Table) -> bool {
    table.rows > 0
        && table.x.len() == table.rows * table.names.len()
        && table.x.iter().all(|v| v.is_finite() || v.is_nan())
}

fn run(whole: &[u8], name: &str) {
    assert!(outcome(whole, name, "the whole"));
    for length in 0..whole.len() {
        outcome(&whole[..length], name, &format!("the first {length} bytes"));
    }
    let mut chance = Chance(0x9E37_79B9_7F4A_7C15);
    let mut tables = 0;
    for case in 0..FLIPS {
        let mut bytes = whole.to_vec();
        for _ in 0..1 + chance.below(3) {
            let at = chance.below(bytes.len());
            bytes[at] = match chance.below(3) {
                0 => bytes[at] ^ (1 << chance.below(8)),
                1 => chance.below(256) as u8,
                _ => [0, 0xFF, 0x7F, 0x80][chance.below(4)],
            };
        }
        tables += usize::from(outcome(&bytes, name, &format!("case {case}")));
    }
    assert!(tables < FLIPS - FLIPS / 50, "{name}: the damage is too light");
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/fixtures/{name}.parquet", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn damaged_parquet() {
    for name in ["encodings", "old", "types"] {
        run(&fixture(name), "t.parquet");
    }
}

const ROWS: &str =
    "{\"a\": 1, \"b\": \"x\", \"c\": true}\n{\"a\": -2.5e3, \"b\": \"y\\n\", \"c\": null}\n{\"b\": \"x\"}\n";

#[test]
fn damaged_json_lines() {
    run(ROWS.as_bytes(), "t.jsonl");
}

#[test]
fn damaged_zstd() {
    run(&zstd::encode_all(ROWS.as_bytes(), 3).unwrap(), "t.jsonl.zst");
    run(&zstd::encode_all(&b"a,b,c\n1,2,x\n3,4,y\n"[..], 3).unwrap(), "t.csv.zst");
}
