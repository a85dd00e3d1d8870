//! As much of the protobuf wire format as ONNX needs: a message is a run of fields, each a tag and a value. Numbers are
//! varints; texts, bytes and messages inside messages carry their length in front.

const VARINT: u64 = 0;
const DELIMITED: u64 = 2;

/// A message being written. Fields that are not written have their default, which is protobuf's rule.
#[derive(Debug, Default, Clone)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A whole number of zero or more; all those of ONNX are.
    pub(crate) fn int(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3 | VARINT);
        self.varint(value);
        self
    }

    pub(crate) fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.varint(field << 3 | DELIMITED);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    pub(crate) fn text(self, field: u64, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    pub(crate) fn message(self, field: u64, value: &Message) -> Self {
        self.bytes(field, &value.0)
    }

    /// A repeated field.
    pub(crate) fn each<T>(
        self,
        values: impl IntoIterator<Item = T>,
        write: impl Fn(Self, T) -> Self,
    ) -> Self {
        values.into_iter().fold(self, write)
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Seven bits a byte, the lowest first; the high bit says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_and_lengths() {
        let inner = Message::new().text(2, "ab");
        let bytes = Message::new().int(1, 0).int(14, 300).int(20, u64::MAX).message(7, &inner).into_bytes();
        let mut expected = vec![0x08, 0x00, 0x70, 0xac, 0x02, 0xa0, 0x01];
        expected.extend([0xff; 9]);
        expected.extend([0x01, 0x3a, 0x04, 0x12, 0x02, b'a', b'b']);
        assert_eq!(bytes, expected);
    }
}
