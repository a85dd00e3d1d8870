//! Moments and heads against the same written plainly in f64.

use super::*;
use crate::Matrix;
use crate::features::{FeatureMap, ScaledFeatures};
use crate::loss::LossKind;
use crate::numerics::random::{Stream, Use, stream};
use crate::problem::{Columns, Problem};
use crate::transform::{ColumnTransform, Transforms};
use rand_distr::{Distribution, StandardNormal};

fn normals(count: usize, size: f64, rng: &mut Stream) -> Vec<f32> {
    (0..count).map(|_| (size * Distribution::<f64>::sample(&StandardNormal, rng)) as f32).collect()
}

const COLUMNS: usize = 3;

/// More than one block of rows.
const BLOCK: usize = 1024;

/// Linear terms of all columns with this factor, or none.
fn given(factor: f64) -> Linear<'static> {
    if factor > 0.0 { Linear::All(factor) } else { Linear::None }
}

/// Rows, targets and weights; features of all columns.
struct Instance {
    x: Vec<f32>,
    y: Vec<f32>,
    weight: Vec<f32>,
    features: ScaledFeatures,
}

impl Instance {
    fn new(rows: usize, features: usize, outputs: usize) -> Self {
        let rng = &mut stream(3, Use::Frequencies);
        Self {
            x: normals(rows * COLUMNS, 2.0, rng),
            y: normals(rows * outputs, 1.0, rng),
            weight: normals(rows, 1.0, rng).iter().map(|w| w.abs()).collect(),
            features: ScaledFeatures {
                map: FeatureMap::new(normals(COLUMNS * features, 1.0, rng), normals(features, 2.0, rng)),
                theta: normals(COLUMNS, 0.5, rng),
            },
        }
    }

    /// Calls `work` with the rows as a problem of the squared loss.
    fn with<T>(&self, weighted: bool, work: impl FnOnce(&Problem<'_>) -> T) -> T {
        let rows = self.x.len() / COLUMNS;
        let loss = LossKind::Squared.build(0);
        let transforms = Transforms::new(vec![ColumnTransform::standardise(0.3, 0.5); COLUMNS]);
        let x = Matrix::new(&self.x, rows, COLUMNS).expect("a matrix");
        let columns = Columns { x, transforms: &transforms };
        let weight = weighted.then_some(&self.weight[..]);
        let problem = Problem::for_tests(columns, &self.y, weight, self.y.len() / rows, loss.as_ref());
        work(&problem)
    }

    fn moments(
        &self,
        weighted: bool,
        rows: &[usize],
        linear: Linear<'_>,
        curvature: Option<&[f32]>,
    ) -> Moments {
        let design = Design::new(&self.features, linear);
        self.with(weighted, |problem| problem.backend.moments(problem, &design, rows, curvature))
    }

    /// A row of the design, then its targets.
    fn plain(&self, i: usize, linear: f64) -> Vec<f64> {
        let x: Vec<f64> =
            self.x[i * COLUMNS..(i + 1) * COLUMNS].iter().map(|&v| (v as f64 - 0.3) * 0.5).collect();
        let ScaledFeatures { map, theta } = &self.features;
        let s = map.features();
        let angle = |k: usize| -> f64 {
            let terms = (0..COLUMNS).map(|j| map.omega[j * s + k] as f64 * theta[j] as f64 * x[j]);
            map.phase[k] as f64 + terms.sum::<f64>()
        };
        let mut row: Vec<f64> = (0..s).map(|k| (2.0 / s as f64).sqrt() * angle(k).cos()).collect();
        if linear > 0.0 {
            row.extend(x.iter().map(|x| linear * x / (COLUMNS as f64).sqrt()));
        }
        row.push(1.0);
        let outputs = self.y.len() / (self.x.len() / COLUMNS);
        row.extend(self.y[i * outputs..(i + 1) * outputs].iter().map(|&y| y as f64));
        row
    }
}

fn size(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m: f64, v| m.max(v.abs()))
}

