//! The dense columns of a design, in memory.
//!
//! Cosines are kept as whole numbers of 16 bits: a head passes over its rows some ten times, and what a pass takes is mostly
//! the memory that it reads. Rounding them acts like a penalty of 2e-10 / s for s features, far below any that is used.

use rayon::prelude::*;

use crate::problem::Problem;
use crate::ridge::Design;
use crate::simd::CHUNK;

/// A larger design is not kept, but computed anew at every step.
pub(crate) const MOST_BYTES: usize = 128 << 20;

/// What a cosine of one is kept as.
const WHOLE: f32 = i16::MAX as f32;

/// Added to a number of at most 2^22, its mantissa ends with the nearest whole number.
const TO_WHOLE: f32 = 12_582_912.0;

/// The dense columns of the design of some rows.
pub(crate) struct KeptDesign {
    /// `rows x cosines`, times `WHOLE`.
    pub(super) cosines: Vec<i16>,
    /// What that has to be multiplied with.
    pub(super) unit: f64,
    /// The linear terms and the intercept, `rows x others`.
    pub(super) others: Vec<f32>,
    features: usize,
    columns: usize,
}

impl KeptDesign {
    /// `None` if it is too large.
    pub(crate) fn new(problem: &Problem<'_>, design: &Design<'_>, rows: &[usize]) -> Option<Self> {
        let (features, unit) = (design.features.map.features(), design.cosine() / f64::from(WHOLE));
        let empty =
            Self { cosines: Vec::new(), unit, others: Vec::new(), features, columns: design.columns() };
        empty.on_more(problem, design, rows)
    }

    /// With more rows of the same design behind those before.
    pub(crate) fn on_more(
        mut self,
        problem: &Problem<'_>,
        design: &Design<'_>,
        rows: &[usize],
    ) -> Option<Self> {
        let (s, m) = (self.features, self.columns);
        let (before, count) = (self.cosines.len() / s, rows.len());
        if Self::bytes(before + count, s, m) > MOST_BYTES {
            return None;
        }
        self.cosines.resize((before + count) * s, 0);
        self.others.resize((before + count) * (m - s), 0.0);
        let cosines = self.cosines[before * s..].par_chunks_mut(CHUNK * s);
        let others = self.others[before * (m - s)..].par_chunks_mut(CHUNK * (m - s));
        let whole = (1.0 / self.unit) as f32;
        cosines.zip(others).zip(rows.par_chunks(CHUNK)).for_each_init(
            Vec::new,
            |z, ((cosines, others), rows)| {
                z.resize(rows.len() * m, 0.0);
                problem.backend.design(problem.columns, design, rows, m, z);
                let kept = cosines.chunks_exact_mut(s).zip(others.chunks_exact_mut(m - s));
                for (z, (cosines, others)) in z.chunks_exact(m).zip(kept) {
                    let (of_cosines, of_others) = z.split_at(s);
                    for (kept, z) in cosines.iter_mut().zip(of_cosines) {
                        *kept = (whole * z + TO_WHOLE).to_bits() as i16;
                    }
                    others.copy_from_slice(of_others);
                }
            },
        );
        Some(self)
    }

    /// Of a design with so many features and columns in all.
    pub(crate) fn bytes(rows: usize, features: usize, columns: usize) -> usize {
        rows * (2 * features + 4 * (columns - features))
    }

    /// Cosines of a row.
    pub(super) fn features(&self) -> usize {
        self.features
    }
}
