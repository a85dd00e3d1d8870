//! Numerical tools that know nothing of the method: shared with the baselines, not part of the public interface.

pub(crate) mod buffers;
pub mod cholesky;
pub mod lbfgs;
pub mod random;
