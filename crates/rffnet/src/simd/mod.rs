//! The hot loops, written once and compiled for each kind of vector unit.
//!
//! The model is `f(x) = intercept + sum_s beta_s cos(omega_s . (theta o x) + phase_s)`. Rows are handled in chunks of
//! at most [`CHUNK`]; a caller with several threads gives each its own chunks and its own [`Tape`], and adds what the
//! chunks return in their order, so that results do not depend on the number of threads. What a row contributes to
//! `pred` does not depend on its neighbours either: every sum is taken in the same order whatever the chunk.
//!
//! | file | subject |
//! |---|---|
//! | `dispatch` | which instructions, and the entry functions compiled for them |
//! | `lanes`, `portable`, `x86` | the vector operations |
//! | `tile` | the register tile that every product is made of |
//! | `frequencies`, `tape`, `buffer` | memory layouts |
//! | `sincos`, `forward`, `backward`, `slopes`, `gather`, `update`, `gram` | the kernels |
//!
//! Functions panic when a slice has the wrong length or the CPU lacks the `path` asked for.

#![allow(clippy::too_many_arguments)] // kernels take their shapes as plain numbers

mod backward;
mod buffer;
mod dense;
mod dispatch;
mod forward;
mod frequencies;
mod gather;
mod gram;
mod lanes;
mod portable;
mod sincos;
mod slopes;
mod tape;
#[cfg(test)]
mod tests;
mod tile;
mod update;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use backward::SpectrumGrad;
pub use buffer::Aligned;
pub use dispatch::{Path, available, path, requested};
pub use frequencies::Frequencies;
pub use gram::{GRAM_BLOCK, gram_panels, gram_ranges};
pub use tape::Tape;
pub use update::Prox;

/// Rows of a chunk, at most.
pub const CHUNK: usize = 64;
/// `f32` in a cache line, and in the widest vector.
pub(crate) const LINE: usize = 16;
/// Features of a panel: the width of a register tile of the widest vectors, and a multiple of the other paths'.
const PANEL: usize = 3 * LINE;

/// Standardises rows of `x` (row-major, `d` columns): `out[i, j] = (x[rows[i], j] - mean[j]) * inv_std[j]`, where a NaN
/// becomes zero (a missing value is taken for the mean), and `scaled[i, j] = out[i, j] * theta[j]`.
pub fn gather(
    path: Path,
    x: &[f32],
    d: usize,
    rows: &[usize],
    mean: &[f32],
    inv_std: &[f32],
    theta: &[f32],
    out: &mut [f32],
    scaled: &mut [f32],
) {
    dispatch::run(path, gather::Gather { x, columns: d, rows, mean, inv_std, theta, out, scaled });
}

/// Adds predictions: `pred[i, c] += sum_s beta[c, s] cos P_is` with `P = scaled omega + phase`.
///
/// The `k` rows of `beta` are [`Frequencies::padded`] long, with zeros in the padding.
pub fn predict(
    path: Path,
    frequencies: &Frequencies,
    scaled: &[f32],
    rows: usize,
    beta: &[f32],
    k: usize,
    pred: &mut [f32],
) {
    dispatch::run(path, forward::Predict { frequencies, scaled, rows, beta, outputs: k, pred, tape: None });
}

/// [`predict`], to the last bit, that also records the sines and cosines for [`backward()`] and [`slopes()`].
pub fn forward(
    path: Path,
    frequencies: &Frequencies,
    scaled: &[f32],
    rows: usize,
    beta: &[f32],
    k: usize,
    pred: &mut [f32],
    tape: &mut Tape,
) {
    let tape = Some(tape);
    dispatch::run(path, forward::Predict { frequencies, scaled, rows, beta, outputs: k, pred, tape });
}

/// Adds gradients, given `r[i, c] = dLoss/dpred[i, c]` and the chunk recorded by [`forward()`].
///
/// With `V_is = sin P_is sum_c r_ic beta_cs`: `grad_theta[j] -= sum_s omega_js sum_i x_ij V_is` and
/// `grad_beta[c, s] += sum_i r_ic cos P_is` (its padding becomes zero); with `spectrum`, also the gradients of `omega`
/// and `phase`. `x` holds the standardised rows, not multiplied by `theta`.
pub fn backward(
    path: Path,
    frequencies: &Frequencies,
    x: &[f32],
    rows: usize,
    beta: &[f32],
    k: usize,
    r: &[f32],
    tape: &mut Tape,
    grad_theta: &mut [f32],
    grad_beta: &mut [f32],
    spectrum: Option<SpectrumGrad<'_>>,
) {
    dispatch::run(
        path,
        backward::Backward {
            frequencies,
            x,
            rows,
            beta,
            outputs: k,
            r,
            tape,
            grad_theta,
            grad_beta,
            spectrum,
        },
    );
}

