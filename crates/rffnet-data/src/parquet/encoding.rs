//! The encodings of Parquet: runs and packed bits, differences, split bytes. All of them are brought back to the plain
//! one, or to a series of numbers.
//!
//! <https://parquet.apache.org/docs/file-format/data-pages/encodings/>

use super::damage::{Damage, damaged};

/// The encodings by their numbers in page headers.
pub(super) const PLAIN: i64 = 0;
pub(super) const PLAIN_DICTIONARY: i64 = 2;
pub(super) const RLE: i64 = 3;
const DELTA_BINARY_PACKED: i64 = 5;
const DELTA_LENGTH_BYTE_ARRAY: i64 = 6;
const DELTA_BYTE_ARRAY: i64 = 7;
pub(super) const RLE_DICTIONARY: i64 = 8;
const BYTE_STREAM_SPLIT: i64 = 9;

/// The first four bytes as a length, and the bytes behind it.
pub(super) fn length_prefix(bytes: &[u8]) -> Result<(usize, &[u8]), Damage> {
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or(Damage::CUT)?;
    Ok((u32::from_le_bytes(*length) as usize, rest))
}

fn varint(bytes: &mut &[u8]) -> Result<u64, Damage> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(Damage::CUT)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(damaged("a length never ends"))
}

/// Calls `each` with `n` numbers of `width` bits, packed from the lowest bit on. The bytes must suffice.
fn unpack(bytes: &[u8], width: u32, n: usize, mut each: impl FnMut(u64)) {
    let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    // A word holds a number at any shift of its first byte if the two have 64 bits together.
    let whole =
        if width <= 57 { (bytes.len().saturating_sub(7) * 8 / width.max(1) as usize).min(n) } else { 0 };
    for i in 0..whole {
        let bit = i * width as usize;
        let word = bytes
            .get(bit / 8..)
            .and_then(|rest| rest.first_chunk())
            .map_or(0, |word| u64::from_le_bytes(*word));
        each((word >> (bit % 8)) & mask);
    }
    for i in whole..n {
        let bit = i * width as usize;
        let tail = bytes.get(bit / 8..).unwrap_or_default();
        let mut word = [0; 16];
        let length = tail.len().min(16);
        word[..length].copy_from_slice(&tail[..length]);
        each((u128::from_le_bytes(word) >> (bit % 8)) as u64 & mask);
    }
}

/// Packed booleans, `n` of them.
pub(super) fn plain_booleans(bytes: &[u8], n: usize, out: &mut Vec<u32>) -> Result<(), Damage> {
    if bytes.len() < n.div_ceil(8) {
        return Err(Damage::CUT);
    }
    out.clear();
    unpack(bytes, 1, n, |bit| out.push(bit as u32));
    Ok(())
}

/// Replaces `out` with `n` numbers of `width` bits in runs and packed groups.
pub(super) fn hybrid(mut bytes: &[u8], width: u32, n: usize, out: &mut Vec<u32>) -> Result<(), Damage> {
    if width > 32 {
        return Err(damaged("an index has more than 32 bits"));
    }
    out.clear();
    while out.len() < n {
        let head = varint(&mut bytes)?;
        let (count, left) = (head >> 1, n - out.len());
        if head & 1 == 1 {
            // Groups of eight; the last one may stand for fewer values, and may be cut off behind them.
            let packed =
                usize::try_from(count).ok().and_then(|c| c.checked_mul(width as usize)).ok_or(Damage::CUT)?;
            let part = &bytes[..packed.min(bytes.len())];
            let values =
                left.min(usize::try_from(count).ok().and_then(|c| c.checked_mul(8)).ok_or(Damage::CUT)?);
            if values == 0 || part.len() * 8 < values * width as usize {
                return Err(Damage::CUT);
            }
            unpack(part, width, values, |v| out.push(v as u32));
            bytes = &bytes[part.len()..];
        } else {
            let (value, rest) = bytes.split_at_checked(width.div_ceil(8) as usize).ok_or(Damage::CUT)?;
            bytes = rest;
            let mut word = [0; 4];
            word[..value.len()].copy_from_slice(value);
            let run = left.min(usize::try_from(count).unwrap_or(usize::MAX));
            if run == 0 {
                return Err(damaged("a run has no length"));
            }
            out.resize(out.len() + run, u32::from_le_bytes(word));
        }
    }
    Ok(())
}

