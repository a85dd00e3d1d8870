//! Learning-rate schedules.

use std::f64::consts::PI;

use crate::params::Schedule;

/// Share of the steps in which the one-cycle rate rises.
const RISE: f64 = 0.3;
/// Where the one-cycle rate starts, and where it ends, relative to its peak.
const FIRST: f64 = 1.0 / 25.0;
const LAST: f64 = 1e-4 / 25.0;

impl Schedule {
    /// The factor of the learning rate in step `step` of `steps`.
    pub(crate) fn factor(self, step: usize, steps: usize) -> f64 {
        let done = step as f64 / steps.max(1) as f64;
        // Half a cosine from `from` to `to` as u goes from 0 to 1.
        let glide = |from: f64, to: f64, u: f64| to + (from - to) * 0.5 * (1.0 + (PI * u).cos());
        match self {
            Schedule::Constant => 1.0,
            Schedule::Cosine => glide(1.0, 0.0, done),
            Schedule::OneCycle if done < RISE => glide(FIRST, 1.0, done / RISE),
            Schedule::OneCycle => glide(1.0, LAST, (done - RISE) / (1.0 - RISE)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        let at = |s: Schedule, u: f64| s.factor((u * 1000.0) as usize, 1000);
        assert_eq!(at(Schedule::Constant, 0.7), 1.0);
        assert!((at(Schedule::Cosine, 0.0) - 1.0).abs() < 1e-12 && at(Schedule::Cosine, 1.0) < 1e-12);
        assert!((at(Schedule::OneCycle, 0.0) - FIRST).abs() < 1e-12);
        assert!((at(Schedule::OneCycle, RISE) - 1.0).abs() < 1e-12);
        assert!((at(Schedule::OneCycle, 1.0) - LAST).abs() < 1e-12);
        for i in 300..999 {
            assert!(Schedule::OneCycle.factor(i + 1, 1000) < Schedule::OneCycle.factor(i, 1000));
        }
    }
}
