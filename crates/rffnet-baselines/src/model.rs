//! From the caller's data to a trained method, and from rows to its predictions.

use rffnet::{Data, Matrix, Target};

use crate::rows::Scale;
use crate::{Error, Method, Trained, Training};

/// What every method is told.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Where random numbers start.
    pub seed: u64,
    /// The largest array a method may ask for, in bytes.
    pub memory_limit: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { seed: 0, memory_limit: 8_000_000_000 }
    }
}

/// A trained method and the scaling of its columns.
pub struct Model {
    scale: Scale,
    columns: usize,
    outputs: usize,
    classes: Option<usize>,
    trained: Box<dyn Trained>,
}

/// Trains `method` on `data`.
pub fn fit(method: &dyn Method, data: &Data<'_>, options: &Options) -> Result<Model, Error> {
    let n = data.x.rows();
    check(data)?;
    let raw: Vec<f64> = data.weight.map_or_else(|| vec![1.0; n], |w| w.iter().map(|&w| w.into()).collect());
    let total: f64 = raw.iter().sum();
    if total <= 0.0 {
        return Err(Error::Unsupported("every row has weight zero: there is nothing to learn from".into()));
    }
    let weight: Vec<f64> = raw.iter().map(|w| w * n as f64 / total).collect();
    let scale = Scale::new(data.x, &weight);
    let training = Training { rows: scale.apply(data.x), target: data.y, weight, seed: options.seed };
    let need = method.memory(&training);
    if need.bytes > options.memory_limit {
        return Err(Error::Memory { what: need.what, bytes: need.bytes, limit: options.memory_limit });
    }
    let classes = match data.y {
        Target::Labels { classes, .. } => Some(classes.len()),
        Target::Values { .. } => None,
    };
    let trained = method.train(&training)?;
    Ok(Model { scale, columns: data.x.columns(), outputs: training.outputs(), classes, trained })
}

/// Shapes agree and numbers are finite.
fn check(data: &Data<'_>) -> Result<(), Error> {
    let n = data.x.rows();
    let unsupported = |what: String| Err(Error::Unsupported(what));
    let targets = match data.y {
        Target::Values { values, outputs } => values.len() / outputs.max(1),
        Target::Labels { codes, .. } => codes.len(),
    };
    if n == 0 || data.x.columns() == 0 {
        return unsupported("there are no rows or no columns to learn from".into());
    }
    if targets != n {
        return unsupported(format!("the data have {n} rows but the target has {targets}"));
    }
    if let Some((row, column, _)) = data.x.find(|v| !v.is_finite()) {
        let (row, column) = (row + 1, data.name(column));
        return unsupported(format!("row {row}, column {column}: every number must be finite; fill it in"));
    }
    if let Target::Labels { classes, .. } = data.y
        && classes.len() < 2
    {
        return unsupported("there is only one class".into());
    }
    Ok(())
}

impl Model {
    /// Values, log-odds or scores: `rows x outputs`.
    pub fn decision(&self, x: Matrix<'_>) -> Result<Vec<f64>, Error> {
        Ok(self.trained.decision(&self.rows(x)?))
    }

    /// Values (regression).
    pub fn predict(&self, x: Matrix<'_>) -> Result<Vec<f64>, Error> {
        self.decision(x)
    }

    /// Probabilities, `rows x classes`, where scores are log-odds.
    pub fn probabilities(&self, x: Matrix<'_>) -> Result<Option<Vec<f64>>, Error> {
        let Some(classes) = self.classes.filter(|_| self.trained.has_probabilities()) else {
            return Ok(None);
        };
        let decision = self.decision(x)?;
        if classes == 2 {
            let second = |f: &f64| 1.0 / (1.0 + (-f).exp());
            return Ok(Some(decision.iter().flat_map(|f| [1.0 - second(f), second(f)]).collect()));
        }
        let softmax = |f: &[f64]| {
            let top = f.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let e: Vec<f64> = f.iter().map(|v| (v - top).exp()).collect();
            let total: f64 = e.iter().sum();
            e.into_iter().map(move |e| e / total)
        };
        Ok(Some(decision.chunks_exact(classes).flat_map(softmax).collect()))
    }

    /// Variances of predictions, where the method knows them.
    pub fn variance(&self, x: Matrix<'_>) -> Result<Option<Vec<f64>>, Error> {
        Ok(self.trained.variance(&self.rows(x)?))
    }

    /// How much each column matters, where the method knows it.
    pub fn relevances(&self) -> Option<Vec<f64>> {
        self.trained.relevances()
    }

    /// Numbers per row in a decision.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    fn rows(&self, x: Matrix<'_>) -> Result<crate::Rows, Error> {
        if x.columns() != self.columns {
            return Err(Error::Unsupported(format!(
                "the model has {} columns but the rows have {}",
                self.columns,
                x.columns()
            )));
        }
        if let Some((row, column, _)) = x.find(|v| !v.is_finite()) {
            return Err(Error::Unsupported(format!(
                "row {}, column {}: every number must be finite; fill it in",
                row + 1,
                column + 1
            )));
        }
        Ok(self.scale.apply(x))
    }
}
