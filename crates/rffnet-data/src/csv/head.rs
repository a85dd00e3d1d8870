//! The first records of a file: what separates cells, where the names are, which lines are comments.

use std::collections::HashSet;

use crate::cell::{self, Cell, classify, decimal_comma};
use crate::csv::chunks::record_ends;
use crate::csv::parse::squeezed;
use crate::words;

/// A record as far as it matters here.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) cells: Vec<String>,
    /// Where it ends among the bytes.
    pub(crate) end: usize,
    /// Whether it starts with `#`.
    comment: bool,
}

impl Record {
    pub(crate) fn is_comment(&self) -> bool {
        self.comment
    }
}

/// Records beyond these are not looked at.
const RECORDS: usize = 1000;
/// So many tell the delimiter.
const DELIMITER_RECORDS: usize = 20;

/// What separates the cells: the candidate with the same number of cells in most of the first records. A blank stands for
/// runs of blanks and tabs, and is tried last.
pub(crate) fn find_delimiter(start: &[u8], line_end: u8) -> u8 {
    let text = String::from_utf8_lossy(start);
    let lines: Vec<&str> = raw_records(&text, line_end)
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .take(DELIMITER_RECORDS)
        .collect();
    // Most cells win among those that are equally regular; the order settles ties.
    let mut best: Option<(usize, usize, u8)> = None;
    for delimiter in [b'\t', b';', b'|', b','] {
        let counts: Vec<usize> = lines.iter().map(|line| cells_in(line, delimiter)).collect();
        let usual = mode(&counts);
        let regular = counts.iter().filter(|&&n| n == usual).count();
        let candidate = (regular, usual, delimiter);
        if usual > 1 && best.is_none_or(|(r, n, _)| (regular, usual) > (r, n)) {
            best = Some(candidate);
        }
        if delimiter == b',' && best.is_some_and(|b| b.2 == b',') && semicolons_part_commas(&lines) {
            return b';';
        }
    }
    if let Some((_, _, delimiter)) = best {
        return delimiter;
    }
    if lines.iter().any(|line| line.contains(',')) {
        return b',';
    }
    // Sentences have blanks too: rows of the same length, with numbers among them, are not sentences.
    let squeezed: Vec<String> = lines.iter().map(|line| squeezed(line, true)).collect();
    let counts: Vec<usize> = squeezed.iter().map(|line| cells_in(line, b' ')).collect();
    let numbers = |line: &String| line.split(' ').any(|cell| cell.parse::<f64>().is_ok());
    let rows = counts.len() > 1 && counts[0] > 1 && counts.iter().all(|n| *n == counts[0]);
    if rows && squeezed[1..].iter().all(numbers) { b' ' } else { b',' }
}

/// `1,5;2,5;3`: there are more commas than semicolons, and still the semicolons part the cells.
fn semicolons_part_commas(lines: &[&str]) -> bool {
    let usual = mode(&lines.iter().map(|line| cells_in(line, b';')).collect::<Vec<_>>());
    let number =
        |cell: &str| cell.trim().is_empty() || decimal_comma(cell) || cell.trim().parse::<f64>().is_ok();
    let numbers = |line: &&str| line.split(';').all(number);
    // The first line may be names.
    usual > 1 && lines.iter().rev().take(lines.len().max(2) - 1).all(numbers)
}

fn raw_records(text: &str, line_end: u8) -> impl Iterator<Item = &str> {
    let ends = record_ends(text.as_bytes(), line_end, true).chain([text.len()]);
    let mut start = 0;
    ends.map(move |end| {
        text.get(std::mem::replace(&mut start, end)..end).unwrap_or("").trim_end_matches(['\n', '\r'])
    })
}

fn cells_in(record: &str, delimiter: u8) -> usize {
    let mut quoted = false;
    let separators = record.bytes().filter(|&b| {
        quoted ^= b == b'"';
        b == delimiter && !quoted
    });
    separators.count() + 1
}

fn mode(counts: &[usize]) -> usize {
    let often = |n: usize| counts.iter().filter(|&&m| m == n).count();
    counts.iter().copied().max_by_key(|&n| (often(n), n)).unwrap_or(0)
}

