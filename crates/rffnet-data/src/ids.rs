//! Columns of numbers that tell rows apart rather than describe them.

use std::collections::HashSet;

/// What a column of numbers looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Looks {
    /// The number of the row, written by the program that wrote the file.
    Index,
    /// Perhaps an id.
    Id,
}

/// Fewer rows may well count up, or be all different, by chance.
const ROWS: usize = 20;

/// Looks at a column of numbers. `nameless`: its name is made up; `first`: it is the first of the file.
pub(crate) fn look<I: Iterator<Item = f32>>(
    name: &str,
    nameless: bool,
    first: bool,
    rows: usize,
    values: impl Fn() -> I,
) -> Option<Looks> {
    let start = values().next().filter(|_| rows > 1)?;
    let counts = || {
        let step = |(i, v): (usize, f32)| v == (f64::from(start) + i as f64) as f32;
        start.fract() == 0.0 && values().enumerate().all(step)
    };
    if first && (nameless || is_index_name(name)) && (start == 0.0 || start == 1.0) && counts() {
        return Some(Looks::Index);
    }
    if rows < ROWS {
        return None;
    }
    let distinct = || {
        let mut seen = HashSet::with_capacity(rows.min(1 << 20));
        values().all(|v| v.fract() == 0.0 && seen.insert(v.to_bits()))
    };
    (counts() || (is_id_name(name) && distinct())).then_some(Looks::Id)
}

fn is_index_name(name: &str) -> bool {
    let known = ["index", "row.names", "rownames", "row_names", "row", "rownum", "row_number"];
    let lower = name.to_ascii_lowercase();
    lower.starts_with("unnamed:") || known.contains(&lower.as_str())
}

/// `id`, `user_id`, `UserID`, `id number`.
fn is_id_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower == "id"
        || ["_id", ".id", " id", "-id"].iter().any(|end| lower.ends_with(end))
        || name.ends_with("ID")
        || name.ends_with("Id")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_numbers_and_ids() {
        let look = |name: &str, nameless: bool, first: bool, values: &[f32]| {
            super::look(name, nameless, first, values.len(), || values.iter().copied())
        };
        let up: Vec<f32> = (0..30).map(|i| i as f32).collect();
        let odd: Vec<f32> = (0..30).map(|i| (i * 7919 % 1000) as f32).collect();
        assert_eq!(look("x1", true, true, &up), Some(Looks::Index));
        assert_eq!(look("Unnamed: 0", false, true, &up), Some(Looks::Index));
        assert_eq!(look("index", false, true, &[1.0, 2.0]), Some(Looks::Index));
        assert_eq!(look("index", false, true, &[5.0, 6.0]), None);
        assert_eq!(look("index", false, false, &[1.0, 2.0]), None);
        assert_eq!(look("age", false, false, &up), Some(Looks::Id));
        assert_eq!(look("user_id", false, false, &odd), Some(Looks::Id));
        assert_eq!(look("width", false, false, &odd), None);
        assert_eq!(look("grid", false, false, &odd), None);
        assert_eq!(look("a", true, true, &[1.0]), None);
    }
}
