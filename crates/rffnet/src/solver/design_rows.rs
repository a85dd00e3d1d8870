//! The rows of a design, as the solver of a head passes over them: outputs, losses and their gradient.
//!
//! The dense columns of the design are kept in memory where they fit, and computed anew in every pass where they do not.
//! Partitions may stand before them: of a row, only the cells that it lies in are kept.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use crate::backend::MAX_BLOCKS;
use crate::features::{CELLS, Partitions};
use crate::fold::block_rows;
use crate::loss::LossRows;
use crate::problem::Problem;
use crate::ridge::{Design, DualForm};
use crate::simd::{self, CHUNK};

/// A larger design is computed anew at every step.
pub(crate) const MOST_BYTES: usize = 256 << 20;

/// Blocks of rows that threads share, where the sums of each have as many numbers as there are cells.
const MAX_BLOCKS_WITH_CELLS: usize = 16;

/// Numbers of the design whose rows' outputs are computed before their losses: they stay in the first-level cache.
const CACHED: usize = 8192;

/// The cells that some rows lie in.
pub(crate) struct Cells {
    partitions: usize,
    /// `rows x partitions`.
    of_rows: Vec<u8>,
    /// What the indicator of a cell is multiplied with.
    pub(crate) factor: f64,
}

impl Cells {
    pub(crate) fn new(problem: &Problem<'_>, rows: &[usize], partitions: &Partitions) -> Self {
        let (count, columns) = (partitions.count(), problem.columns);
        let mut of_rows = vec![0; rows.len() * count];
        of_rows.par_chunks_mut(CHUNK * count).zip(rows.par_chunks(CHUNK)).for_each(|(cells, rows)| {
            let mut transformed = Vec::new();
            columns.x.for_each_row(rows, |at, row| {
                transformed.clear();
                transformed.extend(columns.transforms.of_row(row));
                partitions.of_row(&transformed, &mut cells[at * count..][..count]);
            });
        });
        Self { partitions: count, of_rows, factor: 1.0 }
    }

    pub(crate) fn partitions(&self) -> usize {
        self.partitions
    }

    /// Columns of the design.
    pub(crate) fn columns(&self) -> usize {
        self.partitions * CELLS
    }

    /// With the indicators multiplied.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self { factor, ..self }
    }

    /// The weights of the rows in each cell, summed.
    pub(crate) fn sums(&self, weights: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut sums = vec![0.0; self.columns()];
        for (cells, weight) in self.of_rows.chunks_exact(self.partitions).zip(weights) {
            self.places(cells).for_each(|at| sums[at] += weight);
        }
        sums
    }

    /// The columns in which a row is not zero.
    fn places(&self, cells: &[u8]) -> impl Iterator<Item = usize> {
        (0..).step_by(CELLS).zip(cells).map(|(first, &cell)| first + cell as usize)
    }
}

/// The design of some rows: for each output the coefficients of the cells, and those of the dense columns behind them.
pub(crate) struct DesignRows<'a> {
    problem: &'a Problem<'a>,
    rows: &'a [usize],
    dense: Dense<'a>,
    /// Dense columns.
    columns: usize,
    cells: Option<&'a Cells>,
}

enum Dense<'a> {
    /// `rows x columns`.
    Kept(Cow<'a, [f32]>),
    Anew(&'a Design<'a>),
}

impl<'a> DesignRows<'a> {
    /// Of a design, in the coordinates of the dual form where that is used.
    pub(crate) fn new(
        problem: &'a Problem<'a>,
        rows: &'a [usize],
        design: &'a Design<'a>,
        dual: Option<&'a DualForm>,
        cells: Option<&'a Cells>,
    ) -> Self {
        let columns = dual.map_or(design.columns(), DualForm::columns);
        let dense = match dual {
            Some(dual) => Dense::Kept((&dual.design).into()),
            None if 4 * rows.len() * columns <= MOST_BYTES => Dense::Kept(design.rows(problem, rows).into()),
            None => Dense::Anew(design),
        };
        Self { problem, rows, dense, columns, cells }
    }

    #[cfg(test)]
    pub(crate) fn anew(self, design: &'a Design<'a>) -> Self {
        Self { dense: Dense::Anew(design), ..self }
    }

    /// Coefficients of the cells, for each output.
    pub(crate) fn cells(&self) -> usize {
        self.cells.map_or(0, Cells::columns)
    }

    /// Coefficients, for each output.
    pub(crate) fn columns(&self) -> usize {
        self.cells() + self.columns
    }