/// Whether definition levels are a single run of ones over all `n` values: a page without gaps.
pub(super) fn no_gaps(mut bytes: &[u8], n: usize) -> bool {
    matches!(varint(&mut bytes), Ok(head) if head & 1 == 0 && head >> 1 >= n as u64)
        && bytes.first() == Some(&1)
}

/// Numbers as differences, in blocks of packed ones. Returns the bytes behind them.
fn deltas(
    mut bytes: &[u8],
    n: usize,
    mut each: impl FnMut(i64) -> Result<(), Damage>,
) -> Result<&[u8], Damage> {
    let signed = |bytes: &mut &[u8]| varint(bytes).map(|v| (v >> 1) as i64 ^ -((v & 1) as i64));
    let block = varint(&mut bytes)?;
    let miniblocks = varint(&mut bytes)?;
    let total = varint(&mut bytes)?;
    let mut value = signed(&mut bytes)?;
    let per = match block.checked_div(miniblocks) {
        Some(per) if per > 0 && per % 8 == 0 && block <= 1 << 20 && total == n as u64 => per as usize,
        _ => return Err(damaged("a block of differences has an impossible size")),
    };
    if n == 0 {
        return Ok(bytes);
    }
    each(value)?;
    let mut left = n - 1;
    let mut offsets = Vec::with_capacity(per);
    while left > 0 {
        let least = signed(&mut bytes)?;
        let (widths, rest) = bytes.split_at_checked(miniblocks as usize).ok_or(Damage::CUT)?;
        bytes = rest;
        for &width in widths {
            // The widths of miniblocks behind the last value mean nothing, and no bytes belong to them.
            if left == 0 {
                break;
            }
            if width > 64 {
                return Err(damaged("a difference has more than 64 bits"));
            }
            let count = per.min(left);
            let part = &bytes[..(per * width as usize / 8).min(bytes.len())];
            if part.len() * 8 < count * width as usize {
                return Err(Damage::CUT);
            }
            offsets.clear();
            unpack(part, width.into(), count, |v| offsets.push(v));
            for &offset in &offsets {
                value = value.wrapping_add(least).wrapping_add(offset as i64);
                each(value)?;
            }
            bytes = &bytes[part.len()..];
            left -= count;
        }
    }
    Ok(bytes)
}

/// `n` values of `width` bytes each, plainly one after the other.
pub(super) fn plain_layout<'a>(
    encoding: i64,
    bytes: &'a [u8],
    width: usize,
    n: usize,
    buffer: &'a mut Vec<u8>,
) -> Result<&'a [u8], Damage> {
    let size = n.checked_mul(width).ok_or(Damage::CUT)?;
    match encoding {
        PLAIN => return bytes.get(..size).ok_or(Damage::CUT),
        BYTE_STREAM_SPLIT => {
            let bytes = bytes.get(..size).ok_or(Damage::CUT)?;
            buffer.clear();
            buffer.resize(size, 0);
            if n > 0 {
                for (k, stream) in bytes.chunks_exact(n).enumerate() {
                    for (out, &byte) in buffer[k..].iter_mut().step_by(width).zip(stream) {
                        *out = byte;
                    }
                }
            }
        }
        DELTA_BINARY_PACKED => {
            buffer.clear();
            deltas(bytes, n, |v| {
                buffer.extend_from_slice(v.to_le_bytes().get(..width).unwrap_or_default());
                Ok(())
            })?;
        }
        DELTA_BYTE_ARRAY => {
            buffer.clear();
            each_text(encoding, bytes, n, |value| {
                if value.len() != width {
                    return Err(damaged("a value has the wrong number of bytes"));
                }
                buffer.extend_from_slice(value);
                Ok(())
            })?;
        }
        other => return Err(unknown(other)),
    }
    buffer.get(..size).ok_or(Damage::CUT)
}

