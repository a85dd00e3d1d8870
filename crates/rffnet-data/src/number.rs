//! Decimal numbers, scanned while looking for the end of a cell. Every value equals that of the standard library's parser.

/// A number as it is written: `mantissa * 10^exponent`.
pub(crate) struct Decimal {
    mantissa: u64,
    exponent: i32,
    negative: bool,
    /// Whether all digits are in the mantissa.
    whole: bool,
    /// Where the number ends.
    pub(crate) end: usize,
}

/// Powers of ten that a 64-bit float holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// The nearest 64-bit floats to the powers from -22 to 22.
const POWERS_BOTH: [f64; 45] = [
    1e-22, 1e-21, 1e-20, 1e-19, 1e-18, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8,
    1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// So many digits fit into 64 bits whatever they are.
const DIGITS: usize = 19;

/// The number that starts at `start`: a sign, digits with a point, an exponent. `None` if none does; what follows it is
/// left to the caller.
#[inline(always)]
pub(crate) fn scan(bytes: &[u8], start: usize) -> Option<Decimal> {
    let mut at = start;
    let sign = *bytes.get(at)?;
    let negative = sign == b'-';
    at += usize::from(negative || sign == b'+');
    let first = at;
    let mut mantissa = 0;
    at = digits(bytes, at, &mut mantissa);
    let mut count = at - first;
    let mut exponent = 0;
    if bytes.get(at) == Some(&b'.') {
        let fraction = at + 1;
        at = digits(bytes, fraction, &mut mantissa);
        exponent = -i32::try_from(at - fraction).ok()?;
        count += at - fraction;
    }
    if count == 0 {
        return None;
    }
    let mut whole = count <= DIGITS;
    if !whole {
        // Zeros in front are no digits of the number.
        let zeros = bytes[first..at].iter().take_while(|b| matches!(b, b'0' | b'.'));
        whole = count - zeros.filter(|b| **b == b'0').count() <= DIGITS;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        let (power, end) = power(bytes, at + 1)?;
        exponent = exponent.saturating_add(power).clamp(-1_000_000, 1_000_000);
        at = end;
    }
    Some(Decimal { mantissa, exponent, negative, whole, end: at })
}

/// Adds the digits from `at` on to `mantissa` and returns where they end. Beyond 19 digits the mantissa wraps.
#[inline(always)]
fn digits(bytes: &[u8], mut at: usize, mantissa: &mut u64) -> usize {
    const TENS: [u64; 9] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let (count, value) = leading_digits(u64::from_le_bytes(*word));
        *mantissa = mantissa.wrapping_mul(TENS[count]).wrapping_add(value);
        at += count;
        if count < 8 {
            return at;
        }
    }
    while let Some(digit) = bytes.get(at).map(|b| b.wrapping_sub(b'0')).filter(|digit| *digit <= 9) {
        *mantissa = mantissa.wrapping_mul(10).wrapping_add(digit.into());
        at += 1;
    }
    at
}

/// Eight characters at once, the first in the lowest byte: how many are digits before the first that is not, and the number
/// that those make.
#[inline(always)]
fn leading_digits(word: u64) -> (usize, u64) {
    // A byte is above 9 if adding 0x76 reaches its top bit, or if it has that already. What is carried out of a byte only
    // touches those after the first that is no digit.
    let digits = word ^ 0x3030_3030_3030_3030;
    let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
    let count = others.trailing_zeros() as usize / 8;
    // Zeros come in front, and then neighbours are joined to numbers of two, four and eight digits.
    let digits = if count == 0 { 0 } else { digits << (64 - 8 * count) };
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    const MASK: u64 = 0x0000_00FF_0000_00FF;
    let high = (pairs & MASK).wrapping_mul(100 + (1_000_000 << 32));
    let low = (pairs >> 16 & MASK).wrapping_mul(1 + (10_000 << 32));
    (count, high.wrapping_add(low) >> 32)
}

/// The whole number after an `e`, and where it ends.
#[inline]
fn power(bytes: &[u8], mut at: usize) -> Option<(i32, usize)> {
    let sign = bytes.get(at).copied();
    at += usize::from(matches!(sign, Some(b'-' | b'+')));
    let first = at;
    let mut power: i32 = 0;
    while let Some(digit) = bytes.get(at).map(|b| b.wrapping_sub(b'0')).filter(|digit| *digit <= 9) {
        power = power.saturating_mul(10).saturating_add(digit.into());
        at += 1;
    }
    (at > first).then_some((if sign == Some(b'-') { -power } else { power }, at))
}

