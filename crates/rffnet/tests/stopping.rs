//! When a fit ends, what it keeps, and what it says about it.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::ops::ControlFlow;

use common::{Xorshift, fit, matrix, normal_rows, quick, refusal, regression, target};
use rffnet::{
    Data, Error, Fit, History, LossKind, Model, Params, Progress, Schedule, SolverKind, Stopped, Target,
};

/// A sine in the first of three columns, under noise.
fn noisy(rows: usize, noise: f64) -> (Vec<f32>, Vec<f64>) {
    let x = normal_rows(rows, 3, 31);
    let mut rng = Xorshift::new(32);
    let y = x.chunks_exact(3).map(|r| (r[0] as f64).sin() + noise * rng.normal()).collect();
    (x, y)
}

fn warned(model: &Model, text: &str) -> bool {
    model.summary().warnings.iter().any(|w| w.contains(text))
}

#[test]
fn patience_stops_and_the_best_epoch_is_kept() {
    let (x, y) = noisy(150, 1.0);
    let params =
        quick().patience(5).epochs(250).lr(0.02).schedule(Schedule::Constant).validation_fraction(0.3);
    let model = fit(&params, &regression(&x, 3, &y));
    let summary = model.summary();
    assert_eq!(summary.stopped, Stopped::Patience);
    assert_eq!(summary.epochs, summary.best_epoch + 5);
    assert_eq!((summary.rows, summary.validation_rows), (150, 45));
    assert_eq!(summary.losses.len(), summary.epochs);
    let (best, lowest) = summary
        .losses
        .iter()
        .map(|l| (l.epoch, l.validation.unwrap()))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap();
    assert_eq!((summary.best_epoch, summary.validation_loss), (best, Some(lowest)));

    // The parameters kept are those of that epoch: a fit that ends there has them, too.
    let mut params = params.epochs(best);
    params.patience = None;
    let stopped_there = fit(&params, &regression(&x, 3, &y));
    assert_eq!(stopped_there.relevances(), model.relevances());
    assert_eq!(stopped_there.summary().validation_loss, Some(lowest));
}

#[test]
fn the_validation_loss_is_in_units_of_the_target() {
    let (x, y) = noisy(200, 0.3);
    let wide: Vec<f64> = y.iter().map(|v| 1000.0 * v + 7.0).collect();
    for (loss, power) in
        [(LossKind::Squared, 2), (LossKind::Quantile { tau: 0.5 }, 1), (LossKind::Huber { delta: 1.0 }, 2)]
    {
        let params = quick().loss(loss);
        let small = fit(&params, &regression(&x, 3, &y));
        let large = fit(&params, &regression(&x, 3, &wide));
        let ratio = large.summary().validation_loss.unwrap() / small.summary().validation_loss.unwrap();
        assert!((ratio / 1000f64.powi(power) - 1.0).abs() < 0.01, "{loss}: {ratio}");
        let ratio = large.summary().baseline_loss.unwrap() / small.summary().baseline_loss.unwrap();
        assert!((ratio / 1000f64.powi(power) - 1.0).abs() < 1e-3, "{loss}: {ratio}");
    }
}

#[test]
fn patience_waits_until_a_constant_is_beaten() {
    // Without an intercept and at a vanishing rate the mean of 10 is never reached: an impatient fit would end after
    // 2 epochs.
    let (x, mut y) = noisy(100, 0.1);
    y.iter_mut().for_each(|v| *v += 10.0);
    let params = Params::paper().patience(1).epochs(9).lr(1e-30);
    let model = fit(&params, &regression(&x, 3, &y));
    assert_eq!((model.summary().stopped, model.summary().epochs), (Stopped::Epochs, 9));
    assert!(warned(&model, "no better than a constant"));
}

