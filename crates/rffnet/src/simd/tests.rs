//! Every path of this machine against plain `f64` loops.

use super::*;

mod model;
mod pieces;

/// Numbers in [-1, 1), the same on every machine.
fn noise(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32 / (1u64 << 23) as f32) - 1.0
    }
}

fn draw(seed: u64, n: usize, scale: f32) -> Vec<f32> {
    let mut noise = noise(seed);
    (0..n).map(|_| noise() * scale).collect()
}

/// A chunk with everything the kernels take.
struct Case {
    d: usize,
    s: usize,
    k: usize,
    rows: usize,
    omega: Vec<f32>,
    phase: Vec<f32>,
    frequencies: Frequencies,
    x: Vec<f32>,
    theta: Vec<f32>,
    scaled: Vec<f32>,
    beta: Vec<f32>,
    r: Vec<f32>,
}

impl Case {
    fn new(d: usize, s: usize, k: usize, rows: usize) -> Self {
        let seed = (d * 1_000_003 + s * 1009 + k * 101 + rows) as u64;
        let omega = draw(seed, d * s, 3.0 / (d as f32).sqrt());
        let phase: Vec<f32> = draw(seed + 1, s, 3.0).iter().map(|phase| phase + 3.0).collect();
        let frequencies = Frequencies::new(&omega, &phase);
        let (x, theta) = (draw(seed + 2, rows * d, 2.0), draw(seed + 3, d, 1.0));
        let scaled = x.iter().enumerate().map(|(i, x)| x * theta[i % d]).collect();
        let padded = frequencies.padded();
        let mut beta = vec![0.0; k * padded];
        for (row, live) in beta.chunks_exact_mut(padded).zip(draw(seed + 4, k * s, 1.0).chunks_exact(s)) {
            row[..s].copy_from_slice(live);
        }
        let r = draw(seed + 5, rows * k, 1.0);
        Self { d, s, k, rows, omega, phase, frequencies, x, theta, scaled, beta, r }
    }

    fn shapes() -> impl Iterator<Item = Self> {
        let mut shapes = vec![(3000, 49, 1, 64), (3000, 17, 3, 5), (300, 300, 10, 64), (129, 1000, 2, 9)];
        for d in [1, 2, 7, 8, 18, 28] {
            for s in [1, 15, 16, 47, 48, 49, 80, 300] {
                for (k, rows) in [(1, 64), (1, 5), (2, 63), (3, 1), (10, 8), (10, 64), (1, 1), (4, 0)] {
                    shapes.push((d, s, k, rows));
                }
            }
        }
        shapes.into_iter().map(|(d, s, k, rows)| Self::new(d, s, k, rows))
    }

    fn padded(&self) -> usize {
        self.frequencies.padded()
    }

    /// `P` in double precision, from the `f32` inputs.
    fn arguments(&self) -> Vec<f64> {
        let mut p = Vec::with_capacity(self.rows * self.s);
        for x in self.scaled.chunks_exact(self.d) {
            let mut row: Vec<f64> = self.phase.iter().map(|&phase| f64::from(phase)).collect();
            for (&x, omega) in x.iter().zip(self.omega.chunks_exact(self.s)) {
                for (p, &omega) in row.iter_mut().zip(omega) {
                    *p += f64::from(x) * f64::from(omega);
                }
            }
            p.extend(row);
        }
        p
    }

    fn beta(&self, c: usize, f: usize) -> f64 {
        f64::from(self.beta[c * self.padded() + f])
    }

    fn pred(&self) -> Vec<Sum> {
        let p = self.arguments();
        let mut pred = vec![Sum::default(); self.rows * self.k];
        for (at, pred) in pred.iter_mut().enumerate() {
            for f in 0..self.s {
                pred.add(self.beta(at % self.k, f) * p[at / self.k * self.s + f].cos());
            }
        }
        pred
    }

    fn gradients(&self) -> Gradients<Sum> {
        let (p, s, padded) = (self.arguments(), self.s, self.padded());
        let mut g = Gradients::<Sum>::new(self);
        for i in 0..self.rows {
            for f in 0..s {
                let (sin, cos) = p[i * s + f].sin_cos();
                let mut v = 0.0;
                for c in 0..self.k {
                    let r = f64::from(self.r[i * self.k + c]);
                    g.beta[c * padded + f].add(r * cos);
                    v += r * self.beta(c, f) * sin;
                }
                g.phase[f].add(-v);
                for j in 0..self.d {
                    let xv = f64::from(self.x[i * self.d + j]) * v;
                    g.theta[j].add(-f64::from(self.omega[j * s + f]) * xv);
                    g.omega[j * padded + f].add(-xv);
                }
            }
        }
        g
    }

    fn forward(&self, path: Path, tape: &mut Tape) -> Vec<f32> {
        let mut pred = vec![0.0; self.rows * self.k];
        forward(path, &self.frequencies, &self.scaled, self.rows, &self.beta, self.k, &mut pred, tape);
        pred
    }

    fn backward(&self, path: Path, tape: &mut Tape, with_spectrum: bool) -> Gradients<f32> {
        let mut g = Gradients::new(self);
        let spectrum = with_spectrum.then_some(SpectrumGrad { omega: &mut g.omega, phase: &mut g.phase });
        backward(
            path,
            &self.frequencies,
            &self.x,
            self.rows,
            &self.beta,
            self.k,
            &self.r,
            tape,
            &mut g.theta,
            &mut g.beta,
            spectrum,
        );
        g
    }
}

#[derive(Clone, PartialEq, Debug)]
struct Gradients<T> {
    theta: Vec<T>,
    beta: Vec<T>,
    omega: Vec<T>,
    phase: Vec<T>,
}

impl<T: Clone + Default> Gradients<T> {
    fn new(case: &Case) -> Self {
        let zeros = |n| vec![T::default(); n];
        let padded = case.padded();
        Self {
            theta: zeros(case.d),
            beta: zeros(case.k * padded),
            omega: zeros(case.d * padded),
            phase: zeros(padded),
        }
    }
}

/// A sum, and the size that sums of such terms have when signs are random: a yardstick that does not vanish when one
/// of them happens to.
#[derive(Clone, Copy, Default)]
struct Sum {
    value: f64,
    squares: f64,
}

impl Sum {
    fn add(&mut self, term: f64) {
        self.value += term;
        self.squares += term * term;
    }
}

/// Norm of the difference over that of the reference.
fn error(got: &[f32], want: &[Sum]) -> f64 {
    assert_eq!(got.len(), want.len());
    let gap: f64 = got.iter().zip(want).map(|(&got, want)| (f64::from(got) - want.value).powi(2)).sum();
    let size: f64 = want.iter().map(|want| want.squares).sum();
    if gap == 0.0 { 0.0 } else { (gap / size).sqrt() }
}

#[track_caller]
fn close(path: Path, case: &Case, what: &str, got: &[f32], want: &[Sum]) {
    let error = error(got, want);
    let Case { d, s, k, rows, .. } = case;
    assert!(error <= 1e-5, "{path}: {what} at d={d} s={s} k={k} rows={rows}: {error:e}");
}
