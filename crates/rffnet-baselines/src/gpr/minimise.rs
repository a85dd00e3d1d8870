//! Two ways down: Adam, a fixed number of steps, and L-BFGS, until nothing is gained.

/// A function's value and gradient; `None` outside its domain.
pub(crate) type Point = Option<(f64, Vec<f64>)>;

/// Gradients remembered by L-BFGS.
const MEMORY: usize = 10;

/// Iterations over which a gain is measured.
const WINDOW: usize = 5;

/// Adam with its usual constants. Ends early where the function is not defined.
pub(crate) fn adam(
    mut at: Vec<f64>,
    steps: usize,
    rate: f64,
    mut function: impl FnMut(&[f64]) -> Point,
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

/// L-BFGS with a backtracking line search, until five iterations together gain less than `tolerance`.
pub(crate) fn lbfgs(
    mut at: Vec<f64>,
    steps: usize,
    tolerance: f64,
    mut function: impl FnMut(&[f64]) -> Point,
) -> Option<Vec<f64>> {
    let (mut value, mut gradient) = function(&at)?;
    let mut pairs: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    let mut values = vec![value];
    for _ in 0..steps {
        let mut direction = descent(&gradient, &pairs);
        let mut slope = dot(&direction, &gradient);
        if slope >= 0.0 {
            pairs.clear();
            direction = descent(&gradient, &pairs);
            slope = dot(&direction, &gradient);
        }
        let Some((next, next_value, next_gradient)) = search(&at, value, &direction, slope, &mut function)
        else {
            if pairs.is_empty() {
                break;
            }
            // The remembered curvature may be at fault: once more along the gradient.
            pairs.clear();
            continue;
        };
        let moved = difference(&next, &at);
        let turned = difference(&next_gradient, &gradient);
        if dot(&moved, &turned) > 1e-12 * dot(&turned, &turned) {
            pairs.push((moved, turned));
            if pairs.len() > MEMORY {
                pairs.remove(0);
            }
        }
        (at, value, gradient) = (next, next_value, next_gradient);
        values.push(value);
        if values.len() > WINDOW && values[values.len() - 1 - WINDOW] - value < tolerance {
            break;
        }
    }
    Some(at)
}

/// The two-loop recursion; along the gradient, at most a unit's length, while nothing is remembered.
fn descent(gradient: &[f64], pairs: &[(Vec<f64>, Vec<f64>)]) -> Vec<f64> {
    let mut q: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let Some((moved, turned)) = pairs.last() else {
        let length = dot(&q, &q).sqrt().max(1.0);
        q.iter_mut().for_each(|q| *q /= length);
        return q;
    };
    let mut shares = Vec::with_capacity(pairs.len());
    for (s, y) in pairs.iter().rev() {
        let share = dot(s, &q) / dot(s, y);
        q.iter_mut().zip(y).for_each(|(q, y)| *q -= share * y);
        shares.push(share);
    }
    let size = dot(moved, turned) / dot(turned, turned);
    q.iter_mut().for_each(|q| *q *= size);
    for ((s, y), share) in pairs.iter().zip(shares.iter().rev()) {
        let back = share - dot(y, &q) / dot(s, y);
        q.iter_mut().zip(s).for_each(|(q, s)| *q += back * s);
    }
    q
}

/// The first step along `direction` that lowers the function enough.
fn search(
    at: &[f64],
    value: f64,
    direction: &[f64],
    slope: f64,
    function: &mut impl FnMut(&[f64]) -> Point,
) -> Option<(Vec<f64>, f64, Vec<f64>)> {
    // Logarithms: a step of 3 is a factor of 20.
    let longest = direction.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let mut length = (3.0 / longest).min(1.0);
    for _ in 0..20 {
        let next: Vec<f64> = at.iter().zip(direction).map(|(a, d)| a + length * d).collect();
        match function(&next) {
            Some((f, g)) if f <= value + 1e-4 * length * slope => return Some((next, f, g)),
            // The minimum of the parabola through both values, kept from the ends.
            Some((f, _)) => {
                let bend = f - value - length * slope;
                length *= (-0.5 * length * slope / bend).clamp(0.1, 0.5);
            }
            None => length *= 0.2,
        }
    }
    None
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's valley, not defined beyond 3.
    fn valley(x: &[f64]) -> Point {
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
