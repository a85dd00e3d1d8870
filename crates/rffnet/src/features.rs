//! The feature map z(theta o x) and the network on top of it, evaluated chunk by chunk.
//!
//! Everything that touches rows is cut at fixed boundaries (64-row chunks, grouped into slots by a rule that knows the
//! number of rows only), and partial sums are added in order. So the number of threads never changes a bit.

use std::cell::RefCell;
use std::sync::Arc;

use rayon::prelude::*;

use crate::Matrix;
use crate::loss::Loss;
use crate::scale::Scale;
use crate::simd::{self, CHUNK, Frequencies, Path, Tape};

/// The fixed part: frequencies and phases as drawn.
#[derive(Clone)]
pub(crate) struct FeatureMap {
    /// `columns x features`, row-major.
    pub(crate) omega: Arc<[f32]>,
    pub(crate) phase: Arc<[f32]>,
    packed: Arc<Frequencies>,
}

impl FeatureMap {
    pub(crate) fn new(omega: Vec<f32>, phase: Vec<f32>) -> Self {
        let packed = Arc::new(Frequencies::new(&omega, &phase));
        Self { omega: omega.into(), phase: phase.into(), packed }
    }

    pub(crate) fn columns(&self) -> usize {
        self.packed.columns()
    }

    pub(crate) fn features(&self) -> usize {
        self.packed.features()
    }

    pub(crate) fn padded(&self) -> usize {
        self.packed.padded()
    }
}

/// The learned part. The factor of the cosines is folded into `beta`, whose rows (one per output) are padded with
/// zeros to the width the kernels work on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weights {
    pub(crate) theta: Vec<f32>,
    pub(crate) beta: Vec<f32>,
    pub(crate) intercept: Vec<f32>,
}

impl Weights {
    pub(crate) fn zeros(map: &FeatureMap, outputs: usize) -> Self {
        Self {
            theta: vec![0.0; map.columns()],
            beta: vec![0.0; outputs * map.padded()],
            intercept: vec![0.0; outputs],
        }
    }

    pub(crate) fn is_finite(&self) -> bool {
        [&self.theta, &self.beta, &self.intercept].iter().all(|part| part.iter().all(|w| w.is_finite()))
    }

    fn clear(&mut self) {
        [&mut self.theta, &mut self.beta, &mut self.intercept].into_iter().for_each(|part| part.fill(0.0));
    }

    fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.theta, &other.theta),
            (&mut self.beta, &other.beta),
            (&mut self.intercept, &other.intercept),
        ];
        for (a, b) in pairs {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        }
    }
}

/// Rows to learn from: standardised on the fly, targets as they are trained on, weights of mean one.
pub(crate) struct Problem<'a> {
    pub(crate) x: Matrix<'a>,
    pub(crate) scale: Scale,
    /// `rows x width`; one class index per row, or the regression outputs.
    pub(crate) y: Vec<f32>,
    pub(crate) weight: Option<Vec<f32>>,
    pub(crate) outputs: usize,
    pub(crate) loss: &'a dyn Loss,
    /// What a loss is multiplied with to be in units of the target.
    pub(crate) unit: f64,
}

impl Problem<'_> {
    pub(crate) fn width(&self) -> usize {
        self.y.len() / self.x.rows()
    }

    pub(crate) fn target(&self, i: usize) -> &[f32] {
        &self.y[i * self.width()..(i + 1) * self.width()]
    }

    pub(crate) fn weight(&self, i: usize) -> f32 {
        self.weight.as_ref().map_or(1.0, |w| w[i])
    }

    /// The loss of one row; leaves its gradient, times `factor`, in `residual`.
    fn row_loss(
        &self,
        i: usize,
        f: &[f32],
        factor: f64,
        scratch: &mut RowScratch,
        residual: &mut [f32],
    ) -> f64 {
        scratch.y.clear();
        scratch.y.extend(self.target(i).iter().map(|&v| v as f64));
        scratch.f.clear();
        scratch.f.extend(f.iter().map(|&v| v as f64));
        scratch.gradient.resize(f.len(), 0.0);
        let weight = self.weight(i) as f64;
        let loss = self.loss.row(&scratch.y, &scratch.f, &mut scratch.gradient);
        let factor = weight * factor;
        residual.iter_mut().zip(&scratch.gradient).for_each(|(r, g)| *r = (factor * g) as f32);
        weight * loss
    }
}

