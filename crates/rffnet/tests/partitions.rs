//! Partitions: steps are found, chosen, counted and kept.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{Numbers, classification, codes, fit, matrix, names, normal_rows, regression, target};
use rffnet::{Error, Model, Params, Partitions, Target, Tensor, TensorValues, metrics};

/// Two members of the default algorithm.
fn quick() -> Params {
    Params::new().committee(2)
}

/// Steps of two columns, one of them where the other is positive; the third column is noise.
fn stairs(row: &[f32]) -> f64 {
    let step = |x: f32, at: f32| f64::from(u8::from(x >= at));
    2.0 * step(row[0], 0.3) + step(row[0], -0.8) + 1.5 * step(row[1], 0.1) * step(row[0], 0.0)
}

fn r2(model: &Model, x: &[f32], y: &[f64]) -> f64 {
    metrics::r2(y, &model.predict(matrix(x, 3)).expect("finite"), None).expect("it varies")
}

#[test]
fn steps_are_found_where_cosines_do_not_find_them() {
    let (x, fresh) = (normal_rows(600, 3, 31), normal_rows(600, 3, 32));
    let (y, fresh_y) = (target(&x, 3, stairs), target(&fresh, 3, stairs));
    let of = |partitions| fit(&quick().partitions(partitions), &regression(&x, 3, &y));
    let (with, without) = (of(Partitions::Auto), of(Partitions::None));
    assert!(with.partitions() > 0 && without.partitions() == 0);
    let (with_r2, without_r2) = (r2(&with, &fresh, &fresh_y), r2(&without, &fresh, &fresh_y));
    println!("{with_r2} {without_r2}");
    assert!(1.0 - with_r2 < 0.7 * (1.0 - without_r2), "{with_r2} {without_r2}");
    let [first, second, noise] = with.importances() else { panic!("three columns") };
    assert!(*noise < 0.2 * first.min(*second), "{:?}", with.importances());
}

#[test]
fn a_smooth_function_is_no_worse() {
    let (x, fresh) = (normal_rows(400, 3, 33), normal_rows(400, 3, 34));
    let smooth = |row: &[f32]| (row[0] as f64).sin() + 0.5 * (row[1] * row[2]) as f64;
    let (y, fresh_y) = (target(&x, 3, smooth), target(&fresh, 3, smooth));
    let of = |partitions| fit(&quick().partitions(partitions), &regression(&x, 3, &y));
    let (with, without) = (of(Partitions::Auto), of(Partitions::None));
    assert!(r2(&with, &fresh, &fresh_y) > r2(&without, &fresh, &fresh_y) - 0.002);
}

#[test]
fn as_many_as_were_asked_for() {
    let x = normal_rows(120, 3, 35);
    let y = target(&x, 3, stairs);
    for count in [1, 7, 300] {
        let plain = quick();
        for params in [
            plain.clone(),
            plain.clone().validation_fraction(0.0),
            plain.clone().alpha(1e-3),
            plain.alpha(0.0),
        ] {
            let model = fit(&params.partitions(Partitions::Count(count)), &regression(&x, 3, &y));
            assert_eq!(model.partitions(), count);
            let numbers = &Numbers::all(&model)[0];
            assert_eq!((numbers.cuts.len(), numbers.cells.len()), (6 * count, 64 * count));
            assert!(numbers.cells.iter().any(|value| *value != 0.0));
        }
    }
    assert_eq!("0".parse::<Partitions>().expect("none"), Partitions::None);
    for wrong in ["some", "-1", "1.5", "1000000", ""] {
        let error: Error = wrong.parse::<Partitions>().expect_err(wrong);
        assert!(error.to_string().starts_with("partitions is "), "{error}");
    }
    let adam = Params::new().solver(rffnet::SolverKind::Adam).partitions(Partitions::Count(3));
    assert!(rffnet::Fit::new(&adam).run(&regression(&x, 3, &y)).is_err());
}

/// A restricted model does not depend on the columns that are left out.
#[test]
fn columns_that_are_left_out_have_no_influence() {
    let x = normal_rows(300, 3, 36);
    let y = target(&x, 3, stairs);
    let model = fit(&quick().partitions(Partitions::Count(40)), &regression(&x, 3, &y)).restricted(&[0]);
    let mut moved = x.clone();
    moved.chunks_exact_mut(3).for_each(|row| (row[1], row[2]) = (5.0 - row[1], 1e6 * row[2]));
    let predicted = |x: &[f32]| model.predict(matrix(x, 3)).expect("finite");
    assert_eq!(predicted(&x), predicted(&moved));
    assert_eq!(model.importances()[1..], [0.0, 0.0]);
}