impl Decimal {
    /// The nearest 32-bit float, where one product tells it for sure.
    ///
    /// The 64-bit value is off by less than two units in its last place: half a one each from the mantissa, the power and the
    /// product. Unless it lies that close to the middle between two 32-bit floats, both round to the same one.
    #[inline(always)]
    pub(crate) fn narrow(&self) -> Option<f32> {
        let power = *POWERS_BOTH.get((self.exponent + 22) as usize).filter(|_| self.whole)?;
        let wide = self.mantissa as f64 * power;
        let tail = wide.to_bits() & 0x1FFF_FFFF;
        let sure = tail.wrapping_sub(0x1000_0000 - 3) > 6;
        let normal = wide >= f64::from(f32::MIN_POSITIVE) && wide <= f64::from(f32::MAX);
        if (sure && normal) || self.mantissa == 0 {
            let value = wide as f32;
            return Some(if self.negative { -value } else { value });
        }
        None
    }

    /// The nearest 64-bit float, where mantissa and power are both exact and so only one rounding happens (Clinger).
    #[inline]
    pub(crate) fn wide(&self) -> Option<f64> {
        let exact = self.whole && self.mantissa <= 1 << 53;
        let power = *POWERS.get(self.exponent.unsigned_abs() as usize).filter(|_| exact)?;
        let mantissa = self.mantissa as f64;
        let value = if self.exponent < 0 { mantissa / power } else { mantissa * power };
        Some(if self.negative { -value } else { value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn agrees(text: &str) {
        let Some(decimal) = scan(text.as_bytes(), 0) else { panic!("{text:?} is not scanned") };
        assert_eq!(decimal.end, text.len(), "{text:?}");
        if let Some(value) = decimal.narrow() {
            assert_eq!(value.to_bits(), text.parse::<f32>().unwrap().to_bits(), "{text:?}");
        }
        if let Some(value) = decimal.wide() {
            assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text:?}");
        }
    }

    #[test]
    fn numbers_are_scanned_up_to_their_end() {
        for text in [
            "0",
            "-0",
            "7",
            "+1.5",
            ".5",
            "5.",
            "-2.5e-3",
            "1E2",
            "16777217",
            "1e39",
            "1e-46",
            "123456789012345678901",
            "0.00000000000000000000012345",
            "8388608.5",
            "8388609.5",
            "0.1",
            "1e400",
            "1e-400",
            "3.4028236e38",
            "1e22",
            "12345678.12345678",
            "99999999",
            "999999999999999999",
            "1234567812345678",
            "1.17549435e-38",
        ] {
            agrees(text);
        }
        for (text, end) in [("1,2", 1), ("1.5abc", 3), ("1\n", 1), ("12345678x", 8), ("1..2", 2)] {
            assert_eq!(scan(text.as_bytes(), 0).unwrap().end, end, "{text:?}");
        }
        for text in ["", "-", ".", "+.", "e5", "abc", "1e", "1e+", "inf", "nan"] {
            assert!(scan(text.as_bytes(), 0).is_none(), "{text:?}");
        }
    }

    #[test]
    fn the_usual_numbers_need_no_other_parser() {
        for text in ["0.123456", "-1.2345678901234567", "0.12345678901234567", "1024", "31.5", "1e-5"] {
            assert!(scan(text.as_bytes(), 0).unwrap().narrow().is_some(), "{text}");
        }
    }

    #[test]
    fn every_byte_is_a_digit_or_is_not() {
        for byte in 0..=255_u8 {
            for place in 0..8 {
                let mut word = *b"12345678";
                word[place] = byte;
                let count = word.iter().take_while(|b| b.is_ascii_digit()).count();
                let value = word[..count].iter().fold(0, |n, b| 10 * n + u64::from(b - b'0'));
                assert_eq!(leading_digits(u64::from_le_bytes(word)), (count, value), "{word:?}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]
        #[test]
        fn same_as_std(bits in any::<u32>(), more in any::<u64>(), digits in 0..20_usize, exponent in -45..39_i32) {
            let (value, wide) = (f32::from_bits(bits), f64::from_bits(more));
            if value.is_finite() {
                agrees(&format!("{value}"));
                agrees(&format!("{value:e}"));
                // Halfway between two floats, and next to it.
                let middle = (f64::from(value) + f64::from(value.next_up())) / 2.0;
                if middle.is_finite() {
                    agrees(&format!("{middle:e}"));
                    agrees(&format!("{middle:.12e}"));
                    agrees(&format!("{:e}", middle.next_up()));
                }
            }
            if wide.is_finite() {
                agrees(&format!("{wide:e}"));
            }
            agrees(&format!("{:.*}", digits, (more >> 11) as f64 / (1_u64 << 53) as f64));
            agrees(&format!("{more}e{exponent}"));
            agrees(&format!("{}.{more}", bits >> 12));
        }
    }
}
