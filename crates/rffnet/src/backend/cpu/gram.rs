//! Gram matrices of designs: blocks of rows are multiplied in f32 and added in f64.

use std::cell::Cell;
use std::ops::Range;

use rayon::prelude::*;

use super::Cpu;
use super::predict::write_design;
use crate::fold::Fold;
use crate::problem::Problem;
use crate::ridge::{Design, Gram};
use crate::simd::{self, Aligned, CHUNK, GRAM_BLOCK, LINE, Path, gram_panels, gram_ranges};

/// Numbers of a design that are packed at a time: enough blocks of rows for some threads, since members are side by side.
const PACKED: usize = 1 << 20;

/// Rows of so many columns that are packed at a time: whole blocks.
pub(super) fn packed_rows(columns: usize) -> usize {
    GRAM_BLOCK * (PACKED / GRAM_BLOCK / columns.next_multiple_of(LINE)).max(2)
}

thread_local! {
    /// Packed rows, of all threads together: those that are multiplied, and the next ones.
    static PANELS: Cell<[Aligned; 2]> = Cell::default();
    /// Rows of a block before they are packed.
    static DESIGN: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

/// Ranges of the output for each thread, since some end later than others.
const RANGES: usize = 2;

/// Adds the products of the columns of `z`.
pub(super) fn add_products(path: Path, gram: &mut Gram, z: &[f32]) {
    let m = gram.columns;
    let pack = |rows: Range<usize>, panels: &mut [f32]| {
        gram_panels(&z[rows.start * m..rows.end * m], m, m, panels);
    };
    add_blocks(path, gram, z.len() / m, pack);
}

/// Adds the products of so many rows, whose blocks `pack` packs: the next ones while those before are multiplied. Threads share
/// the blocks and the rows of the output, so that their number does not change a sum.
fn add_blocks(path: Path, gram: &mut Gram, rows: usize, pack: impl Fn(Range<usize>, &mut [f32]) + Sync) {
    let (m, padded) = (gram.columns, gram.columns.next_multiple_of(LINE));
    let at_a_time = packed_rows(m);
    let pack_from = |first: usize, panels: &mut Aligned| {
        panels.resize(at_a_time.min(rows.saturating_sub(first)) * padded);
        panels.par_chunks_mut(GRAM_BLOCK * padded).enumerate().for_each(|(block, panels)| {
            let first = first + block * GRAM_BLOCK;
            pack(first..first + panels.len() / padded, panels);
        });
    };
    let mut multiply = |panels: &Aligned| {
        let mut rest = gram.products.as_mut_slice();
        let mut parts = Vec::new();
        for range in gram_ranges(m, RANGES * rayon::current_num_threads()) {
            let (part, tail) = rest.split_at_mut(range.len() * m);
            parts.push((range, part));
            rest = tail;
        }
        parts.into_par_iter().for_each(|(range, part)| simd::gram(path, panels, m, range, part));
    };
    let [mut now, mut next] = PANELS.take();
    pack_from(0, &mut now);
    for first in (0..rows).step_by(at_a_time) {
        rayon::join(|| multiply(&now), || pack_from(first + at_a_time, &mut next));
        std::mem::swap(&mut now, &mut next);
    }
    PANELS.set([now, next]);
}

/// Products of the columns of a design and of the targets behind it.
pub(super) struct DesignProducts<'a> {
    pub(super) cpu: &'a Cpu,
    pub(super) problem: &'a Problem<'a>,
    pub(super) design: &'a Design<'a>,
    pub(super) curvature: Option<&'a [f32]>,
}

impl Fold for DesignProducts<'_> {
    type Sum = Gram;

    fn empty(&self) -> Gram {
        let targets = if self.curvature.is_some() { 0 } else { self.problem.outputs };
        Gram::new(self.design.columns() + targets)
    }

    fn add(&self, gram: &mut Gram, rows: &[usize]) {
        let Self { cpu, problem, design, curvature } = *self;
        let (m, columns) = (gram.columns, design.columns());
        add_blocks(cpu.path, gram, rows.len(), |block, panels| {
            let rows = &rows[block];
            let mut z = DESIGN.take();
            z.clear();
            z.resize(rows.len() * m, 0.0);
            z.par_chunks_mut(CHUNK * m).zip(rows.par_chunks(CHUNK)).for_each(|(z, rows)| {
                write_design(cpu, problem.columns, design, rows, z);
                for (row, &i) in z.chunks_exact_mut(m).zip(rows) {
                    problem.complete(row, columns, i, curvature);
                }
            });
            gram_panels(&z, m, m, panels);
            DESIGN.set(z);
        });
    }

    fn merge(&self, gram: &mut Gram, next: &Gram) {
        gram.products.iter_mut().zip(&next.products).for_each(|(g, n)| *g += n);
    }
}
