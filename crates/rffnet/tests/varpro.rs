//! The exact solver: what it finds, what it respects, and that odd data do it no harm.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::ops::ControlFlow;

use common::{
    Numbers, Xorshift, bits, classification, codes, fit, matrix, names, normal_rows, regression, solve,
    target,
};
use rand::Rng;
use rffnet::{
    ClassWeight, Data, Effort, Fit, Init, LossKind, Missing, Model, Params, Partitions, Progress, SolverKind,
    Spectrum, SpectrumMode, Stopped, Target, metrics,
};

/// One network, few features.
fn small() -> Params {
    quick().random_features(60)
}

fn quick() -> Params {
    Params::new().effort(Effort::Quick).committee(1)
}

/// Fits and predicts: everything is finite, and a file of the model can be read.
fn sound(params: &Params, data: &Data<'_>) -> Model {
    let model = fit(params, data);
    assert_eq!(model.plan().solver(), SolverKind::Varpro);
    assert!(model.decision(data.x).unwrap().iter().all(|v| v.is_finite()));
    assert!(model.importances().iter().chain(&model.relevances()).all(|v| v.is_finite() && *v >= 0.0));
    assert!(Model::from_bytes(&model.to_bytes().unwrap()).is_ok());
    model
}

fn r2(model: &Model, x: &[f32], columns: usize, y: &[f64]) -> f64 {
    metrics::r2(y, &model.predict(matrix(x, columns)).unwrap(), None).unwrap()
}

