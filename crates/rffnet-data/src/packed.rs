//! Cells while the types of the columns are still open: a number, a gap, or the code of a text.
//!
//! A text's code hides in the bits of a NaN, so that a matrix of packed cells becomes a matrix of floats where it stands,
//! and a column of numbers costs nothing beyond its numbers.

/// An input cell in 32 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packed(u32);

/// A cell of the target in 64 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PackedWide(u64);

/// What a packed cell holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Unpacked<T> {
    Number(T),
    Gap,
    /// The code of a text in the dictionary of its column.
    Text(u32),
}

/// The code of a text that did not fit into its dictionary; all of them share it.
pub(crate) const NO_ROOM: u32 = 0x7F_FFFE;

/// Negative NaNs begin above these bits.
const TEXT: u32 = 0xFF80_0001;
const TEXT_WIDE: u64 = 0xFFF0_0000_0000_0001;

impl Packed {
    /// Becomes NaN.
    pub(crate) const GAP: Packed = Packed(0x7FC0_0000);

    /// A number; NaN, whatever its bits, is a gap.
    #[inline]
    pub(crate) fn number(value: f32) -> Self {
        if value.is_nan() { Packed::GAP } else { Packed(value.to_bits()) }
    }

    /// The text with this code, at most [`NO_ROOM`].
    pub(crate) fn text(code: u32) -> Self {
        Packed(TEXT + code.min(NO_ROOM))
    }

    #[inline]
    pub(crate) fn get(self) -> Unpacked<f32> {
        match self {
            Packed(bits) if bits >= TEXT => Unpacked::Text(bits - TEXT),
            Packed::GAP => Unpacked::Gap,
            Packed(bits) => Unpacked::Number(f32::from_bits(bits)),
        }
    }

    /// The float with the same bits: NaN for a gap and for a text.
    #[inline]
    pub(crate) fn float(self) -> f32 {
        f32::from_bits(self.0)
    }
}

impl PackedWide {
    /// Becomes NaN.
    pub(crate) const GAP: PackedWide = PackedWide(0x7FF8_0000_0000_0000);

    /// A number; NaN, whatever its bits, is a gap.
    #[inline]
    pub(crate) fn number(value: f64) -> Self {
        if value.is_nan() { PackedWide::GAP } else { PackedWide(value.to_bits()) }
    }

    /// The text with this code, at most [`NO_ROOM`].
    pub(crate) fn text(code: u32) -> Self {
        PackedWide(TEXT_WIDE + u64::from(code.min(NO_ROOM)))
    }

    #[inline]
    pub(crate) fn get(self) -> Unpacked<f64> {
        match self {
            PackedWide(bits) if bits >= TEXT_WIDE => Unpacked::Text((bits - TEXT_WIDE) as u32),
            PackedWide::GAP => Unpacked::Gap,
            PackedWide(bits) => Unpacked::Number(f64::from_bits(bits)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_come_back_as_they_went_in() {
        for v in [0.0, -0.0, 1.5, f32::MAX, f32::MIN, f32::MIN_POSITIVE, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(Packed::number(v).get(), Unpacked::Number(v));
            assert_eq!(Packed::number(v).float().to_bits(), v.to_bits());
            assert_eq!(PackedWide::number(v.into()).get(), Unpacked::Number(v.into()));
        }
        for nan in [f32::NAN, -f32::NAN, f32::from_bits(0xFFFF_FFFF)] {
            assert_eq!(Packed::number(nan).get(), Unpacked::Gap);
            assert_eq!(PackedWide::number(nan.into()).get(), Unpacked::Gap);
        }
        for code in [0, 1, 77, NO_ROOM] {
            assert_eq!(Packed::text(code).get(), Unpacked::Text(code));
            assert_eq!(PackedWide::text(code).get(), Unpacked::Text(code));
            assert!(Packed::text(code).float().is_nan());
        }
        assert_eq!(Packed::text(u32::MAX).get(), Unpacked::Text(NO_ROOM));
        assert!(Packed::GAP.float().is_nan());
    }
}
