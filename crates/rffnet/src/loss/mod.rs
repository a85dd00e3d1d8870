//! Losses: what a prediction costs, its gradient, and the constant to beat.
//!
//! A loss sees one row at a time, in f64: the target `y`, the outputs `f` of the network, and writes the derivative
//! along each output. Adding a loss is one type, one arm in [`LossKind`], one test.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Error, names::named_enum};

named_enum! {
    /// From the network's output to what is predicted.
    pub enum Link "link" {
        /// The output itself.
        Identity => "identity",
        /// exp(output): a positive mean.
        Log => "log",
        /// One output; its logistic function is the probability of the second class.
        Logistic => "logistic",
        /// One output per class.
        Softmax => "softmax",
    }
}

/// A differentiable loss.
///
/// Implement it to train with a loss of your own (see [`Fit::loss`](crate::Fit::loss)).
pub trait Loss: Sync {
    /// The loss of one row; writes d loss / d f into `gradient`.
    fn row(&self, y: &[f64], f: &[f64], gradient: &mut [f64]) -> f64;
    /// From output to prediction.
    fn link(&self) -> Link;
    /// The best constant output for weighted targets (`y` is `weights.len() x width`): where the intercept starts, and
    /// what a fit has to beat.
    fn constant(&self, y: &[f32], weights: &[f32], outputs: usize) -> Vec<f64>;
}

/// The built-in losses, by name; `huber:DELTA` and `quantile:TAU` take a number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LossKind {
    /// (f - y)^2.
    Squared,
    /// Minus the log-probability of the label, binary or multi-class.
    CrossEntropy,
    /// Squared (halved) up to `delta`, linear beyond: robust to outliers.
    Huber {
        /// Where it turns linear, in units of the target as it is trained on (standardised in `auto`).
        delta: f64,
    },
    /// The pinball loss: f estimates the `tau` quantile.
    Quantile {
        /// Between 0 and 1.
        tau: f64,
    },
    /// exp(f) - y f, less what it is at best: counts, log link.
    Poisson,
}

impl LossKind {
    /// The loss itself; `classes` is 0 for regression.
    pub(crate) fn build(self, classes: usize) -> Box<dyn Loss> {
        match self {
            LossKind::Squared => Box::new(Squared),
            LossKind::CrossEntropy if classes > 2 => Box::new(Softmax { classes }),
            LossKind::CrossEntropy => Box::new(Logistic),
            LossKind::Huber { delta } => Box::new(Huber { delta }),
            LossKind::Quantile { tau } => Box::new(Quantile { tau }),
            LossKind::Poisson => Box::new(Poisson),
        }
    }

    /// Numbers set from code may be out of range; those from text cannot.
    pub(crate) fn check(self) -> Result<(), Error> {
        self.to_string().parse::<Self>().map(|_| ())
    }

    pub(crate) fn is_classification(self) -> bool {
        self == LossKind::CrossEntropy
    }
}

impl fmt::Display for LossKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LossKind::Squared => f.write_str("squared"),
            LossKind::CrossEntropy => f.write_str("cross-entropy"),
            LossKind::Huber { delta } => write!(f, "huber:{delta}"),
            LossKind::Quantile { tau } => write!(f, "quantile:{tau}"),
            LossKind::Poisson => f.write_str("poisson"),
        }
    }
}

impl From<LossKind> for String {
    fn from(loss: LossKind) -> String {
        loss.to_string()
    }
}

impl TryFrom<String> for LossKind {
    type Error = Error;
    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl FromStr for LossKind {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        let (name, number) = match text.split_once(':') {
            Some((name, number)) => (name, Some(number)),
            None => (text, None),
        };
        let value = |default: f64, ok: fn(f64) -> bool, need: &'static str| match number {
            None => Ok(default),
            Some(t) => {
                t.parse().ok().filter(|&v: &f64| ok(v)).ok_or_else(|| Error::parameter("loss", text, need))
            }
        };
        let known = match name {
            "squared" => LossKind::Squared,
            "cross-entropy" => LossKind::CrossEntropy,
            "poisson" => LossKind::Poisson,
            "huber" => {
                let delta = value(1.0, |v| v > 0.0 && v.is_finite(), "huber:DELTA with DELTA above 0")?;
                return Ok(LossKind::Huber { delta });
            }
            "quantile" => {
                let tau = value(0.5, |v| v > 0.0 && v < 1.0, "quantile:TAU with TAU between 0 and 1")?;
                return Ok(LossKind::Quantile { tau });
            }
            _ => {
                return Err(Error::parameter(
                    "loss",
                    format!("'{text}'"),
                    "one of squared cross-entropy huber[:DELTA] quantile[:TAU] poisson",
                ));
            }
        };
        match number {
            None => Ok(known),
            Some(_) => Err(Error::parameter("loss", text, format!("plain '{name}': it takes no number"))),
        }
    }
}

