//! Inputs at the edge: every one has a defined outcome, and no prediction is NaN.
#![allow(clippy::unwrap_used)]

mod common;

use common::{classes, matrix, methods, normal, values};
use rffnet::{Data, Target};
use rffnet_baselines::{
    Error, Fastfood, Head, KernelRidge, Linear, Method, Nystroem, Options, Rff, Sigma, fit,
};

fn finite(name: &str, method: &dyn Method, x: &[f32], d: usize) {
    let n = x.len() / d;
    let y: Vec<f64> = (0..n).map(|i| (i % 5) as f64).collect();
    let codes: Vec<u32> = (0..n).map(|i| (i % 3) as u32).collect();
    let two: Vec<u32> = codes.iter().map(|c| c / 2).collect();
    for model in [values(method, x, d, &y), classes(method, x, d, &codes, 3), classes(method, x, d, &two, 2)]
    {
        let out = model.unwrap_or_else(|e| panic!("{name}: {e}")).decision(matrix(x, d)).unwrap();
        assert!(out.len() >= n && out.iter().all(|v| v.is_finite()), "{name}: {out:?}");
    }
}

#[test]
fn one_row_few_rows_many_columns() {
    for (name, method) in methods() {
        for (n, d) in [(1, 1), (1, 3), (2, 1), (5, 40), (30, 1)] {
            finite(name, &*method, &normal(n, d, 1), d);
        }
    }
}

#[test]
fn constant_equal_and_huge_columns() {
    let x: Vec<f32> = normal(40, 1, 2).iter().flat_map(|&v| [7.0, v, v, v * 1e30]).collect();
    for (name, method) in methods() {
        finite(name, &*method, &x, 4);
        finite(name, &*method, &[3.0; 20], 2);
    }
}

/// One row tells nothing but its own target: every method with an intercept says that one.
#[test]
fn one_row_is_remembered() {
    for (name, method) in methods() {
        let f = values(&*method, &[1.0, 2.0], 2, &[5.0]).unwrap().predict(matrix(&[1.0, 2.0], 2)).unwrap()[0];
        // Kernel ridge has none, and shrinks by 1 / (1 + alpha).
        let expected = if name == "krr" { 5.0 / 1.1 } else { 5.0 };
        assert!((f - expected).abs() < 1e-6, "{name}: {f}");
    }
}

#[test]
fn perfectly_separated_classes_have_finite_log_odds_on_the_right_side() {
    let x: Vec<f32> = (0..60).map(|i| i as f32 - 29.5).collect();
    let codes: Vec<u32> = x.iter().map(|&v| u32::from(v > 0.0)).collect();
    for (name, method) in methods() {
        let f = classes(&*method, &x, 1, &codes, 2).unwrap().decision(matrix(&x, 1)).unwrap();
        for (f, &c) in f.iter().zip(&codes) {
            assert!(f.is_finite() && (*f > 0.0) == (c == 1), "{name}: {f} {c}");
        }
    }
    let f =
        classes(&Linear { alpha: 1.0, c: 1e6 }, &x, 1, &codes, 2).unwrap().decision(matrix(&x, 1)).unwrap();
    assert!(f.iter().all(|f| f.is_finite()));
}

#[test]
fn one_class_of_two_alone_is_certain() {
    let x = normal(30, 2, 3);
    for (name, method) in methods().into_iter().filter(|(name, _)| *name != "krr") {
        let p = classes(&*method, &x, 2, &[1; 30], 2).unwrap().probabilities(matrix(&x, 2)).unwrap().unwrap();
        assert!(p.chunks_exact(2).all(|p| p[1] > 0.999), "{name}: {p:?}");
    }
}

#[test]
fn kernel_ridge_offers_no_probabilities() {
    let x = normal(30, 2, 4);
    let codes: Vec<u32> = (0..30).map(|i| i % 2).collect();
    let model = classes(&KernelRidge::default(), &x, 2, &codes, 2).unwrap();
    assert!(model.probabilities(matrix(&x, 2)).unwrap().is_none());
}

#[test]
fn no_rows_have_no_predictions() {
    for (name, method) in methods() {
        let model = values(&*method, &normal(9, 2, 5), 2, &[1.0; 9]).unwrap();
        assert!(model.predict(matrix(&[], 2)).unwrap().is_empty(), "{name}");
    }
}

#[test]
fn what_does_not_fit_is_refused_in_a_sentence() {
    let (x, y) = (normal(3000, 1, 6), vec![0.0; 3000]);
    let data = Data::new(matrix(&x, 1), Target::Values { values: &y, outputs: 1 });
    let small = Options { memory_limit: 1_000_000, ..Options::default() };
    let text = |method: &dyn Method| fit(method, &data, &small).err().expect("a refusal").to_string();
    assert_eq!(
        text(&KernelRidge::paper()),
        "needs 72 MB for the 3,000 x 3,000 kernel matrix; limit is 1 MB: use fewer rows or raise the limit"
    );
    assert!(text(&Rff { features: 1000, ..Rff::paper() }).contains("the 1,001 x 1,001 normal equations"));
    for method in [
        Box::new(Rff { features: usize::MAX, ..Rff::paper() }) as Box<dyn Method>,
        Box::new(Fastfood { features: usize::MAX, ..Fastfood::paper() }),
    ] {
        assert!(text(&*method).contains("normal equations"));
    }
    let (codes, names) = (vec![0; 3000], ["a".to_string(), "b".to_string()]);
    let data = Data::new(matrix(&x, 1), Target::Labels { codes: &codes, classes: &names });
    let error = fit(&Nystroem::paper(), &data, &small).err().expect("a refusal").to_string();
    assert!(error.contains("the 3,000 x 301 features"), "{error}");
}

#[test]
fn settings_that_make_no_sense_are_named() {
    let (x, y) = (normal(8, 2, 7), [1.0; 8]);
    let bad: [(&str, Box<dyn Method>); 9] = [
        ("alpha", Box::new(KernelRidge { alpha: 0.0, gamma: None })),
        ("gamma", Box::new(KernelRidge { alpha: 1.0, gamma: Some(-1.0) })),
        ("gamma", Box::new(Nystroem { gamma: Some(f64::NAN), ..Nystroem::paper() })),
        ("columns", Box::new(Nystroem { columns: 0, ..Nystroem::paper() })),
        ("landmark 8", Box::new(Nystroem { landmarks: Some(vec![0, 8]), ..Nystroem::paper() })),
        ("sigma", Box::new(Fastfood { sigma: Sigma::Fixed(0.0), ..Fastfood::paper() })),
        ("features", Box::new(Fastfood { features: 0, ..Fastfood::paper() })),
        ("features", Box::new(Rff { features: 0, ..Rff::paper() })),
        ("alpha", Box::new(Rff { head: Head { alpha: f64::INFINITY, c: 1.0 }, ..Rff::paper() })),
    ];
    for (name, method) in bad {
        match values(&*method, &x, 2, &y) {
            Err(Error::Unsupported(text)) => assert!(text.contains(name), "{text}"),
            Err(e) => panic!("{name}: {e}"),
            Ok(_) => panic!("{name} was accepted"),
        }
    }
    let error = classes(&Linear { alpha: 1.0, c: 0.0 }, &x, 2, &[0, 1, 0, 1, 0, 1, 0, 1], 2).err().unwrap();
    assert_eq!(error.to_string(), "c is 0, but it must be a finite number above 0");
}
