//! Columns of any shape: skewed, with long tails, far out, nearly copies of one another.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{bits, fit, matrix, normal_rows, regression, target};
use rffnet::{Effort, Model, Params, metrics};

fn quick() -> Params {
    Params::new().effort(Effort::Quick)
}

fn r2(model: &Model, x: &[f32], columns: usize, y: &[f64]) -> f64 {
    metrics::r2(y, &model.predict(matrix(x, columns)).unwrap(), None).unwrap()
}

/// The same predictions from a file of the model.
fn comes_back(model: &Model, x: &[f32], columns: usize) {
    let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    let predict = |model: &Model| bits(&model.predict(matrix(x, columns)).unwrap());
    assert_eq!(predict(&again), predict(model));
}

/// Two normal columns, the first through `shape`; the target is a function of it before.
fn shaped(shape: fn(f32) -> f32) -> (Vec<f32>, Vec<f64>) {
    let draws = normal_rows(1200, 2, 5);
    let x = draws.chunks_exact(2).flat_map(|r| [shape(r[0]), r[1]]).collect();
    (x, target(&draws, 2, |r| (3.0 * r[0] as f64).sin() + 0.3 * r[1] as f64))
}

#[test]
fn skewed_columns_get_a_yeo_johnson_transform_where_that_helps() {
    // A column that reaches over four decades, to one side.
    let (x, y) = shaped(|z| (2.0 * z).exp());
    let params = Params::new();
    let model = fit(&params, &regression(&x, 2, &y));
    assert!(model.summary().chosen.contains("Yeo-Johnson on 1 column,"), "{}", model.summary().chosen);
    comes_back(&model, &x, 2);
    assert!(r2(&model, &x, 2, &y) > 0.94, "{}", r2(&model, &x, 2, &y));
    // Outside the data the model stays where it was at their edge.
    let edge = x.iter().step_by(2).fold(0.0f32, |m, &v| m.max(v));
    let far = model.predict(matrix(&[edge, 0.0, 1e30, 0.0, f32::MAX, 0.0], 2)).unwrap();
    assert_eq!(bits(&[far[0], far[0]]), bits(&far[1..]));
}

#[test]
fn long_tails_are_soft_clipped_where_that_helps() {
    // To both sides: no skew.
    let (x, y) = shaped(|z| (4.0 * z).sinh());
    let model = fit(&quick(), &regression(&x, 2, &y));
    assert!(model.summary().chosen.contains("soft clip on 1 column,"), "{}", model.summary().chosen);
    comes_back(&model, &x, 2);
    let far = model.predict(matrix(&[1e30, 0.0, 1e37, 0.0], 2)).unwrap();
    assert!((far[0] - far[1]).abs() < 1e-3 && far[0].is_finite(), "{far:?}");
}

#[test]
fn symmetric_columns_stay_as_they_are_and_are_not_followed_far() {
    let (x, y) = shaped(|z| z);
    let model = fit(&quick(), &regression(&x, 2, &y));
    let chosen = &model.summary().chosen;
    assert!(!chosen.contains("Yeo-Johnson") && !chosen.contains("soft clip"), "{chosen}");
    comes_back(&model, &x, 2);
    // A broken sensor: the same answer however far out.
    let far = model.predict(matrix(&[20.0, 0.0, 1e9, 0.0, f32::MAX, 0.0], 2)).unwrap();
    assert_eq!(bits(&[far[0], far[0]]), bits(&far[1..]));
}

#[test]
fn nearly_equal_columns_get_the_linear_terms_they_need() {
    // Thirty channels of one smooth curve; the target is a small difference of two of them.
    let (n, d) = (300, 30);
    let channels = |seed: u64| -> Vec<f32> {
        let draws = normal_rows(n, 4, seed);
        let curve = |r: &[f32], t: f32| r[0] + 0.3 * r[1] * t + 0.1 * r[2] * t * t + 0.03 * r[3] * t * t * t;
        draws
            .chunks_exact(4)
            .flat_map(|r| (0..d).map(|j| curve(r, j as f32 / d as f32)).collect::<Vec<_>>())
            .collect()
    };
    let difference = |r: &[f32]| r[25] as f64 - 2.0 * r[15] as f64 + r[5] as f64;
    let (x, fresh) = (channels(31), channels(77));
    let (y, expected) = (target(&x, d, difference), target(&fresh, d, difference));
    let model = fit(&quick(), &regression(&x, d, &y));
    let score = r2(&model, &fresh, d, &expected);
    assert!(score > 0.99, "{score}");
}