/// The records at the start of a text, as far as they are whole.
pub(crate) fn records(bytes: &[u8], delimiter: u8, line_end: u8, ended: bool) -> Vec<Record> {
    let text = String::from_utf8_lossy(bytes);
    // Where bytes are replaced, places are no longer those of the bytes; the parser will say what is wrong.
    let text = if text.len() == bytes.len() { text } else { "".into() };
    let mut out = Vec::new();
    let mut start = 0;
    let last = (ended && !text.ends_with(char::from(line_end))).then_some(text.len());
    for end in record_ends(text.as_bytes(), line_end, true).chain(last) {
        let line = text.get(start..end).unwrap_or("").trim_end_matches(['\n', '\r']);
        if !line.trim_matches([' ', '\r', '\n']).is_empty() || (line.contains('\t') && delimiter == b'\t') {
            let cells =
                if delimiter == b' ' { split(&squeezed(line, true), b' ') } else { split(line, delimiter) };
            out.push(Record { cells, end, comment: line.starts_with('#') });
            if out.len() == RECORDS {
                break;
            }
        }
        start = end;
    }
    out
}

fn split(line: &str, delimiter: u8) -> Vec<String> {
    let (mut cells, mut start, mut quoted) = (Vec::new(), 0, false);
    let cell = |from: usize, to: usize| {
        let cell = line.get(from..to).unwrap_or("").trim();
        match cell.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')) {
            Some(inner) => inner.replace("\"\"", "\"").trim().to_string(),
            None => cell.to_string(),
        }
    };
    for (i, byte) in line.bytes().enumerate() {
        quoted ^= byte == b'"';
        if byte == delimiter && !quoted {
            cells.push(cell(start, i));
            start = i + 1;
        }
    }
    cells.push(cell(start, line.len()));
    cells
}

/// Takes the comments out of the first records. A line with `#` over the rows that has as many cells as they have is their
/// header. Returns the other records, and whether lines with `#` are comments at all.
pub(crate) fn without_comments(mut records: Vec<Record>) -> (Vec<Record>, bool) {
    let marked = records.iter().filter(|r| r.comment).count();
    if marked == 0 {
        return (records, true);
    }
    let width = mode(&records.iter().map(|r| r.cells.len()).collect::<Vec<_>>());
    let fitting = records.iter().filter(|r| r.comment && r.cells.len() == width).count();
    // A column of hashtags or of colours.
    if 2 * fitting > records.len() && records.len() > 2 {
        return (records, false);
    }
    let leading = records.iter().take_while(|r| r.comment).count();
    let rows: Vec<Record> = records.iter().filter(|r| !r.comment).cloned().collect();
    let header = leading.checked_sub(1).map(|i| &records[i]).filter(|header| {
        let fits =
            rows.first().is_some_and(|row| row.cells.len() == header.cells.len() && row.cells.len() > 1);
        fits && !is_header(&rows)
    });
    if let Some(mut header) = header.cloned() {
        let first = header.cells[0].trim_start_matches('#').trim().to_string();
        header.cells[0] = first;
        records = rows;
        records.insert(0, header);
        return (records, true);
    }
    (rows, true)
}

fn is_text(cell: &str) -> bool {
    // `1,5` is a number, though not one that is read at once.
    matches!(classify(cell), Cell::Text(text) if !decimal_comma(text) && !words::is_gap(text))
}

fn number(cell: &str) -> Option<f64> {
    match classify(cell) {
        Cell::Number(v) => Some(v),
        _ => None,
    }
}

/// Whether the first record holds names.
pub(crate) fn is_header(records: &[Record]) -> bool {
    let Some((first, rows)) = records.split_first() else { return false };
    if first.cells.iter().any(|cell| is_text(cell)) {
        return !like_the_rows(first, rows);
    }
    is_numeric_header(first, rows)
}

