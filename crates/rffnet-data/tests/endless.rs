//! Compressed files without end: a few kilobytes that stand for any number of rows. A binary of its own, since it watches the
//! memory of the whole process.

#![allow(clippy::unwrap_used)]

mod common;

use std::io::{Read, Write};

use common::most_held;
use flate2::Compression;
use flate2::write::GzEncoder;
use rffnet_data::{ReadOptions, read_from};

/// What a table may take here, and the process with it: text and rows that are being parsed, and the table while it grows.
const TABLE: u64 = 32_000_000;
const PROCESS: usize = 200_000_000;

/// The same bytes over and over.
struct Endless {
    bytes: Vec<u8>,
    at: usize,
}

impl Read for Endless {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = out.len().min(self.bytes.len() - self.at);
        out[..n].copy_from_slice(&self.bytes[self.at..self.at + n]);
        self.at = (self.at + n) % self.bytes.len();
        Ok(n)
    }
}

#[test]
fn a_file_that_unpacks_without_end_is_refused_within_bounded_memory() {
    let rows = "1,2,3,4,5,6,7,8\n".repeat(1 << 16);
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(rows.as_bytes()).unwrap();
    let gzip = packed.finish().unwrap();
    let zstd = zstd::encode_all(rows.as_bytes(), 3).unwrap();
    let line = br#"{"a":1,"b":"x"}"#;
    let lines = zstd::encode_all(&[&line[..], b"\n"].concat().repeat(1 << 16)[..], 3).unwrap();
    for (bytes, name) in [(gzip, "t.csv.gz"), (zstd, "t.csv.zst"), (lines, "t.jsonl.zst")] {
        assert!(bytes.len() < 4096, "{name}: {} bytes", bytes.len());
        let options = ReadOptions { memory: Some(TABLE), ..ReadOptions::default() };
        let message = read_from(Endless { bytes, at: 0 }, name, &options).unwrap_err().to_string();
        assert!(message.contains("more than the 32 MB that may be used"), "{name}: {message}");
        assert!(most_held() < PROCESS, "{name}: {} bytes were held", most_held());
    }
}
