//! Missing cells: the mean of the training rows, the same for every method.

use rffnet_data::{Sample, Table};

/// Puts the mean of a column over the training rows where a cell of it is missing.
pub(crate) fn impute(train: &mut Sample, test: &mut Sample) {
    if train.table.x.iter().chain(&test.table.x).any(|v| v.is_nan()) {
        let means = means(&train.table);
        fill(&mut train.table, &means);
        fill(&mut test.table, &means);
    }
}

/// The weighted mean of each column over the cells that are there; 0 where there are none.
fn means(table: &Table) -> Vec<f32> {
    let d = table.columns();
    let mut sums = vec![(0.0, 0.0); d];
    for (i, row) in table.x.chunks_exact(d.max(1)).enumerate() {
        let w = table.weight.as_ref().map_or(1.0, |w| f64::from(w[i]));
        for (sum, &v) in sums.iter_mut().zip(row).filter(|(_, v)| !v.is_nan()) {
            *sum = (sum.0 + w * f64::from(v), sum.1 + w);
        }
    }
    sums.into_iter().map(|(sum, mass)| if mass > 0.0 { (sum / mass) as f32 } else { 0.0 }).collect()
}

fn fill(table: &mut Table, means: &[f32]) {
    for row in table.x.chunks_exact_mut(means.len().max(1)) {
        row.iter_mut().zip(means).filter(|(v, _)| v.is_nan()).for_each(|(v, &mean)| *v = mean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_cells_become_means() {
        let mut table = Table {
            names: vec!["a".into(), "b".into()],
            has_names: true,
            x: vec![1.0, f32::NAN, 4.0, f32::NAN, f32::NAN, f32::NAN],
            rows: 3,
            target: None,
            target_name: None,
            weight: Some(vec![1.0, 2.0, 5.0]),
            source: "t".into(),
            ..Table::default()
        };
        let means = means(&table);
        fill(&mut table, &means);
        assert_eq!(table.x, [1.0, 0.0, 4.0, 0.0, 3.0, 0.0]);
    }
}
