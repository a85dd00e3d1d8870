//! File names with `*`, `?` and `[...]`.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// More files than this are taken for a mistake.
const MOST: usize = 100_000;

/// Whether a path is a pattern rather than a name.
pub(crate) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

/// The files that fit a pattern, sorted by name. `*` stands for any characters of a name, `?` for one, `[a-z]` for one of
/// a set and `[!a-z]` for one outside of it; none stands for a separator, and a dot at the start must be written.
pub(crate) fn expand(pattern: &str) -> Vec<String> {
    let parts: Vec<Component<'_>> = Path::new(pattern).components().collect();
    let mut found = vec![PathBuf::new()];
    for (i, part) in parts.iter().enumerate() {
        let name = match part {
            Component::Normal(name) => name.to_str().unwrap_or_default(),
            root => {
                found.iter_mut().for_each(|path| path.push(root));
                continue;
            }
        };
        let mut next: Vec<PathBuf> = found.iter().flat_map(|folder| entries(folder, name)).collect();
        let last = i + 1 == parts.len();
        next.retain(|path| if last { path.is_file() } else { path.is_dir() });
        next.truncate(MOST);
        found = next;
    }
    let mut names: Vec<String> =
        found.into_iter().filter_map(|path| path.into_os_string().into_string().ok()).collect();
    names.sort_unstable();
    names
}

/// The paths in a folder whose last part fits a pattern.
fn entries(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    if !is_pattern(pattern) {
        return vec![folder.join(pattern)];
    }
    let place = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let hidden = |name: &str| name.starts_with('.') && !pattern.starts_with('.');
    names.filter(|name| !hidden(name) && matches(pattern, name)).map(|name| folder.join(name)).collect()
}

/// Whether a name fits a pattern. A star that fails takes one more character, and no earlier star has to be tried
/// again, so the time is at most the product of the two lengths.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p + 1, n));
            p += 1;
        } else if let Some(after) = one(&pattern, p, name[n]) {
            (p, n) = (after, n + 1);
        } else if let Some((after, from)) = star {
            star = Some((after, from + 1));
            (p, n) = (after, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// Where the pattern goes on if what stands at `p` fits a character.
fn one(pattern: &[char], p: usize, c: char) -> Option<usize> {
    match *pattern.get(p)? {
        '?' => Some(p + 1),
        '[' => match set(pattern, p) {
            Some(end) => contains(&pattern[p + 1..end], c).then_some(end + 1),
            // A bracket that is never closed stands for itself.
            None => (c == '[').then_some(p + 1),
        },
        literal => (literal == c).then_some(p + 1),
    }
}

/// Where the set that begins at `p` ends; its first character may be a bracket.
fn set(pattern: &[char], p: usize) -> Option<usize> {
    let negated = matches!(pattern.get(p + 1), Some('!' | '^'));
    let first = p + 1 + usize::from(negated);
    let end = pattern.iter().skip(first + 1).position(|&c| c == ']')?;
    Some(first + 1 + end)
}

fn contains(set: &[char], c: char) -> bool {
    let (negated, mut set) = match set {
        ['!' | '^', rest @ ..] => (true, rest),
        _ => (false, set),
    };
    let mut found = false;
    while let [first, rest @ ..] = set {
        set = match rest {
            ['-', last, rest @ ..] => {
                found |= (*first..=*last).contains(&c);
                rest
            }
            _ => {
                found |= *first == c;
                rest
            }
        };
    }
    found != negated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name) in [
            ("*", ""),
            ("*.csv", "a.csv"),
            ("a*b*c", "a-b-b-c"),
            ("?", "é"),
            ("part-[0-9][0-9]", "part-07"),
            ("[!a]x", "bx"),
            ("[]]", "]"),
            ("[a", "[a"),
            ("[a-]", "-"),
            ("**", "x"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("", "a"),
            ("*.csv", "a.csv.gz"),
            ("a*b", "a"),
            ("?", ""),
            ("[0-9]", "x"),
            ("[!a]", "a"),
            ("[a", "a"),
            ("a", "A"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
        assert!(!matches(&"*a".repeat(1000), &"a".repeat(999)));
    }

    #[test]
    fn files() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.csv", "a.csv", ".hidden.csv", "c.txt"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::create_dir(folder.path().join("d.csv")).unwrap();
        fs::write(folder.path().join("d.csv/e.csv"), "").unwrap();
        let found = |pattern: &str| -> Vec<String> {
            let pattern = folder.path().join(pattern);
            let names = expand(pattern.to_str().unwrap());
            names.iter().map(|name| name[folder.path().to_str().unwrap().len() + 1..].to_string()).collect()
        };
        assert_eq!(found("*.csv"), ["a.csv", "b.csv"]);
        assert_eq!(found(".*.csv"), [".hidden.csv"]);
        assert_eq!(found("*/*.csv"), ["d.csv/e.csv"]);
        assert!(found("*.parquet").is_empty() && found("none/*.csv").is_empty());
    }
}
