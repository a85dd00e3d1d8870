//! What the default algorithm is going to do, and about how long that takes, before it does it.

use std::fmt;
use std::time::Instant;

use super::sizes::Sizes;
use crate::Error;
use crate::backend::{self, Backend};
use crate::params::{Params, Shape};
use crate::ridge::Gram;

/// Rows and columns of the Gram matrix that is timed, and how often; the fastest counts.
const TIMED: (usize, usize) = (1024, 256);
const TIMES: usize = 4;

/// What the counted multiplications take, as a share of what they would take in a Gram matrix: stages end early.
const SLACK: f64 = 0.6;

/// The sizes of a fit, told in one line, and its work.
///
/// ```
/// use rffnet::{Outline, Params, Shape};
/// let shape = Shape { rows: 10_000, columns: 20, classification: false };
/// let outline = Outline::new(&Params::new(), shape, 1)?.expect("the default algorithm");
/// assert!(outline.to_string().contains("6 members"));
/// # Ok::<(), rffnet::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Outline(Sizes);

impl Outline {
    /// Of a fit to a table with so many columns (after encoding) and outputs; `None` if it is a descent.
    pub fn new(params: &Params, shape: Shape, outputs: usize) -> Result<Option<Self>, Error> {
        let plan = params.plan(shape)?;
        let most = params.budget.map_or(f64::INFINITY, |seconds| seconds * rate());
        let of = |settings| Sizes::new(&plan.common, settings, (shape.rows, shape.columns), outputs, most);
        Ok(plan.varpro().map(|settings| Self(of(settings))))
    }

    /// About how many seconds it takes on the threads of the current pool, from the time that a small Gram matrix takes.
    pub fn seconds(&self) -> f64 {
        SLACK * self.0.work() / rate()
    }
}

/// Multiplications per second on the threads of the current pool, in a small Gram matrix.
pub(super) fn rate() -> f64 {
    let (rows, columns) = TIMED;
    let z: Vec<f32> = (0..rows * columns).map(|i| (i % 7) as f32).collect();
    let time = |_| {
        let begun = Instant::now();
        backend::cpu().add_gram(&mut Gram::new(columns), &z);
        begun.elapsed().as_secs_f64()
    };
    let fastest = (0..TIMES).map(time).fold(f64::INFINITY, f64::min);
    (rows * columns * columns) as f64 / fastest
}

impl fmt::Display for Outline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sizes { members, learned, features, partitions, rows, .. } = self.0;
        let plural = if members == 1 { "" } else { "s" };
        write!(f, "{members} member{plural} of {features} Fourier features, {learned} of them learned")?;
        if partitions > 0 {
            write!(f, ", up to {partitions} partitions")?;
        }
        write!(f, "; relevances from {rows} rows")
    }
}
