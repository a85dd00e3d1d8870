//! The Nystroem method: the kernel seen from a few rows, with a linear head.

use std::ops::Range;

use faer::{Accum, MatRef};
use rffnet::numerics::random::{permutation, seeded};

use crate::heads::{Features, Head};
use crate::kernel::{Points, gaussian};
use crate::krr::{Dual, bandwidth};
use crate::linalg::{inverse_root, multiply};
use crate::rff::at_least_one;
use crate::{Error, Method, Need, Rows, Trained, Training};

/// Eigenvalues of the landmarks' kernel below this count as this.
const FLOOR: f64 = 1e-12;

/// Features `K_nm K_mm^(-1/2)` of a Gaussian kernel, where the m landmarks are rows drawn uniformly without replacement
/// (all of them, where there are no more), and then a ridge or logistic head.
#[derive(Debug, Clone)]
pub struct Nystroem {
    /// Landmarks, at most.
    pub columns: usize,
    /// These rows of the training data as landmarks, instead of random ones.
    pub landmarks: Option<Vec<usize>>,
    /// Of the kernel `exp(-gamma |x - y|^2)`; one over the number of columns where none is given.
    pub gamma: Option<f64>,
    /// The penalties of the head.
    pub head: Head,
}

impl Nystroem {
    /// The setting behind the paper's tables.
    pub fn paper() -> Self {
        Self { columns: 300, landmarks: None, gamma: None, head: Head::paper() }
    }

    fn count(&self, n: usize) -> usize {
        self.landmarks.as_ref().map_or(self.columns.min(n), Vec::len)
    }

    fn landmarks(&self, training: &Training<'_>) -> Result<Rows, Error> {
        let n = training.rows.len();
        at_least_one("columns", self.count(n))?;
        let draw = || permutation(n, &mut seeded(training.seed))[..self.count(n)].to_vec();
        let chosen = self.landmarks.clone().unwrap_or_else(draw);
        if let Some(row) = chosen.iter().find(|&&i| i >= n) {
            return Err(Error::Unsupported(format!(
                "landmark {row} is beyond the {n} rows, which count from 0"
            )));
        }
        Ok(training.rows.select(&chosen))
    }
}

impl Default for Nystroem {
    fn default() -> Self {
        Self::paper()
    }
}

impl Method for Nystroem {
    fn memory(&self, training: &Training<'_>) -> Need {
        self.head.memory(training, self.count(training.rows.len()))
    }

    fn train(&self, training: &Training<'_>) -> Result<Box<dyn Trained>, Error> {
        let gamma = bandwidth(self.gamma, training.rows.columns)?;
        let rows = self.landmarks(training)?;
        let m = rows.len();
        let root = inverse_root(&gaussian(&rows, &rows, gamma), m, FLOOR)
            .ok_or_else(|| Error::Diverged("the landmarks' kernel has no eigenvalues".into()))?;
        let map =
            Map { points: Points::new(&training.rows, gamma), landmarks: Points::new(&rows, gamma), root, m };
        let head = self.head.fit(&map, training)?;
        // The root goes into the coefficients: a prediction is a sum of m kernels.
        let (beta, intercept) = head.split();
        let mut coefficients = vec![0.0; m * head.outputs];
        let beta = MatRef::from_row_major_slice(beta, m, head.outputs);
        multiply(&mut coefficients, Accum::Replace, map.root(), beta, 1.0);
        Ok(Box::new(Dual {
            rows,
            gamma,
            coefficients,
            intercept: intercept.to_vec(),
            has_probabilities: true,
        }))
    }
}

/// Features of the training rows.
struct Map {
    points: Points,
    landmarks: Points,
    /// `K_mm^(-1/2)`, symmetric.
    root: Vec<f64>,
    m: usize,
}

impl Map {
    fn root(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.root, self.m, self.m)
    }
}

impl Features for Map {
    fn width(&self) -> usize {
        self.m
    }

    fn make(&self, _: &Rows, range: Range<usize>, out: &mut [f64]) {
        let (m, count) = (self.m, range.len());
        let mut kernel = vec![0.0; count * m];
        self.points.tile(range, &self.landmarks, 0..m, m, &mut kernel);
        let kernel = MatRef::from_row_major_slice(&kernel, count, m);
        multiply(out, Accum::Replace, kernel, self.root(), 1.0);
    }
}