/// More than one block of rows, and neither rows nor columns a multiple of anything.
#[test]
fn moments_are_those_of_the_plain_design() {
    let p = Instance::new(2 * BLOCK + 77, 37, 2);
    let rows: Vec<usize> = (0..2 * BLOCK + 77).filter(|i| i % 7 != 0).collect();
    let curvature: Vec<f32> = (0..2 * BLOCK + 77).map(|i| 0.1 + (i % 5) as f32 * 0.05).collect();
    for linear in [0.0, 1.0, 3.0] {
        for (weighted, curved) in [(false, false), (true, false), (true, true)] {
            let curvature = curved.then_some(curvature.as_slice());
            let moments = p.moments(weighted, &rows, given(linear), curvature);
            let columns = 37 + if linear > 0.0 { COLUMNS } else { 0 } + 1;
            let m = columns + if curved { 0 } else { 2 };
            assert_eq!((moments.columns, moments.gram.len()), (columns, m * m));
            let mut expected = vec![0.0; m * m];
            for &i in &rows {
                let row = p.plain(i, linear);
                let weight = if weighted { p.weight[i] as f64 } else { 1.0 };
                let weight = weight * curvature.map_or(1.0, |h| h[i] as f64) / rows.len() as f64;
                for a in 0..m {
                    (0..=a).for_each(|b| expected[a * m + b] += weight * row[a] * row[b]);
                }
            }
            for a in 0..m {
                for b in 0..=a {
                    let (got, expected) = (moments.gram[a * m + b], expected[a * m + b]);
                    assert!((got - expected).abs() < 2e-6, "{linear} {weighted} {a} {b}: {got} {expected}");
                }
            }
            if !curved {
                let cross = moments.cross();
                assert_eq!(cross.len(), 2 * columns);
                for (c, cross) in cross.chunks_exact(columns).enumerate() {
                    assert_eq!(cross, &moments.gram[(columns + c) * m..][..columns]);
                }
            }
        }
    }
}

/// (G + alpha I) b, with the intercept left free.
fn multiply(moments: &Moments, alpha: f64, b: &[f64]) -> Vec<f64> {
    let (n, m) = (moments.columns, moments.columns + moments.targets);
    let at = |a: usize, c: usize| moments.gram[a.max(c) * m + a.min(c)];
    (0..n)
        .map(|a| {
            let ridge = if a + 1 == n { 0.0 } else { alpha * b[a] };
            ridge + (0..n).map(|c| at(a, c) * b[c]).sum::<f64>()
        })
        .collect()
}

#[test]
fn the_solution_solves_the_normal_equations_of_every_output() {
    let p = Instance::new(500, 60, 3);
    let rows: Vec<usize> = (0..500).collect();
    for alpha in [1e-6, 1e-3, 1.0] {
        let moments = p.moments(true, &rows, true.into(), None);
        let cross = moments.cross();
        let mut b = cross.clone();
        moments.factor(alpha).solve(&mut b);
        let n = moments.columns;
        for (cross, b) in cross.chunks_exact(n).zip(b.chunks_exact(n)) {
            let back = multiply(&moments, alpha, b);
            let error: Vec<f64> = back.iter().zip(cross).map(|(a, b)| a - b).collect();
            assert!(size(&error) < 1e-6 * size(cross), "{alpha}: {}", size(&error));
        }
    }
}

#[test]
fn the_parts_of_a_factor_fit_together() {
    let p = Instance::new(300, 25, 1);
    let rows: Vec<usize> = (0..300).collect();
    let factor = p.moments(false, &rows, true.into(), None).factor(1e-3);
    assert_eq!(factor.len(), 25 + COLUMNS + 1);
    let start: Vec<f64> = (0..2 * factor.len()).map(|i| (i as f64).sin()).collect();
    // L'^-1 and L' undo each other.
    let mut b = start.clone();
    factor.solve_upper(&mut b);
    factor.multiply_upper(&mut b);
    assert!(b.iter().zip(&start).all(|(a, b)| (a - b).abs() < 1e-9));
    // solve is L'^-1 L^-1.
    let (mut once, mut twice) = (start.clone(), start);
    factor.solve(&mut once);
    factor.solve_lower(&mut twice);
    factor.solve_upper(&mut twice);
    assert_eq!(once, twice);
}

