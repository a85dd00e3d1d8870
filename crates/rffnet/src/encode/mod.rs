//! From the cells of a table to the numbers that column transforms and features see.
//!
//! | column | becomes |
//! |---|---|
//! | number, boolean, category of two levels | itself |
//! | category of few levels | an indicator of each level, not standardised, one relevance for all of them |
//! | category of many levels | the mean target of its level, fitted out of fold, and the logarithm of the level's count |
//! | date | its day and, where they vary, the sine and cosine of its place in the year, the week and the day |
//! | any of these, where gaps are common | and an indicator of a gap |
//!
//! Rare levels are pooled, and a level that was not there in the fit counts as one of them. A gap is read as the column's mean
//! (of indicators: no level).
//!
//! | file | subject |
//! |---|---|
//! | `category.rs` | which levels get an indicator, and when means of the target are used instead |
//! | `target_means.rs` | means of the target, shrunk to the overall mean; out of fold for the rows of the fit |
//! | `date.rs` | the parts of a date |

mod category;
mod date;
mod target_means;

use std::borrow::Cow;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::params::Missing;
use crate::{ColumnType, Data, Error, Matrix, Rows};
use category::Indicators;
use date::DateParts;
use target_means::{Fitted, OutOfFold, TargetMeans};

/// Gaps get an indicator where they are at least this share of the rows, and at least this many.
const GAP_SHARE: f64 = 0.01;
const GAP_ROWS: usize = 5;

/// How one column of a table is encoded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnEncoder {
    /// What the column holds.
    #[serde(flatten)]
    pub holds: ColumnType,
    /// What its cells become.
    encoding: Encoding,
    /// Whether the last of its encoded columns is 1 in a gap and 0 elsewhere.
    pub gap_indicator: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "as", rename_all = "kebab-case")]
enum Encoding {
    Itself,
    Indicators(Indicators),
    TargetMeans(TargetMeans),
    DateParts(DateParts),
}

/// How the columns of a table are encoded; part of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Encoder {
    columns: Vec<ColumnEncoder>,
}

/// An encoder and the rows it was fitted on, encoded: target means are those of other rows than the row itself.
///
/// ```
/// use rffnet::{ColumnType, Data, Encoded, Matrix, Missing, Target};
///
/// let levels = ["a", "b", "c"].map(String::from).to_vec();
/// let types = [ColumnType::Category { levels }, ColumnType::Number];
/// let x: Vec<f32> = (0..60).flat_map(|i| [(i % 3) as f32, i as f32]).collect();
/// let y: Vec<f64> = (0..60).map(f64::from).collect();
/// let target = Target::Values { values: &y, outputs: 1 };
/// let data = Data { types: Some(&types), ..Data::new(Matrix::new(&x, 60, 2)?, target) };
/// let encoded = Encoded::new(&data, Missing::Auto, 0)?;
/// assert_eq!(encoded.encoder.width(), 4);
/// assert_eq!(encoded.matrix(data.x)?.to_dense()[4..8], [0.0, 1.0, 0.0, 1.0]);
/// # Ok::<(), rffnet::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Encoded {
    /// What was fitted.
    pub encoder: Encoder,
    /// `rows x width`; none where every column is itself.
    x: Option<Vec<f32>>,
}

impl Encoded {
    /// Fits an encoder to rows of positive weight.
    pub fn new(data: &Data<'_>, missing: Missing, seed: u64) -> Result<Self, Error> {
        data.check(missing != Missing::Error)?;
        Ok(Self::fit(data, &data.rows_that_count()?, 0, missing, seed))
    }

