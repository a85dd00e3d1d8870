//! Records of delimited text: quotes, line ends and limits, nothing about numbers.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use rffnet::text::count;

use crate::MAX_COLUMNS;
use crate::cell::decimal_comma;
use crate::error::DataError;
use crate::input::{BLOCK, Input};

/// No number and no class name is longer than this; a cell that is comes from an open quote or another
/// format.
const MAX_CELL: usize = 1 << 20;
/// A million columns of 64 characters.
const MAX_RECORD: usize = 64 << 20;

/// Reads records one at a time into buffers that are reused.
pub(crate) struct Records<'a> {
    input: Input<'a>,
    core: Reader,
    /// The cells of the current record, unquoted, without delimiters.
    cells: Vec<u8>,
    ends: Vec<usize>,
    /// Line ends passed outside of `core`.
    skipped_lines: u64,
}

/// One record; cell `i` is `text[ends[i - 1]..ends[i]]`.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    pub(crate) text: &'a str,
    pub(crate) ends: &'a [usize],
    /// The line it starts on.
    pub(crate) line: u64,
    /// The line it ends on: another one if a quoted cell holds line ends.
    pub(crate) last_line: u64,
}

impl<'a> Records<'a> {
    pub(crate) fn new(mut input: Input<'a>) -> Result<Self, DataError> {
        input.expect_text()?;
        let delimiter = find_delimiter(input.peek(BLOCK)?);
        Ok(Records {
            input,
            core: ReaderBuilder::new().delimiter(delimiter).build(),
            cells: vec![0; 4096],
            ends: vec![0; 64],
            skipped_lines: 0,
        })
    }

    pub(crate) fn source(&self) -> &str {
        self.input.source()
    }

    /// The next record that is not a blank line; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>, DataError> {
        self.skip_line_ends()?;
        let line = self.core.line() + self.skipped_lines;
        let (mut nout, mut nend) = (0, 0);
        loop {
            let block = self.input.block()?;
            let (result, read, wrote, ended) =
                self.core.read_record(block, &mut self.cells[nout..], &mut self.ends[nend..]);
            self.input.consume(read);
            nout += wrote;
            nend += ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.grow_cells(nout, nend, line)?,
                ReadRecordResult::OutputEndsFull => self.grow_ends(nend, line)?,
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return Ok(None),
            }
        }
        let Ok(text) = std::str::from_utf8(&self.cells[..nout]) else {
            return Err(not_utf8(self.input.source(), line));
        };
        // `core` counts a line when it passes its end, which for the last line of a record it has not always
        // done.
        let last_line = self.core.line() + self.skipped_lines;
        Ok(Some(Record { text, ends: &self.ends[..nend], line, last_line }))
    }

    /// Passes blank lines here, so that a record's first line is known.
    fn skip_line_ends(&mut self) -> Result<(), DataError> {
        loop {
            let block = self.input.block()?;
            let n = block.iter().take_while(|b| matches!(b, b'\n' | b'\r')).count();
            if n == 0 {
                return Ok(());
            }
            self.skipped_lines += block[..n].iter().filter(|&&b| b == b'\n').count() as u64;
            self.input.consume(n);
        }
    }

    fn grow_cells(&mut self, nout: usize, nend: usize, line: u64) -> Result<(), DataError> {
        let start = if nend == 0 { 0 } else { self.ends[nend - 1] };
        let limit = if nout - start > MAX_CELL {
            format!("cell {} on line {line} is longer than {} characters", nend + 1, count(MAX_CELL))
        } else if nout >= MAX_RECORD {
            format!("the row on line {line} is longer than {} characters", count(MAX_RECORD))
        } else {
            self.cells.resize(2 * self.cells.len(), 0);
            return Ok(());
        };
        Err(DataError::format(format!(
            "{}: {limit}; check that the file is text with one row per line and that every quote is closed",
            self.input.source()
        )))
    }

    fn grow_ends(&mut self, nend: usize, line: u64) -> Result<(), DataError> {
        if nend > MAX_COLUMNS {
            return Err(DataError::format(format!(
                "{}: line {line} has more than {} columns; check that the file has one row per line",
                self.input.source(),
                count(MAX_COLUMNS)
            )));
        }
        self.ends.resize(2 * self.ends.len(), 0);
        Ok(())
    }
}

pub(crate) fn not_utf8(source: &str, line: u64) -> DataError {
    DataError::format(format!("{source}: line {line} is not UTF-8 text; save the file as UTF-8"))
}

impl<'a> Record<'a> {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Cell `i`, if there is one.
    pub(crate) fn cell(&self, i: usize) -> Option<&'a str> {
        let start = if i == 0 { 0 } else { *self.ends.get(i - 1)? };
        self.text.get(start..*self.ends.get(i)?)
    }

    /// The cells. `None` for a cell that splits a character, which happens where two cells are only together
    /// UTF-8.
    pub(crate) fn cells(self) -> impl Iterator<Item = Option<&'a str>> {
        let mut start = 0;
        self.ends.iter().map(move |&end| self.text.get(std::mem::replace(&mut start, end)..end))
    }
}

