//! Gradients and losses against the network written plainly in f64.

use super::*;
use crate::loss::LossKind;
use crate::numerics::random::{Stream, Use, stream, uniform};
use rand_distr::{Distribution, StandardNormal};

/// A problem, a network and an order of rows, all at random but for the shapes.
struct Case {
    kind: LossKind,
    classes: usize,
    outputs: usize,
    rows: usize,
    columns: usize,
    features: usize,
    weighted: bool,
}

struct Instance {
    x: Vec<f32>,
    scale: Scale,
    y: Vec<f32>,
    weight: Option<Vec<f32>>,
    map: FeatureMap,
    weights: Weights,
}

fn normals(count: usize, size: f64, rng: &mut Stream) -> Vec<f32> {
    (0..count).map(|_| (size * Distribution::<f64>::sample(&StandardNormal, rng)) as f32).collect()
}

impl Case {
    fn instance(&self, rng: &mut Stream) -> Instance {
        let (n, d, s, k) = (self.rows, self.columns, self.features, self.outputs);
        let map = FeatureMap::new(normals(d * s, 1.0, rng), normals(s, 2.0, rng));
        let mut weights = Weights::zeros(&map, k);
        weights.theta = normals(d, 0.5, rng);
        weights.intercept = normals(k, 0.3, rng);
        for output in weights.beta.chunks_exact_mut(map.padded()) {
            output[..s].copy_from_slice(&normals(s, 0.3, rng));
        }
        let y = match (self.kind, self.classes) {
            (LossKind::CrossEntropy, c) => (0..n).map(|_| (uniform(rng) * c as f64) as u32 as f32).collect(),
            (LossKind::Poisson, _) => (0..n * k).map(|_| (uniform(rng) * 5.0) as u32 as f32).collect(),
            _ => normals(n * k, 1.0, rng),
        };
        let weight = self
            .weighted
            .then(|| (0..n).map(|i| if i % 5 == 0 { 0.0 } else { 2.0 * uniform(rng) as f32 }).collect());
        Instance {
            x: normals(n * d, 3.0, rng),
            scale: Scale {
                mean: normals(d, 1.0, rng),
                inverse: (0..d).map(|_| 0.4).collect(),
                warp: Vec::new(),
                bend: Vec::new(),
            },
            y,
            weight,
            map,
            weights,
        }
    }
}

/// Every number of `Weights` in one list, without the head's padding.
fn flat(w: &Weights, map: &FeatureMap) -> Vec<f64> {
    let head = w.beta.chunks_exact(map.padded()).flat_map(|b| &b[..map.features()]);
    w.theta.iter().chain(head).chain(&w.intercept).map(|&v| v as f64).collect()
}

/// The losses by their textbook formulas.
fn row_loss(kind: LossKind, y: &[f64], f: &[f64]) -> f64 {
    if kind == LossKind::CrossEntropy {
        // Binary: two outputs, of which the first is fixed at 0.
        let logits = if f.len() == 1 { vec![0.0, f[0]] } else { f.to_vec() };
        return logits.iter().map(|l| l.exp()).sum::<f64>().ln() - logits[y[0] as usize];
    }
    let one = |y: f64, f: f64| match kind {
        LossKind::Squared => (y - f) * (y - f),
        LossKind::Huber { delta } if (y - f).abs() <= delta => 0.5 * (y - f) * (y - f),
        LossKind::Huber { delta } => delta * ((y - f).abs() - 0.5 * delta),
        LossKind::Quantile { tau } if y >= f => tau * (y - f),
        LossKind::Quantile { tau } => (1.0 - tau) * (f - y),
        // Half the deviance.
        LossKind::Poisson => f.exp() - y * f - if y > 0.0 { y - y * y.ln() } else { 0.0 },
        LossKind::CrossEntropy => unreachable!("above"),
    };
    y.iter().zip(f).map(|(&y, &f)| one(y, f)).sum()
}

/// sum over rows of weight times loss, divided by `divisor`: the objective, in f64 and without kernels.
fn reference(case: &Case, p: &Instance, at: &[f64], rows: &[usize], divisor: f64) -> f64 {
    let (d, s, k) = (case.columns, case.features, case.outputs);
    let (theta, rest) = at.split_at(d);
    let (beta, intercept) = rest.split_at(s * k);
    let width = p.y.len() / case.rows;
    let mut sum = 0.0;
    for &i in rows {
        let x: Vec<f64> = (0..d)
            .map(|j| (p.x[i * d + j] as f64 - p.scale.mean[j] as f64) * p.scale.inverse[j] as f64 * theta[j])
            .collect();
        let mut f = intercept.to_vec();
        for u in 0..s {
            let angle: f64 = (0..d).map(|j| p.map.omega[j * s + u] as f64 * x[j]).sum();
            let z = (angle + p.map.phase[u] as f64).cos();
            (0..k).for_each(|c| f[c] += beta[c * s + u] * z);
        }
        let y: Vec<f64> = p.y[i * width..(i + 1) * width].iter().map(|&v| v as f64).collect();
        let weight = p.weight.as_ref().map_or(1.0, |w| w[i] as f64);
        sum += weight * row_loss(case.kind, &y, &f);
    }
    sum / divisor
}

