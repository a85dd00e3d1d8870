use super::*;
use crate::numerics::random::{seeded, uniform};
use crate::{Fit, Init, Model, Params, SolverKind, Target, UNKNOWN_LEVEL};

fn category(levels: usize) -> ColumnType {
    ColumnType::Category { levels: (0..levels).map(|l| format!("level {l}")).collect() }
}

fn regression<'a>(x: &'a [f32], types: &'a [ColumnType], y: &'a [f64]) -> Data<'a> {
    let x = Matrix::new(x, y.len(), types.len()).expect("shape");
    Data { types: Some(types), ..Data::new(x, Target::Values { values: y, outputs: 1 }) }
}

fn encoder(x: &[f32], types: &[ColumnType], y: &[f64]) -> Encoder {
    Encoded::new(&regression(x, types, y), Missing::Auto, 0).expect("can be encoded").encoder
}

/// One row, encoded.
fn row(encoder: &Encoder, cells: &[f32]) -> Vec<f32> {
    encoder.encode(Matrix::new(cells, 1, cells.len()).expect("shape"))
}

#[test]
fn numbers_without_gaps_stay_as_they_are_and_are_not_copied() {
    let (x, y) = ([1.0, 2.0, 3.0, 4.0], [0.0, 1.0]);
    let types = [ColumnType::Number, ColumnType::Boolean];
    let encoded = Encoded::new(&regression(&x, &types, &y), Missing::Auto, 0).expect("encoded");
    assert!(encoded.encoder.is_identity() && encoded.x.is_none());
    assert_eq!((encoded.encoder.ties(), encoded.encoder.width()), (None, 2));
}

