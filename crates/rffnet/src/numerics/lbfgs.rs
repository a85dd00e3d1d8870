//! L-BFGS with a line search that tolerates rounding.

/// Pairs of steps and gradient changes remembered.
const MEMORY: usize = 10;
/// Sufficient decrease and curvature constants.
const DECREASE: f64 = 1e-4;
const CURVATURE: f64 = 0.9;
/// Function values closer than this, relatively, count as equal: features are f32.
const NOISE: f64 = 1e-7;
/// Evaluations per line search, at most.
const TRIALS: usize = 10;

/// A point with its value and gradient.
#[derive(Debug, Clone)]
pub struct Point<T> {
    pub x: Vec<f64>,
    pub value: f64,
    pub gradient: Vec<f64>,
    /// Whatever else the evaluation found.
    pub note: T,
}

/// The curvature seen so far.
#[derive(Debug, Default)]
pub struct Lbfgs {
    steps: Vec<Vec<f64>>,
    changes: Vec<Vec<f64>>,
}

impl Lbfgs {
    /// Moves to a better point along a quasi-Newton direction; `None` when there is none to be found. The
    /// very first step is at most `first` long.
    pub fn step<T>(
        &mut self,
        at: &Point<T>,
        first: f64,
        evaluate: &mut dyn FnMut(Vec<f64>) -> Point<T>,
    ) -> Option<Point<T>> {
        loop {
            let direction = self.direction(&at.gradient);
            let slope = dot(&at.gradient, &direction);
            let length = if self.steps.is_empty() { (first / norm(&direction)).min(1.0) } else { 1.0 };
            let found = if slope < 0.0 { line_search(at, &direction, slope, length, evaluate) } else { None };
            match found {
                Some(point) => {
                    self.remember(at, &point);
                    return Some(point);
                }
                // Stale curvature can spoil the direction: once more, along the gradient.
                None if !self.steps.is_empty() => *self = Self::default(),
                None => return None,
            }
        }
    }

    fn remember<T>(&mut self, from: &Point<T>, to: &Point<T>) {
        let step = difference(&to.x, &from.x);
        let change = difference(&to.gradient, &from.gradient);
        // Only pairs of clearly positive curvature keep the approximation positive definite.
        if dot(&step, &change) > 1e-10 * norm(&step) * norm(&change) {
            if self.steps.len() == MEMORY {
                self.steps.remove(0);
                self.changes.remove(0);
            }
            self.steps.push(step);
            self.changes.push(change);
        }
    }

    /// The two-loop recursion.
    fn direction(&self, gradient: &[f64]) -> Vec<f64> {
        let mut q: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let pairs: Vec<(&Vec<f64>, &Vec<f64>)> = self.steps.iter().zip(&self.changes).collect();
        let mut shares = Vec::with_capacity(pairs.len());
        for (s, y) in pairs.iter().rev() {
            let share = dot(s, &q) / dot(s, y);
            add(&mut q, -share, y);
            shares.push(share);
        }
        if let Some((s, y)) = pairs.last() {
            let scale = dot(s, y) / dot(y, y);
            q.iter_mut().for_each(|q| *q *= scale);
        }
        for ((s, y), share) in pairs.iter().zip(shares.iter().rev()) {
            let back = dot(y, &q) / dot(s, y);
            add(&mut q, share - back, s);
        }
        q
    }
}

/// Bracketing with the strong Wolfe conditions, or their approximate form where values are equal up to rounding
/// (Hager and Zhang).
fn line_search<T>(
    at: &Point<T>,
    direction: &[f64],
    slope: f64,
    first: f64,
    evaluate: &mut dyn FnMut(Vec<f64>) -> Point<T>,
) -> Option<Point<T>> {
    let mut t = first;
    let (mut low, mut low_value, mut low_slope) = (0.0, at.value, slope);
    let mut high = f64::INFINITY;
    let mut best: Option<Point<T>> = None;
    for _ in 0..TRIALS {
        let mut x = at.x.clone();
        add(&mut x, t, direction);
        let trial = evaluate(x);
        let (value, trial_slope) = (trial.value, dot(&trial.gradient, direction));
        let finite = value.is_finite() && trial_slope.is_finite();
        let decreased = value <= at.value + DECREASE * t * slope;
        let level =
            value <= at.value + NOISE * at.value.abs() && trial_slope <= (2.0 * DECREASE - 1.0) * slope;
        if !(finite && (decreased || level)) {
            high = t;
            let width = t - low;
            let bend = 2.0 * (value - low_value - low_slope * width);
            let guess = if finite && bend > 0.0 { -low_slope * width / bend } else { 0.5 };
            t = low + width * guess.clamp(0.1, 0.9);
            continue;
        }
        let flat = trial_slope.abs() <= CURVATURE * slope.abs();
        if best.as_ref().is_none_or(|b| value < b.value) {
            best = Some(trial);
        }
        if flat {
            break;
        }
        if trial_slope < 0.0 {
            (low, low_value, low_slope) = (t, value, trial_slope);
        } else {
            high = t;
        }
        t = if high.is_finite() { 0.5 * (low + high) } else { 2.5 * t };
    }
    best
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn add(to: &mut [f64], factor: f64, other: &[f64]) {
    to.iter_mut().zip(other).for_each(|(t, o)| *t += factor * o);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minimise(start: &[f64], f: impl Fn(&[f64]) -> (f64, Vec<f64>), steps: usize) -> Point<()> {
        let mut evaluate = |x: Vec<f64>| {
            let (value, gradient) = f(&x);
            Point { x, value, gradient, note: () }
        };
        let mut at = evaluate(start.to_vec());
        let mut solver = Lbfgs::default();
        for _ in 0..steps {
            match solver.step(&at, 0.1, &mut evaluate) {
                Some(next) => at = next,
                None => break,
            }
        }
        at
    }

    #[test]
    fn rosenbrock() {
        let f = |x: &[f64]| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            (a * a + 100.0 * b * b, vec![-2.0 * a - 400.0 * x[0] * b, 200.0 * b])
        };
        let end = minimise(&[-1.2, 1.0], f, 100);
        assert!((end.x[0] - 1.0).abs() < 1e-4 && (end.x[1] - 1.0).abs() < 1e-4, "{end:?}");
    }

    #[test]
    fn a_badly_scaled_quadratic_with_noisy_values() {
        let scale: Vec<f64> = (0..20).map(|i| 10f64.powf(i as f64 / 5.0)).collect();
        let f = |x: &[f64]| {
            let value: f64 = x.iter().zip(&scale).map(|(x, s)| 0.5 * s * x * x).sum::<f64>() + 1.0;
            (value as f32 as f64, x.iter().zip(&scale).map(|(x, s)| s * x).collect())
        };
        let end = minimise(&[1.0; 20], f, 200);
        assert!(norm(&end.gradient) < 0.1, "{}", norm(&end.gradient));
    }

    #[test]
    fn stops_at_a_minimum_and_survives_infinite_values() {
        let bowl = |x: &[f64]| (x[0] * x[0], vec![2.0 * x[0]]);
        assert!(minimise(&[0.0], bowl, 5).x[0] == 0.0);
        let barrier = |x: &[f64]| {
            if x[0] <= 0.0 {
                (f64::INFINITY, vec![f64::NAN])
            } else {
                (x[0] - x[0].ln(), vec![1.0 - 1.0 / x[0]])
            }
        };
        assert!((minimise(&[5.0], barrier, 50).x[0] - 1.0).abs() < 1e-3);
    }
}
