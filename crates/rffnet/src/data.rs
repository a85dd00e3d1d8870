//! What is learned from, as the caller hands it over: rows, target, weights, names; and its checks.

use crate::validation::Validation;
use crate::{ColumnType, Error, Matrix};

/// What is to be learned.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    /// Regression: `rows x outputs` numbers, row-major.
    Values {
        /// The numbers.
        values: &'a [f64],
        /// Columns of the target; 1 unless several are learned together.
        outputs: usize,
    },
    /// Classification: for each row an index into `classes`.
    Labels {
        /// One index per row.
        codes: &'a [u32],
        /// The labels the indices stand for.
        classes: &'a [String],
    },
}

/// A [`Target`] that owns its arrays.
///
/// ```
/// use rffnet::OwnedTarget;
/// let target = OwnedTarget::from(vec![1.0, 2.0, 4.0]);
/// assert_eq!(target.take(&[2, 0]), OwnedTarget::Values { values: vec![4.0, 1.0], outputs: 1 });
/// assert_eq!(target.classes(), None);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum OwnedTarget {
    /// Regression: `rows x outputs` numbers, row-major.
    Values {
        /// The numbers.
        values: Vec<f64>,
        /// Columns of the target.
        outputs: usize,
    },
    /// Classification: for each row an index into `classes`.
    Labels {
        /// One index per row.
        codes: Vec<u32>,
        /// The labels the indices stand for.
        classes: Vec<String>,
    },
}

/// One number per row.
impl From<Vec<f64>> for OwnedTarget {
    fn from(values: Vec<f64>) -> Self {
        Self::Values { values, outputs: 1 }
    }
}

impl OwnedTarget {
    /// As the library takes it.
    pub fn view(&self) -> Target<'_> {
        match self {
            Self::Values { values, outputs } => Target::Values { values, outputs: *outputs },
            Self::Labels { codes, classes } => Target::Labels { codes, classes },
        }
    }

    /// The classes; `None` for numbers.
    pub fn classes(&self) -> Option<&[String]> {
        match self {
            Self::Values { .. } => None,
            Self::Labels { classes, .. } => Some(classes),
        }
    }

    /// The given rows, in the given order.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn take(&self, rows: &[usize]) -> Self {
        match self {
            Self::Values { values, outputs } => Self::Values {
                values: rows.iter().flat_map(|&i| &values[i * outputs..(i + 1) * outputs]).copied().collect(),
                outputs: *outputs,
            },
            Self::Labels { codes, classes } => {
                Self::Labels { codes: rows.iter().map(|&i| codes[i]).collect(), classes: classes.clone() }
            }
        }
    }
}

/// Training or evaluation data: columns, target and, if wanted, row weights and column names.
///
/// ```
/// use rffnet::{Data, Matrix, Target};
/// let x = [0.0, 1.0, 2.0, 3.0];
/// let data = Data::new(Matrix::new(&x, 2, 2)?, Target::Values { values: &[1.0, 2.0], outputs: 1 });
/// assert_eq!(data.x.columns(), 2);
/// # Ok::<(), rffnet::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Data<'a> {
    /// The columns to learn from.
    pub x: Matrix<'a>,
    /// What to learn.
    pub y: Target<'a>,
    /// Row weights; rows of weight zero have no influence at all.
    pub weight: Option<&'a [f32]>,
    /// Column names; `x1, x2, ...` without.
    pub names: Option<&'a [String]>,
    /// The names only number the columns (a file without a header): later rows are matched by position.
    pub positional: bool,
    /// What each column holds; numbers without.
    pub types: Option<&'a [ColumnType]>,
    /// The name of the target's column, which the model keeps.
    pub target_name: Option<&'a str>,
    /// Which rows a fit holds out for validation.
    pub validation: Validation<'a>,
}

impl<'a> Data<'a> {
    /// Numbers without weights and names.
    pub fn new(x: Matrix<'a>, y: Target<'a>) -> Self {
        Self {
            x,
            y,
            weight: None,
            names: None,
            positional: false,
            types: None,
            target_name: None,
            validation: Validation::Random,
        }
    }

