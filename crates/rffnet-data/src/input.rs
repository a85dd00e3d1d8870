//! Bytes with a fixed buffer: a look ahead for sniffing, then blocks for the readers.

use std::io::{self, Read};

use rffnet::text::count;

use crate::error::DataError;

/// One block; also how far sniffing can look ahead.
pub(crate) const BLOCK: usize = 64 * 1024;

pub(crate) struct Input<'a> {
    reader: Box<dyn Read + 'a>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    passed: u64,
    source: String,
    /// What the bytes were compressed with.
    codec: Option<&'static str>,
    text: bool,
    size: Option<u64>,
    /// Not asked again after its end: a terminal would wait for more.
    ended: bool,
}

impl<'a> Input<'a> {
    pub(crate) fn new(reader: impl Read + 'a, source: &str) -> Self {
        Input {
            reader: Box::new(reader),
            buffer: vec![0; BLOCK],
            start: 0,
            end: 0,
            passed: 0,
            source: source.to_string(),
            codec: None,
            text: false,
            size: None,
            ended: false,
        }
    }

    /// The same source, decompressed (all members of a concatenated file).
    pub(crate) fn gunzip(self) -> Self {
        let source = self.source.clone();
        let mut input = Input::new(flate2::read::MultiGzDecoder::new(self), &source);
        input.codec = Some("gzip");
        input
    }

    /// The same source, decompressed (all frames of a concatenated file).
    pub(crate) fn unzstd(self) -> Result<Self, DataError> {
        let source = self.source.clone();
        let decoder = zstd::stream::read::Decoder::new(self).map_err(|e| {
            DataError::io(format!("{source} could not be decompressed ({e}); free some memory"), e)
        })?;
        let mut input = Input::new(decoder, &source);
        input.codec = Some("zstd");
        Ok(input)
    }

    /// As messages name it.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// How many bytes have been consumed.
    pub(crate) fn passed(&self) -> u64 {
        self.passed
    }

    /// The number of bytes in all, where it is known and worth anything: not of compressed files.
    pub(crate) fn size(&self) -> Option<u64> {
        self.size
    }

    /// Says how many bytes there are.
    pub(crate) fn with_size(mut self, size: Option<u64>) -> Self {
        self.size = size;
        self
    }

    /// Passes over the byte order mark of UTF-8, if there is one.
    pub(crate) fn pass_byte_order_mark(&mut self) -> Result<(), DataError> {
        if self.peek(3)? == b"\xEF\xBB\xBF" {
            self.consume(3);
        }
        Ok(())
    }

    /// From here on the bytes must be text, perhaps behind a byte order mark: a NUL byte is an error.
    pub(crate) fn expect_text(&mut self) -> Result<(), DataError> {
        self.pass_byte_order_mark()?;
        self.text = true;
        self.refuse_nul(self.start)
    }

    /// The next bytes without consuming them: `n` of them (at most a block), fewer only at the end of the
    /// file.
    pub(crate) fn peek(&mut self, n: usize) -> Result<&[u8], DataError> {
        let n = n.min(BLOCK);
        while self.end - self.start < n && self.more()? {}
        Ok(&self.buffer[self.start..self.end.min(self.start + n)])
    }

    /// The bytes at hand, read from the source if there are none; empty at the end of the file.
    pub(crate) fn block(&mut self) -> Result<&[u8], DataError> {
        if self.start == self.end {
            self.more()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    pub(crate) fn consume(&mut self, n: usize) {
        let n = n.min(self.end - self.start);
        self.start += n;
        self.passed += n as u64;
    }

    /// Up to `n` further bytes, appended to `out`, which grows only as bytes arrive. Returns how many came.
    pub(crate) fn append(&mut self, n: usize, out: &mut Vec<u8>) -> Result<usize, DataError> {
        let mut got = 0;
        while got < n {
            let block = self.block()?;
            if block.is_empty() {
                break;
            }
            let m = block.len().min(n - got);
            out.extend_from_slice(&block[..m]);
            self.consume(m);
            got += m;
        }
        Ok(got)
    }

    /// Up to `n` further bytes at the end of `out`, as many as come at once, past the buffer where it is empty. Returns how
    /// many came: none only at the end of the file.
    pub(crate) fn append_directly(&mut self, n: usize, out: &mut Vec<u8>) -> Result<usize, DataError> {
        if self.start < self.end {
            let n = n.min(self.end - self.start);
            out.extend_from_slice(&self.buffer[self.start..self.start + n]);
            self.consume(n);
            return Ok(n);
        }
        if self.ended {
            return Ok(0);
        }
        let got = (&mut self.reader).take(n as u64).read_to_end(out);
        let got = got.map_err(|e| self.read_error(e))?;
        self.passed += got as u64;
        self.ended = got < n;
        Ok(got)
    }

    /// Reads once into the free part of the buffer; false at the end of the file.
    fn more(&mut self) -> Result<bool, DataError> {
        if self.ended {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let n = read_once(&mut *self.reader, &mut self.buffer[self.end..]).map_err(|e| self.read_error(e))?;
        self.ended = n == 0;
        let fresh = self.end;
        self.end += n;
        if self.text {
            self.refuse_nul(fresh)?;
        }
        Ok(n > 0)
    }

    fn refuse_nul(&self, from: usize) -> Result<(), DataError> {
        match self.buffer[from..self.end].iter().position(|&b| b == 0) {
            None => Ok(()),
            Some(i) => Err(DataError::format(format!(
                "{}: byte {} is NUL, so this is not plain text; if it is UTF-16, save it as UTF-8",
                self.source,
                count(self.passed + (from - self.start + i) as u64 + 1)
            ))),
        }
    }

    fn read_error(&self, error: io::Error) -> DataError {
        let sentence = if let Some(codec) = self.codec {
            format!(
                "{}: the {codec} data is damaged or cut short after {} decompressed bytes ({error}); fetch or \
                 compress the file again",
                self.source,
                count(self.passed + (self.end - self.start) as u64)
            )
        } else {
            format!("{} could not be read ({error}); check the file and the disk", self.source)
        };
        DataError::io(sentence, error)
    }
}

/// What is left of an input, for the decompressor that takes it over.
impl Read for Input<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.start == self.end && !self.ended {
            return read_once(&mut *self.reader, out);
        }
        let n = out.len().min(self.end - self.start);
        out[..n].copy_from_slice(&self.buffer[self.start..self.start + n]);
        self.consume(n);
        Ok(n)
    }
}

fn read_once(reader: &mut dyn Read, out: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(out) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            // A reader that claims more than it was given room for must not lead out of the buffer.
            result => return result.map(|n| n.min(out.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source that gives one byte at a time, as a slow pipe may.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = out.len().min(self.0.len()).min(1);
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn looks_ahead_without_losing_bytes() {
        let mut input = Input::new(Drip(b"hello world"), "t");
        assert_eq!(input.peek(5).unwrap(), b"hello");
        assert_eq!(input.peek(100).unwrap(), b"hello world");
        input.consume(6);
        let mut out = Vec::new();
        assert_eq!(input.append(100, &mut out).unwrap(), 5);
        assert_eq!(out, b"world");
        assert_eq!(input.passed(), 11);
        assert!(input.block().unwrap().is_empty());
    }

    #[test]
    fn nul_is_not_text() {
        let mut input = Input::new(&b"ab\0c"[..], "t");
        input.peek(4).unwrap();
        let message = input.expect_text().unwrap_err().to_string();
        assert!(message.contains("byte 3 is NUL") && message.contains("UTF-16"), "{message}");
    }
}
