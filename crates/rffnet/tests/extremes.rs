//! Odd data: every fit gives finite predictions or a sentence, never a panic and never a NaN.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{
    bits, classification, codes, fit, matrix, names, normal_rows, quick, refusal, regression, sentence,
    target,
};
use rffnet::{Data, Error, Fit, LossKind, Matrix, Missing, Model, Params, Preset, SolverKind, Target};

/// Fits and predicts; the predictions are finite.
fn sound(params: &Params, data: &Data<'_>) -> Model {
    let model = fit(params, data);
    let predicted = model.decision(data.x).unwrap();
    assert!(predicted.iter().all(|v| v.is_finite()));
    assert!(model.importances().iter().chain(&model.relevances()).all(|v| v.is_finite() && *v >= 0.0));
    assert!(Model::from_bytes(&model.to_bytes().unwrap()).is_ok());
    model
}

fn r2(model: &Model, x: &[f32], columns: usize, y: &[f64]) -> f64 {
    rffnet::metrics::r2(y, &model.predict(matrix(x, columns)).unwrap(), None).unwrap()
}

/// Puts `f` of its number and value into each cell of column `j`.
fn column(x: &mut [f32], columns: usize, j: usize, f: impl Fn(usize, f32) -> f32) {
    x.chunks_exact_mut(columns).enumerate().for_each(|(i, row)| row[j] = f(i, row[j]));
}

#[test]
fn constant_columns_are_left_out_with_a_warning() {
    let mut x = normal_rows(200, 4, 71);
    column(&mut x, 4, 1, |_, _| 7.0);
    column(&mut x, 4, 3, |_, _| 0.0);
    let y = target(&x, 4, |r| r[0] as f64);
    let columns = names(&["size", "same", "noise", "zero"]);
    for params in [quick(), Params::paper().epochs(20)] {
        let model = sound(&params, &Data { names: Some(&columns), ..regression(&x, 4, &y) });
        for j in [1, 3] {
            assert_eq!((model.relevances()[j], model.importances()[j]), (0.0, 0.0));
        }
        assert!(model.relevances()[0] > 0.0 && model.importances()[0] > model.importances()[2]);
        let warning = &model.summary().warnings[0];
        assert_eq!(warning, "columns 'same', 'zero' are constant and are left out (relevance 0)");
        // Another value in such a column changes nothing.
        let mut other = x.clone();
        column(&mut other, 4, 1, |_, v| v + 1000.0);
        let (a, b) = (model.predict(matrix(&x, 4)).unwrap(), model.predict(matrix(&other, 4)).unwrap());
        assert_eq!(bits(&a), bits(&b));
    }
    for init in [rffnet::Init::Restarter, rffnet::Init::Regressor] {
        let model = sound(&quick().init(init), &regression(&x, 4, &y));
        assert_eq!((model.relevances()[1], model.relevances()[3]), (0.0, 0.0), "{init}");
    }
}

#[test]
fn one_constant_column_is_named_and_many_are_counted() {
    let y: Vec<f64> = (0..30).map(|i| i as f64).collect();
    let mut x = vec![5.0; 30 * 9];
    column(&mut x, 9, 0, |i, _| i as f32);
    let warnings = fit(&quick(), &regression(&x, 9, &y)).summary().warnings.clone();
    assert!(warnings[0].contains("'x6' and 3 more are constant"), "{warnings:?}");
    column(&mut x, 9, 1, |_, _| 1.0);
    (2..9).for_each(|j| column(&mut x, 9, j, |i, _| (i * j % 11) as f32));
    let warnings = fit(&quick(), &regression(&x, 9, &y)).summary().warnings.clone();
    assert!(warnings[0].starts_with("column 'x2' is constant"), "{warnings:?}");
}

#[test]
fn columns_that_are_all_constant_leave_the_mean() {
    let x = vec![1.0; 60];
    let y: Vec<f64> = (0..30).map(|i| i as f64).collect();
    let model = sound(&quick(), &regression(&x, 2, &y));
    let predicted = model.predict(matrix(&x, 2)).unwrap();
    assert!(predicted.iter().all(|p| p.to_bits() == predicted[0].to_bits()));
    assert!((predicted[0] - 14.5).abs() < 1.5, "{}", predicted[0]);
}