/// Columns and features that occur several times, more columns than rows, no penalty at all: finite, and the fit is as
/// good as with each of them once.
#[test]
fn singular_gram_matrices_have_finite_heads() {
    let once = Instance::new(400, 12, 1);
    let rows: Vec<usize> = (0..400).collect();
    let repeated = |times: usize| {
        let repeat =
            |v: &[f32]| -> Vec<f32> { v.chunks_exact(12).flat_map(|row| row.repeat(times)).collect() };
        Instance {
            features: ScaledFeatures {
                map: FeatureMap::new(repeat(&once.features.map.omega), repeat(&once.features.map.phase)),
                theta: once.features.theta.clone(),
            },
            x: once.x.clone(),
            y: once.y.clone(),
            weight: once.weight.clone(),
        }
    };
    let error = |p: &Instance, rows: &[usize], alpha: f64| {
        let moments = p.moments(false, rows, true.into(), None);
        let mut b = moments.cross();
        moments.factor(alpha).solve(&mut b);
        assert!(b.iter().all(|b| b.is_finite()));
        let squares = rows.iter().map(|&i| {
            let row = p.plain(i, 1.0);
            let f: f64 = row.iter().zip(&b).map(|(z, b)| z * b).sum();
            (f - row[b.len()]).powi(2)
        });
        squares.sum::<f64>() / rows.len() as f64
    };
    for alpha in [0.0, 1e-12, 1e-6] {
        let expected = error(&once, &rows, alpha);
        for times in [2, 30] {
            let got = error(&repeated(times), &rows, alpha);
            assert!(got < 1.01 * expected, "{alpha} {times}: {got} {expected}");
        }
        assert!(error(&repeated(2), &rows[..5], alpha) < 0.5);
    }
    let mut same = Instance::new(400, 12, 1);
    same.x.chunks_exact_mut(COLUMNS).for_each(|row| row[1] = row[0]);
    assert!(error(&same, &rows, 0.0).is_finite());
    same.x.fill(1.0);
    assert!(error(&same, &rows, 0.0).is_finite());
}

#[test]
fn the_penalty_leaves_the_intercept_free() {
    let p = Instance::new(2, 11, 2);
    for linear in [0.0, 1.0, 10.0] {
        let design = Design::new(&p.features, given(linear));
        let b: Vec<f64> = (0..2 * design.columns()).map(|i| (i as f64 + 0.5).sin()).collect();
        let m = design.columns();
        let squares: f64 = b.iter().enumerate().filter(|(i, _)| i % m != m - 1).map(|(_, b)| b * b).sum();
        assert!((design.penalty(&b, 0.3) - 0.3 * squares).abs() < 1e-12);
    }
}

/// More features than rows: both ways to the head lead to the same one, duplicated rows included.
#[test]
fn the_dual_form_solves_the_normal_equations() {
    let mut p = Instance::new(60, 90, 2);
    let copied = p.x[..5 * COLUMNS].to_vec();
    p.x[50 * COLUMNS..55 * COLUMNS].copy_from_slice(&copied);
    let rows: Vec<usize> = (0..60).collect();
    for alpha in [1e-5, 1e-3, 1.0] {
        p.with(true, |problem| {
            let design = Design::new(&p.features, true.into());
            let moments = problem.backend.moments(problem, &design, &rows, None);
            let dual = DualForm::new(problem, &design, &rows).expect("fewer rows");
            let found = dual.moments(problem, &rows, None).ridge(alpha);
            let (cross, b, n) = (moments.cross(), dual.expand(&found), moments.columns);
            for (cross, b) in cross.chunks_exact(n).zip(b.chunks_exact(n)) {
                let back = multiply(&moments, alpha, b);
                let error: Vec<f64> = back.iter().zip(cross).map(|(a, b)| a - b).collect();
                // Products are rounded to f32, and the head is larger than what it explains.
                let allowed = 3e-5 * (size(cross) + size(b));
                assert!(size(&error) < allowed, "{alpha}: {} {allowed}", size(&error));
            }
            // The same predictions on the way there and on the way back.
            let back = dual.expand(&dual.compress(&b));
            let rows = (0..60).map(|i| p.plain(i, 1.0));
            let f = |row: &[f64], b: &[f64]| row.iter().zip(b).map(|(z, b)| z * b).sum::<f64>();
            for (row, c) in rows.zip(dual.design.chunks_exact(dual.columns())) {
                let expected = f(&row, &b[..n]);
                let c: Vec<f64> = c.iter().map(|&c| c as f64).collect();
                for got in [f(&c, &found[..dual.columns()]), f(&row, &back[..n])] {
                    assert!((got - expected).abs() < 1e-2, "{alpha}: {got} {expected}");
                }
            }
        });
    }
    let p = Instance::new(60, 20, 1);
    let design = Design::new(&p.features, true.into());
    assert!(p.with(false, |problem| DualForm::new(problem, &design, &rows).is_none()));
}
