//! Model files of format 1 are read for ever: each fixture must load and predict what it did when it was written.
//!
//! `fixtures/format1/NAME.rffnet` is a model, `NAME.json` beside it has rows (`null` is a missing cell) and what the model
//! predicts for them. `make.py` in that folder made them.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use rffnet::{Matrix, Model, Task};
use safetensors::SafeTensors;
use serde_json::{Map, Value};

/// How far predictions may be from those written down, relative to the root mean square of their output: processors
/// differ in how they round.
const TOLERANCE: f64 = 1e-5;

/// A model file and what is expected of it.
struct Fixture {
    name: String,
    path: PathBuf,
    bytes: Vec<u8>,
    rows: Vec<f32>,
    columns: usize,
    /// Predictions, or probabilities for classes.
    numbers: Vec<Vec<f64>>,
    /// Empty for a regression.
    labels: Vec<String>,
}

impl Fixture {
    fn read(path: PathBuf) -> Self {
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        let text = fs::read_to_string(path.with_extension("json")).expect(&name);
        let value: Map<String, Value> = serde_json::from_str(&text).expect(&name);
        let rows = value["rows"].as_array().unwrap();
        let cell = |cell: &Value| cell.as_f64().map_or(f32::NAN, |v| v as f32);
        let numbers = value.get("predictions").unwrap_or_else(|| &value["probabilities"]);
        let labels = value.get("labels").map_or_else(Vec::new, |labels| {
            labels.as_array().unwrap().iter().map(|label| label.as_str().unwrap().to_string()).collect()
        });
        Self {
            columns: rows[0].as_array().unwrap().len(),
            rows: rows.iter().flat_map(|row| row.as_array().unwrap().iter().map(cell)).collect(),
            numbers: serde_json::from_value(numbers.clone()).expect(&name),
            labels,
            bytes: fs::read(&path).expect(&name),
            name,
            path,
        }
    }

    fn matrix(&self) -> Matrix<'_> {
        Matrix::new(&self.rows, self.numbers.len(), self.columns).unwrap()
    }

    /// Predictions, or probabilities for classes.
    fn predicted(&self, model: &Model) -> Vec<f64> {
        match model.task() {
            Task::Regression => model.predict(self.matrix()),
            Task::Classification => model.probabilities(self.matrix()),
        }
        .unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// The JSON text in the header of the file.
    fn card(&self) -> Value {
        let (_, header) = SafeTensors::read_metadata(&self.bytes).unwrap();
        serde_json::from_str(&header.metadata().as_ref().unwrap()["rffnet"]).unwrap()
    }

    /// A tensor's values, if the file has it.
    fn tensor(&self, name: &str) -> Option<Vec<f32>> {
        let tensors = SafeTensors::deserialize(&self.bytes).unwrap();
        let value = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
        Some(tensors.tensor(name).ok()?.data().chunks_exact(4).map(value).collect())
    }
}

fn fixtures() -> Vec<Fixture> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format1");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "rffnet"));
    paths.sort();
    paths.into_iter().map(Fixture::read).collect()
}

#[test]
fn every_fixture_predicts_what_it_did() {
    for fixture in fixtures() {
        let name = &fixture.name;
        let model = Model::load(&fixture.path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let width = fixture.numbers[0].len();
        let predicted = fixture.predicted(&model);
        assert_eq!(predicted.len(), width * fixture.numbers.len(), "{name}");
        for output in 0..width {
            let squares: f64 = fixture.numbers.iter().map(|row| row[output].powi(2)).sum();
            let size = (squares / fixture.numbers.len() as f64).sqrt();
            for (i, expected) in fixture.numbers.iter().map(|row| row[output]).enumerate() {
                let got = predicted[i * width + output];
                let difference = (got - expected).abs() / expected.abs().max(size);
                assert!(
                    difference <= TOLERANCE,
                    "{name}, row {}: {got}, not {expected}: {difference:.1e}",
                    i + 1
                );
            }
        }
        if model.task() == Task::Classification {
            let labels = model.labels(fixture.matrix()).unwrap();
            let labels: Vec<&String> = labels.iter().map(|&code| &model.classes()[code as usize]).collect();
            assert_eq!(labels, fixture.labels.iter().collect::<Vec<_>>(), "{name}");
        }
    }
}

#[test]
fn a_fixture_saved_and_loaded_again_predicts_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    for fixture in fixtures() {
        let model = Model::load(&fixture.path).unwrap();
        let path = folder.path().join(&fixture.name);
        model.save(&path).unwrap();
        let again = Model::load(&path).unwrap();
        let bits =
            |model: &Model| -> Vec<u64> { fixture.predicted(model).into_iter().map(f64::to_bits).collect() };
        assert_eq!(bits(&again), bits(&model), "{}", fixture.name);
        assert_eq!(again.task(), model.task(), "{}", fixture.name);
        assert_eq!(again.classes(), model.classes(), "{}", fixture.name);
        assert_eq!(again.feature_names(), model.feature_names(), "{}", fixture.name);
        assert_eq!(again.has_names(), model.has_names(), "{}", fixture.name);
        assert_eq!(again.relevances(), model.relevances(), "{}", fixture.name);
        assert_eq!(again.importances(), model.importances(), "{}", fixture.name);
    }
}