/// Calls `each` with `n` byte strings.
pub(super) fn each_text(
    encoding: i64,
    mut bytes: &[u8],
    n: usize,
    mut each: impl FnMut(&[u8]) -> Result<(), Damage>,
) -> Result<(), Damage> {
    match encoding {
        PLAIN => {
            for _ in 0..n {
                let (length, rest) = length_prefix(bytes)?;
                let (text, rest) = rest.split_at_checked(length).ok_or(Damage::CUT)?;
                each(text)?;
                bytes = rest;
            }
            Ok(())
        }
        DELTA_LENGTH_BYTE_ARRAY => {
            let lengths = lengths(&mut bytes, n)?;
            for length in lengths {
                let (text, rest) = bytes.split_at_checked(length).ok_or(Damage::CUT)?;
                each(text)?;
                bytes = rest;
            }
            Ok(())
        }
        DELTA_BYTE_ARRAY => {
            let prefixes = lengths(&mut bytes, n)?;
            let suffixes = lengths(&mut bytes, n)?;
            let mut text = Vec::new();
            for (prefix, suffix) in prefixes.into_iter().zip(suffixes) {
                let (tail, rest) = bytes.split_at_checked(suffix).ok_or(Damage::CUT)?;
                if prefix > text.len() {
                    return Err(damaged("a text begins with more than there is of the text before it"));
                }
                text.truncate(prefix);
                text.extend_from_slice(tail);
                each(&text)?;
                bytes = rest;
            }
            Ok(())
        }
        other => Err(unknown(other)),
    }
}

fn lengths(bytes: &mut &[u8], n: usize) -> Result<Vec<usize>, Damage> {
    let mut out = Vec::new();
    *bytes = deltas(bytes, n, |v| {
        out.push(usize::try_from(v).map_err(|_| damaged("a text has a negative length"))?);
        Ok(())
    })?;
    Ok(out)
}

fn unknown(encoding: i64) -> Damage {
    damaged(format!("its values are encoded in a way (number {encoding}) that is not known for their type"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_groups() {
        let mut out = Vec::new();
        // A run of five threes, then the example of the specification: 0 to 7 in three bits.
        hybrid(&[10, 3, 3, 0x88, 0xC6, 0xFA], 3, 13, &mut out).unwrap();
        assert_eq!(out, [3, 3, 3, 3, 3, 0, 1, 2, 3, 4, 5, 6, 7]);
        hybrid(&[10, 3, 3, 0x88, 0xC6, 0xFA], 3, 7, &mut out).unwrap();
        assert_eq!(out, [3, 3, 3, 3, 3, 0, 1]);
        for (bytes, width) in
            [(&[][..], 3), (&[10], 3), (&[3, 0x88], 3), (&[0, 1], 3), (&[1], 3), (&[2, 0], 33)]
        {
            assert!(hybrid(bytes, width, 4, &mut out).is_err(), "{bytes:?}");
        }
        // No bits at all are zeros.
        hybrid(&[0x80, 0x01], 0, 50, &mut out).unwrap();
        assert_eq!(out, vec![0; 50]);
        assert!(
            no_gaps(&[20, 1], 10) && !no_gaps(&[20, 1], 11) && !no_gaps(&[20, 0], 10) && !no_gaps(&[], 1)
        );
    }

    #[test]
    fn bits_of_every_width() {
        for width in 1..=64_u32 {
            let n = 37;
            let value =
                |i: usize| (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) & (u64::MAX >> (64 - width));
            let mut bytes = vec![0_u8; (n * width as usize).div_ceil(8)];
            for i in 0..n {
                for b in 0..width as usize {
                    let bit = i * width as usize + b;
                    bytes[bit / 8] |= ((value(i) >> b & 1) as u8) << (bit % 8);
                }
            }
            let mut out = Vec::new();
            unpack(&bytes, width, n, |v| out.push(v));
            assert_eq!(out, (0..n).map(value).collect::<Vec<_>>(), "{width}");
        }
    }

    #[test]
    fn differences() {
        // The specification's example: 7, 5, 3, 1, 2, 3, 4, 5 with blocks of 128 in 4; minimum -2, two bits.
        let mut bytes = vec![0x80, 0x01, 4, 8, 14, 3, 2, 0, 0, 0, 0xC0, 0x3F, 0, 0, 0, 0, 0, 0];
        let mut out = Vec::new();
        deltas(&bytes, 8, |v| {
            out.push(v);
            Ok(())
        })
        .unwrap();
        assert_eq!(out, [7, 5, 3, 1, 2, 3, 4, 5]);
        bytes.truncate(11);
        assert!(deltas(&bytes, 8, |_| Ok(())).is_err());
        assert!(deltas(&[0, 0, 1, 0], 1, |_| Ok(())).is_err());
    }

    #[test]
    fn split_bytes() {
        let mut buffer = Vec::new();
        let plain = plain_layout(BYTE_STREAM_SPLIT, &[1, 2, 3, 4, 5, 6], 2, 3, &mut buffer).unwrap();
        assert_eq!(plain, [1, 4, 2, 5, 3, 6]);
    }
}
