use rffnet::numerics::cholesky::Cholesky;
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

/// A smooth function of the first two columns.
fn smooth(rows: &Rows) -> Vec<f64> {
    (0..rows.len()).map(|i| f64::from(rows.row(i)[0]).sin() + f64::from(rows.row(i)[1]).cos()).collect()
}

#[test]
fn run_long_it_interpolates() {
    let rows = normal_rows(80, 2, 1);
    let y = smooth(&rows);
    let training = Training {
        rows: rows.clone(),
        target: Target::Values { values: &y, outputs: 1 },
        weight: vec![1.0; 80],
        seed: 3,
    };
    // Batches smaller than the set, directions from a part of it.
    let method = EigenPro {
        gamma: Some(10.0),
        epochs: 3000,
        subsample: Some(40),
        batch: Some(16),
        centre: false,
        ..EigenPro::default()
    };
    let ours = method.train(&training).expect("trains").decision(&normal_rows(20, 2, 2));
    let mut exact = y.clone();
    Cholesky::tiled(gaussian(&rows, &rows, 10.0), 80).expect("positive definite").solve(&mut exact);
    let exact = crate::kernel::gaussian_times(&normal_rows(20, 2, 2), &rows, 10.0, &exact);
    for (a, b) in ours.iter().zip(&exact) {
        assert!((a - b).abs() < 1e-3, "{a} {b}");
    }
}

#[test]
fn damping_is_what_makes_it_quick() {
    let rows = normal_rows(700, 2, 4);
    let y: Vec<f64> = (0..700).map(|i| (3.0 * f64::from(rows.row(i)[0])).sin()).collect();
    let data = Data::new(matrix(&rows), values(&y));
    let error = |components| {
        let method = EigenPro { components, gamma: Some(0.5), ..EigenPro::default() };
        let model = fit(&method, &data, &Options::default()).expect("fits");
        let predictions = model.predict(data.x).expect("predicts");
        predictions.iter().zip(&y).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / 700.0
    };
    let (many, one) = (error(500), error(1));
    assert!(many < 0.5 * one, "{many} {one}");
}

#[test]
fn directions_are_brought_down_to_the_next() {
    let rows = normal_rows(300, 3, 5);
    let method = EigenPro::paper();
    let plan = Plan::new(&method, &rows, 0.3, &method.sizes(300, 3, 1), 0).expect("finite");
    let q = plan.damping.len();
    assert!(q > 2);
    // (I - V D V' K) K has no eigenvalue above that of the first direction left alone, up to the power 0.95.
    let mut v = vec![1.0; 300];
    let kernel = gaussian(&rows, &rows, 0.3);
    let kernel = MatRef::from_row_major_slice(&kernel, 300, 300);
    let directions = MatRef::from_column_major_slice(&plan.directions, 300, q);
    let mut norm = 0.0;
    for _ in 0..200 {
        let image = product(kernel, MatRef::from_column_major_slice(&v, 300, 1));
        let again = product(kernel, MatRef::from_column_major_slice(&image, 300, 1));
        let mut shares = product(directions.transpose(), MatRef::from_column_major_slice(&again, 300, 1));
        shares.iter_mut().zip(&plan.damping).for_each(|(s, d)| *s *= d);
        let back = product(directions, MatRef::from_column_major_slice(&shares, q, 1));
        let next: Vec<f64> = image.iter().zip(&back).map(|(a, b)| a - b).collect();
        norm = next.iter().map(|v| v * v).sum::<f64>().sqrt();
        v = next.iter().map(|v| v / norm).collect();
    }
    let values = crate::linalg::eigensystem(&gaussian(&rows, &rows, 0.3), 300).expect("finite").0;
    let bound = values[299].powf(1.0 - POWER) * values[299 - q].powf(POWER);
    assert!(norm <= bound * 1.01, "{norm} {bound}");
    assert!(norm < 0.2 * values[299], "{norm} {}", values[299]);
}

