//! Kernel ridge regression with a Gaussian kernel.

use rffnet::numerics::cholesky::Cholesky;

use crate::heads::signs;
use crate::kernel::{gaussian_times, gaussian_triangle};
use crate::{Error, Method, Need, Rows, Trained, Training};

/// `f(x) = sum_i c_i exp(-gamma |x - x_i|^2)` with `(K + alpha I) c = y`, no intercept. Classes are learned as targets of
/// +1 and -1, one against the rest.
#[derive(Debug, Clone, Copy)]
pub struct KernelRidge {
    /// The penalty, above 0.
    pub alpha: f64,
    /// Of the kernel; one over the number of columns where none is given.
    pub gamma: Option<f64>,
}

impl KernelRidge {
    /// The setting behind the paper's tables.
    pub fn paper() -> Self {
        Self { alpha: 0.1, gamma: None }
    }
}

impl Default for KernelRidge {
    fn default() -> Self {
        Self::paper()
    }
}

/// A kernel's `gamma`, checked.
pub(crate) fn bandwidth(gamma: Option<f64>, columns: usize) -> Result<f64, Error> {
    let gamma = gamma.unwrap_or(1.0 / columns as f64);
    positive("gamma", gamma)
}

/// A setting that must be a finite number above 0.
pub(crate) fn positive(name: &str, value: f64) -> Result<f64, Error> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(Error::Unsupported(format!("{name} is {value}, but it must be a finite number above 0")))
    }
}

impl Method for KernelRidge {
    fn memory(&self, training: &Training<'_>) -> Need {
        Need::array(training.rows.len(), training.rows.len(), "kernel matrix")
    }

    fn train(&self, training: &Training<'_>) -> Result<Box<dyn Trained>, Error> {
        let alpha = positive("alpha", self.alpha)?;
        let gamma = bandwidth(self.gamma, training.rows.columns)?;
        let (n, outputs) = (training.rows.len(), training.outputs());
        let root: Vec<f64> = training.weight.iter().map(|w| w.sqrt()).collect();
        let mut kernel = gaussian_triangle(&training.rows, gamma);
        let weighted = training.weight.iter().any(|&w| w != 1.0);
        for (i, column) in kernel.chunks_exact_mut(n).enumerate() {
            if weighted {
                column[i..].iter_mut().zip(&root[i..]).for_each(|(k, r)| *k *= r * root[i]);
            }
            column[i] += alpha;
        }
        let factor = Cholesky::tiled(kernel, n).ok_or_else(|| {
            Error::Diverged(format!("the kernel matrix is singular at alpha = {alpha}: raise alpha"))
        })?;
        let targets = signs(training.target);
        let mut solution: Vec<f64> = (0..outputs)
            .flat_map(|c| (0..n).map(move |i| (i, c)))
            .map(|(i, c)| root[i] * targets[i * outputs + c])
            .collect();
        factor.solve(&mut solution);
        let coefficients = (0..n * outputs)
            .map(|at| root[at / outputs] * solution[at % outputs * n + at / outputs])
            .collect();
        Ok(Box::new(Dual {
            rows: training.rows.clone(),
            gamma,
            coefficients,
            has_probabilities: false,
            intercept: vec![0.0; outputs],
        }))
    }
}

/// A weighted sum of kernels.
pub(crate) struct Dual {
    pub(crate) rows: Rows,
    pub(crate) gamma: f64,
    /// `rows x outputs`.
    pub(crate) coefficients: Vec<f64>,
    pub(crate) intercept: Vec<f64>,
    pub(crate) has_probabilities: bool,
}

impl Trained for Dual {
    fn decision(&self, rows: &Rows) -> Vec<f64> {
        let mut out = gaussian_times(rows, &self.rows, self.gamma, &self.coefficients);
        for row in out.chunks_exact_mut(self.intercept.len()) {
            row.iter_mut().zip(&self.intercept).for_each(|(f, b)| *f += b);
        }
        out
    }

    fn has_probabilities(&self) -> bool {
        self.has_probabilities
    }
}
