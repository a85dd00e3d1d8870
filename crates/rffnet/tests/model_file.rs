//! Model files: written whole or not at all, read back to the last bit, refused with a sentence.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::fs;
use std::path::Path;

use common::{
    bits, classification, codes, fit, matrix, names, normal_rows, quick, regression, sentence, target,
    without_checksum,
};
use rffnet::{Data, Error, LossKind, Model, Params, Partitions, SolverKind, Target, write_file};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

/// So many networks, by varpro.
fn exact(networks: usize) -> Params {
    Params::new().solver(SolverKind::Varpro).committee(networks).random_features(13).epochs(3)
}

/// One small model of each kind, and rows to predict.
fn models() -> (Vec<(&'static str, Model)>, Vec<f32>) {
    let x = normal_rows(120, 3, 121);
    let y = target(&x, 3, |r| 50.0 + 10.0 * (r[0] as f64).sin());
    let two: Vec<f64> = x.chunks_exact(3).flat_map(|r| [r[0] as f64, 1e6 * r[1] as f64]).collect();
    let counts = target(&x, 3, |r| (r[0].abs() * 4.0).floor() as f64);
    let labels = codes(&x, 3, |r| u32::from(r[0] > 0.0) + u32::from(r[0] > 0.8));
    let yes_no: Vec<u32> = labels.iter().map(|&c| c.min(1)).collect();
    let classes = names(&["α \"quoted\"", "b\\\n", ""]);
    let columns = names(&["first", "zweite Spalte", "🦀"]);
    let small = quick().random_features(13).epochs(6);
    let several = Data::new(matrix(&x, 3), Target::Values { values: &two, outputs: 2 });
    let poisson = small.clone().loss(LossKind::Poisson);
    let paper = Params::paper().epochs(6);
    let models = vec![
        ("regression", fit(&small, &Data { names: Some(&columns), ..regression(&x, 3, &y) })),
        ("paper", fit(&paper, &regression(&x, 3, &y))),
        ("binary", fit(&small, &classification(&x, 3, &yes_no, &classes[..2]))),
        ("classes", fit(&small, &classification(&x, 3, &labels, &classes))),
        ("outputs", fit(&small, &several)),
        ("poisson", fit(&poisson, &regression(&x, 3, &counts))),
        ("committee", fit(&exact(2).partitions(Partitions::Count(32)), &several)),
        ("committee of classes", fit(&exact(3), &classification(&x, 3, &labels, &classes))),
        ("exact", fit(&exact(1), &regression(&x, 3, &y))),
    ];
    (models, normal_rows(70, 3, 122))
}

#[test]
fn a_model_read_back_is_the_same_in_everything_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let (models, x) = models();
    for (name, model) in models {
        let path = folder.path().join(name);
        model.save(&path).unwrap();
        assert!(fs::read(&path).unwrap() == model.to_bytes().unwrap(), "{name}");
        let again = Model::load(&path).unwrap();
        let rows = matrix(&x, 3);
        assert_eq!(bits(&again.decision(rows).unwrap()), bits(&model.decision(rows).unwrap()), "{name}");
        match model.predict(rows) {
            Ok(p) => assert_eq!(bits(&again.predict(rows).unwrap()), bits(&p), "{name}"),
            Err(_) => {
                let p = model.probabilities(rows).unwrap();
                assert_eq!(bits(&again.probabilities(rows).unwrap()), bits(&p), "{name}");
                assert_eq!(again.labels(rows).unwrap(), model.labels(rows).unwrap(), "{name}");
            }
        }
        assert_eq!(again.task(), model.task());
        assert_eq!(again.classes(), model.classes());
        assert_eq!(again.feature_names(), model.feature_names());
        assert_eq!(again.has_names(), name == "regression");
        assert_eq!(again.relevances(), model.relevances());
        assert_eq!(again.importances(), model.importances());
        assert_eq!(again.summary(), model.summary());
        assert_eq!(again.plan(), model.plan());
        assert_eq!((again.outputs(), again.random_features()), (model.outputs(), model.random_features()));
        assert_eq!((again.kernel(), again.committee()), ("gaussian", model.committee()));
        assert_eq!(model.committee() > 1, name.starts_with("committee"), "{name}");
        // And written again, the bytes are the same: nothing was lost on the way.
        assert!(again.to_bytes().unwrap() == model.to_bytes().unwrap(), "{name}");
        assert!(model.clone().to_bytes().unwrap() == model.to_bytes().unwrap(), "{name}");
    }
}

