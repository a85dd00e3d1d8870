//! The different texts of a column, numbered in the order in which they come up.

use std::hash::{BuildHasher, Hasher, RandomState};

use crate::cell::At;

/// Texts and their codes: one string that holds them all, and a hash table of codes over it.
#[derive(Clone, Default)]
pub(crate) struct Dictionary {
    text: String,
    entries: Vec<Entry>,
    /// Open addressing with a power of two of slots; a slot is a code plus one, or zero.
    table: Vec<u32>,
    /// Drawn anew for each dictionary, so that no file can be made whose texts all collide.
    seed: u64,
}

#[derive(Clone, Copy)]
struct Entry {
    end: usize,
    first: At,
}

impl Dictionary {
    /// The number of texts.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The memory that the texts and their numbers take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len() + self.entries.len() * size_of::<Entry>() + self.table.len() * size_of::<u32>()
    }

    /// The text with this code; empty for a code that was not given out.
    pub(crate) fn get(&self, code: u32) -> &str {
        let code = code as usize;
        let start = code.checked_sub(1).and_then(|c| self.entries.get(c)).map_or(0, |entry| entry.end);
        self.entries.get(code).and_then(|entry| self.text.get(start..entry.end)).unwrap_or("")
    }

    /// Where the text with this code first stood.
    pub(crate) fn first(&self, code: u32) -> Option<At> {
        self.entries.get(code as usize).map(|entry| entry.first)
    }

    /// The code of a text that is there already.
    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        if self.table.is_empty() {
            return None;
        }
        self.table[self.slot(text)].checked_sub(1)
    }

    /// The code of a text, which is added where it is new. `at` is where it stands.
    pub(crate) fn code(&mut self, text: &str, at: At) -> u32 {
        // At most half of the slots are taken, so that every search ends soon.
        if self.table.len() <= 2 * self.entries.len() {
            self.grow();
        }
        let slot = self.slot(text);
        if let Some(code) = self.table[slot].checked_sub(1) {
            return code;
        }
        let code = self.entries.len() as u32;
        self.text.push_str(text);
        self.entries.push(Entry { end: self.text.len(), first: at });
        self.table[slot] = code + 1;
        code
    }

    /// The slot that holds `text`, or the empty one where it belongs.
    fn slot(&self, text: &str) -> usize {
        let mask = self.table.len() - 1;
        let mut slot = hash(self.seed, text.as_bytes()) as usize & mask;
        loop {
            match self.table[slot].checked_sub(1) {
                Some(code) if self.get(code) != text => slot = (slot + 1) & mask,
                _ => return slot,
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        if self.table.is_empty() {
            self.seed = RandomState::new().build_hasher().finish();
        }
        self.table = vec![0; (2 * self.table.len()).max(16)];
        for code in 0..self.entries.len() as u32 {
            let slot = self.slot(self.get(code));
            self.table[slot] = code + 1;
        }
    }
}

/// A keyed hash by folded products of eight bytes at a time: a few nanoseconds for a short text.
fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let fold = |x: u64| {
        let product = u128::from(x) * 0x9E37_79B9_7F4A_7C15;
        (product as u64) ^ (product >> 64) as u64
    };
    let mut state = seed ^ bytes.len() as u64;
    let (words, _) = bytes.as_chunks::<8>();
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word));
    }
    // The last bytes once more, or all of a short text, without a copy of a length that is not known beforehand.
    let last = match (bytes.last_chunk::<8>(), bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(last), _, _) => u64::from_le_bytes(*last),
        (None, Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
        }
        _ => bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    fold(state ^ last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(row: u64) -> At {
        At { row, line: None }
    }

    #[test]
    fn texts_have_codes_in_their_order() {
        let mut texts = Dictionary::default();
        assert_eq!((texts.find("a"), texts.get(0), texts.is_empty()), (None, "", true));
        for (row, (text, code)) in
            [("b", 0), ("", 1), ("a", 2), ("b", 0), ("", 1), ("ab", 3)].into_iter().enumerate()
        {
            assert_eq!(texts.code(text, at(row as u64)), code, "{text:?}");
        }
        assert_eq!([0, 1, 2, 3].map(|code| texts.get(code)), ["b", "", "a", "ab"]);
        assert_eq!((texts.find("ab"), texts.find("ba"), texts.first(2)), (Some(3), None, Some(at(2))));
        assert_eq!((texts.get(4), texts.first(4)), ("", None));
    }

    #[test]
    fn many_texts() {
        let mut texts = Dictionary::default();
        for i in 0..20_000 {
            assert_eq!(texts.code(&format!("text {i}"), at(i)), i as u32);
        }
        for i in 0..20_000 {
            assert_eq!(texts.find(&format!("text {i}")), Some(i));
            assert_eq!(texts.get(i), format!("text {i}"));
        }
        assert_eq!(texts.len(), 20_000);
    }
}
