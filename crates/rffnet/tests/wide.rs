//! Many columns for the rows: the few that matter are found, and nothing is made of noise.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{classification, codes, fit, matrix, names, normal_rows, regression, target};
use rffnet::{Model, Params, Partitions, Recipe, metrics};

const ROWS: usize = 150;
const COLUMNS: usize = 400;

/// Four linear terms and a square.
fn additive(row: &[f32]) -> f64 {
    (2.0 * row[7] - row[50] + row[200] + row[399]) as f64 + (row[123] as f64).powi(2)
}

/// Products alone: no column says anything by itself.
fn products(row: &[f32]) -> f64 {
    (row[3] * row[77]) as f64 + (row[150] * row[311]) as f64
}

fn r2(model: &Model, x: &[f32], y: &[f64]) -> f64 {
    metrics::r2(y, &model.predict(matrix(x, COLUMNS)).unwrap(), None).unwrap()
}

/// The columns of the largest importances, ascending.
fn first(model: &Model, count: usize) -> Vec<usize> {
    let importances = model.importances();
    let mut order: Vec<usize> = (0..importances.len()).collect();
    order.sort_by(|&a, &b| importances[b].total_cmp(&importances[a]));
    order.truncate(count);
    order.sort_unstable();
    order
}

/// Never for any table.
fn unscreened() -> Params {
    Params::new().recipe("wide=1e9".parse::<Recipe>().unwrap())
}

fn check(f: fn(&[f32]) -> f64, active: &[usize], least: f64) {
    let (x, fresh) = (normal_rows(ROWS, COLUMNS, 91), normal_rows(500, COLUMNS, 92));
    let noise = normal_rows(ROWS, 1, 93);
    let mut y = target(&x, COLUMNS, f);
    y.iter_mut().zip(&noise).for_each(|(y, e)| *y += 0.3 * *e as f64);
    let fresh_y = target(&fresh, COLUMNS, f);
    let of = |params: &Params| fit(params, &regression(&x, COLUMNS, &y));
    let (model, all) = (of(&Params::new()), of(&unscreened()));
    let (screened, unscreened) = (r2(&model, &fresh, &fresh_y), r2(&all, &fresh, &fresh_y));
    println!("{screened} {unscreened} {:?}", first(&model, active.len()));
    assert!(screened > least && screened > unscreened + 0.2, "{screened} {unscreened}");
    assert_eq!(first(&model, active.len()), active);
}

#[test]
fn linear_terms_and_squares_are_found() {
    check(additive, &[7, 50, 123, 200, 399], 0.8);
}

#[test]
fn products_of_columns_that_say_nothing_alone_are_found() {
    check(products, &[3, 77, 150, 311], 0.6);
}

#[test]
fn columns_of_classes_are_found() {
    let (x, fresh) = (normal_rows(ROWS, COLUMNS, 94), normal_rows(500, COLUMNS, 95));
    let linear = |row: &[f32]| u32::from(row[5] + row[60] > row[300]);
    let xor = |row: &[f32]| u32::from(row[8] * row[9] > 0.0);
    let three = |row: &[f32]| u32::from(row[5] > -0.4) + u32::from(row[5] + 0.5 * row[60] > 0.6);
    let classes = names(&["a", "b", "c"]);
    let check = |label: &dyn Fn(&[f32]) -> u32, count: usize, active: &[usize], least: f64| {
        let (y, truth) = (codes(&x, COLUMNS, label), codes(&fresh, COLUMNS, label));
        let model = fit(&Params::new(), &classification(&x, COLUMNS, &y, &classes[..count]));
        let found = model.labels(matrix(&fresh, COLUMNS)).unwrap();
        let right = found.iter().zip(&truth).filter(|(a, b)| a == b).count() as f64 / truth.len() as f64;
        println!("{right} {:?}", first(&model, active.len()));
        assert!(right > least, "{right}");
        assert_eq!(first(&model, active.len()), active);
    };
    check(&linear, 2, &[5, 60, 300], 0.85);
    check(&xor, 2, &[8, 9], 0.85);
    check(&three, 3, &[5, 60], 0.8);
}

#[test]
fn nothing_is_made_of_noise() {
    let x = normal_rows(ROWS, COLUMNS, 96);
    let y: Vec<f64> = normal_rows(ROWS, 1, 97).into_iter().map(f64::from).collect();
    let (fresh, fresh_y) = (normal_rows(500, COLUMNS, 98), normal_rows(500, 1, 99));
    let fresh_y: Vec<f64> = fresh_y.into_iter().map(f64::from).collect();
    let model = fit(&Params::new(), &regression(&x, COLUMNS, &y));
    let score = r2(&model, &fresh, &fresh_y);
    assert!(score > -0.1, "{score}");
}

/// Also where some members keep all columns, with repeated and constant columns, and with a penalty that was asked for.
#[test]
fn files_and_threads_change_nothing() {
    let mut x = normal_rows(60, 90, 100);
    x.chunks_exact_mut(90).for_each(|row| {
        row[40] = row[3];
        row[41] = 7.0;
    });
    let y = target(&x, 90, |row| (row[3] * row[5]) as f64 + row[80] as f64);
    for params in [Params::new(), Params::new().alpha(1e-3), Params::new().linear(false)] {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| fit(&params, &regression(&x, 90, &y)))
        };
        let (one, three) = (on(1), on(3));
        assert!(one.to_bytes().unwrap() == three.to_bytes().unwrap());
        let again = Model::from_bytes(&one.to_bytes().unwrap()).unwrap();
        let rows = matrix(&x, 90);
        assert_eq!(again.predict(rows).unwrap(), one.predict(rows).unwrap());
    }
}

#[test]
fn partitions_that_are_asked_for_are_there() {
    let x = normal_rows(60, 100, 101);
    let y = target(&x, 100, |row| (2.0 * row[3] - row[7]) as f64);
    let model = fit(&Params::new().partitions(Partitions::Count(5)), &regression(&x, 100, &y));
    assert_eq!(model.partitions(), 5);
}