    /// `outputs` numbers a row.
    pub(crate) fn outputs(&self, coefficients: &[f64]) -> Vec<f32> {
        let (k, heads) = (self.problem.outputs, self.heads(coefficients));
        let block = block_rows(self.rows.len(), MAX_BLOCKS);
        let mut f = vec![0.0; self.rows.len() * k];
        f.par_chunks_mut(block * k).enumerate().for_each(|(at, f)| {
            let first = at * block;
            self.for_each_part(first..first + f.len() / k, |part, z, cells| {
                let f = &mut f[(part.start - first) * k..(part.end - first) * k];
                self.part_outputs(z, cells, &heads, f);
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

    /// What the gradient of the squared loss changes by with the coefficients: twice the normal equations times them.
    pub(crate) fn twice_normal(&self, coefficients: &[f64]) -> Vec<f64> {
        let (k, factor) = (self.problem.outputs, 2.0 / self.rows.len() as f32);
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
        let (k, n, heads) = (self.problem.outputs, self.rows.len(), self.heads(coefficients));
        let most = if self.cells.is_some() { MAX_BLOCKS_WITH_CELLS } else { MAX_BLOCKS };
        let block = block_rows(n, most);
        let sum = |first: usize| {
            let dense = vec![0.0; k * self.columns];
            let mut sums = Heads { cells: vec![0.0; heads.cells.len()], dense };
            let (mut total, mut f, mut r) = (0.0, Vec::new(), Vec::new());
            self.for_each_part(first..(first + block).min(n), |part, z, cells| {
                let rows = &self.rows[part];
                f.resize(rows.len() * k, 0.0);
                r.resize(rows.len() * k, 0.0);
                self.part_outputs(z, cells, &heads, &mut f);
                total += residual(rows, &f, &mut r);
                simd::dense_gradient(simd::path(), z, self.columns, &r, &mut sums.dense);
                if let Some(table) = self.cells {
                    for (cells, r) in cells.chunks_exact(table.partitions).zip(r.chunks_exact(k)) {
                        for (sums, r) in sums.cells.chunks_exact_mut(table.columns()).zip(r) {
                            let sums = sums.as_chunks_mut::<CELLS>().0.iter_mut();
                            sums.zip(cells).for_each(|(sums, &cell)| sums[cell as usize % CELLS] += r);
                        }
                    }
                }
            });
            (total, sums)
        };
        let firsts: Vec<usize> = (0..n).step_by(block).collect();
        let parts: Vec<(f64, Heads)> = firsts.into_par_iter().map(sum).collect();
        let mut total = vec![0.0; coefficients.len()];
        parts.iter().for_each(|(_, part)| self.add(part, &mut total));
        (parts.iter().map(|part| part.0).sum(), total)
    }

    /// Coefficients of all outputs, the cells' apart, as the passes take them.
    fn heads(&self, coefficients: &[f64]) -> Heads {
        let cells = self.cells();
        let factor = self.cells.map_or(1.0, |cells| cells.factor);
        let of_output = coefficients.chunks_exact(cells + self.columns);
        let narrow = |part: &[f64], factor: f64| part.iter().map(|v| (factor * v) as f32).collect::<Vec<_>>();
        Heads {
            cells: of_output.clone().flat_map(|b| narrow(&b[..cells], factor)).collect(),
            dense: of_output.flat_map(|b| narrow(&b[cells..], 1.0)).collect(),
        }
    }

    /// Adds a gradient by the heads to one by the coefficients.
    fn add(&self, part: &Heads, total: &mut [f64]) {
        let cells = self.cells();
        let factor = self.cells.map_or(1.0, |cells| cells.factor);
        for (c, total) in total.chunks_exact_mut(cells + self.columns).enumerate() {
            let (of_cells, of_dense) = total.split_at_mut(cells);
            let part_cells = &part.cells[c * cells..][..cells];
            of_cells.iter_mut().zip(part_cells).for_each(|(t, &g)| *t += factor * g as f64);
            let part_dense = &part.dense[c * self.columns..][..self.columns];
            of_dense.iter_mut().zip(part_dense).for_each(|(t, &g)| *t += g as f64);
        }
    }

    /// Hands over the dense columns and the cells of a few rows at a time.
    fn for_each_part(&self, rows: Range<usize>, mut take: impl FnMut(Range<usize>, &[f32], &[u8])) {
        let m = self.columns;
        let cells = |part: &Range<usize>| {
            let of =
                |table: &'a Cells| &table.of_rows[part.start * table.partitions..part.end * table.partitions];
            self.cells.map_or(&[][..], of)
        };
        let some = match self.dense {
            Dense::Kept(_) => (CACHED / m).clamp(8, CHUNK),
            Dense::Anew(_) => CHUNK,
        };
        let mut buffer = Vec::new();
        for first in rows.clone().step_by(some) {
            let part = first..(first + some).min(rows.end);
            match &self.dense {
                Dense::Kept(z) => take(part.clone(), &z[part.start * m..part.end * m], cells(&part)),
                Dense::Anew(design) => {
                    let rows = &self.rows[part.clone()];
                    buffer.resize(rows.len() * m, 0.0);
                    self.problem.backend.design(self.problem.columns, design, rows, m, &mut buffer);
                    take(part.clone(), &buffer, cells(&part));
                }
            }
        }
    }

    fn part_outputs(&self, z: &[f32], cells: &[u8], heads: &Heads, f: &mut [f32]) {
        simd::dense_outputs(simd::path(), z, self.columns, &heads.dense, f);
        if let Some(table) = self.cells {
            let rows = cells.chunks_exact(table.partitions).zip(f.chunks_exact_mut(self.problem.outputs));
            for (cells, f) in rows {
                for (values, f) in heads.cells.chunks_exact(table.columns()).zip(f) {
                    *f += sum_of_cells(values, cells);
                }
            }
        }
    }
}

/// The sum of the cells' values, in four parts that need not wait for one another.
fn sum_of_cells(values: &[f32], cells: &[u8]) -> f32 {
    let (values, _) = values.as_chunks::<CELLS>();
    let mut sums = [0.0; 4];
    let (fours, rest) = cells.as_chunks::<4>();
    let (values_of_fours, values_of_rest) = values.split_at(4 * fours.len());
    for (values, cells) in values_of_fours.chunks_exact(4).zip(fours) {
        for ((sum, values), &cell) in sums.iter_mut().zip(values).zip(cells) {
            *sum += values[cell as usize % CELLS];
        }
    }
    let rest: f32 =
        values_of_rest.iter().zip(rest).map(|(values, &cell)| values[cell as usize % CELLS]).sum();
    sums.iter().sum::<f32>() + rest
}

/// Coefficients in f32, of all outputs; those of the cells times their factor.
struct Heads {
    cells: Vec<f32>,
    dense: Vec<f32>,
}
