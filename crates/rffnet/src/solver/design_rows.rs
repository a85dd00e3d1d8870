//! The rows of a design, as the solver of a head passes over them: outputs, losses and their gradient.
//!
//! The dense columns of the design are in memory where they fit, and computed anew in every pass where they do not. Partitions
//! may stand before them: of a row, only the cells that it lies in are kept. A pass takes several heads at a time.

use std::ops::Range;

use rayon::prelude::*;

use crate::backend::MAX_BLOCKS;
use crate::fold::block_rows;
use crate::loss::LossRows;
use crate::problem::Problem;
use crate::ridge::{Design, DualForm};
use crate::simd::{self, CHUNK};
use crate::solver::cells::Cells;
use crate::solver::kept_design::KeptDesign;

/// Blocks of rows that threads share, where the sums of each have as many numbers as there are cells.
const MAX_BLOCKS_WITH_CELLS: usize = 16;

/// Bytes of the design whose rows' outputs are computed before their losses: they stay in the first-level cache.
const CACHED: usize = 32 << 10;

/// Numbers of a sum over blocks that are worth a thread.
const PARALLEL: usize = 1 << 11;

/// The design of some rows: for each head the coefficients of the cells, and those of the dense columns behind them.
pub(crate) struct DesignRows<'a> {
    problem: &'a Problem<'a>,
    rows: &'a [usize],
    dense: Dense<'a>,
    /// Dense columns.
    columns: usize,
    cells: Option<&'a Cells>,
}

