//! From stored values to cells, whatever the cell is for.

use crate::cell::At;
use crate::dates;
use crate::dictionary::Dictionary;
use crate::packed::{Packed, PackedWide};

use super::damage::{Damage, damaged};
use super::encoding::{PLAIN, RLE, each_text, hybrid, length_prefix, plain_booleans, plain_layout};
use super::schema::{Leaf, Meaning};
use parquet::basic::Type as Physical;

/// Days from 1970 to 2000, and the Julian day number of the latter.
const DAYS_TO_2000: f64 = 10_957.0;
const JULIAN_2000: f64 = 2_451_545.0;

/// A cell of an input, of the target, or one that is kept as text.
pub(super) trait Value: Clone + PartialEq + Send {
    fn gap() -> Self;
    fn float(value: f32) -> Self;
    fn double(value: f64) -> Self;
    /// A whole number, exactly where the cell can hold it.
    fn whole(value: i64) -> Self {
        Self::double(value as f64)
    }
    fn unsigned(value: u64) -> Self {
        Self::double(value as f64)
    }
    fn boolean(value: bool, texts: &mut Dictionary) -> Self;
    /// Days since the beginning of 2000.
    fn date(days: f64) -> Self {
        Self::double(days)
    }
    fn text(text: &str, texts: &mut Dictionary) -> Self;
}

/// Codes are those of the column reader; where a text first stands is found out by the block.
const NOWHERE: At = At { row: 0, line: None };

impl Value for Packed {
    fn gap() -> Self {
        Packed::GAP
    }

    #[inline]
    fn float(value: f32) -> Self {
        Packed::number(value)
    }

    #[inline]
    fn double(value: f64) -> Self {
        Packed::number(value as f32)
    }

    #[inline]
    fn whole(value: i64) -> Self {
        Packed::number(value as f32)
    }

    fn boolean(value: bool, _: &mut Dictionary) -> Self {
        Packed::number(f32::from(value))
    }

    fn text(text: &str, texts: &mut Dictionary) -> Self {
        Packed::text(texts.code(text, NOWHERE))
    }
}

impl Value for PackedWide {
    fn gap() -> Self {
        PackedWide::GAP
    }

    fn float(value: f32) -> Self {
        PackedWide::number(value.into())
    }

    fn double(value: f64) -> Self {
        PackedWide::number(value)
    }

    /// The classes of a target have names.
    fn boolean(value: bool, texts: &mut Dictionary) -> Self {
        Value::text(if value { "true" } else { "false" }, texts)
    }

    fn text(text: &str, texts: &mut Dictionary) -> Self {
        PackedWide::text(texts.code(text, NOWHERE))
    }
}

impl Value for String {
    fn gap() -> Self {
        String::new()
    }

    fn float(value: f32) -> Self {
        value.to_string()
    }

    fn double(value: f64) -> Self {
        value.to_string()
    }

    fn whole(value: i64) -> Self {
        value.to_string()
    }

    fn unsigned(value: u64) -> Self {
        value.to_string()
    }

    fn boolean(value: bool, _: &mut Dictionary) -> Self {
        value.to_string()
    }

    fn date(days: f64) -> Self {
        dates::iso(days as f32).unwrap_or_default()
    }

    fn text(text: &str, _: &mut Dictionary) -> Self {
        text.to_string()
    }
}

/// Values as a page holds them.
#[derive(Clone, Copy)]
pub(super) struct Encoded<'a> {
    pub(super) encoding: i64,
    pub(super) bytes: &'a [u8],
    /// How many there are.
    pub(super) n: usize,
}