/// Slopes of one output: `out[i, j] = sum_s omega_js beta_s sin P_is` over the chunk recorded by [`forward()`]; times
/// `-theta_j` it is the derivative of the prediction by column `j`.
pub fn slopes(
    path: Path,
    frequencies: &Frequencies,
    rows: usize,
    beta: &[f32],
    tape: &Tape,
    out: &mut [f32],
) {
    dispatch::run(path, slopes::Slopes { frequencies, rows, beta, tape, out });
}

/// [`backward()`] for the head alone: `grad_beta[c, s] += sum_i r_ic cos P_is`.
pub fn backward_head(
    path: Path,
    frequencies: &Frequencies,
    rows: usize,
    k: usize,
    r: &[f32],
    tape: &Tape,
    grad_beta: &mut [f32],
) {
    dispatch::run(path, backward::Head { frequencies, rows, outputs: k, r, tape, grad_beta });
}

/// Random features: `z[i, s] = cos P_is`, in rows of [`Frequencies::padded`] with zeros in the padding.
pub fn features(path: Path, frequencies: &Frequencies, scaled: &[f32], rows: usize, z: &mut [f32]) {
    dispatch::run(path, forward::Features { frequencies, scaled, rows, z });
}

/// One step of Adam on `w` with gradient `g` and state `m`, `v`, and then the proximal map.
///
/// `bias1 = 1 - 0.9^t` and `bias2 = 1 - 0.999^t` at step `t` (from 1); the guard 1e-8 is outside the square root.
pub fn adam(
    path: Path,
    w: &mut [f32],
    g: &[f32],
    m: &mut [f32],
    v: &mut [f32],
    lr: f32,
    bias1: f32,
    bias2: f32,
    prox: Prox,
) {
    dispatch::run(path, update::Adam { w, g, m, v, lr, bias1, bias2, prox });
}

/// One step of gradient descent, and then the proximal map.
pub fn sgd(path: Path, w: &mut [f32], g: &[f32], lr: f32, prox: Prox) {
    dispatch::run(path, update::Sgd { w, g, lr, prox });
}

/// Adds outputs of heads on rows in memory: `f[i, c] += sum_j z[i, j] heads[c, j]`.
pub fn dense_outputs(path: Path, z: &[f32], columns: usize, heads: &[f32], f: &mut [f32]) {
    dispatch::run(path, dense::Outputs { z, columns, heads, f });
}

/// Adds their gradient: `gradient[c, j] += sum_i r[i, c] z[i, j]`.
pub fn dense_gradient(path: Path, z: &[f32], columns: usize, r: &[f32], gradient: &mut [f32]) {
    dispatch::run(path, dense::Gradient { z, columns, r, gradient });
}

/// [`dense_outputs`] of rows of whole numbers.
pub fn short_outputs(path: Path, z: &[i16], columns: usize, heads: &[f32], f: &mut [f32]) {
    dispatch::run(path, dense::Outputs { z, columns, heads, f });
}

/// [`dense_gradient`] of rows of whole numbers.
pub fn short_gradient(path: Path, z: &[i16], columns: usize, r: &[f32], gradient: &mut [f32]) {
    dispatch::run(path, dense::Gradient { z, columns, r, gradient });
}

/// Sine and cosine of each number: within 1.5e-7 for all arguments, NaN for those that are not finite.
pub fn sincos(path: Path, x: &[f32], sin: &mut [f32], cos: &mut [f32]) {
    dispatch::run(path, sincos::SinCos { x, sin, cos });
}

/// Adds rows of the Gram matrix: `gram[a - range.start, b] += sum_i z[i, a] z[i, b]` for `a` in `range` and `b <= a`.
///
/// `panels` are blocks of [`GRAM_BLOCK`] rows of `m` columns, the last one with what is left, each packed by [`gram_panels`];
/// `gram` holds the rows `range` of an `m x m` matrix, whose entries right of the diagonal are left alone. Threads take a
/// range each, see [`gram_ranges`].
pub fn gram(path: Path, panels: &[f32], m: usize, range: std::ops::Range<usize>, gram: &mut [f64]) {
    dispatch::run(path, gram::Gram { panels, m, range, gram });
}
