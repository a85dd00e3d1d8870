//! Gradients of a chunk.
//!
//! With `V = sin P o (r beta)`, `dLoss/dtheta_j = -sum_s omega_js (x^T V)_js`: the product `x^T V` stays in registers,
//! tile by tile, and is reduced against `omega` at once. For a single output `(r beta)_is = r_i beta_s`, so `r` goes
//! into the packed rows and `beta` into the reduction, and `V` is the recorded sine as it stands.
#![allow(unsafe_code)]

use super::dispatch::Kernel;
use super::frequencies::Panel;
use super::lanes::Simd;
use super::tape::Scratch;
use super::tile::{Scalars, Tiles, cover, pack, product};
use super::{CHUNK, Frequencies, PANEL, Tape};

/// Where the gradient of the spectrum is added, for models that learn it.
#[derive(Debug)]
pub struct SpectrumGrad<'a> {
    /// `d x padded`: `-sum_i x_ij V_is`, still to be multiplied by `theta_j`.
    pub omega: &'a mut [f32],
    /// `padded`: `-sum_i V_is`.
    pub phase: &'a mut [f32],
}

/// Tiles of outputs x features: `to += r^T waves`.
struct Outer<'a> {
    rows: usize,
    outputs: usize,
    r: &'a [f32],
    waves: &'a [f32],
    width: usize,
    to: &'a mut [f32],
    first: usize,
    padded: usize,
}

impl<S: Simd> Tiles<S> for Outer<'_> {
    #[inline(always)]
    unsafe fn tile<const R: usize, const N: usize>(&mut self, s: S, output: usize, unit: usize) {
        let at = unit * S::LANES;
        let r = Scalars { data: self.r, first: output, row: 1, step: self.outputs };
        // SAFETY: `r` has `rows` rows of `outputs`, `waves` as many of `width`, `to` a row of `padded` per output.
        unsafe {
            let sum = product::<S, R, N>(s, self.rows, r, self.waves, (at, self.width), [[s.zero(); N]; R]);
            for (c, sum) in sum.iter().enumerate() {
                for (v, &sum) in sum.iter().enumerate() {
                    let to = (output + c) * self.padded + self.first + at + v * S::LANES;
                    s.store(s.add(s.load(self.to, to), sum), self.to, to);
                }
            }
        }
    }
}

/// Tiles of rows x features: `V = sin P o (r beta)`.
struct Residuals<'a> {
    outputs: usize,
    r: &'a [f32],
    beta: &'a [f32],
    first: usize,
    padded: usize,
    sin: &'a [f32],
    width: usize,
    v: &'a mut [f32],
}

impl<S: Simd> Tiles<S> for Residuals<'_> {
    #[inline(always)]
    unsafe fn tile<const R: usize, const N: usize>(&mut self, s: S, row: usize, unit: usize) {
        let at = unit * S::LANES;
        let r = Scalars { data: self.r, first: row * self.outputs, row: self.outputs, step: 1 };
        let beta = (self.first + at, self.padded);
        // SAFETY: `r` has a row of `outputs` and `sin` and `v` one of `width` per row, `beta` one of `padded` per
        // output.
        unsafe {
            let sum = product::<S, R, N>(s, self.outputs, r, self.beta, beta, [[s.zero(); N]; R]);
            for (i, sum) in sum.iter().enumerate() {
                for (v, &sum) in sum.iter().enumerate() {
                    let place = (row + i) * self.width + at + v * S::LANES;
                    s.store(s.mul(sum, s.load(self.sin, place)), self.v, place);
                }
            }
        }
    }
}

/// Tiles of columns x features: `G = x^T V`, reduced against `omega` into one vector per column.
///
/// With `SINGLE`, `x` holds `r o x`, `v` the sine, and `G` lacks the factor `beta`.
struct Columns<'a, const SINGLE: bool> {
    rows: usize,
    x: &'a [f32],
    v: &'a [f32],
    panel: Panel<'a>,
    beta: &'a [f32],
    lanes: &'a mut [f32],
    grad_omega: Option<&'a mut [f32]>,
    padded: usize,
}

impl<S: Simd, const SINGLE: bool> Tiles<S> for Columns<'_, SINGLE> {
    #[inline(always)]
    unsafe fn tile<const R: usize, const N: usize>(&mut self, s: S, column: usize, unit: usize) {
        let (at, width) = (unit * S::LANES, self.panel.width);
        let x = Scalars { data: self.x, first: column * self.rows, row: 1, step: R };
        // SAFETY: `x` is packed in blocks of the heights that `cover` takes; `v` has `rows` rows of `width`, `lanes` a
        // vector per column, `grad_omega` a row of `padded` per column, `beta` (if `SINGLE`) is `padded` long.
        unsafe {
            let sum = product::<S, R, N>(s, self.rows, x, self.v, (at, width), [[s.zero(); N]; R]);
            for (j, sum) in sum.iter().enumerate() {
                let mut lanes = s.load(self.lanes, (column + j) * S::LANES);
                for (v, &g) in sum.iter().enumerate() {
                    let mut g = g;
                    let feature = at + v * S::LANES;
                    if SINGLE {
                        g = s.mul(g, s.load(self.beta, self.panel.first + feature));
                    }
                    lanes = s.fma(g, s.load(self.panel.omega, (column + j) * width + feature), lanes);
                    if let Some(grad) = &mut self.grad_omega {
                        let place = (column + j) * self.padded + self.panel.first + feature;
                        s.store(s.sub(s.load(grad, place), g), grad, place);
                    }
                }
                s.store(lanes, self.lanes, (column + j) * S::LANES);
            }
        }
    }
}

