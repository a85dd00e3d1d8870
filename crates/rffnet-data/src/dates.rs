//! Dates and times as people write them, as days since the beginning of the year 2000.

use rffnet::ColumnType;

/// Which of two numbers comes first where only the column tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    MonthFirst,
    DayFirst,
}

impl Order {
    pub(crate) fn new(day_first: bool) -> Self {
        if day_first { Order::DayFirst } else { Order::MonthFirst }
    }

    /// The type of a column whose dates are read in this order.
    pub(crate) fn column_type(self) -> ColumnType {
        ColumnType::Date { day_first: self == Order::DayFirst }
    }
}

/// How the dates of a column are written, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DateWriting {
    pub(crate) order: Order,
    /// Whether the other order reads every date, too.
    pub(crate) ambiguous: bool,
}

/// A date or time: days since the beginning of 2000, and whether two of its numbers could change places, with what is
/// between them.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Parsed {
    days: f64,
    separator: Option<u8>,
}

/// How all texts of a column are written, if they are dates or times.
pub(crate) fn writing<'a>(texts: impl Iterator<Item = &'a str>) -> Option<DateWriting> {
    let (mut month_first, mut day_first, mut separator, mut any) = (true, true, None, false);
    for text in texts {
        let (month, day) = (parsed(text, Order::MonthFirst), parsed(text, Order::DayFirst));
        month_first &= month.is_some();
        day_first &= day.is_some();
        if !month_first && !day_first {
            return None;
        }
        separator = separator.or(month.or(day).and_then(|p| p.separator));
        any = true;
    }
    let ambiguous = month_first && day_first && separator.is_some();
    let order = if day_first && (!month_first || separator == Some(b'.')) {
        Order::DayFirst
    } else {
        Order::MonthFirst
    };
    any.then_some(DateWriting { order, ambiguous })
}

/// How the dates of a column are written if most of its texts are dates of one order: four of five, by `weight`.
pub(crate) fn usual_writing<'a>(
    texts: impl Iterator<Item = (&'a str, usize)> + Clone,
) -> Option<DateWriting> {
    let all: usize = texts.clone().map(|(_, weight)| weight).sum();
    [Order::MonthFirst, Order::DayFirst].into_iter().find_map(|order| {
        let readable = texts.clone().filter(|(text, _)| parse(text, order).is_some());
        let cells: usize = readable.clone().map(|(_, weight)| weight).sum();
        writing(readable.map(|(text, _)| text)).filter(|_| 5 * cells >= 4 * all)
    })
}

/// A date or time as days since the beginning of 2000.
pub(crate) fn parse(text: &str, order: Order) -> Option<f64> {
    parsed(text, order).map(|p| p.days)
}

/// `20240131`, which is a date only where one was asked for.
pub(crate) fn parse_digits(text: &str) -> Option<f64> {
    let number: i64 = text.trim().parse().ok().filter(|_| text.trim().len() == 8)?;
    date(number / 10_000, number / 100 % 100, number % 100)
}

fn parsed(text: &str, order: Order) -> Option<Parsed> {
    let text = text.trim();
    // The longest is something like `September 30, 2024 12:00:00.000000000 +00:00`.
    if !(4..=48).contains(&text.len()) || !text.is_ascii() {
        return None;
    }
    if let Some(days) = plain(text.as_bytes()).or_else(|| time(text)) {
        return Some(Parsed { days, separator: None });
    }
    let whole = |day: Option<f64>| day.map(|days| Parsed { days, separator: None });
    if let Some(parsed) = numeric_date(text, order).or_else(|| whole(named_date(text))) {
        return Some(parsed);
    }
    // A date and a time, with a T or a blank between them.
    let cuts = text.bytes().enumerate().filter(|(_, b)| matches!(b, b'T' | b't' | b' ')).map(|(i, _)| i);
    for cut in cuts {
        let (day, clock) = (&text[..cut], text[cut + 1..].trim_start());
        if let Some(clock) = time(clock)
            && let Some(parsed) =
                numeric_date(day, order).or_else(|| whole(named_date(day.trim_end_matches(','))))
        {
            return Some(Parsed { days: parsed.days + clock, ..parsed });
        }
    }
    None
}