#[test]
fn the_scale_of_a_column_does_not_matter() {
    let plain = normal_rows(300, 2, 72);
    let y = target(&plain, 2, |r| (r[0] as f64).sin());
    for unit in [1e30f32, 1e-30, 1e-37, 1.0] {
        let mut x = plain.clone();
        column(&mut x, 2, 0, |_, v| v * unit);
        let model = sound(&quick(), &regression(&x, 2, &y));
        assert!(r2(&model, &x, 2, &y) > 0.8, "{unit}: {}", r2(&model, &x, 2, &y));
        assert!(model.summary().warnings.is_empty(), "{:?}", model.summary().warnings);
    }
}

#[test]
fn denormal_columns_are_fitted_or_taken_for_constant() {
    let plain = normal_rows(100, 2, 73);
    let y = target(&plain, 2, |r| r[1] as f64);
    for unit in [1e-40f32, 1e-44] {
        let mut x = plain.clone();
        column(&mut x, 2, 0, |_, v| v * unit);
        let model = sound(&quick(), &regression(&x, 2, &y));
        assert!(r2(&model, &x, 2, &y) > 0.5);
        assert_eq!(model.relevances()[0], 0.0);
        assert!(model.summary().warnings[0].contains("'x1' is constant"));
    }
}

#[test]
fn a_huge_mean_with_a_small_spread_is_fitted_or_taken_for_constant() {
    let plain = normal_rows(200, 2, 74);
    let y = target(&plain, 2, |r| r[0] as f64);
    let mut x = plain.clone();
    column(&mut x, 2, 0, |_, v| 1e4 + v);
    let model = sound(&quick(), &regression(&x, 2, &y));
    assert!(r2(&model, &x, 2, &y) > 0.8, "{}", r2(&model, &x, 2, &y));
    // At a mean of 1e8 an f32 has a grain of 8: nothing is left of a spread of 1.
    column(&mut x, 2, 0, |_, v| 1e8 + (v - 1e4));
    let model = sound(&quick(), &regression(&x, 2, &y));
    assert_eq!(model.relevances()[0], 0.0);
}

#[test]
fn an_outlier_of_1e30_does_no_harm_to_the_arithmetic() {
    let mut x = normal_rows(200, 2, 75);
    x[17] = 1e30;
    let y = target(&x, 2, |r| r[0] as f64);
    sound(&quick(), &regression(&x, 2, &y));
}

#[test]
fn one_row_is_refused_and_two_are_enough() {
    let x = [1.0, 2.0, 3.0, 5.0];
    let text = refusal(&quick(), &regression(&x[..2], 2, &[1.0]));
    assert!(text.contains("there is 1 row to learn from; at least 2 are needed"), "{text}");
    let classes = names(&["a", "b"]);
    let text = refusal(&quick(), &classification(&x[..2], 2, &[1], &classes));
    assert!(text.contains("at least 2 are needed"), "{text}");
    for preset in [Preset::Auto, Preset::Paper] {
        for validation in [0.0, 0.1, 0.9] {
            let params = quick().preset(preset).validation_fraction(validation);
            sound(&params, &regression(&x, 2, &[1.0, 2.0]));
            sound(&params, &classification(&x, 2, &[1, 0], &classes));
        }
    }
}

#[test]
fn no_rows_and_no_columns_are_refused() {
    assert!(refusal(&quick(), &regression(&[], 3, &[])).contains("0 row"));
    let none = Data::new(Matrix::new(&[], 4, 0).unwrap(), Target::Values { values: &[1.0; 4], outputs: 1 });
    assert!(refusal(&quick(), &none).contains("no column"));
    let model = fit(&quick(), &regression(&[1.0, 2.0, 3.0], 1, &[1.0, 2.0, 4.0]));
    assert!(model.predict(Matrix::new(&[], 0, 1).unwrap()).unwrap().is_empty());
}

