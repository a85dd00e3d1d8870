//! Numbers and names as people read them.

pub(crate) use rffnet::text::{count, plural};

/// Four significant digits.
pub(crate) fn number(v: f64) -> String {
    significant(v, 4)
}

/// A number with so many significant digits.
pub(crate) fn significant(v: f64, digits: usize) -> String {
    if v == 0.0 {
        return "0".into();
    }
    // Rounded first: 0.99999 has its four digits as 1.000.
    let scientific = format!("{v:.*e}", digits - 1);
    let rounded: f64 = scientific.parse().unwrap_or(v);
    let power = rounded.abs().log10().floor();
    if (-4.0..7.0).contains(&power) {
        format!("{rounded:.*}", (digits as f64 - 1.0 - power).max(0.0) as usize)
    } else {
        scientific
    }
}

/// The shortest text that reads back as the same number.
pub(crate) fn exact(v: f64) -> String {
    let v = v + 0.0; // no negative zero
    let size = v.abs();
    if size == 0.0 || (1e-4..1e16).contains(&size) { format!("{v}") } else { format!("{v:e}") }
}

/// A duration: `12 ms`, `0.42 s`, `37 s`, `5 min`, `2.5 h`.
pub(crate) fn seconds(s: f64) -> String {
    match s {
        _ if s < 0.1 => format!("{:.0} ms", s * 1e3),
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

/// `'a', 'b', ... 'y', 'z'`: the first and the last few, where the target mostly is.
pub(crate) fn listed(names: &[String], limit: usize) -> String {
    let quoted =
        |names: &[String]| names.iter().map(|n| format!("'{}'", name(n, 40))).collect::<Vec<_>>().join(", ");
    if names.len() <= limit {
        return quoted(names);
    }
    let tail = limit / 3;
    format!("{}, ... {}", quoted(&names[..limit - tail]), quoted(&names[names.len() - tail..]))
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
            (1234567.8, "1235000"),
            (3.2e-9, "3.200e-9"),
            (0.99999, "1.000"),
            (1e-4, "0.0001000"),
            (1e300, "1.000e300"),
            (f64::NAN, "NaN"),
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
        assert_eq!(listed(&names, 3), "'a', 'b', ... 'd'");
        assert_eq!(listed(&names, 4), "'a', 'b', 'c', 'd'");
    }
}
