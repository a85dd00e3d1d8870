//! Rows of the test part that stand in the training part, too.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use rffnet::OwnedTarget;
use rffnet_data::Sample;

use crate::text::{count, plural};

/// A sentence about test rows that are copies of training rows, inputs and target.
pub(crate) fn warning(train: &Sample, test: &Sample) -> Option<String> {
    let mut first: HashMap<u64, usize> = HashMap::new();
    for i in 0..train.table.rows {
        first.entry(hash(train, i)).or_insert(i);
    }
    // Two rows of one hash that differ are one in 10^19: the copy that this misses does not matter.
    let copied = |&i: &usize| {
        first
            .get(&hash(test, i))
            .is_some_and(|&k| bits(train, k).eq(bits(test, i)) && same_target(train, k, test, i))
    };
    let (copies, rows) = ((0..test.table.rows).filter(copied).count(), test.table.rows);
    (copies > 0).then(|| {
        format!(
            "{} of the {} {} in the training part too, which makes the scores look better than they are",
            count(copies),
            plural(rows, "test row"),
            if copies == 1 { "stands" } else { "stand" }
        )
    })
}

/// The cells of a row; a gap equals a gap.
fn bits(sample: &Sample, row: usize) -> impl Iterator<Item = u32> + '_ {
    sample.table.row(row).iter().map(|v| if v.is_nan() { f32::NAN.to_bits() } else { (v + 0.0).to_bits() })
}

fn hash(sample: &Sample, row: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    bits(sample, row).for_each(|cell| cell.hash(&mut hasher));
    match &sample.target {
        OwnedTarget::Values { values, .. } => (values[row] + 0.0).to_bits().hash(&mut hasher),
        OwnedTarget::Labels { codes, .. } => codes[row].hash(&mut hasher),
    }
    hasher.finish()
}

fn same_target(a: &Sample, i: usize, b: &Sample, k: usize) -> bool {
    match (&a.target, &b.target) {
        (OwnedTarget::Values { values, .. }, OwnedTarget::Values { values: others, .. }) => {
            values[i] == others[k]
        }
        (OwnedTarget::Labels { codes, .. }, OwnedTarget::Labels { codes: others, .. }) => {
            codes[i] == others[k]
        }
        _ => false,
    }
}
