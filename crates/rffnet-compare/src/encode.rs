//! The columns that every other method learns from: those of rffnet, with the mean of the training rows in their gaps.

use std::borrow::Cow;

use rffnet::{Data, Encoded, Encoder, Matrix, Missing};

use crate::Error;

/// How rows are encoded for a baseline.
pub struct Preparation {
    encoder: Encoder,
    /// Of the encoded columns, over the training rows.
    means: Vec<f32>,
}

impl Preparation {
    /// Fitted to the training rows, which come back encoded.
    pub(crate) fn fit<'a>(data: &Data<'a>, seed: u64) -> Result<(Self, Cow<'a, [f32]>), Error> {
        let (encoder, rows) = Encoded::new(data, Missing::Auto, seed)?.into_rows(data.x);
        let weight = |i: usize| data.weight.map_or(1.0, |w| f64::from(w[i]));
        let means = means(&rows, encoder.width(), weight);
        let preparation = Self { encoder, means };
        let rows = preparation.filled(rows);
        Ok((preparation, rows))
    }

    /// Rows like those of the fit, encoded.
    pub(crate) fn apply<'a>(&self, x: Matrix<'a>) -> Cow<'a, [f32]> {
        let identity = self.encoder.is_identity();
        self.filled(if identity { x.to_dense() } else { self.encoder.encode(x).into() })
    }

    pub(crate) fn width(&self) -> usize {
        self.encoder.width()
    }

    /// The largest value among the encoded columns of each column.
    pub(crate) fn largest(&self, encoded: &[f64]) -> Vec<f64> {
        let mut largest = vec![0.0; self.encoder.columns().len()];
        for (j, &value) in self.encoder.origin().into_iter().zip(encoded) {
            largest[j] = f64::max(largest[j], value);
        }
        largest
    }

    fn filled<'a>(&self, mut rows: Cow<'a, [f32]>) -> Cow<'a, [f32]> {
        if rows.iter().any(|v| v.is_nan()) {
            for row in rows.to_mut().chunks_exact_mut(self.means.len()) {
                row.iter_mut().zip(&self.means).filter(|(v, _)| v.is_nan()).for_each(|(v, &mean)| *v = mean);
            }
        }
        rows
    }
}

/// The weighted mean of each column over the cells that are there; 0 where there are none.
fn means(rows: &[f32], columns: usize, weight: impl Fn(usize) -> f64) -> Vec<f32> {
    let mut sums = vec![(0.0, 0.0); columns];
    for (i, row) in rows.chunks_exact(columns.max(1)).enumerate() {
        let w = weight(i);
        for (sum, &v) in sums.iter_mut().zip(row).filter(|(_, v)| !v.is_nan()) {
            *sum = (sum.0 + w * f64::from(v), sum.1 + w);
        }
    }
    sums.into_iter().map(|(sum, mass)| if mass > 0.0 { (sum / mass) as f32 } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rffnet::{ColumnType, Target};

    #[test]
    fn gaps_become_means() {
        let x = [1.0, f32::NAN, 4.0, f32::NAN, f32::NAN, f32::NAN];
        let weight = [1.0, 2.0, 5.0];
        let y = Target::Values { values: &[1.0, 2.0, 3.0], outputs: 1 };
        let data = Data { weight: Some(&weight), ..Data::new(Matrix::new(&x, 3, 2).unwrap(), y) };
        let (preparation, rows) = Preparation::fit(&data, 0).unwrap();
        assert_eq!(*rows, [1.0, 0.0, 4.0, 0.0, 3.0, 0.0]);
        let new = Matrix::new(&[f32::NAN, 7.0], 1, 2).unwrap();
        assert_eq!(*preparation.apply(new), [3.0, 7.0]);
    }

    #[test]
    fn levels_become_indicators_of_one_column() {
        let types = [ColumnType::Category { levels: ["a", "b", "c"].map(String::from).to_vec() }];
        let x: Vec<f32> = (0..30).map(|i| (i % 3) as f32).collect();
        let y: Vec<f64> = (0..30).map(f64::from).collect();
        let target = Target::Values { values: &y, outputs: 1 };
        let data = Data { types: Some(&types), ..Data::new(Matrix::new(&x, 30, 1).unwrap(), target) };
        let (preparation, rows) = Preparation::fit(&data, 0).unwrap();
        assert_eq!(rows[..6], [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!((preparation.width(), preparation.largest(&[0.5, 2.0, 1.0])), (3, vec![2.0]));
    }
}
