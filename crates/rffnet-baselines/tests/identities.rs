//! Methods that must agree, because they are the same in a special case.
#![allow(clippy::unwrap_used)]

mod common;

use common::{classes, matrix, methods, normal, values};
use rffnet::{Data, Target};
use rffnet_baselines::{Fastfood, Head, KernelRidge, Linear, Method, Nystroem, Options, Rff, Sigma, fit};

fn bump(x: &[f32], d: usize) -> Vec<f64> {
    x.chunks_exact(d).map(|r| f64::from((2.0 * r[0]).sin() + r[1] * r[1])).collect()
}

fn close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).for_each(|(a, b)| assert!((a - b).abs() < tolerance, "{a} {b}"));
}

fn mean_square(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / a.len() as f64
}

/// With every row a landmark, Nystroem's features are a square root of the kernel. Targets that the intercept takes no
/// part in: it is free in one method and missing in the other.
#[test]
fn nystroem_with_all_landmarks_is_kernel_ridge() {
    let (d, n) = (2, 150);
    // Rows and their mirror images with opposite targets: the intercept is 0 by symmetry.
    let half = normal(n, d, 1);
    let x: Vec<f32> = half.iter().copied().chain(half.iter().map(|v| -v)).collect();
    let y: Vec<f64> = x.chunks_exact(d).map(|r| f64::from((2.0 * r[0]).sin() + r[1].powi(3))).collect();
    let nystroem = Nystroem { landmarks: Some((0..2 * n).collect()), ..Nystroem::paper() };
    let test = normal(50, d, 2);
    let a = values(&nystroem, &x, d, &y).unwrap().predict(matrix(&test, d)).unwrap();
    let b = values(&KernelRidge::paper(), &x, d, &y).unwrap().predict(matrix(&test, d)).unwrap();
    close(&a, &b, 1e-5);
}