#[test]
fn odd_shapes_fit() {
    // (rows, columns, features, batch)
    let shapes = [
        (20, 3, 300, None),
        (7, 30, 20, None),
        (50, 1, 40, None),
        (50, 3, 1, None),
        (40, 3, 40, Some(1000)),
        (40, 3, 40, Some(1)),
        (2, 50, 1, Some(1)),
        (65, 2, 49, Some(64)),
    ];
    for (n, d, s, batch_size) in shapes {
        let x = normal_rows(n, d, 76);
        let y = target(&x, d, |r| r[0] as f64);
        let solvers = [(Preset::Auto, SolverKind::Auto), (Preset::Auto, SolverKind::Adam)];
        for (preset, solver) in solvers.into_iter().chain([(Preset::Paper, SolverKind::Auto)]) {
            let mut params = Params::new().preset(preset).solver(solver).random_features(s).epochs(10);
            params.batch_size = batch_size;
            let model = sound(&params, &regression(&x, d, &y));
            assert_eq!((model.random_features(), model.relevances().len()), (s, d));
        }
    }
}

/// With fewer rows than a batch the authors' code made no step at all.
#[test]
fn the_paper_preset_makes_steps_on_fewer_rows_than_a_batch() {
    let x = normal_rows(60, 2, 77);
    let y = target(&x, 2, |r| (r[0] as f64).sin());
    let params = Params::paper().lr(1e-2).alpha(1e-3).patience(100);
    let model = fit(&params, &regression(&x, 2, &y));
    let losses = &model.summary().losses;
    assert!(losses.last().unwrap().train < 0.2 * losses[0].train);
    assert_eq!(model.plan().descent().unwrap().batch_size, 128);
}

#[test]
fn a_row_far_away_gets_a_finite_prediction_or_a_sentence() {
    let x = normal_rows(100, 2, 78);
    let y = target(&x, 2, |r| r[0] as f64);
    let counts = target(&x, 2, |r| r[0].abs() as f64);
    for (loss, y) in [(LossKind::Squared, &y), (LossKind::Poisson, &counts)] {
        let model = fit(&quick().loss(loss), &regression(&x, 2, y));
        for far in [1e4, -1e10, 1e20, 1e30, f32::MAX, f32::MIN, 1e-45] {
            match model.predict(matrix(&[0.0, 0.0, far, 0.0, far, -far], 2)) {
                Ok(p) => assert!(p.iter().all(|v| v.is_finite()), "{far}: {p:?}"),
                Err(e) => {
                    assert!(matches!(e, Error::NonFinitePrediction { row: 2 | 3 }), "{far}: {e}");
                    assert!(e.to_string().contains("too far from the training data"));
                }
            }
        }
    }
}

#[test]
fn missing_and_infinite_cells_are_refused_by_row_and_column() {
    let mut x = normal_rows(30, 3, 79);
    let y = target(&x, 3, |r| r[0] as f64);
    let columns = names(&["a", "b", "c"]);
    let strict = quick().missing(Missing::Error);
    let model = fit(&strict, &Data { names: Some(&columns), ..regression(&x, 3, &y) });
    let lenient = fit(&quick(), &regression(&x, 3, &y));
    x[3 * 4 + 1] = f32::NAN;
    x[3 * 9 + 2] = f32::NAN;
    assert!(lenient.predict(matrix(&x, 3)).unwrap().iter().all(|v| v.is_finite()));
    let data = Data { names: Some(&columns), ..regression(&x, 3, &y) };
    let text = refusal(&strict, &data);
    assert!(text.starts_with("row 5, column 'b' is missing; ") && text.contains("missing = auto"), "{text}");
    let text = sentence(model.predict(matrix(&x, 3)));
    assert!(text.starts_with("row 5, column 'b' is missing"), "{text}");
    for bad in [f32::INFINITY, f32::NEG_INFINITY] {
        x[3 * 2] = bad;
        for missing in [Missing::Auto, Missing::Error, Missing::Mean] {
            let text = refusal(&quick().missing(missing), &regression(&x, 3, &y));
            assert!(text.starts_with("row 3, column 'x1' is ") && text.contains("inf"), "{text}");
        }
    }
}

#[test]
fn a_target_that_is_not_finite_is_refused_by_row() {
    let x = normal_rows(30, 3, 80);
    for bad in [f64::NAN, f64::INFINITY] {
        let mut y = vec![1.0; 60];
        y[25] = bad;
        let data = Data::new(matrix(&x, 3), Target::Values { values: &y, outputs: 2 });
        let text = refusal(&quick().missing(Missing::Mean), &data);
        assert!(text.starts_with("row 13, column 'target' is "), "{text}");
    }
}