/// Appends the values to `out`; texts get their codes from `texts`.
pub(super) fn decode<V: Value>(
    leaf: &Leaf,
    values: Encoded<'_>,
    out: &mut Vec<V>,
    texts: &mut Dictionary,
    workspace: &mut Workspace,
) -> Result<(), Damage> {
    let Encoded { encoding, bytes, n } = values;
    let Workspace { buffer, numbers } = workspace;
    let plain = match leaf.physical {
        Physical::BOOLEAN | Physical::BYTE_ARRAY => &[],
        _ => plain_layout(encoding, bytes, leaf.width, n, buffer)?,
    };
    match (leaf.physical, leaf.meaning) {
        (Physical::BOOLEAN, _) => {
            match encoding {
                PLAIN => plain_booleans(bytes, n, numbers)?,
                RLE => hybrid(length_prefix(bytes)?.1, 1, n, numbers)?,
                _ => return Err(damaged("its truth values are encoded in an unknown way")),
            }
            out.extend(numbers.iter().map(|&v| V::boolean(v != 0, texts)));
        }
        (Physical::FLOAT, _) => extend(out, plain, |b| V::float(f32::from_le_bytes(b))),
        (Physical::DOUBLE, _) => extend(out, plain, |b| V::double(f64::from_le_bytes(b))),
        (Physical::INT32, Meaning::Number) => extend(out, plain, |b| V::whole(i32::from_le_bytes(b).into())),
        (Physical::INT32, Meaning::Unsigned) => {
            extend(out, plain, |b| V::whole(u32::from_le_bytes(b).into()))
        }
        (Physical::INT32, meaning) => {
            let value = scaled(meaning);
            extend(out, plain, |b| value(i32::from_le_bytes(b).into()));
        }
        (Physical::INT64, Meaning::Number) => extend(out, plain, |b| V::whole(i64::from_le_bytes(b))),
        (Physical::INT64, Meaning::Unsigned) => extend(out, plain, |b| V::unsigned(u64::from_le_bytes(b))),
        (Physical::INT64, meaning) => {
            let value = scaled(meaning);
            extend(out, plain, |b| value(i64::from_le_bytes(b) as f64));
        }
        (Physical::INT96, _) => extend(out, plain, |b| V::date(int96(b))),
        (Physical::FIXED_LEN_BYTE_ARRAY, Meaning::Half) => {
            extend(out, plain, |b| V::float(half(u16::from_le_bytes(b))));
        }
        (Physical::FIXED_LEN_BYTE_ARRAY, Meaning::Uuid) => {
            extend(out, plain, |b| V::text(&uuid(u128::from_be_bytes(b)), texts));
        }
        (Physical::FIXED_LEN_BYTE_ARRAY, meaning) => {
            let value = scaled(meaning);
            let width = leaf.width.max(1);
            out.extend(plain.chunks_exact(width).map(|bytes| value(big_endian(bytes))));
        }
        (Physical::BYTE_ARRAY, Meaning::Text) => each_text(encoding, bytes, n, |bytes| {
            let text = std::str::from_utf8(bytes).map_err(|_| damaged("a text in it is not UTF-8"))?;
            out.push(V::text(text, texts));
            Ok(())
        })?,
        (Physical::BYTE_ARRAY, meaning) => {
            let value = scaled(meaning);
            each_text(encoding, bytes, n, |bytes| {
                out.push(value(big_endian(bytes)));
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// Buffers for decoding.
#[derive(Default)]
pub(super) struct Workspace {
    buffer: Vec<u8>,
    numbers: Vec<u32>,
}

/// Values of `W` bytes each.
#[inline]
fn extend<V, const W: usize>(out: &mut Vec<V>, bytes: &[u8], value: impl FnMut([u8; W]) -> V) {
    out.extend(bytes.as_chunks::<W>().0.iter().copied().map(value));
}

/// What a stored whole number means.
fn scaled<V: Value>(meaning: Meaning) -> impl Fn(f64) -> V {
    move |v| match meaning {
        Meaning::Decimal { divisor } => V::double(v / divisor),
        Meaning::Day => V::date(v - DAYS_TO_2000),
        Meaning::Timestamp { per_day } => V::date(v / per_day - DAYS_TO_2000),
        Meaning::Time { per_day } => V::date(v / per_day),
        _ => V::double(v),
    }
}

fn int96(bytes: [u8; 12]) -> f64 {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = bytes;
    let nanoseconds = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    let day = i32::from_le_bytes([i, j, k, l]);
    f64::from(day) - JULIAN_2000 + nanoseconds as f64 / 86_400e9
}

/// A signed whole number of any length.
fn big_endian(bytes: &[u8]) -> f64 {
    let Some((&first, rest)) = bytes.split_first() else { return 0.0 };
    rest.iter().fold(f64::from(first as i8), |value, &byte| value * 256.0 + f64::from(byte))
}

/// A float of 16 bits: a sign, five bits of exponent, ten of fraction.
fn half(bits: u16) -> f32 {
    let (exponent, fraction) = ((bits >> 10) & 0x1F, f32::from(bits & 0x3FF));
    let size = match exponent {
        0 => fraction * 2_f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2_f32.powi(i32::from(exponent) - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

fn uuid(value: u128) -> String {
    let hex = format!("{value:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves() {
        for (bits, value) in [
            (0, 0.0),
            (0x3C00, 1.0),
            (0xC000, -2.0),
            (0x7BFF, 65504.0),
            (1, 5.960_464_5e-8),
            (0x3555, 0.333_251_95),
        ] {
            assert_eq!(half(bits), value, "{bits:#x}");
        }
        assert!(half(0x7E00).is_nan());
        assert_eq!(half(0xFC00), f32::NEG_INFINITY);
    }

    #[test]
    fn whole_numbers_and_days() {
        assert_eq!(big_endian(&[0xFF, 0x38]), -200.0);
        assert_eq!(big_endian(&[0x01, 0x00, 0x00]), 65536.0);
        assert_eq!(big_endian(&[]), 0.0);
        let mut noon = [0; 12];
        noon[..8].copy_from_slice(&43_200_000_000_000_u64.to_le_bytes());
        noon[8..].copy_from_slice(&2_440_588_u32.to_le_bytes());
        assert_eq!(int96(noon), 0.5 - DAYS_TO_2000);
        assert_eq!(uuid(0x0123_4567_89ab_cdef_0011_2233_4455_6677), "01234567-89ab-cdef-0011-223344556677");
    }
}
