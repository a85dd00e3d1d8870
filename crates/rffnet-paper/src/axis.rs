//! Axes: from values to places, and round numbers to mark.

/// How values are spread along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Linear,
    Log,
    /// Probabilities by the logarithm of their odds: both ends as wide as the middle.
    Odds,
}

/// Where axes of odds end.
const ODDS: (f64, f64) = (0.001, 0.999);

/// An axis with its range.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) kind: Kind,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Values to mark and what stands there; round numbers if empty.
    pub(crate) marked: Vec<(f64, String)>,
}

impl Axis {
    /// Covers the values; `zero` makes a linear axis begin there.
    pub(crate) fn over(label: &str, kind: Kind, values: impl Iterator<Item = f64>, zero: bool) -> Self {
        let fits = |v: &f64| v.is_finite() && (kind == Kind::Linear || *v > 0.0);
        let (mut low, mut high) = values
            .filter(fits)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        if low > high {
            (low, high) = if kind == Kind::Log { (0.1, 1.0) } else { (0.0, 1.0) };
        }
        match kind {
            Kind::Linear => {
                if zero {
                    low = low.min(0.0);
                }
                let room = if high > low { 0.04 * (high - low) } else { 0.5 * high.abs().max(1e-9) };
                high += room;
                low -= if zero && low == 0.0 { 0.0 } else { room };
            }
            Kind::Log => {
                let room = (high / low).powf(0.04).max(1.05);
                low /= room;
                high *= room;
            }
            Kind::Odds => (low, high) = ODDS,
        }
        Self { label: label.into(), kind, low, high, marked: Vec::new() }
    }

    /// Exactly this range.
    pub(crate) fn linear(label: &str, low: f64, high: f64) -> Self {
        Self { label: label.into(), kind: Kind::Linear, low, high, marked: Vec::new() }
    }

    /// Probabilities; what is rarer, or surer, than one in a thousand is held at the ends.
    pub(crate) fn odds(label: &str) -> Self {
        let marked = [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999].map(|p| (p, p.to_string())).to_vec();
        Self { label: label.into(), kind: Kind::Odds, low: ODDS.0, high: ODDS.1, marked }
    }

    /// 0 at the low end, 1 at the high end; values outside are held at the ends.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let t = match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Log if value <= 0.0 => 0.0,
            Kind::Log => (value / self.low).ln() / (self.high / self.low).ln(),
            Kind::Odds if value <= self.low => 0.0,
            Kind::Odds => (logit(value) - logit(self.low)) / (logit(self.high) - logit(self.low)),
        };
        if t.is_finite() { t.clamp(0.0, 1.0) } else { 1.0 }
    }

    /// What is marked: values and texts, at most about `most`.
    pub(crate) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        if !self.marked.is_empty() {
            return self.marked.clone();
        }
        let inside = |v: &f64| *v >= self.low - 1e-9 * self.low.abs() && *v <= self.high * (1.0 + 1e-9);
        match self.kind {
            Kind::Linear | Kind::Odds => self.even(most),
            // Less than a decade: powers of ten would leave it bare.
            Kind::Log if self.high < 8.0 * self.low => self.even(most + 1),
            Kind::Log => {
                let decades = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
                let grid = |factors: &[f64], step: usize| -> Vec<f64> {
                    let all = (decades.0..=decades.1).step_by(step);
                    all.flat_map(|k| factors.iter().map(move |f| f * 10f64.powi(k))).filter(inside).collect()
                };
                // The finest of these that is not too fine.
                let grids = [
                    grid(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], 1),
                    grid(&[1.0, 2.0, 5.0], 1),
                    grid(&[1.0, 3.0], 1),
                    grid(&[1.0], 1),
                    grid(&[1.0], 2),
                    grid(&[1.0], 3),
                ];
                let chosen = grids.iter().find(|g| g.len() <= most).unwrap_or(&grids[5]);
                chosen.iter().map(|&v| (v, plain(v))).collect()
            }
        }
    }

    /// Multiples of a round step.
    fn even(&self, most: usize) -> Vec<(f64, String)> {
        let step = round_step((self.high - self.low) / most.max(1) as f64);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        (first..=last).map(|i| (i as f64 * step, format!("{:.decimals$}", i as f64 * step))).collect()
    }
}

