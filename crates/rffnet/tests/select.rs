//! TopK, Algorithm 3 of the paper.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{
    bits, classification, codes, fit, matrix, names, normal_rows, quick, regression, sentence, target,
};
use rffnet::select::{score, top_k};
use rffnet::{Data, Model, Params, Target, metrics};

const COLUMNS: usize = 6;

fn interaction(r: &[f32]) -> f64 {
    (1.5 * r[1] as f64).sin() + (r[4] as f64).cos()
}

fn model_of_two_columns() -> Model {
    let x = normal_rows(1200, COLUMNS, 101);
    let y = target(&x, COLUMNS, interaction);
    fit(&quick().epochs(60).random_features(100), &regression(&x, COLUMNS, &y))
}

#[test]
fn the_path_has_a_step_for_every_number_of_columns_and_picks_the_active_ones() {
    let model = model_of_two_columns();
    let x = normal_rows(500, COLUMNS, 102);
    let y = target(&x, COLUMNS, interaction);
    let data = regression(&x, COLUMNS, &y);
    let top = top_k(&model, &data).unwrap();
    assert_eq!(top.path.iter().map(|s| s.columns).collect::<Vec<_>>(), (0..=COLUMNS).collect::<Vec<_>>());
    let relevance = model.relevances();
    assert!(top.order.windows(2).all(|w| relevance[w[0]] >= relevance[w[1]]));
    let mut first_two = top.order[..2].to_vec();
    first_two.sort_unstable();
    assert_eq!(first_two, [1, 4]);
    assert!(top.best >= 2 && top.kept == 2 && top.selected() == &top.order[..2]);
    let highest = top.path.iter().map(|s| s.score).fold(f64::NEG_INFINITY, f64::max);
    assert_eq!(top.path[top.best].score, highest);
    assert!(top.path[2].score > top.path[0].score + 0.5 && top.path[2].score > top.path[1].score);

    // Each step is the score of the restricted model; the last one, of the model itself.
    for step in &top.path {
        let restricted = model.restricted(&top.order[..step.columns]);
        assert_eq!(score(&restricted, &data).unwrap(), step.score);
    }
    let full = -metrics::mse(&y, &model.predict(matrix(&x, COLUMNS)).unwrap(), None);
    assert_eq!(top.path[COLUMNS].score, full);
}

/// The authors' path scored the full model as k = 0. With no column at all the model is a constant.
#[test]
fn with_no_column_the_model_is_a_constant() {
    let model = model_of_two_columns();
    let x = normal_rows(50, COLUMNS, 103);
    let predicted = model.restricted(&[]).predict(matrix(&x, COLUMNS)).unwrap();
    assert!(predicted.iter().all(|p| p.to_bits() == predicted[0].to_bits()));
    assert!(model.restricted(&[]).relevances().iter().all(|&r| r == 0.0));
}

#[test]
fn among_equals_the_fewest_columns_are_chosen() {
    // All relevances but two are exactly zero: from two columns on, the score stands still.
    let model = model_of_two_columns().restricted(&[4, 1]);
    let x = normal_rows(300, COLUMNS, 104);
    let y = target(&x, COLUMNS, interaction);
    let top = top_k(&model, &regression(&x, COLUMNS, &y)).unwrap();
    assert_eq!((top.best, top.kept), (2, 2));
    assert!(top.path[2..].iter().all(|s| s.score == top.path[2].score));
    // And if no column helps, none is chosen: a model without relevances.
    let top = top_k(&model.restricted(&[]), &regression(&x, COLUMNS, &y)).unwrap();
    assert_eq!((top.best, top.kept, top.path.len()), (0, 0, COLUMNS + 1));
    assert_eq!(top.order, (0..COLUMNS).collect::<Vec<_>>(), "equal relevances keep the order of the columns");
}