    /// The classes; none for a regression.
    pub(crate) fn classes(&self) -> &'a [String] {
        match self.y {
            Target::Labels { classes, .. } => classes,
            Target::Values { .. } => &[],
        }
    }

    pub(crate) fn has_categories(&self) -> bool {
        self.types.is_some_and(|types| types.iter().any(|of| of.levels().is_some()))
    }

    /// Rows of positive weight; at least two.
    pub(crate) fn rows_that_count(&self) -> Result<Vec<usize>, Error> {
        let n = self.x.rows();
        let rows: Vec<usize> = (0..n).filter(|&i| self.weight.is_none_or(|w| w[i] > 0.0)).collect();
        match rows.len() {
            0 if n > 0 => Err(Error::Shape("every row has weight zero; nothing can be learned".into())),
            0 | 1 => {
                Err(Error::Shape(format!("there is {} row to learn from; at least 2 are needed", rows.len())))
            }
            _ => Ok(rows),
        }
    }

    /// Names the columns without a range.
    pub(crate) fn constant_column_warning(&self, range: &[f32]) -> Option<String> {
        let constant: Vec<String> =
            (0..range.len()).filter(|&j| range[j] == 0.0).map(|j| format!("'{}'", self.name(j))).collect();
        match constant.len() {
            0 => None,
            1 => Some(format!("column {} is constant and is left out (relevance 0)", constant[0])),
            many => {
                let shown = constant[..many.min(5)].join(", ");
                let more = if many > 5 { format!(" and {} more", many - 5) } else { String::new() };
                Some(format!("columns {shown}{more} are constant and are left out (relevance 0)"))
            }
        }
    }

    /// The name of column `j`.
    pub fn name(&self, j: usize) -> String {
        self.names.map_or_else(|| format!("x{}", j + 1), |names| names[j].clone())
    }

    /// Checks that the parts have matching lengths and that every number can be learned from.
    pub(crate) fn check(&self, missing_allowed: bool) -> Result<(), Error> {
        let (n, d) = (self.x.rows(), self.x.columns());
        let len = match self.y {
            Target::Values { values, outputs } => {
                if outputs == 0 || !values.len().is_multiple_of(outputs) {
                    return Err(Error::Shape(format!(
                        "a target of {} numbers cannot be read as rows of {outputs}",
                        values.len()
                    )));
                }
                values.len() / outputs
            }
            Target::Labels { codes, .. } => codes.len(),
        };
        if len != n {
            return Err(Error::Shape(format!("the data have {n} rows but the target has {len}")));
        }
        if let Some(w) = self.weight {
            if w.len() != n {
                return Err(Error::Shape(format!(
                    "the data have {n} rows but there are {} weights",
                    w.len()
                )));
            }
            if let Some(i) = w.iter().position(|w| !w.is_finite() || *w < 0.0) {
                let advice = "weights must be zero or positive numbers";
                return Err(Error::Cell { row: i + 1, column: "weight".into(), value: w[i] as f64, advice });
            }
        }
        if let Some(names) = self.names
            && names.len() != d
        {
            return Err(Error::Shape(format!(
                "the data have {d} columns but there are {} names",
                names.len()
            )));
        }
        if let Some(types) = self.types
            && types.len() != d
        {
            return Err(Error::Shape(format!(
                "the data have {d} columns but there are types of {}",
                types.len()
            )));
        }
        if let Some(groups) = self.validation.groups()
            && groups.len() != n
        {
            return Err(Error::Shape(format!(
                "the data have {n} rows but there are groups of {}",
                groups.len()
            )));
        }
        if d == 0 {
            return Err(Error::Shape("there is no column to learn from".into()));
        }
        check_cells(self.x, missing_allowed, |j| self.name(j))?;
        if let Target::Values { values, outputs } = self.y
            && let Some(i) = values.iter().position(|v| !v.is_finite())
        {
            let advice = "every row needs a finite target; drop the row or fill it in";
            return Err(Error::Cell {
                row: i / outputs + 1,
                column: "target".into(),
                value: values[i],
                advice,
            });
        }
        if let Target::Labels { codes, classes } = self.y
            && let Some(i) = codes.iter().position(|&c| c as usize >= classes.len())
        {
            return Err(Error::Target(format!("row {} has class {} of {}", i + 1, codes[i], classes.len())));
        }
        Ok(())
    }
}

/// Rejects infinite cells, and missing ones where they are not allowed, naming the first.
pub(crate) fn check_cells(
    x: Matrix<'_>,
    missing_allowed: bool,
    name: impl Fn(usize) -> String,
) -> Result<(), Error> {
    let bad = |v: f32| if missing_allowed { v.is_infinite() } else { !v.is_finite() };
    match x.find(bad) {
        None => Ok(()),
        Some((row, column, value)) => {
            let advice = if value.is_nan() {
                "fill it in, drop the row, or allow missing values (missing = auto)"
            } else {
                "every number must be finite"
            };
            Err(Error::Cell { row: row + 1, column: name(column), value: value as f64, advice })
        }
    }
}
