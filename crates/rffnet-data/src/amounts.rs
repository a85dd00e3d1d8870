//! Numbers with something around them: currencies, percent signs, thousands set apart, a comma before the fraction.

use rffnet::ColumnType;

use crate::report::ColumnKind;

/// What stands before the fraction of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Point,
    Comma,
}

impl Mark {
    /// The type of a column whose numbers are written with it.
    pub(crate) fn column_type(self) -> ColumnType {
        match self {
            Mark::Point => ColumnType::Number,
            Mark::Comma => ColumnType::DecimalComma,
        }
    }
}

/// How all numbers of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Writing {
    pub(crate) mark: Mark,
    pub(crate) percent: bool,
    pub(crate) kind: ColumnKind,
    /// Whether every one of them reads differently, but soundly, with the other mark.
    ambiguous: bool,
}

/// One number, and what it was written with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Amount {
    pub(crate) value: f64,
    percent: bool,
    currency: bool,
    /// Whether thousands are set apart.
    grouped: bool,
    /// Whether there is a fraction.
    fraction: bool,
}

const SYMBOLS: [char; 7] = ['$', '€', '£', '¥', '₹', '₽', '₩'];
const CODES: [&str; 24] = [
    "USD", "EUR", "GBP", "JPY", "CHF", "CNY", "INR", "BRL", "CAD", "AUD", "NZD", "SEK", "NOK", "DKK", "PLN",
    "CZK", "HUF", "RUB", "KRW", "MXN", "ZAR", "TRY", "SGD", "HKD",
];
const WORDS: [&str; 3] = ["US$", "R$", "kr"];

/// The number in a cell whose fraction begins with `mark`.
pub(crate) fn parse(text: &str, mark: Mark) -> Option<Amount> {
    let mut rest = text.trim();
    let mut negative = false;
    if let Some(inner) = rest.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        (rest, negative) = (inner.trim(), true);
    }
    let (mut percent, mut currency, mut signed) = (false, false, false);
    loop {
        if let Some(after) = rest.strip_suffix('%').filter(|_| !percent) {
            (rest, percent) = (after, true);
        } else if let Some(after) = rest.strip_prefix(['-', '+', '\u{2212}']).filter(|_| !signed) {
            negative ^= !rest.starts_with('+');
            (rest, signed) = (after, true);
        } else if let Some(after) = without_currency(rest).filter(|_| !currency) {
            (rest, currency) = (after, true);
        } else {
            break;
        }
        rest = rest.trim();
    }
    let (value, grouped, fraction) = parse_digits(rest, mark)?;
    let value = if negative { -value } else { value };
    (!(percent && currency)).then_some(Amount { value, percent, currency, grouped, fraction })
}

fn without_currency(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix(SYMBOLS).or_else(|| text.strip_suffix(SYMBOLS)) {
        return Some(rest);
    }
    let words = CODES.iter().chain(&WORDS);
    words.filter_map(|word| text.strip_prefix(word).or_else(|| text.strip_suffix(word))).next()
}

/// Digits in one piece, or in threes from the right, with a fraction; whether they are grouped and have one.
fn parse_digits(text: &str, mark: Mark) -> Option<(f64, bool, bool)> {
    let (point, comma) = match mark {
        Mark::Point => ('.', ','),
        Mark::Comma => (',', '.'),
    };
    let (whole, fraction) = match text.split_once(point) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let is_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let separator = whole.chars().find(|c| !c.is_ascii_digit());
    let mut plain = String::with_capacity(text.len());
    match separator {
        None => plain.push_str(whole),
        Some(c) if c == comma || matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\'') => {
            for (i, group) in whole.split(c).enumerate() {
                // No thousands come before a zero.
                let first = matches!(group.len(), 1..=3) && !group.starts_with('0');
                let sound = if i == 0 { first } else { group.len() == 3 };
                if !sound || !is_digits(group) {
                    return None;
                }
                plain.push_str(group);
            }
        }
        Some(_) => return None,
    }
    if let Some(fraction) = fraction {
        plain.push('.');
        plain.push_str(fraction);
    }
    // Only digits are left, so that no `inf` and no exponent passes.
    let digits = plain.bytes().filter(u8::is_ascii_digit).count();
    let sound = digits > 0 && plain.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let value = plain.parse::<f64>().ok().filter(|_| sound)?;
    Some((value, separator.is_some(), fraction.is_some()))
}

/// How a column's numbers are written, if all of its texts are numbers of one writing.
pub(crate) fn writing<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Option<Writing> {
    if let Some(mut writing) = written_with(texts.clone(), Mark::Point) {
        writing.ambiguous = writing.kind == ColumnKind::Money
            && written_with(texts, Mark::Comma).is_some_and(|w| w.kind != ColumnKind::Money);
        return Some(writing);
    }
    written_with(texts, Mark::Comma)
}

