//! Solvers, initialisers and schedules: they find what is there to be found.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{
    Numbers, classification, codes, fit, matrix, names, normal_rows, quick, regression, solve, target,
};
use rffnet::{Data, Init, Loss, Model, Params, PenaltyKind, Schedule, SolverKind, Target};

const SOLVERS: [SolverKind; 4] =
    [SolverKind::Adam, SolverKind::Sgd, SolverKind::PalmAdam, SolverKind::PalmSgd];

fn most_relevant(model: &Model) -> usize {
    let relevances = model.relevances();
    (0..relevances.len()).max_by(|&a, &b| relevances[a].total_cmp(&relevances[b])).unwrap()
}

/// For given relevances the best head is a ridge solution. Full-batch gradient descent with the proximal step must end
/// there: its fixed points are the stationary points of the penalised objective.
#[test]
fn descent_ends_at_the_ridge_solution_of_its_own_features() {
    let x = normal_rows(120, 2, 7);
    let y = target(&x, 2, |r| 3.0 + 2.0 * (r[0] as f64).sin() + 0.5 * r[1] as f64);
    let alpha = 0.05;
    for solver in [SolverKind::Sgd, SolverKind::PalmSgd] {
        let params = Params::new()
            .solver(solver)
            .schedule(Schedule::Constant)
            .lr(0.03)
            .alpha(alpha)
            .random_features(20)
            .batch_size(120)
            .epochs(4000)
            .validation_fraction(0.0);
        let model = fit(&params, &regression(&x, 2, &y));
        let numbers = Numbers::of(&model);
        let (n, s) = (120.0, 20);
        // minimise mean (t - c - z.b)^2 + alpha |b|^2 over (b, c): the last column of v is the intercept's.
        let width = s + 1;
        let (mut gram, mut cross) = (vec![0.0; width * width], vec![0.0; width]);
        for (row, y) in x.chunks_exact(2).zip(&y) {
            let mut v = numbers.features(row);
            v.push(1.0);
            let t = (y - numbers.target_mean[0]) / numbers.target_scale[0];
            for a in 0..width {
                cross[a] += v[a] * t / n;
                (0..width).for_each(|b| gram[a * width + b] += v[a] * v[b] / n);
            }
        }
        (0..s).for_each(|a| gram[a * width + a] += alpha);
        let best = solve(gram, cross);
        let size = best.iter().fold(0.0, |m: f64, b| m.max(b.abs()));
        let learned = numbers.beta.iter().chain(&numbers.intercept);
        for (i, (learned, best)) in learned.zip(&best).enumerate() {
            assert!((learned - best).abs() < 1e-3 * size, "{solver} {i}: {learned} {best}");
        }
    }
}

