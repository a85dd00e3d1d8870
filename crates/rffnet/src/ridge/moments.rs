//! Normal equations: second moments of the design, targets included, and their Cholesky factor.

use rayon::prelude::*;

use crate::numerics::buffers;
use crate::numerics::cholesky::Cholesky;

/// Numbers that are worth a thread.
const PARALLEL: usize = 1 << 15;

/// Products of columns, summed over rows: lower triangle, row-major.
pub(crate) struct Gram {
    pub(crate) columns: usize,
    pub(crate) products: Vec<f64>,
}

impl Gram {
    pub(crate) fn new(columns: usize) -> Self {
        Self { columns, products: buffers::zeros(columns * columns) }
    }
}

/// Means over rows: `Z'WZ / n`, the columns of the targets behind those of the design.
pub(crate) struct Moments {
    rows: usize,
    pub(super) columns: usize,
    pub(super) targets: usize,
    pub(super) gram: Vec<f64>,
}

impl Drop for Moments {
    fn drop(&mut self) {
        buffers::keep(std::mem::take(&mut self.gram));
    }
}

impl Moments {
    /// Of products over so many rows, the first `columns` of which are the design's.
    pub(crate) fn new(gram: Gram, rows: usize, columns: usize) -> Self {
        let count = rows as f64;
        let targets = gram.columns - columns;
        let mut gram = gram.products;
        gram.par_iter_mut().with_min_len(PARALLEL).for_each(|g| *g /= count);
        Self { rows, columns, targets, gram }
    }

    /// The moments of these and other rows.
    pub(crate) fn merge(&mut self, other: &Self) {
        let share = other.rows as f64 / (self.rows + other.rows) as f64;
        let both = self.gram.par_iter_mut().with_min_len(PARALLEL).zip(&other.gram);
        both.for_each(|(g, o)| *g += share * (o - *g));
        self.rows += other.rows;
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
