//! The same seed gives the same model, to the last bit, on any number of threads.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::process::Command;

use common::{bits, classification, codes, fit, matrix, names, normal_rows, quick, regression, target};
use rffnet::{Data, Init, Matrix, Model, Params, SolverKind};

const SOLVERS: [SolverKind; 4] =
    [SolverKind::Adam, SolverKind::Sgd, SolverKind::PalmAdam, SolverKind::PalmSgd];

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

fn bytes(threads: usize, params: &Params, data: &Data<'_>) -> Vec<u8> {
    on_threads(threads, || fit(params, data).to_bytes().unwrap())
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let x = normal_rows(300, 3, 91);
    let y = target(&x, 3, |r| (r[0] as f64).sin());
    let data = regression(&x, 3, &y);
    let with = |seed: u64| fit(&quick().seed(seed).epochs(5), &data).to_bytes().unwrap();
    assert!(with(0) == with(0));
    for other in [1, 2, u64::MAX] {
        assert!(with(0) != with(other), "seed {other}");
    }
}

/// Wide enough (features x columns x rows) that batches really are shared out to threads.
#[test]
fn threads_do_not_change_a_bit_for_any_solver_and_batch_size() {
    let x = normal_rows(1100, 9, 92);
    let y = target(&x, 9, |r| (r[0] as f64).sin() + (r[1] * r[2]) as f64);
    let data = regression(&x, 9, &y);
    for solver in SOLVERS {
        for batch_size in [1, 64, 100, 128, 1000] {
            let params =
                Params::new().solver(solver).batch_size(batch_size).epochs(2).random_features(300).lr(1e-4);
            let one = bytes(1, &params, &data);
            for threads in [2, 3] {
                assert!(
                    one == bytes(threads, &params, &data),
                    "{solver}, batches of {batch_size}, {threads} threads"
                );
            }
        }
    }
}

#[test]
fn threads_do_not_change_a_bit_with_any_start_weights_and_several_outputs() {
    let x = normal_rows(5000, 4, 93);
    let y = codes(&x, 4, |r| u32::from(r[0] > 0.0) + u32::from(r[1] > 0.5));
    let classes = names(&["a", "b", "c"]);
    let weight: Vec<f32> = (0..5000).map(|i| (i % 7) as f32 * 0.3).collect();
    let data = Data { weight: Some(&weight), ..classification(&x, 4, &y, &classes) };
    for &init in Init::ALL {
        for params in [Params::default(), Params::paper()] {
            let params = params.init(init).epochs(2).random_features(100);
            let one = bytes(1, &params, &data);
            for threads in [2, 3] {
                assert!(one == bytes(threads, &params, &data), "{init}, {threads} threads");
            }
        }
    }
}

#[test]
fn a_prediction_does_not_depend_on_the_rows_beside_it_nor_on_threads() {
    let x = normal_rows(300, 3, 94);
    let y = target(&x, 3, |r| (r[0] as f64).sin());
    let labels = codes(&x, 3, |r| u32::from(r[0] > 0.0) + u32::from(r[1] > 0.5));
    let classes = names(&["a", "b", "c"]);
    for model in
        [fit(&quick(), &regression(&x, 3, &y)), fit(&quick(), &classification(&x, 3, &labels, &classes))]
    {
        let k = model.outputs();
        let all = on_threads(1, || model.decision(matrix(&x, 3)).unwrap());
        assert_eq!(bits(&all), bits(&on_threads(3, || model.decision(matrix(&x, 3)).unwrap())));
        for count in [1, 2, 7, 8, 63, 64, 65] {
            for start in (0..300 - count).step_by(13) {
                let part = Matrix::new(&x[start * 3..(start + count) * 3], count, 3).unwrap();
                let got = model.decision(part).unwrap();
                assert_eq!(
                    bits(&got),
                    bits(&all[start * k..(start + count) * k]),
                    "{count} rows from {start}"
                );
            }
        }
    }
}

/// Set in a copy of this test's own process, which then predicts and writes what it found to standard output.
const CHILD: &str = "RFFNET_TEST_CHILD_MODEL";

fn probe() -> Vec<f32> {
    let mut x = normal_rows(100, 3, 96);
    // Some rows far out, where arguments of the cosines are large.
    x.chunks_exact_mut(3).step_by(10).for_each(|r| r[0] *= 30.0);
    x
}

#[test]
fn every_instruction_set_predicts_the_same_up_to_rounding() {
    if let Some(path) = std::env::var_os(CHILD) {
        let model = Model::load(path).unwrap();
        println!("path {}", rffnet::simd::path());
        for value in model.decision(matrix(&probe(), 3)).unwrap() {
            println!("value {value:e}");
        }
        return;
    }
    let x = normal_rows(300, 3, 95);
    let y: Vec<f64> = x.chunks_exact(3).flat_map(|r| [(r[0] as f64).sin(), r[1] as f64]).collect();
    let data = Data::new(matrix(&x, 3), rffnet::Target::Values { values: &y, outputs: 2 });
    let model = fit(&quick().random_features(101), &data);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.rffnet");
    model.save(&file).unwrap();
    let here = model.decision(matrix(&probe(), 3)).unwrap();
    for path in rffnet::simd::available() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["every_instruction_set_predicts_the_same_up_to_rounding", "--exact", "--nocapture"])
            .env(CHILD, &file)
            .env("RFFNET_SIMD", path.to_string())
            .output()
            .unwrap();
        assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(&format!("path {path}")), "{text}");
        let values: Vec<f64> =
            text.lines().filter_map(|l| l.split_once("value ")).map(|(_, v)| v.parse().unwrap()).collect();
        assert_eq!(values.len(), here.len());
        for (a, b) in here.iter().zip(&values) {
            assert!((a - b).abs() < 1e-4 * (1.0 + a.abs()), "{path}: {a} {b}");
        }
    }
}
