//! The table of a comparison: for people, as Markdown, as CSV.

use rffnet_compare::{Row, Summary};

use crate::text::{count, exact, number, seconds, significant};

/// What stands in a row, but its note.
fn cells(row: &Row, columns: usize) -> [String; 6] {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    let score = match (row.mean, row.sd) {
        (Some(mean), Some(sd)) => Some(format!("{} ± {}", number(mean), significant(sd, 2))),
        (mean, _) => mean.map(number),
    };
    let scored = row.mean.is_some();
    let memory = row.peak_mb.map(|mb| format!("{} MB", count(mb.round() as usize)));
    [
        row.model.to_string(),
        or_dash(score),
        or_dash(row.fit_seconds.map(time)),
        or_dash(row.predict_seconds.map(time)),
        or_dash(memory.or_else(|| scored.then(|| "n/a".into()))),
        or_dash(row.columns_found.map(|found| format!("{} of {}", count(found), count(columns)))),
    ]
}

/// A duration; nothing takes no time.
fn time(s: f64) -> String {
    if s < 5e-4 { "< 1 ms".into() } else { seconds(s) }
}

fn headings(summary: &Summary) -> [String; 6] {
    [
        "model".into(),
        format!("{} ± sd", summary.metric),
        "fit".into(),
        "predict".into(),
        "memory".into(),
        "columns".into(),
    ]
}

/// Aligned, with the notes below.
pub(super) fn text(summary: &Summary, columns: usize) -> String {
    let mut lines = vec![headings(summary)];
    lines.extend(summary.rows.iter().map(|row| cells(row, columns)));
    let wide: Vec<usize> =
        (0..6).map(|k| lines.iter().map(|line| line[k].chars().count()).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for line in &lines {
        let [model, rest @ ..] = line;
        out.push_str(&format!("  {model:<w$}", w = wide[0]));
        rest.iter().zip(&wide[1..]).for_each(|(cell, w)| out.push_str(&format!("  {cell:>w$}")));
        out.push('\n');
    }
    let notes = summary.rows.iter().filter_map(|row| Some((row, row.note.as_ref()?)));
    for (i, (row, note)) in notes.enumerate() {
        let blank = if i == 0 { "\n" } else { "" };
        let failed = if row.mean.is_none() { "failed: " } else { "" };
        out.push_str(&format!("{blank}  {:<w$}  {failed}{}\n", row.model, one_line(note), w = wide[0]));
    }
    out
}

/// A Markdown table.
pub(super) fn markdown(summary: &Summary, columns: usize) -> String {
    let line = |cells: [String; 6], note: String| format!("| {} | {note} |\n", cells.join(" | "));
    let mut out = line(headings(summary), "note".into());
    out.push_str("|---|---:|---:|---:|---:|---:|---|\n");
    for row in &summary.rows {
        let note = row.note.as_deref().map_or(String::new(), one_line).replace('|', "\\|");
        out.push_str(&line(cells(row, columns), note));
    }
    out
}

/// CSV with all digits; what is not known is empty.
pub(super) fn csv(summary: &Summary) -> String {
    let mut out = "model,metric,mean,sd,fit_seconds,predict_seconds,peak_mb,columns_found,note\n".to_string();
    for row in &summary.rows {
        let figures = [row.mean, row.sd, row.fit_seconds, row.predict_seconds, row.peak_mb];
        let figures = figures.map(|v| v.map_or(String::new(), exact)).join(",");
        let found = row.columns_found.map_or(String::new(), |n| n.to_string());
        let note = row.note.as_deref().map_or(String::new(), one_line).replace('"', "\"\"");
        let note = if note.is_empty() { note } else { format!("\"{note}\"") };
        out.push_str(&format!("{},{},{figures},{found},{note}\n", row.model, summary.metric));
    }
    out
}

/// A note as it may stand in a table: nothing a terminal would act on.
fn one_line(note: &str) -> String {
    note.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use rffnet_compare::{Kind, Row, Summary};

    use super::*;

    fn summary() -> Summary {
        let row = |model, mean: Option<f64>, note: Option<&str>| Row {
            model,
            mean,
            sd: mean.map(|m| m / 30.0),
            fit_seconds: mean,
            predict_seconds: mean.map(|_| 0.0123),
            peak_mb: mean.map(|_| 1234.4),
            columns_found: mean.filter(|_| model == Kind::Rffnet).map(|_| 2),
            note: note.map(String::from),
            scores: Vec::new(),
        };
        let rows = vec![
            row(Kind::Rffnet, Some(1.5), None),
            row(Kind::Constant, Some(30.0), Some("a | b, \"c\"\n")),
            row(Kind::Gpr, None, Some("needs 19 GB")),
        ];
        Summary { metric: "mse", rows }
    }

    #[test]
    fn people_read_aligned_columns_and_notes() {
        let text = text(&summary(), 10);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "  model          mse ± sd     fit  predict    memory  columns");
        assert_eq!(lines[1], "  rffnet    1.500 ± 0.050  1.50 s    12 ms  1,234 MB  2 of 10");
        assert_eq!(lines[3], "  gpr                   -       -        -         -        -");
        assert_eq!(lines[6], "  gpr       failed: needs 19 GB");
    }

    #[test]
    fn markdown_and_csv_keep_their_cells_apart() {
        let markdown = markdown(&summary(), 10);
        for line in markdown.lines() {
            assert_eq!(line.replace("\\|", "").matches('|').count(), 8, "{line}");
        }
        let csv = csv(&summary());
        assert!(csv.contains("rffnet,mse,1.5,0.05,1.5,0.0123,1234.4,2,\n"), "{csv}");
        assert!(csv.contains(",\"a | b, \"\"c\"\" \"\n"), "{csv}");
        assert!(csv.ends_with("gpr,mse,,,,,,,\"needs 19 GB\"\n"), "{csv}");
    }

    #[test]
    fn deviations_have_two_digits() {
        let cases = [
            (0.0, "0"),
            (0.0123, "0.012"),
            (1.26, "1.3"),
            (123.4, "120"),
            (0.0996, "0.10"),
            (1e-9, "1.0e-9"),
        ];
        for (v, text) in cases {
            assert_eq!(significant(v, 2), text);
        }
    }
}
