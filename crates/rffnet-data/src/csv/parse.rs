//! A chunk of records becomes a block of rows. Numbers are parsed while looking for the end of their cells; everything else
//! takes a slower path.

use std::borrow::Cow;

use crate::amounts::Writing;
use crate::block::{Block, Shape};
use crate::cell::{self, At, Fault, classify};
use crate::dates::{self, Order};
use crate::number;
use crate::packed::{Packed, PackedWide};
use crate::words;

/// What is done with a cell, by its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Skip,
    Input(usize, Reading),
    Target(Reading),
    Weight,
}

/// What the cells of a column are expected to be. Those that are something else become texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    Number,
    Amount(Writing),
    Date(Order),
    Text,
}

/// How the records of a file are read.
pub(crate) struct Plan {
    /// A blank stands for runs of blanks and tabs.
    pub(crate) delimiter: u8,
    /// Whether lines that start with `#` are comments.
    pub(crate) comments: bool,
    /// One per column.
    pub(crate) actions: Vec<Action>,
    /// One per column: its place among the kept ones. Empty if none is kept.
    pub(crate) kept: Vec<Option<usize>>,
    pub(crate) shape: Shape,
}

/// A fault of the text itself, or of a weight; rows and lines count from the start of the chunk.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    pub(crate) at: At,
    pub(crate) what: What,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Another number of cells than columns, and whether the record has several lines.
    Ragged {
        cells: usize,
        lines: bool,
    },
    /// The quote of this cell, counted from 1, is never closed.
    OpenQuote {
        cell: usize,
    },
    /// There is a quote in the middle of a cell that does not start with one.
    InnerQuote {
        column: usize,
        cell: String,
    },
    /// Text after a closing quote.
    AfterQuote {
        column: usize,
        cell: String,
    },
    Weight {
        column: usize,
        cell: String,
        fault: Fault,
    },
    NotUtf8,
    /// So many bytes of the chunk stand before it.
    Nul {
        before: usize,
    },
}

/// Parses whole records. Rows that come before a flaw are checked first, so that the first flaw is the one that is named.
pub(crate) fn parse(bytes: &[u8], plan: &Plan) -> Result<Block, Flaw> {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => return parse_text(text, plan),
        Ok(_) => bytes.len(),
        Err(error) => error.valid_up_to(),
    };
    let nul = bytes.iter().position(|&b| b == 0);
    let end = nul.map_or(valid, |nul| nul.min(valid));
    let start = bytes[..end].iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
    if let Ok(text) = std::str::from_utf8(&bytes[..start]) {
        // A quote that is open here may be closed by what cannot be read.
        if let Err(flaw) = parse_text(text, plan)
            && !matches!(flaw.what, What::OpenQuote { .. })
        {
            return Err(flaw);
        }
    }
    let line = bytes[..start].iter().filter(|&&b| b == b'\n').count() as u64 + 1;
    let what = if nul == Some(end) { What::Nul { before: end } } else { What::NotUtf8 };
    Err(Flaw { at: At { row: 0, line: Some(line) }, what })
}

fn parse_text(text: &str, plan: &Plan) -> Result<Block, Flaw> {
    if plan.delimiter == b' ' {
        return Parser::new(&squeezed(text, plan.comments), plan).run();
    }
    Parser::new(text, plan).run()
}

/// Runs of blanks and tabs outside quotes as one blank, and none at the ends of lines. The quotes of a comment mean nothing.
pub(crate) fn squeezed(text: &str, comments: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut quoted, mut blank, mut comment, mut start) = (false, false, false, true);
    for c in text.chars() {
        comment |= comments && start && c == '#';
        quoted ^= c == '"' && !comment;
        start = !quoted && matches!(c, '\n' | '\r');
        comment &= !start;
        if !quoted && matches!(c, ' ' | '\t') {
            blank = true;
            continue;
        }
        if blank && !matches!(c, '\n' | '\r') && !out.is_empty() && !out.ends_with(['\n', '\r']) {
            out.push(' ');
        }
        blank = false;
        out.push(c);
    }
    out
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    plan: &'a Plan,
    /// The next byte.
    at: usize,
    /// The line of the next byte, from 1.
    line: u64,
    block: Block,
}

