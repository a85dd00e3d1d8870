//! The feature map z(theta o x) and the network on top of it, evaluated chunk by chunk.
//!
//! Everything that touches rows is cut at fixed boundaries (64-row chunks, grouped into slots by a rule that knows the
//! number of rows only), and partial sums are added in order. So the number of threads never changes a bit.

mod slopes;

use std::cell::RefCell;
use std::sync::Arc;

use rayon::prelude::*;

use crate::Matrix;
use crate::loss::Loss;
use crate::simd::{self, CHUNK, Frequencies, Path, SpectrumGrad, Tape};
use crate::transform::Scale;

pub(crate) use slopes::{mean_outer_slopes, mean_squared_slopes};

/// Frequencies and phases, on the columns that have a relevance; the others cost nothing.
#[derive(Clone)]
pub(crate) struct FeatureMap {
    columns: usize,
    /// The columns the features look at, ascending.
    pub(crate) support: Arc<[usize]>,
    /// `support x features`, row-major.
    pub(crate) omega: Arc<[f32]>,
    pub(crate) phase: Arc<[f32]>,
    packed: Arc<Frequencies>,
}

impl FeatureMap {
    /// Features of all columns.
    #[cfg(test)]
    pub(crate) fn new(omega: Vec<f32>, phase: Vec<f32>) -> Self {
        let columns = omega.len() / phase.len();
        Self::on(columns, (0..columns).collect(), omega, phase)
    }

    /// Features of the columns in `support`.
    pub(crate) fn on(columns: usize, support: Vec<usize>, omega: Vec<f32>, phase: Vec<f32>) -> Self {
        debug_assert_eq!(omega.len(), support.len() * phase.len());
        let packed = Arc::new(Frequencies::new(&omega, &phase));
        Self { columns, support: support.into(), omega: omega.into(), phase: phase.into(), packed }
    }

    /// Columns of the data.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) fn features(&self) -> usize {
        self.packed.features()
    }

    pub(crate) fn padded(&self) -> usize {
        self.packed.padded()
    }

    /// Values of the supported columns, spread over all columns.
    pub(crate) fn spread(&self, values: &[f32]) -> Vec<f32> {
        let mut all = vec![0.0; self.columns];
        self.support.iter().zip(values).for_each(|(&j, &v)| all[j] = v);
        all
    }
}

/// The learned part. The factor of the cosines is folded into `beta`, whose rows (one per output) are padded with
/// zeros to the width the kernels work on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weights {
    /// Relevances of the supported columns.
    pub(crate) theta: Vec<f32>,
    pub(crate) beta: Vec<f32>,
    pub(crate) intercept: Vec<f32>,
    /// Linear terms, `outputs x columns` of the standardised data; empty without.
    pub(crate) linear: Vec<f32>,
}

impl Weights {
    pub(crate) fn zeros(map: &FeatureMap, outputs: usize) -> Self {
        Self {
            theta: vec![0.0; map.support.len()],
            beta: vec![0.0; outputs * map.padded()],
            intercept: vec![0.0; outputs],
            linear: Vec::new(),
        }
    }

    fn parts(&self) -> [&Vec<f32>; 4] {
        [&self.theta, &self.beta, &self.intercept, &self.linear]
    }

    fn parts_mut(&mut self) -> [&mut Vec<f32>; 4] {
        [&mut self.theta, &mut self.beta, &mut self.intercept, &mut self.linear]
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.parts().iter().all(|part| part.iter().all(|w| w.is_finite()))
    }

    fn clear(&mut self) {
        self.parts_mut().into_iter().for_each(|part| part.fill(0.0));
    }

    fn add(&mut self, other: &Self) {
        for (a, b) in self.parts_mut().into_iter().zip(other.parts()) {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        }
    }
}

/// Rows to learn from: standardised on the fly, targets as they are trained on, weights of mean one.
#[derive(Clone)]
pub(crate) struct Problem<'a> {
    pub(crate) x: Matrix<'a>,
    pub(crate) scale: Scale,
    /// `rows x width`; one class index per row, or the regression outputs.
    pub(crate) y: Vec<f32>,
    pub(crate) width: usize,
    pub(crate) weight: Option<Vec<f32>>,
    pub(crate) outputs: usize,
    pub(crate) loss: &'a dyn Loss,
    /// What a loss is multiplied with to be in units of the target.
    pub(crate) unit: f64,
}

