//! Categories of few levels: an indicator of each.

use serde::{Deserialize, Serialize};

/// More indicators than this are too many: means of the target take their place.
const MOST_INDICATORS: usize = 12;

/// A level with fewer rows than this is rare.
const RARE_ROWS: usize = 3;

/// Rows of each level; gaps and unknown levels are not counted.
pub(super) fn counts(cells: &[f32], levels: usize) -> Vec<usize> {
    let mut counts = vec![0; levels];
    cells.iter().filter_map(|&cell| level(cell, levels)).for_each(|level| counts[level] += 1);
    counts
}

/// The level that a cell stands for; none for a gap and for a level that is not known.
pub(super) fn level(cell: f32, levels: usize) -> Option<usize> {
    (cell >= 0.0 && (cell as usize) < levels).then_some(cell as usize)
}

/// Whether a level is pooled with the other rare ones.
pub(super) fn is_rare(count: usize) -> bool {
    count < RARE_ROWS
}

/// Which indicator each level has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Indicators {
    /// By level; none for a level without rows where no level is rare.
    slots: Vec<Option<u32>>,
    /// The indicator that rare levels share with levels that are not known.
    rare: Option<u32>,
    /// How many indicators there are.
    width: usize,
}

impl Indicators {
    /// None where there would be too many.
    pub(super) fn new(counts: &[usize]) -> Option<Self> {
        let frequent = |count: usize| !is_rare(count);
        let common = counts.iter().filter(|&&count| frequent(count)).count();
        let rare = counts.iter().any(|&count| count > 0 && !frequent(count)).then_some(common as u32);
        let width = (common + usize::from(rare.is_some())).max(1);
        // Nothing but rare levels have no indicators to speak of.
        if width > MOST_INDICATORS || common == 0 && rare.is_some() {
            return None;
        }
        let mut next = 0..;
        let slots = counts.iter().map(|&count| if frequent(count) { next.next() } else { rare });
        Some(Self { slots: slots.collect(), rare, width })
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// All indicators are 0 in a gap.
    pub(super) fn encode(&self, cell: f32, out: &mut [f32]) {
        out.fill(0.0);
        let slot = if cell.is_nan() {
            None
        } else {
            level(cell, self.slots.len()).map_or(self.rare, |level| self.slots[level])
        };
        if let Some(slot) = slot {
            out[slot as usize] = 1.0;
        }
    }

    pub(super) fn describe(&self) -> String {
        let indicators = crate::text::plural(self.width(), "indicator");
        if self.rare.is_some() { format!("{indicators}, rare levels pooled") } else { indicators }
    }

    /// Whether it can have come from a fit to a column of so many levels.
    pub(super) fn fits(&self, levels: usize) -> bool {
        let within =
            self.slots.iter().chain([&self.rare]).flatten().all(|&slot| (slot as usize) < self.width);
        self.slots.len() == levels && (1..=MOST_INDICATORS).contains(&self.width) && within
    }
}