#[derive(Default)]
struct RowScratch {
    y: Vec<f64>,
    f: Vec<f64>,
    gradient: Vec<f64>,
}

/// Buffers of one thread.
#[derive(Default)]
struct Workspace {
    x: Vec<f32>,
    scaled: Vec<f32>,
    outputs: Vec<f32>,
    residual: Vec<f32>,
    tape: Tape,
    row: RowScratch,
}

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

impl Workspace {
    /// Standardises the rows and sets every output to the intercept.
    fn load(&mut self, path: Path, x: Matrix<'_>, rows: &[usize], scale: &Scale, weights: &Weights) {
        let (cells, k) = (rows.len() * x.columns(), weights.intercept.len());
        self.x.resize(cells, 0.0);
        self.scaled.resize(cells, 0.0);
        simd::gather(
            path,
            x.data(),
            x.columns(),
            rows,
            &scale.mean,
            &scale.inverse,
            &weights.theta,
            &mut self.x,
            &mut self.scaled,
        );
        self.outputs.clear();
        (0..rows.len()).for_each(|_| self.outputs.extend_from_slice(&weights.intercept));
        self.residual.resize(rows.len() * k, 0.0);
    }
}

/// One slot's share of a gradient.
struct Partial {
    gradient: Weights,
    loss: f64,
}

/// Computes gradients of mini-batches; owns the buffers, so that a step allocates nothing.
pub(crate) struct GradientEngine {
    path: Path,
    slots: Vec<Partial>,
}

/// At most this many partial gradients are kept, however large the batch.
const MAX_SLOTS: usize = 64;

/// Below this many multiplications a batch is not worth waking a second thread for.
const PARALLEL_WORK: usize = 1 << 17;

impl GradientEngine {
    pub(crate) fn new(map: &FeatureMap, outputs: usize, batch: usize) -> Self {
        let slots = batch.div_ceil(Self::slot_rows(batch));
        let slot = || Partial { gradient: Weights::zeros(map, outputs), loss: 0.0 };
        Self { path: simd::path(), slots: (0..slots).map(|_| slot()).collect() }
    }

    fn slot_rows(rows: usize) -> usize {
        CHUNK * rows.div_ceil(CHUNK).div_ceil(MAX_SLOTS)
    }

    /// Mean loss over the rows, and its gradient.
    pub(crate) fn gradient(
        &mut self,
        problem: &Problem<'_>,
        map: &FeatureMap,
        weights: &Weights,
        rows: &[usize],
    ) -> (f64, &mut Weights) {
        let slot_rows = Self::slot_rows(rows.len());
        let used = rows.len().div_ceil(slot_rows);
        let factor = 1.0 / rows.len() as f64;
        let path = self.path;
        let slots = &mut self.slots[..used];
        let work = |(slot, rows): (&mut Partial, &[usize])| {
            slot.gradient.clear();
            slot.loss = 0.0;
            for chunk in rows.chunks(CHUNK) {
                chunk_gradient(path, problem, map, weights, chunk, factor, slot);
            }
        };
        let multiplications = rows.len() * map.columns() * map.padded();
        if used > 1 && multiplications >= PARALLEL_WORK && rayon::current_num_threads() > 1 {
            slots.par_iter_mut().zip(rows.par_chunks(slot_rows)).for_each(work);
        } else {
            slots.iter_mut().zip(rows.chunks(slot_rows)).for_each(work);
        }
        let (first, rest) = slots.split_first_mut().expect("a batch has rows");
        for other in rest {
            first.gradient.add(&other.gradient);
            first.loss += other.loss;
        }
        (first.loss * factor, &mut first.gradient)
    }
}

