//! Gradients and losses against the network written plainly in f64.

use super::gradient::Gradients;
use super::gram::DesignProducts;
use super::predict::Losses;
use super::slopes::{OuterSlopes, SquaredSlopes};
use super::*;
use crate::Matrix;
use crate::backend::Wanted;
use crate::features::{ScaledFeatures, Weights};
use crate::fold::{Fold, fold};
use crate::loss::{Loss, LossKind};
use crate::numerics::random::{Stream, Use, stream, uniform};
use crate::transform::statistics;
use crate::transform::{ColumnTransform, Transforms};
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

const INVERSE: f32 = 0.4;

struct Instance {
    x: Vec<f32>,
    transforms: Transforms,
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
            transforms: Transforms::new(
                normals(d, 1.0, rng)
                    .into_iter()
                    .map(|mean| ColumnTransform::standardise(mean, INVERSE))
                    .collect(),
            ),
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
        let standardised =
            |j: usize| (p.x[i * d + j] as f64 - p.transforms.columns()[j].mean as f64) * INVERSE as f64;
        let x: Vec<f64> = (0..d).map(|j| standardised(j) * theta[j]).collect();
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
    Problem::for_tests(p.columns(&p.x, case), &p.y, p.weight.as_deref(), case.outputs, loss)
}

impl Instance {
    /// These cells in the place of its own.
    fn columns<'a>(&'a self, x: &'a [f32], case: &Case) -> Columns<'a> {
        let x = Matrix::new(x, case.rows, case.columns).expect("shape");
        Columns { x, transforms: &self.transforms }
    }

    fn network(&self) -> Network<'_> {
        Network::new(&self.map, &self.weights)
    }
}