/// Predictions are what the numbers in the model file say, computed plainly.
#[test]
fn predictions_are_the_formula_of_the_paper() {
    let x = normal_rows(150, 3, 8);
    let y = target(&x, 3, |r| 100.0 + 10.0 * (r[0] * r[1]) as f64);
    let small = |params: Params| params.epochs(20).random_features(30);
    for params in [quick(), small(Params::default()), small(Params::paper())] {
        let model = fit(&params, &regression(&x, 3, &y));
        let networks = Numbers::all(&model);
        let numbers = &networks[0];
        if params.preset == rffnet::Preset::Paper {
            assert_eq!(
                (numbers.intercept[0], numbers.target_mean[0], numbers.target_scale[0]),
                (0.0, 0.0, 1.0)
            );
        }
        for (row, predicted) in x.chunks_exact(3).zip(model.predict(matrix(&x, 3)).unwrap()) {
            let mean = networks.iter().map(|n| n.outputs(row)[0]).sum::<f64>() / networks.len() as f64;
            let expected = numbers.target_mean[0] + numbers.target_scale[0] * mean;
            assert!((predicted - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{predicted} {expected}");
        }
    }
}

#[test]
fn each_solver_lowers_the_loss_and_finds_the_active_column() {
    let x = normal_rows(800, 4, 9);
    let y = target(&x, 4, |r| (1.5 * r[2] as f64).sin());
    let data = regression(&x, 4, &y);
    for solver in SOLVERS {
        let lr = if matches!(solver, SolverKind::Sgd | SolverKind::PalmSgd) { 0.02 } else { 0.01 };
        let model = fit(&quick().solver(solver).lr(lr).epochs(40), &data);
        assert_eq!(model.plan().solver(), solver);
        let losses = &model.summary().losses;
        let (first, last) = (losses[0].train, losses.last().unwrap().train);
        assert!(last < 0.3 * first, "{solver}: {first} to {last}");
        let summary = model.summary();
        let (loss, baseline) = (summary.validation_loss.unwrap(), summary.baseline_loss.unwrap());
        assert!(loss < 0.3 * baseline, "{solver}: {loss} {baseline}");
        assert_eq!(most_relevant(&model), 2, "{solver}: {:?}", model.relevances());
    }
}

#[test]
fn the_four_solvers_are_four_different_methods() {
    let x = normal_rows(100, 3, 10);
    let y = target(&x, 3, |r| r[0] as f64);
    let relevances: Vec<Vec<f32>> = SOLVERS
        .iter()
        .map(|&solver| fit(&quick().solver(solver).epochs(3), &regression(&x, 3, &y)).relevances())
        .collect();
    for (i, a) in relevances.iter().enumerate() {
        assert!(relevances[..i].iter().all(|b| a != b), "{:?}", relevances);
    }
}

/// Equation theta-init of the paper: the range of each standardised column over their number. With a vanishing rate
/// nothing moves away from it.
#[test]
fn the_constant_start_is_range_over_columns() {
    let mut x = normal_rows(90, 3, 11);
    x.chunks_exact_mut(3).for_each(|r| r[1] = 50.0 + 7.0 * r[1]);
    let y = target(&x, 3, |r| r[0] as f64);
    let params = quick().init(Init::Constant).lr(1e-30).epochs(1);
    let relevances = fit(&params, &regression(&x, 3, &y)).relevances();
    for (j, &relevance) in relevances.iter().enumerate() {
        let column: Vec<f64> = x.iter().skip(j).step_by(3).map(|&v| v as f64).collect();
        let mean = column.iter().sum::<f64>() / 90.0;
        let deviation = (column.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 90.0).sqrt();
        let (low, high) = column.iter().fold((f64::MAX, f64::MIN), |(l, h), &v| (l.min(v), h.max(v)));
        let expected = (high - low) / deviation / 3.0;
        assert!((relevance as f64 / expected - 1.0).abs() < 1e-6, "{relevance} {expected}");
    }
}

/// One lasso coefficient is known in closed form: with a single column it is the soft-thresholded correlation.
#[test]
fn the_regressor_start_is_the_lasso_coefficient() {
    let x = normal_rows(200, 1, 12);
    let y = target(&x, 1, |r| -4.0 * r[0] as f64 + 1.0);
    let params = quick().init(Init::Regressor).lr(1e-30).epochs(1).validation_fraction(0.0);
    // Standardised y is -standardised x: the coefficient is -1, less the threshold of 1 % of the largest useful one.
    let relevance = fit(&params, &regression(&x, 1, &y)).relevances()[0];
    assert!((relevance - 0.99).abs() < 1e-4, "{relevance}");
}

#[test]
fn every_start_finds_the_active_column_of_a_regression() {
    let x = normal_rows(600, 5, 13);
    let y = target(&x, 5, |r| (r[3] as f64).tanh() * 2.0);
    for &init in Init::ALL {
        let model = fit(&quick().init(init), &regression(&x, 5, &y));
        assert_eq!(most_relevant(&model), 3, "{init}: {:?}", model.relevances());
        assert!(model.summary().validation_loss.unwrap() < 0.1 * model.summary().baseline_loss.unwrap());
    }
}

#[test]
fn every_start_finds_the_active_column_of_a_classification() {
    let x = normal_rows(600, 5, 14);
    for classes in [names(&["no", "yes"]), names(&["low", "middle", "high"])] {
        let y = codes(&x, 5, |r| match classes.len() {
            2 => u32::from(r[1] > 0.2),
            _ => u32::from(r[1] > -0.4) + u32::from(r[1] > 0.4),
        });
        for &init in Init::ALL {
            let model = fit(&quick().init(init), &classification(&x, 5, &y, &classes));
            assert_eq!(most_relevant(&model), 1, "{init}: {:?}", model.relevances());
            let labels = model.labels(matrix(&x, 5)).unwrap();
            let right = labels.iter().zip(&y).filter(|(a, b)| a == b).count();
            assert!(right > 540, "{init}, {} classes: {right} of 600", classes.len());
        }
    }
}

#[test]
fn the_restarter_differs_from_the_constant_start_and_depends_on_the_seed() {
    let x = normal_rows(200, 3, 15);
    let y = target(&x, 3, |r| r[0] as f64);
    let start = |init: Init, seed: u64| {
        let params = quick().init(init).lr(1e-30).epochs(1).seed(seed);
        fit(&params, &regression(&x, 3, &y)).relevances()
    };
    assert_eq!(start(Init::Constant, 1), start(Init::Constant, 2));
    assert_ne!(start(Init::Restarter, 1), start(Init::Constant, 1));
    assert_ne!(start(Init::Restarter, 1), start(Init::Restarter, 2));
}

#[test]
fn every_schedule_learns_and_a_rate_that_ends_at_nothing_stands_still() {
    let x = normal_rows(400, 3, 16);
    let y = target(&x, 3, |r| (r[0] as f64).sin());
    for &schedule in Schedule::ALL {
        let params = quick().schedule(schedule).epochs(60);
        let model = fit(&params, &regression(&x, 3, &y));
        assert!(model.summary().validation_loss.unwrap() < 0.2 * model.summary().baseline_loss.unwrap());
        let path = model.history().relevances();
        let step = |i: usize| -> f32 { path[i].iter().zip(&path[i - 1]).map(|(a, b)| (a - b).abs()).sum() };
        let (middle, last) = (step(20), step(path.len() - 1));
        assert_eq!(last < 0.02 * middle, schedule != Schedule::Constant, "{schedule}: {middle} {last}");
    }
}

#[test]
fn several_outputs_are_learned_together_each_in_its_own_units() {
    let x = normal_rows(600, 3, 17);
    let y: Vec<f64> = x
        .chunks_exact(3)
        .flat_map(|r| [1e6 * (r[0] as f64).sin(), 1e-3 * (r[1] as f64).cos() - 5.0])
        .collect();
    let data = Data::new(matrix(&x, 3), Target::Values { values: &y, outputs: 2 });
    let model = fit(&quick().epochs(40), &data);
    assert_eq!(model.outputs(), 2);
    let predicted = model.predict(matrix(&x, 3)).unwrap();
    for c in 0..2 {
        let column = |v: &[f64]| -> Vec<f64> { v.iter().skip(c).step_by(2).copied().collect() };
        let r2 = rffnet::metrics::r2(&column(&y), &column(&predicted), None).unwrap();
        assert!(r2 > 0.95, "output {c}: {r2}");
    }
    let relevances = model.relevances();
    assert!(relevances[0] > 2.0 * relevances[2] && relevances[1] > 2.0 * relevances[2], "{relevances:?}");
}

#[test]
fn three_classes_with_text_labels() {
    let x = normal_rows(600, 2, 18);
    let classes = names(&["Äpfel", "Birnen, reif", ""]);
    let y = codes(&x, 2, |r| if r[0] > 0.5 { 2 } else { u32::from(r[1] > 0.0) });
    let model = fit(&quick().epochs(40), &classification(&x, 2, &y, &classes));
    assert_eq!(model.classes(), &classes);
    let p = model.probabilities(matrix(&x, 2)).unwrap();
    assert!(
        p.chunks_exact(3).all(|p| (p.iter().sum::<f64>() - 1.0).abs() < 1e-12 && p.iter().all(|&v| v >= 0.0))
    );
    let labels = model.labels(matrix(&x, 2)).unwrap();
    assert!(labels.iter().zip(&y).filter(|(a, b)| a == b).count() > 550);
    assert!(model.predict(matrix(&x, 2)).unwrap_err().to_string().contains("labels and probabilities"));
}

#[test]
fn a_regression_model_has_no_labels() {
    let x = normal_rows(50, 2, 19);
    let y = target(&x, 2, |r| r[0] as f64);
    let model = fit(&quick(), &regression(&x, 2, &y));
    assert!(model.probabilities(matrix(&x, 2)).unwrap_err().to_string().contains("no class probabilities"));
    assert!(model.labels(matrix(&x, 2)).is_err());
}

/// |r|^1.5: none of the built-in losses, behind any link.
struct Between(rffnet::Link);

impl Loss for Between {
    fn row(&self, y: &[f64], f: &[f64], gradient: &mut [f64]) -> f64 {
        let r = f[0] - y[0];
        gradient[0] = 1.5 * r.abs().sqrt() * r.signum();
        r.abs().powf(1.5)
    }
    fn link(&self) -> rffnet::Link {
        self.0
    }
    fn constant(&self, y: &[f32], weights: &[f32], _: usize) -> Vec<f64> {
        let mass: f64 = weights.iter().map(|&w| w as f64).sum();
        vec![y.iter().zip(weights).map(|(&y, &w)| (y * w) as f64).sum::<f64>() / mass]
    }
}

#[test]
fn a_loss_of_the_callers_is_minimised() {
    let x = normal_rows(400, 2, 20);
    let y = target(&x, 2, |r| 5.0 + (r[0] as f64).sin());
    let data = regression(&x, 2, &y);
    let params = quick().epochs(40);
    let model = rffnet::Fit::new(&params).loss(&Between(rffnet::Link::Identity)).run(&data).unwrap();
    let r2 = rffnet::metrics::r2(&y, &model.predict(matrix(&x, 2)).unwrap(), None).unwrap();
    assert!(r2 > 0.9, "{r2}");
    let numbers = Numbers::of(&model);
    assert_eq!(
        (numbers.target_mean[0], numbers.target_scale[0]),
        (0.0, 1.0),
        "the target is trained on as it is"
    );
    assert!(Model::from_bytes(&model.to_bytes().unwrap()).is_ok());
}

/// A link that does not go with the task would make a model that cannot be read back, and whose labels panic.
#[test]
fn a_loss_of_the_callers_whose_link_does_not_go_with_the_task_is_refused() {
    let x = normal_rows(60, 2, 22);
    let y = target(&x, 2, |r| r[0].abs() as f64);
    let (labels, classes) = (codes(&x, 2, |r| u32::from(r[0] > 0.0)), names(&["a", "b"]));
    for link in [rffnet::Link::Logistic, rffnet::Link::Softmax] {
        let loss = Between(link);
        assert!(rffnet::Fit::new(&quick()).loss(&loss).run(&regression(&x, 2, &y)).is_err(), "{link}");
    }
    for link in [rffnet::Link::Identity, rffnet::Link::Log, rffnet::Link::Softmax] {
        let loss = Between(link);
        let data = classification(&x, 2, &labels, &classes);
        assert!(rffnet::Fit::new(&quick()).loss(&loss).run(&data).is_err(), "{link}");
    }
}

/// Least squares of the logarithm's exponential: (exp(f) - y)^2.
struct LogLink;

impl Loss for LogLink {
    fn row(&self, y: &[f64], f: &[f64], gradient: &mut [f64]) -> f64 {
        let mut loss = 0.0;
        for ((y, f), g) in y.iter().zip(f).zip(gradient) {
            let r = f.exp() - y;
            *g = 2.0 * r * f.exp();
            loss += r * r;
        }
        loss
    }
    fn link(&self) -> rffnet::Link {
        rffnet::Link::Log
    }
    fn constant(&self, y: &[f32], weights: &[f32], outputs: usize) -> Vec<f64> {
        let mass: f64 = weights.iter().map(|&w| w as f64).sum();
        let mean = |c: usize| {
            let column = y.iter().skip(c).step_by(outputs).zip(weights);
            column.map(|(&y, &w)| (y * w) as f64).sum::<f64>() / mass
        };
        (0..outputs).map(|c| mean(c).max(1e-12).ln()).collect()
    }
}

/// The file does not hold the loss: to go on with another one would train something else without a word.
#[test]
fn a_model_of_the_callers_loss_cannot_be_resumed() {
    let x = normal_rows(80, 2, 24);
    let y = target(&x, 2, |r| r[0] as f64);
    let data = regression(&x, 2, &y);
    let params = quick().epochs(2).solver(SolverKind::Adam);
    let model = rffnet::Fit::new(&params).loss(&Between(rffnet::Link::Identity)).run(&data).unwrap();
    for model in [Model::from_bytes(&model.to_bytes().unwrap()).unwrap(), model] {
        let text = common::sentence(model.resume(&params, &data, &mut rffnet::Silent));
        assert!(text.contains("a loss of its caller's own"), "{text}");
    }
    assert!(fit(&params, &data).resume(&params, &data, &mut rffnet::Silent).is_ok());
}

/// Twice the logistic loss: the start is found with the cross-entropy in its place.
struct Twice;

impl Loss for Twice {
    fn row(&self, y: &[f64], f: &[f64], gradient: &mut [f64]) -> f64 {
        gradient[0] = 2.0 * (1.0 / (1.0 + (-f[0]).exp()) - y[0]);
        2.0 * ((1.0 + f[0].exp()).ln() - y[0] * f[0])
    }
    fn link(&self) -> rffnet::Link {
        rffnet::Link::Logistic
    }
    fn constant(&self, _: &[f32], _: &[f32], _: usize) -> Vec<f64> {
        vec![0.0]
    }
}

#[test]
fn a_loss_of_the_callers_can_start_from_variable_projection() {
    let x = normal_rows(300, 2, 25);
    let (labels, classes) = (codes(&x, 2, |r| u32::from(r[0] * r[1] > 0.0)), names(&["a", "b"]));
    let params = quick().epochs(5).init(rffnet::Init::Varpro);
    let data = classification(&x, 2, &labels, &classes);
    let model = rffnet::Fit::new(&params).loss(&Twice).run(&data).unwrap();
    let right = model.labels(matrix(&x, 2)).unwrap().iter().zip(&labels).filter(|(a, b)| a == b).count();
    assert!(right > 270, "{right} of 300");
}

#[test]
fn a_loss_of_the_callers_sees_a_constant_target_as_it_is() {
    let x = normal_rows(60, 2, 23);
    let y = vec![7.0; 60];
    let model = rffnet::Fit::new(&quick()).loss(&LogLink).run(&regression(&x, 2, &y)).unwrap();
    let predicted = model.predict(matrix(&x, 2)).unwrap();
    assert!(predicted.iter().all(|p| (p - 7.0).abs() < 1e-3), "{}", predicted[0]);
    let two: Vec<f64> = x.chunks_exact(2).flat_map(|r| [7.0, 1.0 + r[0].abs() as f64]).collect();
    let data = Data::new(matrix(&x, 2), Target::Values { values: &two, outputs: 2 });
    let model = rffnet::Fit::new(&quick()).loss(&LogLink).run(&data).unwrap();
    let predicted = model.predict(matrix(&x, 2)).unwrap();
    assert!(predicted.chunks_exact(2).all(|p| (p[0] - 7.0).abs() < 1.0), "{}", predicted[0]);
}

#[test]
fn a_huge_alpha_leaves_a_constant() {
    let x = normal_rows(200, 2, 21);
    let y = target(&x, 2, |r| r[0] as f64);
    let params = quick().penalty(PenaltyKind::L2).alpha(1e6);
    let model = fit(&params, &regression(&x, 2, &y));
    let largest = Numbers::of(&model).beta.iter().fold(0.0, |m: f64, b| m.max(b.abs()));
    assert!(largest < 1e-3, "{largest}");
}
