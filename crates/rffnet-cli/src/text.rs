//! Numbers and names as people read them.

/// A count with thousands set apart: `10,000`.
pub(crate) fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 row`, `2 rows`.
pub(crate) fn plural(n: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// Four significant digits.
pub(crate) fn number(v: f64) -> String {
    let size = v.abs();
    if size == 0.0 {
        "0".into()
    } else if !v.is_finite() || !(1e-4..1e7).contains(&size) {
        format!("{v:.3e}")
    } else {
        let before = size.log10().floor() as i32 + 1;
        format!("{v:.*}", (4 - before).max(0) as usize)
    }
}

/// The shortest text that reads back as the same number.
pub(crate) fn exact(v: f64) -> String {
    let v = v + 0.0; // no negative zero
    let size = v.abs();
    if size == 0.0 || (1e-4..1e16).contains(&size) { format!("{v}") } else { format!("{v:e}") }
}

/// A duration: `0.42 s`, `37 s`, `5 min`, `2.5 h`.
pub(crate) fn seconds(s: f64) -> String {
    match s {
        _ if s < 10.0 => format!("{s:.2} s"),
        _ if s < 120.0 => format!("{s:.0} s"),
        _ if s < 7200.0 => format!("{:.0} min", s / 60.0),
        _ => format!("{:.1} h", s / 3600.0),
    }
}

/// A name from a file as it may stand on a terminal: nothing the terminal would act on, cut at `limit` characters.
pub(crate) fn name(text: &str, limit: usize) -> String {
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i + 1 >= limit && text.chars().nth(limit).is_some() {
            out.push('…');
            break;
        }
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// `'a', 'b', 'c' and 7 more`.
pub(crate) fn listed(names: &[String], limit: usize) -> String {
    let shown = if names.len() <= limit + 1 { names.len() } else { limit };
    let quoted: Vec<String> = names[..shown].iter().map(|n| format!("'{}'", name(n, 40))).collect();
    match names.len() - shown {
        0 => quoted.join(", "),
        more => format!("{} and {} more", quoted.join(", "), count(more)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let cases = [
            (0.0, "0"),
            (0.083149, "0.08315"),
            (1.86543, "1.865"),
            (-12.3456, "-12.35"),
            (1234567.8, "1234568"),
            (3.2e-9, "3.200e-9"),
            (0.99999, "1.0000"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!((exact(0.1), exact(-0.0), exact(1e300)), ("0.1".into(), "0".into(), "1e300".into()));
    }

    #[test]
    fn names_are_harmless_and_short() {
        assert_eq!(name("a\u{1b}[31m", 20), "a\\u{1b}[31m");
        assert_eq!(name("abcdef", 6), "abcdef");
        assert_eq!(name("abcdefg", 6), "abcde…");
        let names: Vec<String> = ["a", "b", "c", "d"].map(String::from).to_vec();
        assert_eq!(listed(&names, 2), "'a', 'b' and 2 more");
        assert_eq!(listed(&names, 3), "'a', 'b', 'c', 'd'");
        assert_eq!((count(1234567), plural(1, "row")), ("1,234,567".into(), "1 row".into()));
    }
}