/// Mean loss and gradient.
fn gradient(problem: &Problem<'_>, p: &Instance, rows: &[usize]) -> (f64, Weights) {
    let mut buffers = GradientBuffers::new(Wanted::Relevances);
    let loss = Cpu::new().gradient(problem, p.network(), rows, &mut buffers);
    (loss, buffers.total().weights.clone())
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
        let (value, gradient) = gradient(&problem, &p, &rows);
        let gradient = flat(&gradient, &p.map);
        let at = flat(&p.weights, &p.map);
        let count = rows.len() as f64;
        let f = |at: &[f64]| reference(&case, &p, at, &rows, count);
        let expected = f(&at);
        let name = format!("{} k={} d={} s={}", case.kind, case.outputs, case.columns, case.features);
        assert!((value - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{name}: {value} {expected}");

        let mass = rows.iter().map(|&i| problem.weight(i) as f64).sum::<f64>();
        let mean = problem.mean_loss(p.network(), &rows);
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
    let (_, gradient) = gradient(&problem, &p, &rows);
    for output in gradient.beta.chunks_exact(p.map.padded()) {
        assert!(output[case.features..].iter().all(|&g| g == 0.0));
    }
}

#[test]
fn buffers_can_be_used_again_for_a_smaller_batch() {
    let mut rng = stream(3, Use::Head);
    let case = &cases()[1];
    let p = case.instance(&mut rng);
    let loss = case.kind.build(0);
    let problem = problem(case, &p, loss.as_ref());
    let rows: Vec<usize> = (0..case.rows).collect();
    let mut used = GradientBuffers::new(Wanted::Relevances);
    Cpu::new().gradient(&problem, p.network(), &rows, &mut used);
    let again = Cpu::new().gradient(&problem, p.network(), &rows[..30], &mut used);
    let (value, fresh) = gradient(&problem, &p, &rows[..30]);
    assert_eq!((again, &used.total().weights), (value, &fresh));
}

/// Central differences of the outputs along the standardised columns.
#[test]
fn squared_slopes_match_finite_differences() {
    let mut rng = stream(4, Use::Head);
    for case in [&cases()[0], &cases()[2]] {
        let p = case.instance(&mut rng);
        let (n, d) = (case.rows, case.columns);
        let rows: Vec<usize> = (0..n).collect();
        let x = |data: &[f32]| Cpu::new().outputs(p.columns(data, case), p.network(), &rows);
        let got = Cpu::new().squared_slopes(p.columns(&p.x, case), &[p.network()], &rows, &|_| 1.0);
        for (j, &got) in got.iter().enumerate() {
            let h = 0.01 / INVERSE;
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
fn the_agop_holds_squared_slopes_along_any_direction() {
    let mut rng = stream(6, Use::Head);
    for case in cases().iter().filter(|case| case.columns > 1) {
        let p = case.instance(&mut rng);
        let (n, d) = (case.rows, case.columns);
        let rows: Vec<usize> = (0..n).filter(|i| i % 5 != 0).collect();
        let loss = case.kind.build(case.classes);
        let problem = problem(case, &p, loss.as_ref());
        let outer = Cpu::new().agop(&problem, p.network(), &rows);
        let diagonal =
            Cpu::new().squared_slopes(problem.columns, &[p.network()], &rows, &|i| problem.weight(i));
        for (j, expected) in diagonal.iter().enumerate() {
            let got = outer[j * d + j];
            assert!((got - expected).abs() < 1e-5 * expected.max(1e-3), "column {j}: {got} {expected}");
        }
        // Along the diagonal of the first two columns, by central differences.
        let along = |h: f32| -> Vec<f32> {
            let step = |i: usize, v: f32| if i % d < 2 { v + h / INVERSE } else { v };
            p.x.iter().enumerate().map(|(i, &v)| step(i, v)).collect()
        };
        let f = |x: &[f32]| Cpu::new().outputs(p.columns(x, case), p.network(), &rows);
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

/// The sum over the first half of the rows, continued with the second, is the sum over all of them, to the last bit: with
/// threads over blocks, and block by block.
fn check_halves<F: Fold>(sum: &F, rows: &[usize], block: usize, numbers: impl Fn(&F::Sum) -> Vec<f64>) {
    let half = rows.len() / block / 2 * block;
    assert!(half >= block && half.is_multiple_of(block), "there are blocks in both halves");
    let in_order = |sum: &F, total: &mut F::Sum, rows: &[usize], block: usize| {
        rows.chunks(block).for_each(|rows| sum.add(total, rows));
    };
    for add in [fold as fn(&F, &mut F::Sum, &[usize], usize), in_order] {
        let (mut whole, mut halves) = (sum.empty(), sum.empty());
        add(sum, &mut whole, rows, block);
        add(sum, &mut halves, &rows[..half], block);
        add(sum, &mut halves, &rows[half..], block);
        let bits = |sum: &F::Sum| numbers(sum).iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&whole), bits(&halves));
        assert!(numbers(&whole).iter().any(|&v| v != 0.0));
    }
}

#[test]
fn folds_over_two_halves_are_folds_over_the_whole() {
    let mut rng = stream(9, Use::Head);
    let case = Case {
        rows: 1500,
        columns: 4,
        features: 30,
        outputs: 2,
        classes: 0,
        kind: LossKind::Squared,
        weighted: true,
    };
    let p = case.instance(&mut rng);
    let loss = case.kind.build(0);
    let problem = &problem(&case, &p, loss.as_ref());
    let (path, network, columns) = (simd::path(), p.network(), problem.columns);
    let rows: Vec<usize> = (0..case.rows).map(|i| i * 7 % case.rows).collect();
    let weight = |i: usize| problem.weight(i);

    let sums = statistics::Columns { x: columns.x, weight };
    check_halves(&sums, &rows, 128, |sum| sum.iter().flat_map(|column| column.numbers()).collect());

    check_halves(&Losses { path, problem, network }, &rows, 128, |sum| vec![sum.0, sum.1]);

    let gradients = Gradients { path, wanted: Wanted::Spectrum, problem, network, factor: 0.1 };
    check_halves(&gradients, &rows, 128, |sum| {
        let spectrum = sum.omega.iter().chain(&sum.phase).map(|&g| g as f64);
        flat(&sum.weights, &p.map).into_iter().chain(spectrum).chain([sum.loss]).collect()
    });

    let features = ScaledFeatures { map: p.map.clone(), theta: p.weights.theta.clone() };
    let design = &Design::new(&features, true.into());
    let cpu = &Cpu::new();
    for curvature in [None, Some(&vec![0.3; case.rows][..])] {
        let products = DesignProducts { cpu, problem, design, curvature };
        check_halves(&products, &rows, 256, |sum| sum.products.clone());
    }

    let networks = &[network, network];
    let slopes = SquaredSlopes { path, columns, networks, weight: &weight };
    check_halves(&slopes, &rows, 128, |sum| sum.0.iter().copied().chain([sum.1]).collect());

    check_halves(&OuterSlopes { path, problem, network, mass: 3.0 }, &rows, 128, Vec::clone);
}