fn written_with<'a>(texts: impl Iterator<Item = &'a str>, mark: Mark) -> Option<Writing> {
    let (mut count, mut percent, mut money, mut fraction) = (0, 0, false, false);
    for text in texts {
        let amount = parse(text, mark)?;
        count += 1;
        percent += usize::from(amount.percent);
        money |= amount.currency || (mark == Mark::Point && amount.grouped);
        fraction |= amount.fraction;
    }
    let kind = match mark {
        _ if count == 0 || (percent > 0 && percent < count) => return None,
        _ if percent > 0 => ColumnKind::Percent,
        _ if money => ColumnKind::Money,
        Mark::Point => ColumnKind::Number,
        Mark::Comma if fraction => ColumnKind::DecimalComma,
        Mark::Comma => return None,
    };
    Some(Writing { mark, percent: percent > 0, kind, ambiguous: false })
}

/// How the numbers of a column are written if most of its texts are numbers of one writing: four of five, by `weight`.
pub(crate) fn usual_writing<'a>(texts: impl Iterator<Item = (&'a str, usize)> + Clone) -> Option<Writing> {
    let all: usize = texts.clone().map(|(_, weight)| weight).sum();
    [Mark::Point, Mark::Comma].into_iter().find_map(|mark| {
        let readable = texts.clone().filter(|(text, _)| parse(text, mark).is_some());
        let cells: usize = readable.clone().map(|(_, weight)| weight).sum();
        writing(readable.map(|(text, _)| text)).filter(|_| 5 * cells >= 4 * all)
    })
}

impl Writing {
    /// A number of the column; one without a percent sign among percents is none.
    pub(crate) fn value(self, text: &str) -> Option<f64> {
        parse(text, self.mark).filter(|amount| amount.percent == self.percent).map(|amount| amount.value)
    }

    /// Whether its commas may be those before fractions, too.
    pub(crate) fn is_open(self) -> bool {
        self.ambiguous
    }

    /// Whether a sample of the column tells how the rest of it is written.
    pub(crate) fn is_sure(self) -> bool {
        !self.ambiguous && self.kind != ColumnKind::Number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts() {
        let point = |text| parse(text, Mark::Point).map(|a| a.value);
        for (text, value) in [
            ("$1,234.50", 1234.5),
            ("1 234 €", 1234.0),
            ("USD 5", 5.0),
            ("-$3", -3.0),
            ("$-3", -3.0),
            ("(1,000)", -1000.0),
            ("12%", 12.0),
            ("12.5 %", 12.5),
            ("1,234,567", 1_234_567.0),
            ("R$ 7.25", 7.25),
            ("1'000", 1000.0),
            ("1\u{a0}000", 1000.0),
        ] {
            assert_eq!(point(text), Some(value), "{text}");
        }
        for text in [
            "",
            "$",
            "%",
            "1,23",
            "12,34,567",
            "1,2345",
            "a5",
            "5 apples",
            "$5%",
            "--5",
            "1.2.3",
            "1e5",
            "inf",
        ] {
            assert_eq!(point(text), None, "{text}");
        }
        let comma = |text| parse(text, Mark::Comma).map(|a| a.value);
        assert_eq!((comma("1,5"), comma("1.234,5"), comma("1.5")), (Some(1.5), Some(1234.5), None));
    }

    #[test]
    fn the_column_decides() {
        let kind = |texts: &[&str]| writing(texts.iter().copied()).map(|w| (w.kind, w.mark, w.is_sure()));
        assert_eq!(kind(&["$1,234.50", "$7"]), Some((ColumnKind::Money, Mark::Point, true)));
        assert_eq!(kind(&["1,234", "1,500"]), Some((ColumnKind::Money, Mark::Point, false)));
        assert_eq!(kind(&["1,234", "1,5"]), Some((ColumnKind::DecimalComma, Mark::Comma, true)));
        assert_eq!(kind(&["1.234,50 €"]), Some((ColumnKind::Money, Mark::Comma, true)));
        assert_eq!(kind(&["12%", "3.5%"]), Some((ColumnKind::Percent, Mark::Point, true)));
        assert_eq!(kind(&["12,5%"]), Some((ColumnKind::Percent, Mark::Comma, true)));
        assert_eq!(kind(&["12%", "3"]), None);
        assert_eq!(kind(&["1,5", "2.5"]), None);
        assert_eq!(kind(&[]), None);
    }
}