#[test]
fn without_a_validation_part_the_last_epoch_is_kept_and_patience_is_idle() {
    let (x, y) = noisy(100, 1.0);
    let params = quick().validation_fraction(0.0).patience(1).epochs(30);
    let model = fit(&params, &regression(&x, 3, &y));
    let summary = model.summary();
    assert_eq!((summary.stopped, summary.epochs, summary.best_epoch), (Stopped::Epochs, 30, 30));
    assert_eq!((summary.validation_rows, summary.validation_loss), (0, None));
    assert!(summary.losses.iter().all(|l| l.validation.is_none()));
    assert_eq!(model.relevances(), *model.history().relevances().last().unwrap());
}

#[test]
fn an_observer_sees_every_epoch_and_can_stop_the_fit() {
    let (x, y) = noisy(200, 0.2);
    let mut seen = Vec::new();
    let mut observer = |p: &Progress| {
        seen.push((p.epoch, p.epochs, p.train_loss, p.validation_loss));
        if p.epoch == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let params = quick().epochs(50);
    let model = Fit::new(&params).observer(&mut observer).run(&regression(&x, 3, &y)).unwrap();
    assert_eq!((model.summary().stopped, model.summary().epochs), (Stopped::Interrupted, 7));
    assert_eq!(seen.len(), 7);
    for (told, kept) in seen.iter().zip(&model.summary().losses) {
        assert_eq!(*told, (kept.epoch, 50, kept.train, kept.validation));
    }
    assert!(model.predict(matrix(&x, 3)).unwrap().iter().all(|v| v.is_finite()));
    assert!(Model::from_bytes(&model.to_bytes().unwrap()).is_ok());
}

#[test]
fn an_interruption_in_the_first_epoch_still_leaves_a_model() {
    let (x, y) = noisy(60, 0.2);
    let mut stop = |_: &Progress| ControlFlow::Break(());
    let model = Fit::new(&quick()).observer(&mut stop).run(&regression(&x, 3, &y)).unwrap();
    assert_eq!((model.summary().stopped, model.summary().best_epoch), (Stopped::Interrupted, 1));
}

#[test]
fn the_history_is_bounded_and_records_losses_with_relevances() {
    let (x, y) = noisy(40, 0.2);
    let params = quick().epochs(700).random_features(5);
    let model = fit(&params, &regression(&x, 3, &y));
    let history = model.history();
    assert!(history.losses().len() <= History::LIMIT && history.losses().len() > History::LIMIT / 2);
    assert!(history.losses() == model.summary().losses);
    assert_eq!(history.losses().len(), history.relevances().len());
    assert!(history.relevances().iter().all(|r| r.len() == 3 && r.iter().all(|&t| t >= 0.0)));
    assert_eq!(model.summary().epochs, 700);
    assert!(history.losses().windows(2).all(|w| w[0].epoch < w[1].epoch));
    let reloaded = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert!(reloaded.summary().losses == model.summary().losses);
    assert!(reloaded.history().losses().is_empty());
}

#[test]
fn a_descent_that_diverges_at_once_is_refused_with_advice() {
    let (x, y) = noisy(200, 0.1);
    for solver in [SolverKind::Sgd, SolverKind::PalmSgd] {
        for validation_fraction in [0.0, 0.1] {
            let params = quick().solver(solver).lr(1e6).alpha(0.0).validation_fraction(validation_fraction);
            match Fit::new(&params).run(&regression(&x, 3, &y)) {
                Err(Error::Diverged { epoch, advice }) => {
                    assert!(
                        epoch >= 1 && advice.contains("smaller learning rate (it was 1000000"),
                        "{advice}"
                    );
                }
                Err(other) => panic!("{other}"),
                Ok(model) => panic!("a model of loss {:?}", model.summary().validation_loss),
            }
            let text = refusal(&params, &regression(&x, 3, &y));
            assert!(
                text.starts_with("the fit diverged in epoch") && text.contains("no model was kept"),
                "{text}"
            );
        }
    }
}

/// A rate that rises over the first third of the steps: small at first, far too large later.
#[test]
fn a_descent_that_diverges_after_having_learned_keeps_the_best_epoch_before() {
    let (x, y) = noisy(400, 0.05);
    let params = quick().solver(SolverKind::Sgd).schedule(Schedule::OneCycle).lr(5.0).alpha(0.0).epochs(400);
    let model = fit(&params, &regression(&x, 3, &y));
    let summary = model.summary();
    assert_eq!(summary.stopped, Stopped::Diverged);
    assert!(summary.best_epoch < summary.epochs);
    assert!(warned(&model, "the fit diverged in epoch"), "{:?}", summary.warnings);
    assert!(summary.validation_loss < summary.baseline_loss);
    assert!(model.predict(matrix(&x, 3)).unwrap().iter().all(|v| v.is_finite()));
}

#[test]
fn what_bears_on_nothing_is_said_to_be_no_better_than_a_constant() {
    // Of the seeds of a fit on pure noise, most find no epoch that clearly beats the constant on the validation rows.
    let x = normal_rows(400, 3, 33);
    let mut rng = Xorshift::new(34);
    let y: Vec<f64> = (0..400).map(|_| rng.normal()).collect();
    let warned = (0..8).filter(|&seed| {
        let model = fit(&quick().seed(seed).validation_fraction(0.3), &regression(&x, 3, &y));
        let summary = model.summary();
        // One that is better by chance is warned of, too.
        let warned = warned(&model, "no better than a constant");
        assert!(warned || summary.validation_loss < summary.baseline_loss, "{:?}", summary.warnings);
        warned
    });
    assert!(warned.count() >= 6);
}

#[test]
fn a_constant_target_gives_that_constant_and_a_warning() {
    let x = normal_rows(40, 2, 35);
    let weight: Vec<f32> = (0..40).map(|i| (i % 3) as f32).collect();
    for loss in [
        LossKind::Squared,
        LossKind::Huber { delta: 1.0 },
        LossKind::Quantile { tau: 0.2 },
        LossKind::Poisson,
    ] {
        for value in [3.25, 1e-3, 1e9] {
            for preset in [Params::default(), Params::paper()] {
                let y = vec![value; 40];
                let data = Data { weight: Some(&weight), ..regression(&x, 2, &y) };
                let model = fit(&preset.loss(loss), &data);
                assert_eq!(model.summary().stopped, Stopped::ConstantTarget);
                assert!(warned(&model, "the same value in every row"));
                for predicted in model.predict(matrix(&x, 2)).unwrap() {
                    assert!((predicted / value - 1.0).abs() < 1e-5, "{loss}: {predicted} {value}");
                }
                assert!(model.importances().iter().all(|&i| i == 0.0));
                assert!(Model::from_bytes(&model.to_bytes().unwrap()).is_ok());
            }
        }
    }
}

#[test]
fn a_target_that_is_zero_everywhere_is_predicted_as_zero() {
    let x = normal_rows(40, 2, 36);
    let y = vec![0.0; 40];
    let model = fit(&quick(), &regression(&x, 2, &y));
    assert!(model.predict(matrix(&x, 2)).unwrap().iter().all(|&v| v == 0.0));
    let counts = fit(&quick().loss(LossKind::Poisson), &regression(&x, 2, &y));
    assert!(counts.predict(matrix(&x, 2)).unwrap().iter().all(|&v| (0.0..1e-9).contains(&v)));
}

#[test]
fn one_constant_output_beside_one_that_varies() {
    let x = normal_rows(200, 2, 37);
    let y: Vec<f64> = x.chunks_exact(2).flat_map(|r| [42.0, r[0] as f64]).collect();
    let data = Data::new(matrix(&x, 2), Target::Values { values: &y, outputs: 2 });
    let model = fit(&quick(), &data);
    assert_eq!(model.summary().stopped, Stopped::Epochs);
    for predicted in model.predict(matrix(&x, 2)).unwrap().chunks_exact(2) {
        assert!((predicted[0] - 42.0).abs() < 0.3, "{}", predicted[0]);
    }
}

#[test]
fn the_target_of_a_single_varying_row_is_not_constant() {
    let x = normal_rows(40, 2, 38);
    let y = target(&x, 2, |r| if r == &x[..2] { 1.0 } else { 0.0 });
    assert_ne!(fit(&quick(), &regression(&x, 2, &y)).summary().stopped, Stopped::ConstantTarget);
}
