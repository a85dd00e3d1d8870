//! Normal equations: second moments of the design, targets included, and their Cholesky factor.

use crate::numerics::cholesky::Cholesky;
use crate::simd::Aligned;

/// Products of columns, summed over rows: lower triangle, row-major.
pub(crate) struct Gram {
    pub(crate) columns: usize,
    pub(crate) products: Vec<f64>,
    /// The kernels' buffer.
    pub(crate) panels: Aligned,
}

impl Gram {
    pub(crate) fn new(columns: usize) -> Self {
        Self { columns, products: vec![0.0; columns * columns], panels: Aligned::default() }
    }
}

/// Means over rows: `Z'WZ / n`, the columns of the targets behind those of the design.
#[derive(Clone)]
pub(crate) struct Moments {
    pub(super) columns: usize,
    pub(super) targets: usize,
    pub(super) gram: Vec<f64>,
}

impl Moments {
    /// Of products over so many rows, the first `columns` of which are the design's.
    pub(crate) fn new(gram: Gram, rows: usize, columns: usize) -> Self {
        let count = rows as f64;
        let targets = gram.columns - columns;
        let mut gram = gram.products;
        gram.iter_mut().for_each(|g| *g /= count);
        Self { columns, targets, gram }
    }

    /// `Z'Wy / n`, one vector per target.
    pub(crate) fn cross(&self) -> Vec<f64> {
        let m = self.columns + self.targets;
        (self.columns..m).flat_map(|a| &self.gram[a * m..a * m + self.columns]).copied().collect()
    }

    /// The coefficients of the ridge regression on these moments, one vector per target.
    pub(crate) fn ridge(&self, alpha: f64) -> Vec<f64> {
        let mut coefficients = self.cross();
        self.factor(alpha).solve(&mut coefficients);
        coefficients
    }

    /// The factor of `Z'WZ / n + alpha I`, the intercept's diagonal left free.
    pub(crate) fn factor(&self, alpha: f64) -> Cholesky {
        let (n, m) = (self.columns, self.columns + self.targets);
        let free = 1e-9 * self.gram[(n - 1) * m + n - 1];
        Cholesky::new(&self.gram, n, m, |a| if a + 1 == n { free } else { alpha })
    }
}