/// Whether a first record with text in it is one of the rows: text and numbers stand in the same places as below, and it
/// holds a decimal fraction, which nobody uses as a name, or is mostly numbers that are no names, or its texts come up
/// again in their columns.
fn like_the_rows(first: &Record, rows: &[Record]) -> bool {
    let Some(second) = rows.first() else { return false };
    let alike = first.cells.len() == second.cells.len()
        && first
            .cells
            .iter()
            .zip(&second.cells)
            .all(|(a, b)| is_text(a) == is_text(b) || a.is_empty() || b.is_empty());
    if !alike {
        return false;
    }
    let of_numbers = |i: usize| {
        let mut cells = rows.iter().filter_map(|row| row.cells.get(i)).filter(|cell| !words::is_gap(cell));
        cells.all(|cell| number(cell).is_some() || decimal_comma(cell) || words::may_be_gap(cell))
    };
    let numbers: Vec<f64> = first
        .cells
        .iter()
        .enumerate()
        .filter_map(|(i, cell)| number(cell).filter(|_| of_numbers(i)))
        .collect();
    let mostly = 2 * numbers.len() > first.cells.len() && rows.len() > 1;
    if numbers.iter().any(|v| v.fract() != 0.0) || (mostly && !may_be_names(&numbers)) {
        return true;
    }
    let mut texts = first.cells.iter().enumerate().filter(|(_, cell)| is_text(cell));
    let again = |(i, cell): (usize, &String)| rows.iter().any(|row| row.cells.get(i) == Some(cell));
    rows.len() > 2 && texts.all(again)
}

/// Whether whole numbers may be the names of columns: years, or numbers that count up in equal steps.
fn may_be_names(numbers: &[f64]) -> bool {
    let ascending = numbers.windows(2).all(|pair| pair[0] < pair[1]);
    let years = numbers.iter().all(|v| (1800.0..2200.0).contains(v));
    let steps: Vec<f64> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // Two numbers always have equal steps.
    let even = steps.iter().all(|step| *step == steps[0]) && (steps.len() > 1 || steps == [1.0]);
    ascending && (years || even)
}

/// Whether a first record of numbers is a header: whole numbers that count up, or that stand over texts or fractions.
fn is_numeric_header(first: &Record, rows: &[Record]) -> bool {
    const MANY: usize = 6;
    let width = first.cells.len();
    let Some(names) = first.cells.iter().map(|c| number(c)).collect::<Option<Vec<f64>>>() else {
        return false;
    };
    let whole = |v: &f64| v.fract() == 0.0;
    let distinct = names.iter().map(|v| v.to_bits()).collect::<HashSet<_>>().len() == width;
    if rows.len() < 2 || width < 2 || !names.iter().all(whole) || !distinct {
        return false;
    }
    let rows: Vec<&Record> = rows.iter().filter(|row| row.cells.len() == width).collect();
    let column =
        |i: usize| rows.iter().map(move |row| row.cells[i].as_str()).filter(|cell| !words::is_gap(cell));
    let counts_up = |values: &[f64]| values.windows(2).all(|pair| pair[1] == pair[0] + 1.0);
    let texts = (0..width).filter(|&i| column(i).count() > 1 && column(i).all(is_text)).count();
    if texts > 0 {
        return true;
    }
    let values = |row: &Record| row.cells.iter().map(|c| number(c).unwrap_or(f64::NAN)).collect::<Vec<f64>>();
    let apart = |v: f64| !(v.is_nan() || whole(&v) && (0.0..=width as f64).contains(&v));
    let fractions = (0..width).filter(|&i| column(i).any(|c| number(c).is_some_and(|v| !whole(&v)))).count();
    if width >= 3 && counts_up(&names) && (0.0..=1.0).contains(&names[0]) {
        let continued = rows.iter().any(|row| counts_up(&values(row)));
        let unlike = width >= MANY || rows.iter().any(|row| values(row).into_iter().any(apart));
        return !continued && unlike;
    }
    width > MANY && rows.len() > 2 && 5 * fractions >= 4 * width
}

/// What a sample of a column's cells says about how to read the rest.
pub(crate) fn sample(records: &[Record], column: usize) -> Vec<&str> {
    let cells = records.iter().filter_map(move |r| r.cells.get(column));
    cells.map(|cell| cell.as_str()).filter(|cell| !words::is_gap(cell) && !words::may_be_gap(cell)).collect()
}

