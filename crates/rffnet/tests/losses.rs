//! What each loss is for: outliers, quantiles, counts, unequal classes.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{Xorshift, classification, codes, fit, matrix, names, normal_rows, quick, refusal, regression};
use rffnet::{ClassWeight, Data, LossKind, SolverKind, Target};

#[test]
fn huber_is_robust_where_squares_are_not() {
    let x = normal_rows(600, 2, 41);
    let truth: Vec<f64> = x.chunks_exact(2).map(|r| (r[0] as f64).sin()).collect();
    let mut rng = Xorshift::new(42);
    let y: Vec<f64> =
        truth.iter().map(|v| if rng.uniform() < 0.08 { 30.0 } else { v + 0.1 * rng.normal() }).collect();
    let error = |loss: LossKind| {
        let params = quick().loss(loss).epochs(60);
        let model = fit(&params, &regression(&x, 2, &y));
        rffnet::metrics::mse(&truth, &model.predict(matrix(&x, 2)).unwrap(), None)
    };
    let (squared, huber) = (error(LossKind::Squared), error(LossKind::Huber { delta: 0.05 }));
    assert!(huber < 0.2 * squared, "{huber} {squared}");
}

#[test]
fn about_a_share_tau_of_the_rows_lies_below_the_quantile() {
    let x = normal_rows(1500, 2, 43);
    let mut rng = Xorshift::new(44);
    let y: Vec<f64> =
        x.chunks_exact(2).map(|r| r[0] as f64 + (1.0 + r[0].abs() as f64) * rng.normal()).collect();
    let mut medians = Vec::new();
    for tau in [0.1, 0.5, 0.9] {
        let params = quick().loss(LossKind::Quantile { tau }).epochs(60);
        let predicted = fit(&params, &regression(&x, 2, &y)).predict(matrix(&x, 2)).unwrap();
        let below = y.iter().zip(&predicted).filter(|(y, f)| y < f).count() as f64 / 1500.0;
        assert!((below - tau).abs() < 0.05, "{tau}: {below}");
        medians.push(predicted.iter().sum::<f64>());
    }
    assert!(medians[0] < medians[1] && medians[1] < medians[2]);
}

#[test]
fn poisson_predicts_positive_means() {
    let x = normal_rows(1500, 2, 45);
    let mut rng = Xorshift::new(46);
    let means: Vec<f64> = x.chunks_exact(2).map(|r| (0.5 + r[0] as f64).exp().min(30.0)).collect();
    // Knuth: how many uniforms until their product falls below exp(-mean).
    let counts: Vec<f64> = means
        .iter()
        .map(|m| {
            let (mut product, mut count) = (rng.uniform(), 0.0);
            while product > (-m).exp() {
                product *= rng.uniform();
                count += 1.0;
            }
            count
        })
        .collect();
    let params = quick().loss(LossKind::Poisson).epochs(60);
    let model = fit(&params, &regression(&x, 2, &counts));
    let predicted = model.predict(matrix(&x, 2)).unwrap();
    assert!(predicted.iter().all(|&m| m > 0.0));
    let r2 = rffnet::metrics::r2(&means, &predicted, None).unwrap();
    assert!(r2 > 0.8, "{r2}");
    // The link: predictions are exp(decision).
    let decision = model.decision(matrix(&x, 2)).unwrap();
    assert!(decision.iter().zip(&predicted).all(|(f, m)| f.exp() == *m));
    // With an intercept the mean of the predictions is about that of the counts.
    let mean = |v: &[f64]| v.iter().sum::<f64>() / 1500.0;
    assert!((mean(&predicted) / mean(&counts) - 1.0).abs() < 0.05);
}

#[test]
fn negative_counts_are_refused_by_row() {
    let x = normal_rows(20, 2, 47);
    let mut y = vec![1.0; 20];
    (y[3], y[7]) = (0.0, -1.0);
    let params = quick().loss(LossKind::Poisson);
    let text = refusal(&params, &regression(&x, 2, &y));
    assert!(text.contains("row 8") && text.contains("negative"), "{text}");
    // A row that does not count may hold anything.
    let weight: Vec<f32> = (0..20).map(|i| if i == 7 { 0.0 } else { 1.0 }).collect();
    fit(&params, &Data { weight: Some(&weight), ..regression(&x, 2, &y) });
}

