//! The methods rffnet is compared with, behind one interface.
//!
//! [`fit`] checks the data, standardises the columns, refuses what would not fit in memory *before* it starts, and hands
//! the rest to a [`Method`]. Every method sees the same standardised columns, so that scores differ by method alone.
//!
//! ```
//! use rffnet::{Data, Matrix, Target};
//! use rffnet_baselines::{Constant, Options, fit};
//!
//! let (x, y) = ([0.0, 1.0, 2.0], [1.0, 2.0, 6.0]);
//! let data = Data::new(Matrix::new(&x, 3, 1)?, Target::Values { values: &y, outputs: 1 });
//! let model = fit(&Constant, &data, &Options::default())?;
//! assert_eq!(model.predict(Matrix::new(&[5.0], 1, 1)?)?, [3.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(missing_docs)]

mod constant;
mod eigen;
mod eigenpro;
mod error;
mod fastfood;
mod gpr;
mod heads;
mod kernel;
mod krr;
mod linalg;
mod linear;
mod logistic;
mod model;
mod nystroem;
mod rff;
mod rows;
mod simplex;
mod srff;
#[cfg(test)]
mod testing;

use rffnet::text::count;

pub use constant::Constant;
pub use eigenpro::EigenPro;
pub use error::Error;
pub use fastfood::{Fastfood, Sigma};
pub use gpr::{Gpr, Optimiser};
pub use heads::Head;
pub use krr::KernelRidge;
pub use linear::Linear;
pub use model::{Model, Options, fit};
pub use nystroem::Nystroem;
pub use rff::Rff;
pub use rows::{Rows, Training};
pub use srff::Srff;

/// A way to learn from rows.
pub trait Method: Send + Sync {
    /// What its largest arrays take, in words and bytes, for data of this shape; `fit` refuses what is beyond the limit.
    fn memory(&self, training: &Training<'_>) -> Need;

    /// Learns.
    fn train(&self, training: &Training<'_>) -> Result<Box<dyn Trained>, Error>;
}

/// The largest thing a method keeps in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// "the 50,000 x 50,000 kernel matrix".
    pub what: String,
    /// Its size.
    pub bytes: u64,
}

impl Need {
    /// Of so many rows and columns of 64-bit numbers.
    pub(crate) fn array(rows: usize, columns: usize, name: &str) -> Self {
        let bytes = (rows as u64).saturating_mul(columns as u64).saturating_mul(8);
        Self { what: format!("the {} x {} {name}", count(rows), count(columns)), bytes }
    }
}

/// What a method has learned.
pub trait Trained: Send + Sync {
    /// Outputs for standardised rows, `rows x outputs`: values, the log-odds of the second of two classes, or one score
    /// per class.
    fn decision(&self, rows: &Rows) -> Vec<f64>;

    /// Whether scores of classes are log-odds, so that probabilities can be had from them.
    fn has_probabilities(&self) -> bool {
        true
    }

    /// The variance of each prediction, where the method knows it.
    fn variance(&self, _rows: &Rows) -> Option<Vec<f64>> {
        None
    }

    /// How much each column matters, where the method knows it.
    fn relevances(&self) -> Option<Vec<f64>> {
        None
    }
}