impl Problem<'_> {
    pub(crate) fn target(&self, i: usize) -> &[f32] {
        &self.y[i * self.width..(i + 1) * self.width]
    }

    pub(crate) fn weight(&self, i: usize) -> f32 {
        self.weight.as_ref().map_or(1.0, |w| w[i])
    }

    /// The loss of one row; leaves its gradient, times `factor`, in `residual`.
    pub(crate) fn row_loss(
        &self,
        i: usize,
        f: &[f32],
        factor: f64,
        scratch: &mut RowScratch,
        residual: &mut [f32],
    ) -> f64 {
        let weight = self.weight(i) as f64;
        let factor = weight * factor;
        // One number per row is the common case, and worth keeping in registers.
        if let (&[y], &[f], [residual]) = (self.target(i), f, &mut *residual) {
            let mut gradient = [0.0];
            let loss = self.loss.row(&[y as f64], &[f as f64], &mut gradient);
            *residual = (factor * gradient[0]) as f32;
            return weight * loss;
        }
        scratch.y.clear();
        scratch.y.extend(self.target(i).iter().map(|&v| v as f64));
        scratch.f.clear();
        scratch.f.extend(f.iter().map(|&v| v as f64));
        scratch.gradient.resize(f.len(), 0.0);
        let loss = self.loss.row(&scratch.y, &scratch.f, &mut scratch.gradient);
        residual.iter_mut().zip(&scratch.gradient).for_each(|(r, g)| *r = (factor * g) as f32);
        weight * loss
    }
}

/// Room for one row's loss.
#[derive(Default)]
pub(crate) struct RowScratch {
    y: Vec<f64>,
    f: Vec<f64>,
    gradient: Vec<f64>,
}

/// Buffers of one thread.
#[derive(Default)]
struct Workspace {
    /// All columns, standardised; filled where linear terms need them.
    full: Vec<f32>,
    /// The supported columns, standardised, and the same times theta.
    x: Vec<f32>,
    scaled: Vec<f32>,
    outputs: Vec<f32>,
    residual: Vec<f32>,
    slopes: Vec<f32>,
    tape: Tape,
    row: RowScratch,
}

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

impl Workspace {
    /// Standardises the rows and sets every output to intercept and linear terms.
    fn load(
        &mut self,
        path: Path,
        x: Matrix<'_>,
        rows: &[usize],
        scale: &Scale,
        map: &FeatureMap,
        weights: &Weights,
    ) {
        let k = weights.intercept.len();
        self.gather(path, x, rows, scale, map, &weights.theta);
        self.outputs.clear();
        (0..rows.len()).for_each(|_| self.outputs.extend_from_slice(&weights.intercept));
        if !weights.linear.is_empty() {
            self.standardise(x, rows, scale);
            for (row, out) in self.full.chunks_exact(x.columns()).zip(self.outputs.chunks_exact_mut(k)) {
                for (out, slopes) in out.iter_mut().zip(weights.linear.chunks_exact(x.columns())) {
                    *out += dot(row, slopes);
                }
            }
        }
        self.residual.resize(rows.len() * k, 0.0);
    }

    /// The supported columns into `x`, and times theta into `scaled`.
    fn gather(
        &mut self,
        path: Path,
        x: Matrix<'_>,
        rows: &[usize],
        scale: &Scale,
        map: &FeatureMap,
        theta: &[f32],
    ) {
        let width = map.support.len();
        self.x.resize(rows.len() * width, 0.0);
        self.scaled.resize(rows.len() * width, 0.0);
        scale.gather(path, x, rows, &map.support, theta, &mut self.x, &mut self.scaled);
    }

    fn standardise(&mut self, x: Matrix<'_>, rows: &[usize], scale: &Scale) {
        self.full.clear();
        for &i in rows {
            self.full.extend(x.row(i).iter().enumerate().map(|(j, &v)| scale.apply(j, v)));
        }
    }
}

/// Eight partial sums, so that the additions need not wait for one another.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; 8];
    let (a_blocks, b_blocks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = a_blocks.remainder().iter().zip(b_blocks.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_blocks.zip(b_blocks) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(s, (a, b))| *s += a * b);
    }
    sums.iter().sum::<f32>() + rest
}

/// Which gradients are wanted beside the head's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Only the head: intercept, linear terms, beta.
    Head,
    /// The relevances too.
    Relevances,
    /// Relevances, frequencies and phases.
    Spectrum,
}