/// The first record, kept while the second is read.
pub(crate) struct KeptRecord {
    text: String,
    ends: Vec<usize>,
    line: u64,
    last_line: u64,
}

impl KeptRecord {
    pub(crate) fn new(record: Record<'_>) -> Self {
        KeptRecord {
            text: record.text.to_string(),
            ends: record.ends.to_vec(),
            line: record.line,
            last_line: record.last_line,
        }
    }

    pub(crate) fn get(&self) -> Record<'_> {
        Record { text: &self.text, ends: &self.ends, line: self.line, last_line: self.last_line }
    }
}

/// The delimiter of a file by its first line: the most frequent of comma, semicolon and tab outside quotes.
fn find_delimiter(start: &[u8]) -> u8 {
    let mut counts = [0usize; 3];
    let mut quoted = false;
    let mut line_end = start.len();
    let blank = start.iter().take_while(|b| matches!(b, b'\n' | b'\r')).count();
    for (i, &byte) in start.iter().enumerate().skip(blank) {
        match byte {
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b',' => counts[0] += 1,
            b';' => counts[1] += 1,
            b'\t' => counts[2] += 1,
            b'\n' | b'\r' => {
                line_end = i;
                break;
            }
            _ => {}
        }
    }
    let [commas, semicolons, tabs] = counts;
    if tabs > 0 && tabs >= commas.max(semicolons) {
        b'\t'
    } else if semicolons > commas || (semicolons > 0 && decimal_commas(&start[..line_end])) {
        b';'
    } else if tabs > commas {
        b'\t'
    } else {
        b','
    }
}

/// `1,5;2,5;3`: there are more commas than semicolons, and still the semicolons part the cells.
fn decimal_commas(line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else { return false };
    line.split(';').all(|cell| decimal_comma(cell) || cell.trim().parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<(u64, Vec<String>)>, String> {
        let mut records = Records::new(Input::new(bytes, "t.csv")).map_err(|e| e.to_string())?;
        let mut out = Vec::new();
        while let Some(record) = records.next().map_err(|e| e.to_string())? {
            out.push((record.line, record.cells().map(|c| c.unwrap_or("<split>").to_string()).collect()));
        }
        Ok(out)
    }

    fn row(line: u64, cells: &[&str]) -> (u64, Vec<String>) {
        (line, cells.iter().map(|c| c.to_string()).collect())
    }

    #[test]
    fn line_ends_quotes_and_blank_lines() {
        let text = b"\xEF\xBB\xBFa,\"b,\"\"c\"\r\n\r\n1,2\n\n\n3,\"x\ny\"\n4,5";
        assert_eq!(
            all(text).unwrap(),
            [row(1, &["a", "b,\"c"]), row(3, &["1", "2"]), row(6, &["3", "x\ny"]), row(8, &["4", "5"])]
        );
    }

    #[test]
    fn delimiters() {
        for (text, delimiter) in [
            ("a,b,c\n", b','),
            ("a;b;c\n1,5;2;3", b';'),
            ("a\tb\tc", b'\t'),
            ("a\tb, c\n", b'\t'),
            ("\"x;y;z\",b", b','),
            ("1,5;2,5;3,5", b';'),
            ("a", b','),
            ("", b','),
            ("\n\na;b", b';'),
        ] {
            assert_eq!(find_delimiter(text.as_bytes()) as char, delimiter as char, "{text:?}");
        }
    }

    #[test]
    fn limits_are_sentences() {
        let message = all(&vec![b'7'; 10_000_000]).unwrap_err();
        assert!(message.contains("cell 1 on line 1 is longer than 1,048,576 characters"), "{message}");
        let message = all(&b"1,".repeat(5_000_000)).unwrap_err();
        assert!(message.contains("line 1 has more than 1,000,000 columns"), "{message}");
        let mut open_quote = b"a,b\n1,\"".to_vec();
        open_quote.extend(b"2,3\n".repeat(1_000_000));
        let message = all(&open_quote).unwrap_err();
        assert!(message.contains("cell 2 on line 2 is longer") && message.contains("quote"), "{message}");
    }

    #[test]
    fn long_rows_within_the_limits() {
        let cell = "123456".repeat(50);
        let line = vec![cell.as_str(); 5000].join(",");
        let rows = all(line.as_bytes()).unwrap();
        assert_eq!(rows[0].1.len(), 5000);
        assert!(rows[0].1.iter().all(|c| *c == cell));
    }

    #[test]
    fn bytes_that_are_not_text() {
        assert_eq!(
            all(b"a,b\n1,\xFF\n").unwrap_err(),
            "t.csv: line 2 is not UTF-8 text; save the file as UTF-8"
        );
        assert!(all(b"a\0,\0b\0").unwrap_err().contains("UTF-16"));
        // Two halves of one character in two cells.
        assert_eq!(all(b"\xC3,\xA9\n").unwrap(), [row(1, &["<split>", "<split>"])]);
    }
}