/// One column acts, nine do not: chance keeps some of them wherever the best score decides, a standard error keeps
/// fewer. The paper's preset has whatever scores best.
#[test]
fn columns_that_improve_the_score_by_chance_are_dropped() {
    let sample = |rows: usize, seed: u64| {
        let (x, noise) = (normal_rows(rows, 10, seed), normal_rows(rows, 1, seed + 1000));
        let clean = target(&x, 10, |r| (2.0 * r[0] as f64).sin());
        let y: Vec<f64> = clean.iter().zip(noise).map(|(y, e)| y + e as f64).collect();
        (x, y)
    };
    let (x, y) = sample(300, 120);
    let ours = fit(&quick(), &regression(&x, 10, &y));
    let paper = fit(&Params::paper().epochs(20), &regression(&x, 10, &y));
    let (mut best, mut kept) = (0, 0);
    for seed in 200..220 {
        let (x, y) = sample(200, seed);
        let top = top_k(&ours, &regression(&x, 10, &y)).unwrap();
        assert_eq!(top.order[0], 0);
        assert!((1..=top.best).contains(&top.kept));
        (best, kept) = (best + top.best, kept + top.kept);
        let exact = top_k(&paper, &regression(&x, 10, &y)).unwrap();
        assert_eq!(exact.kept, exact.best);
    }
    assert!(kept <= 22 && best > kept, "{kept} {best}");

    // Rows of weight zero do not count: neither for the score nor for its error.
    let (x, y) = sample(200, 200);
    let (far, weight) =
        ([x.clone(), normal_rows(4000, 10, 1)].concat(), [vec![1.0; 200], vec![0.0; 4000]].concat());
    let more = [y.clone(), vec![1e3; 4000]].concat();
    let padded = Data { weight: Some(&weight), ..regression(&far, 10, &more) };
    let (plain, padded) = (top_k(&ours, &regression(&x, 10, &y)).unwrap(), top_k(&ours, &padded).unwrap());
    assert_eq!((plain.best, plain.kept), (padded.best, padded.kept));
    let nothing = Data { weight: Some(&[0.0; 200]), ..regression(&x, 10, &y) };
    assert!(sentence(top_k(&ours, &nothing)).contains("nothing to score"));
}

#[test]
fn a_restricted_model_ignores_the_other_columns_to_the_last_bit() {
    let model = model_of_two_columns();
    let restricted = model.restricted(&[1, 4]);
    assert_eq!(restricted.relevances()[1], model.relevances()[1]);
    assert_eq!(restricted.importances()[0], 0.0);
    let x = normal_rows(200, COLUMNS, 105);
    let mut other = x.clone();
    let noise = normal_rows(200, COLUMNS, 106);
    for (row, noise) in other.chunks_exact_mut(COLUMNS).zip(noise.chunks_exact(COLUMNS)) {
        [0, 2, 3, 5].iter().for_each(|&j| row[j] = 1e6 * noise[j]);
    }
    let predict = |model: &Model, x: &[f32]| bits(&model.predict(matrix(x, COLUMNS)).unwrap());
    assert_eq!(predict(&restricted, &x), predict(&restricted, &other));
    assert_ne!(predict(&model, &x), predict(&model, &other));
    let saved = Model::from_bytes(&restricted.to_bytes().unwrap()).unwrap();
    assert_eq!(saved.relevances(), restricted.relevances());
    assert_eq!(predict(&saved, &x), predict(&restricted, &x));
    // Keeping everything changes nothing; columns that do not exist are no columns.
    assert_eq!(predict(&model.restricted(&[0, 1, 2, 3, 4, 5, 77]), &x), predict(&model, &x));
}

