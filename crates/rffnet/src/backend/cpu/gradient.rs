//! Gradients of mini-batches and of whole samples.

use super::workspace::with_workspace;
use crate::backend::{Gradient, GradientBuffers, MAX_BLOCKS, MAX_SPECTRUM_BLOCKS, Wanted};
use crate::features::{Network, Weights};
use crate::fold::{Fold, block_rows, fold_into};
use crate::problem::Problem;
use crate::simd::{self, CHUNK, Path, SpectrumGrad};

/// Below this many multiplications a batch is not worth waking a second thread for.
const PARALLEL_WORK: usize = 1 << 17;

pub(super) fn gradient(
    path: Path,
    problem: &Problem<'_>,
    network: Network<'_>,
    rows: &[usize],
    buffers: &mut GradientBuffers,
) -> f64 {
    let map = network.map;
    let most = if buffers.wanted == Wanted::Spectrum { MAX_SPECTRUM_BLOCKS } else { MAX_BLOCKS };
    let block = block_rows(rows.len(), most);
    let factor = 1.0 / rows.len() as f64;
    let sums = Gradients { path, wanted: buffers.wanted, problem, network, factor };
    let blocks = rows.len().div_ceil(block);
    buffers.sums.extend((buffers.sums.len()..blocks).map(|_| sums.empty()));
    let multiplications = rows.len() * map.support.len() * map.padded();
    fold_into(&sums, &mut buffers.sums, rows, block, multiplications >= PARALLEL_WORK);
    buffers.total().loss * factor
}

/// The gradient of the loss over rows, times a factor.
pub(super) struct Gradients<'a> {
    pub(super) path: Path,
    pub(super) wanted: Wanted,
    pub(super) problem: &'a Problem<'a>,
    pub(super) network: Network<'a>,
    pub(super) factor: f64,
}

impl Fold for Gradients<'_> {
    type Sum = Gradient;

    fn empty(&self) -> Gradient {
        let Network { map, weights } = self.network;
        let spectrum = if self.wanted == Wanted::Spectrum { map.padded() } else { 0 };
        let mut zero = weights.clone();
        zero.clear();
        Gradient {
            weights: zero,
            omega: vec![0.0; spectrum * map.support.len()],
            phase: vec![0.0; spectrum],
            loss: 0.0,
        }
    }

    fn clear(&self, sum: &mut Gradient) {
        sum.weights.clear();
        sum.omega.fill(0.0);
        sum.phase.fill(0.0);
        sum.loss = 0.0;
    }

    fn add(&self, sum: &mut Gradient, rows: &[usize]) {
        rows.chunks(CHUNK).for_each(|rows| self.chunk(sum, rows));
    }

    fn merge(&self, sum: &mut Gradient, next: &Gradient) {
        sum.weights.add(&next.weights);
        sum.omega.iter_mut().zip(&next.omega).for_each(|(a, b)| *a += b);
        sum.phase.iter_mut().zip(&next.phase).for_each(|(a, b)| *a += b);
        sum.loss += next.loss;
    }
}

impl Gradients<'_> {
    fn chunk(&self, into: &mut Gradient, rows: &[usize]) {
        let Self { path, wanted, problem, network, factor } = *self;
        let Network { map, weights } = network;
        let (k, count) = (problem.outputs, rows.len());
        with_workspace(|w| {
            w.forward(path, problem.columns, network, rows);
            w.losses(problem, rows, factor, &mut into.loss);
            for residual in w.residual.chunks_exact(k) {
                into.weights.intercept.iter_mut().zip(residual).for_each(|(g, r)| *g += r);
            }
            if !weights.linear.is_empty() {
                let d = map.columns();
                for (row, residual) in w.full.chunks_exact(d).zip(w.residual.chunks_exact(k)) {
                    for (gradient, r) in into.weights.linear.chunks_exact_mut(d).zip(residual) {
                        gradient.iter_mut().zip(row).for_each(|(g, x)| *g += r * x);
                    }
                }
            }
            let Weights { theta, beta, .. } = &mut into.weights;
            let (packed, r) = (&map.packed, &w.residual);
            if wanted == Wanted::Head {
                return simd::backward_head(path, packed, count, k, r, &w.tape, beta);
            }
            let spectrum = (wanted == Wanted::Spectrum)
                .then_some(SpectrumGrad { omega: &mut into.omega, phase: &mut into.phase });
            let (x, tape) = (&w.x, &mut w.tape);
            simd::backward(path, packed, x, count, &weights.beta, k, r, tape, theta, beta, spectrum);
        });
    }
}
