//! Text cut into chunks of whole records, so that they can be parsed side by side.

use rffnet::text::count;

use crate::MAX_COLUMNS;
use crate::error::DataError;
use crate::input::Input;

/// No number and no class name is longer than this; a cell that is comes from an open quote or another format.
const MAX_CELL: usize = 1 << 20;
/// A million columns of 64 characters.
const MAX_RECORD: usize = 64 << 20;

pub(crate) struct Chunks<'a> {
    input: Input<'a>,
    /// What has been read and not been given out.
    pending: Vec<u8>,
    /// Bytes given out before `pending`.
    passed: u64,
    /// Lines given out before `pending`.
    lines: u64,
    line_end: u8,
    /// Whether lines that start with `#` are comments, whose quotes mean nothing.
    comments: bool,
    ended: bool,
}

/// Whole records.
pub(crate) struct Chunk {
    pub(crate) bytes: Vec<u8>,
    /// How many bytes of the file stand before it.
    pub(crate) start: u64,
}

impl<'a> Chunks<'a> {
    /// Takes over a text, and reads on until the first `n` bytes are there and at least `records` records.
    pub(crate) fn new(mut input: Input<'a>, n: usize, records: usize) -> Result<Self, DataError> {
        input.pass_byte_order_mark()?;
        let passed = input.passed();
        let mut chunks = Chunks {
            input,
            pending: Vec::new(),
            passed,
            lines: 0,
            line_end: b'\n',
            comments: true,
            ended: false,
        };
        let mut want = n;
        loop {
            chunks.fill(want)?;
            // Old files end their lines with a carriage return alone.
            let line_feeds = count_of(&chunks.pending, b'\n');
            let alone = count_of(&chunks.pending, b'\r') > 2 * line_feeds;
            chunks.line_end = if alone { b'\r' } else { b'\n' };
            if chunks.ended || record_ends(&chunks.pending, chunks.line_end, true).nth(records).is_some() {
                return Ok(chunks);
            }
            chunks.check_limits()?;
            want = 2 * chunks.pending.len();
        }
    }

    /// Says whether lines that start with `#` are comments, once that is known.
    pub(crate) fn set_comments(&mut self, comments: bool) {
        self.comments = comments;
    }

    pub(crate) fn source(&self) -> &str {
        self.input.source()
    }

    /// What is about to be given out.
    pub(crate) fn pending(&self) -> &[u8] {
        &self.pending
    }

    pub(crate) fn line_end(&self) -> u8 {
        self.line_end
    }

    /// Whether the text ends with what is pending.
    pub(crate) fn is_whole(&self) -> bool {
        self.ended
    }

    /// How many bytes have been given out.
    pub(crate) fn passed(&self) -> u64 {
        self.passed
    }

    /// Passes over the first bytes of what is pending.
    pub(crate) fn skip(&mut self, n: usize) {
        self.lines += lines_in(&self.pending[..n], self.line_end);
        self.pending.drain(..n);
        self.passed += n as u64;
    }

    /// The size of the whole text, where it is known before its end.
    pub(crate) fn size(&self) -> Option<u64> {
        self.input.size()
    }

    /// The next chunk: about `size` bytes, or one record if that is longer. `None` at the end.
    pub(crate) fn next(&mut self, size: usize) -> Result<Option<Chunk>, DataError> {
        let mut want = size.max(1);
        loop {
            self.fill(want)?;
            let all = self.ended && self.pending.len() <= want;
            let end = if all {
                Some(self.pending.len())
            } else {
                let pending = &self.pending[..want.min(self.pending.len())];
                last_record_end(pending, self.line_end, self.comments)
            };
            if let Some(end) = end {
                if end == 0 {
                    return Ok(None);
                }
                let rest = self.pending.split_off(end);
                let chunk = Chunk { bytes: std::mem::replace(&mut self.pending, rest), start: self.passed };
                self.passed += end as u64;
                self.lines += lines_in(&chunk.bytes, self.line_end);
                return Ok(Some(chunk));
            }
            if want > MAX_CELL {
                self.check_limits()?;
            }
            want *= 2;
        }
    }

    fn fill(&mut self, n: usize) -> Result<(), DataError> {
        while !self.ended && self.pending.len() < n {
            let more = n - self.pending.len();
            self.ended = self.input.append_directly(more, &mut self.pending)? == 0;
        }
        Ok(())
    }

