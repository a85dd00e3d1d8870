//! Counts as people read them: for messages, not part of the public interface.

use std::fmt::Display;

/// A whole number of any type with its thousands set apart: `10,000`.
pub fn count(n: impl Display) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 row`, `2 rows`, `3 classes`.
pub fn plural(n: usize, noun: &str) -> String {
    let ending = match n {
        1 => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{} {noun}{ending}", count(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart_and_nouns_have_their_ending() {
        assert_eq!([0, 7, 999, 1000, 1_048_576].map(count), ["0", "7", "999", "1,000", "1,048,576"]);
        assert_eq!([0, 1, 2000].map(|n| plural(n, "row")), ["0 rows", "1 row", "2,000 rows"]);
        assert_eq!(plural(3, "class"), "3 classes");
    }
}