/// The logarithm of the odds.
fn logit(p: f64) -> f64 {
    (p / (1.0 - p)).ln()
}

/// 1, 2 or 5 times a power of ten, not below `least`.
fn round_step(least: f64) -> f64 {
    if !(least > 0.0 && least.is_finite()) {
        return 1.0;
    }
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|f| f * power)
        .into_iter()
        .find(|s| *s >= least * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

/// `0.001`, `20`, `1e5`, `2e-4`.
fn plain(value: f64) -> String {
    let power = value.log10().floor() as i32;
    match power {
        -3..=3 => format!("{value:.*}", (-power).max(0) as usize),
        _ => format!("{}e{power}", (value / 10f64.powi(power)).round()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis, most: usize) -> Vec<String> {
        axis.ticks(most).into_iter().map(|t| t.1).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        assert_eq!(texts(&Axis::linear("", 0.0, 1.0), 5), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(&Axis::linear("", -3.0, 97.0), 5), ["0", "20", "40", "60", "80"]);
        assert_eq!(texts(&Axis::linear("", 0.0, 0.0123), 4), ["0.000", "0.005", "0.010"]);
        let far = Axis::linear("", 1.0e6, 1.3e6);
        assert!(far.ticks(4).iter().all(|(v, _)| (1.0e6..=1.3e6).contains(v)));
    }

    #[test]
    fn log_ticks_are_decades_or_parts_of_them() {
        let axis = |low, high| Axis { kind: Kind::Log, ..Axis::linear("", low, high) };
        assert_eq!(texts(&axis(0.009, 110.0), 5), ["0.01", "0.1", "1", "10", "100"]);
        assert_eq!(texts(&axis(0.9, 11.0), 5), ["1", "2", "5", "10"]);
        assert_eq!(texts(&axis(1e-6, 1e6), 5).len(), 5);
        assert_eq!(texts(&axis(12.0, 38.0), 5), ["15", "20", "25", "30", "35"]);
        assert_eq!(texts(&axis(1e4, 1e5), 5), ["1e4", "2e4", "5e4", "1e5"]);
    }

    #[test]
    fn places_run_from_end_to_end() {
        let axis = Axis::linear("", 2.0, 4.0);
        assert_eq!([2.0, 3.0, 4.0, 9.0, -9.0].map(|v| axis.place(v)), [0.0, 0.5, 1.0, 1.0, 0.0]);
        let log = Axis { kind: Kind::Log, ..Axis::linear("", 0.01, 100.0) };
        assert!((log.place(1.0) - 0.5).abs() < 1e-12);
        assert_eq!((log.place(0.0), log.place(f64::INFINITY)), (0.0, 1.0));
        let odds = Axis::odds("");
        assert_eq!([0.0, 0.001, 0.999, 1.0].map(|v| odds.place(v)), [0.0, 0.0, 1.0, 1.0]);
        assert!([0.5, 0.1, 0.02].iter().all(|v| (odds.place(*v) + odds.place(1.0 - v) - 1.0).abs() < 1e-12));
        assert_eq!(texts(&odds, 3).len(), 7);
    }

    #[test]
    fn ranges_cover_their_values_whatever_those_are() {
        let axis = Axis::over("", Kind::Linear, [1.0, 5.0].into_iter(), true);
        assert!(axis.low == 0.0 && axis.high > 5.0);
        for values in [vec![], vec![0.0], vec![f64::NAN], vec![3.0, 3.0]] {
            for kind in [Kind::Linear, Kind::Log, Kind::Odds] {
                let axis = Axis::over("", kind, values.iter().copied(), false);
                assert!(axis.low < axis.high && axis.low.is_finite() && axis.high.is_finite(), "{axis:?}");
                axis.ticks(5);
            }
        }
    }
}
