//! Row weights: integers are repetitions, zeros are absences.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{classification, codes, fit, matrix, names, normal_rows, quick, refusal, regression, target};
use rffnet::{Data, Init, LossKind, Params, Schedule, SolverKind, Target};

/// Rows 0.. repeated as often as their weight says.
fn repeated<T: Copy>(values: &[T], width: usize, weight: &[f32]) -> Vec<T> {
    let rows = values.chunks_exact(width).zip(weight);
    rows.flat_map(|(row, &w)| std::iter::repeat_n(row, w as usize)).flatten().copied().collect()
}

/// Every row in every step, none held out: the order of the rows is all that can differ. Plain gradient steps, since
/// Adam blows a difference in rounding up to a whole step where the gradient is nearly zero.
fn full_batch() -> Params {
    Params::new()
        .solver(SolverKind::Sgd)
        .schedule(Schedule::Constant)
        .lr(0.01)
        .batch_size(10_000)
        .validation_fraction(0.0)
        .epochs(100)
        .random_features(30)
}

fn close(a: &[f64], b: &[f64], tolerance: f64) {
    let size = a.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() < tolerance * size, "{a} {b}");
    }
}

#[test]
fn integer_weights_are_repeated_rows_for_every_loss_and_start() {
    let x = normal_rows(80, 2, 61);
    let weight: Vec<f32> = (0..80).map(|i| (i % 4) as f32).collect();
    let y = target(&x, 2, |r| 3.0 + (r[0] as f64).sin());
    let (many_x, many_y) = (repeated(&x, 2, &weight), repeated(&y, 1, &weight));
    for init in [Init::Constant, Init::Regressor] {
        for loss in [LossKind::Squared, LossKind::Huber { delta: 0.5 }, LossKind::Poisson] {
            let params = full_batch().loss(loss).init(init);
            let weighted = fit(&params, &Data { weight: Some(&weight), ..regression(&x, 2, &y) });
            let repeated = fit(&params, &regression(&many_x, 2, &many_y));
            close(&weighted.predict(matrix(&x, 2)).unwrap(), &repeated.predict(matrix(&x, 2)).unwrap(), 1e-4);
            let (a, b) = (&weighted.summary().losses, &repeated.summary().losses);
            close(&[a[0].train, a[20].train], &[b[0].train, b[20].train], 1e-3);
            close(
                &[weighted.summary().baseline_loss.unwrap()],
                &[repeated.summary().baseline_loss.unwrap()],
                1e-5,
            );
        }
    }
    let classes = names(&["a", "b", "c"]);
    let y = codes(&x, 2, |r| u32::from(r[0] > 0.0) + u32::from(r[0] > 0.7));
    let many_y = repeated(&y, 1, &weight);
    for classes in [&classes[..2], &classes] {
        let few = |y: &[u32]| -> Vec<u32> { y.iter().map(|&c| c.min(classes.len() as u32 - 1)).collect() };
        let (y, many_y) = (few(&y), few(&many_y));
        let weighted =
            fit(&full_batch(), &Data { weight: Some(&weight), ..classification(&x, 2, &y, classes) });
        let repeated = fit(&full_batch(), &classification(&many_x, 2, &many_y, classes));
        close(
            &weighted.probabilities(matrix(&x, 2)).unwrap(),
            &repeated.probabilities(matrix(&x, 2)).unwrap(),
            1e-4,
        );
    }
}

#[test]
fn only_the_ratios_of_the_weights_count() {
    let x = normal_rows(80, 2, 62);
    let y = target(&x, 2, |r| r[0] as f64);
    let weight: Vec<f32> = (0..80).map(|i| 1.0 + (i % 4) as f32).collect();
    let bytes = |factor: f32| {
        let weight: Vec<f32> = weight.iter().map(|w| w * factor).collect();
        fit(&quick(), &Data { weight: Some(&weight), ..regression(&x, 2, &y) }).to_bytes().unwrap()
    };
    for exponent in [-100, -1, 100] {
        assert!(bytes(1.0) == bytes(2f32.powi(exponent)), "2^{exponent}");
    }
    let equal = vec![7.5; 80];
    let weighted = fit(&quick(), &Data { weight: Some(&equal), ..regression(&x, 2, &y) });
    let plain = fit(&quick(), &regression(&x, 2, &y));
    close(&weighted.predict(matrix(&x, 2)).unwrap(), &plain.predict(matrix(&x, 2)).unwrap(), 1e-5);
}