/// At the minimum `X'(y - f) = alpha beta` on standardised columns, and the intercept leaves no mean in the residuals.
#[test]
fn linear_ridge_satisfies_its_normal_equations() {
    let (d, n, alpha) = (4, 30, 2.0);
    let x = normal(n, d, 3);
    let y = bump(&x, d);
    let model = values(&Linear { alpha, c: 1.0 }, &x, d, &y).unwrap();
    let f = model.predict(matrix(&x, d)).unwrap();
    let column = |j: usize| x.iter().skip(j).step_by(d).map(|&v| f64::from(v)).collect::<Vec<f64>>();
    let residual: Vec<f64> = y.iter().zip(&f).map(|(y, f)| y - f).collect();
    assert!(residual.iter().sum::<f64>().abs() < 1e-8);
    let lengths = model.relevances().unwrap();
    for (j, length) in lengths.iter().enumerate() {
        let x = column(j);
        let mean = x.iter().sum::<f64>() / n as f64;
        let deviation = (x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
        let slope: f64 = x.iter().zip(&residual).map(|(x, r)| (x - mean) / deviation * r).sum();
        assert!((slope.abs() - alpha * length).abs() < 1e-5, "{slope} {length}");
    }
}

/// A weight of two is a row twice; a weight of zero is no row. Weights are scaled to mean one, and so must the penalty be.
#[test]
fn weights_are_repetitions() {
    let (d, n) = (2, 40);
    let x = normal(n, d, 4);
    let y = bump(&x, d);
    let codes: Vec<u32> = y.iter().map(|&y| u32::from(y > 1.0) + u32::from(y > 2.0)).collect();
    let weight: Vec<f32> = (0..n).map(|i| (i % 3) as f32).collect();
    let often: Vec<usize> = (0..n).flat_map(|i| std::iter::repeat_n(i, i % 3)).collect();
    let repeated: Vec<f32> = often.iter().flat_map(|&i| &x[i * d..(i + 1) * d]).copied().collect();
    let many_y: Vec<f64> = often.iter().map(|&i| y[i]).collect();
    let many_codes: Vec<u32> = often.iter().map(|&i| codes[i]).collect();
    let names: Vec<String> = (0..3).map(|c| c.to_string()).collect();
    let ratio = n as f64 / often.len() as f64;
    let test = normal(9, d, 5);
    let pairs: [(Box<dyn Method>, Box<dyn Method>); 2] = [
        (
            Box::new(KernelRidge { alpha: 0.1 * ratio, gamma: None }),
            Box::new(KernelRidge { alpha: 0.1, gamma: None }),
        ),
        (Box::new(Linear { alpha: ratio, c: 3.0 / ratio }), Box::new(Linear { alpha: 1.0, c: 3.0 })),
    ];
    for (weighted, plain) in &pairs {
        let targets = [
            (Target::Values { values: &y, outputs: 1 }, Target::Values { values: &many_y, outputs: 1 }),
            (
                Target::Labels { codes: &codes, classes: &names },
                Target::Labels { codes: &many_codes, classes: &names },
            ),
        ];
        for (one, many) in targets {
            let mut data = Data::new(matrix(&x, d), one);
            data.weight = Some(&weight);
            let a = fit(&**weighted, &data, &Options::default()).unwrap();
            let b = fit(&**plain, &Data::new(matrix(&repeated, d), many), &Options::default()).unwrap();
            close(&a.decision(matrix(&test, d)).unwrap(), &b.decision(matrix(&test, d)).unwrap(), 1e-5);
        }
    }
}

/// Random features approach the kernel machine they stand for, and Fastfood does as well as independent frequencies.
#[test]
fn many_random_features_come_near_kernel_ridge() {
    let (d, n) = (5, 400);
    let (x, test) = (normal(n, d, 6), normal(200, d, 7));
    let y = bump(&x, d);
    let predict = |method: &dyn Method| values(method, &x, d, &y).unwrap().predict(matrix(&test, d)).unwrap();
    let head = Head { alpha: 1.0, c: 1.0 };
    let exact = predict(&Nystroem { landmarks: Some((0..n).collect()), head, ..Nystroem::paper() });
    let fastfood = |features, sigma| predict(&Fastfood { features, sigma, head });
    let rff = |features| predict(&Rff { features, head, gamma: None });
    for (few, many) in [(fastfood(50, Sigma::Matched), fastfood(1000, Sigma::Matched)), (rff(50), rff(2000))]
    {
        let (few, many) = (mean_square(&few, &exact), mean_square(&many, &exact));
        assert!(many < 0.02 && many < 0.3 * few, "{few} {many}");
    }
    close(&fastfood(100, Sigma::Matched), &fastfood(100, Sigma::Fixed(2.5f64.sqrt())), 1e-12);
    // A kernel as wide as the paper's setting makes it fits next to nothing but lines and parabolas.
    assert!(mean_square(&fastfood(1000, Sigma::Columns), &exact) > 0.05);
}

/// Two classes as two, and as three of which one never occurs: the same odds between the two.
#[test]
fn a_class_without_rows_gets_no_probability() {
    let (d, n) = (2, 100);
    let x = normal(n, d, 8);
    let codes: Vec<u32> = bump(&x, d).iter().map(|&y| u32::from(y > 1.0)).collect();
    let test = normal(20, d, 9);
    let model = classes(&Linear::default(), &x, d, &codes, 3).unwrap();
    let p = model.probabilities(matrix(&test, d)).unwrap().unwrap();
    for p in p.chunks_exact(3) {
        assert!(p[2] < 1e-3 && (p.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{p:?}");
    }
}

#[test]
fn equal_bits_for_any_number_of_threads() {
    let (d, n) = (5, 1500);
    let (x, test) = (normal(n, d, 10), normal(333, d, 11));
    let y = bump(&x, d);
    let codes: Vec<u32> = y.iter().map(|&y| u32::from(y > 0.5) + u32::from(y > 1.5)).collect();
    let two: Vec<u32> = codes.iter().map(|c| c / 2).collect();
    for (name, method) in methods() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let models = [
                    values(&*method, &x, d, &y),
                    classes(&*method, &x, d, &codes, 3),
                    classes(&*method, &x, d, &two, 2),
                ];
                models.map(|m| m.unwrap().decision(matrix(&test, d)).unwrap())
            })
        };
        assert_eq!(run(1), run(2), "{name}");
    }
}
