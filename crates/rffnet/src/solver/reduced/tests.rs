//! Exact heads and envelope gradients against the reduced problem written plainly in f64, its head by Newton's method.

use super::*;
use crate::Matrix;
use crate::features::{CUTS, Cut, FeatureMap};
use crate::loss::LossKind;
use crate::numerics::random::{Stream, Use, stream};
use crate::problem::Columns;
use crate::transform::{ColumnTransform, Transforms};
use rand_distr::{Distribution, StandardNormal};

fn normals(count: usize, size: f64, rng: &mut Stream) -> Vec<f64> {
    (0..count).map(|_| (size * Distribution::<f64>::sample(&StandardNormal, rng)) as f32 as f64).collect()
}

const ROWS: usize = 90;
const COLUMNS: usize = 3;
const FEATURES: usize = 7;
const ALPHA: f64 = 0.01;

/// What the reduced objective is a function of, in f64.
#[derive(Clone)]
struct Spectrum {
    theta: Vec<f64>,
    omega: Vec<f64>,
    phase: Vec<f64>,
}

impl Spectrum {
    fn parts(&mut self) -> [&mut Vec<f64>; 3] {
        [&mut self.theta, &mut self.omega, &mut self.phase]
    }
}

/// Rows on two of three columns; the third has linear terms only.
struct Case {
    kind: LossKind,
    /// 0 for numbers.
    classes: usize,
    outputs: usize,
    linear: bool,
    x: Vec<f32>,
    y: Vec<f32>,
    weight: Vec<f32>,
    at: Spectrum,
}

const SUPPORT: [usize; 2] = [0, 2];

impl Case {
    fn new(kind: LossKind, classes: usize, outputs: usize, linear: bool) -> Self {
        let rng = &mut stream(5, Use::Frequencies);
        let x: Vec<f32> = normals(ROWS * COLUMNS, 1.0, rng).iter().map(|&v| v as f32).collect();
        let noise = normals(ROWS, 0.7, rng);
        let signal = |i: usize| {
            let row = &x[i * COLUMNS..(i + 1) * COLUMNS];
            (1.3 * row[0] as f64).sin() + 0.5 * (row[1] * row[2]) as f64 + noise[i]
        };
        let y = (0..ROWS).flat_map(|i| match classes {
            0 => vec![signal(i) as f32, (signal(i) * x[i * COLUMNS] as f64) as f32][..outputs].to_vec(),
            2 => vec![f32::from(signal(i) > 0.0)],
            _ => vec![f32::from(signal(i) > -0.5) + f32::from(signal(i) > 0.5)],
        });
        Self {
            y: y.collect(),
            weight: (0..ROWS).map(|i| 0.5 + (i % 3) as f32 * 0.5).collect(),
            at: Spectrum {
                theta: vec![0.8, -0.5],
                omega: normals(SUPPORT.len() * FEATURES, 1.0, rng),
                phase: normals(FEATURES, 2.0, rng),
            },
            kind,
            classes,
            outputs,
            linear,
            x,
        }
    }

    fn all() -> Vec<Self> {
        let mut cases = Vec::new();
        for linear in [true, false] {
            cases.push(Self::new(LossKind::Squared, 0, 1, linear));
            cases.push(Self::new(LossKind::Squared, 0, 2, linear));
            cases.push(Self::new(LossKind::CrossEntropy, 2, 1, linear));
            cases.push(Self::new(LossKind::CrossEntropy, 3, 3, linear));
        }
        cases
    }

    fn name(&self) -> String {
        format!("{}, {} outputs, linear {}", self.kind, self.outputs, self.linear)
    }

