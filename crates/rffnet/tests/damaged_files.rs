//! A hundred thousand damaged model files: an error or a model that works, never a panic, never a huge allocation.
#![allow(clippy::unwrap_used, missing_docs)]
#![allow(unsafe_code)] // an allocator that counts can only be written with it

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{
    Xorshift, classification, codes, fit, names, normal_rows, quick, regression, target, without_checksum,
};
use rffnet::{ColumnType, Data, Error, Matrix, Model, SolverKind};

/// The system's allocator, remembering the largest request.
struct Counting;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const FILES: usize = 120_000;
const ALLOWED: usize = 64 << 20;

fn seeds() -> Vec<Vec<u8>> {
    let x = normal_rows(30, 2, 131);
    let y = target(&x, 2, |r| r[0] as f64);
    let labels = codes(&x, 2, |r| u32::from(r[0] > 0.0) + u32::from(r[0] > 0.6));
    let yes_no: Vec<u32> = labels.iter().map(|&c| c.min(1)).collect();
    let classes = names(&["a", "b", "c"]);
    let params = quick().random_features(5).epochs(2);
    let exact = params.clone().solver(SolverKind::Varpro).committee(2);
    let models = [
        fit(&params, &regression(&x, 2, &y)),
        fit(&params, &classification(&x, 2, &labels, &classes)),
        fit(&params, &classification(&x, 2, &yes_no, &classes[..2])),
        fit(&exact, &regression(&x, 2, &y)),
        fit(&exact, &classification(&x, 2, &labels, &classes)),
    ];
    let types = [category(4), category(20), ColumnType::Date { day_first: true }];
    let cells: Vec<f32> = (0..120).flat_map(|i| [(i % 4) as f32, (i % 20) as f32, 9.5 * i as f32]).collect();
    let y: Vec<f64> = (0..120).map(|i| f64::from(i % 20)).collect();
    let encoded = fit(&params, &Data { types: Some(&types), ..regression(&cells, 3, &y) });
    models.iter().chain([&encoded]).map(|m| m.to_bytes().unwrap()).collect()
}

fn category(levels: usize) -> ColumnType {
    ColumnType::Category { levels: (0..levels).map(|l| format!("l{l}")).collect() }
}

fn header_length(bytes: &[u8]) -> usize {
    bytes.get(..8).map_or(0, |b| u64::from_le_bytes(b.try_into().unwrap()) as usize)
}

/// Edits the header as text and corrects its length, so that the damage gets past the outermost checks.
fn edit_text(bytes: &[u8], rng: &mut Xorshift) -> Vec<u8> {
    const NUMBERS: [&str; 14] = [
        "0",
        "-1",
        "1",
        "2",
        "null",
        "1e999",
        "-1e999",
        "1e308",
        "1e-320",
        "4294967296",
        "9223372036854775808",
        "18446744073709551616",
        "true",
        "[]",
    ];
    let length = header_length(bytes);
    if bytes.len() < 8 || length > bytes.len() - 8 {
        return bytes.to_vec();
    }
    let header = &bytes[8..8 + length];
    let is_number = |b: u8| b.is_ascii_digit() || b == b'.' || b == b'-';
    let is_word = |b: u8| b.is_ascii_alphabetic() || b == b'_';
    let numeric = rng.below(2) == 0;
    let wanted = |b: u8| if numeric { is_number(b) } else { is_word(b) };
    // The token at, or after, a random place.
    let from = rng.below(length);
    let Some(start) = (from..length).find(|&i| wanted(header[i])) else { return bytes.to_vec() };
    let start = (0..=start).rev().take_while(|&i| wanted(header[i])).last().unwrap_or(start);
    let end = (start..length).find(|&i| !wanted(header[i])).unwrap_or(length);
    let token = &header[start..end];
    let new: Vec<u8> = match (numeric, rng.below(4)) {
        (true, 0) => [token, b"0".as_slice()].concat(),
        (true, _) => NUMBERS[rng.below(NUMBERS.len())].into(),
        (false, 0) => [token, b"x".as_slice()].concat(),
        (false, 1) => token.iter().rev().copied().collect(),
        (false, 2) => Vec::new(),
        (false, _) => {
            // Another word of the same header: keys and values change places.
            let words: Vec<&[u8]> = header.split(|&b| !is_word(b)).filter(|w| !w.is_empty()).collect();
            words[rng.below(words.len())].to_vec()
        }
    };
    let header = [&header[..start], &new, &header[end..]].concat();
    [&(header.len() as u64).to_le_bytes()[..], &header, &bytes[8 + length..]].concat()
}