    /// Refuses a record that began with what is pending and has no end yet, if it is too long.
    fn check_limits(&self) -> Result<(), DataError> {
        let (mut cells, mut start, mut quoted) = (1, 0, false);
        for (i, &byte) in self.pending.iter().enumerate() {
            if byte == b'"' {
                quoted = !quoted;
            } else if !quoted && byte == self.line_end {
                (cells, start) = (1, i + 1);
            } else if !quoted && matches!(byte, b',' | b';' | b'\t' | b'|') {
                (cells, start) = (cells + 1, i + 1);
            }
            let limit = if i - start.min(i) > MAX_CELL {
                format!(
                    "cell {cells} on line {} is longer than {} characters",
                    self.line(start),
                    count(MAX_CELL)
                )
            } else if cells > MAX_COLUMNS {
                return Err(DataError::format(format!(
                    "{}: line {} has more than {} columns; check that the file has one row per line",
                    self.source(),
                    self.line(start),
                    count(MAX_COLUMNS)
                )));
            } else if i > MAX_RECORD {
                format!("the row on line {} is longer than {} characters", self.line(0), count(MAX_RECORD))
            } else {
                continue;
            };
            return Err(DataError::format(format!(
                "{}: {limit}; check that the file is text with one row per line and that every quote is closed",
                self.source()
            )));
        }
        Ok(())
    }

    /// The line of a pending byte.
    fn line(&self, at: usize) -> u64 {
        1 + self.lines + lines_in(&self.pending[..at], self.line_end)
    }
}

fn lines_in(bytes: &[u8], line_end: u8) -> u64 {
    count_of(bytes, line_end) as u64
}

/// How often a byte comes up. The counts of short pieces fit into single bytes, of which a register holds many.
fn count_of(bytes: &[u8], wanted: u8) -> usize {
    let short = |piece: &[u8]| piece.iter().map(|&b| u8::from(b == wanted)).sum::<u8>();
    bytes.chunks(224).map(|piece| usize::from(short(piece))).sum()
}

/// Where records end: after line ends outside quotes. The quotes of a comment mean nothing.
pub(crate) fn record_ends(bytes: &[u8], line_end: u8, comments: bool) -> impl Iterator<Item = usize> {
    let (mut quoted, mut comment, mut start) = (false, false, true);
    bytes.iter().enumerate().filter_map(move |(i, &byte)| {
        comment |= start && comments && byte == b'#';
        quoted ^= byte == b'"' && !comment;
        start = byte == line_end && !quoted;
        comment &= !start;
        start.then_some(i + 1)
    })
}

/// The end of the last record that is whole. The quotes are counted at first, which is fast, and then again from the end:
/// a line end has as many before it as there are less those after it.
fn last_record_end(bytes: &[u8], line_end: u8, comments: bool) -> Option<usize> {
    let quotes = count_of(bytes, b'"');
    if comments && quotes > 0 && bytes.contains(&b'#') {
        return record_ends(bytes, line_end, true).last();
    }
    let mut quoted = quotes % 2 == 1;
    for (i, &byte) in bytes.iter().enumerate().rev() {
        if byte == line_end && !quoted {
            return Some(i + 1);
        }
        quoted ^= byte == b'"';
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(text: &str, size: usize) -> Vec<String> {
        let mut chunks = Chunks::new(Input::new(text.as_bytes(), "t"), 4, 1).unwrap();
        let mut out = Vec::new();
        while let Some(chunk) = chunks.next(size).unwrap() {
            assert_eq!(chunk.start, out.iter().map(String::len).sum::<usize>() as u64);
            out.push(String::from_utf8(chunk.bytes).unwrap());
        }
        out
    }

    #[test]
    fn chunks_end_where_records_do() {
        let text = "a,b\n1,\"x\ny\"\n\"\"\"\n\",2\n3,4";
        for size in 1..40 {
            let parts = chunks(text, size);
            assert_eq!(parts.concat(), text);
            let starts = ["a,b\n", "1,\"x\ny\"\n", "\"\"\"\n\",2\n", "3,4"];
            assert!(
                parts.iter().all(|part| starts.iter().any(|start| part.starts_with(start))),
                "{size}: {parts:?}"
            );
        }
        assert_eq!(chunks(text, 1).len(), 4);
        assert_eq!(chunks("a\rb\rc", 1), ["a\r", "b\r", "c"]);
        assert!(chunks("", 1).is_empty());
    }
}
