//! Pages of a column chunk: their headers and their decompressed bytes.

use std::io::Read;

use parquet::basic::Compression;

use super::damage::{Damage, damaged};
use super::source::Source;
use super::thrift::{FALSE, STRUCT, TRUE, Thrift};

/// A header is looked for in this many bytes first; one with long statistics takes more.
const FIRST_LOOK: usize = 256;
const LONGEST_HEADER: usize = 16 << 20;
/// Larger pages are believed only as far as their compressed bytes bear them out.
const BELIEVED: usize = 64 << 20;

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageKind {
    Dictionary,
    /// Definition levels with a length before them, then the values.
    Data,
    /// Definition levels of `levels` bytes that are not compressed, then the values.
    DataV2 {
        levels: usize,
    },
    /// An index, or a kind that does not exist yet.
    Other,
}

/// A page without its bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageHeader {
    pub(super) kind: PageKind,
    /// Rows of a data page, gaps included; entries of a dictionary.
    pub(super) values: usize,
    pub(super) encoding: i64,
    compressed: usize,
    uncompressed: usize,
    is_compressed: bool,
}

impl PageHeader {
    fn parse(thrift: &mut Thrift<'_>) -> Result<PageHeader, Damage> {
        let mut page_type = -1;
        let (mut compressed, mut uncompressed, mut values, mut encoding) = (None, None, None, -1);
        let (mut level_bytes, mut is_compressed) = (0_usize, true);
        thrift.fields(|t, id, kind| {
            match (id, kind) {
                (1, _) => page_type = t.int()?,
                (2, _) => uncompressed = Some(t.count()?),
                (3, _) => compressed = Some(t.count()?),
                // Data pages and dictionaries begin alike.
                (5 | 7, STRUCT) => t.fields(|t, id, kind| {
                    match id {
                        1 => values = Some(t.count()?),
                        2 => encoding = t.int()?,
                        _ => t.skip(kind)?,
                    }
                    Ok(())
                })?,
                (8, STRUCT) => t.fields(|t, id, kind| {
                    match id {
                        1 => values = Some(t.count()?),
                        4 => encoding = t.int()?,
                        5 | 6 => level_bytes = level_bytes.saturating_add(t.count()?),
                        7 if matches!(kind, TRUE | FALSE) => is_compressed = kind == TRUE,
                        _ => t.skip(kind)?,
                    }
                    Ok(())
                })?,
                _ => t.skip(kind)?,
            }
            Ok(())
        })?;
        let kind = match page_type {
            0 => PageKind::Data,
            2 => PageKind::Dictionary,
            3 => PageKind::DataV2 { levels: level_bytes },
            _ => PageKind::Other,
        };
        match (compressed, uncompressed, values) {
            (Some(compressed), Some(uncompressed), Some(values)) => {
                Ok(PageHeader { kind, values, encoding, compressed, uncompressed, is_compressed })
            }
            (Some(compressed), Some(uncompressed), None) if kind == PageKind::Other => {
                Ok(PageHeader { kind, values: 0, encoding, compressed, uncompressed, is_compressed })
            }
            _ => Err(damaged("a page header is incomplete")),
        }
    }
}

/// Buffers of a thread that reads pages.
#[derive(Default)]
pub(super) struct Scratch {
    packed: Vec<u8>,
    page: Vec<u8>,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

/// The pages of a column chunk, one after the other.
pub(super) struct Pages {
    codec: Compression,
    /// Where the next page begins, and where the last one has ended at the latest.
    at: u64,
    end: u64,
}

impl Pages {
    pub(super) fn new(codec: Compression, start: u64, end: u64) -> Self {
        Pages { codec, at: start, end }
    }

    /// The next page, with its bytes decompressed.
    pub(super) fn next<'s>(
        &mut self,
        source: &Source,
        scratch: &'s mut Scratch,
    ) -> Result<(PageHeader, &'s [u8]), Damage> {
        let header = self.header(source, &mut scratch.packed)?;
        if header.compressed as u64 > self.end.saturating_sub(self.at) {
            return Err(Damage::CUT);
        }
        let body = self.at;
        self.at += header.compressed as u64;
        if header.kind == PageKind::Other {
            return Ok((header, &[]));
        }
        let plain = match header.kind {
            _ if self.codec == Compression::UNCOMPRESSED || !header.is_compressed => header.compressed,
            PageKind::DataV2 { levels } => levels,
            _ => 0,
        };
        if plain == header.compressed {
            source.read(body, plain, &mut scratch.page)?;
            return Ok((header, &scratch.page));
        }
        source.read(body, header.compressed, &mut scratch.packed)?;
        let (levels, packed) = scratch.packed.split_at_checked(plain).ok_or(Damage::CUT)?;
        let size = header.uncompressed.checked_sub(plain).ok_or(Damage::CUT)?;
        let page = &mut scratch.page;
        page.truncate(plain);
        page.resize(plain, 0);
        page.copy_from_slice(levels);
        decompress(self.codec, packed, size, page, &mut scratch.zstd)?;
        if page.len() != header.uncompressed {
            return Err(damaged("a page does not have the size that its header states"));
        }
        Ok((header, page))
    }