fn chunk_gradient(
    path: Path,
    problem: &Problem<'_>,
    map: &FeatureMap,
    weights: &Weights,
    rows: &[usize],
    factor: f64,
    into: &mut Partial,
) {
    WORKSPACE.with_borrow_mut(|w| {
        let k = problem.outputs;
        w.load(path, problem.x, rows, &problem.scale, weights);
        simd::forward(
            path,
            &map.packed,
            &w.scaled,
            rows.len(),
            &weights.beta,
            k,
            &mut w.outputs,
            &mut w.tape,
        );
        let outputs = w.outputs.chunks_exact(k).zip(w.residual.chunks_exact_mut(k));
        for (&i, (f, residual)) in rows.iter().zip(outputs) {
            into.loss += problem.row_loss(i, f, factor, &mut w.row, residual);
            into.gradient.intercept.iter_mut().zip(&*residual).for_each(|(g, r)| *g += r);
        }
        let Weights { theta, beta, .. } = &mut into.gradient;
        simd::backward(
            path,
            &map.packed,
            &w.x,
            rows.len(),
            &weights.beta,
            k,
            &w.residual,
            &mut w.tape,
            theta,
            beta,
            None,
        );
    });
}

/// Weighted mean loss over the rows.
pub(crate) fn mean_loss(problem: &Problem<'_>, map: &FeatureMap, weights: &Weights, rows: &[usize]) -> f64 {
    let path = simd::path();
    let sums: Vec<(f64, f64)> = rows
        .par_chunks(CHUNK)
        .map(|rows| {
            WORKSPACE.with_borrow_mut(|w| {
                let k = problem.outputs;
                w.load(path, problem.x, rows, &problem.scale, weights);
                simd::predict(path, &map.packed, &w.scaled, rows.len(), &weights.beta, k, &mut w.outputs);
                let mut sum = (0.0, 0.0);
                let outputs = w.outputs.chunks_exact(k).zip(w.residual.chunks_exact_mut(k));
                for (&i, (f, residual)) in rows.iter().zip(outputs) {
                    sum.0 += problem.row_loss(i, f, 1.0, &mut w.row, residual);
                    sum.1 += problem.weight(i) as f64;
                }
                sum
            })
        })
        .collect();
    let (loss, weight) = sums.iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
    loss / weight
}

/// Outputs for every row, `rows x outputs`.
pub(crate) fn outputs(x: Matrix<'_>, scale: &Scale, map: &FeatureMap, weights: &Weights) -> Vec<f32> {
    let path = simd::path();
    let k = weights.intercept.len();
    let mut all = vec![0.0; x.rows() * k];
    all.par_chunks_mut(CHUNK * k).enumerate().for_each(|(c, out)| {
        let (rows, count) = chunk_rows(c, out.len() / k);
        WORKSPACE.with_borrow_mut(|w| {
            w.load(path, x, &rows[..count], scale, weights);
            simd::predict(path, &map.packed, &w.scaled, count, &weights.beta, k, &mut w.outputs);
            out.copy_from_slice(&w.outputs);
        });
    });
    all
}

/// For each column the sum over rows (weighted) and outputs of the squared derivative of f along the standardised
/// column.
pub(crate) fn squared_slopes(
    x: Matrix<'_>,
    scale: &Scale,
    map: &FeatureMap,
    weights: &Weights,
    rows: &[usize],
) -> Vec<f64> {
    let path = simd::path();
    let k = weights.intercept.len();
    let partials: Vec<Vec<f64>> = rows
        .par_chunks(GradientEngine::slot_rows(rows.len()))
        .map(|rows| {
            let mut sums = vec![0.0; x.columns()];
            for rows in rows.chunks(CHUNK) {
                WORKSPACE.with_borrow_mut(|w| {
                    w.load(path, x, rows, scale, weights);
                    let count = rows.len();
                    simd::forward(
                        path,
                        &map.packed,
                        &w.scaled,
                        count,
                        &weights.beta,
                        k,
                        &mut w.outputs,
                        &mut w.tape,
                    );
                    simd::slopes(path, &map.packed, count, &weights.beta, k, &w.tape, &mut sums);
                });
            }
            sums
        })
        .collect();
    let mut total = vec![0.0; x.columns()];
    for partial in &partials {
        total.iter_mut().zip(partial).for_each(|(t, p)| *t += p);
    }
    total.iter_mut().zip(&weights.theta).for_each(|(t, &theta)| *t *= (theta as f64).powi(2));
    total
}

/// The row numbers of chunk `c`, without an allocation.
fn chunk_rows(c: usize, count: usize) -> ([usize; CHUNK], usize) {
    let mut rows = [0; CHUNK];
    rows.iter_mut().enumerate().for_each(|(i, row)| *row = c * CHUNK + i);
    (rows, count)
}

#[cfg(test)]
mod tests;