/// sqrt(2/s) and losses are read back to the last bit whatever they are.
#[test]
fn every_number_of_the_text_part_survives() {
    let x = normal_rows(30, 1, 123);
    let y = target(&x, 1, |r| r[0] as f64);
    for s in 1..40 {
        let params = quick().random_features(s).epochs(2).seed(s as u64);
        let bytes = fit(&params, &regression(&x, 1, &y)).to_bytes().unwrap();
        assert!(Model::from_bytes(&bytes).unwrap().to_bytes().unwrap() == bytes, "{s} features");
    }
}

/// The tensors of a file, by the names and shapes its documentation gives.
#[test]
fn the_file_is_what_its_documentation_says() {
    let (models, _) = models();
    let (_, model) = &models[3];
    let bytes = model.to_bytes().unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let expected: [(&str, Dtype, &[usize]); 10] = [
        ("theta", Dtype::F32, &[3]),
        ("omega", Dtype::F32, &[3, 13]),
        ("phase", Dtype::F32, &[13]),
        ("beta", Dtype::F32, &[13, 3]),
        ("intercept", Dtype::F32, &[3]),
        ("importance", Dtype::F32, &[3]),
        ("scale.mean", Dtype::F32, &[3]),
        ("scale.inverse", Dtype::F32, &[3]),
        ("scale.target_mean", Dtype::F64, &[3]),
        ("scale.target_scale", Dtype::F64, &[3]),
    ];
    assert_eq!(file.names().len(), expected.len());
    for (name, dtype, shape) in expected {
        let tensor = file.tensor(name).unwrap();
        assert_eq!((tensor.dtype(), tensor.shape()), (dtype, shape), "{name}");
    }
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let card: serde_json::Value =
        serde_json::from_str(&header.metadata().as_ref().unwrap()["rffnet"]).unwrap();
    assert_eq!((&card["format"], &card["task"]), (&2.into(), &"classification".into()));
    assert_eq!(card["checksum"].as_str().map(str::len), Some(16));
    assert_eq!(card["guard"], serde_json::json!([]));
}

/// Several networks have a leading dimension; varpro's have linear terms and a guard.
#[test]
fn the_file_of_a_committee_is_what_its_documentation_says() {
    let (models, _) = models();
    let bytes = models[6].1.to_bytes().unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let expected: [(&str, &[usize]); 15] = [
        ("theta", &[2, 3]),
        ("omega", &[2, 3, 13]),
        ("phase", &[2, 13]),
        ("beta", &[2, 13, 2]),
        ("intercept", &[2, 2]),
        ("linear", &[2, 3, 2]),
        ("cut.column", &[2, 32, 6]),
        ("cut.place", &[2, 32, 6]),
        ("cells", &[2, 32, 64, 2]),
        ("importance", &[3]),
        ("scale.mean", &[3]),
        ("scale.inverse", &[3]),
        ("scale.warp", &[5, 3]),
        ("scale.target_mean", &[2]),
        ("scale.target_scale", &[2]),
    ];
    assert_eq!(file.names().len(), expected.len());
    for (name, shape) in expected {
        assert_eq!(file.tensor(name).unwrap().shape(), shape, "{name}");
    }
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let card: serde_json::Value =
        serde_json::from_str(&header.metadata().as_ref().unwrap()["rffnet"]).unwrap();
    assert_eq!(card["guard"].as_array().map(Vec::len), Some(2));
    assert!(card["summary"]["chosen"].as_str().unwrap().contains("ensemble of 2 members"));
}

