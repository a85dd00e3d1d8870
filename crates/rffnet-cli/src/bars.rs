//! Which columns matter: the sorted list, and a bar chart of it.

use rffnet::Model;
use serde::Serialize;

use crate::text::{count, name, number};

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Relevance<'a> {
    pub(crate) feature: &'a str,
    pub(crate) relevance: f32,
    /// Its standard deviation over the members of an ensemble.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) spread: Option<f32>,
    pub(crate) importance: f32,
}

/// All columns, the most important first; equals in the order of the columns.
pub(crate) fn relevances(model: &Model) -> Vec<Relevance<'_>> {
    let (relevances, spread) = (model.relevances(), model.relevance_spread());
    let names = model.feature_names().iter().enumerate();
    let mut list: Vec<Relevance<'_>> = names
        .map(|(j, feature)| Relevance {
            feature,
            relevance: relevances[j],
            spread: spread.as_ref().map(|spread| spread[j]),
            importance: model.importances()[j],
        })
        .collect();
    list.sort_by(|a, b| b.importance.total_cmp(&a.importance));
    list
}

/// Columns shown unless all are asked for.
pub(crate) const SHOWN: usize = 20;
const LONGEST_NAME: usize = 28;
const HEADINGS: [&str; 3] = ["column", "importance", "relevance"];

/// A bar chart `width` characters wide of the first `limit` columns.
pub(crate) fn chart(list: &[Relevance<'_>], limit: usize, width: usize) -> String {
    // One more line costs no more than saying that it is left out.
    let shown = if list.len() <= limit + 1 { list.len() } else { limit };
    let rows: Vec<[String; 3]> = list[..shown]
        .iter()
        .map(|r| [name(r.feature, LONGEST_NAME), number(r.importance.into()), relevance(r)])
        .collect();
    let wide = |k: usize| {
        let cells = rows.iter().map(|row| row[k].chars().count());
        cells.chain([HEADINGS[k].len()]).max().unwrap_or(0)
    };
    let (names, values, thetas) = (wide(0), wide(1), wide(2));
    let bar = width.saturating_sub(names + values + thetas + 8).clamp(6, 60);
    let largest = list.first().map_or(0.0, |r| r.importance);
    let [a, b, c] = HEADINGS;
    let mut out = format!("  {a:<names$}  {b:>values$}  {:bar$}  {c:>thetas$}\n", "");
    for ([column, importance, relevance], entry) in rows.iter().zip(list) {
        let drawn = blocks(entry.importance, largest, bar);
        out.push_str(&format!(
            "  {column:<names$}  {importance:>values$}  {drawn:bar$}  {relevance:>thetas$}\n"
        ));
    }
    if let Some(next) = list.get(shown) {
        let rest = count(list.len() - shown);
        out.push_str(&format!("  and {rest} more columns, none above {}\n", number(next.importance.into())));
    }
    out
}

/// `0.5199`, or `0.5199 ± 0.0210` in an ensemble.
fn relevance(entry: &Relevance<'_>) -> String {
    let mean = number(entry.relevance.into());
    let Some(spread) = entry.spread.filter(|&spread| spread > 0.0) else { return mean };
    let digits = mean.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    if mean.contains('e') {
        format!("{mean} ± {}", number(spread.into()))
    } else {
        format!("{mean} ± {spread:.digits$}")
    }
}

/// A bar in eighths of a character.
fn blocks(value: f32, largest: f32, width: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = if largest > 0.0 { f64::from(value / largest).clamp(0.0, 1.0) } else { 0.0 };
    let eighths = (share * 8.0 * width as f64).round() as usize;
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(importance: &[f32]) -> Vec<Relevance<'static>> {
        importance
            .iter()
            .map(|&importance| Relevance { feature: "x", relevance: 0.5, spread: None, importance })
            .collect()
    }

    #[test]
    fn lines_fit_the_width() {
        let list = list(&[2.0, 1.0, 1e-9, 0.0]);
        for width in [40, 60, 80] {
            let chart = chart(&list, 20, width);
            assert!(chart.lines().all(|line| line.chars().count() <= width), "{chart}");
            assert_eq!(chart.lines().count(), 5);
        }
    }

    #[test]
    fn the_rest_is_counted() {
        assert!(chart(&list(&[0.1; 5]), 3, 80).ends_with("and 2 more columns, none above 0.1000\n"));
        assert_eq!(chart(&list(&[0.1; 4]), 3, 80).lines().count(), 5);
    }

    #[test]
    fn a_spread_has_the_digits_of_its_mean() {
        let entry =
            |relevance, spread| Relevance { feature: "x", relevance, spread: Some(spread), importance: 1.0 };
        assert_eq!(relevance(&entry(0.52, 0.0214)), "0.5200 ± 0.0214");
        assert_eq!(relevance(&entry(12.3456, 1.0)), "12.35 ± 1.00");
        assert_eq!(relevance(&entry(0.0, 0.0)), "0");
    }

    #[test]
    fn bars_are_proportional() {
        assert_eq!(blocks(1.0, 1.0, 4), "████");
        assert_eq!(blocks(0.5, 1.0, 3), "█▌");
        assert_eq!(blocks(0.0, 0.0, 3), "");
    }
}
