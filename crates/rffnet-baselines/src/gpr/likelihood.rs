//! The marginal likelihood of a Gaussian process and its gradient.
//!
//! With `K = scale exp(-|(x - x') / lengthscale|^2 / 2) + noise`, `r = y - mean` and `a = K^-1 r`, the likelihood's
//! logarithm is `-(r'a + log det K + n log 2 pi) / 2`, and its derivative by a number p is `tr((aa' - K^-1) dK/dp) / 2`.
//! Neither the inverse nor the noise-free kernel is ever whole in memory: both are made, and contracted with the rows,
//! one block of columns at a time, below the diagonal alone.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;
use rffnet::numerics::cholesky::Cholesky;

use crate::linalg::{blocks, product};

/// What is learned by maximising the likelihood.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hyper {
    /// One per column.
    pub(crate) lengthscale: Vec<f64>,
    /// The kernel of a row with itself.
    pub(crate) scale: f64,
    /// The variance of the noise on a row of weight 1.
    pub(crate) noise: f64,
    /// One per output.
    pub(crate) mean: Vec<f64>,
}

/// The marginal likelihood of targets, given their rows, as a function of `Hyper`.
pub(crate) struct MarginalLikelihood {
    pub(crate) n: usize,
    pub(crate) d: usize,
    /// Row after row, which is `d x n` column by column.
    pub(crate) x: Vec<f64>,
    /// Output after output.
    pub(crate) y: Vec<f64>,
    /// The noise on a row, in units of `Hyper::noise`.
    pub(crate) spread: Vec<f64>,
}

/// Its logarithm at a point, and the derivatives by each number of `Hyper`.
pub(crate) struct Evaluation {
    pub(crate) value: f64,
    pub(crate) gradient: Hyper,
}

/// What predictions are made from.
pub(crate) struct Posterior {
    pub(crate) factor: Cholesky,
    /// `K^-1 (y - mean)`, output after output.
    pub(crate) alpha: Vec<f64>,
}

/// Rows over lengthscales, and half of their squared lengths.
pub(crate) struct Points {
    d: usize,
    values: Vec<f64>,
    halves: Vec<f64>,
}

impl Points {
    pub(crate) fn new(x: impl Iterator<Item = f64>, lengthscale: &[f64]) -> Self {
        let d = lengthscale.len();
        let values: Vec<f64> = x.zip(lengthscale.iter().cycle()).map(|(x, l)| x / l).collect();
        let half = |row: &[f64]| 0.5 * row.iter().map(|v| v * v).sum::<f64>();
        Self { d, halves: values.chunks_exact(d).map(half).collect(), values }
    }

    pub(crate) fn len(&self) -> usize {
        self.halves.len()
    }

    fn matrix(&self, from: usize, count: usize) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.values[from * self.d..][..count * self.d], self.d, count)
    }

    /// `scale` times the kernel between rows `from..` of `self` and some rows of `other`, a column for each of these, into
    /// the lowest rows of `out`.
    pub(crate) fn kernel(
        &self,
        from: usize,
        other: &Points,
        some: Range<usize>,
        scale: f64,
        out: &mut [f64],
    ) {
        let (rows, count) = (self.len() - from, some.len());
        let stride = out.len() / count;
        let target = MatMut::from_column_major_slice_mut(out, stride, count).subrows_mut(stride - rows, rows);
        let left = self.matrix(from, rows).transpose();
        matmul(target, Accum::Replace, left, other.matrix(some.start, count), 1.0, Par::Seq);
        for (column, b) in out.chunks_exact_mut(stride).zip(&other.halves[some]) {
            for (v, a) in column[stride - rows..].iter_mut().zip(&self.halves[from..]) {
                *v = scale * (*v - a - b).min(0.0).exp();
            }
        }
    }
}

impl MarginalLikelihood {
    /// How many outputs there are.
    pub(crate) fn outputs(&self) -> usize {
        self.y.len() / self.n
    }

    pub(crate) fn points(&self, lengthscale: &[f64]) -> Points {
        Points::new(self.x.iter().copied(), lengthscale)
    }

    /// The factor of K and the weights of its columns; `None` where rounding has made K indefinite.
    pub(crate) fn posterior(&self, points: &Points, hyper: &Hyper) -> Option<Posterior> {
        let n = self.n;
        let mut kernel = vec![0.0; n * n];
        kernel.par_chunks_mut(crate::linalg::BLOCK * n).zip(blocks(n)).for_each(|(out, block)| {
            let at = block.start;
            points.kernel(at, points, block.clone(), hyper.scale, out);
            block.for_each(|i| out[(i - at) * n + i] += hyper.noise * self.spread[i]);
        });
        let factor = Cholesky::tiled(kernel, n)?;
        let mut alpha = self.residuals(&hyper.mean);
        factor.solve(&mut alpha);
        Some(Posterior { factor, alpha })
    }