/// `2024-01-31`, by far the most common.
fn plain(text: &[u8]) -> Option<f64> {
    let &[a, b, c, d, b'-', m, n, b'-', x, y] = text else { return None };
    let number = |digits: &[u8]| {
        let sound = digits.iter().all(u8::is_ascii_digit);
        sound.then(|| digits.iter().fold(0, |n, digit| 10 * n + i64::from(digit - b'0')))
    };
    date(number(&[a, b, c, d])?, number(&[m, n])?, number(&[x, y])?)
}

/// Three numbers with the same separator, or `2024-01`.
fn numeric_date(text: &str, order: Order) -> Option<Parsed> {
    let separator = text.bytes().find(|b| !b.is_ascii_digit()).filter(|b| matches!(b, b'-' | b'/' | b'.'))?;
    let mut parts = text.split(char::from(separator));
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next());
    if parts.next().is_some() {
        return None;
    }
    let number = |part: &str| {
        let sound = matches!(part.len(), 1..=4) && part.bytes().all(|b| b.is_ascii_digit());
        part.parse::<i64>().ok().filter(|_| sound)
    };
    let short = |part: &str| part.len() <= 2;
    let (a, b) = (number(first)?, number(second)?);
    let Some(third) = third else {
        let sound = first.len() == 4 && second.len() == 2 && separator == b'-';
        return date(a, b, 1).filter(|_| sound).map(|days| Parsed { days, separator: None });
    };
    let c = number(third)?;
    if first.len() == 4 && short(second) && short(third) {
        return date(a, b, c).map(|days| Parsed { days, separator: None });
    }
    let year = match third.len() {
        4 => c,
        2 if separator == b'/' => of_this_age(c),
        _ => return None,
    };
    if !short(first) || !short(second) {
        return None;
    }
    let (month, day) = if order == Order::MonthFirst { (a, b) } else { (b, a) };
    date(year, month, day).map(|days| Parsed { days, separator: Some(separator) })
}

/// `31 Jan 2024`, `31-Jan-24`, `January 31, 2024`, `Jan-24`, `January 2024`, `2024-Jan`.
fn named_date(text: &str) -> Option<f64> {
    let mut words = text.split([' ', ',', '-', '/', '.']).filter(|word| !word.is_empty());
    let (a, b, c) = (words.next()?, words.next()?, words.next());
    if words.next().is_some() {
        return None;
    }
    let digits = |text: &str, most: usize| -> Option<i64> {
        let sound = text.len() <= most && text.bytes().all(|b| b.is_ascii_digit());
        text.parse().ok().filter(|_| sound)
    };
    let (day, name, year) = match c {
        None if a.len() == 4 && a.starts_with(|c: char| c.is_ascii_digit()) => (1, b, a),
        None => (1, a, b),
        Some(year) if a.starts_with(|c: char| c.is_ascii_digit()) => (digits(a, 2)?, b, year),
        Some(year) => (digits(b, 2)?, a, year),
    };
    let year = match year.len() {
        4 => digits(year, 4)?,
        2 => of_this_age(digits(year, 2)?),
        _ => return None,
    };
    date(year, month(name)?, day)
}

/// A year of two digits, as POSIX has it.
fn of_this_age(year: i64) -> i64 {
    year + if year < 69 { 2000 } else { 1900 }
}

fn month(name: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let name = name.to_ascii_lowercase();
    let index = MONTHS.iter().position(|month| {
        *month == name || month[..3] == name || (name == "sept" && *month == "september")
    })?;
    Some(index as i64 + 1)
}

