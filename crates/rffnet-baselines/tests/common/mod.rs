//! What the tests of all methods share.

use rand_distr::{Distribution, StandardNormal};
use rffnet::numerics::random::seeded;
use rffnet::{Data, Matrix, Target};
use rffnet_baselines::{Error, Fastfood, KernelRidge, Linear, Method, Model, Nystroem, Options, Rff, fit};

/// Independent standard normal columns.
pub(crate) fn normal(n: usize, d: usize, seed: u64) -> Vec<f32> {
    let mut rng = seeded(seed);
    (0..n * d).map(|_| StandardNormal.sample(&mut rng)).collect()
}

pub(crate) fn matrix(x: &[f32], d: usize) -> Matrix<'_> {
    Matrix::new(x, x.len() / d, d).expect("a matrix")
}

/// A fit to values with one output.
pub(crate) fn values(method: &dyn Method, x: &[f32], d: usize, y: &[f64]) -> Result<Model, Error> {
    let y = Target::Values { values: y, outputs: 1 };
    fit(method, &Data::new(matrix(x, d), y), &Options::default())
}

/// A fit to classes.
pub(crate) fn classes(
    method: &dyn Method,
    x: &[f32],
    d: usize,
    codes: &[u32],
    count: usize,
) -> Result<Model, Error> {
    let names: Vec<String> = (0..count).map(|c| c.to_string()).collect();
    let y = Target::Labels { codes, classes: &names };
    fit(method, &Data::new(matrix(x, d), y), &Options::default())
}

/// Every method of these tests, with the paper's settings but fewer features.
pub(crate) fn methods() -> Vec<(&'static str, Box<dyn Method>)> {
    vec![
        ("krr", Box::new(KernelRidge::paper())),
        ("nystroem", Box::new(Nystroem { columns: 20, ..Nystroem::paper() })),
        ("fastfood", Box::new(Fastfood { features: 20, ..Fastfood::paper() })),
        ("rff", Box::new(Rff { features: 20, ..Rff::paper() })),
        ("linear", Box::new(Linear::default())),
    ]
}
