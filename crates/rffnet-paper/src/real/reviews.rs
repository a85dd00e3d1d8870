//! Amazon's food reviews: scores become classes, texts become weighted terms.

use std::collections::HashSet;
use std::io::{BufReader, Read};

use rffnet::text::count;
use rffnet_data::{Column, Table};

use super::words::{Cleaner, weigh};
use crate::Error;

/// Terms that are kept.
const TERMS: usize = 3_000;
/// The columns looked at.
const NAMES: [&str; 7] =
    ["UserId", "ProfileName", "HelpfulnessNumerator", "HelpfulnessDenominator", "Score", "Time", "Text"];

/// Reads `Reviews.csv`. Scores of 3 are dropped, 1 and 2 are class 0, 4 and 5 class 1; of reviews with the same user, name,
/// time and text the first is kept; votes for "helpful" cannot exceed all votes.
pub(super) fn read(reader: impl Read) -> Result<(Table, String), Error> {
    let mut records = Records::new(reader);
    let header = records.next_record()?.ok_or_else(|| Error::new("Reviews.csv is empty"))?;
    let place = |name: &str| {
        header
            .iter()
            .position(|cell| cell.trim_start_matches('\u{feff}') == name)
            .ok_or_else(|| Error::new(format!("Reviews.csv has no column '{name}'; get it again")))
    };
    let mut at = [0; NAMES.len()];
    for (at, name) in at.iter_mut().zip(NAMES) {
        *at = place(name)?;
    }
    let mut seen = HashSet::new();
    let (mut texts, mut classes) = (Vec::new(), Vec::new());
    let (mut cleaner, mut read) = (Cleaner::new(), 0);
    while let Some(record) = records.next_record()? {
        read += 1;
        let cells = at.map(|j| record.get(j).map_or("", String::as_str));
        let [user, name, helpful, votes, score, time, text] = cells;
        let number = |cell: &str, what: &str| {
            cell.trim().parse::<f64>().map_err(|_| {
                Error::new(format!("Reviews.csv, review {read}: {what} is '{cell}', not a number"))
            })
        };
        let score = number(score, "Score")?;
        if score == 3.0 {
            continue;
        }
        let new = seen.insert([user, name, time, text].join("\u{1f}"));
        if new && number(helpful, "HelpfulnessNumerator")? <= number(votes, "HelpfulnessDenominator")? {
            texts.push(cleaner.clean(text));
            classes.push(f64::from(u8::from(score > 3.0)));
        }
    }
    if texts.is_empty() {
        return Err(Error::new("Reviews.csv has no review that can be used"));
    }
    let weighted = weigh(&texts, TERMS);
    let note = format!(
        "{} of {} reviews are kept (no score of 3, no duplicates), {} terms weighted by TF-IDF over all of them",
        count(texts.len()),
        count(read),
        count(weighted.terms.len())
    );
    let table = Table {
        names: weighted.terms,
        has_names: true,
        rows: texts.len(),
        x: weighted.x,
        target: Some(Column::Numbers(classes)),
        target_name: Some("target".into()),
        weight: None,
        source: "amazon".into(),
        ..Table::default()
    };
    Ok((table, note))
}

/// Comma-separated records with quotes, commas and line ends inside quotes.
struct Records<R> {
    bytes: std::io::Bytes<BufReader<R>>,
}

impl<R: Read> Records<R> {
    fn new(reader: R) -> Self {
        Self { bytes: BufReader::with_capacity(1 << 20, reader).bytes() }
    }

    fn next_record(&mut self) -> Result<Option<Vec<String>>, Error> {
        let (mut record, mut cell) = (Vec::new(), Vec::new());
        let (mut quoted, mut closing, mut any) = (false, false, false);
        let finish = |cell: &mut Vec<u8>| String::from_utf8_lossy(&std::mem::take(cell)).into_owned();
        for byte in self.bytes.by_ref() {
            let byte = byte.map_err(|e| Error::new(format!("Reviews.csv cannot be read: {e}")))?;
            any = true;
            match byte {
                b'"' if quoted && closing => {
                    cell.push(b'"');
                    closing = false;
                }
                b'"' if quoted => closing = true,
                b'"' if cell.is_empty() => quoted = true,
                b',' if !quoted || closing => {
                    record.push(finish(&mut cell));
                    (quoted, closing) = (false, false);
                }
                b'\n' if !quoted || closing => {
                    record.push(finish(&mut cell));
                    return Ok(Some(record));
                }
                b'\r' if !quoted || closing => {}
                other => cell.push(other),
            }
        }
        if any {
            record.push(finish(&mut cell));
        }
        Ok(any.then_some(record))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const HEADER: &str = "Id,ProductId,UserId,ProfileName,HelpfulnessNumerator,HelpfulnessDenominator,Score,Time,Summary,Text\n";

    #[test]
    fn records_with_quotes() {
        let text = "a,\"b, \"\"c\"\"\nd\",e\r\n,\"\"\nlast";
        let mut records = Records::new(text.as_bytes());
        assert_eq!(records.next_record().unwrap().unwrap(), ["a", "b, \"c\"\nd", "e"]);
        assert_eq!(records.next_record().unwrap().unwrap(), ["", ""]);
        assert_eq!(records.next_record().unwrap().unwrap(), ["last"]);
        assert_eq!(records.next_record().unwrap(), None);
    }

    #[test]
    fn reviews_are_chosen_and_labelled() {
        let rows = "1,p,u1,n,1,1,5,10,s,\"Great dog food, great\"\n\
                    2,p,u1,n,1,1,5,10,s,\"Great dog food, great\"\n\
                    3,p,u2,n,0,0,3,11,s,neither\n\
                    4,p,u3,n,0,0,1,12,s,awful food\n\
                    5,p,u4,n,3,2,5,13,s,impossible votes\n";
        let (table, note) = read(format!("{HEADER}{rows}").as_bytes()).unwrap();
        assert_eq!(table.names, ["aw", "dog", "food", "great"]);
        assert_eq!(table.target, Some(Column::Numbers(vec![1.0, 0.0])));
        assert!(note.starts_with("2 of 5 reviews"), "{note}");
        let wrong = read("Id,Score\n1,5\n".as_bytes()).unwrap_err().to_string();
        assert!(wrong.contains("no column 'UserId'"), "{wrong}");
        let wrong = read(format!("{HEADER}1,p,u,n,0,0,good,1,s,t\n").as_bytes()).unwrap_err().to_string();
        assert!(wrong.contains("Score is 'good'"), "{wrong}");
    }
}