/// `13:45`, `13:45:10.5`, with `AM` or `PM`, `Z` or an offset from UTC: as a fraction of a day.
fn time(text: &str) -> Option<f64> {
    let text = text.trim();
    if !text.contains(':') {
        return None;
    }
    let (text, offset) = without_offset(text)?;
    let lower = text.to_ascii_lowercase();
    let half = lower.strip_suffix("am").map(|t| (t, 0)).or_else(|| lower.strip_suffix("pm").map(|t| (t, 12)));
    let (clock, afternoon) = half.map_or((text, None), |(t, noon)| (&text[..t.len()], Some(noon)));
    let mut parts = clock.trim_end().split(':');
    let two = |part: &str, range: std::ops::RangeInclusive<usize>, below: u32| {
        let sound = range.contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        part.parse::<u32>().ok().filter(|n| sound && *n < below)
    };
    let mut hour = two(parts.next()?, 1..=2, 24)?;
    let minute = two(parts.next()?, 2..=2, 60)?;
    let (second, fraction) = match parts.next().map(|part| part.split_once('.').unwrap_or((part, "0"))) {
        None => (0, 0.0),
        Some((second, digits)) => {
            let sound = matches!(digits.len(), 1..=9) && digits.bytes().all(|b| b.is_ascii_digit());
            let fraction = format!("0.{digits}").parse::<f64>().ok().filter(|_| sound)?;
            // A leap second counts as the one before it.
            (two(second, 2..=2, 61)?.min(59), fraction)
        }
    };
    if parts.next().is_some() {
        return None;
    }
    if let Some(noon) = afternoon {
        hour = (1..=12).contains(&hour).then_some(hour % 12 + noon)?;
    }
    let seconds = f64::from(hour * 3600 + minute * 60 + second) + fraction;
    Some((seconds - offset) / 86_400.0)
}

/// A time without its `Z`, `+01:00` or `-0530`, and the seconds that it is ahead of UTC.
fn without_offset(text: &str) -> Option<(&str, f64)> {
    if let Some(rest) = text.strip_suffix(['Z', 'z']).or_else(|| text.strip_suffix(" UTC")) {
        return Some((rest, 0.0));
    }
    let Some(sign) = text.rfind(['+', '-']) else { return Some((text, 0.0)) };
    let digits: String = text[sign + 1..].chars().filter(|c| *c != ':').collect();
    let number: u32 = digits.parse().ok()?;
    let (hours, minutes) = match digits.len() {
        2 => (number, 0),
        4 => (number / 100, number % 100),
        _ => return None,
    };
    let seconds = f64::from(hours * 3600 + minutes * 60);
    (hours < 24 && minutes < 60)
        .then_some((text[..sign].trim_end(), if text[sign..].starts_with('-') { -seconds } else { seconds }))
}

/// A day of the Gregorian calendar.
fn date(year: i64, month: i64, day: i64) -> Option<f64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=9999).contains(&year) || !(1..=length).contains(&day) {
        return None;
    }
    // Years from March on end with the leap day; 153 days pass in five months.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1;
    Some((days - 730_425) as f64)
}