    fn residuals(&self, mean: &[f64]) -> Vec<f64> {
        self.y.chunks_exact(self.n).zip(mean).flat_map(|(y, m)| y.iter().map(move |y| y - m)).collect()
    }

    /// The likelihood's logarithm and gradient; `None` where rounding has made K indefinite or a number ran away.
    pub(crate) fn evaluate(&self, hyper: &Hyper) -> Option<Evaluation> {
        let points = self.points(&hyper.lengthscale);
        let posterior = self.posterior(&points, hyper)?;
        let Posterior { factor, alpha } = &posterior;
        let outputs = self.outputs() as f64;
        let fit: f64 = self.residuals(&hyper.mean).iter().zip(alpha).map(|(r, a)| r * a).sum();
        let constant = self.n as f64 * std::f64::consts::TAU.ln();
        let value = -0.5 * (fit + outputs * (factor.log_determinant() + constant));

        let parts: Vec<Contraction> = blocks(self.n)
            .into_par_iter()
            .map(|block| self.contract(&points, hyper, &posterior, block))
            .collect();
        let mut gradient = Hyper {
            lengthscale: vec![0.0; self.d],
            scale: 0.0,
            noise: 0.0,
            mean: alpha.chunks_exact(self.n).map(|a| a.iter().sum()).collect(),
        };
        for part in parts {
            gradient.scale += 0.5 * part.signal / hyper.scale;
            gradient.noise += 0.5 * part.diagonal;
            gradient.lengthscale.iter_mut().zip(&part.squares).for_each(|(g, s)| *g += s);
        }
        gradient.lengthscale.iter_mut().zip(&hyper.lengthscale).for_each(|(g, l)| *g /= l.powi(3));
        let finite = value.is_finite()
            && gradient.noise.is_finite()
            && gradient.scale.is_finite()
            && gradient.lengthscale.iter().all(|g| g.is_finite());
        finite.then_some(Evaluation { value, gradient })
    }

    /// Sums over a block of columns of `W = (aa' - K^-1) o signal`, W standing for both halves.
    fn contract(
        &self,
        points: &Points,
        hyper: &Hyper,
        posterior: &Posterior,
        block: Range<usize>,
    ) -> Contraction {
        let (at, width, alpha) = (block.start, block.len(), &posterior.alpha);
        let (n, d, m) = (self.n, self.d, self.n - at);
        let outputs = self.outputs() as f64;
        let mut w = posterior.factor.inverse_block(at, width);
        let mut signal = vec![0.0; m * width];
        points.kernel(at, points, block, hyper.scale, &mut signal);

        let (mut total, mut diagonal) = (0.0, 0.0);
        let (mut by_row, mut by_column) = (vec![0.0; m], vec![0.0; width]);
        for c in 0..width {
            let (column, signal) = (&mut w[c * m..][..m], &signal[c * m..][..m]);
            column.iter_mut().for_each(|v| *v *= -outputs);
            for a in alpha.chunks_exact(n) {
                let right = a[at + c];
                column.iter_mut().zip(&a[at..]).for_each(|(v, left)| *v += left * right);
            }
            diagonal += column[c] * self.spread[at + c];
            total += column[c] * signal[c];
            column[..=c].fill(0.0);
            for i in c + 1..m {
                column[i] *= signal[i];
                by_row[i] += column[i];
                by_column[c] += column[i];
            }
            total += 2.0 * by_column[c];
        }

        // sum W (x_i - x_j)^2, the square written out so that its cross term is a product of matrices.
        let x = MatRef::from_column_major_slice(&self.x[at * d..], d, m);
        let cross = product(x, MatRef::from_column_major_slice(&w, m, width));
        let mut squares = vec![0.0; d];
        for (row, sum) in self.x[at * d..].chunks_exact(d).zip(&by_row) {
            squares.iter_mut().zip(row).for_each(|(s, x)| *s += sum * x * x);
        }
        for ((row, cross), sum) in self.x[at * d..].chunks_exact(d).zip(cross.chunks_exact(d)).zip(&by_column)
        {
            squares.iter_mut().zip(row).zip(cross).for_each(|((s, x), c)| *s += x * (sum * x - 2.0 * c));
        }
        Contraction { signal: total, diagonal, squares }
    }
}

/// A block's share of the gradient.
struct Contraction {
    /// The sum of W.
    signal: f64,
    /// The trace of `(aa' - K^-1) o spread`.
    diagonal: f64,
    /// For each column of the rows, half the sum of `W (x_i - x_j)^2`: one half of W.
    squares: Vec<f64>,
}
