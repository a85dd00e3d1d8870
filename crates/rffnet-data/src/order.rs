//! Rows in the order of time.

use crate::dates;

/// The rows in the order of their times: numbers (a year, a time stamp) or dates, written alike throughout. Rows of one time keep
/// their order.
///
/// ```
/// let days = ["2024-02-01", "2023-12-24", "2024-01-31"].map(String::from);
/// assert_eq!(rffnet_data::time_order(&days), Ok(vec![1, 2, 0]));
/// ```
///
/// # Errors
/// The first row that is not a time like the others.
pub fn time_order(times: &[String]) -> Result<Vec<usize>, usize> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|v| v.is_finite());
    let style = dates::writing(times.iter().map(|text| text.trim()));
    let keys: Vec<Option<f64>> = match style {
        Some(style) => times.iter().map(|text| dates::parse(text.trim(), style.order)).collect(),
        None => times.iter().map(|text| number(text)).collect(),
    };
    let keys: Vec<f64> =
        keys.into_iter().enumerate().map(|(row, key)| key.ok_or(row)).collect::<Result<_, _>>()?;
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|&a, &b| keys[a].total_cmp(&keys[b]));
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_numbers_or_dates() {
        let order = |times: &[&str]| time_order(&times.iter().map(|t| t.to_string()).collect::<Vec<_>>());
        assert_eq!(order(&["10", "9.5", "1e1", "-3"]), Ok(vec![3, 1, 0, 2]));
        assert_eq!(order(&["31.01.2024", "01.02.2023", "02.01.2024"]), Ok(vec![1, 2, 0]));
        assert_eq!(order(&["2024-01-31T10:00", "2024-01-31T09:59"]), Ok(vec![1, 0]));
        assert_eq!(order(&["1", "soon", "3"]), Err(1));
        assert_eq!(order(&[]), Ok(vec![]));
    }
}