#[test]
fn linear_terms_and_a_guard_that_do_not_fit_are_called_damaged() {
    let (models, _) = models();
    let bytes = models[6].1.to_bytes().unwrap();
    let guard = r#"\"guard\":[["#;
    for (from, to) in [
        (r#""shape":[2,3,2]"#, r#""shape":[2,2,3]"#),
        (r#""shape":[2,3,2]"#, r#""shape":[12]"#),
        (guard, r#"\"guard\":[[0,1],["#),
        (guard, r#"\"guard\":[[2,1]],\"other\":[["#),
        (guard, r#"\"guard\":7,\"other\":[["#),
    ] {
        let text = sentence(Model::from_bytes(&edit(&bytes, from, to)));
        assert!(text.contains("the model file is damaged"), "{to}: {text}");
    }
}

/// Stacks the networks of several files of one shape into one file, as the format foresees.
fn committee(files: &[Vec<u8>]) -> Vec<u8> {
    let parsed: Vec<SafeTensors<'_>> = files.iter().map(|b| SafeTensors::deserialize(b).unwrap()).collect();
    let tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = parsed[0]
        .tensors()
        .into_iter()
        .map(|(name, first)| {
            let stacked = ["theta", "omega", "phase", "beta", "intercept"].contains(&name.as_str());
            let (shape, data) = if stacked {
                let data = parsed.iter().flat_map(|p| p.tensor(&name).unwrap().data().to_vec()).collect();
                ([&[files.len()], first.shape()].concat(), data)
            } else {
                (first.shape().to_vec(), first.data().to_vec())
            };
            (name, first.dtype(), shape, data)
        })
        .collect();
    let (_, header) = SafeTensors::read_metadata(&files[0]).unwrap();
    let views = tensors
        .iter()
        .map(|(name, dtype, shape, data)| (name, TensorView::new(*dtype, shape.clone(), data).unwrap()));
    safetensors::serialize(views, header.metadata().clone()).unwrap()
}

#[test]
fn several_networks_in_one_file_are_averaged() {
    let x = normal_rows(80, 3, 124);
    let y = target(&x, 3, |r| (r[0] as f64).sin());
    let members: Vec<Model> =
        (0..3).map(|seed| fit(&quick().seed(seed).random_features(9), &regression(&x, 3, &y))).collect();
    let files: Vec<Vec<u8>> = members.iter().map(|m| without_checksum(&m.to_bytes().unwrap())).collect();
    let model = Model::from_bytes(&committee(&files)).unwrap();
    assert_eq!(model.committee(), 3);
    let rows = matrix(&x, 3);
    let each: Vec<Vec<f64>> = members.iter().map(|m| m.predict(rows).unwrap()).collect();
    for (i, got) in model.predict(rows).unwrap().iter().enumerate() {
        let mean = each.iter().map(|p| p[i]).sum::<f64>() / 3.0;
        assert!((got - mean).abs() < 1e-6, "{got} {mean}");
    }
    for (j, got) in model.relevances().iter().enumerate() {
        let mean = members.iter().map(|m| m.relevances()[j]).sum::<f32>() / 3.0;
        assert!((got - mean).abs() < 1e-6);
    }
    let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(again.committee(), 3);
    assert_eq!(bits(&again.predict(rows).unwrap()), bits(&model.predict(rows).unwrap()));
    assert!(model.restricted(&[]).relevances().iter().all(|&r| r == 0.0));
}

/// Replaces text in the header of a file of format 1 and corrects its length.
fn edit(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let bytes = &without_checksum(bytes);
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&bytes[8..8 + length]).unwrap();
    assert!(header.contains(from), "{from} is not in {header}");
    let header = header.replacen(from, to, 1);
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &bytes[8 + length..]].concat()
}

#[test]
fn another_format_is_refused_with_advice() {
    let (models, _) = models();
    let bytes = models[0].1.to_bytes().unwrap();
    assert!(Model::from_bytes(&edit(&bytes, "rffnet", "rffnet")).is_ok());
    for newer in ["3", "4294967295"] {
        let text =
            sentence(Model::from_bytes(&edit(&bytes, r#"\"format\":1"#, &format!(r#"\"format\":{newer}"#))));
        assert!(
            text.contains(&format!("has format {newer}, but this version reads formats 1 to 2; update")),
            "{text}"
        );
    }
    assert!(
        sentence(Model::from_bytes(&edit(&bytes, r#"\"format\":1"#, r#"\"format\":0"#))).contains("format 0")
    );
    let text = sentence(Model::from_bytes(&edit(&bytes, r#"\"format\":1,"#, "")));
    assert!(text.contains("not an rffnet model file"), "{text}");
}

#[test]
fn a_file_of_before_restarts_could_be_set_loads_as_ten() {
    let (models, _) = models();
    let bytes = models[0].1.to_bytes().unwrap();
    let model = Model::from_bytes(&edit(&bytes, r#"\"restarts\":10,"#, "")).unwrap();
    assert_eq!(model.plan().descent().unwrap().restarts, 10);
    assert!(model.to_bytes().unwrap() == bytes);
}

#[test]
fn a_file_that_contradicts_itself_is_called_damaged() {
    let (models, _) = models();
    let bytes = models[0].1.to_bytes().unwrap();
    let edits = [
        (r#"\"task\":\"regression\""#, r#"\"task\":\"classification\""#),
        (r#"\"task\":\"regression\""#, r#"\"task\":\"prophecy\""#),
        (r#"\"link\":\"identity\""#, r#"\"link\":\"softmax\""#),
        (r#"\"classes\":[]"#, r#"\"classes\":[\"a\",\"b\"]"#),
        (r#"\"feature_names\":[\"first\","#, r#"\"feature_names\":["#),
        (r#"\"feature_scale\":"#, r#"\"feature_scale\":-"#),
        (r#"\"kernel\":\"gaussian\""#, r#"\"kernel\":7"#),
        (r#""theta""#, r#""thета""#),
        (r#""shape":[3,13]"#, r#""shape":[13,3]"#),
        (r#""shape":[3,13]"#, r#""shape":[39]"#),
        (r#""shape":[3,13]"#, r#""shape":[3,13,1]"#),
        (r#""dtype":"F64""#, r#""dtype":"I64""#),
    ];
    for (from, to) in edits {
        let text = sentence(Model::from_bytes(&edit(&bytes, from, to)));
        assert!(text.contains("the model file is damaged") && text.contains("rffnet fit"), "{from}: {text}");
    }
    let bytes = without_checksum(&bytes);
    let file = SafeTensors::deserialize(&bytes).unwrap();
    for (name, tensor) in file.tensors() {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut not_finite = bytes.clone();
            let at = tensor.data().as_ptr() as usize - bytes.as_ptr() as usize;
            match tensor.dtype() {
                Dtype::F64 => not_finite[at..at + 8].copy_from_slice(&bad.to_le_bytes()),
                _ => not_finite[at..at + 4].copy_from_slice(&(bad as f32).to_le_bytes()),
            }
            let text = sentence(Model::from_bytes(&not_finite));
            assert!(text.contains(&format!("tensor '{name}' is not finite")), "{text}");
        }
    }
}

/// Any flipped bit is noticed, also where the file would still be one.
#[test]
fn the_checksum_notices_every_flipped_bit() {
    let (models, _) = models();
    let bytes = models[0].1.to_bytes().unwrap();
    for bit in (0..8 * bytes.len()).step_by(7) {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let read = Model::from_bytes(&flipped);
        assert!(read.is_err(), "bit {bit}");
    }
    let mut last = bytes.clone();
    *last.last_mut().unwrap() ^= 1;
    let text = sentence(Model::from_bytes(&last));
    assert!(text.contains("its checksum does not fit"), "{text}");
}

#[test]
fn what_is_no_model_is_refused_with_a_sentence_and_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let plain = safetensors::serialize([("w", TensorView::new(Dtype::F32, vec![1], &[0; 4]).unwrap())], None)
        .unwrap();
    let zip = [b"PK\x03\x04".as_slice(), &[0; 100]].concat();
    let files: [(&str, &[u8]); 6] = [
        ("data.csv", b"a,b,y\n1,2,3\n4,5,6\n"),
        ("empty", b""),
        ("archive.zip", &zip),
        ("zeros", &[0; 64]),
        ("ones", &[0xff; 64]),
        ("other.safetensors", &plain),
    ];
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let text = sentence(Model::load(&path));
        assert!(text.contains("not an rffnet model file, or cut short") && text.contains(name), "{text}");
    }
    let missing = folder.path().join("nowhere.rffnet");
    let error = Model::load(&missing).err().unwrap();
    assert!(
        error.to_string().starts_with("cannot read the model ")
            && error.to_string().contains("nowhere.rffnet")
    );
    assert!(std::error::Error::source(&error).is_some());
    assert!(matches!(Model::load(folder.path()), Err(Error::Io { .. })));
}

#[test]
fn a_file_cut_short_anywhere_is_refused() {
    let x = normal_rows(10, 2, 125);
    let y = target(&x, 2, |r| r[0] as f64);
    let params = quick().random_features(2).epochs(1);
    let mut bytes = fit(&params, &regression(&x, 2, &y)).to_bytes().unwrap();
    for length in 0..bytes.len() {
        assert!(matches!(Model::from_bytes(&bytes[..length]), Err(Error::ModelFile(_))), "{length} bytes");
    }
    bytes.push(0);
    assert!(Model::from_bytes(&bytes).is_err(), "one byte too many");
}

fn only_file(folder: &Path, name: &str) {
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(files, [name], "nothing else is left behind");
}

#[test]
fn saving_replaces_the_old_file_and_leaves_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    fs::write(&path, "old").unwrap();
    let (models, _) = models();
    models[0].1.save(&path).unwrap();
    assert!(fs::read(&path).unwrap() == models[0].1.to_bytes().unwrap());
    only_file(folder.path(), "model");
}

#[test]
fn a_folder_that_does_not_exist_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = sentence(write_file(&folder.path().join("no/such/model"), b"x"));
    assert!(text.starts_with("cannot write ") && text.contains("no/such/model"), "{text}");
    assert!(write_file(folder.path(), b"x").is_err(), "a folder is not overwritten");
}

#[test]
fn saving_the_same_file_from_several_threads_always_leaves_a_whole_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    std::thread::scope(|scope| {
        for byte in 0..6u8 {
            let path = &path;
            scope.spawn(move || (0..20).for_each(|_| write_file(path, &[byte; 5000]).unwrap()));
        }
    });
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.len() == 5000 && bytes.iter().all(|b| *b == bytes[0]));
    only_file(folder.path(), "model");
}

#[test]
fn the_longest_file_name_can_be_saved_to() {
    let folder = tempfile::tempdir().unwrap();
    let name = "m".repeat(255);
    write_file(&folder.path().join(&name), b"x").unwrap();
    only_file(folder.path(), &name);
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_file(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
    }

    #[test]
    fn devices_are_written_to_and_not_replaced() {
        write_file(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        if Path::new("/dev/full").exists() {
            let text = sentence(write_file(Path::new("/dev/full"), b"no room"));
            assert!(text.starts_with("cannot write /dev/full"), "{text}");
        }
    }

    const CHILD: &str = "RFFNET_TEST_CHILD_SAVE";

    /// The disk fills up while writing: this test runs itself again under a limit on the size of files.
    #[test]
    fn a_write_that_fails_midway_leaves_the_old_file_untouched() {
        if let Some(path) = std::env::var_os(CHILD) {
            println!("said: {}", sentence(write_file(Path::new(&path), &[7; 1 << 20])));
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        fs::write(&path, "old").unwrap();
        let name = "unix::a_write_that_fails_midway_leaves_the_old_file_untouched";
        let output = Command::new("sh")
            .args(["-c", r#"trap '' XFSZ; ulimit -f 8; exec "$0" "$@""#])
            .arg(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .env(CHILD, &path)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("said: cannot write "), "{said}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        only_file(folder.path(), "model");
    }
}