/// Whatever finite values stand in rows of weight zero, the model is the same to the last bit.
#[test]
fn rows_of_weight_zero_have_no_influence_whatever_they_hold() {
    let x = normal_rows(120, 3, 63);
    let weight: Vec<f32> = (0..120).map(|i| if i % 3 == 1 { 0.0 } else { 0.5 + (i % 5) as f32 }).collect();
    let mut junk = x.clone();
    for (i, row) in junk.chunks_exact_mut(3).enumerate().filter(|(i, _)| i % 3 == 1) {
        row.copy_from_slice(&[1e30, -3e38, i as f32 * 1e-40]);
    }
    let y = target(&x, 3, |r| (r[0] as f64).exp());
    let mut junk_y = y.clone();
    (0..120).filter(|i| i % 3 == 1).for_each(|i| junk_y[i] = -1e300);
    let labels = codes(&x, 3, |r| u32::from(r[0] > 0.0));
    let junk_labels: Vec<u32> =
        labels.iter().enumerate().map(|(i, &c)| if i % 3 == 1 { 1 - c } else { c }).collect();
    let classes = names(&["a", "b"]);
    let with = |data: Data<'_>, params: &Params| {
        let data = Data { weight: Some(&weight), ..data };
        fit(params, &data).to_bytes().unwrap()
    };
    for init in [Init::Constant, Init::Restarter, Init::Regressor] {
        for solver in [SolverKind::Adam, SolverKind::PalmSgd] {
            let params = quick().init(init).solver(solver);
            for loss in [LossKind::Squared, LossKind::Quantile { tau: 0.3 }, LossKind::Poisson] {
                let params = params.clone().loss(loss).lr(1e-3);
                let clean = with(regression(&x, 3, &y), &params);
                assert!(clean == with(regression(&junk, 3, &junk_y), &params), "{init} {solver} {loss}");
            }
            let balanced = params.class_weight(rffnet::ClassWeight::Balanced);
            let clean = with(classification(&x, 3, &labels, &classes), &balanced);
            assert!(
                clean == with(classification(&junk, 3, &junk_labels, &classes), &balanced),
                "{init} {solver}"
            );
        }
    }
}

/// The same with the rows left out altogether: their number must not count either, not even for the batch size that
/// `auto` chooses.
#[test]
fn rows_of_weight_zero_might_as_well_be_absent() {
    let x = normal_rows(900, 2, 64);
    let y = target(&x, 2, |r| (r[0] as f64).sin());
    let weight: Vec<f32> = (0..900).map(|i| (i % 3) as f32).collect();
    let kept = |values: &[f32], width: usize| -> Vec<f32> {
        let rows = values.chunks_exact(width).zip(&weight).filter(|(_, w)| **w > 0.0);
        rows.flat_map(|(row, _)| row).copied().collect()
    };
    let (few_x, few_w) = (kept(&x, 2), kept(&weight, 1));
    let few_y: Vec<f64> = y.iter().zip(&weight).filter(|(_, w)| **w > 0.0).map(|(y, _)| *y).collect();
    let with_zeros = fit(&quick(), &Data { weight: Some(&weight), ..regression(&x, 2, &y) });
    let without = fit(&quick(), &Data { weight: Some(&few_w), ..regression(&few_x, 2, &few_y) });
    assert_eq!(with_zeros.plan(), without.plan());
    assert_eq!(with_zeros.summary().rows, 600);
    assert!(with_zeros.to_bytes().unwrap() == without.to_bytes().unwrap());
}

#[test]
fn weights_that_make_no_sense_are_refused() {
    let x = normal_rows(10, 2, 65);
    let y = target(&x, 2, |r| r[0] as f64);
    let text = |weight: &[f32]| refusal(&quick(), &Data { weight: Some(weight), ..regression(&x, 2, &y) });
    assert!(text(&[0.0; 10]).contains("every row has weight zero"), "{}", text(&[0.0; 10]));
    for bad in [-1.0, f32::NAN, f32::INFINITY] {
        let mut weight = [1.0; 10];
        weight[4] = bad;
        assert!(text(&weight).starts_with("row 5, column 'weight' is "), "{}", text(&weight));
    }
    assert!(text(&[1.0; 9]).contains("10 rows but there are 9 weights"), "{}", text(&[1.0; 9]));
    let mut one = [0.0; 10];
    one[3] = 2.0;
    assert!(text(&one).contains("there is 1 row to learn from"), "{}", text(&one));
}

#[test]
fn weights_with_several_outputs() {
    let x = normal_rows(80, 2, 66);
    let y: Vec<f64> = x.chunks_exact(2).flat_map(|r| [r[0] as f64, 10.0 * r[1] as f64]).collect();
    let weight: Vec<f32> = (0..80).map(|i| (i % 4) as f32).collect();
    let (many_x, many_y) = (repeated(&x, 2, &weight), repeated(&y, 2, &weight));
    let values = |values| Target::Values { values, outputs: 2 };
    let weighted =
        fit(&full_batch(), &Data { weight: Some(&weight), ..Data::new(matrix(&x, 2), values(&y)) });
    let repeated = fit(&full_batch(), &Data::new(matrix(&many_x, 2), values(&many_y)));
    close(&weighted.predict(matrix(&x, 2)).unwrap(), &repeated.predict(matrix(&x, 2)).unwrap(), 1e-4);
}