    fn with<T>(&self, work: impl FnOnce(&Problem<'_>, &ScaledFeatures) -> T) -> T {
        let loss = self.kind.build(self.classes);
        let x = Matrix::new(&self.x, ROWS, COLUMNS).expect("a matrix");
        let transforms = Transforms::new(vec![ColumnTransform::standardise(0.1, 0.9); COLUMNS]);
        let columns = Columns { x, transforms: &transforms };
        let problem = Problem::for_tests(columns, &self.y, Some(&self.weight), self.outputs, loss.as_ref());
        let narrow = |v: &[f64]| v.iter().map(|&v| v as f32).collect::<Vec<_>>();
        let map = FeatureMap::on(COLUMNS, SUPPORT.to_vec(), narrow(&self.at.omega), narrow(&self.at.phase));
        work(&problem, &ScaledFeatures { map, theta: narrow(&self.at.theta) })
    }

    /// The design at a spectrum.
    fn design(&self, at: &Spectrum) -> Vec<Vec<f64>> {
        let row = |x: &[f32]| -> Vec<f64> {
            let x: Vec<f64> = x.iter().map(|&v| (v as f64 - 0.1f32 as f64) * 0.9f32 as f64).collect();
            let angle = |i: usize| -> f64 {
                let terms = SUPPORT.iter().enumerate();
                at.phase[i]
                    + terms.map(|(a, &j)| at.omega[a * FEATURES + i] * at.theta[a] * x[j]).sum::<f64>()
            };
            let mut row: Vec<f64> =
                (0..FEATURES).map(|i| (2.0 / FEATURES as f64).sqrt() * angle(i).cos()).collect();
            if self.linear {
                row.extend(x.iter().map(|x| x / (COLUMNS as f64).sqrt()));
            }
            row.push(1.0);
            row
        };
        self.x.chunks_exact(COLUMNS).map(row).collect()
    }

    /// Loss and penalty, their gradient and Hessian by the coefficients.
    fn objective(&self, design: &[Vec<f64>], b: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
        let (m, k) = (design[0].len(), self.outputs);
        let n = m * k;
        let (mut value, mut gradient, mut hessian) = (0.0, vec![0.0; n], vec![0.0; n * n]);
        for (i, z) in design.iter().enumerate() {
            let f: Vec<f64> = b.chunks_exact(m).map(|b| z.iter().zip(b).map(|(z, b)| z * b).sum()).collect();
            let weight = self.weight[i] as f64 / ROWS as f64;
            // The row's loss, its gradient by f, and its Hessian by f.
            let (loss, g, h) = match self.classes {
                0 => {
                    let r: Vec<f64> = (0..k).map(|c| f[c] - self.y[i * k + c] as f64).collect();
                    let h = (0..k * k).map(|i| if i / k == i % k { 2.0 } else { 0.0 }).collect();
                    (r.iter().map(|r| r * r).sum(), r.iter().map(|r| 2.0 * r).collect::<Vec<_>>(), h)
                }
                2 => {
                    let (p, y) = (1.0 / (1.0 + (-f[0]).exp()), self.y[i] as f64);
                    (-(y * p.ln() + (1.0 - y) * (1.0 - p).ln()), vec![p - y], vec![p * (1.0 - p)])
                }
                _ => {
                    let total: f64 = f.iter().map(|f| f.exp()).sum();
                    let p: Vec<f64> = f.iter().map(|f| f.exp() / total).collect();
                    let y = self.y[i] as usize;
                    let one = |a: usize, b: usize| if a == b { 1.0 } else { 0.0 };
                    let g = (0..k).map(|c| p[c] - one(c, y)).collect();
                    let h = (0..k * k).map(|i| p[i / k] * (one(i / k, i % k) - p[i % k])).collect();
                    (-p[y].ln(), g, h)
                }
            };
            value += weight * loss;
            for c in 0..k {
                (0..m).for_each(|a| gradient[c * m + a] += weight * g[c] * z[a]);
                for e in 0..k {
                    let h: &Vec<f64> = &h;
                    for a in 0..m {
                        let row = &mut hessian[(c * m + a) * n + e * m..][..m];
                        row.iter_mut().zip(z).for_each(|(t, zb)| *t += weight * h[c * k + e] * z[a] * zb);
                    }
                }
            }
        }
        for i in (0..n).filter(|i| i % m != m - 1) {
            value += ALPHA * b[i] * b[i];
            gradient[i] += 2.0 * ALPHA * b[i];
            hessian[i * n + i] += 2.0 * ALPHA;
        }
        (value, gradient, hessian)
    }

    /// The smallest value over all heads.
    fn reduced(&self, at: &Spectrum) -> f64 {
        self.best(&self.design(at))
    }

    /// The same with this design.
    fn best(&self, design: &[Vec<f64>]) -> f64 {
        let n = design[0].len() * self.outputs;
        let mut b = vec![0.0; n];
        for _ in 0..30 {
            let (value, gradient, mut hessian) = self.objective(design, &b);
            // The intercepts of a softmax can move together.
            (0..n).for_each(|i| hessian[i * n + i] += 1e-9);
            let step = solve(hessian, gradient.clone());
            b.iter_mut().zip(&step).for_each(|(b, s)| *b -= s);
            let decrement: f64 = step.iter().zip(&gradient).map(|(s, g)| s * g).sum();
            if decrement < 1e-14 * value {
                break;
            }
        }
        self.objective(design, &b).0
    }
}

/// Gaussian elimination with pivoting.
fn solve(mut a: Vec<f64>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for c in 0..n {
        let pivot = (c..n).max_by(|&p, &q| a[p * n + c].abs().total_cmp(&a[q * n + c].abs())).expect("rows");
        (0..n).for_each(|j| a.swap(c * n + j, pivot * n + j));
        b.swap(c, pivot);
        for r in c + 1..n {
            let factor = a[r * n + c] / a[c * n + c];
            (c..n).for_each(|j| a[r * n + j] -= factor * a[c * n + j]);
            b[r] -= factor * b[c];
        }
    }
    for r in (0..n).rev() {
        let known: f64 = (r + 1..n).map(|j| a[r * n + j] * b[j]).sum();
        b[r] = (b[r] - known) / a[r * n + r];
    }
    b
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

const HEAD: fn(bool) -> HeadSettings<'static> = |linear| HeadSettings { alpha: ALPHA, linear: linear.into() };

/// The gradient by the head vanishes: to rounding for ridge, to the stated tolerance for classes.
#[test]
fn the_head_is_the_best_one() {
    for case in Case::all() {
        let rows: Vec<usize> = (0..ROWS).collect();
        let b = case.with(|problem, features| {
            let mut reduced = Reduced::new(problem, &rows, HEAD(case.linear));
            reduced.head(features);
            reduced.warm.expect("the head")
        });
        let design = case.design(&case.at);
        let (value, gradient, _) = case.objective(&design, &b);
        let best = case.reduced(&case.at);
        if case.classes == 0 {
            assert!(norm(&gradient) < 1e-4 * norm(&b), "{}: {}", case.name(), norm(&gradient));
        }
        let tolerance = if case.classes == 0 { 1e-6 } else { 2.0 * HEAD_TOLERANCE };
        assert!(value - best < tolerance * best, "{}: {value} {best}", case.name());
        assert!(value > best - 1e-6 * best, "{}: {value} {best}", case.name());
    }
}

/// The head from the last one, and the Hessian of other relevances, lead to the same place.
#[test]
fn a_warm_start_changes_nothing() {
    for case in Case::all() {
        let rows: Vec<usize> = (0..ROWS).collect();
        case.with(|problem, features| {
            let mut reduced = Reduced::new(problem, &rows, HEAD(case.linear));
            let cold = reduced.evaluate(features, Wanted::Relevances).value;
            let theta = features.theta.iter().map(|t| 2.0 * t).collect();
            let elsewhere = ScaledFeatures { theta, ..features.clone() };
            let there = reduced.evaluate(&elsewhere, Wanted::Relevances).value;
            let warm = reduced.evaluate(features, Wanted::Relevances).value;
            assert!((cold - warm).abs() < 2.0 * HEAD_TOLERANCE * cold, "{}: {cold} {warm}", case.name());
            let fresh = Reduced::new(problem, &rows, HEAD(case.linear))
                .evaluate(&elsewhere, Wanted::Relevances)
                .value;
            assert!((fresh - there).abs() < 2.0 * HEAD_TOLERANCE * there, "{}: {fresh} {there}", case.name());
        });
    }
}

/// The gradient by relevances, frequencies and phases, against central differences of the reduced objective.
#[test]
fn the_envelope_gradient_is_the_gradient_of_the_reduced_objective() {
    for case in Case::all() {
        let rows: Vec<usize> = (0..ROWS).collect();
        let e = case.with(|problem, features| {
            Reduced::new(problem, &rows, HEAD(case.linear)).evaluate(features, Wanted::Spectrum)
        });
        let value = case.reduced(&case.at);
        assert!(
            (e.value - value).abs() < 2.0 * HEAD_TOLERANCE * value,
            "{}: {} {value}",
            case.name(),
            e.value
        );
        let (mut whole, mut wrong) = (Vec::new(), Vec::new());
        for (part, got) in [&e.theta, &e.omega, &e.phase].into_iter().enumerate() {
            let h = 1e-4;
            let expected: Vec<f64> = (0..got.len())
                .map(|i| {
                    let moved = |by: f64| {
                        let mut at = case.at.clone();
                        at.parts()[part][i] += by;
                        case.reduced(&at)
                    };
                    (moved(h) - moved(-h)) / (2.0 * h)
                })
                .collect();
            let error: Vec<f64> = got.iter().zip(&expected).map(|(a, b)| a - b).collect();
            let share = norm(&error) / norm(&expected);
            println!("{}, part {part}: {share:.1e}", case.name());
            // A head that is off by a share of the loss is off by the root of that share.
            let tolerance = if case.classes == 0 { 1e-4 } else { 15.0 * HEAD_TOLERANCE.sqrt() };
            assert!(share < tolerance, "{}, part {part}: {got:?} {expected:?}", case.name());
            whole.extend(expected);
            wrong.extend(error);
        }
        assert!(norm(&wrong) < 1e-2 * norm(&whole), "{}: {}", case.name(), norm(&wrong) / norm(&whole));
    }
}

/// Only the relevances are asked for: the rest is empty, and they are the same.
#[test]
fn the_spectrum_is_left_out_where_it_is_not_wanted() {
    let case = &Case::all()[0];
    let rows: Vec<usize> = (0..ROWS).collect();
    case.with(|problem, features| {
        let of = |wanted| Reduced::new(problem, &rows, HEAD(true)).evaluate(features, wanted);
        let (few, all) = (of(Wanted::Relevances), of(Wanted::Spectrum));
        assert_eq!((few.omega.len(), few.phase.len()), (0, 0));
        assert_eq!((all.omega.len(), all.phase.len()), (SUPPORT.len() * FEATURES, FEATURES));
        assert!(few.theta.iter().zip(&all.theta).all(|(a, b)| (a - b).abs() < 1e-6));
    });
}

/// Two partitions, one of them with two cuts of one column.
fn partitions() -> Partitions {
    let mut cuts = vec![Cut::NONE; 2 * CUTS];
    cuts[0] = Cut { column: 1, at: 0.3 };
    cuts[3] = Cut { column: 0, at: -0.4 };
    cuts[CUTS] = Cut { column: 2, at: 0.1 };
    cuts[CUTS + 1] = Cut { column: 2, at: 0.9 };
    Partitions::new(cuts)
}

impl Case {
    /// The design with the indicators of the cells that rows can lie in, times a factor, before its columns.
    fn design_with_cells(&self, factor: f64) -> Vec<Vec<f64>> {
        let partitions = partitions();
        let with = |(x, dense): (&[f32], Vec<f64>)| {
            let x: Vec<f32> = x.iter().map(|v| (v - 0.1) * 0.9).collect();
            let mut cells = [0; 2];
            partitions.of_row(&x, &mut cells);
            // The first one has cuts in the first and the fourth place, the second one two cuts.
            let mut row = vec![0.0; 16 + 4];
            (row[cells[0] as usize], row[16 + cells[1] as usize]) = (factor, factor);
            row.extend(dense);
            row
        };
        self.x.chunks_exact(COLUMNS).zip(self.design(&self.at)).map(with).collect()
    }
}

#[test]
fn passes_over_the_rows_give_the_loss_and_its_gradient() {
    for case in Case::all() {
        case.with(|problem, features| {
            let rows: Vec<usize> = (0..ROWS).collect();
            let design = Design::new(features, case.linear.into());
            let kept = KeptDesign::new(problem, &design, &rows[..50]).expect("it is small");
            let kept = kept.on_more(problem, &design, &rows[50..]).expect("it is small");
            for cells in [None, Some(Cells::new(problem, &rows, &partitions()))] {
                // Cosines that are kept are rounded to whole numbers.
                for (kept, tolerance) in [(None, 1e-5), (Some(&kept), 1e-4)] {
                    let passes = DesignRows::new(problem, &rows, &design, None, kept, cells.as_ref());
                    let m = passes.columns();
                    let b: Vec<f64> = (0..case.outputs * m).map(|i| 0.3 * (i as f64).sin()).collect();
                    let plain =
                        if cells.is_some() { case.design_with_cells(1.0) } else { case.design(&case.at) };
                    let (value, mut expected, _) = case.objective(&plain, &b);
                    let mut loss = value;
                    for i in (0..b.len()).filter(|i| i % m != m - 1) {
                        loss -= ALPHA * b[i] * b[i];
                        expected[i] -= 2.0 * ALPHA * b[i];
                    }
                    let (got, gradient) = passes.gradient(&b);
                    assert!((got - loss).abs() < tolerance * loss, "{}: {got} {loss}", case.name());
                    let error: Vec<f64> = gradient.iter().zip(&expected).map(|(a, b)| a - b).collect();
                    assert!(norm(&error) < tolerance * norm(&expected), "{}: {}", case.name(), norm(&error));
                }
            }
        });
    }
}

/// Any number of heads at a time: to the last bits what they are one by one.
#[test]
fn heads_share_a_pass() {
    let case = &Case::all()[0];
    case.with(|problem, features| {
        let rows: Vec<usize> = (0..ROWS).collect();
        let design = Design::new(features, case.linear.into());
        let cells = Cells::new(problem, &rows, &partitions());
        let kept = KeptDesign::new(problem, &design, &rows);
        let passes = DesignRows::new(problem, &rows, &design, None, kept.as_ref(), Some(&cells));
        for heads in 1..=6 {
            let b: Vec<f64> = (0..heads * passes.columns()).map(|i| 0.3 * (i as f64).sin()).collect();
            let one_by_one = b.chunks_exact(passes.columns()).flat_map(|b| passes.twice_normal(b));
            for (got, expected) in passes.twice_normal(&b).iter().zip(one_by_one) {
                assert!((got - expected).abs() < 1e-5, "{heads}: {got} {expected}");
            }
        }
    });
}

/// Also where the design has more columns than rows, and from the head of another penalty.
#[test]
fn the_head_with_partitions_is_the_best_one() {
    let penalty: f64 = 0.02;
    // Where the penalty of all coefficients is the same, the indicators have this factor.
    let factor = (ALPHA / penalty / 2.0).sqrt();
    for case in Case::all() {
        let design = case.design_with_cells(factor);
        let found = case.with(|problem, features| {
            let rows: Vec<usize> = (0..ROWS).collect();
            let mut reduced = Reduced::new(problem, &rows, HEAD(case.linear));
            reduced.head(features);
            let mut reduced = reduced.with_partitions(&partitions());
            let map = features.map.clone().with_partitions(partitions());
            let features = ScaledFeatures { map, ..features.clone() };
            reduced.best_penalised(&features, ALPHA, &[0.1], |_| 0.0);
            let mut found = Vec::new();
            for _ in 0..4 {
                let (_, weights) = reduced.best_penalised(&features, ALPHA, &[penalty], |_| 0.0);
                found = reduced.warm.clone().expect("a head");
                let m = found.len() / case.outputs;
                for b in found.chunks_exact_mut(m) {
                    b[..20].iter_mut().for_each(|b| *b /= factor);
                }
                let loss = problem.mean_loss(Network::new(&features.map, &weights), &rows);
                let free = |i: &usize| i % m == m - 1;
                let squares = |b: &[f64]| (0..b.len()).filter(|i| !free(i)).map(|i| b[i] * b[i]).sum::<f64>();
                let value = loss + ALPHA * squares(&found);
                let plain = case.objective(&design, &found).0;
                assert!((value - plain).abs() < 1e-5 * plain, "{}: {value} {plain}", case.name());
            }
            found
        });
        let (value, best) = (case.objective(&design, &found).0, case.best(&design));
        assert!(value - best < 3.0 * WITH_CELLS.tolerance * best, "{}: {value} {best}", case.name());
        assert!(value > best - 1e-6 * best, "{}: {value} {best}", case.name());
    }
}

/// Of several penalties of the cells, in turn for as long as the value falls, that of the least one.
#[test]
fn the_best_penalty_of_the_cells_is_taken() {
    const PENALTIES: [f64; 4] = [0.1, 0.01, 1e-3, 1e-4];
    for case in Case::all() {
        case.with(|problem, features| {
            let rows: Vec<usize> = (0..ROWS).collect();
            let map = features.map.clone().with_partitions(partitions());
            let beside = ScaledFeatures { map, ..features.clone() };
            let size = |weights: &Weights| weights.cells.iter().map(|v| v.abs() as f64).sum::<f64>();
            let sizes = |wanted: f64| {
                let mut reduced = Reduced::new(problem, &rows, HEAD(case.linear));
                reduced.head(features);
                let judged = std::cell::RefCell::new(Vec::new());
                let mut reduced = reduced.with_partitions(&partitions());
                let (value, weights) = reduced.best_penalised(&beside, ALPHA, &PENALTIES, |weights| {
                    judged.borrow_mut().push(size(weights));
                    (size(weights) - wanted).abs()
                });
                assert_eq!(value, (size(&weights) - wanted).abs());
                (judged.into_inner(), size(&weights), reduced.cell_penalty)
            };
            let (all, largest, least) = sizes(f64::MAX.sqrt());
            // Far from what is wanted all are the same, and the first, of the strongest penalty, is taken.
            assert!(all.len() == 2 && largest == all[0] && least == PENALTIES[0], "{}", case.name());
            let (all, largest, least) = sizes(100.0);
            assert!(all.is_sorted() && *all.last().expect("some") == largest, "{}: {all:?}", case.name());
            let first = all.iter().position(|size| *size == largest).expect("it is one of them");
            assert_eq!(least, PENALTIES[first], "{}: {all:?}", case.name());
            let (some, found, _) = sizes(0.7 * all[1]);
            assert!(some.iter().all(|s| (s - 0.7 * all[1]).abs() >= (found - 0.7 * all[1]).abs()));
        });
    }
}

#[test]
fn without_partitions_the_head_is_as_it_was() {
    for case in Case::all() {
        case.with(|problem, features| {
            let rows: Vec<usize> = (0..ROWS).collect();
            let mut reduced = Reduced::new(problem, &rows, HEAD(case.linear));
            let before = reduced.head(features);
            let mut reduced = reduced.with_partitions(&partitions());
            let beside = ScaledFeatures {
                map: features.map.clone().with_partitions(partitions()),
                ..features.clone()
            };
            let (_, weights) = reduced.best_penalised(&beside, ALPHA, &[1e-3], |_| 0.0);
            assert!(weights.cells.iter().any(|v| *v != 0.0));
            let after = reduced.without_partitions().penalised(features, ALPHA);
            let loss = |weights: &Weights| problem.mean_loss(Network::new(&features.map, weights), &rows);
            if case.classes == 0 {
                assert_eq!(before, after);
            }
            assert!((loss(&before) - loss(&after)).abs() < 1e-3, "{}", case.name());
        });
    }
}

/// Loss and gradient by the coefficients, by the passes of the backend.
fn by_passes(
    problem: &Problem<'_>,
    design: &Design<'_>,
    coefficients: &[f64],
    rows: &[usize],
) -> (f64, Vec<f64>) {
    DesignRows::new(problem, rows, design, None, None, None).gradient(coefficients)
}

/// Fewer rows than columns: the head is found among combinations of the rows, and is the best of all.
#[test]
fn the_dual_form_of_few_rows_finds_the_best_head() {
    let rows: Vec<usize> = (0..6).collect();
    for case in Case::all().iter().filter(|c| c.linear) {
        case.with(|problem, features| {
            let design = Design::new(features, true.into());
            assert!(DualForm::new(problem, &design, &rows).is_some());
            let mut reduced = Reduced::new(problem, &rows, HEAD(true));
            for start in ["cold", "warm"] {
                reduced.head(features);
                let b = reduced.warm.as_ref().expect("the head");
                let (loss, mut gradient) = by_passes(problem, &design, b, &rows);
                let m = design.columns();
                for (g, b) in gradient.chunks_exact_mut(m).zip(b.chunks_exact(m)) {
                    g[..m - 1].iter_mut().zip(b).for_each(|(g, b)| *g += 2.0 * ALPHA * b);
                }
                let tolerance = if case.classes == 0 { 1e-5 } else { HEAD_TOLERANCE.sqrt() * loss.sqrt() };
                let name = case.name();
                assert!(gradient.iter().all(|g| g.abs() < tolerance), "{name}, {start}: {gradient:?}");
            }
        });
    }
}
