//! Scores of a method on a simulated set of the paper: `simulated SET METHOD ROWS [REPEATS]`, 2,000 rows to test on.
//!
//!     cargo run --release -p rffnet-baselines --example simulated -- jse3 gpr-converged 2000

use std::time::Instant;

use rffnet::{Data, Matrix, Target, metrics};
use rffnet_baselines::{EigenPro, Gpr, Method, Options, Srff, fit};
use rffnet_data::{Column, Simulated};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [set, name, rows, rest @ ..] = words.as_slice() else {
        return Err("usage: simulated SET METHOD ROWS [REPEATS]".into());
    };
    let set: Simulated = set.parse()?;
    let method: Box<dyn Method> = match name.as_str() {
        "eigenpro" => Box::new(EigenPro::paper()),
        "eigenpro-default" => Box::new(EigenPro::default()),
        "gpr" => Box::new(Gpr::paper(1e-3)),
        "gpr-converged" => Box::new(Gpr::converged()),
        "srff" => Box::new(Srff::paper()),
        "srff-converged" => Box::new(Srff::converged()),
        other => return Err(format!("no method {other}").into()),
    };
    let (rows, repeats) = (rows.parse::<usize>()?, rest.first().map_or(Ok(1), |r| r.parse())?);
    for seed in 0..repeats {
        score(set, method.as_ref(), rows, seed)?;
    }
    Ok(())
}

fn score(
    set: Simulated,
    method: &dyn Method,
    rows: usize,
    seed: u64,
) -> Result<(), Box<dyn std::error::Error>> {
    let table = set.generate(rows + 2000, seed);
    let train = table.take(&(0..rows).collect::<Vec<_>>());
    let test = table.take(&(rows..rows + 2000).collect::<Vec<_>>());
    let d = table.columns();
    let (x, new) = (Matrix::new(&train.x, rows, d)?, Matrix::new(&test.x, 2000, d)?);
    let start = Instant::now();
    let options = Options { seed, ..Options::default() };
    let (Some(Column::Numbers(y)), Some(Column::Numbers(truth))) = (&train.target, &test.target) else {
        return Err("the set has no target".into());
    };
    let (label, score, relevances) = if set.is_classification() {
        let codes: Vec<u32> = y.iter().map(|&y| u32::from(y == 1.0)).collect();
        let classes = ["0".to_string(), "1".to_string()];
        let target = Target::Labels { codes: &codes, classes: &classes };
        let model = fit(method, &Data::new(x, target), &options)?;
        let positive: Vec<bool> = truth.iter().map(|&y| y == 1.0).collect();
        let auc = metrics::auc(&model.decision(new)?, &positive, None);
        ("AUC", auc.ok_or("one class alone in the test rows")?, model.relevances())
    } else {
        let model = fit(method, &Data::new(x, Target::Values { values: y, outputs: 1 }), &options)?;
        ("MSE", metrics::mse(truth, &model.predict(new)?, None), model.relevances())
    };
    let seconds = start.elapsed().as_secs_f64();
    println!("{set} seed {seed}: {label} {score:.4} in {seconds:.1} s");
    if let Some(relevances) = relevances {
        println!("  relevances {:.2?}", relevances);
    }
    Ok(())
}