/// A missing cell is read as the mean of the column's training cells, which here is exactly 2.
#[test]
fn a_missing_cell_is_the_training_mean_bit_for_bit() {
    let mut x = normal_rows(60, 2, 81);
    column(&mut x, 2, 1, |i, _| [1.0, 3.0, f32::NAN, 2.0, 0.0, 4.0][i % 6]);
    let y = target(&x, 2, |r| r[0] as f64 + if r[1].is_nan() { 2.0 } else { r[1] as f64 });
    let params = quick().missing(Missing::Mean).epochs(100).validation_fraction(0.0);
    let model = fit(&params, &regression(&x, 2, &y));
    let mut filled = x.clone();
    column(&mut filled, 2, 1, |_, v| if v.is_nan() { 2.0 } else { v });
    let (gaps, whole) = (model.predict(matrix(&x, 2)).unwrap(), model.predict(matrix(&filled, 2)).unwrap());
    assert_eq!(bits(&gaps), bits(&whole));
    assert!(r2(&model, &x, 2, &y) > 0.8);
    // In the fit the column's spread is that of the cells there are, so filling in by hand comes close, no more.
    let hand = fit(&params, &regression(&filled, 2, &y));
    let theirs = hand.predict(matrix(&filled, 2)).unwrap();
    assert!(rffnet::metrics::r2(&theirs, &gaps, None).unwrap() > 0.9);
    let loaded = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(bits(&loaded.predict(matrix(&x, 2)).unwrap()), bits(&gaps));
}

#[test]
fn a_column_that_is_all_missing_counts_as_constant() {
    let mut x = normal_rows(60, 2, 82);
    column(&mut x, 2, 1, |_, _| f32::NAN);
    let y = target(&x, 2, |r| r[0] as f64);
    let model = sound(&quick().missing(Missing::Mean), &regression(&x, 2, &y));
    assert_eq!(model.relevances()[1], 0.0);
    assert!(model.summary().warnings[0].contains("'x2' is constant"));
}

#[test]
fn the_scale_of_the_target_does_not_matter_to_auto() {
    let x = normal_rows(200, 2, 83);
    for unit in [1e30, 1e-30, 1e-150, 1e100] {
        let y = target(&x, 2, |r| unit * (5.0 + (r[0] as f64).sin()));
        let model = fit(&quick(), &regression(&x, 2, &y));
        let unitless = |v: &[f64]| -> Vec<f64> { v.iter().map(|v| v / unit).collect() };
        let predicted = model.predict(matrix(&x, 2)).unwrap();
        let r2 = rffnet::metrics::r2(&unitless(&y), &unitless(&predicted), None).unwrap();
        assert!(r2 > 0.8, "{unit}: {r2}");
    }
}

#[test]
fn a_target_too_large_to_square_is_refused() {
    let x = normal_rows(40, 2, 84);
    let y = target(&x, 2, |r| 1e200 * r[0] as f64);
    for preset in [Preset::Auto, Preset::Paper] {
        let text = refusal(&quick().preset(preset), &regression(&x, 2, &y));
        assert!(text.contains("too large") && text.contains("rescale"), "{text}");
    }
    let y = target(&x, 2, |r| 1e39 * r[0] as f64);
    let text = refusal(&Params::paper(), &regression(&x, 2, &y));
    assert!(text.contains("too large for 32-bit numbers"), "{text}");
}

#[test]
fn the_paper_preset_takes_a_target_of_1e30_or_says_why_not() {
    let x = normal_rows(200, 2, 85);
    let y = target(&x, 2, |r| 1e30 * r[0] as f64);
    for solver in [rffnet::SolverKind::Adam, rffnet::SolverKind::Sgd] {
        let params = Params::paper().solver(solver).epochs(10);
        match Fit::new(&params).run(&regression(&x, 2, &y)) {
            Ok(model) => {
                assert!(model.predict(matrix(&x, 2)).unwrap().iter().all(|v| v.is_finite()));
                let learned = model.summary().validation_loss < model.summary().baseline_loss;
                assert!(
                    learned
                        || model.summary().warnings.iter().any(|w| w.contains("no better than a constant"))
                );
            }
            Err(e) => assert!(matches!(e, Error::Diverged { .. }), "{e}"),
        }
    }
}

