//! The columns of a file or of a model: what each holds and what is done with it.

use rffnet::{ColumnEncoder, ColumnType, Encoder, Model};
use rffnet_data::{ColumnKind, ColumnReport, Table};
use serde::Serialize;

use crate::text::{count, name, plural};

/// Columns shown at most.
const SHOWN: usize = 25;
const LONGEST_NAME: usize = 28;

/// One column: an entry of `column_types`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ColumnEntry {
    feature: String,
    #[serde(rename = "type")]
    kind: &'static str,
    /// What is done with it; none for a column that is not an input.
    encoding: Option<String>,
    /// Cells without a value; a model does not know them.
    #[serde(skip_serializing_if = "Option::is_none")]
    gaps: Option<usize>,
    levels: Option<usize>,
    used: bool,
    /// Whether an input of its own tells its gaps apart.
    #[serde(skip)]
    gap_indicator: bool,
    /// Why it is not an input.
    #[serde(skip)]
    left_out: &'static str,
}

/// The columns of a file beside the target and the weight; `encoder` is of the table's inputs.
pub(crate) fn of_table(table: &Table, encoder: &Encoder) -> Vec<ColumnEntry> {
    let mut encoders = encoder.columns().iter();
    if table.report.is_empty() {
        let gaps = gaps(table);
        let columns = table.names.iter().zip(encoders).enumerate();
        return columns
            .map(|(j, (feature, encoder))| {
                let holds = table.column_type(j);
                ColumnEntry { gaps: Some(gaps[j]), ..ColumnEntry::new(feature, holds, encoder) }
            })
            .collect();
    }
    let features = table.report.iter().filter(|r| !matches!(r.kind, ColumnKind::Target | ColumnKind::Weight));
    features
        .map(|report| {
            // Inputs are in the order of the file.
            let encoder = if report.used { encoders.next() } else { None };
            ColumnEntry {
                feature: report.name.clone(),
                kind: report.kind.name(),
                encoding: encoder.map(ColumnEncoder::describe),
                gaps: Some(report.gaps),
                levels: report.levels,
                used: report.used,
                gap_indicator: encoder.is_some_and(|encoder| encoder.gap_indicator),
                left_out: left_out(report),
            }
        })
        .collect()
}

/// The columns of a model.
pub(crate) fn of_model(model: &Model) -> Vec<ColumnEntry> {
    let columns = model.feature_names().iter().zip(model.column_types()).zip(model.encoder().columns());
    columns.map(|((feature, holds), encoder)| ColumnEntry::new(feature, holds, encoder)).collect()
}

/// Gaps of each input.
fn gaps(table: &Table) -> Vec<usize> {
    let mut gaps = vec![0; table.columns()];
    if table.gaps > 0 {
        for row in table.x.chunks_exact(table.columns().max(1)) {
            gaps.iter_mut().zip(row).for_each(|(gaps, cell)| *gaps += usize::from(cell.is_nan()));
        }
    }
    gaps
}

fn left_out(report: &ColumnReport) -> &'static str {
    match report.kind {
        _ if report.used => "",
        ColumnKind::Id => "left out: a different text in every row",
        ColumnKind::Text => "left out: free text",
        ColumnKind::Index => "left out: row numbers",
        ColumnKind::Constant => "left out: one value in all rows",
        ColumnKind::Kept => "not an input",
        _ => "left out",
    }
}

impl ColumnEntry {
    fn new(feature: &str, holds: &ColumnType, encoder: &ColumnEncoder) -> Self {
        Self {
            feature: feature.into(),
            kind: holds.name(),
            encoding: Some(encoder.describe()),
            gaps: None,
            levels: holds.levels().map(<[String]>::len),
            used: true,
            gap_indicator: encoder.gap_indicator,
            left_out: "",
        }
    }

    /// Numbers without gaps, of which there is nothing to say.
    fn is_plain(&self) -> bool {
        self.used && self.kind == "number" && self.gaps.unwrap_or(0) == 0 && !self.gap_indicator
    }

    /// What deserves a look comes first: columns that are left out, then those with gaps, then those that are not numbers.
    fn attention(&self) -> u8 {
        match self {
            _ if !self.used => 0,
            _ if self.gaps.unwrap_or(0) > 0 => 1,
            _ if !self.is_plain() => 2,
            _ => 3,
        }
    }

    fn done(&self) -> &str {
        self.encoding.as_deref().unwrap_or(self.left_out)
    }
}

