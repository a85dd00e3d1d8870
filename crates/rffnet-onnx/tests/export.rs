//! An exported graph, computed in f64 by a small interpreter, predicts what the model does.

mod common;

use common::read::{self, Cells, Tensor};
use common::run::run;
use rffnet::{
    ColumnTransform, ColumnType, Data, Effort, Fit, Kernel, LossKind, Matrix, Missing, Model, Params,
    Partitions, Preset, SolverKind, SpectrumMode, Target, TensorValues,
};

const COLUMNS: usize = 4;
const TOLERANCE: f64 = 1e-5;

/// Rows whose columns differ in place and spread; the last one means nothing.
fn rows(seed: u64, n: usize) -> Vec<f32> {
    let mut state = seed;
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f32 / (1u64 << 31) as f32 * 2.0 - 1.0
    };
    let scales = [(0.0, 2.0), (1000.0, 50.0), (-3.0, 0.01), (7.0, 1.0)];
    (0..n).flat_map(|_| scales.map(|(place, spread)| place + spread * uniform())).collect()
}

fn signal(row: &[f32]) -> f64 {
    let u = [row[0] / 2.0, (row[1] - 1000.0) / 50.0, (row[2] + 3.0) / 0.01].map(f64::from);
    (3.0 * u[0]).sin() + u[1] * u[2]
}

fn quick() -> Params {
    Params::new().effort(Effort::Quick).random_features(40).epochs(8)
}

fn fitted(params: &Params, x: &[f32], y: Target<'_>) -> Model {
    let x = Matrix::new(x, x.len() / COLUMNS, COLUMNS).expect("a matrix");
    Fit::new(params).run(&Data::new(x, y)).expect("a fit")
}