#[test]
fn labels_that_make_no_sense_are_refused() {
    let x = normal_rows(20, 2, 86);
    let classes = names(&["cat", "dog"]);
    let mut y = codes(&x, 2, |r| u32::from(r[0] > 0.0));
    y[6] = 2;
    let text = refusal(&quick(), &classification(&x, 2, &y, &classes));
    assert!(text.contains("row 7 has class 2 of 2"), "{text}");
    let text = refusal(&quick(), &classification(&x, 2, &[1; 20], &classes));
    assert!(text.contains("every row is of class 'dog'") && text.contains("two classes"), "{text}");
    let text = refusal(&quick(), &classification(&x, 2, &[0; 20], &classes[..1]));
    assert!(text.contains("every row is of class 'cat'"), "{text}");
    let text = refusal(&quick(), &classification(&x, 2, &[0; 20], &[]));
    assert!(text.contains("row 1 has class 0 of 0"), "{text}");
    // Two classes, but one of them only in rows that do not count.
    let mut weight = vec![1.0; 20];
    let mut y = vec![0; 20];
    (y[3], weight[3]) = (1, 0.0);
    let text = refusal(&quick(), &Data { weight: Some(&weight), ..classification(&x, 2, &y, &classes) });
    assert!(text.contains("every row is of class 'cat'"), "{text}");
}

#[test]
fn arrays_that_do_not_fit_together_are_refused() {
    let x = normal_rows(20, 2, 87);
    let text = sentence(Matrix::new(&x, 20, 3));
    assert!(text.contains("40 numbers cannot be read as 20 rows of 3 columns"), "{text}");
    assert!(Matrix::new(&x, usize::MAX, 2).is_err());
    let text = refusal(&quick(), &regression(&x, 2, &[1.0; 19]));
    assert!(text.contains("20 rows but the target has 19"), "{text}");
    let classes = names(&["a", "b"]);
    let text = refusal(&quick(), &classification(&x, 2, &[1; 21], &classes));
    assert!(text.contains("20 rows but the target has 21"), "{text}");
    let y = target(&x, 2, |r| r[0] as f64);
    let one = names(&["a"]);
    let text = refusal(&quick(), &Data { names: Some(&one), ..regression(&x, 2, &y) });
    assert!(text.contains("2 columns but there are 1 names"), "{text}");
    let model = fit(&quick(), &regression(&x, 2, &y));
    let text = sentence(model.predict(matrix(&x, 4)));
    assert!(text.contains("fitted on 2 columns but the data have 4"), "{text}");
}

#[test]
fn a_target_whose_outputs_do_not_divide_it_is_refused() {
    let x = normal_rows(20, 2, 88);
    for outputs in [0, 2, 3, 40] {
        let data = Data::new(matrix(&x, 2), Target::Values { values: &[1.0; 20], outputs });
        assert!(matches!(Fit::new(&quick()).run(&data), Err(Error::Shape(_))), "{outputs} outputs");
    }
    let data = Data::new(matrix(&x, 2), Target::Values { values: &[1.0; 41], outputs: 2 });
    let text = refusal(&quick(), &data);
    assert!(text.contains("41"), "{text}");
}

#[test]
fn as_many_epochs_as_there_are_numbers_can_be_asked_for() {
    let x = normal_rows(40, 2, 89);
    let y = target(&x, 2, |r| r[0] as f64);
    let params = quick().epochs(usize::MAX);
    let mut three = |p: &rffnet::Progress| {
        if p.epoch == 3 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
    };
    let model = Fit::new(&params).observer(&mut three).run(&regression(&x, 2, &y)).unwrap();
    assert_eq!(model.summary().epochs, 3);
}

#[test]
fn a_loss_with_a_number_out_of_range_is_refused() {
    let x = normal_rows(40, 2, 90);
    let y = target(&x, 2, |r| r[0] as f64);
    for loss in [
        LossKind::Quantile { tau: 1.5 },
        LossKind::Quantile { tau: f64::NAN },
        LossKind::Huber { delta: -1.0 },
        LossKind::Huber { delta: f64::NAN },
    ] {
        let text = refusal(&quick().loss(loss), &regression(&x, 2, &y));
        assert!(text.contains("loss"), "{text}");
    }
}