    /// As [`Encoded::new`], for data that have been checked. The last `held` rows see the targets of none of each other, and no other
    /// row sees theirs.
    pub(crate) fn fit(data: &Data<'_>, rows: &[usize], held: usize, missing: Missing, seed: u64) -> Self {
        let out_of_fold = OutOfFold::new(data, rows, held, seed);
        let column = |j: usize| {
            let number = ColumnType::Number;
            let holds = data.types.map_or(&number, |types| &types[j]);
            fit_column(holds, &data.x.column(j, rows.iter().copied()), rows, missing, &out_of_fold)
        };
        let fitted: Vec<(ColumnEncoder, Option<Fitted>)> =
            (0..data.x.columns()).into_par_iter().map(column).collect();
        let (columns, means): (Vec<_>, Vec<_>) = fitted.into_iter().unzip();
        let encoder = Encoder { columns };
        if encoder.is_identity() {
            return Self { encoder, x: None };
        }
        let mut x = encoder.encode(data.x);
        let (width, mut at) = (encoder.width(), 0);
        for (column, means) in encoder.columns.iter().zip(means) {
            if let Some(fitted) = means {
                fitted.put_out_of_fold(&mut x, width, at, rows);
            }
            at += column.width();
        }
        Self { encoder, x: Some(x) }
    }

    /// The encoder, and the encoded rows of the fit, whose cells were `x`.
    pub fn into_rows(self, x: Matrix<'_>) -> (Encoder, Cow<'_, [f32]>) {
        (self.encoder, self.x.map_or_else(|| x.to_dense(), Cow::Owned))
    }

    /// The encoded rows of the fit, whose cells were `x`.
    pub fn matrix<'a>(&'a self, x: Matrix<'a>) -> Result<Matrix<'a>, Error> {
        match &self.x {
            Some(encoded) => Matrix::new(encoded, x.rows(), self.encoder.width()),
            None => Ok(x),
        }
    }
}

fn fit_column(
    holds: &ColumnType,
    cells: &[f32],
    rows: &[usize],
    missing: Missing,
    out_of_fold: &OutOfFold,
) -> (ColumnEncoder, Option<Fitted>) {
    let gaps = cells.iter().filter(|v| v.is_nan()).count();
    let common = gaps >= GAP_ROWS && gaps as f64 >= GAP_SHARE * cells.len() as f64 && gaps < cells.len();
    let gap_indicator = missing == Missing::Auto && common;
    let (encoding, fitted) = match holds {
        ColumnType::Category { levels } if levels.len() > 2 => {
            let counts = category::counts(cells, levels.len());
            match Indicators::new(&counts) {
                Some(indicators) => (Encoding::Indicators(indicators), None),
                None => {
                    let fitted = out_of_fold.means(cells, rows, &counts);
                    (Encoding::TargetMeans(fitted.means.clone()), Some(fitted))
                }
            }
        }
        ColumnType::Date { .. } => (Encoding::DateParts(DateParts::new(cells)), None),
        _ => (Encoding::Itself, None),
    };
    (ColumnEncoder { holds: holds.clone(), encoding, gap_indicator }, fitted)
}

impl ColumnEncoder {
    /// How many columns it becomes.
    pub fn width(&self) -> usize {
        usize::from(self.gap_indicator)
            + match &self.encoding {
                Encoding::Itself => 1,
                Encoding::Indicators(indicators) => indicators.width(),
                Encoding::TargetMeans(means) => means.width(),
                Encoding::DateParts(parts) => parts.width(),
            }
    }

    /// For people: what is done with the column.
    pub fn describe(&self) -> String {
        let mut text = match &self.encoding {
            Encoding::Itself if self.holds.levels().is_some() => "0 or 1".into(),
            Encoding::Itself => String::from("standardised"),
            Encoding::Indicators(indicators) => indicators.describe(),
            Encoding::TargetMeans(_) => "mean target of the level, count".into(),
            Encoding::DateParts(parts) => parts.describe(),
        };
        if self.gap_indicator {
            text.push_str(", gap indicator");
        }
        text
    }

    /// Whether its cells are what the encoded column holds.
    fn is_identity(&self) -> bool {
        let plain = matches!(self.holds, ColumnType::Number | ColumnType::DecimalComma | ColumnType::Boolean);
        plain && self.encoding == Encoding::Itself && !self.gap_indicator
    }

