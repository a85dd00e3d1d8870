//! Rows with their target, owned.

use rffnet::{Data, Matrix, Target};

use crate::Error;

/// What is known of the rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Known {
    /// A number per row.
    Values(Vec<f64>),
    /// A class per row.
    Labels {
        /// One index into `classes` per row.
        codes: Vec<u32>,
        /// The names of the classes.
        classes: Vec<String>,
    },
}

impl Known {
    /// As the library takes it.
    pub fn target(&self) -> Target<'_> {
        match self {
            Known::Values(values) => Target::Values { values, outputs: 1 },
            Known::Labels { codes, classes } => Target::Labels { codes, classes },
        }
    }

    /// The classes, if there are such.
    pub fn classes(&self) -> Option<&[String]> {
        match self {
            Known::Values(_) => None,
            Known::Labels { classes, .. } => Some(classes),
        }
    }

    /// The given rows.
    pub fn take(&self, rows: &[usize]) -> Self {
        match self {
            Known::Values(values) => Known::Values(rows.iter().map(|&i| values[i]).collect()),
            Known::Labels { codes, classes } => {
                Known::Labels { codes: rows.iter().map(|&i| codes[i]).collect(), classes: classes.clone() }
            }
        }
    }
}

/// Rows with their target.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Names of the columns.
    pub names: Vec<String>,
    /// The names only number the columns.
    pub positional: bool,
    /// `rows x names.len()`; a missing cell is NaN.
    pub x: Vec<f32>,
    /// The number of rows.
    pub rows: usize,
    /// The target.
    pub known: Known,
    /// Row weights.
    pub weight: Option<Vec<f32>>,
}

impl Sample {
    /// What the library fits and scores.
    pub fn data(&self) -> Result<Data<'_>, Error> {
        Ok(Data {
            x: Matrix::new(&self.x, self.rows, self.names.len())?,
            y: self.known.target(),
            weight: self.weight.as_deref(),
            names: Some(&self.names),
            positional: self.positional,
        })
    }

    /// The weighted mean of each column over the cells that are there; 0 where there are none.
    pub(crate) fn means(&self) -> Vec<f32> {
        let d = self.names.len();
        let mut sums = vec![(0.0, 0.0); d];
        for (i, row) in self.x.chunks_exact(d.max(1)).enumerate() {
            let w = self.weight.as_ref().map_or(1.0, |w| f64::from(w[i]));
            for (sum, &v) in sums.iter_mut().zip(row).filter(|(_, v)| !v.is_nan()) {
                *sum = (sum.0 + w * f64::from(v), sum.1 + w);
            }
        }
        sums.into_iter().map(|(sum, mass)| if mass > 0.0 { (sum / mass) as f32 } else { 0.0 }).collect()
    }

    /// Puts `means` where cells are missing.
    pub(crate) fn fill(&mut self, means: &[f32]) {
        for row in self.x.chunks_exact_mut(means.len().max(1)) {
            row.iter_mut().zip(means).filter(|(v, _)| v.is_nan()).for_each(|(v, &mean)| *v = mean);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_cells_become_means() {
        let mut sample = Sample {
            names: vec!["a".into(), "b".into()],
            positional: false,
            x: vec![1.0, f32::NAN, 4.0, f32::NAN, f32::NAN, f32::NAN],
            rows: 3,
            known: Known::Values(vec![0.0; 3]),
            weight: Some(vec![1.0, 2.0, 5.0]),
        };
        sample.fill(&sample.means());
        assert_eq!(sample.x, [1.0, 0.0, 4.0, 0.0, 3.0, 0.0]);
    }
}