/// A gradient, or one slot's share of it.
pub(crate) struct Gradient {
    pub(crate) weights: Weights,
    /// `support x padded` and `padded`; empty unless the spectrum is wanted. That of omega lacks the factor theta_j.
    pub(crate) omega: Vec<f32>,
    pub(crate) phase: Vec<f32>,
    loss: f64,
}

/// Computes gradients of mini-batches and of whole samples; owns the buffers, so that a step allocates nothing.
pub(crate) struct GradientEngine {
    path: Path,
    wanted: Wanted,
    max_slots: usize,
    slots: Vec<Gradient>,
}

/// At most this many partial gradients are kept, however large the batch; fewer where each is as large as omega.
pub(crate) const MAX_SLOTS: usize = 64;
const MAX_SPECTRUM_SLOTS: usize = 8;

/// Below this many multiplications a batch is not worth waking a second thread for.
const PARALLEL_WORK: usize = 1 << 17;

impl GradientEngine {
    /// For batches of up to `batch` rows.
    pub(crate) fn new(map: &FeatureMap, like: &Weights, batch: usize, wanted: Wanted) -> Self {
        let max_slots = if wanted == Wanted::Spectrum { MAX_SPECTRUM_SLOTS } else { MAX_SLOTS };
        let slots = batch.div_ceil(slot_rows(batch, max_slots));
        let spectrum = if wanted == Wanted::Spectrum { map.padded() } else { 0 };
        let slot = || Gradient {
            weights: like.clone(),
            omega: vec![0.0; spectrum * map.support.len()],
            phase: vec![0.0; spectrum],
            loss: 0.0,
        };
        Self { path: simd::path(), wanted, max_slots, slots: (0..slots).map(|_| slot()).collect() }
    }

    /// Mean loss over the rows, and its gradient.
    pub(crate) fn gradient(
        &mut self,
        problem: &Problem<'_>,
        map: &FeatureMap,
        weights: &Weights,
        rows: &[usize],
    ) -> (f64, &mut Gradient) {
        let slot_rows = slot_rows(rows.len(), self.max_slots);
        let used = rows.len().div_ceil(slot_rows);
        let factor = 1.0 / rows.len() as f64;
        let (path, wanted) = (self.path, self.wanted);
        let slots = &mut self.slots[..used];
        let work = |(slot, rows): (&mut Gradient, &[usize])| {
            slot.weights.clear();
            slot.omega.fill(0.0);
            slot.phase.fill(0.0);
            slot.loss = 0.0;
            for chunk in rows.chunks(CHUNK) {
                chunk_gradient(path, wanted, problem, map, weights, chunk, factor, slot);
            }
        };
        let multiplications = rows.len() * map.support.len() * map.padded();
        if used > 1 && multiplications >= PARALLEL_WORK && rayon::current_num_threads() > 1 {
            slots.par_iter_mut().zip(rows.par_chunks(slot_rows)).for_each(work);
        } else {
            slots.iter_mut().zip(rows.chunks(slot_rows)).for_each(work);
        }
        let (first, rest) = slots.split_first_mut().expect("a batch has rows");
        for other in rest {
            first.weights.add(&other.weights);
            first.omega.iter_mut().zip(&other.omega).for_each(|(a, b)| *a += b);
            first.phase.iter_mut().zip(&other.phase).for_each(|(a, b)| *a += b);
            first.loss += other.loss;
        }
        (first.loss * factor, first)
    }
}

/// Rows per slot: whole chunks, so many that there are at most `slots`.
pub(crate) fn slot_rows(rows: usize, slots: usize) -> usize {
    CHUNK * rows.div_ceil(CHUNK).div_ceil(slots)
}

