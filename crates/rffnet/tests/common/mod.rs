//! Helpers shared by the integration tests: seeded data, and the network once more, plainly, in f64.
#![allow(dead_code)] // each test binary uses its own part

use rffnet::{Data, Error, Fit, Matrix, Model, Params, Target};

/// xorshift64*: small, seeded, and not the generator of the crate under test.
pub(crate) struct Xorshift(u64);

impl Xorshift {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((self.next() >> 32) as usize) % n.max(1)
    }

    /// Uniform on [0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Box-Muller.
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// `rows x columns` normal numbers.
pub(crate) fn normal_rows(rows: usize, columns: usize, seed: u64) -> Vec<f32> {
    let mut rng = Xorshift::new(seed);
    (0..rows * columns).map(|_| rng.normal() as f32).collect()
}

/// A target made row by row.
pub(crate) fn target(x: &[f32], columns: usize, f: impl Fn(&[f32]) -> f64) -> Vec<f64> {
    x.chunks_exact(columns).map(f).collect()
}

/// Labels made row by row.
pub(crate) fn codes(x: &[f32], columns: usize, f: impl Fn(&[f32]) -> u32) -> Vec<u32> {
    x.chunks_exact(columns).map(f).collect()
}

pub(crate) fn names(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|t| t.to_string()).collect()
}

pub(crate) fn matrix(x: &[f32], columns: usize) -> Matrix<'_> {
    Matrix::new(x, x.len() / columns, columns).unwrap()
}

pub(crate) fn regression<'a>(x: &'a [f32], columns: usize, y: &'a [f64]) -> Data<'a> {
    Data::new(matrix(x, columns), Target::Values { values: y, outputs: 1 })
}

pub(crate) fn classification<'a>(
    x: &'a [f32],
    columns: usize,
    y: &'a [u32],
    classes: &'a [String],
) -> Data<'a> {
    Data::new(matrix(x, columns), Target::Labels { codes: y, classes })
}

/// Small and quick: what a test changes stands in the test.
pub(crate) fn quick() -> Params {
    Params { random_features: Some(40), epochs: Some(20), ..Params::default() }
}

pub(crate) fn fit(params: &Params, data: &Data<'_>) -> Model {
    Fit::new(params).run(data).unwrap()
}

/// The sentence of a refused fit.
pub(crate) fn refusal(params: &Params, data: &Data<'_>) -> String {
    sentence(Fit::new(params).run(data))
}

pub(crate) fn sentence<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => panic!("this should have been refused"),
        Err(e) => e.to_string(),
    }
}

pub(crate) fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// The numbers of a model file, read without the crate's own reader.
pub(crate) struct Numbers {
    pub(crate) theta: Vec<f64>,
    /// `columns x features`.
    pub(crate) omega: Vec<f64>,
    pub(crate) phase: Vec<f64>,
    /// `features x outputs`.
    pub(crate) beta: Vec<f64>,
    pub(crate) intercept: Vec<f64>,
    pub(crate) mean: Vec<f64>,
    pub(crate) inverse: Vec<f64>,
    pub(crate) target_mean: Vec<f64>,
    pub(crate) target_scale: Vec<f64>,
    pub(crate) feature_scale: f64,
}

impl Numbers {
    pub(crate) fn of(model: &Model) -> Self {
        let bytes = model.to_bytes().unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let f32s = |name: &str| -> Vec<f64> {
            let data = file.tensor(name).unwrap().data().chunks_exact(4);
            data.map(|b| f32::from_le_bytes(b.try_into().unwrap()) as f64).collect()
        };
        let f64s = |name: &str| -> Vec<f64> {
            let data = file.tensor(name).unwrap().data().chunks_exact(8);
            data.map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
        };
        let phase = f32s("phase");
        let scaled = model.plan().scaled_features;
        Self {
            theta: f32s("theta"),
            omega: f32s("omega"),
            beta: f32s("beta"),
            intercept: f32s("intercept"),
            mean: f32s("scale.mean"),
            inverse: f32s("scale.inverse"),
            target_mean: f64s("scale.target_mean"),
            target_scale: f64s("scale.target_scale"),
            feature_scale: if scaled { (2.0 / phase.len() as f64).sqrt() } else { 1.0 },
            phase,
        }
    }

    /// The features z(theta o x) of a row.
    pub(crate) fn features(&self, row: &[f32]) -> Vec<f64> {
        let s = self.phase.len();
        let standardised: Vec<f64> =
            row.iter().enumerate().map(|(j, &x)| (x as f64 - self.mean[j]) * self.inverse[j]).collect();
        (0..s)
            .map(|k| {
                let angle: f64 = standardised
                    .iter()
                    .enumerate()
                    .map(|(j, x)| self.omega[j * s + k] * self.theta[j] * x)
                    .sum();
                self.feature_scale * (angle + self.phase[k]).cos()
            })
            .collect()
    }

    /// The network's outputs before the target's units are put back.
    pub(crate) fn outputs(&self, row: &[f32]) -> Vec<f64> {
        let (z, k) = (self.features(row), self.intercept.len());
        let output = |c: usize| {
            self.intercept[c] + z.iter().enumerate().map(|(i, z)| self.beta[i * k + c] * z).sum::<f64>()
        };
        (0..k).map(output).collect()
    }
}

/// Solves a x = b (a symmetric, positive definite, n x n) by Gaussian elimination with pivoting.
pub(crate) fn solve(mut a: Vec<f64>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for c in 0..n {
        let pivot = (c..n).max_by(|&p, &q| a[p * n + c].abs().total_cmp(&a[q * n + c].abs())).unwrap();
        (0..n).for_each(|j| a.swap(c * n + j, pivot * n + j));
        b.swap(c, pivot);
        for r in c + 1..n {
            let factor = a[r * n + c] / a[c * n + c];
            (c..n).for_each(|j| a[r * n + j] -= factor * a[c * n + j]);
            b[r] -= factor * b[c];
        }
    }
    for r in (0..n).rev() {
        let known: f64 = (r + 1..n).map(|j| a[r * n + j] * b[j]).sum();
        b[r] = (b[r] - known) / a[r * n + r];
    }
    b
}
