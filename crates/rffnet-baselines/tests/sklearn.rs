//! The same predictions as scikit-learn, stored in `fixtures/sklearn.json` by `fixtures/make.py`.

use rffnet::{Data, Matrix, Target};
use rffnet_baselines::{KernelRidge, Linear, Method, Nystroem, Options, fit};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("an array").iter().map(|v| v.as_f64().expect("a number")).collect()
}

fn agree(prefix: &str, method: &dyn Method) {
    let file: Value = serde_json::from_str(include_str!("fixtures/sklearn.json")).expect("JSON");
    let single = |name: &str| numbers(&file[name]).iter().map(|&v| v as f32).collect::<Vec<f32>>();
    let (x, test, weight, values) = (single("x"), single("test"), single("weight"), numbers(&file["values"]));
    let codes = |name: &str| numbers(&file[name]).iter().map(|&v| v as u32).collect::<Vec<u32>>();
    let (two, three) = (codes("two"), codes("three"));
    let names: Vec<String> = (0..3).map(|c| c.to_string()).collect();
    let (d, n) = (3, weight.len());
    let targets = [
        ("values", Target::Values { values: &values, outputs: 2 }),
        ("two", Target::Labels { codes: &two, classes: &names[..2] }),
        ("three", Target::Labels { codes: &three, classes: &names }),
    ];
    for (name, y) in targets {
        for weighted in ["", " weighted"] {
            let mut data = Data::new(Matrix::new(&x, n, d).expect("a matrix"), y);
            data.weight = (!weighted.is_empty()).then_some(&weight);
            let model = fit(method, &data, &Options::default()).expect("a model");
            let ours =
                model.decision(Matrix::new(&test, test.len() / d, d).expect("a matrix")).expect("rows");
            let theirs = numbers(&file["expected"][format!("{prefix} {name}{weighted}")]);
            assert_eq!(ours.len(), theirs.len());
            for (ours, theirs) in ours.iter().zip(&theirs) {
                let difference = (ours - theirs).abs() / theirs.abs().max(1.0);
                assert!(difference < 2e-6, "{prefix} {name}{weighted}: {ours} {theirs}");
            }
        }
    }
}

#[test]
fn kernel_ridge() {
    agree("krr", &KernelRidge::paper());
}

#[test]
fn linear() {
    agree("linear", &Linear::paper());
}

#[test]
fn nystroem() {
    let file: Value = serde_json::from_str(include_str!("fixtures/sklearn.json")).expect("JSON");
    let landmarks = numbers(&file["landmarks"]).iter().map(|&i| i as usize).collect();
    agree("nystroem", &Nystroem { landmarks: Some(landmarks), ..Nystroem::paper() });
}