    /// What a cell becomes.
    pub fn encode_cell(&self, cell: f32) -> Vec<f32> {
        let mut out = vec![0.0; self.width()];
        self.encode(cell, &mut out);
        out
    }

    /// The lengths, in days, of the cycles whose sine and cosine follow the day of a date.
    pub fn cycles(&self) -> Vec<f64> {
        match &self.encoding {
            Encoding::DateParts(parts) => parts.cycles().collect(),
            _ => Vec::new(),
        }
    }

    fn encode(&self, cell: f32, out: &mut [f32]) {
        let out = match (self.gap_indicator, out) {
            (true, [values @ .., gap]) => {
                *gap = f32::from(cell.is_nan());
                values
            }
            (_, out) => out,
        };
        match &self.encoding {
            Encoding::Itself => {
                // A category has two levels here; any other is as good as a gap.
                let known = self.holds.levels().is_none_or(|_| cell == 0.0 || cell == 1.0);
                out[0] = if known { cell } else { f32::NAN };
            }
            Encoding::Indicators(indicators) => indicators.encode(cell, out),
            Encoding::TargetMeans(means) => means.encode(cell, out),
            Encoding::DateParts(parts) => parts.encode(cell, out),
        }
    }

    /// Whether each of its encoded columns is an indicator.
    fn indicators(&self) -> impl Iterator<Item = bool> {
        let (width, all) = (self.width(), matches!(self.encoding, Encoding::Indicators(_)));
        (0..width).map(move |k| all || self.gap_indicator && k + 1 == width)
    }

    /// What is wrong with an encoder that no fit can have made.
    fn fault(&self) -> Option<&'static str> {
        let levels = self.holds.levels().map_or(0, <[String]>::len);
        let fits = match (&self.encoding, &self.holds) {
            (Encoding::Itself, ColumnType::Category { levels }) => levels.len() <= 2,
            (Encoding::Itself, ColumnType::Number | ColumnType::DecimalComma | ColumnType::Boolean) => true,
            (Encoding::Indicators(indicators), ColumnType::Category { .. }) => indicators.fits(levels),
            (Encoding::TargetMeans(means), ColumnType::Category { .. }) => means.fits(levels),
            (Encoding::DateParts(_), ColumnType::Date { .. }) => true,
            _ => false,
        };
        (!fits).then_some("an encoder does not fit its column")
    }
}

impl Encoder {
    /// Every column is a number and stays as it is.
    pub(crate) fn identity(columns: usize) -> Self {
        let itself =
            ColumnEncoder { holds: ColumnType::Number, encoding: Encoding::Itself, gap_indicator: false };
        Self { columns: vec![itself; columns] }
    }

    /// One for each column of the table.
    pub fn columns(&self) -> &[ColumnEncoder] {
        &self.columns
    }

    /// Encoded columns.
    pub fn width(&self) -> usize {
        self.columns.iter().map(ColumnEncoder::width).sum()
    }

    /// Whether rows stay as they are.
    pub fn is_identity(&self) -> bool {
        self.columns.iter().all(ColumnEncoder::is_identity)
    }

    /// Whether every column is a number that stays as it is: nothing that a model has to keep.
    pub(crate) fn is_all_numbers(&self) -> bool {
        self.is_identity() && self.columns.iter().all(|column| column.holds == ColumnType::Number)
    }

    /// For each encoded column, the column of the table that it belongs to.
    pub fn origin(&self) -> Vec<usize> {
        self.columns.iter().enumerate().flat_map(|(j, c)| std::iter::repeat_n(j, c.width())).collect()
    }

