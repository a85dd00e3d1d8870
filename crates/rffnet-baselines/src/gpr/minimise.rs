//! Two ways down: Adam, a fixed number of steps, and L-BFGS, until nothing is gained.

use rffnet::numerics::lbfgs::{Lbfgs, Point};

/// A function's value and gradient; `None` outside its domain.
pub(crate) type Value = Option<(f64, Vec<f64>)>;

/// The longest first step of L-BFGS. Most numbers are logarithms: a step of 1 is a factor of 2.7.
const FIRST_STEP: f64 = 1.0;

/// Iterations over which a gain is measured.
const WINDOW: usize = 5;

/// Adam with its usual constants. Ends early where the function is not defined.
pub(crate) fn adam(
    mut at: Vec<f64>,
    steps: usize,
    rate: f64,
    mut function: impl FnMut(&[f64]) -> Value,
) -> Option<Vec<f64>> {
    const FIRST: f64 = 0.9;
    const SECOND: f64 = 0.999;
    let (mut mean, mut square) = (vec![0.0; at.len()], vec![0.0; at.len()]);
    for step in 1..=steps {
        let (_, gradient) = function(&at)?;
        let (a, b) = (1.0 - FIRST.powi(step as i32), 1.0 - SECOND.powi(step as i32));
        for (i, g) in gradient.iter().enumerate() {
            mean[i] = FIRST * mean[i] + (1.0 - FIRST) * g;
            square[i] = SECOND * square[i] + (1.0 - SECOND) * g * g;
            at[i] -= rate * (mean[i] / a) / ((square[i] / b).sqrt() + 1e-8);
        }
    }
    Some(at)
}

/// L-BFGS, until five iterations together gain less than `tolerance`.
pub(crate) fn lbfgs(
    start: Vec<f64>,
    steps: usize,
    tolerance: f64,
    mut function: impl FnMut(&[f64]) -> Value,
) -> Option<Vec<f64>> {
    // The line search backs off from an infinite value: that is what a point outside the domain has.
    let mut evaluate = |x: Vec<f64>| {
        let (value, gradient) = function(&x).unwrap_or_else(|| (f64::INFINITY, vec![f64::NAN; x.len()]));
        Point { x, value, gradient, note: () }
    };
    let mut at = evaluate(start);
    if !at.value.is_finite() {
        return None;
    }
    let mut solver = Lbfgs::default();
    let mut values = vec![at.value];
    for _ in 0..steps {
        let Some(next) = solver.step(&at, FIRST_STEP, &mut evaluate) else { break };
        at = next;
        values.push(at.value);
        if values.len() > WINDOW && values[values.len() - 1 - WINDOW] - at.value < tolerance {
            break;
        }
    }
    Some(at.x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's valley, not defined beyond 3.
    fn valley(x: &[f64]) -> Value {
        let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
        let gradient = vec![-2.0 * a - 400.0 * x[0] * b, 200.0 * b];
        (x[0].abs() < 3.0).then_some((a * a + 100.0 * b * b, gradient))
    }

    #[test]
    fn lbfgs_finds_the_end_of_the_valley() {
        let x = lbfgs(vec![-1.2, 1.0], 200, 1e-14, valley).expect("defined");
        assert!((x[0] - 1.0).abs() < 1e-5 && (x[1] - 1.0).abs() < 1e-5, "{x:?}");
    }

    #[test]
    fn adam_steps_by_its_rate() {
        let x = adam(vec![5.0], 1, 0.1, |x| Some((x[0] * x[0], vec![2.0 * x[0]]))).expect("defined");
        assert!((x[0] - 4.9).abs() < 1e-8);
        let x = adam(vec![5.0], 2000, 0.05, |x| Some((x[0] * x[0], vec![2.0 * x[0]]))).expect("defined");
        assert!(x[0].abs() < 1e-3, "{x:?}");
    }

    #[test]
    fn outside_the_domain_there_is_no_answer() {
        assert!(adam(vec![4.0, 0.0], 5, 0.1, valley).is_none());
        assert!(lbfgs(vec![4.0, 0.0], 5, 0.1, valley).is_none());
    }
}
