//! The paper's figures: tables 1-4 (scores), F.7-F.10 (seconds) and F.11-F.14 (megabytes).

use std::fmt;

/// `table,set,method,mean,sd`; OOM and FC stand where the paper has no number.
const FIGURES: &str = include_str!("published.csv");

/// A cell of a published table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Published {
    /// Mean and standard deviation over replicas or folds, as printed.
    Figure {
        /// The mean.
        mean: f64,
        /// The standard deviation; the paper calls it a standard error.
        sd: f64,
        /// Both as printed: `1.865 ± 0.222`.
        text: (&'static str, &'static str),
    },
    /// It ran out of memory.
    OutOfMemory,
    /// It failed to converge.
    NotConverged,
}

impl Published {
    /// Whether a mean is further away than two standard deviations and what printing rounded off.
    pub(crate) fn is_far_from(&self, ours: f64) -> bool {
        let Published::Figure { mean, sd, text } = self else { return false };
        let decimals = text.0.split_once('.').map_or(0, |(_, digits)| digits.len());
        (ours - mean).abs() > 2.0 * sd + 0.5 * 0.1f64.powi(decimals as i32)
    }
}

impl fmt::Display for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Published::Figure { text: (mean, sd), .. } => write!(f, "{mean} ± {sd}"),
            Published::OutOfMemory => f.write_str("out of memory"),
            Published::NotConverged => f.write_str("not converged"),
        }
    }
}

/// The cell of a table (`1`, `F7`), if the paper has it. Methods are named as in `rffnet compare`; the paper's RFFNet is
/// `rffnet-paper`.
pub fn published(table: &str, set: &str, method: &str) -> Option<Published> {
    rows()
        .find(|row| row[0] == table && row[1] == set && row[2] == method)
        .and_then(|row| cell(row[3], row[4]))
}

fn rows() -> impl Iterator<Item = [&'static str; 5]> {
    FIGURES.lines().skip(1).filter_map(|line| line.split(',').collect::<Vec<_>>().try_into().ok())
}

fn cell(mean: &'static str, sd: &'static str) -> Option<Published> {
    match mean {
        "OOM" => Some(Published::OutOfMemory),
        "FC" => Some(Published::NotConverged),
        _ => Some(Published::Figure { mean: mean.parse().ok()?, sd: sd.parse().ok()?, text: (mean, sd) }),
    }
}

/// A real set, as table C.5 describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Described {
    pub name: &'static str,
    pub train: usize,
    pub test: usize,
    pub columns: usize,
}

/// Table C.5.
pub const REAL_SETS: [Described; 8] = [
    Described { name: "abalone", train: 3_759, test: 419, columns: 8 },
    Described { name: "compact", train: 7_372, test: 820, columns: 21 },
    Described { name: "powerplant", train: 43_056, test: 4_784, columns: 4 },
    Described { name: "yearprediction", train: 463_810, test: 51_535, columns: 90 },
    Described { name: "a9a", train: 43_957, test: 4_885, columns: 123 },
    Described { name: "w8a", train: 58_230, test: 6_470, columns: 300 },
    Described { name: "amazon", train: 327_753, test: 36_418, columns: 3_000 },
    Described { name: "higgs", train: 9_900_000, test: 1_100_000, columns: 28 },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_figure() {
        let lines = FIGURES.lines().skip(1).count();
        assert_eq!(rows().count(), lines);
        assert!(rows().all(|row| cell(row[3], row[4]).is_some()));
        // 7 x 4 and 4 x 2 simulated, 7 x 4 and 4 x 4 real, each as score, seconds and megabytes.
        assert_eq!(lines, 3 * (28 + 8 + 28 + 16));
    }

    #[test]
    fn far_is_two_deviations_and_the_rounding() {
        let far = |ours| published("1", "gse1", "krr").map(|p| p.is_far_from(ours));
        assert_eq!(
            [0.0992, 0.0998, 0.0828, 0.0822].map(far),
            [Some(false), Some(true), Some(false), Some(true)]
        );
        let moons = |ours| published("2", "moons", "nystroem").map(|p| p.is_far_from(ours));
        assert_eq!([0.998, 0.99].map(moons), [Some(false), Some(true)]);
        assert_eq!(published("3", "compact", "srff").map(|p| p.is_far_from(1.0)), Some(false));
    }

    #[test]
    fn cells_are_found_as_printed() {
        let cell = published("1", "gse2", "rffnet-paper").map(|c| c.to_string());
        assert_eq!(cell.as_deref(), Some("1.865 ± 0.222"));
        assert_eq!(published("3", "compact", "srff"), Some(Published::NotConverged));
        assert_eq!(published("F14", "higgs", "eigenpro"), Some(Published::OutOfMemory));
        assert_eq!(published("1", "gse2", "rffnet"), None);
    }
}
