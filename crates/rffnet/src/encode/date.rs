//! The parts of a date: a number that goes on, and the cycles it goes through.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

/// Days in a year, on average.
const YEAR: f64 = 365.2425;
const WEEK: f64 = 7.0;

/// Which cycles a column of dates is encoded with, besides its day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DateParts {
    year: bool,
    week: bool,
    day: bool,
}

impl DateParts {
    /// The cycles that the dates go through more than once: the year where they span more than one, the week where they span
    /// two of them, the day where they have a time.
    pub(super) fn new(cells: &[f32]) -> Self {
        let dates = cells.iter().filter(|v| v.is_finite());
        let (low, high) = dates.clone().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| {
            (low.min(v as f64), high.max(v as f64))
        });
        let span = high - low;
        Self { year: span > YEAR, week: span > 2.0 * WEEK, day: dates.into_iter().any(|v| v.fract() != 0.0) }
    }

    /// Their lengths in days.
    pub(super) fn cycles(&self) -> impl Iterator<Item = f64> {
        let cycles = [(self.year, YEAR), (self.week, WEEK), (self.day, 1.0)];
        cycles.into_iter().filter(|(is, _)| *is).map(|(_, days)| days)
    }

    pub(super) fn width(&self) -> usize {
        1 + 2 * self.cycles().count()
    }

    pub(super) fn encode(&self, cell: f32, out: &mut [f32]) {
        out[0] = cell;
        for (out, days) in out[1..].chunks_exact_mut(2).zip(self.cycles()) {
            let (sine, cosine) = (TAU * (cell as f64 / days).rem_euclid(1.0)).sin_cos();
            out.copy_from_slice(&[sine as f32, cosine as f32]);
        }
    }

    pub(super) fn describe(&self) -> String {
        let parts = [(self.year, ", time of year"), (self.week, ", weekday"), (self.day, ", time of day")];
        let cycles: String = parts.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
        format!("day{cycles}")
    }
}