/// See [`super::backward`].
pub(super) struct Backward<'a> {
    pub(super) frequencies: &'a Frequencies,
    pub(super) x: &'a [f32],
    pub(super) rows: usize,
    pub(super) beta: &'a [f32],
    pub(super) outputs: usize,
    pub(super) r: &'a [f32],
    pub(super) tape: &'a mut Tape,
    pub(super) grad_theta: &'a mut [f32],
    pub(super) grad_beta: &'a mut [f32],
    pub(super) spectrum: Option<SpectrumGrad<'a>>,
}

impl Kernel for Backward<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { frequencies, x, rows, beta, outputs, r, tape, grad_theta, grad_beta, mut spectrum } = self;
        let (columns, features, padded) =
            (frequencies.columns(), frequencies.features(), frequencies.padded());
        assert!(rows <= CHUNK);
        assert_eq!(x.len(), rows * columns);
        assert_eq!(beta.len(), outputs * padded);
        assert_eq!(r.len(), rows * outputs);
        assert_eq!(grad_theta.len(), columns);
        assert_eq!(grad_beta.len(), outputs * padded);
        if let Some(spectrum) = &spectrum {
            assert_eq!(spectrum.omega.len(), columns * padded);
            assert_eq!(spectrum.phase.len(), padded);
        }
        tape.check(rows, padded);
        let Scratch { lanes, x: packed, v } = &mut tape.scratch;
        packed.resize(rows * columns);
        pack::<S>(x, columns, 0..columns, (outputs == 1).then_some(r), packed);
        lanes.resize(columns * S::LANES);
        lanes.fill(0.0);
        v.resize(CHUNK * PANEL);
        let ones = [1.0; CHUNK];

        for panel in frequencies.panels() {
            let Panel { first, width, .. } = panel;
            let units = width / S::LANES;
            let (cos, sin, Scratch { lanes, x: packed, v }) = tape.panel_mut(first, width);
            let (cos, sin) = (&*cos, &*sin);
            let grad_omega = spectrum.as_mut().map(|spectrum| &mut *spectrum.omega);
            // SAFETY: the lengths asserted above; a panel of the tape, and `v`, holds CHUNK rows of `width`.
            unsafe {
                let mut beta_tiles =
                    Outer { rows, outputs, r, waves: cos, width, to: grad_beta, first, padded };
                cover(s, outputs, units, &mut beta_tiles);
                let v = if outputs == 1 {
                    let mut tiles =
                        Columns::<true> { rows, x: packed, v: sin, panel, beta, lanes, grad_omega, padded };
                    cover(s, columns, units, &mut tiles);
                    sin
                } else {
                    cover(s, rows, units, &mut Residuals { outputs, r, beta, first, padded, sin, width, v });
                    let mut tiles =
                        Columns::<false> { rows, x: packed, v, panel, beta, lanes, grad_omega, padded };
                    cover(s, columns, units, &mut tiles);
                    &**v
                };
                if let Some(spectrum) = &mut spectrum {
                    let mut sum = [0.0; PANEL];
                    let r = if outputs == 1 { r } else { &ones[..rows] };
                    let mut phase =
                        Outer { rows, outputs: 1, r, waves: v, width, to: &mut sum, first: 0, padded: width };
                    cover(s, 1, units, &mut phase);
                    for (i, sum) in sum[..width].iter().enumerate() {
                        let factor = if outputs == 1 { beta[first + i] } else { 1.0 };
                        spectrum.phase[first + i] -= sum * factor;
                    }
                }
            }
        }
        let lanes = &tape.scratch.lanes;
        for (j, grad) in grad_theta.iter_mut().enumerate() {
            // SAFETY: there is a vector per column.
            *grad -= s.sum(unsafe { s.load(lanes, j * S::LANES) });
        }
        for grad in grad_beta.chunks_exact_mut(padded) {
            grad[features..].fill(0.0); // the cosine of the padding is one
        }
    }
}

/// See [`super::backward_head`].
pub(super) struct Head<'a> {
    pub(super) frequencies: &'a Frequencies,
    pub(super) rows: usize,
    pub(super) outputs: usize,
    pub(super) r: &'a [f32],
    pub(super) tape: &'a Tape,
    pub(super) grad_beta: &'a mut [f32],
}

impl Kernel for Head<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { frequencies, rows, outputs, r, tape, grad_beta } = self;
        let (features, padded) = (frequencies.features(), frequencies.padded());
        assert!(rows <= CHUNK);
        assert_eq!(r.len(), rows * outputs);
        assert_eq!(grad_beta.len(), outputs * padded);
        tape.check(rows, padded);
        for Panel { first, width, .. } in frequencies.panels() {
            let (cos, _) = tape.panel(first, width);
            let mut tiles = Outer { rows, outputs, r, waves: cos, width, to: grad_beta, first, padded };
            // SAFETY: the lengths just asserted; a panel of the tape holds CHUNK rows of `width`.
            unsafe { cover(s, outputs, width / S::LANES, &mut tiles) };
        }
        for grad in grad_beta.chunks_exact_mut(padded) {
            grad[features..].fill(0.0); // the cosine of the padding is one
        }
    }
}