/// (f - y)^2, summed over outputs.
pub(crate) struct Squared;

impl Loss for Squared {
    fn row(&self, y: &[f64], f: &[f64], gradient: &mut [f64]) -> f64 {
        let mut loss = 0.0;
        for ((y, f), g) in y.iter().zip(f).zip(gradient) {
            let r = f - y;
            *g = 2.0 * r;
            loss += r * r;
        }
        loss
    }

    fn link(&self) -> Link {
        Link::Identity
    }

    fn constant(&self, y: &[f32], weights: &[f32], outputs: usize) -> Vec<f64> {
        (0..outputs).map(|c| weighted_mean(y, weights, outputs, c)).collect()
    }
}

/// log(1 + exp(-+f)) for labels 0 and 1.
pub(crate) struct Logistic;

impl Loss for Logistic {
    fn row(&self, y: &[f64], f: &[f64], gradient: &mut [f64]) -> f64 {
        let (y, f) = (y[0], f[0]);
        // log(1 + e^f) - y f without overflow.
        let softplus = f.max(0.0) + (-f.abs()).exp().ln_1p();
        gradient[0] = logistic(f) - y;
        softplus - y * f
    }

    fn link(&self) -> Link {
        Link::Logistic
    }

    fn constant(&self, y: &[f32], weights: &[f32], _outputs: usize) -> Vec<f64> {
        let p = weighted_mean(y, weights, 1, 0).clamp(1e-12, 1.0 - 1e-12);
        vec![(p / (1.0 - p)).ln()]
    }
}

/// Minus log softmax of the label's output; the target is the class index.
pub(crate) struct Softmax {
    pub(crate) classes: usize,
}

impl Loss for Softmax {
    fn row(&self, y: &[f64], f: &[f64], gradient: &mut [f64]) -> f64 {
        let top = f.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut total = 0.0;
        for (g, f) in gradient.iter_mut().zip(f) {
            *g = (f - top).exp();
            total += *g;
        }
        gradient.iter_mut().for_each(|g| *g /= total);
        let label = y[0] as usize;
        gradient[label] -= 1.0;
        total.ln() + top - f[label]
    }

    fn link(&self) -> Link {
        Link::Softmax
    }

    fn constant(&self, y: &[f32], weights: &[f32], outputs: usize) -> Vec<f64> {
        debug_assert_eq!(outputs, self.classes);
        let mut mass = vec![0.0; outputs];
        y.iter().zip(weights).for_each(|(&y, &w)| mass[y as usize] += w as f64);
        let total: f64 = mass.iter().sum();
        mass.iter().map(|m| (m / total).max(1e-12).ln()).collect()
    }
}

/// r^2 / 2 for |r| <= delta, delta (|r| - delta / 2) beyond.
pub(crate) struct Huber {
    pub(crate) delta: f64,
}

impl Loss for Huber {
    fn row(&self, y: &[f64], f: &[f64], gradient: &mut [f64]) -> f64 {
        let mut loss = 0.0;
        for ((y, f), g) in y.iter().zip(f).zip(gradient) {
            let r = f - y;
            *g = r.clamp(-self.delta, self.delta);
            loss += g.abs() * (r.abs() - 0.5 * g.abs());
        }
        loss
    }

    fn link(&self) -> Link {
        Link::Identity
    }

    fn constant(&self, y: &[f32], weights: &[f32], outputs: usize) -> Vec<f64> {
        (0..outputs).map(|c| self.location(y, weights, outputs, c)).collect()
    }
}

