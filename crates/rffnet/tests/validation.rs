//! Which rows are held out for validation, seen from outside: groups, the order of time; the target's name.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{Xorshift, fit, quick, regression};
use rffnet::{Data, Effort, Fit, Model, Params, Validation};

/// Ten rows for each of 40 groups: a group has a number of its own and a target of its own, which has nothing to do with it. Only
/// rows of the same group can tell the target.
fn grouped() -> (Vec<f32>, Vec<f64>, Vec<u32>) {
    let mut rng = Xorshift::new(3);
    let of_group: Vec<(f32, f64)> = (0..40).map(|_| (rng.normal() as f32, rng.normal())).collect();
    let groups: Vec<u32> = (0..400).map(|i| i % 40).collect();
    let x = groups.iter().map(|&g| of_group[g as usize].0 + 1e-4 * rng.normal() as f32).collect();
    let y = groups.iter().map(|&g| of_group[g as usize].1).collect();
    (x, y, groups)
}

#[test]
fn groups_are_not_validated_on_themselves() {
    let (x, y, groups) = grouped();
    let share = |params: &Params, validation| {
        let model = fit(params, &Data { validation, ..regression(&x, 1, &y) });
        let summary = model.summary();
        assert!(summary.validation_rows > 0);
        summary.validation_loss.unwrap() / summary.baseline_loss.unwrap()
    };
    let varpro = Params::new().effort(Effort::Quick);
    assert!(share(&varpro, Validation::Random) < 0.5);
    assert!(share(&varpro, Validation::Groups(&groups)) > 0.7);
    assert!(share(&quick(), Validation::Groups(&groups)) > 0.7);
}

#[test]
fn the_last_rows_tell_what_comes_next() {
    // The slope changes with the last quarter.
    let x: Vec<f32> = (0..400).map(|i| ((i * 37) % 101) as f32 / 50.0 - 1.0).collect();
    let y: Vec<f64> = (0..400).map(|i| x[i] as f64 * if i < 300 { 1.0 } else { -1.0 }).collect();
    let params = Params::new().effort(Effort::Quick).validation_fraction(0.25);
    let model = fit(&params, &Data { validation: Validation::Last, ..regression(&x, 1, &y) });
    let summary = model.summary();
    assert_eq!(summary.validation_rows, 100);
    assert!(
        summary.warnings.iter().any(|w| w.contains("no better than a constant")),
        "{:?}",
        summary.warnings
    );
}

#[test]
fn groups_must_be_of_every_row_and_more_than_one() {
    let (x, y, groups) = grouped();
    let refused = |groups| {
        let data = Data { validation: Validation::Groups(groups), ..regression(&x, 1, &y) };
        Fit::new(&quick()).run(&data).err().unwrap().to_string()
    };
    assert_eq!(refused(&groups[1..]), "the data have 400 rows but there are groups of 399");
    assert!(refused(&[0; 400]).starts_with("all rows to learn from are of one group"));
}

#[test]
fn a_model_knows_the_name_of_its_target() {
    let (x, y, _) = grouped();
    let model = fit(&quick(), &Data { target_name: Some("price"), ..regression(&x, 1, &y) });
    let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(again.target_name(), Some("price"));
    assert_eq!(fit(&quick(), &regression(&x, 1, &y)).target_name(), None);
}