/// Two rows, equal rows, columns that do not vary, huge numbers, more partitions than rows, several classes and outputs.
#[test]
fn odd_tables_have_partitions_too() {
    let many = |params: Params| params.partitions(Partitions::Count(50)).epochs(3);
    let finite = |model: &Model, x: &[f32], d: usize| {
        assert!(model.decision(matrix(x, d)).expect("finite").iter().all(|f| f.is_finite()));
    };
    for (x, y) in [
        (vec![1.0f32, 2.0, 1.5, 2.0], vec![3.0, 4.0]),
        (vec![1.0, 2.0, 1.0, 2.0, 1.0, 2.0], vec![3.0, 4.0, 5.0]),
        (vec![1e30, 0.0, -1e30, 0.0, 1e30, 1.0, 3.0, 0.0], vec![1.0, 2.0, 3.0, 4.0]),
    ] {
        finite(&fit(&many(quick()), &regression(&x, 2, &y)), &x, 2);
    }
    let x = normal_rows(90, 3, 37);
    let classes = names(&["a", "b", "c", "d"]);
    let labels = codes(&x, 3, |r| u32::from(r[0] > 0.2) + 2 * u32::from(r[1] > 0.0));
    finite(&fit(&many(quick()), &classification(&x, 3, &labels, &classes)), &x, 3);
    let two: Vec<f64> = x.chunks_exact(3).flat_map(|r| [stairs(r), 1e5 * r[1] as f64]).collect();
    let two = rffnet::Data::new(matrix(&x, 3), Target::Values { values: &two, outputs: 2 });
    finite(&fit(&many(quick()), &two), &x, 3);
    let wide = normal_rows(20, 90, 38);
    finite(&fit(&many(quick()), &regression(&wide, 90, &target(&wide, 90, stairs))), &wide, 90);
}

/// The same bits on any number of threads, also with classes.
#[test]
fn threads_change_nothing() {
    let x = normal_rows(1500, 3, 39);
    let y = target(&x, 3, stairs);
    let labels = codes(&x, 3, |r| u32::from(stairs(r) > 1.5));
    let classes = names(&["low", "high"]);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| {
            let params = quick().partitions(Partitions::Count(30)).epochs(5);
            let numbers = fit(&params, &regression(&x, 3, &y)).to_bytes().expect("bytes");
            (numbers, fit(&params, &classification(&x, 3, &labels, &classes)).to_bytes().expect("bytes"))
        })
    };
    let one = on(1);
    assert!(one == on(2) && one == on(5));
}

/// Files whose partitions cannot be right are refused in a sentence.
#[test]
fn damaged_partitions_are_refused() {
    let x = normal_rows(80, 3, 40);
    let y = target(&x, 3, stairs);
    let model = fit(&quick().partitions(Partitions::Count(5)), &regression(&x, 3, &y));
    let damaged = |name: &str, change: &dyn Fn(&mut Tensor)| {
        let mut tensors = model.tensors();
        let at = tensors.iter().position(|tensor| tensor.name == name).unwrap();
        change(&mut tensors[at]);
        let refused = Model::from_tensors(model.metadata().clone(), tensors);
        let error = refused.map(|_| ()).expect_err(name).to_string();
        assert!(error.contains("the model file is damaged"), "{name}: {error}");
    };
    let put = |tensor: &mut Tensor, value: f32| match &mut tensor.values {
        TensorValues::F32(values) => values[7] = value,
        _ => panic!("32-bit numbers"),
    };
    for value in [-1.0, 3.0, 0.5, 1e9, f32::NAN, f32::INFINITY] {
        damaged("cut.column", &|tensor| put(tensor, value));
    }
    for name in ["cut.place", "cells"] {
        damaged(name, &|tensor| put(tensor, f32::NAN));
    }
    for name in ["cut.column", "cut.place", "cells"] {
        damaged(name, &|tensor| tensor.name = "other".into());
        damaged(name, &|tensor| tensor.shape[1] += 1);
        damaged(name, &|tensor| tensor.shape[0] += 1);
        damaged(name, &|tensor| tensor.shape.truncate(1));
        damaged(name, &|tensor| tensor.shape.insert(0, 1));
    }
    let tensors = model.tensors();
    let read = Model::from_tensors(model.metadata().clone(), tensors).unwrap();
    assert_eq!(read.predict(matrix(&x, 3)).unwrap(), model.predict(matrix(&x, 3)).unwrap());
}