#[test]
fn levels_gaps_and_rare_levels_have_their_indicators() {
    // Levels 0 to 3; level 3 has one row, level 4 none; a tenth are gaps.
    let n = 200;
    let cell = |i: usize| if i == 7 { 3.0 } else { (i % 3) as f32 };
    let x: Vec<f32> = (0..n).map(|i| if i % 10 == 9 { f32::NAN } else { cell(i) }).collect();
    let y: Vec<f64> = (0..n).map(|i| i as f64).collect();
    let encoder = encoder(&x, &[category(5)], &y);
    assert_eq!(row(&encoder, &[1.0]), [0.0, 1.0, 0.0, 0.0, 0.0]);
    let rare = [0.0, 0.0, 0.0, 1.0, 0.0];
    for cell in [3.0, 4.0, UNKNOWN_LEVEL, 1e9, f32::NEG_INFINITY] {
        assert_eq!(row(&encoder, &[cell]), rare, "{cell}");
    }
    assert_eq!(row(&encoder, &[f32::NAN]), [0.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!(encoder.ties().expect("tied"), [0; 5]);
    assert_eq!(encoder.indicators(), [true; 5]);
    assert_eq!(encoder.origin(), [0; 5]);
}

#[test]
fn a_category_of_two_levels_is_one_column() {
    let x: Vec<f32> = (0..50).map(|i| (i % 2) as f32).collect();
    let y: Vec<f64> = (0..50).map(f64::from).collect();
    let encoder = encoder(&x, &[category(2)], &y);
    assert_eq!(row(&encoder, &[1.0]), [1.0]);
    assert!(row(&encoder, &[UNKNOWN_LEVEL])[0].is_nan());
}

#[test]
fn dates_have_the_cycles_they_go_through() {
    let y: Vec<f64> = (0..100).map(f64::from).collect();
    let daily: Vec<f32> = (0..100).map(|i| i as f32).collect();
    assert_eq!(encoder(&daily, &[ColumnType::Date { day_first: false }], &y).width(), 3, "the week");
    let hourly: Vec<f32> = (0..100).map(|i| 8000.0 + 7.5 * i as f32).collect();
    let encoder = encoder(&hourly, &[ColumnType::Date { day_first: false }], &y);
    let noon = row(&encoder, &[8000.5]);
    assert_eq!((noon.len(), noon[0]), (7, 8000.5));
    assert!((noon[5].abs() < 1e-6) && (noon[6] + 1.0).abs() < 1e-6, "{noon:?}");
    assert!(row(&encoder, &[f32::NAN]).iter().all(|v| v.is_nan()));
}

/// Every row sees the mean of its level over the other folds; new rows see that over all rows.
#[test]
fn target_means_are_fitted_out_of_fold() {
    let (n, levels) = (2000, 40);
    let x: Vec<f32> = (0..n).map(|i| (i % levels) as f32).collect();
    let y: Vec<f64> =
        (0..n).map(|i| ((i % levels) as f64).sin() + 0.1 * ((i * 7919) % 101) as f64 / 101.0).collect();
    let (types, rows) = ([category(levels)], (0..n).collect::<Vec<_>>());
    let data = regression(&x, &types, &y);
    let encoded = Encoded::fit(&data, &rows, 0, Missing::Auto, 3);
    let matrix = encoded.matrix(data.x).expect("encoded").to_dense();
    let out_of_fold = OutOfFold::new(&data, &rows, 0, 3);
    for i in [0, 17, 1999] {
        let others: Vec<usize> = (0..n).filter(|&k| k % levels == i % levels).collect();
        let others: Vec<usize> =
            others.into_iter().filter(|&k| out_of_fold.fold_of(k) != out_of_fold.fold_of(i)).collect();
        let mean = others.iter().map(|&k| out_of_fold.target_of(k)).sum::<f64>() / others.len() as f64;
        assert!((matrix[2 * i] as f64 - mean).abs() < 0.02, "{i}: {} {mean}", matrix[2 * i]);
        assert_eq!(matrix[2 * i + 1], 50f32.ln_1p());
    }
    let new = row(&encoded.encoder, &[3.0]);
    assert_ne!(new[0], matrix[2 * 3]);
    assert_eq!(row(&encoded.encoder, &[UNKNOWN_LEVEL]), [0.0, 0.0]);
}

/// Out-of-fold means of a column of 1,000 levels of noise say nothing about the target.
#[test]
fn levels_of_noise_leak_nothing() {
    let (n, levels) = (4000, 1000);
    let rng = &mut seeded(5);
    let x: Vec<f32> = (0..n).map(|_| (uniform(rng) * levels as f64).floor() as f32).collect();
    let y: Vec<f64> = (0..n).map(|_| uniform(rng)).collect();
    let types = [category(levels)];
    let data = regression(&x, &types, &y);
    let encoded = Encoded::new(&data, Missing::Auto, 0).expect("encoded");
    let matrix = encoded.matrix(data.x).expect("encoded").to_dense();
    let correlation = |means: &dyn Fn(usize) -> f64| {
        let sums = (0..n).fold([0.0; 5], |[m, y2, s, p, q], i| {
            let (a, b) = (means(i), y[i] - 0.5);
            [m + a, y2 + b, s + a * b, p + a * a, q + b * b]
        });
        let k = n as f64;
        (sums[2] - sums[0] * sums[1] / k)
            / ((sums[3] - sums[0] * sums[0] / k) * (sums[4] - sums[1] * sums[1] / k)).sqrt()
    };
    let leak = correlation(&|i| matrix[2 * i] as f64);
    assert!(leak.is_nan() || leak.abs() < 0.05, "{leak}");
    let model = Fit::new(&Params::new().effort(crate::Effort::Quick)).run(&data).expect("fits");
    let predicted = model.predict(data.x).expect("predicts");
    let fit = correlation(&|i| predicted[i]);
    assert!(fit.is_nan() || fit.abs() < 0.15, "the model learned noise: {fit}");
}

/// The relevances of a category's indicators are one, whichever way they were found, and a model with encoders survives its file.
#[test]
fn indicators_share_their_relevance_in_every_solver() {
    let n = 300;
    let rng = &mut seeded(1);
    let x: Vec<f32> =
        (0..n).flat_map(|_| [(uniform(rng) * 4.0).floor() as f32, uniform(rng) as f32]).collect();
    let y: Vec<f64> =
        x.chunks(2).map(|r| [3.0, -1.0, 0.5, 2.0][r[0] as usize] * (4.0 * r[1] as f64).sin()).collect();
    let types = [category(4), ColumnType::Number];
    let data = regression(&x, &types, &y);
    for solver in [SolverKind::Varpro, SolverKind::Adam, SolverKind::PalmSgd] {
        for init in [Init::Constant, Init::Restarter, Init::Regressor] {
            let mut params = Params::new().solver(solver).random_features(60).epochs(3);
            if solver == SolverKind::Varpro {
                params = params.spectrum(crate::SpectrumMode::Fixed).committee(1).epochs(20);
            } else {
                params = params.init(init);
            }
            let model = Fit::new(&params).run(&data).expect("fits");
            let member = model.members().next().expect("one");
            let theta = &member.theta[..4];
            assert!(theta[0] != 0.0 && theta.iter().all(|t| t == &theta[0]), "{solver} {init}: {theta:?}");
            assert_eq!(model.relevances().len(), 2);
            assert_eq!(model.importances().len(), 2);
            let again = Model::from_bytes(&model.to_bytes().expect("written")).expect("read");
            assert_eq!(again.predict(data.x).expect("predicts"), model.predict(data.x).expect("predicts"));
            assert_eq!(again.encoder(), model.encoder());
        }
    }
}

#[test]
fn a_fit_uses_categories_gaps_and_dates_and_predicts_any_of_them() {
    let n = 600;
    let rng = &mut seeded(2);
    let mut x = Vec::new();
    let mut y = Vec::new();
    for i in 0..n {
        let (level, day, v) = ((uniform(rng) * 3.0).floor(), (i as f64 / 2.0).floor(), uniform(rng));
        let gap = uniform(rng) < 0.2;
        x.extend([level as f32, day as f32, if gap { f32::NAN } else { v as f32 }, uniform(rng) as f32]);
        y.push(
            [0.0, 5.0, -5.0][level as usize]
                + if gap { 3.0 } else { 2.0 * v }
                + (day * std::f64::consts::TAU / 7.0).sin(),
        );
    }
    let types = [category(3), ColumnType::Date { day_first: false }, ColumnType::Number, ColumnType::Number];
    let data = regression(&x, &types, &y);
    let model = Fit::new(&Params::new()).run(&data).expect("fits");
    let score = crate::scores::Scores::of(&model, &data).expect("scored").r2().expect("a regression");
    assert!(score > 0.98, "{score}");
    let importance = model.importances();
    assert!(importance[..3].iter().all(|&of| of > 3.0 * importance[3]), "{importance:?}");
    let gaps = [f32::NAN; 4];
    assert!(model.predict(Matrix::new(&gaps, 1, 4).expect("shape")).expect("predicts")[0].is_finite());
    let without = model.restricted(&[1, 2, 3]);
    let rows = [0.0, 3.0, 0.5, 0.5, 2.0, 3.0, 0.5, 0.5];
    let two = without.predict(Matrix::new(&rows, 2, 4).expect("shape")).expect("predicts");
    assert_eq!(two[0], two[1], "the category is gone, all of its indicators");
}

/// Rows that are held out by time see the means of the rows before them alone, and those do not see theirs.
#[test]
fn held_out_rows_do_not_leak_into_target_means() {
    let (n, levels, held) = (1200, 40, 300);
    let x: Vec<f32> = (0..n).map(|i| (i % levels) as f32).collect();
    let y = |flip: f64| -> Vec<f64> {
        let sign = |i: usize| if i < n - held { 1.0 } else { flip };
        (0..n).map(|i| sign(i) * ((i % levels) as f64).sin()).collect()
    };
    let (types, rows) = ([category(levels)], (0..n).collect::<Vec<_>>());
    let encoded = |y: &[f64]| {
        let data = regression(&x, &types, y);
        let encoded = Encoded::fit(&data, &rows, held, Missing::Auto, 3);
        encoded.matrix(data.x).expect("encoded").to_dense().into_owned()
    };
    let (same, flipped) = (y(1.0), y(-1.0));
    let (a, b) = (encoded(&same), encoded(&flipped));
    let sign_of = |values: &[f32], i: usize| values[2 * i].signum();
    for i in (0..n).filter(|&i| same[i].abs() > 0.2) {
        assert_eq!(sign_of(&a, i), sign_of(&b, i), "row {i}");
    }
}

/// A thousand levels with sixty rows each are all told apart, and so are the levels of few rows with copies among them.
#[test]
fn many_levels_and_copies_keep_their_levels() {
    let many: Vec<f32> = (0..60_000).map(|i| (i % 1000) as f32).collect();
    let y: Vec<f64> = (0..60_000).map(|i| ((i % 1000) as f64).sin()).collect();
    let encoder = encoder(&many, &[category(1000)], &y);
    assert_ne!(row(&encoder, &[1.0])[0], row(&encoder, &[500.0])[0]);
    let few: Vec<f32> = (0..90).map(|i| (i % 3) as f32).collect();
    let y: Vec<f64> = few.iter().map(|&level| [1.0, 5.0, -3.0][level as usize]).collect();
    let types = [category(3)];
    let data = regression(&few, &types, &y);
    let model = Fit::new(&Params::new().effort(crate::Effort::Quick)).run(&data).expect("fits");
    let score = crate::scores::Scores::of(&model, &data).expect("scored").r2().expect("a regression");
    assert!(score > 0.99, "{score}");
}