fn exported(model: &Model) -> read::Model {
    let bytes = rffnet_onnx::to_onnx(model).expect("a graph");
    assert_eq!(bytes, rffnet_onnx::to_onnx(model).expect("a graph"), "the same model gives the same bytes");
    let graph = read::model(&bytes);
    assert_eq!(graph.opset, [(String::new(), 17)]);
    assert_eq!(
        (graph.ir_version, graph.producer.as_str()),
        (8, concat!("rffnet ", env!("CARGO_PKG_VERSION")))
    );
    assert_eq!((graph.inputs[0].name.as_str(), graph.inputs[0].of), ("X", 1));
    assert_eq!(graph.inputs[0].shape, ["N".to_string(), COLUMNS.to_string()]);
    assert_eq!(graph.properties["feature_names"], r#"["x1","x2","x3","x4"]"#);
    graph
}

fn tensor(x: &[f32]) -> Tensor {
    Tensor::of(&[x.len() / COLUMNS, COLUMNS], x.iter().map(|&v| v.into()).collect())
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    assert!(a.iter().chain(b).all(|v| v.is_finite()));
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Fits numbers and compares on new rows; the graph, for closer looks.
fn regression(
    params: &Params,
    outputs: usize,
    y: impl Fn(&[f32]) -> f64,
    gaps: bool,
) -> (Model, read::Model) {
    let (mut train, mut new) = (rows(1, 300), rows(2, 90));
    let values: Vec<f64> = train
        .chunks(COLUMNS)
        .flat_map(|row| {
            (0..outputs).map(|c| y(row) + 10.0 * c as f64 * f64::from(row[0])).collect::<Vec<_>>()
        })
        .collect();
    if gaps {
        train.iter_mut().chain(&mut new).step_by(7).for_each(|v| *v = f32::NAN);
    }
    let model = fitted(params, &train, Target::Values { values: &values, outputs });
    let graph = exported(&model);
    let matrix = Matrix::new(&new, 90, COLUMNS).expect("a matrix");
    let expected = model.predict(matrix).expect("predictions");
    let got = run(&graph, tensor(&new));
    let spread = expected.iter().copied().fold(f64::NEG_INFINITY, f64::max)
        - expected.iter().copied().fold(f64::INFINITY, f64::min);
    let difference = largest_difference(got["prediction"].numbers(), &expected) / spread;
    println!("{difference:.1e}");
    assert!(difference < TOLERANCE, "{difference}");
    assert_eq!(graph.properties["task"], "regression");
    assert_eq!(graph.outputs.len(), 1);
    assert_eq!(graph.outputs[0].of, 11);
    assert_eq!(graph.outputs[0].shape.len(), if outputs == 1 { 1 } else { 2 });
    (model, graph)
}

/// How often an operator occurs.
fn occurrences(graph: &read::Model, op: &str) -> usize {
    graph.nodes.iter().filter(|node| node.op == op).count()
}

#[test]
fn an_ensemble_with_linear_terms() {
    let params = quick().committee(3).partitions(Partitions::None);
    let (model, graph) = regression(&params, 1, |row| 500.0 + 20.0 * signal(row), false);
    assert_eq!((model.committee(), occurrences(&graph, "Cos")), (3, 3));
    assert_eq!(occurrences(&graph, "MatMul"), 7, "two a member, and the linear terms");
}

#[test]
fn a_single_model_without_linear_terms() {
    let params = quick().committee(1).linear(false).partitions(Partitions::None);
    let (_, graph) = regression(&params, 1, signal, false);
    assert_eq!(occurrences(&graph, "MatMul"), 2);
}

/// A target that steps, beside one that does not.
fn steps(row: &[f32]) -> f64 {
    signal(row) + 4.0 * f64::from(u8::from(row[0] > 0.7 && row[1] < 1010.0)) - f64::from(row[3].round())
}

/// With partitions.
fn stepped() -> Params {
    quick().partitions(Partitions::Count(20))
}

#[test]
fn partitions_of_every_member() {
    let (model, graph) = regression(&stepped().committee(3), 1, steps, false);
    assert_eq!((model.partitions(), occurrences(&graph, "GreaterOrEqual")), (20, 3));
    assert_eq!(graph.constants["cut_place2"].shape, [20, 6]);
    assert_eq!(graph.constants["cell_values2"].shape, [20 * 64, 1]);
    assert!(graph.constants["cut_place2"].numbers().contains(&f32::MAX.into()), "there are empty cuts");
    regression(&stepped(), 3, steps, false);
    regression(&stepped().missing(Missing::Mean), 1, steps, true);
    let (_, graph) = regression(&quick().partitions(Partitions::None), 1, steps, false);
    assert_eq!(occurrences(&graph, "GreaterOrEqual"), 0);
}

#[test]
fn partitions_of_a_classifier() {
    for classes in [&["no", "yes"][..], &["low", "middle", "high"]] {
        let graph = classification(&stepped(), classes, 8);
        let outputs = if classes.len() == 2 { 1 } else { 3 };
        assert_eq!(graph.constants["cell_values1"].shape, [20 * 64, outputs]);
    }
}

#[test]
fn partitions_without_some_columns() {
    let (model, _) = regression(&stepped().committee(2), 1, steps, false);
    let new = rows(3, 50);
    for keep in [&[0][..], &[1, 3], &[]] {
        let model = model.restricted(keep);
        let graph = exported(&model);
        assert!(graph.constants["cut_place1"].numbers().contains(&f32::MIN.into()));
        let got = run(&graph, tensor(&new));
        let expected = model.predict(Matrix::new(&new, 50, COLUMNS).expect("a matrix")).expect("predictions");
        assert!(largest_difference(got["prediction"].numbers(), &expected) < TOLERANCE);
    }
}

/// Some cuts are at cells of the rows, one member's partitions are empty, and only cuts look at the last column.
#[test]
fn cuts_at_cells_and_of_columns_without_cosines() {
    let params = stepped().committee(2).linear(false).missing(Missing::Error);
    let (model, _) = regression(&params, 1, steps, false);
    let (mut new, t) = (rows(3, 60), model.transforms());
    let clips = |t: &ColumnTransform| t.soft_clip.is_none() && t.power.is_none_or(|p| p.power == 1.0);
    assert!(t.iter().all(clips), "columns are standardised and clipped, and that is all");
    let columns = model.members().next().expect("a member").cut_columns.clone();
    let mut tensors = model.tensors();
    for tensor in &mut tensors {
        let TensorValues::F32(values) = &mut tensor.values else { continue };
        let of_member = values.len() / 2;
        let (first, second) = values.split_at_mut(of_member);
        match tensor.name.as_str() {
            "theta" => (first[3], second[3]) = (0.0, 0.0),
            "cut.place" => {
                // Not of the first column, whose cells are not centred without rounding, which is not done here.
                let later = first.iter_mut().zip(columns.iter().map(|&j| j as usize)).filter(|(_, j)| *j > 0);
                for (i, (at, j)) in later.enumerate().step_by(2) {
                    let z = (new[i % 60 * COLUMNS + j] - t[j].mean) * t[j].inverse;
                    *at = t[j].power.map_or(z, |p| z.clamp(p.low, p.high));
                }
            }
            "cells" => second.fill(0.0),
            _ => {}
        }
    }
    let model = Model::from_tensors(model.metadata().clone(), tensors).expect("a model");
    let graph = exported(&model);
    assert_eq!(graph.constants["watched_column"].numbers(), [3.0]);
    assert_eq!(occurrences(&graph, "ReduceSum"), 1);
    let expected = model.predict(Matrix::new(&new, 60, COLUMNS).expect("a matrix")).expect("predictions");
    let got = run(&graph, tensor(&new));
    let difference = largest_difference(got["prediction"].numbers(), &expected);
    println!("{difference:.1e}");
    assert!(difference < TOLERANCE, "{difference}");
    // A row that the model refuses.
    new[3] = f32::NAN;
    let got = run(&graph, tensor(&new));
    let y = got["prediction"].numbers();
    assert!(y[0].is_nan() && y[1..].iter().all(|y| y.is_finite()));
}

#[test]
fn learned_and_heavy_tailed_spectra() {
    regression(&quick().spectrum(SpectrumMode::Learned), 1, signal, false);
    regression(&quick().kernel(Kernel::Matern32), 1, signal, false);
}

#[test]
fn long_tails_are_soft_clipped() {
    let tailed = |seed, n| -> Vec<f32> {
        rows(seed, n).chunks(COLUMNS).flat_map(|r| [(4.0 * r[0]).sinh(), r[1], r[2], r[3]]).collect()
    };
    let (train, new) = (tailed(1, 400), tailed(2, 90));
    let values: Vec<f64> = train.chunks(COLUMNS).map(|r| f64::from(r[0]).asinh().sin()).collect();
    let model = fitted(&quick(), &train, Target::Values { values: &values, outputs: 1 });
    assert!(model.summary().chosen.contains("soft clip"), "{}", model.summary().chosen);
    let graph = exported(&model);
    assert_eq!((occurrences(&graph, "Sqrt"), occurrences(&graph, "Pow")), (1, 0));
    let expected = model.predict(Matrix::new(&new, 90, COLUMNS).expect("a matrix")).expect("predictions");
    let got = run(&graph, tensor(&new));
    assert!(largest_difference(got["prediction"].numbers(), &expected) < TOLERANCE);
}

/// Fits logarithms of two columns, skewed to the right and to the left, beside one with long tails; compares on new rows.
fn skewed(params: &Params, gaps: bool) -> read::Model {
    let skewed = |seed, n| -> Vec<f32> {
        let shape = |r: &[f32]| {
            [(1.5 * r[0]).exp(), ((r[1] - 1000.0) / 8.0).sinh(), r[2], -(2.0 * (r[3] - 7.0)).exp()]
        };
        rows(seed, n).chunks(COLUMNS).flat_map(shape).collect()
    };
    let (mut train, mut new) = (skewed(1, 400), skewed(2, 90));
    let value = |r: &[f32]| f64::from(r[0]).ln().sin() + 0.3 * f64::from(-r[3]).ln();
    let values: Vec<f64> = train.chunks(COLUMNS).map(value).collect();
    if gaps {
        train.iter_mut().chain(&mut new).step_by(7).for_each(|v| *v = f32::NAN);
    }
    // Beyond the training rows, where the range ends.
    new[0] = -1e30;
    new[COLUMNS] = 1e30;
    let model = fitted(params, &train, Target::Values { values: &values, outputs: 1 });
    assert!(model.summary().chosen.contains("Yeo-Johnson"), "{}", model.summary().chosen);
    let graph = exported(&model);
    let expected = model.predict(Matrix::new(&new, 90, COLUMNS).expect("a matrix")).expect("predictions");
    let got = run(&graph, tensor(&new));
    let difference = largest_difference(got["prediction"].numbers(), &expected);
    println!("{difference:.1e}");
    assert!(difference < TOLERANCE, "{difference}");
    graph
}

#[test]
fn skewed_columns_have_a_yeo_johnson_transform() {
    let graph = skewed(&quick().missing(Missing::Error), false);
    assert_eq!((occurrences(&graph, "Pow"), occurrences(&graph, "IsNaN")), (1, 0));
    assert!(graph.constants["soft_clip"].numbers()[1] > 0.0, "long tails are soft-clipped as well");
    let power = graph.constants["power"].numbers();
    assert!(power[0] < 1.0 && power[0] != 0.0, "{power:?}");
    assert!(power[3] > 1.0, "{power:?}");
    assert_eq!(power[1..3], [0.0, 0.0], "symmetric columns are clipped at most");
}

#[test]
fn missing_values_of_transformed_columns_are_the_mean() {
    let graph = skewed(&quick().missing(Missing::Mean), true);
    assert_eq!((occurrences(&graph, "Pow"), occurrences(&graph, "IsNaN")), (1, 1));
}

/// Levels of a few and of many, dates, gaps in any of them, and levels that the model does not know.
#[test]
fn encoded_columns() {
    let category = |n: usize| ColumnType::Category { levels: (0..n).map(|l| format!("level {l}")).collect() };
    let types = [category(3), category(30), ColumnType::Date { day_first: false }, category(2)];
    let cell = |i: usize| -> [f32; 4] {
        let k = i * 7919 % 1000;
        let gap = |rows: usize, v: f32| if (i + rows).is_multiple_of(rows) { f32::NAN } else { v };
        [
            gap(9, (k % 3) as f32),
            gap(11, (k % 30) as f32),
            gap(13, 9000.0 + i as f32 * 2.25),
            gap(7, (k % 2) as f32),
        ]
    };
    let x: Vec<f32> = (0..600).flat_map(cell).collect();
    let y: Vec<f64> = (0..600).map(|i| (i * 7919 % 1000 % 30) as f64 + f64::from(i as u32) / 100.0).collect();
    let data = Data {
        types: Some(&types),
        ..Data::new(
            Matrix::new(&x, 600, COLUMNS).expect("a matrix"),
            Target::Values { values: &y, outputs: 1 },
        )
    };
    let model = Fit::new(&quick()).run(&data).expect("a fit");
    let graph = exported(&model);
    let mut new = x[..400].to_vec();
    (new[0], new[5], new[8], new[11]) = (-1.0, 99.0, 7.0, -1.0);
    let outputs = run(&graph, tensor(&new));
    let expected = model.predict(Matrix::new(&new, 100, COLUMNS).expect("a matrix")).expect("predicts");
    assert!(largest_difference(outputs["prediction"].numbers(), &expected) < 1e-3);
    assert!(graph.properties["levels"].starts_with(r#"[["level 0","level 1","level 2"],["#));
}

#[test]
fn several_outputs() {
    regression(&quick(), 3, signal, false);
}

#[test]
fn the_paper_preset_has_no_guard() {
    let params = Params::new().preset(Preset::Paper).epochs(5).random_features(50).missing(Missing::Error);
    let (_, graph) = regression(&params, 1, signal, false);
    assert_eq!((occurrences(&graph, "Max"), occurrences(&graph, "IsNaN")), (0, 0));
}

#[test]
fn missing_values_are_the_mean() {
    let (_, graph) = regression(&quick().missing(Missing::Mean), 1, signal, true);
    assert_eq!((occurrences(&graph, "IsNaN"), occurrences(&graph, "Where")), (1, 1));
}

#[test]
fn expected_counts() {
    let params = quick().loss(LossKind::Poisson);
    let (_, graph) = regression(&params, 1, |row| (3.0 + 2.0 * signal(row)).max(0.0).round(), false);
    assert_eq!(occurrences(&graph, "Exp"), 1);
}

#[test]
fn only_the_columns_a_member_looks_at() {
    let (model, _) = regression(&quick().committee(1), 1, signal, false);
    let new = rows(3, 50);
    let matrix = Matrix::new(&new, 50, COLUMNS).expect("a matrix");
    for keep in [&[0][..], &[0, 2], &[]] {
        let model = model.restricted(keep);
        let graph = exported(&model);
        assert_eq!(graph.constants["support1"].shape, [keep.len().max(1)]);
        let got = run(&graph, tensor(&new));
        let expected = model.predict(matrix).expect("predictions");
        assert!(largest_difference(got["prediction"].numbers(), &expected) < TOLERANCE);
    }
}

#[test]
fn the_guard_holds_far_away() {
    let steep = |row: &[f32]| 50.0 * f64::from(row[0]) + signal(row);
    let (model, graph) = regression(&quick().committee(1), 1, steep, false);
    let far: Vec<f32> = rows(4, 40).chunks(COLUMNS).flat_map(|r| [r[0] * 30.0, r[1], r[2], r[3]]).collect();
    let expected = model.predict(Matrix::new(&far, 40, COLUMNS).expect("a matrix")).expect("predictions");
    let got = run(&graph, tensor(&far));
    let y = got["prediction"].numbers();
    for bound in ["lowest", "highest"] {
        let bound = graph.constants[bound].numbers()[0];
        assert!(y.iter().filter(|&&y| y == bound).count() > 3, "the guard is reached");
    }
    let difference = largest_difference(y, &expected);
    assert!(difference < 1e-3, "{difference}");
}

/// Fits labels and compares probabilities and labels on new rows.
fn classification(params: &Params, classes: &[&str], label_type: u64) -> read::Model {
    let (train, new) = (rows(1, 300), rows(2, 90));
    let classes: Vec<String> = classes.iter().map(|c| c.to_string()).collect();
    let code = |row: &[f32]| ((signal(row) + 1.5) / 3.0 * classes.len() as f64) as u32;
    let codes: Vec<u32> = train.chunks(COLUMNS).map(|row| code(row).min(classes.len() as u32 - 1)).collect();
    let model = fitted(params, &train, Target::Labels { codes: &codes, classes: &classes });
    let graph = exported(&model);
    let x = Matrix::new(&new, 90, COLUMNS).expect("a matrix");
    let got = run(&graph, tensor(&new));
    let difference =
        largest_difference(got["probabilities"].numbers(), &model.probabilities(x).expect("probabilities"));
    println!("{difference:.1e}");
    assert!(difference < TOLERANCE, "{difference}");
    let labels: Vec<String> = match &got["label"].cells {
        Cells::Texts(texts) => texts.clone(),
        Cells::Numbers(numbers) => numbers.iter().map(f64::to_string).collect(),
    };
    let expected = model.labels(x).expect("labels");
    assert!(expected.iter().any(|&c| c != expected[0]), "more than one class is predicted");
    assert!(expected.iter().zip(&labels).all(|(&code, label)| classes[code as usize] == *label));
    assert_eq!(graph.outputs.iter().map(|o| o.name.as_str()).collect::<Vec<_>>(), ["label", "probabilities"]);
    assert_eq!((graph.outputs[0].of, graph.outputs[1].of), (label_type, 1));
    assert_eq!(graph.properties["task"], "classification");
    graph
}

#[test]
fn two_classes() {
    let graph = classification(&quick(), &["no", "yes"], 8);
    assert_eq!(graph.properties["classes"], r#"["no","yes"]"#);
    classification(&quick().solver(SolverKind::Adam), &["hélas, \"non\"", ""], 8);
}

#[test]
fn several_classes() {
    classification(&quick(), &["low", "middle", "high"], 8);
    let params = Params::new().preset(Preset::Paper).random_features(50);
    classification(&params, &["a", "b", "c", "d"], 8);
}

#[test]
fn whole_numbers_as_classes() {
    classification(&quick(), &["-1", "0", "12"], 7);
    classification(&quick(), &["0", "1.5"], 8);
    classification(&quick(), &["01", "1"], 8);
}