impl Huber {
    /// The minimiser, from the median by reweighted means: residuals beyond delta count less the larger they are.
    fn location(&self, y: &[f32], weights: &[f32], width: usize, column: usize) -> f64 {
        let mut centre = weighted_quantile(y, weights, width, column, 0.5);
        for _ in 0..100 {
            let (mut sum, mut mass) = (0.0, 0.0);
            for (row, &w) in y.chunks_exact(width).zip(weights) {
                let value = row[column] as f64;
                let w = w as f64 * (self.delta / (value - centre).abs()).min(1.0);
                sum += w * value;
                mass += w;
            }
            let next = sum / mass;
            let moved = (next - centre).abs();
            centre = next;
            if moved <= 1e-9 * self.delta {
                break;
            }
        }
        centre
    }
}

/// tau r for r = y - f >= 0, (tau - 1) r below.
pub(crate) struct Quantile {
    pub(crate) tau: f64,
}

impl Loss for Quantile {
    fn row(&self, y: &[f64], f: &[f64], gradient: &mut [f64]) -> f64 {
        let mut loss = 0.0;
        for ((y, f), g) in y.iter().zip(f).zip(gradient) {
            let r = y - f;
            *g = if r >= 0.0 { -self.tau } else { 1.0 - self.tau };
            loss -= *g * r;
        }
        loss
    }

    fn link(&self) -> Link {
        Link::Identity
    }

    fn constant(&self, y: &[f32], weights: &[f32], outputs: usize) -> Vec<f64> {
        (0..outputs).map(|c| weighted_quantile(y, weights, outputs, c, self.tau)).collect()
    }
}

/// exp(f) - y f, less what it is at best: half the Poisson deviance, zero where exp(f) = y.
pub(crate) struct Poisson;

impl Loss for Poisson {
    fn row(&self, y: &[f64], f: &[f64], gradient: &mut [f64]) -> f64 {
        let mut loss = 0.0;
        for ((y, f), g) in y.iter().zip(f).zip(gradient) {
            let mean = f.exp();
            *g = mean - y;
            let best = if *y > 0.0 { y - y * y.ln() } else { 0.0 };
            loss += mean - y * f - best;
        }
        loss
    }

    fn link(&self) -> Link {
        Link::Log
    }

    fn constant(&self, y: &[f32], weights: &[f32], outputs: usize) -> Vec<f64> {
        (0..outputs).map(|c| weighted_mean(y, weights, outputs, c).max(1e-12).ln()).collect()
    }
}

/// 1 / (1 + exp(-f)), without overflow.
pub(crate) fn logistic(f: f64) -> f64 {
    if f >= 0.0 {
        1.0 / (1.0 + (-f).exp())
    } else {
        let e = f.exp();
        e / (1.0 + e)
    }
}

fn weighted_mean(y: &[f32], weights: &[f32], width: usize, column: usize) -> f64 {
    let rows = y.chunks_exact(width).zip(weights);
    let (sum, mass) =
        rows.fold((0.0, 0.0), |(s, m), (y, &w)| (s + w as f64 * y[column] as f64, m + w as f64));
    sum / mass
}

