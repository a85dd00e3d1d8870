//! The cells of partitions that some rows lie in: the sparse columns of a design.

use rayon::prelude::*;

use crate::features::{CELLS, Partitions};
use crate::problem::Problem;
use crate::simd::CHUNK;

/// The cells that some rows lie in. Cells that no row can lie in are left out.
pub(crate) struct Cells {
    /// The column of the design of each partition's first cell.
    first: Vec<u32>,
    /// Columns of the design.
    columns: usize,
    /// `rows x partitions`.
    of_rows: Vec<u8>,
}

impl Cells {
    pub(crate) fn new(problem: &Problem<'_>, rows: &[usize], partitions: &Partitions) -> Self {
        let (mut first, mut columns) = (Vec::new(), 0);
        for reachable in partitions.reachable() {
            first.push(columns as u32);
            columns += reachable;
        }
        Self { first, columns, of_rows: Vec::new() }.on_more(problem, rows, partitions)
    }

    /// With more rows behind those before.
    pub(crate) fn on_more(mut self, problem: &Problem<'_>, rows: &[usize], partitions: &Partitions) -> Self {
        let (count, columns, before) = (self.partitions(), problem.columns, self.of_rows.len());
        self.of_rows.resize(before + rows.len() * count, 0);
        let of_rows = self.of_rows[before..].par_chunks_mut(CHUNK * count);
        of_rows.zip(rows.par_chunks(CHUNK)).for_each(|(cells, rows)| {
            let mut transformed = Vec::new();
            columns.x.for_each_row(rows, |at, row| {
                transformed.clear();
                transformed.extend(columns.transforms.of_row(row));
                partitions.of_row(&transformed, &mut cells[at * count..][..count]);
            });
        });
        self
    }

    pub(crate) fn partitions(&self) -> usize {
        self.first.len()
    }

    /// Columns of the design.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// The values of all cells, given those of the columns of the design.
    pub(crate) fn spread(&self, values: &[f64]) -> Vec<f32> {
        let mut all = vec![0.0; self.partitions() * CELLS];
        let ends = self.first[1..].iter().map(|&end| end as usize).chain([self.columns]);
        for ((all, &first), end) in all.chunks_exact_mut(CELLS).zip(&self.first).zip(ends) {
            all.iter_mut().zip(&values[first as usize..end]).for_each(|(all, &value)| *all = value as f32);
        }
        all
    }

    /// The weights of the rows in each cell, summed.
    pub(crate) fn sums(&self, weights: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut sums = vec![0.0; self.columns];
        for (cells, weight) in self.of_rows.chunks_exact(self.partitions()).zip(weights) {
            self.columns_of(cells).for_each(|at| sums[at] += weight);
        }
        sums
    }

    /// The columns of the design in which a row is not zero.
    fn columns_of(&self, cells: &[u8]) -> impl Iterator<Item = usize> {
        self.first.iter().zip(cells).map(|(&first, &cell)| first as usize + cell as usize)
    }

    /// The cells of some rows.
    fn of(&self, rows: std::ops::Range<usize>) -> std::slice::ChunksExact<'_, u8> {
        let count = self.partitions();
        self.of_rows[rows.start * count..rows.end * count].chunks_exact(count)
    }

    /// Adds the values of the rows' cells to the outputs of `k` heads, `values` holding those of each cell side by side.
    pub(super) fn add_outputs(&self, rows: std::ops::Range<usize>, values: &[f32], k: usize, f: &mut [f32]) {
        for (cells, f) in self.of(rows).zip(f.chunks_exact_mut(k)) {
            match k {
                1 => add(f, &self.sum_of_values::<1>(values, cells)),
                2 => add(f, &self.sum_of_values::<2>(values, cells)),
                3 => add(f, &self.sum_of_values::<3>(values, cells)),
                4 => add(f, &self.sum_of_values::<4>(values, cells)),
                _ => self.columns_of(cells).for_each(|at| add(f, &values[at * k..][..k])),
            }
        }
    }

    /// The sum of a row's values for each of `K` heads, in four parts that need not wait for one another.
    fn sum_of_values<const K: usize>(&self, values: &[f32], cells: &[u8]) -> [f32; K] {
        let (values, _) = values.as_chunks::<K>();
        let mut sums = [[0.0; K]; 4];
        let (fours, rest) = cells.as_chunks::<4>();
        let (first, first_of_rest) = self.first.as_chunks::<4>();
        for (first, cells) in first.iter().zip(fours) {
            for ((sum, &first), &cell) in sums.iter_mut().zip(first).zip(cells) {
                add(sum, &values[first as usize + cell as usize]);
            }
        }
        for (&first, &cell) in first_of_rest.iter().zip(rest) {
            add(&mut sums[0], &values[first as usize + cell as usize]);
        }
        std::array::from_fn(|k| (sums[0][k] + sums[1][k]) + (sums[2][k] + sums[3][k]))
    }

    /// Adds the numbers of each row, one for each head, to those of its cells.
    pub(super) fn add_to_cells(&self, rows: std::ops::Range<usize>, r: &[f32], k: usize, sums: &mut [f32]) {
        for (cells, r) in self.of(rows).zip(r.chunks_exact(k)) {
            match k {
                1 => self.add_to_values::<1>(sums, cells, r),
                2 => self.add_to_values::<2>(sums, cells, r),
                3 => self.add_to_values::<3>(sums, cells, r),
                4 => self.add_to_values::<4>(sums, cells, r),
                _ => self.columns_of(cells).for_each(|at| add(&mut sums[at * k..][..k], r)),
            }
        }
    }

    fn add_to_values<const K: usize>(&self, sums: &mut [f32], cells: &[u8], r: &[f32]) {
        let (sums, _) = sums.as_chunks_mut::<K>();
        self.columns_of(cells).for_each(|at| add(&mut sums[at], r));
    }
}

fn add(to: &mut [f32], numbers: &[f32]) {
    to.iter_mut().zip(numbers).for_each(|(to, number)| *to += number);
}