    fn header(&mut self, source: &Source, bytes: &mut Vec<u8>) -> Result<PageHeader, Damage> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let mut look = FIRST_LOOK.min(left);
        loop {
            source.read(self.at, look, bytes)?;
            let mut thrift = Thrift { bytes };
            match PageHeader::parse(&mut thrift) {
                Ok(header) => {
                    self.at += (look - thrift.bytes.len()) as u64;
                    return Ok(header);
                }
                Err(damage) if damage.is_cut() && look < left.min(LONGEST_HEADER) => {
                    look = (look * 16).min(left);
                }
                Err(damage) => return Err(damage),
            }
        }
    }
}

/// Appends the `size` bytes that `packed` decompresses to.
fn decompress(
    codec: Compression,
    packed: &[u8],
    size: usize,
    page: &mut Vec<u8>,
    zstd: &mut Option<zstd::bulk::Decompressor<'static>>,
) -> Result<(), Damage> {
    if size == 0 {
        return Ok(());
    }
    let start = page.len();
    let failed = |codec: &str, error: &dyn std::fmt::Display| {
        damaged(format!("{codec} could not decompress a page: {error}"))
    };
    match codec {
        Compression::SNAPPY => {
            // No element of three bytes stands for more than 64.
            reserve(page, size, packed.len().saturating_mul(32))?;
            page.resize(start + size, 0);
            let n = snap::raw::Decoder::new()
                .decompress(packed, &mut page[start..])
                .map_err(|e| failed("Snappy", &e))?;
            page.truncate(start + n);
        }
        Compression::LZ4_RAW => lz4(packed, size, page)?,
        Compression::LZ4 => hadoop_lz4(packed, size, page)?,
        Compression::GZIP(_) => {
            let mut decoder = flate2::read::MultiGzDecoder::new(packed).take(size as u64);
            decoder.read_to_end(page).map_err(|e| failed("gzip", &e))?;
        }
        Compression::ZSTD(_) if size <= BELIEVED || size / 1024 <= packed.len() => {
            reserve(page, size, usize::MAX)?;
            let decoder = match zstd {
                Some(decoder) => decoder,
                None => zstd.insert(zstd::bulk::Decompressor::new().map_err(|e| failed("zstd", &e))?),
            };
            // Zeros are written only beyond the largest page so far.
            page.resize(start + size, 0);
            let n =
                decoder.decompress_to_buffer(packed, &mut page[start..]).map_err(|e| failed("zstd", &e))?;
            page.truncate(start + n);
        }
        Compression::ZSTD(_) => {
            let decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(|e| failed("zstd", &e))?;
            decoder.take(size as u64).read_to_end(page).map_err(|e| failed("zstd", &e))?;
        }
        other => return Err(damaged(format!("it is compressed with {other}, which is not supported"))),
    }
    Ok(())
}

/// Room for `size` bytes, if they can come out of a page at all.
fn reserve(page: &mut Vec<u8>, size: usize, most: usize) -> Result<(), Damage> {
    if size > most.max(1024) {
        return Err(damaged("a page states more bytes than can be in it"));
    }
    page.try_reserve(size).map_err(|_| damaged("a page does not fit into memory"))
}

fn lz4(packed: &[u8], size: usize, page: &mut Vec<u8>) -> Result<(), Damage> {
    // A byte of a length stands for at most 255 bytes.
    reserve(page, size, packed.len().saturating_mul(256))?;
    let start = page.len();
    page.resize(start + size, 0);
    match lz4_flex::block::decompress_into(packed, &mut page[start..]) {
        Ok(n) => {
            page.truncate(start + n);
            Ok(())
        }
        Err(error) => {
            page.truncate(start);
            Err(damaged(format!("LZ4 could not decompress a page: {error}")))
        }
    }
}

/// The codec that was called LZ4 first: blocks behind their sizes as Hadoop writes them, or one block without.
fn hadoop_lz4(packed: &[u8], size: usize, page: &mut Vec<u8>) -> Result<(), Damage> {
    let start = page.len();
    let mut rest = packed;
    while page.len() - start < size {
        let Some((head, body)) = rest.split_at_checked(8) else { break };
        let number = |i: usize| u32::from_be_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]) as usize;
        let (plain, length) = (number(0), number(4));
        let Some((block, after)) = body.split_at_checked(length) else { break };
        if plain > size - (page.len() - start) || lz4(block, plain, page).is_err() {
            break;
        }
        rest = after;
    }
    if page.len() - start == size {
        return Ok(());
    }
    page.truncate(start);
    lz4(packed, size, page)
}