/// The smallest value that at least a share `tau` of the weight does not exceed.
fn weighted_quantile(y: &[f32], weights: &[f32], width: usize, column: usize, tau: f64) -> f64 {
    let mut pairs: Vec<(f32, f32)> =
        y.chunks_exact(width).zip(weights).map(|(y, &w)| (y[column], w)).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = pairs.iter().map(|p| p.1 as f64).sum();
    let mut seen = 0.0;
    for &(value, weight) in &pairs {
        seen += weight as f64;
        if seen >= tau * total {
            return value as f64;
        }
    }
    pairs.last().map_or(0.0, |p| p.0 as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Central differences in f64 for every loss, over a grid of targets and outputs.
    #[test]
    fn gradients_match_finite_differences() {
        let regression = [-2.3, -0.4, 0.0, 0.7, 3.1];
        let cases: Vec<(LossKind, usize, Vec<Vec<f64>>)> = vec![
            (LossKind::Squared, 0, regression.iter().map(|&y| vec![y, 1.0 - y]).collect()),
            (LossKind::Huber { delta: 0.8 }, 0, regression.iter().map(|&y| vec![y, 1.0 - y]).collect()),
            (LossKind::Quantile { tau: 0.3 }, 0, regression.iter().map(|&y| vec![y, 1.0 - y]).collect()),
            (LossKind::Poisson, 0, vec![vec![0.0, 1.0], vec![7.0, 2.0]]),
            (LossKind::CrossEntropy, 2, vec![vec![0.0], vec![1.0]]),
            (LossKind::CrossEntropy, 4, vec![vec![0.0], vec![2.0], vec![3.0]]),
        ];
        for (kind, classes, targets) in cases {
            let loss = kind.build(classes);
            let outputs = match classes {
                0 => 2,
                2 => 1,
                k => k,
            };
            for y in &targets {
                for shift in [-3.13, -0.55, 0.21, 1.94] {
                    let f: Vec<f64> = (0..outputs).map(|c| shift + 0.37 * c as f64).collect();
                    let mut gradient = vec![0.0; outputs];
                    loss.row(y, &f, &mut gradient);
                    for c in 0..outputs {
                        let h = 1e-6;
                        let at = |delta: f64| {
                            let mut g = f.clone();
                            g[c] += delta;
                            loss.row(y, &g, &mut vec![0.0; outputs])
                        };
                        let numeric = (at(h) - at(-h)) / (2.0 * h);
                        let error = (numeric - gradient[c]).abs();
                        assert!(error < 1e-7 * (1.0 + numeric.abs()), "{kind} y={y:?} f={f:?}: {error}");
                    }
                }
            }
        }
    }

    /// The stated constant is a minimiser: moving off it never lowers the loss.
    #[test]
    fn constants_minimise() {
        let y = [0.0f32, 1.0, 1.0, 2.0, 5.0, 0.0];
        let w = [1.0f32, 2.0, 1.0, 0.5, 0.25, 3.0];
        let labels = [0.0f32, 1.0, 1.0, 0.0, 1.0, 0.0];
        for (kind, y) in [
            (LossKind::Squared, &y),
            (LossKind::Huber { delta: 0.7 }, &y),
            (LossKind::Huber { delta: 100.0 }, &y),
            (LossKind::Quantile { tau: 0.7 }, &y),
            (LossKind::Poisson, &y),
            (LossKind::CrossEntropy, &labels),
        ] {
            let loss = kind.build(2);
            let constant = loss.constant(y, &w, 1)[0];
            let total = |f: f64| -> f64 {
                let rows = y.iter().zip(&w);
                rows.map(|(&y, &w)| w as f64 * loss.row(&[y as f64], &[f], &mut [0.0])).sum()
            };
            for delta in [-0.5, -0.01, 0.01, 0.5] {
                assert!(total(constant) <= total(constant + delta) + 1e-12, "{kind} {delta}");
            }
        }
    }

    #[test]
    fn extreme_outputs_stay_defined() {
        let mut g = [0.0];
        assert_eq!(Logistic.row(&[1.0], &[800.0], &mut g), 0.0);
        assert_eq!(Logistic.row(&[0.0], &[800.0], &mut g), 800.0);
        assert!(Poisson.row(&[1.0], &[800.0], &mut g).is_infinite());
        let mut g = [0.0; 3];
        let loss = Softmax { classes: 3 }.row(&[2.0], &[1e30, -1e30, 0.0], &mut g);
        assert_eq!((loss, g), (1e30, [1.0, 0.0, -1.0]));
        assert!(Squared.row(&[0.0], &[f64::INFINITY], &mut g).is_infinite());
    }

    #[test]
    fn names_round_trip_and_bad_ones_are_explained() {
        for text in ["squared", "cross-entropy", "huber:1.5", "quantile:0.9", "poisson"] {
            assert_eq!(text.parse::<LossKind>().map(|l| l.to_string()).ok().as_deref(), Some(text));
        }
        for text in ["huber:-1", "quantile:1", "squared:2", "l3"] {
            assert!(text.parse::<LossKind>().is_err(), "{text}");
        }
    }
}
