//! Copies of a row are one row with their weights added.
//!
//! So a weight of three means what three copies of the row mean, to the last bit, and copies never stand on both sides
//! of the split into training and validation rows. Done for few rows, where a single one can change the fit.

use std::cmp::Ordering;

use crate::validation::Validation;
use crate::{Data, Error, Matrix, Target};

/// Rows up to which copies are looked for.
const MOST_ROWS: usize = 100;

/// Each different row once, in an order that does not depend on the caller's.
pub(crate) struct Merged {
    x: Vec<f32>,
    values: Vec<f64>,
    codes: Vec<u32>,
    weight: Vec<f32>,
}

/// Few rows with copies among them, or with different weights, as different rows; `None` for all others.
pub(crate) fn merged(data: &Data<'_>) -> Option<Merged> {
    // Groups and an order of time say what may be validated on what: copies are then left where they are.
    if !matches!(data.validation, Validation::Random) {
        return None;
    }
    let weight = |i: usize| data.weight.map_or(1.0, |w| w[i]);
    let rows: Vec<usize> = (0..data.x.rows()).filter(|&i| weight(i) > 0.0).collect();
    if rows.len() > MOST_ROWS {
        return None;
    }
    let (mut cells, d) = (Vec::new(), data.x.columns());
    data.x.for_each_row(&rows, |_, row| cells.extend_from_slice(row));
    let row = |at: usize| &cells[at * d..(at + 1) * d];
    // By columns, then by target.
    let compare = |a: usize, b: usize| {
        let columns = row(a).iter().zip(row(b)).map(|(a, b)| a.total_cmp(b));
        columns.fold(Ordering::Equal, Ordering::then).then_with(|| compare(data.y, rows[a], rows[b]))
    };
    let even = rows.iter().all(|&i| weight(i) == weight(rows[0]));
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&a, &b| compare(a, b));
    let copies = order.windows(2).any(|pair| compare(pair[0], pair[1]).is_eq());
    if even && !copies {
        return None;
    }
    let mut merged = Merged { x: Vec::new(), values: Vec::new(), codes: Vec::new(), weight: Vec::new() };
    for copies in order.chunk_by(|&a, &b| compare(a, b).is_eq()) {
        merged.x.extend(row(copies[0]));
        let first = rows[copies[0]];
        match data.y {
            Target::Values { values, outputs } => {
                merged.values.extend(&values[first * outputs..(first + 1) * outputs]);
            }
            Target::Labels { codes, .. } => merged.codes.push(codes[first]),
        }
        merged.weight.push(copies.iter().map(|&at| weight(rows[at]) as f64).sum::<f64>() as f32);
    }
    // Copies of a single row are for the fit to refuse, or to predict as the constant they are.
    (merged.weight.len() > 1).then_some(merged)
}

/// Two rows by their targets.
fn compare(y: Target<'_>, a: usize, b: usize) -> Ordering {
    match y {
        Target::Labels { codes, .. } => codes[a].cmp(&codes[b]),
        Target::Values { values, outputs } => {
            let row = |i: usize| &values[i * outputs..(i + 1) * outputs];
            row(a).iter().zip(row(b)).map(|(a, b)| a.total_cmp(b)).fold(Ordering::Equal, Ordering::then)
        }
    }
}

impl Merged {
    /// The rows, with classes and names of `like`.
    pub(crate) fn data<'a>(&'a self, like: &Data<'a>) -> Result<Data<'a>, Error> {
        let y = match like.y {
            Target::Values { outputs, .. } => Target::Values { values: &self.values, outputs },
            Target::Labels { classes, .. } => Target::Labels { codes: &self.codes, classes },
        };
        let x = Matrix::new(&self.x, self.weight.len(), like.x.columns())?;
        Ok(Data { x, y, weight: Some(&self.weight), ..*like })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fit, Params};

    /// Rows of two columns whose product is the target.
    fn rows(n: usize) -> (Vec<f32>, Vec<f64>) {
        let x: Vec<f32> = (0..2 * n).map(|i| ((i * 7919 % 101) as f32 / 50.5) - 1.0).collect();
        let y = x.chunks(2).map(|row| (row[0] * row[1]) as f64).collect();
        (x, y)
    }

    /// What a model of the rows predicts for the first three rows of `at`.
    fn predicted(x: &[f32], y: &[f64], weight: Option<&[f32]>, at: &[f32]) -> (Vec<f64>, usize) {
        let target = Target::Values { values: y, outputs: 1 };
        let data = Data { weight, ..Data::new(Matrix::new(x, y.len(), 2).expect("fits"), target) };
        let model = Fit::new(&Params::default()).run(&data).expect("can be learned");
        let values = model.predict(Matrix::new(&at[..6], 3, 2).expect("fits")).expect("can be predicted");
        (values, model.summary().rows)
    }

    #[test]
    fn a_weight_is_so_many_copies() {
        let (x, y) = rows(30);
        let weight: Vec<f32> = (0..30).map(|i| (i * 5 % 4) as f32).collect();
        let copies = || (0..30).rev().flat_map(|i| std::iter::repeat_n(i, weight[i] as usize));
        let more_x: Vec<f32> = copies().flat_map(|i| [x[2 * i], x[2 * i + 1]]).collect();
        let more_y: Vec<f64> = copies().map(|i| y[i]).collect();
        let (weighted, rows) = predicted(&x, &y, Some(&weight), &x);
        let (repeated, more_rows) = predicted(&more_x, &more_y, None, &x);
        assert_eq!(weighted, repeated);
        assert_eq!((rows, more_rows), (22, more_y.len()));
    }

    #[test]
    fn different_rows_of_one_weight_stay_as_they_are() {
        let (x, y) = rows(30);
        let data =
            Data::new(Matrix::new(&x, 30, 2).expect("fits"), Target::Values { values: &y, outputs: 1 });
        assert!(merged(&data).is_none());
        assert!(merged(&Data { weight: Some(&[2.0; 30]), ..data }).is_none());
        assert_eq!(predicted(&x, &y, None, &x), predicted(&x, &y, Some(&[1.0; 30]), &x));
    }
}