#[test]
fn classification_is_scored_by_the_auc() {
    let x = normal_rows(800, 4, 107);
    for classes in [names(&["a", "b"]), names(&["a", "b", "c"])] {
        let y =
            codes(&x, 4, |r| (u32::from(r[2] > 0.0) + u32::from(r[2] > 1.0)).min(classes.len() as u32 - 1));
        let model = fit(&quick().epochs(40), &classification(&x, 4, &y, &classes));
        let held_out = normal_rows(400, 4, 108);
        let y = codes(&held_out, 4, |r| {
            (u32::from(r[2] > 0.0) + u32::from(r[2] > 1.0)).min(classes.len() as u32 - 1)
        });
        let data = classification(&held_out, 4, &y, &classes);
        let top = top_k(&model, &data).unwrap();
        assert_eq!((top.path.len(), top.order[0]), (5, 2));
        assert_eq!(top.path[0].score, 0.5, "a constant has an AUC of one half");
        let p = model.probabilities(matrix(&held_out, 4)).unwrap();
        let expected = metrics::classification(&y, &p, classes.len(), None).auc.unwrap();
        assert_eq!(top.path[4].score, expected);
        assert!(top.path[1].score > 0.95);
        // One column acts. However sure or unsure the probabilities of fewer columns are, it is the AUC that decides.
        assert!(top.kept == 1 && top.kept <= top.best, "{top:?}");
        if classes.len() == 2 {
            let second: Vec<f64> = p.iter().skip(1).step_by(2).copied().collect();
            let positive: Vec<bool> = y.iter().map(|&c| c == 1).collect();
            assert_eq!(metrics::auc(&second, &positive, None), Some(expected));
        }
    }
}

#[test]
fn scores_are_weighted_and_several_outputs_are_averaged() {
    let x = normal_rows(200, 2, 109);
    let y: Vec<f64> = x.chunks_exact(2).flat_map(|r| [r[0] as f64, 2.0 * r[1] as f64]).collect();
    let data = Data::new(matrix(&x, 2), Target::Values { values: &y, outputs: 2 });
    let model = fit(&quick(), &data);
    let weight: Vec<f32> = (0..200).map(|i| (i % 3) as f32).collect();
    let predicted = model.predict(matrix(&x, 2)).unwrap();
    let squares: Vec<f64> = y.iter().zip(&predicted).map(|(y, f)| (y - f).powi(2)).collect();
    let mass: f64 = weight.iter().map(|&w| 2.0 * w as f64).sum();
    let expected =
        -squares.chunks_exact(2).zip(&weight).map(|(s, &w)| w as f64 * (s[0] + s[1])).sum::<f64>() / mass;
    let got = score(&model, &Data { weight: Some(&weight), ..data }).unwrap();
    assert!((got - expected).abs() < 1e-12 * expected.abs(), "{got} {expected}");
}

#[test]
fn data_that_do_not_fit_the_model_are_refused() {
    let x = normal_rows(60, 2, 110);
    let y = target(&x, 2, |r| r[0] as f64);
    let labels = codes(&x, 2, |r| u32::from(r[0] > 0.0));
    let (classes, other) = (names(&["a", "b"]), names(&["b", "a"]));
    let regressor = fit(&quick(), &regression(&x, 2, &y));
    let classifier = fit(&quick(), &classification(&x, 2, &labels, &classes));
    let wrong = "the target does not fit the model";
    assert_eq!(sentence(top_k(&regressor, &classification(&x, 2, &labels, &classes))), wrong);
    assert_eq!(sentence(top_k(&classifier, &regression(&x, 2, &y))), wrong);
    assert_eq!(sentence(top_k(&classifier, &classification(&x, 2, &labels, &other))), wrong);
    let text = sentence(top_k(&classifier, &classification(&x, 2, &[1; 60], &classes)));
    assert!(text.contains("at least two classes"), "{text}");
    let wide = normal_rows(60, 3, 111);
    assert!(sentence(top_k(&regressor, &regression(&wide, 3, &y))).contains("2 columns"));
    // Arrays of the wrong length, or codes that stand for nothing, are errors and not panics.
    assert!(top_k(&regressor, &regression(&x, 2, &y[..59])).is_err());
    assert!(top_k(&regressor, &Data { weight: Some(&[1.0; 59]), ..regression(&x, 2, &y) }).is_err());
    assert!(top_k(&classifier, &classification(&x, 2, &[7; 60], &classes)).is_err());
}
