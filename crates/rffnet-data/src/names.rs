//! Names: the nearest one to a misspelt name, and lists of names in messages.

use rffnet::text::count;

use crate::error::shown;

/// Longer names are never typed by hand, and comparing them would be slow.
const LONGEST: usize = 64;

/// The candidate that `name` most likely means: by edit distance, letter case aside; `None` if none is near.
///
/// ```
/// assert_eq!(rffnet_data::nearest("incom", ["age", "income"].into_iter()), Some("income"));
/// assert_eq!(rffnet_data::nearest("zebra", ["age", "income"].into_iter()), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = folded(name)?;
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let Some(other) = folded(candidate) else { continue };
        // A third of the letters may be wrong: more than that is another word.
        let allowed = (wanted.len().max(other.len()) / 3).max(1);
        if wanted.len().abs_diff(other.len()) > allowed {
            continue;
        }
        let distance = edit_distance(&wanted, &other);
        // One wrong letter in a name of one letter is a different name.
        let whole = distance >= wanted.len().max(other.len());
        if distance <= allowed && !whole && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

fn folded(name: &str) -> Option<Vec<char>> {
    if name.len() > 4 * LONGEST {
        return None;
    }
    let chars: Vec<char> = name.trim().chars().flat_map(char::to_lowercase).collect();
    (chars.len() <= LONGEST).then_some(chars)
}

/// Edit distance in which swapping two neighbouring letters counts once.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let width = b.len() + 1;
    let mut older = vec![0; width];
    let mut last: Vec<usize> = (0..width).collect();
    let mut row = vec![0; width];
    for (i, ca) in a.iter().enumerate() {
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let mut d = (last[j] + usize::from(ca != cb)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *ca == b[j - 1] && a[i - 1] == *cb {
                d = d.min(older[j - 1] + 1);
            }
            row[j + 1] = d;
        }
        std::mem::swap(&mut older, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last[b.len()]
}

/// `'age', 'income', 'city' and 17 more`: the first few names, quoted.
pub(crate) fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>, limit: usize) -> String {
    let total = names.len();
    // "and 1 more" is as long as the name itself.
    let head = if total <= limit + 1 { total } else { limit };
    let mut out = String::new();
    for (i, name) in names.take(head).enumerate() {
        let last = i + 1 == total;
        out.push_str(if i == 0 {
            ""
        } else if last {
            " and "
        } else {
            ", "
        });
        out.push_str(&format!("'{}'", shown(name)));
    }
    if head < total {
        out.push_str(&format!(" and {} more", count(total - head)));
    }
    out
}

/// A name as it is typed in a shell, where that needs quotes.
pub(crate) fn shell(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:+,=@%".contains(c);
    let name = shown(name);
    if !name.is_empty() && name.chars().all(plain) {
        name
    } else if name.contains('\'') {
        format!("\"{name}\"")
    } else {
        format!("'{name}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(name: &str) -> Option<&'static str> {
        nearest(name, ["age", "income", "target", "y", "x1", "x12"].into_iter())
    }

    #[test]
    fn finds_misspelt_names() {
        assert_eq!(near("Age"), Some("age"));
        assert_eq!(near("aeg"), Some("age"));
        assert_eq!(near("incmoe"), Some("income"));
        assert_eq!(near("tarket"), Some("target"));
        assert_eq!(near("x2"), Some("x1"));
        assert_eq!(near("q"), None);
        assert_eq!(near("nothing like it"), None);
        assert_eq!(near(""), None);
        assert_eq!(near(&"a".repeat(1_000_000)), None);
    }

    #[test]
    fn distance_counts_swaps_once() {
        let d =
            |a: &str, b: &str| edit_distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!(d("", "abc"), 3);
        assert_eq!(d("abc", "acb"), 1);
        assert_eq!(d("kitten", "sitting"), 3);
    }

    #[test]
    fn lists_the_first_few() {
        let list = |n: usize| {
            let names = ["a", "b", "c", "d", "e"];
            listed(names[..n].iter().copied(), 3)
        };
        assert_eq!(list(1), "'a'");
        assert_eq!(list(2), "'a' and 'b'");
        assert_eq!(list(4), "'a', 'b', 'c' and 'd'");
        assert_eq!(list(5), "'a', 'b', 'c' and 2 more");
    }

    #[test]
    fn shell_quotes_where_needed() {
        assert_eq!(shell("sex"), "sex");
        assert_eq!(shell("home city"), "'home city'");
        assert_eq!(shell("it's"), "\"it's\"");
    }
}