/// A cell of a column of dates as text that reads back as the same number: `2024-01-31`, with a time where there is one.
pub(crate) fn iso(days: f32) -> Option<String> {
    let days = f64::from(days);
    let (mut day, mut seconds) = (days.floor(), ((days - days.floor()) * 86_400.0));
    // A nanosecond is finer than the steps between neighbouring cells.
    seconds = (seconds * 1e9).round() / 1e9;
    if seconds >= 86_400.0 {
        (day, seconds) = (day + 1.0, 0.0);
    }
    if !(-730_119.0..=2_921_939.0).contains(&day) {
        return None;
    }
    let shifted = day as i64 + 730_425;
    let mut y = (10_000 * shifted + 14_780) / 3_652_425;
    let before = |y: i64| 365 * y + y / 4 - y / 100 + y / 400;
    if before(y) > shifted {
        y -= 1;
    }
    let rest = shifted - before(y);
    let m = (100 * rest + 52) / 3060;
    let (year, month) = (y + (m + 2) / 12, (m + 2) % 12 + 1);
    let date = format!("{year:04}-{month:02}-{:02}", rest - (153 * m + 2) / 5 + 1);
    if seconds == 0.0 {
        return Some(date);
    }
    let whole = seconds.floor();
    let fraction = ((seconds - whole) * 1e9).round();
    let clock = whole as u64;
    let mut text = format!("{date}T{:02}:{:02}:{:02}", clock / 3600, clock / 60 % 60, clock % 60);
    if fraction > 0.0 {
        text.push_str(&format!(".{:09}", fraction.min(999_999_999.0)));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn month_first(text: &str) -> Option<f64> {
        parse(text, Order::MonthFirst)
    }

    #[test]
    fn days() {
        for (text, days) in [
            ("2000-01-01", 0.0),
            ("2000-03-01", 60.0),
            ("1999-12-31", -1.0),
            ("2024-01-31", 8796.0),
            ("2024/1/31", 8796.0),
            ("2024-01", 8766.0),
            ("1970-01-01", -10957.0),
            ("31 Jan 2024", 8796.0),
            ("January 31, 2024", 8796.0),
            ("31-jan-2024", 8796.0),
            ("01/31/2024", 8796.0),
            ("1/31/24", 8796.0),
            ("2024-01-31T12:00", 8796.5),
            ("2024-01-31 06:00:00Z", 8796.25),
            ("2024-01-31T12:00:00.5+00:00", 8796.5 + 0.5 / 86_400.0),
            ("2024-01-31 12:00:00-06:00", 8796.75),
            ("2024-01-31 14:00+0200", 8796.5),
            ("01/31/2024 6:00 PM", 8796.75),
            ("Jan 31, 2024, 12:00", 8796.5),
            ("13:30", 0.5625),
            ("00:00:00", 0.0),
            ("12:00 AM", 0.0),
        ] {
            assert_eq!(month_first(text), Some(days), "{text}");
        }
        assert_eq!(parse("31.01.2024", Order::DayFirst), Some(8796.0));
        assert_eq!(parse_digits("20240131"), Some(8796.0));
        for text in [
            "",
            "2024",
            "2024-13-01",
            "2024-02-30",
            "1.2.3",
            "10.0.0.1",
            "2:1",
            "25:00",
            "12:60",
            "1-2",
            "31/01/2024",
            "Mon 5 2024",
            "2024-01-31Tx",
            "20240131",
            "v2024-01-31",
            "99999-01-01",
            "12:30:99",
            "2024-01-31-01",
            "+12:00",
            "2024-1",
        ] {
            assert_eq!(month_first(text), None, "{text}");
        }
    }

    #[test]
    fn the_column_decides_the_order() {
        let of = |texts: &[&str]| writing(texts.iter().copied()).map(|w| (w.order, w.ambiguous));
        assert_eq!(of(&["01/02/2024", "31/01/2024"]), Some((Order::DayFirst, false)));
        assert_eq!(of(&["01/02/2024", "01/31/2024"]), Some((Order::MonthFirst, false)));
        assert_eq!(of(&["01/02/2024", "03/04/2024"]), Some((Order::MonthFirst, true)));
        assert_eq!(of(&["01.02.2024"]), Some((Order::DayFirst, true)));
        assert_eq!(of(&["2024-01-02"]), Some((Order::MonthFirst, false)));
        assert_eq!(of(&["31/01/2024", "01/31/2024"]), None);
        assert_eq!(of(&["2024-01-02", "soon"]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn dates_read_back() {
        for day in (-730_000..2_900_000).step_by(977) {
            let text = iso(day as f32).unwrap();
            assert_eq!(month_first(&text), Some(f64::from(day as f32)), "{text}");
        }
        for i in 0..20_000 {
            let days = (i as f32 - 10_000.0) * 1.37;
            let text = iso(days).unwrap();
            assert_eq!(month_first(&text).map(|d| d as f32), Some(days), "{text}");
        }
        assert_eq!(iso(0.25).as_deref(), Some("2000-01-01T06:00:00"));
        assert_eq!((iso(f32::MAX), iso(-800_000.0)), (None, None));
    }
}
