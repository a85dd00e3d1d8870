use rffnet::{Data, Matrix, Target};

use super::*;
use crate::testing::{normal_rows, threads};
use crate::{Options, fit};

fn values(y: &[f64]) -> Target<'_> {
    Target::Values { values: y, outputs: 1 }
}

fn matrix(rows: &Rows) -> Matrix<'_> {
    Matrix::new(&rows.values, rows.len(), rows.columns).expect("shape")
}

fn training<'a>(rows: &Rows, y: &'a [f64], outputs: usize) -> Training<'a> {
    let weight = (0..rows.len()).map(|i| 0.5 + (i % 3) as f64 * 0.5).collect();
    Training { rows: rows.clone(), target: Target::Values { values: y, outputs }, weight, seed: 1 }
}

#[test]
fn the_gradient_is_that_of_finite_differences() {
    for outputs in [1, 2] {
        let rows = normal_rows(300, 4, 1);
        let y: Vec<f64> = (0..300 * outputs).map(|i| (i as f64 * 0.3).sin()).collect();
        let training = training(&rows, &y, outputs);
        let objective = SquaredError::new(&Srff::default(), &training, &y, outputs);
        let map = Map::new(4, 30, 2);
        let (beta, _) = objective.head(&map, 0.01).expect("solves");
        let gamma = [0.9, 1.3, 0.2, 0.6];
        let (loss, gradient) = objective.gradient(&map, &gamma, &beta);
        assert!((loss - objective.loss(&map, &gamma, &beta)).abs() < 1e-14);
        for j in 0..4 {
            let at = |step: f64| {
                let mut gamma = gamma;
                gamma[j] += step;
                objective.loss(&map, &gamma, &beta)
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((slope - gradient[j]).abs() < 1e-8, "{j}: {slope} {}", gradient[j]);
        }
    }
}

#[test]
fn the_head_is_where_the_penalised_loss_is_flat() {
    let rows = normal_rows(200, 3, 3);
    let y: Vec<f64> = (0..200).map(|i| f64::from(rows.row(i)[0]).sin()).collect();
    let training = training(&rows, &y, 1);
    let objective = SquaredError::new(&Srff::paper(), &training, &y, 1);
    let map = Map::new(3, 20, 4);
    let (beta, loss) = objective.head(&map, 0.1).expect("solves");
    let penalised = |beta: &[f64]| {
        objective.loss(&map, &map.gamma, beta) + 0.05 * beta.iter().map(|b| b * b).sum::<f64>()
    };
    assert!((loss - penalised(&beta)).abs() < 1e-14);
    for k in 0..20 {
        let at = |step: f64| {
            let mut beta = beta.clone();
            beta[k] += step;
            penalised(&beta)
        };
        assert!(((at(1e-4) - at(-1e-4)) / 2e-4).abs() < 1e-9);
    }
}

/// Where the loss is least on the simplex, no column gains by taking from another.
#[test]
fn relevances_are_optimal_on_the_simplex_for_their_head() {
    let rows = normal_rows(500, 5, 5);
    let y: Vec<f64> = (0..500).map(|i| (2.0 * f64::from(rows.row(i)[1])).sin()).collect();
    let training = training(&rows, &y, 1);
    let objective = SquaredError::new(&Srff::paper(), &training, &y, 1);
    let map = Map::new(5, 60, 9);
    let (beta, _) = objective.head(&map, 1e-3).expect("solves");
    let method = Srff { steps: 5000, tolerance: 1e-13, ..Srff::default() };
    let gamma = method.improve(&objective, &map, &beta).expect("stays finite");
    assert!((gamma.iter().sum::<f64>() - 5.0).abs() < 1e-9 && gamma.iter().all(|&g| g >= 0.0), "{gamma:?}");
    assert!(objective.loss(&map, &gamma, &beta) < objective.loss(&map, &map.gamma, &beta));
    let (_, gradient) = objective.gradient(&map, &gamma, &beta);
    let least = gradient.iter().copied().fold(f64::INFINITY, f64::min);
    for (g, slope) in gamma.iter().zip(&gradient) {
        assert!(*g == 0.0 || slope - least < 1e-5, "{gamma:?} {gradient:?}");
    }
}

#[test]
fn a_fit_beats_its_start() {
    let rows = normal_rows(600, 5, 5);
    let y: Vec<f64> = (0..600).map(|i| 30.0 + (2.0 * f64::from(rows.row(i)[1])).sin()).collect();
    let data = Data::new(matrix(&rows), values(&y));
    let error = |rounds| {
        let method = Srff { features: 100, lambda: 1e-2, rounds, ..Srff::default() };
        let model = fit(&method, &data, &Options::default()).expect("fits");
        let predictions = model.predict(data.x).expect("predicts");
        (predictions.iter().zip(&y).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / 600.0, model.relevances())
    };
    let ((start, _), (end, relevances)) = (error(1), error(60));
    assert!(end < 0.5 * start, "{start} {end}");
    let relevances = relevances.expect("known");
    assert!(relevances[1] > 0.5 && relevances.iter().filter(|&&r| r < 0.05).count() >= 2, "{relevances:?}");
}

#[test]
fn rows_of_weight_zero_do_not_matter() {
    let rows = normal_rows(60, 2, 6);
    let y: Vec<f64> = (0..60).map(|i| f64::from(rows.row(i)[0])).collect();
    let mut weight = vec![1.0; 60];
    weight[9] = 0.0;
    let mut odd = y.clone();
    odd[9] = 1e9;
    let method = Srff { features: 20, rounds: 3, ..Srff::default() };
    let predict = |y| {
        let data = Data { weight: Some(&weight), ..Data::new(matrix(&rows), values(y)) };
        fit(&method, &data, &Options::default()).expect("fits").predict(data.x).expect("predicts")
    };
    assert_eq!(predict(&y), predict(&odd));
}

#[test]
fn odd_data_have_a_defined_outcome() {
    let method = Srff { features: 30, rounds: 20, ..Srff::default() };
    for (x, n) in [(vec![1.0, 2.0], 1), (vec![5.0; 12], 6), ((0..150).map(|i| (i as f32).sin()).collect(), 3)]
    {
        let y: Vec<f64> = (0..n).map(|i| i as f64 + 3.0).collect();
        let data = Data::new(Matrix::new(&x, n, x.len() / n).expect("shape"), values(&y));
        let model = fit(&method, &data, &Options::default()).expect("fits");
        let predictions = model.predict(data.x).expect("predicts");
        assert!(predictions.iter().all(|p| p.is_finite()), "{predictions:?}");
        if n < 3 || n == 6 {
            assert!(model.relevances().expect("known").iter().all(|&r| r == 0.0));
        }
    }
}

#[test]
fn refuses_with_a_sentence() {
    let rows = normal_rows(1000, 2, 7);
    let y = vec![1.0; 1000];
    let data = Data::new(matrix(&rows), values(&y));
    let small = Options { memory_limit: 2_399_999, ..Options::default() };
    let refusal = fit(&Srff::default(), &data, &small).err().expect("refused").to_string();
    assert!(refusal.contains("the 1,000 x 300 features"), "{refusal}");
    let classes = ["a".to_string(), "b".to_string()];
    let codes: Vec<u32> = (0..1000).map(|i| i % 2).collect();
    let labels = Data::new(matrix(&rows), Target::Labels { codes: &codes, classes: &classes });
    for (method, data) in [
        (Srff::default(), labels),
        (Srff { features: 0, ..Srff::default() }, data),
        (Srff { lambda: 0.0, ..Srff::default() }, data),
    ] {
        assert!(matches!(fit(&method, &data, &Options::default()), Err(Error::Unsupported(_))), "{method:?}");
    }
}

#[test]
fn equal_bits_for_any_number_of_threads() {
    let rows = normal_rows(400, 3, 8);
    let y: Vec<f64> = (0..400).map(|i| f64::from(rows.row(i)[2]).cos()).collect();
    let data = Data::new(matrix(&rows), values(&y));
    let method = Srff { features: 50, rounds: 4, ..Srff::paper() };
    let work = || {
        let model = fit(&method, &data, &Options::default()).expect("fits");
        (model.predict(data.x).expect("predicts"), model.relevances())
    };
    assert_eq!(threads(1, work), threads(2, work));
}