    /// All rows, encoded.
    pub fn encode(&self, x: Matrix<'_>) -> Vec<f32> {
        /// Rows that a thread takes at a time.
        const BLOCK: usize = 256;
        let rows = EncodedRows::new(x, self);
        let mut all = vec![0.0; x.rows() * rows.width];
        all.par_chunks_mut(BLOCK * rows.width.max(1)).enumerate().for_each(|(block, out)| {
            let first = BLOCK * block;
            rows.read_range(first..x.rows().min(first + BLOCK), out);
        });
        all
    }

    /// Whether each encoded column is an indicator, which is not standardised.
    pub(crate) fn indicators(&self) -> Vec<bool> {
        self.columns.iter().flat_map(ColumnEncoder::indicators).collect()
    }

    /// Encoded columns with the same number have one relevance: the indicators of a category. None where there are none.
    pub(crate) fn ties(&self) -> Option<Vec<u32>> {
        let mut ties = Vec::new();
        for column in &self.columns {
            let tied = matches!(column.encoding, Encoding::Indicators(_));
            let first = ties.last().map_or(0, |last| last + 1);
            ties.extend((0..column.width() as u32).map(|k| if tied { first } else { first + k }));
        }
        let any = ties.windows(2).any(|pair| pair[0] == pair[1]);
        any.then_some(ties)
    }

    /// For each column of the table, what `combine` makes of the values of its encoded columns.
    pub(crate) fn per_column<T: Copy>(&self, encoded: &[T], combine: impl Fn(&[T]) -> T) -> Vec<T> {
        let mut at = 0;
        let column = |column: &ColumnEncoder| {
            let values = &encoded[at..at + column.width()];
            at += column.width();
            if let [value] = values { *value } else { combine(values) }
        };
        self.columns.iter().map(column).collect()
    }

    /// The importance of each column of the table from the slopes along the encoded ones: the root of the sum of their squares, where a
    /// slope along an indicator is taken times the deviation of the indicator, as that along a standardised column is.
    pub(crate) fn importances(
        &self,
        slopes: impl Iterator<Item = f64>,
        x: Matrix<'_>,
        rows: &[usize],
        weight: impl Fn(usize) -> f32,
    ) -> Vec<f32> {
        let mut slopes: Vec<f64> = slopes.collect();
        let total: f64 = rows.iter().map(|&i| weight(i) as f64).sum();
        for (j, _) in self.indicators().iter().enumerate().filter(|(_, indicator)| **indicator) {
            let ones = x.column(j, rows.iter().copied());
            let share = ones.iter().zip(rows).map(|(v, &i)| (v * weight(i)) as f64).sum::<f64>() / total;
            slopes[j] *= (share * (1.0 - share)).max(0.0).sqrt();
        }
        let combined = self.per_column(&slopes, |slopes| slopes.iter().map(|s| s * s).sum::<f64>().sqrt());
        combined.into_iter().map(|importance| importance as f32).collect()
    }

    /// Checks an encoder that was read from a file.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        self.columns.iter().find_map(ColumnEncoder::fault).map_or(Ok(()), Err)
    }
}

/// Rows of a table, encoded as they are read.
pub(crate) struct EncodedRows<'a> {
    x: Matrix<'a>,
    encoder: &'a Encoder,
    width: usize,
}

impl<'a> EncodedRows<'a> {
    pub(crate) fn new(x: Matrix<'a>, encoder: &'a Encoder) -> Self {
        Self { x, encoder, width: encoder.width() }
    }
}

impl Rows for EncodedRows<'_> {
    fn rows(&self) -> usize {
        self.x.rows()
    }

    fn columns(&self) -> usize {
        self.width
    }

    fn read(&self, rows: &[usize], out: &mut [f32]) {
        self.x.for_each_row(rows, |at, row| {
            let mut rest = &mut out[at * self.width..(at + 1) * self.width];
            for (column, &cell) in self.encoder.columns.iter().zip(row) {
                let (own, others) = rest.split_at_mut(column.width());
                column.encode(cell, own);
                rest = others;
            }
        });
    }
}

#[cfg(test)]
mod tests;
