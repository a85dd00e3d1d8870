//! Where numbers are computed: sums over rows, epochs of descent, predictions.
//!
//! Solvers ask a [`Backend`] for whole sums over rows, never for tensor operations: one call is enough work for a fused
//! kernel, a stream of blocks or a set of workers. [`cpu`] is the only backend so far; it calls the kernels of `simd/`, whose
//! memory layouts `FeatureMap`, `Gram` and `Transforms` carry for it.

mod cpu;

use std::sync::OnceLock;

use crate::features::{Network, Weights};
use crate::problem::{Columns, Problem};
use crate::ridge::{Design, Gram, Moments};
use crate::solver::descent::DescentState;

pub(crate) use cpu::Cpu;

/// What a solver needs of the rows.
pub(crate) trait Backend: Sync {
    /// Outputs of a network for the given rows, `rows x outputs`.
    fn outputs(&self, columns: Columns<'_>, network: Network<'_>, rows: &[usize]) -> Vec<f32>;

    /// Weighted mean loss over the rows.
    fn mean_loss(&self, problem: &Problem<'_>, network: Network<'_>, rows: &[usize]) -> f64;

    /// Mean loss over the rows, and its gradient, which stays in `buffers`.
    fn gradient(
        &self,
        problem: &Problem<'_>,
        network: Network<'_>,
        rows: &[usize],
        buffers: &mut GradientBuffers,
    ) -> f64;

    /// One epoch of descent over the rows in the given order; returns the mean loss over its batches. Ends early, with a
    /// loss that is not finite, when the descent has diverged.
    fn epoch(&self, state: &mut DescentState<'_>, order: &[usize]) -> f64;

    /// Writes rows of the exact head's design, `stride` from one to the next; what lies behind the design is left alone.
    fn design(&self, columns: Columns<'_>, design: &Design<'_>, rows: &[usize], stride: usize, z: &mut [f32]);

    /// Second moments of design and targets over the rows, each weighing its own weight times its `curvature` (which is
    /// given for all rows of the data). With a curvature, targets are left out.
    fn moments(
        &self,
        problem: &Problem<'_>,
        design: &Design<'_>,
        rows: &[usize],
        curvature: Option<&[f32]>,
    ) -> Moments;

    /// Adds the products of the columns of `z`, rows that are in memory.
    fn add_gram(&self, gram: &mut Gram, z: &[f32]);

    /// For each column the weighted mean, over rows, of the squared derivative (summed over outputs) of the averaged
    /// networks along the transformed column. Steps add what they change from half a unit below the row to half a unit above.
    fn squared_slopes(
        &self,
        columns: Columns<'_>,
        networks: &[Network<'_>],
        rows: &[usize],
        weight: &(dyn Fn(usize) -> f32 + Sync),
    ) -> Vec<f64>;

    /// The average gradient outer product (AGOP) of the cosines' part along the columns in the network's support: the
    /// weighted mean over rows, summed over outputs; lower triangle, row-major.
    fn agop(&self, problem: &Problem<'_>, network: Network<'_>, rows: &[usize]) -> Vec<f64>;
}

/// The backend of this process.
pub(crate) fn cpu() -> &'static Cpu {
    static CPU: OnceLock<Cpu> = OnceLock::new();
    CPU.get_or_init(Cpu::new)
}

/// Which gradients are wanted beside the head's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Only the head: intercept, linear terms, beta.
    Head,
    /// The relevances too.
    Relevances,
    /// Relevances, frequencies and phases.
    Spectrum,
}

/// A gradient, or the share of a block of rows.
pub(crate) struct Gradient {
    pub(crate) weights: Weights,
    /// `support x padded` and `padded`; empty unless the spectrum is wanted. That of omega lacks the factor theta_j.
    pub(crate) omega: Vec<f32>,
    pub(crate) phase: Vec<f32>,
    pub(crate) loss: f64,
}

/// Partial gradients, used again and again, so that a step allocates nothing.
pub(crate) struct GradientBuffers {
    wanted: Wanted,
    sums: Vec<Gradient>,
}

/// At most this many partial gradients are kept, however large the batch; fewer where each is as large as omega.
pub(crate) const MAX_BLOCKS: usize = 64;
pub(crate) const MAX_SPECTRUM_BLOCKS: usize = 8;

impl GradientBuffers {
    pub(crate) fn new(wanted: Wanted) -> Self {
        Self { wanted, sums: Vec::new() }
    }

    /// The last gradient.
    pub(crate) fn total(&self) -> &Gradient {
        &self.sums[0]
    }

    /// The same, to be changed.
    pub(crate) fn total_mut(&mut self) -> &mut Gradient {
        &mut self.sums[0]
    }
}
