//! Gram matrices of designs: blocks of rows are multiplied in f32 and added in f64.

use rayon::prelude::*;

use super::Cpu;
use crate::backend::Backend;
use crate::fold::Fold;
use crate::problem::Problem;
use crate::ridge::{Design, Gram};
use crate::simd::{self, GramScratch, Path, gram_ranges};

/// Rows whose design is in memory at a time.
pub(super) const DESIGN_ROWS: usize = 1024;

/// Adds the products of the columns of `z`. Threads share the rows of the output, so that their number does not change a
/// sum.
pub(super) fn add_products(path: Path, gram: &mut Gram, z: &[f32]) {
    let m = gram.columns;
    let mut rest = gram.products.as_mut_slice();
    let mut parts = Vec::new();
    let ranges = gram_ranges(m, rayon::current_num_threads());
    gram.scratch.resize_with(ranges.len().max(gram.scratch.len()), GramScratch::default);
    for (range, scratch) in ranges.into_iter().zip(&mut gram.scratch) {
        let (part, tail) = rest.split_at_mut(range.len() * m);
        parts.push((range, part, scratch));
        rest = tail;
    }
    parts.into_par_iter().for_each(|(range, part, scratch)| {
        simd::gram(path, z, z.len() / m, m, m, range, part, scratch);
    });
}

/// Products of the columns of a design and of the targets behind it.
pub(super) struct DesignProducts<'a> {
    pub(super) cpu: &'a Cpu,
    pub(super) problem: &'a Problem<'a>,
    pub(super) design: &'a Design<'a>,
    pub(super) curvature: Option<&'a [f32]>,
}

impl Fold for DesignProducts<'_> {
    /// The products, and room for a block of the design.
    type Sum = (Gram, Vec<f32>);

    fn empty(&self) -> Self::Sum {
        let targets = if self.curvature.is_some() { 0 } else { self.problem.outputs };
        (Gram::new(self.design.columns() + targets), Vec::new())
    }

    fn add(&self, (gram, z): &mut Self::Sum, rows: &[usize]) {
        let Self { cpu, problem, design, curvature } = *self;
        let (m, columns) = (gram.columns, design.columns());
        z.resize(rows.len() * m, 0.0);
        cpu.design(problem.columns, design, rows, m, z);
        for (row, &i) in z.chunks_exact_mut(m).zip(rows) {
            problem.complete(row, columns, i, curvature);
        }
        add_products(cpu.path, gram, z);
    }

    fn merge(&self, (gram, _): &mut Self::Sum, (next, _): &Self::Sum) {
        gram.products.iter_mut().zip(&next.products).for_each(|(g, n)| *g += n);
    }
}
