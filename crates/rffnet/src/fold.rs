//! Sums over rows that merge: column statistics, losses, gradients, Gram matrices, gradient outer products.
//!
//! A [`Fold`] knows how to continue a sum with a block of rows and how to append the sum of the rows that come next.
//! [`fold`] lets the threads of the current pool take blocks and merges their sums in the order of the rows, so the
//! result does not depend on the number of threads, only on where the rows were cut.

use rayon::prelude::*;

use crate::simd::CHUNK;

/// A sum over rows.
pub(crate) trait Fold: Sync {
    /// The sum, and whatever buffers it is computed with.
    type Sum: Send;

    /// The sum of no rows.
    fn empty(&self) -> Self::Sum;

    /// Makes a used sum empty, keeping its buffers.
    fn clear(&self, sum: &mut Self::Sum) {
        *sum = self.empty();
    }

    /// Continues `sum` with the rows that come next.
    fn add(&self, sum: &mut Self::Sum, rows: &[usize]);

    /// Appends the sum of the rows that come next.
    fn merge(&self, sum: &mut Self::Sum, next: &Self::Sum);
}

/// Continues `total` with all rows, cut into blocks: threads sum blocks, which are merged in order.
pub(crate) fn fold<F: Fold>(fold: &F, total: &mut F::Sum, rows: &[usize], block: usize) {
    let sum = |rows: &[usize]| {
        let mut sum = fold.empty();
        fold.add(&mut sum, rows);
        sum
    };
    let sums: Vec<F::Sum> = rows.par_chunks(block).map(sum).collect();
    sums.iter().for_each(|sum| fold.merge(total, sum));
}

/// As [`fold`], into buffers that are used again and again: the first of `sums` becomes the total. There must be one for
/// each block.
pub(crate) fn fold_into<F: Fold>(
    fold: &F,
    sums: &mut [F::Sum],
    rows: &[usize],
    block: usize,
    parallel: bool,
) {
    let work = |(sum, rows): (&mut F::Sum, &[usize])| {
        fold.clear(sum);
        fold.add(sum, rows);
    };
    let sums = &mut sums[..rows.len().div_ceil(block)];
    if parallel && sums.len() > 1 && rayon::current_num_threads() > 1 {
        sums.par_iter_mut().zip(rows.par_chunks(block)).for_each(work);
    } else {
        sums.iter_mut().zip(rows.chunks(block)).for_each(work);
    }
    let (total, rest) = sums.split_first_mut().expect("there are rows");
    rest.iter().for_each(|sum| fold.merge(total, sum));
}

/// Rows of a block: whole chunks, so many that there are at most `blocks`. Depends on the number of rows alone.
pub(crate) fn block_rows(rows: usize, blocks: usize) -> usize {
    CHUNK * rows.div_ceil(CHUNK).div_ceil(blocks)
}