/// Columns by falling value.
fn ranking(values: &[f32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    order
}

#[test]
fn a_linear_target_is_fitted_exactly() {
    let truth = |r: &[f32]| 7.0 + 3.0 * r[0] as f64 - 2.0 * r[3] as f64 + 0.1 * r[4] as f64;
    for (rows, seed) in [(60, 201), (400, 202)] {
        let x = normal_rows(rows, 5, seed);
        let y = target(&x, 5, truth);
        let model = sound(&quick(), &regression(&x, 5, &y));
        let fresh = normal_rows(500, 5, seed + 1000);
        let expected = target(&fresh, 5, truth);
        // Far rows are kept within the guard; the rest is exact.
        let inside: Vec<f32> = fresh
            .chunks_exact(5)
            .zip(&expected)
            .filter(|(_, v)| y.iter().any(|y| y < v) && y.iter().any(|y| y > v))
            .flat_map(|(r, _)| r.to_vec())
            .collect();
        let expected = target(&inside, 5, truth);
        let score = r2(&model, &inside, 5, &expected);
        assert!(score > 0.999, "{rows} rows: {score}");
        assert!(Numbers::of(&model).linear.iter().any(|b| *b != 0.0));
    }
}

#[test]
fn without_linear_terms_there_are_none() {
    let x = normal_rows(100, 3, 203);
    let y = target(&x, 3, |r| r[0] as f64);
    let model = sound(&small().linear(false), &regression(&x, 3, &y));
    assert!(!model.plan().common.linear && Numbers::of(&model).linear.is_empty());
    assert!(r2(&model, &x, 3, &y) > 0.9);
}

#[test]
fn an_interaction_is_found() {
    let x = normal_rows(500, 10, 204);
    let y = target(&x, 10, |r| (r[0] * r[1]) as f64);
    let model = sound(&quick(), &regression(&x, 10, &y));
    for values in [model.importances(), &model.relevances()] {
        let mut top = ranking(values)[..2].to_vec();
        top.sort_unstable();
        assert_eq!(top, [0, 1], "{values:?}");
    }
    let fresh = normal_rows(500, 10, 205);
    let score = r2(&model, &fresh, 10, &target(&fresh, 10, |r| (r[0] * r[1]) as f64));
    assert!(score > 0.9, "{score}");
}

#[test]
fn an_exclusive_or_is_found() {
    let x = normal_rows(500, 6, 206);
    let classes = names(&["no", "yes"]);
    let label = |r: &[f32]| u32::from((r[2] > 0.0) != (r[4] > 0.0));
    let model = sound(&quick(), &classification(&x, 6, &codes(&x, 6, label), &classes));
    let mut top = ranking(model.importances())[..2].to_vec();
    top.sort_unstable();
    assert_eq!(top, [2, 4], "{:?}", model.importances());
    let fresh = normal_rows(500, 6, 207);
    let labels = model.labels(matrix(&fresh, 6)).unwrap();
    let right = labels.iter().zip(codes(&fresh, 6, label)).filter(|(a, b)| **a == *b).count();
    assert!(right > 425, "{right} of 500");
}

/// The head in the file is the ridge solution on all rows, for the penalty asked for.
#[test]
fn the_head_is_the_ridge_solution_on_all_rows() {
    let (n, d, alpha) = (150, 3, 0.02);
    let x = normal_rows(n, d, 208);
    let y: Vec<f64> =
        x.chunks_exact(d).flat_map(|r| [3.0 + (r[0] as f64).sin(), (r[1] * r[2]) as f64]).collect();
    let data = Data::new(matrix(&x, d), Target::Values { values: &y, outputs: 2 });
    for linear in [true, false] {
        let params = small().alpha(alpha).random_features(25).linear(linear).partitions(Partitions::None);
        let numbers = Numbers::of(&fit(&params, &data));
        let rows: Vec<Vec<f64>> = x
            .chunks_exact(d)
            .map(|r| {
                let terms: Vec<f64> = numbers.standardised(r).iter().map(|x| x / (d as f64).sqrt()).collect();
                [numbers.features(r), if linear { terms } else { Vec::new() }, vec![1.0]].concat()
            })
            .collect();
        let m = rows[0].len();
        for c in 0..2 {
            let (mut gram, mut cross) = (vec![0.0; m * m], vec![0.0; m]);
            for (z, y) in rows.iter().zip(y.chunks_exact(2)) {
                let t = (y[c] - numbers.target_mean[c]) / numbers.target_scale[c];
                for a in 0..m {
                    cross[a] += z[a] * t / n as f64;
                    (0..m).for_each(|b| gram[a * m + b] += z[a] * z[b] / n as f64);
                }
            }
            (0..m - 1).for_each(|a| gram[a * m + a] += alpha);
            let best = solve(gram, cross);
            let size = best.iter().fold(0.0, |m: f64, b| m.max(b.abs()));
            let of = |v: &[f64]| v.iter().skip(c).step_by(2).copied().collect::<Vec<f64>>();
            let slopes = of(&numbers.linear).into_iter().map(|b| b * (d as f64).sqrt());
            let got: Vec<f64> =
                of(&numbers.beta).into_iter().chain(slopes).chain([numbers.intercept[c]]).collect();
            assert_eq!(got.len(), m);
            for (i, (got, best)) in got.iter().zip(&best).enumerate() {
                assert!((got - best).abs() < 2e-3 * size, "linear {linear}, {c} {i}: {got} {best}");
            }
        }
    }
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

#[test]
fn threads_do_not_change_a_bit_and_the_seed_decides() {
    let x = normal_rows(500, 5, 209);
    let y: Vec<f64> =
        x.chunks_exact(5).flat_map(|r| [(r[0] as f64).sin() + (r[1] * r[2]) as f64, r[3] as f64]).collect();
    let three = codes(&x, 5, |r| u32::from(r[0] > 0.0) + u32::from(r[1] * r[2] > 0.5));
    let two: Vec<u32> = three.iter().map(|&c| c.min(1)).collect();
    let classes = names(&["a", "b", "c"]);
    let weight: Vec<f32> = (0..500).map(|i| (i % 4) as f32).collect();
    let numbers = Data::new(matrix(&x, 5), Target::Values { values: &y, outputs: 2 });
    let params = small().committee(3).epochs(2);
    for (name, data) in [
        ("regression", numbers),
        ("two classes", classification(&x, 5, &two, &classes[..2])),
        ("three classes", Data { weight: Some(&weight), ..classification(&x, 5, &three, &classes) }),
    ] {
        let bytes = |seed, threads| {
            on_threads(threads, || fit(&params.clone().seed(seed), &data).to_bytes().unwrap())
        };
        let one = bytes(4, 1);
        assert!(one == bytes(4, 2), "{name}: 2 threads");
        assert!(one == bytes(4, 5), "{name}: 5 threads, more than members");
        assert!(one != bytes(5, 2), "{name}: another seed");
    }
}

#[test]
fn few_rows_and_many_columns_are_no_trouble() {
    for (n, d, features) in [
        (2, 1, None),
        (2, 3, None),
        (3, 2, None),
        (5, 2, None),
        (5, 40, None),
        (20, 3, Some(50)),
        (30, 1, None),
    ] {
        let x = normal_rows(n, d, 210);
        let y = target(&x, d, |r| 5.0 + r[0] as f64);
        let two: Vec<u32> = (0..n as u32).map(|i| i % 2).collect();
        let three: Vec<u32> = (0..n as u32).map(|i| i % 3).collect();
        let classes = names(&["a", "b", "c"]);
        for validation_fraction in [None, Some(0.0), Some(0.5)] {
            let mut params = Params::new().committee(2);
            (params.random_features, params.validation_fraction) = (features, validation_fraction);
            let model = sound(&params, &regression(&x, d, &y));
            assert!(features.is_none_or(|s| model.random_features() == s), "{n} {d}");
            sound(&params, &classification(&x, d, &two, &classes[..2]));
            if n > 2 {
                sound(&params, &classification(&x, d, &three, &classes));
            }
        }
    }
}

#[test]
fn duplicated_and_constant_columns_are_no_trouble() {
    let plain = normal_rows(200, 2, 211);
    // The first column three times, one constant, one all but constant.
    let x: Vec<f32> = plain
        .chunks_exact(2)
        .enumerate()
        .flat_map(|(i, r)| [r[0], r[1], r[0], r[0], 4.0, if i == 7 { 1.0 } else { 0.0 }])
        .collect();
    let y = target(&x, 6, |r| (1.5 * r[0] as f64).sin());
    let model = sound(&quick(), &regression(&x, 6, &y));
    assert!(r2(&model, &x, 6, &y) > 0.95, "{}", r2(&model, &x, 6, &y));
    assert_eq!((model.relevances()[4], model.importances()[4]), (0.0, 0.0));
    let classes = names(&["a", "b"]);
    sound(&quick(), &classification(&x, 6, &codes(&x, 6, |r| u32::from(r[0] > 0.0)), &classes));
    let same = vec![1.0; 60];
    let y: Vec<f64> = (0..30).map(|i| i as f64).collect();
    let model = sound(&quick(), &regression(&same, 2, &y));
    assert!((model.predict(matrix(&same, 2)).unwrap()[0] - 14.5).abs() < 1.5);
}

#[test]
fn a_constant_target_is_a_constant() {
    let x = normal_rows(40, 2, 212);
    let y = vec![3.5; 40];
    let model = fit(&Params::default(), &regression(&x, 2, &y));
    assert_eq!((model.summary().stopped, model.committee()), (Stopped::ConstantTarget, 1));
    assert!(model.predict(matrix(&x, 2)).unwrap().iter().all(|p| (p - 3.5).abs() < 1e-6));
    let two: Vec<f64> = x.chunks_exact(2).flat_map(|r| [42.0, r[0] as f64]).collect();
    let model = sound(&quick(), &Data::new(matrix(&x, 2), Target::Values { values: &two, outputs: 2 }));
    assert!(model.predict(matrix(&x, 2)).unwrap().chunks_exact(2).all(|p| (p[0] - 42.0).abs() < 1e-3));
}

/// A row far outside the training data gets a prediction near the range of the training target.
#[test]
fn predictions_stay_near_the_range_of_the_target() {
    let x = normal_rows(200, 3, 213);
    let y: Vec<f64> =
        x.chunks_exact(3).flat_map(|r| [10.0 + 2.0 * r[0] as f64, (r[1] as f64).powi(3)]).collect();
    let data = Data::new(matrix(&x, 3), Target::Values { values: &y, outputs: 2 });
    let model = sound(&quick(), &data);
    let bounds: Vec<(f64, f64)> = (0..2)
        .map(|c| {
            let column = || y.iter().skip(c).step_by(2).copied();
            let (low, high) = (column().fold(f64::MAX, f64::min), column().fold(f64::MIN, f64::max));
            (low - 0.11 * (high - low), high + 0.11 * (high - low))
        })
        .collect();
    for far in [1e3f32, -1e6, 1e20, -1e30] {
        let rows = [far, 0.0, 0.0, 0.0, far, 0.0, far, far, -far];
        for (i, p) in model.predict(matrix(&rows, 3)).unwrap().iter().enumerate() {
            assert!((bounds[i % 2].0..=bounds[i % 2].1).contains(p), "{far}: {p} {bounds:?}");
        }
    }
}

#[test]
fn an_outlier_in_training_does_no_harm_to_the_arithmetic() {
    let mut x = normal_rows(200, 2, 214);
    x[17] = 1e30;
    x[30] = -1e12;
    let y = target(&x, 2, |r| (r[0] as f64).clamp(-3.0, 3.0));
    sound(&quick(), &regression(&x, 2, &y));
    // Nor does one in the target.
    let x = normal_rows(200, 2, 215);
    let mut y = target(&x, 2, |r| r[0] as f64);
    y[3] = 1e15;
    sound(&quick(), &regression(&x, 2, &y));
}

#[test]
fn rows_of_weight_zero_are_absent_to_the_last_bit() {
    let x = normal_rows(120, 3, 216);
    let y = target(&x, 3, |r| (r[0] as f64).sin());
    let three = codes(&x, 3, |r| u32::from(r[0] > 0.0) + u32::from(r[1] > 0.5));
    let classes = names(&["a", "b", "c"]);
    let weight: Vec<f32> = (0..120).map(|i| 1.0 + (i % 3) as f32).collect();
    // Junk between the rows.
    let spread = |row: &[f32]| [row, &[1e9, -7.0, f32::MAX]].concat();
    let junk_x: Vec<f32> = x.chunks_exact(3).flat_map(spread).collect();
    let junk_y: Vec<f64> = y.iter().flat_map(|&v| [v, 1e9]).collect();
    let junk_codes: Vec<u32> = three.iter().flat_map(|&c| [c, 1]).collect();
    let junk_weight: Vec<f32> = weight.iter().flat_map(|&w| [w, 0.0]).collect();
    let bytes = |data: Data<'_>| fit(&small(), &data).to_bytes().unwrap();
    let clean = bytes(Data { weight: Some(&weight), ..regression(&x, 3, &y) });
    assert!(clean == bytes(Data { weight: Some(&junk_weight), ..regression(&junk_x, 3, &junk_y) }));
    let clean = bytes(Data { weight: Some(&weight), ..classification(&x, 3, &three, &classes) });
    let junk = classification(&junk_x, 3, &junk_codes, &classes);
    assert!(clean == bytes(Data { weight: Some(&junk_weight), ..junk }));
}

#[test]
fn balanced_classes_raise_the_share_of_the_rare_one() {
    let x = normal_rows(600, 2, 217);
    let mut rng = Xorshift::new(218);
    let y: Vec<u32> =
        x.chunks_exact(2).map(|r| u32::from(rng.uniform() < if r[0] > 0.0 { 0.2 } else { 0.02 })).collect();
    let classes = names(&["common", "rare"]);
    let rate = |class_weight| {
        let params = small().class_weight(class_weight);
        let p = fit(&params, &classification(&x, 2, &y, &classes)).probabilities(matrix(&x, 2)).unwrap();
        p.iter().skip(1).step_by(2).sum::<f64>() / 600.0
    };
    let rare = y.iter().sum::<u32>() as f64 / 600.0;
    let (plain, balanced) = (rate(ClassWeight::None), rate(ClassWeight::Balanced));
    assert!((plain - rare).abs() < 0.02, "probabilities are calibrated: {plain} {rare}");
    assert!((0.35..0.65).contains(&balanced), "{balanced}");
}

#[test]
fn missing_cells_are_the_mean() {
    let mut x = normal_rows(200, 3, 219);
    let y = target(&x, 3, |r| r[0] as f64 + (r[1] as f64).cos());
    (0..200).step_by(9).for_each(|i| x[i * 3 + 2] = f32::NAN);
    let model = sound(&quick().missing(Missing::Mean), &regression(&x, 3, &y));
    assert!(r2(&model, &x, 3, &y) > 0.95);
    x[4] = f32::NAN;
    assert!(model.predict(matrix(&x, 3)).unwrap().iter().all(|v| v.is_finite()));
}

#[test]
fn several_outputs_share_one_model() {
    let x = normal_rows(400, 4, 220);
    let truth = |r: &[f32]| [1e6 * (r[0] as f64).sin(), 1e-3 * (r[1] as f64).cos() - 5.0, r[2] as f64];
    let y: Vec<f64> = x.chunks_exact(4).flat_map(truth).collect();
    let data = Data::new(matrix(&x, 4), Target::Values { values: &y, outputs: 3 });
    let model = sound(&quick(), &data);
    let fresh = normal_rows(300, 4, 221);
    let predicted = model.predict(matrix(&fresh, 4)).unwrap();
    let expected: Vec<f64> = fresh.chunks_exact(4).flat_map(truth).collect();
    for c in 0..3 {
        let of = |v: &[f64]| v.iter().skip(c).step_by(3).copied().collect::<Vec<f64>>();
        let score = metrics::r2(&of(&expected), &of(&predicted), None).unwrap();
        assert!(score > 0.95, "output {c}: {score}");
    }
}

#[test]
fn three_classes_are_told_apart() {
    let x = normal_rows(400, 3, 222);
    let label = |r: &[f32]| if r[0] > 0.5 { 2 } else { u32::from(r[1] > 0.0) };
    let classes = names(&["a", "b", "c"]);
    let model = sound(&quick(), &classification(&x, 3, &codes(&x, 3, label), &classes));
    let fresh = normal_rows(400, 3, 223);
    let labels = model.labels(matrix(&fresh, 3)).unwrap();
    let right = labels.iter().zip(codes(&fresh, 3, label)).filter(|(a, b)| **a == *b).count();
    assert!(right > 360, "{right} of 400");
    assert_eq!(ranking(model.importances())[2], 2, "{:?}", model.importances());
}

/// Classes that a line divides: the head would grow without end but for the penalty.
#[test]
fn separable_classes_have_finite_heads() {
    let x = normal_rows(150, 2, 224);
    let classes = names(&["a", "b", "never"]);
    let y = codes(&x, 2, |r| u32::from(r[0] > 0.0));
    for count in [2, 3] {
        for alpha in [None, Some(1e-8)] {
            let mut params = small();
            params.alpha = alpha;
            let model = sound(&params, &classification(&x, 2, &y, &classes[..count]));
            let labels = model.labels(matrix(&x, 2)).unwrap();
            assert!(labels.iter().zip(&y).filter(|(a, b)| a == b).count() > 145);
        }
    }
}

#[test]
fn a_budget_stops_the_fit_and_leaves_a_model() {
    let x = normal_rows(250, 4, 225);
    let y = target(&x, 4, |r| (2.0 * r[0] as f64).sin() + (r[1] * r[2]) as f64);
    let data = regression(&x, 4, &y);
    let params = quick().budget(1e-9).committee(4);
    let hurried = sound(&params, &data);
    assert_eq!(hurried.summary().stopped, Stopped::Budget);
    assert_eq!(hurried.committee(), 1, "no member is begun after the end");
    assert!(hurried.summary().validation_loss < hurried.summary().baseline_loss);
    let patient = sound(&params.budget(1e9), &data);
    assert_eq!((patient.summary().stopped, patient.committee()), (Stopped::Converged, 4));
    assert!(hurried.summary().epochs < patient.summary().epochs / 4);
    // A budget that is not used up changes nothing.
    let mut params = quick().committee(4);
    params.budget = None;
    let without = sound(&params, &data);
    assert!(without.to_bytes().unwrap() == patient.to_bytes().unwrap());
}

#[test]
fn an_interruption_leaves_a_model() {
    let x = normal_rows(300, 4, 226);
    let y = target(&x, 4, |r| (2.0 * r[0] as f64).sin());
    for last in [1, 5] {
        let mut seen = Vec::new();
        let mut observer = |p: &Progress| {
            seen.push((p.epoch, p.train_loss, p.validation_loss));
            if p.epoch >= last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let params = quick().committee(3);
        let model = Fit::new(&params).observer(&mut observer).run(&regression(&x, 4, &y)).unwrap();
        assert_eq!((model.summary().stopped, model.committee()), (Stopped::Interrupted, 1));
        assert!(seen.iter().enumerate().all(|(i, s)| s.0 == i + 1), "{seen:?}");
        assert_eq!(seen.len(), last, "nothing is begun after the interruption");
        assert!(model.predict(matrix(&x, 4)).unwrap().iter().all(|v| v.is_finite()));
        assert!(Model::from_bytes(&model.to_bytes().unwrap()).is_ok());
    }
}

#[test]
fn an_observer_sees_losses_fall() {
    let x = normal_rows(300, 3, 227);
    let y = target(&x, 3, |r| 100.0 * (2.0 * r[0] as f64).sin());
    let mut seen = Vec::new();
    let mut observer = |p: &Progress| {
        assert!(p.epoch <= p.epochs && p.train_loss.is_finite());
        seen.push(p.validation_loss.unwrap());
        ControlFlow::Continue(())
    };
    let model = Fit::new(&quick()).observer(&mut observer).run(&regression(&x, 3, &y)).unwrap();
    let summary = model.summary();
    assert_eq!((seen.len(), summary.stopped), (summary.epochs, Stopped::Converged));
    let lowest = seen.iter().copied().fold(f64::MAX, f64::min);
    assert!(lowest < 0.1 * summary.baseline_loss.unwrap());
    assert_eq!(summary.losses.len(), model.history().relevances().len());
    assert_eq!(summary.validation_rows, 75, "a quarter of few rows");
}

#[test]
fn a_committee_is_in_the_file_and_averaged() {
    let x = normal_rows(150, 4, 228);
    let y = target(&x, 4, |r| (1.5 * r[0] as f64).sin());
    let data = regression(&x, 4, &y);
    let model = sound(&small().committee(3), &data);
    let networks = Numbers::all(&model);
    assert_eq!((model.committee(), networks.len()), (3, 3));
    assert!(networks[0].phase != networks[1].phase && networks[1].phase != networks[2].phase);
    for (j, got) in model.relevances().iter().enumerate() {
        let mean = networks.iter().map(|n| n.theta[j].abs()).sum::<f64>() / 3.0;
        assert!((*got as f64 - mean).abs() < 1e-6, "{j}: {got} {mean}");
        let squares = networks.iter().map(|n| (n.theta[j].abs() - mean).powi(2)).sum::<f64>();
        let spread = model.relevance_spread().unwrap()[j] as f64;
        assert!((spread - (squares / 2.0).sqrt()).abs() < 1e-6, "{j}: {spread}");
    }
    for (row, got) in x.chunks_exact(4).zip(model.predict(matrix(&x, 4)).unwrap()) {
        let mean = networks.iter().map(|n| n.outputs(row)[0]).sum::<f64>() / 3.0;
        let expected = networks[0].target_mean[0] + networks[0].target_scale[0] * mean;
        assert!((got - expected).abs() < 1e-4, "{got} {expected}");
    }
    // The first member does not depend on how many there are.
    let single = sound(&small().committee(1), &data);
    assert_eq!(single.relevance_spread(), None);
    let alone = Numbers::of(&single);
    assert!(alone.omega == networks[0].omega && alone.beta == networks[0].beta);
    let restricted = model.restricted(&[0]);
    assert!(Numbers::all(&restricted).iter().all(|n| n.linear[1..].iter().all(|b| *b == 0.0)));
}

#[test]
fn effort_decides_how_many_members_there_are() {
    let (x, noise) = (normal_rows(40, 2, 229), normal_rows(40, 1, 230));
    let mut y = target(&x, 2, |r| (r[0] as f64).sin());
    y.iter_mut().zip(&noise).for_each(|(y, e)| *y += 0.3 * *e as f64);
    for (effort, networks) in [(Effort::Quick, 3), (Effort::Normal, 6), (Effort::Thorough, 13)] {
        let params = Params::new().effort(effort).epochs(3);
        let model = sound(&params, &regression(&x, 2, &y));
        assert_eq!((model.committee(), model.plan().varpro().unwrap().effort), (networks, effort));
        let chosen = &model.summary().chosen;
        assert!(chosen.contains(&format!("{} Fourier features", model.random_features())), "{chosen}");
    }
}

/// Many rows: the AGOP metric is found on a sample of them, and the columns that do not matter matter little.
#[test]
fn a_sample_of_the_rows_is_enough_to_find_the_agop_metric() {
    let (x, fresh) = (normal_rows(4000, 12, 252), normal_rows(500, 12, 253));
    let f = |r: &[f32]| (r[..4].iter().map(|&v| v as f64).sum::<f64>().powi(2) + 0.1).ln();
    let (y, expected) = (target(&x, 12, f), target(&fresh, 12, f));
    let model = sound(&quick(), &regression(&x, 12, &y));
    let chosen = &model.summary().chosen;
    assert!(chosen.contains("4 of 12 columns, AGOP metric"), "{chosen}");
    let score = r2(&model, &fresh, 12, &expected);
    assert!(score > 0.97, "{score}");
    let (acting, others) = model.importances().split_at(4);
    let least = acting.iter().copied().fold(f32::MAX, f32::min);
    assert!(others.iter().all(|&other| other < 0.05 * least), "{acting:?} {others:?}");
}

/// A function of one direction through five columns: the AGOP metric finds it, and no axis is preferred.
#[test]
fn a_function_of_a_sum_is_found_by_the_agop_metric() {
    let (x, fresh) = (normal_rows(1500, 6, 250), normal_rows(500, 6, 251));
    let sum = |r: &[f32]| r[..5].iter().map(|&v| v as f64).sum::<f64>();
    let f = |r: &[f32]| (sum(r).powi(2) + 0.1).ln();
    let (y, expected) = (target(&x, 6, f), target(&fresh, 6, f));
    let model = sound(&quick(), &regression(&x, 6, &y));
    assert!(model.summary().chosen.contains(", AGOP metric"), "{}", model.summary().chosen);
    let score = r2(&model, &fresh, 6, &expected);
    assert!(score > 0.95, "{score}");
    assert_eq!(*ranking(model.importances()).last().unwrap(), 5);
    let along = fit(&quick().spectrum(SpectrumMode::Fixed), &regression(&x, 6, &y));
    assert!(!along.summary().chosen.contains(", AGOP metric"));
    assert!(r2(&along, &fresh, 6, &expected) < score);
}

/// Far more columns than rows: linear terms and features are solved among combinations of the rows.
#[test]
fn thousands_of_columns_and_few_rows() {
    let (n, d) = (60, 2000);
    let x = normal_rows(n, d, 252);
    let y = target(&x, d, |r| 3.0 * r[0] as f64);
    let labels: Vec<u32> = x.chunks_exact(d).map(|r| u32::from(r[0] > 0.0)).collect();
    let classes = names(&["a", "b"]);
    let model = sound(&quick(), &regression(&x, d, &y));
    assert_eq!(model.importances().len(), d);
    sound(&quick(), &classification(&x, d, &labels, &classes));
}

/// Frequencies of size 2 only.
struct Tone;

impl Spectrum for Tone {
    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        if rng.next_u64() >> 63 == 0 { 2.0 } else { -2.0 }
    }
    fn kernel(&self, delta: f64) -> f64 {
        (2.0 * delta).cos()
    }
}

#[test]
fn frequencies_stay_as_drawn_or_are_learned() {
    let x = normal_rows(600, 2, 230);
    let y = target(&x, 2, |r| (2.0 * r[0] as f64).sin() + (r[0] * r[1]) as f64);
    let moved = |mode: SpectrumMode| {
        // With patience to the last step: from frequencies that are all of one size the way is long.
        let params = quick().spectrum(mode).random_features(40).recipe("patience=40".parse().unwrap());
        let model = Fit::new(&params).spectrum(&Tone).run(&regression(&x, 2, &y)).unwrap();
        assert_eq!((model.kernel(), model.random_features()), ("custom", 40));
        assert_eq!(model.plan().varpro().unwrap().spectrum, mode);
        // One frequency alone cannot tell sin(2 x1) from x1 x2.
        let least = if mode == SpectrumMode::Fixed { 0.7 } else { 0.9 };
        assert!(r2(&model, &x, 2, &y) > least, "{mode}: {}", r2(&model, &x, 2, &y));
        let numbers = Numbers::of(&model);
        // Frequency times relevance of the first column, feature by feature.
        let sizes: Vec<f64> = numbers.omega[..40].iter().map(|w| (w * numbers.theta[0]).abs()).collect();
        let typical = sizes.iter().copied().fold(f64::MAX, f64::min);
        // As drawn, one half are of one size, and the others grow evenly from one feature to the next.
        let growth = sizes[39] / sizes[38];
        let drawn = |i: usize| typical * growth.powi(i.saturating_sub(20) as i32);
        let still = |(i, s): (usize, &f64)| (s / drawn(i) - 1.0).abs() < 1e-3;
        40 - sizes.iter().enumerate().filter(|&(i, s)| still((i, s))).count()
    };
    assert_eq!(moved(SpectrumMode::Fixed), 0);
    let learned = moved(SpectrumMode::Learned);
    assert!(learned >= 20, "{learned}");
    let some = moved(SpectrumMode::Auto);
    assert!((10..=40).contains(&some), "{some}");
}

#[test]
fn features_and_alpha_that_were_asked_for_are_used() {
    let x = normal_rows(200, 3, 231);
    let y = target(&x, 3, |r| (r[0] as f64).sin());
    let data = regression(&x, 3, &y);
    for mode in [SpectrumMode::Fixed, SpectrumMode::Learned, SpectrumMode::Auto] {
        for features in [1, 2, 7, 90] {
            let params = quick().spectrum(mode).random_features(features);
            let model = sound(&params, &data);
            assert_eq!(model.random_features(), features, "{mode}");
            assert_eq!(model.plan().common.fixed_features, Some(features));
        }
    }
    let with = |alpha: f64| sound(&small().alpha(alpha), &data);
    assert!(with(1e-3).summary().chosen.ends_with("alpha 1e-3"), "{}", with(1e-3).summary().chosen);
    let largest = |model: &Model| Numbers::of(model).beta.iter().fold(0.0, |m: f64, b| m.max(b.abs()));
    assert!(largest(&with(1e6)) < 1e-3);
    assert!(with(1e6).summary().warnings.iter().any(|w| w.contains("no better than a constant")));
    assert!(largest(&with(1e-8)) > 1e-2);
}

#[test]
fn losses_that_varpro_does_not_know_are_left_to_adam() {
    let x = normal_rows(200, 2, 232);
    let y = target(&x, 2, |r| (r[0] as f64).exp());
    for loss in [LossKind::Huber { delta: 0.5 }, LossKind::Quantile { tau: 0.5 }, LossKind::Poisson] {
        let params = Params::new().loss(loss);
        let model = fit(&params, &regression(&x, 2, &y));
        let settings = model.plan().descent().unwrap();
        assert_eq!((settings.solver, settings.init), (SolverKind::Adam, Init::Varpro), "{loss}");
        assert!(model.summary().validation_loss < model.summary().baseline_loss);
        assert_eq!((model.summary().chosen.as_str(), model.committee()), ("", 1));
        let refused = Fit::new(&params.solver(SolverKind::Varpro)).run(&regression(&x, 2, &y));
        assert!(refused.err().unwrap().to_string().contains("varpro"), "{loss}");
    }
}

/// A column may act through its linear term alone and have no relevance at all: TopK must not pass it over.
#[test]
fn a_selection_scores_linear_terms() {
    let x = normal_rows(300, 5, 240);
    let truth = |r: &[f32]| 3.0 * r[4] as f64 + (2.0 * r[1] as f64).sin();
    let y = target(&x, 5, truth);
    let model = sound(&quick(), &regression(&x, 5, &y));
    let fresh = normal_rows(300, 5, 241);
    let y = target(&fresh, 5, truth);
    let data = regression(&fresh, 5, &y);
    let top = rffnet::select::top_k(&model, &data).unwrap();
    for step in &top.path {
        let score = rffnet::select::score(&model.restricted(&top.order[..step.columns]), &data).unwrap();
        assert_eq!(step.score, score, "{} columns: {:?}", step.columns, model.relevances());
    }
    assert!(top.selected().contains(&4) && top.selected().contains(&1), "{top:?}");
}

#[test]
fn what_bears_on_nothing_is_no_worse_than_a_constant() {
    let x = normal_rows(200, 5, 233);
    let mut rng = Xorshift::new(234);
    let y: Vec<f64> = (0..200).map(|_| rng.normal()).collect();
    let model = sound(&Params::new(), &regression(&x, 5, &y));
    let fresh = normal_rows(500, 5, 235);
    let predicted = model.predict(matrix(&fresh, 5)).unwrap();
    let spread = metrics::mse(&vec![0.0; 500], &predicted, None);
    assert!(spread < 0.3, "noise is not learned: {spread}");
}

#[test]
fn a_model_read_back_predicts_the_same() {
    let x = normal_rows(150, 3, 236);
    let y = target(&x, 3, |r| (r[0] as f64).sin());
    let model = sound(&small().committee(2), &regression(&x, 3, &y));
    let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    let far = normal_rows(100, 3, 237).iter().map(|v| 10.0 * v).collect::<Vec<f32>>();
    assert_eq!(
        bits(&again.predict(matrix(&far, 3)).unwrap()),
        bits(&model.predict(matrix(&far, 3)).unwrap())
    );
    assert_eq!(again.summary().chosen, model.summary().chosen);
}

#[test]
fn five_columns_that_act_together_are_found_among_a_hundred() {
    // Clusters at the 32 corners of a cube, half of them of either class: no column says anything by itself.
    let mut draws = Xorshift::new(3);
    let mut corners: Vec<usize> = (0..32).collect();
    (1..32).rev().for_each(|i| corners.swap(i, (draws.uniform() * (i + 1) as f64) as usize));
    let rows = |n: usize, seed: u64| {
        let mut draws = Xorshift::new(seed);
        let mut x = normal_rows(n, 100, seed + 1);
        let classes: Vec<u32> = x
            .chunks_exact_mut(100)
            .map(|row| {
                let corner = (draws.uniform() * 32.0) as usize;
                (0..5).for_each(|j| row[20 * j] += if corner >> j & 1 == 1 { 2.0 } else { -2.0 });
                corners[corner] as u32 % 2
            })
            .collect();
        (x, classes)
    };
    let ((x, y), (test_x, test_y)) = (rows(2000, 11), rows(2000, 77));
    let names = names(&["a", "b"]);
    let model = fit(&Params::default(), &classification(&x, 100, &y, &names));
    let mut top = ranking(model.importances())[..5].to_vec();
    top.sort_unstable();
    assert_eq!(top, [0, 20, 40, 60, 80]);
    let labels = model.labels(matrix(&test_x, 100)).unwrap();
    let right = labels.iter().zip(&test_y).filter(|(a, b)| a == b).count();
    assert!(right >= 1800, "{right} of 2000");
}
