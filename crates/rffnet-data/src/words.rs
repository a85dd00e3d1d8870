//! Words with a meaning: gaps and booleans.

/// Cells that are gaps in every column.
pub(crate) fn is_gap(trimmed: &str) -> bool {
    match trimmed.len() {
        0 => true,
        1 => matches!(trimmed, "?" | "." | "-"),
        3 => trimmed.eq_ignore_ascii_case("nan"),
        4 => trimmed.eq_ignore_ascii_case("#n/a") || trimmed.eq_ignore_ascii_case("-nan"),
        _ => false,
    }
}

/// Words that mean a gap among numbers, and may be a level among texts.
pub(crate) fn may_be_gap(trimmed: &str) -> bool {
    matches!(trimmed.len(), 2..=4)
        && ["na", "n/a", "none", "null"].iter().any(|word| trimmed.eq_ignore_ascii_case(word))
}

/// False and true, in one pair of words each.
const BOOLEANS: [[&str; 2]; 5] = [["false", "true"], ["no", "yes"], ["f", "t"], ["n", "y"], ["off", "on"]];

/// The pair that a word belongs to, and its value.
pub(crate) fn boolean(trimmed: &str) -> Option<(usize, bool)> {
    if trimmed.len() > 5 {
        return None;
    }
    BOOLEANS.iter().enumerate().find_map(|(pair, words)| {
        let value = words.iter().position(|word| trimmed.eq_ignore_ascii_case(word))?;
        Some((pair, value == 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps() {
        for gap in ["", "?", ".", "-", "NaN", "nan", "#N/A", "-nan"] {
            assert!(is_gap(gap) && !may_be_gap(gap), "{gap:?}");
        }
        for word in ["NA", "n/a", "None", "null", "NULL"] {
            assert!(may_be_gap(word) && !is_gap(word), "{word:?}");
        }
        for text in ["0", "x", "nana", "no", "--", "naan"] {
            assert!(!may_be_gap(text) && !is_gap(text), "{text:?}");
        }
    }

    #[test]
    fn booleans() {
        assert_eq!((boolean("TRUE"), boolean("False")), (Some((0, true)), Some((0, false))));
        assert_eq!(
            (boolean("y"), boolean("off"), boolean("maybe")),
            (Some((3, true)), Some((4, false)), None)
        );
        assert_eq!(boolean("1"), None);
    }
}