#[test]
fn classes_are_told_apart() {
    let rows = normal_rows(600, 2, 6);
    let code = |i: usize| {
        let r = rows.row(i)[0].hypot(rows.row(i)[1]);
        u32::from(r > 0.8) + u32::from(r > 1.5)
    };
    let names = ["in", "between", "out"].map(String::from);
    for classes in [2, 3] {
        let codes: Vec<u32> = (0..600).map(|i| code(i).min(classes as u32 - 1)).collect();
        let data = Data::new(matrix(&rows), Target::Labels { codes: &codes, classes: &names[..classes] });
        let model = fit(&EigenPro::default(), &data, &Options::default()).expect("fits");
        assert!(model.probabilities(data.x).expect("computes").is_none());
        let decision = model.decision(data.x).expect("predicts");
        let guess = |f: &[f64]| match f {
            [f] => u32::from(*f > 0.0),
            f => (0..f.len()).max_by(|&a, &b| f[a].total_cmp(&f[b])).expect("a class") as u32,
        };
        let right = decision.chunks(model.outputs()).zip(&codes).filter(|(f, c)| guess(f) == **c).count();
        assert!(right > 540, "{classes}: {right}");
    }
}

#[test]
fn odd_data_have_a_defined_outcome() {
    for (x, n) in [(vec![1.0, 2.0], 1), (vec![5.0; 12], 6), ((0..150).map(|i| (i as f32).sin()).collect(), 3)]
    {
        let y: Vec<f64> = (0..n).map(|i| i as f64 + 3.0).collect();
        let data = Data::new(Matrix::new(&x, n, x.len() / n).expect("shape"), values(&y));
        for method in [EigenPro::paper(), EigenPro::default()] {
            let model = fit(&method, &data, &Options::default()).expect("fits");
            let predictions = model.predict(data.x).expect("predicts");
            assert!(predictions.iter().all(|p| p.is_finite()), "{predictions:?}");
            if n == 1 {
                assert!((predictions[0] - 3.0).abs() < 1e-9, "{predictions:?}");
            }
        }
    }
}

#[test]
fn rows_count_or_do_not() {
    let rows = normal_rows(30, 2, 7);
    let y = smooth(&rows);
    let mut weight = vec![2.0; 30];
    weight[4] = 0.0;
    let data = Data { weight: Some(&weight), ..Data::new(matrix(&rows), values(&y)) };
    let mut odd = y.clone();
    odd[4] = 1e9;
    let other = Data { y: values(&odd), ..data };
    let predict = |data| {
        fit(&EigenPro::default(), data, &Options::default()).expect("fits").predict(data.x).expect("predicts")
    };
    assert_eq!(predict(&data), predict(&other));
    weight[5] = 3.0;
    let data = Data { weight: Some(&weight), ..Data::new(matrix(&rows), values(&y)) };
    let refusal = fit(&EigenPro::default(), &data, &Options::default()).err().expect("refused");
    assert!(refusal.to_string().contains("leave them out"), "{refusal}");
}

#[test]
fn too_much_memory_is_refused_first() {
    let rows = normal_rows(5000, 1, 8);
    let y = smooth(&normal_rows(5000, 2, 8));
    let data = Data::new(matrix(&rows), values(&y));
    let small = Options { memory_limit: 127_999_999, ..Options::default() };
    let refusal = fit(&EigenPro::default(), &data, &small).err().expect("refused").to_string();
    assert!(refusal.contains("the 4,000 x 4,000 kernel of the subsample"), "{refusal}");
    for wrong in [
        EigenPro { epochs: 0, ..EigenPro::default() },
        EigenPro { components: 0, ..EigenPro::default() },
        EigenPro { batch: Some(0), ..EigenPro::default() },
        EigenPro { subsample: Some(0), ..EigenPro::default() },
        EigenPro { gamma: Some(-1.0), ..EigenPro::default() },
    ] {
        assert!(matches!(fit(&wrong, &data, &Options::default()), Err(Error::Unsupported(_))), "{wrong:?}");
    }
}

#[test]
fn equal_bits_for_any_number_of_threads() {
    let rows = normal_rows(700, 3, 9);
    let y = smooth(&rows);
    let data = Data::new(matrix(&rows), values(&y));
    let work = || {
        fit(&EigenPro::paper(), &data, &Options::default()).expect("fits").predict(data.x).expect("predicts")
    };
    assert_eq!(threads(1, work), threads(2, work));
}