enum Dense<'a> {
    Kept(&'a KeptDesign),
    /// `rows x columns`, in the coordinates of the dual form.
    Dual(&'a [f32]),
    Anew(&'a Design<'a>),
}

impl<'a> DesignRows<'a> {
    /// Of a design, in the coordinates of the dual form where that is used, or from memory where it is kept.
    pub(crate) fn new(
        problem: &'a Problem<'a>,
        rows: &'a [usize],
        design: &'a Design<'a>,
        dual: Option<&'a DualForm>,
        kept: Option<&'a KeptDesign>,
        cells: Option<&'a Cells>,
    ) -> Self {
        let columns = dual.map_or(design.columns(), DualForm::columns);
        let dense = match (dual, kept) {
            (Some(dual), _) => Dense::Dual(&dual.design),
            (None, Some(kept)) => Dense::Kept(kept),
            (None, None) => Dense::Anew(design),
        };
        Self { problem, rows, dense, columns, cells }
    }

    /// Coefficients of the cells, for each head.
    pub(crate) fn cells(&self) -> usize {
        self.cells.map_or(0, Cells::columns)
    }

    /// Coefficients, for each head.
    pub(crate) fn columns(&self) -> usize {
        self.cells() + self.columns
    }

    /// `outputs` numbers a row.
    pub(crate) fn outputs(&self, coefficients: &[f64]) -> Vec<f32> {
        let heads = self.heads(coefficients);
        let block = block_rows(self.rows.len(), MAX_BLOCKS);
        let mut f = vec![0.0; self.rows.len() * heads.count];
        f.par_chunks_mut(block * heads.count).enumerate().for_each(|(at, f)| {
            let first = at * block;
            self.for_each_part(first..first + f.len() / heads.count, |part| {
                let rows = part.rows.start - first..part.rows.end - first;
                part.add_outputs(&heads, &mut f[rows.start * heads.count..rows.end * heads.count]);
            });
        });
        f
    }

    /// Mean loss over the rows, and its gradient by the coefficients.
    pub(crate) fn gradient(&self, coefficients: &[f64]) -> (f64, Vec<f64>) {
        let (problem, factor) = (self.problem, 1.0 / self.rows.len() as f64);
        let (loss, gradient) = self.pass(coefficients, |rows, f, gradient| {
            let (y, weight) = (problem.targets(rows), problem.weights(rows));
            let outputs = problem.outputs;
            let mut loss = 0.0;
            let rows = LossRows { y: &y, f, weight: &weight, factor, outputs, gradient };
            problem.loss.block(rows, &mut loss);
            loss
        });
        (factor * loss, gradient)
    }

    /// What the gradient of the squared loss changes by with the coefficients of any number of heads: twice the normal
    /// equations times them.
    pub(crate) fn twice_normal(&self, coefficients: &[f64]) -> Vec<f64> {
        let (k, factor) = (coefficients.len() / self.columns(), 2.0 / self.rows.len() as f32);
        let (_, product) = self.pass(coefficients, |rows, f, gradient| {
            for ((gradient, f), &i) in gradient.chunks_exact_mut(k).zip(f.chunks_exact(k)).zip(rows) {
                let weight = factor * self.problem.weight(i);
                gradient.iter_mut().zip(f).for_each(|(g, f)| *g = weight * f);
            }
            0.0
        });
        product
    }

    /// A pass over the rows: `residual` makes of the outputs of some rows numbers that the design is multiplied with, and the
    /// numbers that it returns are added up.
    fn pass(
        &self,
        coefficients: &[f64],
        residual: impl Fn(&[usize], &[f32], &mut [f32]) -> f64 + Sync,
    ) -> (f64, Vec<f64>) {
        let (n, heads) = (self.rows.len(), self.heads(coefficients));
        let most = if self.cells.is_some() { MAX_BLOCKS_WITH_CELLS } else { MAX_BLOCKS };
        let block = block_rows(n, most);
        let sum = |first: usize| {
            let (mut sums, mut total) = (heads.zeros(), 0.0);
            let (mut f, mut r) = (Vec::new(), Vec::new());
            self.for_each_part(first..(first + block).min(n), |part| {
                let rows = &self.rows[part.rows.clone()];
                f.clear();
                f.resize(rows.len() * heads.count, 0.0);
                r.resize(rows.len() * heads.count, 0.0);
                part.add_outputs(&heads, &mut f);
                total += residual(rows, &f, &mut r);
                part.add_gradient(&r, &mut sums);
            });
            (total, sums)
        };
        let firsts: Vec<usize> = (0..n).step_by(block).collect();
        let parts: Vec<(f64, Heads)> = firsts.into_par_iter().map(sum).collect();
        (parts.iter().map(|part| part.0).sum(), self.total(&parts))
    }

    /// Cosines that are kept as whole numbers.
    fn short(&self) -> (usize, f64) {
        match self.dense {
            Dense::Kept(kept) => (kept.features(), kept.unit),
            _ => (0, 1.0),
        }
    }

    /// The coefficients as the passes take them.
    fn heads(&self, coefficients: &[f64]) -> Heads {
        let (cells, (short, unit)) = (self.cells(), self.short());
        let count = coefficients.len() / self.columns();
        let of_head = coefficients.chunks_exact(self.columns());
        let part = |range: Range<usize>, factor: f64| -> Vec<f32> {
            of_head.clone().flat_map(|b| b[range.clone()].iter().map(|v| (factor * v) as f32)).collect()
        };
        let values = (0..cells).flat_map(|at| of_head.clone().map(move |b| b[at] as f32));
        Heads {
            count,
            cells: values.collect(),
            short: part(cells..cells + short, unit),
            others: part(cells + short..self.columns(), 1.0),
        }
    }

    /// The sum over blocks of rows, as a gradient by the coefficients.
    fn total(&self, blocks: &[(f64, Heads)]) -> Vec<f64> {
        let sum = |of: fn(&Heads) -> &Vec<f32>, factor: f64| {
            let mut total = vec![0.0; of(&blocks[0].1).len()];
            total.par_chunks_mut(PARALLEL).enumerate().for_each(|(at, total)| {
                for (_, block) in blocks {
                    let numbers = &of(block)[at * PARALLEL..];
                    total.iter_mut().zip(numbers).for_each(|(t, &v)| *t += f64::from(v));
                }
                total.iter_mut().for_each(|t| *t *= factor);
            });
            total
        };
        let (k, (_, unit)) = (blocks[0].1.count, self.short());
        let (cells, short, others) =
            (sum(|h| &h.cells, 1.0), sum(|h| &h.short, unit), sum(|h| &h.others, 1.0));
        let part = |values: &[f64], head: usize| {
            let len = values.len() / k;
            values[head * len..(head + 1) * len].to_vec()
        };
        let of_head = |head| {
            let cells: Vec<f64> = cells.iter().skip(head).step_by(k).copied().collect();
            [cells, part(&short, head), part(&others, head)].concat()
        };
        (0..k).flat_map(of_head).collect()
    }

    /// Hands over a few rows at a time.
    fn for_each_part(&self, rows: Range<usize>, mut take: impl FnMut(Part<'_>)) {
        let m = self.columns;
        let bytes = |short: usize| 2 * short + 4 * (m - short);
        let some = match self.dense {
            Dense::Anew(_) => CHUNK,
            _ => (CACHED / bytes(self.short().0)).clamp(8, CHUNK),
        };
        let mut buffer = Vec::new();
        for first in rows.clone().step_by(some) {
            let rows = first..(first + some).min(rows.end);
            let of = |columns: usize| rows.start * columns..rows.end * columns;
            let (short, others) = match &self.dense {
                Dense::Kept(kept) => {
                    let s = kept.features();
                    (&kept.cosines[of(s)], &kept.others[of(m - s)])
                }
                Dense::Dual(design) => (&[][..], &design[of(m)]),
                Dense::Anew(design) => {
                    let rows = &self.rows[rows.clone()];
                    buffer.resize(rows.len() * m, 0.0);
                    self.problem.backend.design(self.problem.columns, design, rows, m, &mut buffer);
                    (&[][..], &buffer[..])
                }
            };
            take(Part { rows, short, others, cells: self.cells });
        }
    }
}

/// Some rows of the design.
struct Part<'a> {
    rows: Range<usize>,
    short: &'a [i16],
    others: &'a [f32],
    cells: Option<&'a Cells>,
}

impl Part<'_> {
    fn add_outputs(&self, heads: &Heads, f: &mut [f32]) {
        let (path, rows) = (simd::path(), self.rows.len());
        if !self.short.is_empty() {
            simd::short_outputs(path, self.short, self.short.len() / rows, &heads.short, f);
        }
        simd::dense_outputs(path, self.others, self.others.len() / rows, &heads.others, f);
        if let Some(cells) = self.cells {
            cells.add_outputs(self.rows.clone(), &heads.cells, heads.count, f);
        }
    }

    fn add_gradient(&self, r: &[f32], sums: &mut Heads) {
        let (path, rows) = (simd::path(), self.rows.len());
        if !self.short.is_empty() {
            simd::short_gradient(path, self.short, self.short.len() / rows, r, &mut sums.short);
        }
        simd::dense_gradient(path, self.others, self.others.len() / rows, r, &mut sums.others);
        if let Some(cells) = self.cells {
            cells.add_to_cells(self.rows.clone(), r, sums.count, &mut sums.cells);
        }
    }
}

/// Coefficients in f32 of several heads, or sums of that form.
struct Heads {
    count: usize,
    /// Of each cell the values of all heads.
    cells: Vec<f32>,
    /// Of each head those of whole numbers, in their unit, and those of other dense columns.
    short: Vec<f32>,
    others: Vec<f32>,
}

impl Heads {
    fn zeros(&self) -> Self {
        let zeros = |values: &Vec<f32>| vec![0.0; values.len()];
        Self {
            count: self.count,
            cells: zeros(&self.cells),
            short: zeros(&self.short),
            others: zeros(&self.others),
        }
    }
}
