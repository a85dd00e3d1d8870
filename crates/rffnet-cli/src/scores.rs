//! Held-out scores, as people read them.

use rffnet::scores::Scores;

use crate::text::number;

/// All in one line.
pub(crate) fn line(scores: &Scores) -> String {
    let entry = |(name, value): &(&str, Option<f64>)| format!("{name} {}", shown(*value));
    scores.entries().iter().map(entry).collect::<Vec<_>>().join("   ")
}

pub(crate) fn shown(value: Option<f64>) -> String {
    value.map_or("-".into(), number)
}
