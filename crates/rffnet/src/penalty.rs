//! Penalties on the head and on the relevances: a value and a proximal step.

use serde::{Deserialize, Serialize};

use crate::{Error, names::named_enum};

named_enum! {
    /// The shape of a penalty.
    #[non_exhaustive]
    pub enum PenaltyKind "penalty" {
        /// No penalty.
        None => "none",
        /// The squared Euclidean norm.
        L2 => "l2",
        /// The sum of absolute values.
        L1 => "l1",
        /// A mixture of both.
        ElasticNet => "elastic-net",
    }
}

/// `l1 |w|_1 + l2 |w|_2^2`: every built-in penalty is of this form.
///
/// ```
/// use rffnet::Penalty;
/// let penalty = Penalty { l1: 0.0, l2: 0.1 };
/// let mut w = [2.0, -1.0];
/// penalty.prox(&mut w, 0.5); // w / (1 + 2 * 0.1 * 0.5)
/// assert!((w[0] - 2.0 / 1.1).abs() < 1e-6);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Default)]
pub struct Penalty {
    /// Weight of the absolute values.
    pub l1: f64,
    /// Weight of the squares.
    pub l2: f64,
}

impl Penalty {
    /// The penalty of a kind at strength `alpha`; `l1_ratio` is the share of L1 in the elastic net.
    pub fn new(kind: PenaltyKind, alpha: f64, l1_ratio: f64) -> Self {
        match kind {
            PenaltyKind::None => Self::default(),
            PenaltyKind::L2 => Self { l1: 0.0, l2: alpha },
            PenaltyKind::L1 => Self { l1: alpha, l2: 0.0 },
            PenaltyKind::ElasticNet => Self { l1: alpha * l1_ratio, l2: alpha * (1.0 - l1_ratio) },
        }
    }

    /// The penalty's value at `w`.
    pub fn value(&self, w: &[f32]) -> f64 {
        w.iter().map(|&w| self.l1 * (w as f64).abs() + self.l2 * (w as f64).powi(2)).sum()
    }

    /// argmin over u of `value(u) + |u - w|^2 / (2 step)`, in place.
    pub fn prox(&self, w: &mut [f32], step: f64) {
        let (threshold, shrink) = self.prox_factors(step);
        for w in w {
            *w = w.signum() * (w.abs() - threshold).max(0.0) * shrink;
        }
    }

    /// The prox as soft threshold, then factor.
    pub(crate) fn prox_factors(&self, step: f64) -> (f32, f32) {
        ((step * self.l1) as f32, (1.0 / (1.0 + 2.0 * step * self.l2)) as f32)
    }

    /// The same penalty for `w * unit` instead of `w`: what it is when the variable is measured in other units.
    pub(crate) fn in_units(&self, unit: f64) -> Self {
        Self { l1: self.l1 / unit, l2: self.l2 / (unit * unit) }
    }
}
