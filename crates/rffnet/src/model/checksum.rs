//! The checksum of a model file: a CRC-64 over every byte but its own digits, which count as zeros.
//!
//! It is the first key of the metadata's JSON text, so its place in the file is found without parsing: the text stands in the
//! header as a JSON string, whose quotes are escaped.

use super::tensors::damaged;
use crate::Error;

/// Sixteen hexadecimal digits; what stands in their place while the checksum is computed.
const NONE: &str = "0000000000000000";

/// What stands before the digits in the header.
const MARK: &[u8] = br#"{\"checksum\":\""#;

/// The metadata's text with room for a checksum.
pub(super) fn with_room(metadata: &str) -> String {
    let rest = metadata.strip_prefix('{').unwrap_or(metadata);
    format!("{{\"checksum\":\"{NONE}\",{rest}")
}

/// Where the digits are, if there is a checksum. Only the header is searched: the first eight bytes are its length.
fn place(bytes: &[u8]) -> Option<std::ops::Range<usize>> {
    let length = u64::from_le_bytes(*bytes.first_chunk()?);
    let end = usize::try_from(length).ok()?.checked_add(8)?.min(bytes.len());
    let at = bytes[8..end].windows(MARK.len()).position(|window| window == MARK)? + 8 + MARK.len();
    (at + NONE.len() <= end).then_some(at..at + NONE.len())
}

/// Writes the checksum into the room that was left for it.
pub(super) fn stamp(bytes: &mut [u8]) {
    if let Some(place) = place(bytes) {
        let digits = format!("{:016x}", crc64(bytes));
        bytes[place].copy_from_slice(digits.as_bytes());
    }
}

/// Whether the bytes are those that were stamped.
pub(super) fn check(bytes: &[u8]) -> Result<(), Error> {
    let wrong = || damaged("its checksum does not fit");
    let place = place(bytes).ok_or_else(wrong)?;
    let parts = [&bytes[..place.start], NONE.as_bytes(), &bytes[place.end..]];
    let digits = format!("{:016x}", parts.iter().fold(START, |crc, part| update(crc, part)) ^ START);
    if bytes[place] == *digits.as_bytes() { Ok(()) } else { Err(wrong()) }
}

/// ECMA-182's polynomial, its bits reversed, as in xz.
const POLYNOMIAL: u64 = 0xC96C_5795_D787_0F42;
const START: u64 = u64::MAX;

const TABLE: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

fn update(crc: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(crc, |crc, &byte| TABLE[(crc as u8 ^ byte) as usize] ^ crc >> 8)
}

fn crc64(bytes: &[u8]) -> u64 {
    update(START, bytes) ^ START
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_xz() {
        assert_eq!(crc64(b"123456789"), 0x995D_C9BB_DF19_39FA);
    }

    #[test]
    fn a_stamp_is_checked_and_every_flipped_bit_is_found() {
        let text = br#"{\"checksum\":\"0000000000000000\",\"format\":2}  and 64 bytes of numbers"#;
        let mut bytes = (text.len() as u64 - 20).to_le_bytes().to_vec();
        bytes.extend_from_slice(text);
        assert!(check(&bytes).is_err());
        stamp(&mut bytes);
        assert!(check(&bytes).is_ok());
        for at in 8 * 8..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            assert!(check(&flipped).is_err(), "bit {at}");
        }
        assert!(check(&[]).is_err() && check(&[255; 12]).is_err());
    }

    #[test]
    fn there_is_room_in_any_object() {
        assert_eq!(with_room("{\"format\":2}"), "{\"checksum\":\"0000000000000000\",\"format\":2}");
    }
}
