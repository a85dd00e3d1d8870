//! Standardised rows and what is to be learned from them.

use rffnet::{Matrix, Target};

/// Rows whose columns have mean 0 and deviation 1 in the training part; a constant column is 0.
#[derive(Debug, Clone)]
pub struct Rows {
    /// Row after row.
    pub values: Vec<f32>,
    /// Numbers in a row.
    pub columns: usize,
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len() / self.columns.max(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// One row.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.values[i * self.columns..(i + 1) * self.columns]
    }

    /// These rows, in this order.
    pub(crate) fn select(&self, order: &[usize]) -> Rows {
        Rows { values: order.iter().flat_map(|&i| self.row(i)).copied().collect(), columns: self.columns }
    }

    /// For each column, whether it is 0 in every row.
    pub(crate) fn constant(&self) -> Vec<bool> {
        let mut constant = vec![true; self.columns];
        for row in self.values.chunks_exact(self.columns.max(1)) {
            constant.iter_mut().zip(row).for_each(|(c, &v)| *c &= v == 0.0);
        }
        constant
    }
}

/// All that a method may look at.
#[derive(Debug)]
pub struct Training<'a> {
    /// Standardised.
    pub rows: Rows,
    /// What to learn, as given; two classes or more.
    pub target: Target<'a>,
    /// One weight per row, mean 1.
    pub weight: Vec<f64>,
    /// Where random numbers start.
    pub seed: u64,
}

impl Training<'_> {
    /// Numbers in a decision: one for two classes.
    pub fn outputs(&self) -> usize {
        match self.target {
            Target::Values { outputs, .. } => outputs,
            Target::Labels { classes, .. } if classes.len() == 2 => 1,
            Target::Labels { classes, .. } => classes.len(),
        }
    }

    /// The weighted mean of each of `outputs` targets.
    pub(crate) fn means(&self, values: &[f64], outputs: usize) -> Vec<f64> {
        let total: f64 = self.weight.iter().sum();
        let mut means = vec![0.0; outputs];
        for (y, w) in values.chunks_exact(outputs).zip(&self.weight) {
            means.iter_mut().zip(y).for_each(|(m, y)| *m += w * y / total);
        }
        means
    }
}

/// Means and deviations of the training columns.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl Scale {
    pub(crate) fn new(x: Matrix<'_>, weight: &[f64]) -> Self {
        let (cells, d) = (x.to_dense(), x.columns());
        let total: f64 = weight.iter().sum();
        let mut mean = vec![0.0; d];
        for (row, w) in cells.chunks_exact(d).zip(weight) {
            row.iter().zip(&mut mean).for_each(|(&v, m)| *m += w * f64::from(v) / total);
        }
        let mut variance = vec![0.0; d];
        for (row, w) in cells.chunks_exact(d).zip(weight) {
            let row = row.iter().zip(&mean);
            row.zip(&mut variance).for_each(|((&v, m), s)| *s += w * (f64::from(v) - m).powi(2) / total);
        }
        Self { mean, deviation: variance.iter().map(|v| v.sqrt()).collect() }
    }

    pub(crate) fn apply(&self, x: Matrix<'_>) -> Rows {
        let d = x.columns();
        let standard = |(at, &v): (usize, &f32)| {
            let (m, s) = (self.mean[at % d], self.deviation[at % d]);
            if s > 1e-7 * m.abs() { ((f64::from(v) - m) / s) as f32 } else { 0.0 }
        };
        Rows { values: x.to_dense().iter().enumerate().map(standard).collect(), columns: d }
    }
}