/// The columns as a table for people, a line each; one line for numbers without gaps alone.
pub(crate) fn text(columns: &[ColumnEntry]) -> String {
    if columns.iter().all(ColumnEntry::is_plain) {
        return format!("{}, all numbers without gaps", plural(columns.len(), "column"));
    }
    let mut shown: Vec<usize> = (0..columns.len()).collect();
    // One more line costs no more than saying that it is left out.
    if columns.len() > SHOWN + 1 {
        shown.sort_by_key(|&j| columns[j].attention());
        shown.truncate(SHOWN);
        shown.sort_unstable();
    }
    let number = |n: Option<usize>| n.filter(|&n| n > 0).map_or(String::new(), count);
    let mut rows = vec![["column", "type", "gaps", "levels", "what is done"].map(String::from)];
    rows.extend(shown.iter().map(|&j| {
        let column = &columns[j];
        let (gaps, levels) = (number(column.gaps), number(column.levels));
        [name(&column.feature, LONGEST_NAME), column.kind.into(), gaps, levels, column.done().into()]
    }));
    let wide = |k: usize| rows.iter().map(|row| row[k].chars().count()).max().unwrap_or(0);
    let (names, kinds, gaps, levels) = (wide(0), wide(1), wide(2), wide(3));
    let line = |[a, b, c, d, e]: &[String; 5]| {
        // A model does not know its gaps: the column is empty then.
        let gaps = if columns.iter().all(|column| column.gaps.is_none()) {
            String::new()
        } else {
            format!("  {c:>gaps$}")
        };
        format!("  {a:<names$}  {b:<kinds$}{gaps}  {d:>levels$}  {e}")
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    lines.extend(rest(columns, &shown));
    lines.join("\n")
}

/// `and 75 more numbers without gaps`
fn rest(columns: &[ColumnEntry], shown: &[usize]) -> Option<String> {
    let others = (0..columns.len()).filter(|j| shown.binary_search(j).is_err());
    let left = columns.len() - shown.len();
    let plain = others.filter(|&j| columns[j].is_plain()).count();
    match left {
        0 => None,
        _ if plain == left => Some(format!("  and {} more numbers without gaps", count(left))),
        _ if plain == 0 => Some(format!("  and {} more columns", count(left))),
        _ => {
            Some(format!("  and {} more columns, {} of them numbers without gaps", count(left), count(plain)))
        }
    }
}

/// What the rows for a model lack: gaps, and levels that it does not know. A sentence each.
pub(crate) fn lacking(table: &Table) -> Vec<String> {
    const NAMED: usize = 5;
    let mut sentences = Vec::new();
    if table.gaps > 0 {
        let verb = if table.gaps == 1 { "is" } else { "are" };
        sentences.push(format!("{} {verb} filled in as in the fit", plural(table.gaps, "gap")));
    }
    let cells: usize = table.unknown.iter().map(|(_, cells)| cells).sum();
    if cells > 0 {
        let column =
            |(column, cells): &(String, usize)| format!("'{}' ({})", name(column, 40), count(*cells));
        let named: Vec<String> = table.unknown.iter().take(NAMED).map(column).collect();
        let more = table.unknown.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {} more", plural(more, "column")) } else { String::new() };
        let what = if cells == 1 {
            "has a level that the model does not know, which counts as a rare one"
        } else {
            "have levels that the model does not know, which count as rare ones"
        };
        sentences.push(format!("{} {what}: {}{more}", plural(cells, "cell"), named.join(", ")));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(feature: &str, kind: &'static str, gaps: usize, used: bool) -> ColumnEntry {
        let encoding = used.then(|| "standardised".to_string());
        ColumnEntry {
            feature: feature.into(),
            kind,
            encoding,
            gaps: Some(gaps),
            levels: None,
            used,
            gap_indicator: false,
            left_out: "left out: row numbers",
        }
    }

    #[test]
    fn plain_numbers_are_one_line() {
        let columns: Vec<ColumnEntry> = (0..40).map(|_| column("x", "number", 0, true)).collect();
        assert_eq!(text(&columns), "40 columns, all numbers without gaps");
    }

    #[test]
    fn columns_that_need_attention_come_first() {
        let mut columns: Vec<ColumnEntry> = (0..100).map(|_| column("x", "number", 0, true)).collect();
        columns[70] = column("gappy", "number", 1234, true);
        columns[99] = column("row", "index", 0, false);
        let text = text(&columns);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + SHOWN + 1, "{text}");
        assert_eq!(lines[24], "  gappy   number  1,234          standardised");
        assert_eq!(lines[25], "  row     index                  left out: row numbers");
        assert_eq!(lines[26], "  and 75 more numbers without gaps");
    }

    #[test]
    fn what_rows_lack_is_counted() {
        let unknown = (1..=7).map(|k| (format!("c{k}"), k)).collect();
        let table = Table { gaps: 1, unknown, ..Table::default() };
        assert_eq!(
            lacking(&table),
            [
                "1 gap is filled in as in the fit",
                "28 cells have levels that the model does not know, which count as rare ones: 'c1' (1), 'c2' (2), \
                 'c3' (3), 'c4' (4), 'c5' (5) and 2 columns more"
            ]
        );
        assert!(lacking(&Table::default()).is_empty());
    }
}