fn cases() -> Vec<Case> {
    let case = |kind, classes, outputs, rows, columns, features, weighted| Case {
        kind,
        classes,
        outputs,
        rows,
        columns,
        features,
        weighted,
    };
    use LossKind::*;
    vec![
        case(Squared, 0, 1, 70, 3, 20, false),
        case(Squared, 0, 1, 200, 1, 49, true),
        case(Squared, 0, 3, 130, 4, 50, true),
        case(CrossEntropy, 2, 1, 70, 5, 1, false),
        case(CrossEntropy, 2, 1, 150, 3, 60, true),
        case(CrossEntropy, 4, 4, 65, 2, 48, true),
        case(Huber { delta: 0.7 }, 0, 1, 90, 3, 30, true),
        case(Huber { delta: 0.7 }, 0, 2, 64, 17, 7, false),
        case(Quantile { tau: 0.2 }, 0, 1, 90, 3, 30, true),
        case(Quantile { tau: 0.2 }, 0, 2, 33, 3, 30, false),
        case(Poisson, 0, 1, 129, 3, 30, true),
        case(Poisson, 0, 2, 40, 33, 20, true),
    ]
}

fn problem<'a>(case: &Case, p: &'a Instance, loss: &'a dyn Loss) -> Problem<'a> {
    Problem {
        x: Matrix::new(&p.x, case.rows, case.columns).expect("shape"),
        scale: p.scale.clone(),
        y: p.y.clone(),
        width: p.y.len() / case.rows,
        weight: p.weight.clone(),
        outputs: case.outputs,
        loss,
        unit: 1.0,
    }
}

