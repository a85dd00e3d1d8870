//! Partitions of the rows into cells: the second family of features, for what steps.
//!
//! A partition has up to [`CUTS`] cuts, each a column and a place. A row is on one side of every cut, and the sides, as the
//! bits of a number, say which of the [`CELLS`] cells it lies in. The feature of a cell is 1 for its rows and 0 for others, so
//! a head on the cells of many partitions is a sum of step functions (random binning features, Rahimi & Recht 2007; the
//! symmetric trees of gradient boosting have the same form).

/// Cuts of a partition.
pub(crate) const CUTS: usize = 6;
/// Cells of a partition.
pub(crate) const CELLS: usize = 1 << CUTS;

/// Half a unit of a transformed column, and a little more: of a column of 0 and 1, the cut between them is near both.
const HALF: f32 = 0.52;

/// One cut: rows whose transformed column is at least `at` are above it. Where `at` is [`f32::MAX`] no row is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cut {
    pub(crate) column: usize,
    pub(crate) at: f32,
}

impl Cut {
    /// No row is above it.
    pub(crate) const NONE: Self = Self { column: 0, at: f32::MAX };
}

/// Some partitions, [`CUTS`] cuts each.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Partitions {
    cuts: Vec<Cut>,
}

impl Partitions {
    /// From the cuts, [`CUTS`] of each partition one after the other.
    pub(crate) fn new(cuts: Vec<Cut>) -> Self {
        debug_assert!(cuts.len().is_multiple_of(CUTS));
        Self { cuts }
    }

    pub(crate) fn cuts(&self) -> &[Cut] {
        &self.cuts
    }

    pub(crate) fn count(&self) -> usize {
        self.cuts.len() / CUTS
    }

    /// How many cells of each partition there are rows for: those of the cuts that were made, which come first.
    pub(crate) fn reachable(&self) -> impl Iterator<Item = usize> {
        self.cuts.chunks_exact(CUTS).map(|cuts| 1 << made(cuts).len())
    }

    /// Cells of all partitions.
    pub(crate) fn cells(&self) -> usize {
        self.count() * CELLS
    }

    /// The cell of each partition that a transformed row lies in.
    pub(crate) fn of_row(&self, row: &[f32], cells: &mut [u8]) {
        for (cuts, cell) in self.cuts.chunks_exact(CUTS).zip(cells) {
            let side = |(bit, cut): (usize, &Cut)| u8::from(row[cut.column] >= cut.at) << bit;
            *cell = cuts.iter().enumerate().map(side).sum();
        }
    }

    /// Adds the values of the cells, `outputs x cells`, that a transformed row lies in to its outputs.
    pub(crate) fn add(&self, row: &[f32], values: &[f32], outputs: &mut [f32]) {
        let of_output = values.chunks_exact(self.cells().max(1));
        for (cuts, at) in self.cuts.chunks_exact(CUTS).zip((0..).step_by(CELLS)) {
            let side = |(bit, cut): (usize, &Cut)| usize::from(row[cut.column] >= cut.at) << bit;
            let cell = at + cuts.iter().enumerate().map(side).sum::<usize>();
            outputs.iter_mut().zip(of_output.clone()).for_each(|(f, values)| *f += values[cell]);
        }
    }

    /// Hands over, column by column, what each output changes by as the column goes from half a unit below a row to half a unit
    /// above it.
    pub(crate) fn changes(&self, row: &[f32], values: &[f32], mut take: impl FnMut(usize, usize, f32)) {
        for (p, cuts) in self.cuts.chunks_exact(CUTS).enumerate() {
            let cuts = made(cuts);
            let near = |cut: &Cut| (row[cut.column] - cut.at).abs() <= HALF;
            for (a, &Cut { column, .. }) in cuts.iter().enumerate().filter(|(_, cut)| near(cut)) {
                // Cuts of one column move together, and the first one that is near stands for all.
                if cuts[..a].iter().any(|cut| cut.column == column && near(cut)) {
                    continue;
                }
                let (mut low, mut high) = (p * CELLS, p * CELLS);
                for (bit, cut) in cuts.iter().enumerate() {
                    let half = if cut.column == column { HALF } else { 0.0 };
                    low += usize::from(row[cut.column] - half >= cut.at) << bit;
                    high += usize::from(row[cut.column] + half >= cut.at) << bit;
                }
                for (output, values) in values.chunks_exact(self.cells()).enumerate() {
                    take(column, output, values[high] - values[low]);
                }
            }
        }
    }

    /// Without the columns that are not kept: their rows are where the mean, 0, is.
    pub(crate) fn keep(&self, keep: impl Fn(usize) -> bool) -> Self {
        let fixed = |cut: &Cut| match keep(cut.column) {
            true => *cut,
            false => Cut { at: if cut.at <= 0.0 { f32::MIN } else { f32::MAX }, ..*cut },
        };
        Self { cuts: self.cuts.iter().map(fixed).collect() }
    }
}

/// Without those behind the last one that a row may be above.
fn made(cuts: &[Cut]) -> &[Cut] {
    &cuts[..cuts.iter().rposition(|cut| cut.at < f32::MAX).map_or(0, |last| last + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two partitions of two columns.
    fn partitions() -> Partitions {
        let mut cuts = vec![Cut::NONE; 2 * CUTS];
        cuts[0] = Cut { column: 0, at: 0.25 };
        cuts[1] = Cut { column: 1, at: -1.0 };
        cuts[CUTS] = Cut { column: 1, at: 2.0 };
        Partitions::new(cuts)
    }

    #[test]
    fn cells_are_the_sides_of_the_cuts() {
        let partitions = partitions();
        let mut cells = [0; 2];
        for (row, expected) in
            [([0.0, -2.0], [0, 0]), ([0.25, -2.0], [1, 0]), ([0.0, 0.0], [2, 0]), ([1.0, 2.0], [3, 1])]
        {
            partitions.of_row(&row, &mut cells);
            assert_eq!(cells, expected);
            let values: Vec<f32> = (0..2 * partitions.cells()).map(|i| i as f32).collect();
            let mut outputs = [0.5, 0.5];
            partitions.add(&row, &values, &mut outputs);
            let first = expected[0] as f32 + (CELLS + expected[1] as usize) as f32;
            assert_eq!(outputs, [0.5 + first, 0.5 + first + 2.0 * partitions.cells() as f32]);
        }
    }

    #[test]
    fn a_step_counts_where_it_is_near() {
        let partitions = partitions();
        let values: Vec<f32> = (0..partitions.cells()).map(|i| (i * i) as f32).collect();
        let changes = |row: &[f32]| {
            let mut changes = [0.0; 2];
            partitions.changes(row, &values, |j, _, change| changes[j] += change);
            changes
        };
        assert_eq!(changes(&[0.0, 0.0]), [9.0 - 4.0, 0.0]);
        assert_eq!(changes(&[2.0, -1.25]), [0.0, 9.0 - 1.0]);
        assert_eq!(changes(&[3.0, 1.75])[1], ((CELLS + 1).pow(2) - CELLS.pow(2)) as f32);
    }

    #[test]
    fn a_column_that_is_not_kept_is_at_its_mean() {
        let partitions = partitions().keep(|j| j == 1);
        let mut cells = [0; 2];
        for x in [-9.0, 0.0, 9.0] {
            partitions.of_row(&[x, 0.0], &mut cells);
            assert_eq!(cells, [2, 0]);
        }
    }
}
