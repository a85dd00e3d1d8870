//! Helpers shared by the integration tests: seeded data, and the network once more, plainly, in f64.
#![allow(dead_code)] // each test binary uses its own part

use rffnet::{Data, Error, Fit, Matrix, Model, Params, SolverKind, Target};

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

/// A small, quick descent: what a test changes stands in the test.
pub(crate) fn quick() -> Params {
    Params::new().solver(SolverKind::Adam).random_features(40).epochs(20)
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

/// The numbers of a network in a model file, read without the crate's own reader.
pub(crate) struct Numbers {
    pub(crate) theta: Vec<f64>,
    /// `columns x features`.
    pub(crate) omega: Vec<f64>,
    pub(crate) phase: Vec<f64>,
    /// `features x outputs`.
    pub(crate) beta: Vec<f64>,
    pub(crate) intercept: Vec<f64>,
    /// `columns x outputs`; empty without linear terms.
    pub(crate) linear: Vec<f64>,
    /// Column and place of each cut, six a partition.
    pub(crate) cuts: Vec<(usize, f64)>,
    /// `partitions x 64 x outputs`.
    pub(crate) cells: Vec<f64>,
    pub(crate) mean: Vec<f64>,
    pub(crate) inverse: Vec<f64>,
    pub(crate) target_mean: Vec<f64>,
    pub(crate) target_scale: Vec<f64>,
    pub(crate) feature_scale: f64,
}

impl Numbers {
    /// Those of a model that is one network.
    pub(crate) fn of(model: &Model) -> Self {
        let mut all = Self::all(model);
        assert_eq!(all.len(), 1, "one network");
        all.remove(0)
    }

    /// Those of every network of a committee.
    pub(crate) fn all(model: &Model) -> Vec<Self> {
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
        let networks = model.committee();
        let part = |name: &str, m: usize| -> Vec<f64> {
            let values = f32s(name);
            let len = values.len() / networks;
            values[m * len..(m + 1) * len].to_vec()
        };
        let scaled = model.plan().common.scaled_features;
        let part_if_any = |name: &str, m: usize| match file.tensor(name) {
            Ok(_) => part(name, m),
            Err(_) => Vec::new(),
        };
        let network = |m: usize| {
            let phase = part("phase", m);
            Self {
                theta: part("theta", m),
                omega: part("omega", m),
                beta: part("beta", m),
                intercept: part("intercept", m),
                linear: part_if_any("linear", m),
                cuts: part_if_any("cut.column", m)
                    .into_iter()
                    .map(|column| column as usize)
                    .zip(part_if_any("cut.place", m))
                    .collect(),
                cells: part_if_any("cells", m),
                mean: f32s("scale.mean"),
                inverse: f32s("scale.inverse"),
                target_mean: f64s("scale.target_mean"),
                target_scale: f64s("scale.target_scale"),
                feature_scale: if scaled { (2.0 / phase.len() as f64).sqrt() } else { 1.0 },
                phase,
            }
        };
        (0..networks).map(network).collect()
    }

    /// A row as the network sees it.
    pub(crate) fn standardised(&self, row: &[f32]) -> Vec<f64> {
        row.iter().enumerate().map(|(j, &x)| (x as f64 - self.mean[j]) * self.inverse[j]).collect()
    }

    /// The features z(theta o x) of a row.
    pub(crate) fn features(&self, row: &[f32]) -> Vec<f64> {
        let s = self.phase.len();
        let standardised = self.standardised(row);
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
        let (z, x, k) = (self.features(row), self.standardised(row), self.intercept.len());
        let output = |c: usize| {
            let linear = self.linear.iter().skip(c).step_by(k).zip(&x).map(|(b, x)| b * x).sum::<f64>();
            let cosines = z.iter().enumerate().map(|(i, z)| self.beta[i * k + c] * z).sum::<f64>();
            let cells = self.cuts.chunks_exact(6).enumerate().map(|(p, cuts)| {
                let above = cuts.iter().map(|&(column, place)| usize::from(x[column] >= place));
                let cell: usize = above.enumerate().map(|(bit, above)| above << bit).sum();
                self.cells[(64 * p + cell) * k + c]
            });
            self.intercept[c] + linear + cosines + cells.sum::<f64>()
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

/// The same model file as one of format 1, which has no checksum: so what is changed in it gets past that check.
pub(crate) fn without_checksum(bytes: &[u8]) -> Vec<u8> {
    let format = br#"\"format\":2"#;
    let at = bytes.windows(format.len()).position(|window| window == format).unwrap();
    let mut bytes = bytes.to_vec();
    bytes[at + format.len() - 1] = b'1';
    bytes
}
