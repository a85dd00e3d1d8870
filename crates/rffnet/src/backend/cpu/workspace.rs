//! Buffers of one thread.

use std::cell::RefCell;

use crate::features::{FeatureMap, Network};
use crate::loss::LossRows;
use crate::problem::{Columns, Problem};
use crate::simd::{self, Path, Tape};
use crate::transform::Gather;

/// A chunk of rows on its way through a network.
#[derive(Default)]
pub(super) struct Workspace {
    /// All columns, transformed; filled where linear terms or partitions need them.
    pub(super) full: Vec<f32>,
    /// The supported columns, transformed, and the same times theta.
    pub(super) x: Vec<f32>,
    pub(super) scaled: Vec<f32>,
    pub(super) outputs: Vec<f32>,
    pub(super) residual: Vec<f32>,
    pub(super) slopes: Vec<f32>,
    pub(super) tape: Tape,
    y: Vec<f32>,
    weight: Vec<f32>,
}

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

/// Lends this thread's buffers.
pub(super) fn with_workspace<T>(work: impl FnOnce(&mut Workspace) -> T) -> T {
    // Taken, not borrowed: a source of rows or a loss may use threads itself, and this one then helps with another chunk.
    let mut workspace = WORKSPACE.take();
    let result = work(&mut workspace);
    WORKSPACE.set(workspace);
    result
}

impl Workspace {
    /// Transforms the rows and sets every output to intercept and linear terms.
    fn load(&mut self, path: Path, columns: Columns<'_>, network: Network<'_>, rows: &[usize]) {
        let Network { map, weights } = network;
        let (d, k) = (columns.x.columns(), weights.intercept.len());
        self.gather(path, columns, map, &weights.theta, rows);
        self.outputs.clear();
        (0..rows.len()).for_each(|_| self.outputs.extend_from_slice(&weights.intercept));
        let partitions = map.partitions.as_ref().filter(|_| !weights.cells.is_empty());
        if !weights.linear.is_empty() || partitions.is_some() {
            self.full.clear();
            columns.x.for_each_row(rows, |_, row| {
                self.full.extend(columns.transforms.of_row(row));
            });
            for (row, out) in self.full.chunks_exact(d).zip(self.outputs.chunks_exact_mut(k)) {
                for (out, slopes) in out.iter_mut().zip(weights.linear.chunks_exact(d)) {
                    *out += dot(row, slopes);
                }
                if let Some(partitions) = partitions {
                    partitions.add(row, &weights.cells, out);
                }
            }
        }
        self.residual.resize(rows.len() * k, 0.0);
    }

    /// The outputs of the network.
    pub(super) fn predict(&mut self, path: Path, columns: Columns<'_>, network: Network<'_>, rows: &[usize]) {
        let Network { map, weights } = network;
        self.load(path, columns, network, rows);
        let (k, f) = (network.outputs(), &mut self.outputs);
        simd::predict(path, &map.packed, &self.scaled, rows.len(), &weights.beta, k, f);
    }

    /// The same, recorded for a pass backward.
    pub(super) fn forward(&mut self, path: Path, columns: Columns<'_>, network: Network<'_>, rows: &[usize]) {
        let Network { map, weights } = network;
        self.load(path, columns, network, rows);
        let (k, f, tape) = (network.outputs(), &mut self.outputs, &mut self.tape);
        simd::forward(path, &map.packed, &self.scaled, rows.len(), &weights.beta, k, f, tape);
    }

    /// The supported columns into `x`, and times theta into `scaled`.
    pub(super) fn gather(
        &mut self,
        path: Path,
        columns: Columns<'_>,
        map: &FeatureMap,
        theta: &[f32],
        rows: &[usize],
    ) {
        let width = map.support.len();
        self.x.resize(rows.len() * width, 0.0);
        self.scaled.resize(rows.len() * width, 0.0);
        let cells = Gather { x: columns.x, rows, support: &map.support, theta };
        columns.transforms.gather(path, cells, &mut self.x, &mut self.scaled);
    }

    /// Adds the losses of the rows to `total`, and leaves their gradients, times `factor`, in `residual`.
    pub(super) fn losses(&mut self, problem: &Problem<'_>, rows: &[usize], factor: f64, total: &mut f64) {
        self.y.clear();
        self.weight.clear();
        for &i in rows {
            self.y.extend_from_slice(problem.target(i));
            self.weight.push(problem.weight(i));
        }
        let rows = LossRows {
            y: &self.y,
            f: &self.outputs,
            weight: &self.weight,
            factor,
            outputs: problem.outputs,
            gradient: &mut self.residual,
        };
        problem.loss.block(rows, total);
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