/// Whether a cell is a number as it stands.
pub(crate) fn is_number(cell: &str) -> bool {
    cell::input(cell).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters() {
        for (text, delimiter) in [
            ("a,b,c\n", b','),
            ("a;b;c\n1,5;2;3", b';'),
            ("a\tb\tc", b'\t'),
            ("a\tb, c\n", b'\t'),
            ("\"x;y;z\",b", b','),
            ("1,5;2,5;3,5", b';'),
            ("a;b\n1,5;2,5\n3,5;4,5\n", b';'),
            ("a|b\n1|2\n", b'|'),
            ("a,b\n1;x,2\n3,4\n", b','),
            ("a b  c\n1 2 3\n  4\t5   6 \n", b' '),
            ("some words here\nother words there\n", b','),
            ("a,b\n1,2,3\n", b','),
            ("a", b','),
            ("", b','),
            ("\n\na;b", b';'),
            ("# note; with; marks\na,b\n1,2\n", b','),
        ] {
            assert_eq!(find_delimiter(text.as_bytes(), b'\n') as char, delimiter as char, "{text:?}");
        }
    }

    fn header(text: &str) -> bool {
        is_header(&without_comments(records(text.as_bytes(), b',', b'\n', true)).0)
    }

    #[test]
    fn headers_of_text() {
        assert!(header("a,b\n1,2\n"));
        assert!(header("a,b\nx,y\nx,y\nz,y\n"));
        assert!(header("y,1100.5,1102.5\n3,0.1,0.2\n"));
        assert!(header("#id,x\n1,2\n3,4\n"));
        assert!(!header("5.1,3.5,1.4,setosa\n4.9,3.0,1.3,setosa\n6.3,3.3,6.1,virginica\n"));
        // The rows of a census without names.
        assert!(!header(
            "39,State-gov,13,<=50K\n50,Private,13,>50K\n38,State-gov,9,<=50K\n20,Private,7,<=50K\n"
        ));
        assert!(!header("44,Zoe,23,0.5\n31,Ann,12,0.25\n52,Bob,7,1\n"));
        assert!(!header("44,Zoe,23\n31,Ann,12\n52,Bob,7\n"));
        assert!(header("country,2019,2020\nFrance,5,6\nSpain,7,8\n"));
        assert!(header("country,2000,2010,2015\nFrance,5,6,7\nSpain,7,8,9\n"));
        assert!(header("name,400,402,404\na,5,6,7\nb,7,8,9\n"));
        assert!(!header("p,x,x\ne,x,s\np,s,x\np,x,x\n"));
    }

    #[test]
    fn headers_of_numbers() {
        assert!(header("0,1,2\n0.5,0.1,7\n1.5,2,3\n"));
        assert!(header("1,2,3,4,5,6\n0,1,1,0,0,1\n1,1,1,0,0,1\n"));
        assert!(header("0,1\n5,red\n6,blue\n7,red\n"));
        assert!(header(
            "400,402,404,406,408,410,412\n.1,.2,.3,.4,.5,.6,.7\n.1,.3,.2,.4,.5,.6,.7\n.2,.2,.2,.4,.5,.6,.7\n"
        ));
        for data in [
            "1,2,3\n4,5,6\n7,8,9\n",
            "1,2,3\n2,3,1\n1,1,3\n",
            "1,2\n3,4\n5,6\n",
            "5,3,1\n0.5,2,1\n4,5,6\n",
            "1,2,3\n",
            "10,20,30\n11,21,31\n12,22,32\n",
            "5.1,3.5\n4.9,3\n6,7\n",
        ] {
            assert!(!header(data), "{data:?}");
        }
    }

    #[test]
    fn comments() {
        let kept = |text: &str| {
            let (records, comments) = without_comments(records(text.as_bytes(), b',', b'\n', true));
            (records.iter().map(|r| r.cells.join("|")).collect::<Vec<_>>(), comments)
        };
        assert_eq!(kept("# made by, us\na,b\n# more\n1,2\n"), (vec!["a|b".into(), "1|2".into()], true));
        assert_eq!(kept("#a,b\n1,2\n"), (vec!["a|b".into(), "1|2".into()], true));
        assert!(!kept("tag,n\n#x,1\n#y,2\n#z,3\n").1);
    }
}
