//! Advice in error messages, as far as the subcommand at hand can follow it.

/// Takes the parts that name flags which are not `known` out of a sentence such as `FACT; ADVICE, ADVICE, or ADVICE (REMARK)`. The
/// fact stays as it is.
pub(crate) fn without_unknown_flags(sentence: &str, known: impl Fn(&str) -> bool) -> String {
    let unknown = |part: &str| flags(part).any(|flag| !known(flag));
    if !unknown(sentence) {
        return sentence.into();
    }
    let sentence = without_remarks(sentence, &unknown);
    let mut clauses = sentence.split("; ");
    let fact = clauses.next().unwrap_or_default().to_string();
    let advice = clauses.filter_map(|clause| {
        if !unknown(clause) {
            return Some(clause.to_string());
        }
        let left: Vec<&str> = clause.split(", ").filter(|part| !unknown(part)).collect();
        match left.as_slice() {
            [] => None,
            [one] => Some(one.trim_start_matches("or ").to_string()),
            [first @ .., last] => Some(format!("{} or {}", first.join(", "), last.trim_start_matches("or "))),
        }
    });
    [fact].into_iter().chain(advice).collect::<Vec<_>>().join("; ")
}

/// Takes out what stands in brackets and names an unknown flag.
fn without_remarks(sentence: &str, unknown: &impl Fn(&str) -> bool) -> String {
    let mut out = String::new();
    let mut rest = sentence;
    while let Some((before, after)) = rest.split_once(" (") {
        out.push_str(before);
        match after.split_once(')') {
            Some((remark, behind)) => {
                if !unknown(remark) {
                    out.push_str(&format!(" ({remark})"));
                }
                rest = behind;
            }
            None => {
                out.push_str(" (");
                rest = after;
            }
        }
    }
    out + rest
}

/// The flags that a text names: `--missing`, but not `'--missing'`, which is quoted from a file.
fn flags(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split([' ', '(', '`']).filter_map(|word| word.strip_prefix("--"));
    words.filter_map(|word| {
        let end = word.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(word.len());
        Some(&word[..end]).filter(|flag| !flag.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_that_cannot_be_followed_is_left_out() {
        let cases = [
            (
                "a.csv: row 2 is missing; fill it in, drop the row, or pass --missing mean",
                "a.csv: row 2 is missing; fill it in or drop the row",
            ),
            ("a.csv: 'b' holds text; pass --numeric b --ignore c", "a.csv: 'b' holds text"),
            (
                "no column 'x' for --target; did you mean 'y'?",
                "no column 'x' for --target; did you mean 'y'?",
            ),
            ("it is text (leave it out with --ignore b); mend it", "it is text; mend it"),
            ("it is text (line 3); leave it out with --ignore b, or mend it", "it is text (line 3); mend it"),
            ("'b' holds '--ignore'; mend it", "'b' holds '--ignore'; mend it"),
        ];
        for (sentence, expected) in cases {
            assert_eq!(without_unknown_flags(sentence, |flag| flag == "target"), expected);
        }
    }
}