/// A cell that is not a plain number.
struct Cell<'a> {
    /// Trimmed, without its quotes.
    text: Cow<'a, str>,
    /// Where the delimiter or line end after it is.
    end: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, plan: &'a Plan) -> Self {
        let bytes = text.as_bytes();
        Parser { text, bytes, plan, at: 0, line: 1, block: Block::new(plan.shape) }
    }

    fn run(mut self) -> Result<Block, Flaw> {
        // An estimate that spares most of the growing.
        let cells = self.bytes.len() / 8;
        self.block.cells.reserve(cells);
        while self.skip_to_record() {
            self.record()?;
        }
        self.block.lines = self.line - 1;
        Ok(self.block)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Passes blank lines and comments; false at the end.
    fn skip_to_record(&mut self) -> bool {
        loop {
            match self.peek() {
                None => return false,
                Some(b'\n' | b'\r') => self.pass_line_end(),
                Some(b'#') if self.plan.comments && !self.is_row() => {
                    self.at = self.line_end();
                    self.block.comments += 1;
                }
                // A line of blanks is not a row, unless rows are single cells.
                Some(b' ' | b'\t') if self.plan.actions.len() > 1 => {
                    let end = self.line_end();
                    if !self.text[self.at..end].trim().is_empty()
                        || self.text[self.at..end].contains('\t') && self.plan.delimiter == b'\t'
                    {
                        return true;
                    }
                    self.at = end;
                }
                Some(_) => return true,
            }
        }
    }

    /// Whether a line that starts with `#` is a row all the same: it has as many cells as the others.
    fn is_row(&self) -> bool {
        let line = &self.bytes[self.at..self.line_end()];
        let delimiters = line.iter().filter(|&&b| b == self.plan.delimiter).count();
        self.plan.actions.len() > 1 && delimiters + 1 == self.plan.actions.len() && !line.contains(&b'"')
    }

    /// Where the current line ends.
    fn line_end(&self) -> usize {
        let rest = &self.bytes[self.at..];
        rest.iter().position(|b| matches!(b, b'\n' | b'\r')).map_or(self.bytes.len(), |n| self.at + n)
    }

    fn pass_line_end(&mut self) {
        if self.peek() == Some(b'\r') {
            self.at += 1;
            if self.peek() != Some(b'\n') {
                self.line += 1;
                return;
            }
        }
        self.at += 1;
        self.line += 1;
    }

    fn record(&mut self) -> Result<(), Flaw> {
        let plan = self.plan;
        let (start, line) = (self.at, self.line);
        self.block.rows += 1;
        let place = At { row: self.block.rows as u64, line: Some(line) };
        let base = self.block.cells.len();
        self.block.cells.resize(base + plan.shape.inputs, Packed::GAP);
        let last = plan.actions.len() - 1;
        for (i, action) in plan.actions.iter().enumerate() {
            self.cell(i, action, base, place)?;
            match self.peek() {
                Some(b) if b == plan.delimiter && i < last => self.at += 1,
                None | Some(b'\n' | b'\r') if i == last => {}
                _ => return Err(self.ragged(start, line, place)),
            }
        }
        if self.at < self.bytes.len() {
            self.pass_line_end();
        }
        Ok(())
    }

    #[inline(always)]
    fn cell(&mut self, column: usize, action: &Action, base: usize, place: At) -> Result<(), Flaw> {
        let start = self.at;
        match *action {
            Action::Input(k, Reading::Number) => {
                if let Some(decimal) = number::scan(self.bytes, start).filter(|d| self.is_end(d.end))
                    && let Some(value) = decimal.narrow()
                {
                    self.block.cells[base + k] = Packed::number(value);
                    self.at = decimal.end;
                } else {
                    let cell = self.slow(column, place)?;
                    self.at = cell.end;
                    self.block.cells[base + k] = self.input(k, &cell.text, Reading::Number, place);
                }
            }
            Action::Input(k, reading) => {
                let cell = self.slow(column, place)?;
                self.at = cell.end;
                self.block.cells[base + k] = self.input(k, &cell.text, reading, place);
            }
            Action::Target(reading) => {
                let cell = self.slow(column, place)?;
                self.at = cell.end;
                let packed = self.target(&cell.text, reading, place);
                self.block.target.push(packed);
            }
            Action::Weight => {
                let cell = self.slow(column, place)?;
                self.at = cell.end;
                let weight = cell::weight(classify(&cell.text)).map_err(|fault| Flaw {
                    at: place,
                    what: What::Weight { column, cell: cell.text.to_string(), fault },
                })?;
                self.block.weight.push(weight);
            }
            Action::Skip => self.at = self.slow(column, place)?.end,
        }
        if let Some(Some(k)) = self.plan.kept.get(column) {
            let end = std::mem::replace(&mut self.at, start);
            let text = self.slow(column, place)?.text.into_owned();
            self.at = end;
            self.block.kept[*k].push(text);
        }
        Ok(())
    }

    /// Whether a cell ends here.
    #[inline(always)]
    fn is_end(&self, at: usize) -> bool {
        match self.bytes.get(at) {
            None => true,
            Some(&b) => b == self.plan.delimiter || b == b'\n' || b == b'\r',
        }
    }

    fn input(&mut self, k: usize, text: &str, reading: Reading, place: At) -> Packed {
        if words::is_gap(text) {
            return self.block.gap(k, text, place);
        }
        let number = match reading {
            Reading::Number => text.parse::<f32>().ok(),
            Reading::Amount(writing) => writing.value(text).map(|v| v as f32),
            Reading::Date(order) => dates::parse(text, order).map(|v| v as f32),
            Reading::Text => None,
        };
        match number.filter(|v| v.is_finite()) {
            Some(value) => Packed::number(value),
            None => self.block.text(k, text, place),
        }
    }

    fn target(&mut self, text: &str, reading: Reading, place: At) -> PackedWide {
        if words::is_gap(text) {
            return self.block.target_gap(text, place);
        }
        let number = match reading {
            Reading::Number => {
                let fast =
                    number::scan(text.as_bytes(), 0).filter(|d| d.end == text.len()).and_then(|d| d.wide());
                fast.or_else(|| text.parse::<f64>().ok())
            }
            Reading::Amount(writing) => writing.value(text),
            Reading::Date(_) | Reading::Text => None,
        };
        match number.filter(|v| v.is_finite()) {
            Some(value) => PackedWide::number(value),
            None => self.block.target_text(text, place),
        }
    }

    /// The cell that starts here, whatever it holds. Counts the lines that it spans.
    fn slow(&mut self, column: usize, place: At) -> Result<Cell<'a>, Flaw> {
        let mut first = self.at;
        while let Some(b' ' | b'\t') = self.bytes.get(first).filter(|b| **b != self.plan.delimiter) {
            first += 1;
        }
        if self.bytes.get(first) == Some(&b'"') {
            return self.quoted(first + 1, column, place);
        }
        let (mut end, mut quote) = (first, false);
        while !self.is_end(end) {
            quote |= self.bytes[end] == b'"';
            end += 1;
        }
        let text = self.text[first..end].trim();
        if quote {
            return Err(Flaw { at: place, what: What::InnerQuote { column, cell: text.to_string() } });
        }
        Ok(Cell { text: text.into(), end })
    }

    /// A cell whose text begins after a quote.
    fn quoted(&mut self, first: usize, column: usize, place: At) -> Result<Cell<'a>, Flaw> {
        let (mut end, mut doubled) = (first, false);
        let close = loop {
            let Some(quote) = self.bytes[end..].iter().position(|&b| b == b'"').map(|n| end + n) else {
                return Err(Flaw { at: place, what: What::OpenQuote { cell: column + 1 } });
            };
            if self.bytes.get(quote + 1) != Some(&b'"') {
                break quote;
            }
            (end, doubled) = (quote + 2, true);
        };
        let inner = &self.text[first..close];
        self.line += inner.bytes().filter(|&b| b == b'\n').count() as u64;
        let mut end = close + 1;
        while !self.is_end(end) {
            if !matches!(self.bytes[end], b' ' | b'\t') {
                return Err(Flaw { at: place, what: What::AfterQuote { column, cell: inner.to_string() } });
            }
            end += 1;
        }
        let text =
            if doubled { inner.replace("\"\"", "\"").trim().to_string().into() } else { inner.trim().into() };
        Ok(Cell { text, end })
    }

    #[cold]
    fn ragged(&mut self, start: usize, line: u64, place: At) -> Flaw {
        (self.at, self.line) = (start, line);
        let mut cells = 0;
        loop {
            match self.slow(cells, place) {
                Err(flaw) => return flaw,
                Ok(cell) => self.at = cell.end,
            }
            cells += 1;
            if self.peek() != Some(self.plan.delimiter) {
                break;
            }
            self.at += 1;
        }
        Flaw { at: place, what: What::Ragged { cells, lines: self.line > line } }
    }
}