fn mutate(bytes: &mut Vec<u8>, rng: &mut Xorshift) {
    if bytes.is_empty() {
        return;
    }
    let at = rng.below(bytes.len());
    match rng.below(10) {
        0 => bytes[at] ^= 1 << rng.below(8),
        1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, b'"', b'{', b'9'][rng.below(8)],
        2 => bytes.truncate(at),
        3 => {
            let end = (at + rng.below(40)).min(bytes.len());
            let slice = bytes[at..end].to_vec();
            let to = rng.below(bytes.len());
            bytes.splice(to..to, slice);
        }
        4 => {
            let end = (at + rng.below(40)).min(bytes.len());
            bytes.drain(at..end);
        }
        5 if bytes.len() >= 8 => {
            let length = match rng.below(4) {
                0 => rng.next(),
                1 => 1 << rng.below(64),
                _ => (header_length(bytes) as u64).wrapping_add(rng.below(9) as u64).wrapping_sub(4),
            };
            bytes[..8].copy_from_slice(&length.to_le_bytes());
        }
        6 | 7 if header_length(bytes) < bytes.len().saturating_sub(12) => {
            // One number of a tensor: not finite, huge, tiny, or of the other sign.
            const ODD: [f32; 8] = [f32::NAN, f32::INFINITY, f32::MAX, f32::MIN, 1e-45, -0.0, 0.0, -1e20];
            let start = 8 + header_length(bytes);
            let at = start + rng.below((bytes.len() - start) / 4) * 4;
            bytes[at..at + 4].copy_from_slice(&ODD[rng.below(8)].to_le_bytes());
        }
        _ => *bytes = edit_text(bytes, rng),
    }
}

/// Asks a model for everything it can give.
fn exercise(model: &Model) {
    let d = model.feature_names().len();
    let x: Vec<f32> = (0..3 * d).map(|i| i as f32 * 0.3 - 1.0).collect();
    let rows = Matrix::new(&x, 3, d).unwrap();
    let answers = [model.decision(rows), model.predict(rows), model.probabilities(rows)];
    for values in answers.into_iter().flatten() {
        assert!(values.iter().all(|v| v.is_finite()));
    }
    if let Ok(labels) = model.labels(rows) {
        assert!(labels.iter().all(|&l| (l as usize) < model.classes().len()));
    }
    assert_eq!((model.relevances().len(), model.importances().len()), (d, d));
    let keep: Vec<usize> = (0..d).step_by(2).collect();
    let _ = model.restricted(&keep).decision(rows);
    let bytes = model.to_bytes().unwrap();
    if let Err(e) = Model::from_bytes(&bytes) {
        panic!("a model that was read and written cannot be read again: {e}");
    }
}

#[test]
fn damaged_files_give_a_sentence_or_a_model_that_works() {
    let seeds = seeds();
    for seed in &seeds {
        exercise(&Model::from_bytes(seed).unwrap());
    }
    LARGEST.store(0, Ordering::Relaxed);
    let mut rng = Xorshift::new(20_251_115);
    let (mut read, mut refused) = (0, 0);
    for file in 0..FILES {
        let seed = &seeds[file / 2 % seeds.len()];
        let checked = file % 2 == 0;
        let mut bytes = if checked { seed.clone() } else { without_checksum(seed) };
        let count = [1, 1, 1, 2, 3][rng.below(5)];
        (0..count).for_each(|_| mutate(&mut bytes, &mut rng));
        match Model::from_bytes(&bytes) {
            Ok(model) => {
                let old = bytes.windows(12).any(|window| window == br#"\"format\":1"#);
                assert!(old || bytes == *seed, "file {file}: damage was not noticed");
                read += usize::from(!checked);
                exercise(&model);
            }
            Err(Error::ModelFile(text)) => {
                refused += 1;
                assert!(text.contains("model file"), "file {file}: {text}");
            }
            Err(other) => panic!("file {file}: {other}"),
        }
        let largest = LARGEST.load(Ordering::Relaxed);
        assert!(largest < ALLOWED, "file {file}: {largest} bytes in one piece");
    }
    assert!(read > FILES / 40 && refused > FILES / 3, "{read} read, {refused} refused");
}

/// Declared sizes that would need terabytes: refused before anything is allocated.
#[test]
fn declared_sizes_are_not_believed() {
    let huge = "9223372036854775807";
    for header in [
        format!(r#"{{"theta":{{"dtype":"F32","shape":[{huge}],"data_offsets":[0,{huge}]}}}}"#),
        format!(r#"{{"theta":{{"dtype":"F32","shape":[{huge},{huge},{huge}],"data_offsets":[0,4]}}}}"#),
    ] {
        let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[0; 4]].concat();
        assert!(Model::from_bytes(&bytes).is_err());
    }
    for length in [u64::MAX, 1 << 40, 100_000_001, 100_000_000] {
        assert!(Model::from_bytes(&[&length.to_le_bytes()[..], b"{}"].concat()).is_err());
    }
    assert!(LARGEST.load(Ordering::Relaxed) < ALLOWED);
}