fn chunk_gradient(
    path: Path,
    wanted: Wanted,
    problem: &Problem<'_>,
    map: &FeatureMap,
    weights: &Weights,
    rows: &[usize],
    factor: f64,
    into: &mut Gradient,
) {
    WORKSPACE.with_borrow_mut(|w| {
        let (k, count) = (problem.outputs, rows.len());
        w.load(path, problem.x, rows, &problem.scale, map, weights);
        simd::forward(path, &map.packed, &w.scaled, count, &weights.beta, k, &mut w.outputs, &mut w.tape);
        let outputs = w.outputs.chunks_exact(k).zip(w.residual.chunks_exact_mut(k));
        for (&i, (f, residual)) in rows.iter().zip(outputs) {
            into.loss += problem.row_loss(i, f, factor, &mut w.row, residual);
            into.weights.intercept.iter_mut().zip(&*residual).for_each(|(g, r)| *g += r);
        }
        if !weights.linear.is_empty() {
            let d = problem.x.columns();
            for (row, residual) in w.full.chunks_exact(d).zip(w.residual.chunks_exact(k)) {
                for (gradient, r) in into.weights.linear.chunks_exact_mut(d).zip(residual) {
                    gradient.iter_mut().zip(row).for_each(|(g, x)| *g += r * x);
                }
            }
        }
        let Weights { theta, beta, .. } = &mut into.weights;
        if wanted == Wanted::Head {
            simd::backward_head(path, &map.packed, count, k, &w.residual, &w.tape, beta);
            return;
        }
        let spectrum = (wanted == Wanted::Spectrum)
            .then_some(SpectrumGrad { omega: &mut into.omega, phase: &mut into.phase });
        let r = &w.residual;
        simd::backward(
            path,
            &map.packed,
            &w.x,
            count,
            &weights.beta,
            k,
            r,
            &mut w.tape,
            theta,
            beta,
            spectrum,
        );
    });
}

/// The weighted loss of each row.
pub(crate) fn row_losses(
    problem: &Problem<'_>,
    map: &FeatureMap,
    weights: &Weights,
    rows: &[usize],
) -> Vec<f64> {
    let k = problem.outputs;
    let f = outputs(problem.x, &problem.scale, map, weights, rows);
    let (mut scratch, mut residual) = (RowScratch::default(), vec![0.0; k]);
    let losses = rows.iter().zip(f.chunks_exact(k));
    losses.map(|(&i, f)| problem.row_loss(i, f, 1.0, &mut scratch, &mut residual)).collect()
}

/// Weighted mean loss over the rows.
pub(crate) fn mean_loss(problem: &Problem<'_>, map: &FeatureMap, weights: &Weights, rows: &[usize]) -> f64 {
    let path = simd::path();
    let sums: Vec<(f64, f64)> = rows
        .par_chunks(CHUNK)
        .map(|rows| {
            WORKSPACE.with_borrow_mut(|w| {
                let k = problem.outputs;
                w.load(path, problem.x, rows, &problem.scale, map, weights);
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

/// Outputs for the given rows, `rows x outputs`.
pub(crate) fn outputs(
    x: Matrix<'_>,
    scale: &Scale,
    map: &FeatureMap,
    weights: &Weights,
    rows: &[usize],
) -> Vec<f32> {
    let path = simd::path();
    let k = weights.intercept.len();
    let mut all = vec![0.0; rows.len() * k];
    all.par_chunks_mut(CHUNK * k).zip(rows.par_chunks(CHUNK)).for_each(|(out, rows)| {
        WORKSPACE.with_borrow_mut(|w| {
            w.load(path, x, rows, scale, map, weights);
            simd::predict(path, &map.packed, &w.scaled, rows.len(), &weights.beta, k, &mut w.outputs);
            out.copy_from_slice(&w.outputs);
        });
    });
    all
}

/// Writes the rows of the exact head's design: cosines times `cosine`, the standardised columns times `linear` (none
/// if that is 0), and 1. Each row of `z` is `stride` long; what lies behind the design is left alone.
pub(crate) fn design(
    x: Matrix<'_>,
    scale: &Scale,
    map: &FeatureMap,
    theta: &[f32],
    rows: &[usize],
    cosine: f32,
    linear: f32,
    stride: usize,
    z: &mut [f32],
) {
    let path = simd::path();
    let (s, padded) = (map.features(), map.padded());
    z.par_chunks_mut(CHUNK * stride).zip(rows.par_chunks(CHUNK)).for_each(|(z, rows)| {
        WORKSPACE.with_borrow_mut(|w| {
            w.gather(path, x, rows, scale, map, theta);
            w.outputs.resize(rows.len() * padded, 0.0);
            simd::features(path, &map.packed, &w.scaled, rows.len(), &mut w.outputs);
            for ((row, features), &i) in
                z.chunks_exact_mut(stride).zip(w.outputs.chunks_exact(padded)).zip(rows)
            {
                let (cosines, rest) = row.split_at_mut(s);
                cosines.iter_mut().zip(features).for_each(|(z, f)| *z = cosine * f);
                let terms = if linear == 0.0 { 0 } else { x.columns() };
                for (j, (z, &v)) in rest[..terms].iter_mut().zip(x.row(i)).enumerate() {
                    *z = linear * scale.apply(j, v);
                }
                rest[terms] = 1.0;
            }
        });
    });
}

#[cfg(test)]
mod tests;
