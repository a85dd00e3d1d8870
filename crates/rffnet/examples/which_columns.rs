//! Which columns matter? Fit, rank, keep only those that do, and save the model.
//!
//!     cargo run --release -p rffnet --example which_columns

use rffnet::{Data, Fit, Matrix, Model, Params, Target, metrics, select};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Six columns of made-up measurements; the target depends on the first and the fourth.
    let (rows, columns) = (1500, 6);
    let mut state = 1u64;
    let mut measure = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let x: Vec<f32> = (0..rows * columns).map(|_| measure()).collect();
    let y: Vec<f64> = x.chunks(columns).map(|r| (3.0 * r[0] as f64).sin() + 2.0 * r[3] as f64).collect();
    let names: Vec<String> = ["dose", "age", "lab", "weight", "batch", "site"].map(String::from).to_vec();

    // The first 1,000 rows to learn from, the others to select columns on.
    let part = |rows: std::ops::Range<usize>| -> Result<Data<'_>, rffnet::Error> {
        let cells = &x[rows.start * columns..rows.end * columns];
        let target = Target::Values { values: &y[rows.clone()], outputs: 1 };
        Ok(Data { names: Some(&names), ..Data::new(Matrix::new(cells, rows.len(), columns)?, target) })
    };
    let (train, test) = (part(0..1000)?, part(1000..rows)?);
    let model = Fit::new(&Params::new()).run(&train)?;

    let found = select::top_k(&model, &test)?;
    let mut selected: Vec<&str> = found.selected().iter().map(|&j| names[j].as_str()).collect();
    selected.sort_unstable();
    println!("columns that matter: {selected:?}");
    assert_eq!(selected, ["dose", "weight"]);

    let smaller = model.restricted(found.selected());
    let r2 = metrics::r2(&y[1000..], &smaller.predict(test.x)?, None).ok_or("the target is constant")?;
    println!("R2 with these alone: {r2:.4}");
    assert!(r2 > 0.99);

    let path = std::env::temp_dir().join("which_columns.rffnet");
    smaller.save(&path)?;
    assert_eq!(Model::load(&path)?.relevances(), smaller.relevances());
    Ok(std::fs::remove_file(path)?)
}