#[test]
fn there_is_a_fixture_of_each_kind() {
    let mut kinds = BTreeSet::new();
    for fixture in fixtures() {
        let model = Model::load(&fixture.path).unwrap();
        let card = fixture.card();
        assert_eq!(card["format"], 1, "{}: fixtures of format 1 are kept as they are", fixture.name);
        let text = |value: &Value| value.as_str().unwrap().to_string();
        kinds.insert(format!("kernel {}", model.kernel()));
        kinds.insert(format!("link {}", text(&card["link"])));
        for key in ["preset", "solver", "sampling", "loss", "spectrum", "missing"] {
            let value = text(&card["params"][key]);
            kinds.insert(format!("{key} {}", value.split(':').next().unwrap()));
        }
        kinds.insert(format!("stopped {}", text(&card["summary"]["stopped"])));
        if card["params"].get("restarts").is_none() {
            kinds.insert("no restarts".into());
        }
        kinds.insert(if model.committee() > 1 { "several members" } else { "one member" }.into());
        kinds.insert(if model.has_names() { "named columns" } else { "columns without names" }.into());
        let outputs = match model.task() {
            Task::Regression => format!("regression with {} outputs", model.outputs()),
            Task::Classification => format!("{} classes", model.classes().len()),
        };
        kinds.insert(outputs);
        if let Some(warp) = fixture.tensor("scale.warp") {
            for power in &warp[..fixture.columns] {
                let kind = match power {
                    0.0 => "a column left as it is",
                    1.0 => "clipping",
                    _ => "Yeo-Johnson",
                };
                kinds.insert(kind.into());
            }
        } else {
            kinds.insert("no column transform".into());
        }
        if fixture.tensor("scale.bend").is_some_and(|bend| bend.iter().any(|&b| b > 0.0)) {
            kinds.insert("soft clip".into());
        }
        let linear = fixture.tensor("linear").is_some();
        kinds.insert(if linear { "linear terms" } else { "no linear terms" }.into());
        if fixture.rows.iter().any(|v| v.is_nan()) {
            kinds.insert("missing cells".into());
        }
        if fixture.tensor("theta").unwrap().contains(&0.0) {
            kinds.insert("a relevance of zero".into());
        }
    }
    let wanted = "kernel gaussian, kernel laplace, kernel cauchy, kernel matern32, kernel matern52, kernel custom, \
        link identity, link log, link logistic, link softmax, preset auto, preset paper, solver varpro, solver adam, \
        solver palm-sgd, sampling iid, sampling orthogonal, loss squared, loss cross-entropy, loss huber, loss quantile, \
        loss poisson, spectrum auto, spectrum learned, spectrum fixed, missing error, missing mean, \
        stopped constant-target, no restarts, one member, several members, named columns, columns without names, \
        regression with 1 outputs, regression with 2 outputs, 2 classes, 4 classes, a column left as it is, clipping, \
        Yeo-Johnson, no column transform, soft clip, linear terms, no linear terms, missing cells, a relevance of zero";
    let absent: Vec<&str> = wanted.split(", ").filter(|kind| !kinds.contains(*kind)).collect();
    assert!(absent.is_empty(), "no fixture has: {absent:?}; there are {kinds:?}");
}
