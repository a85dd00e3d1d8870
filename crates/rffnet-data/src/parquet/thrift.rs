//! The little of Thrift's compact protocol that page headers need. Sizes are checked against the bytes at hand, and
//! nothing is allocated.

use super::damage::{Damage, damaged};

/// Structures inside structures: page headers have two levels, a damaged one may claim any number.
const DEEPEST: usize = 8;

/// The types of fields.
pub(super) const TRUE: u8 = 1;
pub(super) const FALSE: u8 = 2;
pub(super) const STRUCT: u8 = 12;

/// Reads values from the front of its bytes.
pub(super) struct Thrift<'a> {
    pub(super) bytes: &'a [u8],
}

impl Thrift<'_> {
    fn byte(&mut self) -> Result<u8, Damage> {
        let (&first, rest) = self.bytes.split_first().ok_or(Damage::CUT)?;
        self.bytes = rest;
        Ok(first)
    }

    fn skip_bytes(&mut self, n: u64) -> Result<(), Damage> {
        let n = usize::try_from(n).map_err(|_| Damage::CUT)?;
        self.bytes = self.bytes.get(n..).ok_or(Damage::CUT)?;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, Damage> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(damaged("a number in a page header never ends"))
    }

    /// A signed number of any width.
    pub(super) fn int(&mut self) -> Result<i64, Damage> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A number that counts something.
    pub(super) fn count(&mut self) -> Result<usize, Damage> {
        usize::try_from(self.int()?).map_err(|_| damaged("a page header holds a negative count"))
    }

    /// Calls `field` with the number and the type of each field of a structure; it must read or [`skip`](Self::skip) it.
    pub(super) fn fields(
        &mut self,
        mut field: impl FnMut(&mut Self, i64, u8) -> Result<(), Damage>,
    ) -> Result<(), Damage> {
        let mut id = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            id = if head >> 4 == 0 { self.int()? } else { id + i64::from(head >> 4) };
            field(self, id, head & 0x0F)?;
        }
    }

    /// Passes over a value of the given type.
    pub(super) fn skip(&mut self, kind: u8) -> Result<(), Damage> {
        self.skip_nested(kind, 0)
    }

    fn skip_nested(&mut self, kind: u8, depth: usize) -> Result<(), Damage> {
        if depth == DEEPEST {
            return Err(damaged("a page header is nested too deeply"));
        }
        match kind {
            TRUE | FALSE => Ok(()),
            3 => self.skip_bytes(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.skip_bytes(8),
            8 => {
                let length = self.varint()?;
                self.skip_bytes(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let length = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                // A boolean takes a byte in a list, but none as a field.
                let kind = if matches!(head & 0x0F, TRUE | FALSE) { 3 } else { head & 0x0F };
                (0..length).try_for_each(|_| self.skip_nested(kind, depth + 1))
            }
            STRUCT => self.fields(|thrift, _, kind| thrift.skip_nested(kind, depth + 1)),
            _ => Err(damaged("a page header holds a field of an unknown type")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_knows_and_skips_the_rest() {
        // 1: i32 -3, 2: "ab", 3: list of 2 i32, 4: true, 20: struct { 1: i64 300 }, stop
        let bytes =
            [0x15, 5, 0x18, 2, b'a', b'b', 0x19, 0x25, 2, 4, 0x11, 0x0C, 40, 0x16, 0xD8, 0x04, 0, 0, 99];
        let mut thrift = Thrift { bytes: &bytes };
        let mut seen = Vec::new();
        thrift
            .fields(|t, id, kind| {
                seen.push((id, kind));
                if id == 1 {
                    assert_eq!(t.int().unwrap(), -3);
                    return Ok(());
                }
                if kind == STRUCT {
                    return t.fields(|t, _, _| t.count().map(|n| assert_eq!(n, 300)));
                }
                t.skip(kind)
            })
            .unwrap();
        assert_eq!(seen, [(1, 5), (2, 8), (3, 9), (4, 1), (20, 12)]);
        assert_eq!(thrift.bytes, [99]);
    }

    #[test]
    fn damage_is_noticed() {
        for bytes in
            [&[0x15][..], &[0x18, 200, 1], &[0xFF; 40], &[0x1C; 40], &[0x19, 0xF5, 0xFF, 0xFF, 0xFF, 0x7F]]
        {
            assert!(Thrift { bytes }.fields(|t, _, kind| t.skip(kind)).is_err(), "{bytes:?}");
        }
    }
}