#[test]
fn a_loss_for_the_other_task_is_refused() {
    let x = normal_rows(20, 2, 48);
    let y = codes(&x, 2, |r| u32::from(r[0] > 0.0));
    let classes = names(&["a", "b"]);
    let values = vec![1.0; 20];
    let with = |loss| quick().loss(loss);
    let text = refusal(&with(LossKind::Poisson), &classification(&x, 2, &y, &classes));
    assert!(text.contains("poisson") && text.contains("classification"), "{text}");
    let text = refusal(&with(LossKind::CrossEntropy), &regression(&x, 2, &values));
    assert!(text.contains("cross-entropy") && text.contains("regression"), "{text}");
}

#[test]
fn balanced_classes_raise_the_share_of_the_rare_one() {
    let x = normal_rows(1000, 2, 49);
    let mut rng = Xorshift::new(50);
    // Overlapping: the rare class is never the more probable one.
    let y: Vec<u32> =
        x.chunks_exact(2).map(|r| u32::from(rng.uniform() < if r[0] > 0.0 { 0.2 } else { 0.02 })).collect();
    let classes = names(&["common", "rare"]);
    let rate = |class_weight| {
        let params = quick().class_weight(class_weight);
        let labels = fit(&params, &classification(&x, 2, &y, &classes)).labels(matrix(&x, 2)).unwrap();
        labels.iter().filter(|&&l| l == 1).count() as f64 / 1000.0
    };
    let (plain, balanced) = (rate(ClassWeight::None), rate(ClassWeight::Balanced));
    assert!(plain < 0.05, "{plain}");
    assert!((0.3..0.7).contains(&balanced), "{balanced}");
}

/// Balanced class weights are the sample weights n / (k n_c): passing those by hand gives the same model.
#[test]
fn balanced_classes_are_sample_weights() {
    let x = normal_rows(200, 2, 51);
    let y = codes(&x, 2, |r| u32::from(r[0] > 0.8) + u32::from(r[0] > 1.4));
    let classes = names(&["a", "b", "c"]);
    let count = |c: u32| y.iter().filter(|&&l| l == c).count() as f32;
    let weight: Vec<f32> = y.iter().map(|&c| 200.0 / (3.0 * count(c))).collect();
    let data = classification(&x, 2, &y, &classes);
    let params = quick().solver(SolverKind::Sgd).lr(0.05);
    let by_hand = fit(&params, &Data { weight: Some(&weight), ..data });
    let balanced = fit(&params.class_weight(ClassWeight::Balanced), &data);
    let (a, b) =
        (by_hand.probabilities(matrix(&x, 2)).unwrap(), balanced.probabilities(matrix(&x, 2)).unwrap());
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-3));
}

#[test]
fn a_class_without_rows_is_improbable() {
    let x = normal_rows(300, 2, 52);
    let y = codes(&x, 2, |r| if r[0] > 0.0 { 2 } else { 0 });
    let classes = names(&["a", "never", "c"]);
    for class_weight in [ClassWeight::None, ClassWeight::Balanced] {
        let params = quick().class_weight(class_weight);
        let model = fit(&params, &classification(&x, 2, &y, &classes));
        let p = model.probabilities(matrix(&x, 2)).unwrap();
        assert!(p.chunks_exact(3).all(|p| p[1] < 1e-3));
        let labels = model.labels(matrix(&x, 2)).unwrap();
        assert!(labels.iter().zip(&y).filter(|(a, b)| a == b).count() > 280);
    }
}

#[test]
fn several_outputs_with_every_regression_loss() {
    let x = normal_rows(300, 2, 53);
    let y: Vec<f64> =
        x.chunks_exact(2).flat_map(|r| [(r[0] as f64).exp(), (r[1] as f64 * 0.5).exp()]).collect();
    let data = Data::new(matrix(&x, 2), Target::Values { values: &y, outputs: 2 });
    for loss in [
        LossKind::Squared,
        LossKind::Huber { delta: 0.5 },
        LossKind::Quantile { tau: 0.5 },
        LossKind::Poisson,
    ] {
        let model = fit(&quick().loss(loss).epochs(40), &data);
        let (loss_kept, baseline) =
            (model.summary().validation_loss.unwrap(), model.summary().baseline_loss.unwrap());
        assert!(loss_kept < baseline, "{loss}: {loss_kept} {baseline}");
        assert_eq!(model.predict(matrix(&x, 2)).unwrap().len(), 600);
    }
}