#[test]
fn gradients_and_losses_match_an_f64_network_and_its_central_differences() {
    let mut rng = stream(1, Use::Head);
    for case in cases() {
        let p = case.instance(&mut rng);
        let loss = case.kind.build(case.classes);
        let problem = problem(&case, &p, loss.as_ref());
        // Not all rows, not in order.
        let rows: Vec<usize> = (0..case.rows).rev().filter(|i| i % 7 != 3).collect();
        let mut engine = GradientEngine::new(&p.map, &p.weights, case.rows, Wanted::Relevances);
        let (value, gradient) = engine.gradient(&problem, &p.map, &p.weights, &rows);
        let gradient = flat(&gradient.weights, &p.map);
        let at = flat(&p.weights, &p.map);
        let count = rows.len() as f64;
        let f = |at: &[f64]| reference(&case, &p, at, &rows, count);
        let expected = f(&at);
        let name = format!("{} k={} d={} s={}", case.kind, case.outputs, case.columns, case.features);
        assert!((value - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{name}: {value} {expected}");

        let mass = rows.iter().map(|&i| problem.weight(i) as f64).sum::<f64>();
        let mean = mean_loss(&problem, &p.map, &p.weights, &rows);
        let expected = reference(&case, &p, &at, &rows, mass);
        assert!((mean - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{name}: {mean} {expected}");

        let h = 1e-6;
        let size = gradient.iter().fold(0.1, |m: f64, g| m.max(g.abs()));
        for i in 0..at.len() {
            let mut moved = at.clone();
            moved[i] = at[i] + h;
            let above = f(&moved);
            moved[i] = at[i] - h;
            let numeric = (above - f(&moved)) / (2.0 * h);
            let error = (numeric - gradient[i]).abs();
            assert!(error < 2e-5 * size, "{name}, number {i}: {numeric} {}", gradient[i]);
        }
    }
}

#[test]
fn the_padding_of_the_head_has_no_gradient() {
    let mut rng = stream(2, Use::Head);
    let case = &cases()[2];
    let p = case.instance(&mut rng);
    let loss = case.kind.build(0);
    let problem = problem(case, &p, loss.as_ref());
    let rows: Vec<usize> = (0..case.rows).collect();
    let mut engine = GradientEngine::new(&p.map, &p.weights, case.rows, Wanted::Relevances);
    let (_, gradient) = engine.gradient(&problem, &p.map, &p.weights, &rows);
    for output in gradient.weights.beta.chunks_exact(p.map.padded()) {
        assert!(output[case.features..].iter().all(|&g| g == 0.0));
    }
}

#[test]
fn an_engine_can_be_used_again_for_a_smaller_batch() {
    let mut rng = stream(3, Use::Head);
    let case = &cases()[1];
    let p = case.instance(&mut rng);
    let loss = case.kind.build(0);
    let problem = problem(case, &p, loss.as_ref());
    let rows: Vec<usize> = (0..case.rows).collect();
    let mut used = GradientEngine::new(&p.map, &p.weights, case.rows, Wanted::Relevances);
    used.gradient(&problem, &p.map, &p.weights, &rows);
    let (again, after) = used.gradient(&problem, &p.map, &p.weights, &rows[..30]);
    let after = after.weights.clone();
    let mut fresh = GradientEngine::new(&p.map, &p.weights, 30, Wanted::Relevances);
    let (value, gradient) = fresh.gradient(&problem, &p.map, &p.weights, &rows[..30]);
    assert_eq!((again, &after), (value, &gradient.weights));
}

/// Central differences of the outputs along the standardised columns.
#[test]
fn squared_slopes_match_finite_differences() {
    let mut rng = stream(4, Use::Head);
    for case in [&cases()[0], &cases()[2]] {
        let p = case.instance(&mut rng);
        let (n, d) = (case.rows, case.columns);
        let rows: Vec<usize> = (0..n).collect();
        let x = |data: &[f32]| {
            outputs(Matrix::new(data, n, d).expect("shape"), &p.scale, &p.map, &p.weights, &rows)
        };
        let matrix = Matrix::new(&p.x, n, d).expect("shape");
        let got = mean_squared_slopes(matrix, &p.scale, &[(&p.map, &p.weights)], &rows, |_| 1.0);
        for (j, &got) in got.iter().enumerate() {
            let h = 0.01 / p.scale.inverse[j];
            let moved = |h: f32| -> Vec<f32> {
                p.x.iter().enumerate().map(|(i, &v)| if i % d == j { v + h } else { v }).collect()
            };
            let (above, below) = (x(&moved(h)), x(&moved(-h)));
            let slopes = above.iter().zip(&below).map(|(a, b)| ((a - b) as f64 / 0.02).powi(2));
            let expected = slopes.sum::<f64>() / n as f64;
            assert!((got - expected).abs() < 0.01 * expected, "column {j}: {got} {expected}");
        }
    }
}

/// Its diagonal is the mean of squared slopes; along a direction, it is the mean of the squared slope along it.
#[test]
fn outer_slopes_are_squared_slopes_along_any_direction() {
    let mut rng = stream(6, Use::Head);
    for case in cases().iter().filter(|case| case.columns > 1) {
        let p = case.instance(&mut rng);
        let (n, d) = (case.rows, case.columns);
        let rows: Vec<usize> = (0..n).filter(|i| i % 5 != 0).collect();
        let loss = case.kind.build(case.classes);
        let problem = problem(case, &p, loss.as_ref());
        let outer = mean_outer_slopes(&problem, &p.map, &p.weights, &rows);
        let diagonal =
            mean_squared_slopes(problem.x, &p.scale, &[(&p.map, &p.weights)], &rows, |i| problem.weight(i));
        for (j, expected) in diagonal.iter().enumerate() {
            let got = outer[j * d + j];
            assert!((got - expected).abs() < 1e-5 * expected.max(1e-3), "column {j}: {got} {expected}");
        }
        // Along the diagonal of the first two columns, by central differences.
        let along = |h: f32| -> Vec<f32> {
            let step = |i: usize, v: f32| if i % d < 2 { v + h / p.scale.inverse[i % d] } else { v };
            p.x.iter().enumerate().map(|(i, &v)| step(i, v)).collect()
        };
        let f =
            |x: &[f32]| outputs(Matrix::new(x, n, d).expect("shape"), &p.scale, &p.map, &p.weights, &rows);
        let (above, below) = (f(&along(0.01)), f(&along(-0.01)));
        let k = case.outputs;
        let mass: f64 = rows.iter().map(|&i| problem.weight(i) as f64).sum();
        let squares = above
            .iter()
            .zip(&below)
            .enumerate()
            .map(|(at, (a, b))| problem.weight(rows[at / k]) as f64 * ((a - b) as f64 / 0.02).powi(2));
        let expected = squares.sum::<f64>() / mass;
        let got = outer[0] + 2.0 * outer[d] + outer[d + 1];
        assert!((got - expected).abs() < 0.01 * expected, "{got} {expected}");
    }
}
