//! The SIMD kernels, alone and as one training step, against the arithmetic peak of a core.
//!
//! `cargo bench -p rffnet --bench kernels` prints a table of the share of the peak that the kernels reach, and then
//! divan's own statistics; `RFFNET_SIMD` does not matter here, since every path of the machine is measured.
#![allow(unsafe_code)]

use divan::Bencher;
use divan::counter::ItemsCount;
use rayon::prelude::*;
use rffnet::simd::{self, Aligned, CHUNK, Frequencies, Path, Prox, Tape};
use std::hint::black_box;
use std::ops::Range;
use std::time::{Duration, Instant};

/// `d`, `s`, rows of a mini-batch, outputs.
type Shape = (usize, usize, usize, usize);

const SHAPES: [Shape; 5] =
    [(18, 300, 128, 1), (100, 300, 128, 1), (28, 1000, 256, 1), (28, 1000, 256, 10), (3000, 300, 128, 1)];

fn main() {
    if !std::env::args().any(|argument| argument == "--test" || argument == "--list") {
        shares_of_peak();
    }
    divan::main();
}

/// Numbers in [-scale, scale).
fn draw(seed: u64, n: usize, scale: f32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32 / (1u64 << 23) as f32 - 1.0) * scale
    };
    (0..n).map(|_| next()).collect()
}

/// Everything one step of training touches.
struct Step {
    shape: Shape,
    x: Vec<f32>,
    rows: Vec<usize>,
    frequencies: Frequencies,
    mean: Vec<f32>,
    inv_std: Vec<f32>,
    theta: [Vec<f32>; 4],
    beta: [Vec<f32>; 4],
    out: Aligned,
    scaled: Aligned,
    pred: Vec<f32>,
    r: Vec<f32>,
    tape: Tape,
}

impl Step {
    fn new(shape: Shape) -> Self {
        const ROWS: usize = 2048;
        let (d, s, batch, k) = shape;
        let frequencies = Frequencies::new(&draw(1, d * s, 1.7), &draw(2, s, 3.0));
        let padded = frequencies.padded();
        let mut beta = vec![0.0; k * padded];
        for (beta, from) in beta.chunks_exact_mut(padded).zip(draw(3, k * s, 0.05).chunks_exact(s)) {
            beta[..s].copy_from_slice(from);
        }
        // Parameter, gradient and the two averages of Adam.
        let state = |w: Vec<f32>| [w.clone(), vec![0.0; w.len()], vec![0.0; w.len()], vec![0.0; w.len()]];
        Self {
            shape,
            x: draw(4, ROWS * d, 1.7),
            rows: (0..batch).map(|i| i * 977 % ROWS).collect(),
            frequencies,
            mean: vec![0.01; d],
            inv_std: vec![1.1; d],
            theta: state(vec![0.3; d]),
            beta: state(beta),
            out: Aligned::zeros(CHUNK * d),
            scaled: Aligned::zeros(CHUNK * d),
            pred: vec![0.0; CHUNK * k],
            r: draw(5, CHUNK * k, 0.01),
            tape: Tape::default(),
        }
    }

    /// Multiplications and additions of the matrix products in one step, or in one pass of it.
    fn flops(&self, passes: usize) -> usize {
        let (d, s, batch, k) = self.shape;
        // Per pass the product with omega; forward adds the head, backward the gradient of beta and, with several
        // outputs, r beta.
        let heads = if passes == 1 {
            1
        } else if k == 1 {
            2
        } else {
            3
        };
        2 * batch * s * (passes * d + heads * k)
    }

    fn gather(&mut self, path: Path, chunk: usize) {
        let rows = &self.rows[chunk * CHUNK..][..CHUNK];
        let (x, d, theta) = (&self.x, self.shape.0, &self.theta[0]);
        simd::gather(path, x, d, rows, &self.mean, &self.inv_std, theta, &mut self.out, &mut self.scaled);
    }

    fn forward(&mut self, path: Path) {
        let (frequencies, beta, k) = (&self.frequencies, &self.beta[0], self.shape.3);
        self.pred.fill(0.0);
        simd::forward(path, frequencies, &self.scaled, CHUNK, beta, k, &mut self.pred, &mut self.tape);
    }

    fn backward(&mut self, path: Path) {
        let ([_, grad_theta, ..], [beta, grad_beta, ..]) = (&mut self.theta, &mut self.beta);
        let (frequencies, x, k, r) = (&self.frequencies, &self.out, self.shape.3, &self.r);
        let tape = &mut self.tape;
        simd::backward(path, frequencies, x, CHUNK, beta, k, r, tape, grad_theta, grad_beta, None);
    }

    /// A whole mini-batch: gather, forward, backward, Adam.
    fn run(&mut self, path: Path) {
        self.theta[1].fill(0.0);
        self.beta[1].fill(0.0);
        for chunk in 0..self.shape.2 / CHUNK {
            self.gather(path, chunk);
            self.forward(path);
            self.backward(path);
        }
        for [w, g, m, v] in [&mut self.theta, &mut self.beta] {
            simd::adam(path, w, g, m, v, 1e-6, 0.5, 0.5, Prox::NONE);
        }
    }
}

/// Seconds of one call, the best of many: whatever else the machine does can only add.
fn seconds(mut work: impl FnMut()) -> f64 {
    work();
    let (mut best, mut calls, begin) = (f64::INFINITY, 0, Instant::now());
    while calls < 30 || begin.elapsed() < Duration::from_millis(100) {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64());
        calls += 1;
    }
    best
}

fn shares_of_peak() {
    for path in simd::available() {
        let peak = peak(path);
        println!("{path}: peak {:.1} GFLOP/s (one core, f32)", peak / 1e9);
        println!(
            "  {:24} {:>10} {:>10} {:>10} {:>10}",
            "d, s, rows, outputs", "step, us", "step", "forward", "backward"
        );
        let share = |flops: usize, seconds: f64| format!("{:.0} %", 100.0 * flops as f64 / seconds / peak);
        for shape in SHAPES {
            let mut step = Step::new(shape);
            let chunks = shape.2 / CHUNK;
            let whole = seconds(|| step.run(path));
            let forward = seconds(|| step.forward(path)) * chunks as f64;
            let backward = seconds(|| step.backward(path)) * chunks as f64;
            let (one, two) = (step.flops(1), step.flops(2));
            println!(
                "  {:24} {:10.1} {:>10} {:>10} {:>10}",
                format!("{shape:?}"),
                whole * 1e6,
                share(two, whole),
                share(one, forward),
                share(two - one, backward)
            );
        }
        for m in [300, 1000] {
            for threads in [1, 2] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                let mut gram = Gram::new(m, threads);
                let time = pool.install(|| seconds(|| gram.run(path)));
                let share = share(gram.flops(), time * threads as f64);
                println!("  gram of {m} features on {threads} threads: {share} of their peak (n s^2 flops)");
            }
        }
    }
}

/// Multiply-adds per second, times two, of independent chains in registers.
fn peak(path: Path) -> f64 {
    const ROUNDS: usize = 100_000;
    const CHAINS: usize = 12;
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::*;

        #[target_feature(enable = "avx512f")]
        fn avx512(rounds: usize, a: f32) -> f32 {
            let (a, mut sums) = (_mm512_set1_ps(a), [_mm512_set1_ps(1.0); CHAINS]);
            for _ in 0..rounds {
                for sum in &mut sums {
                    *sum = _mm512_fmadd_ps(*sum, a, a);
                }
            }
            sums.iter().map(|&sum| _mm512_cvtss_f32(sum)).sum()
        }

        #[target_feature(enable = "avx2,fma")]
        fn avx2(rounds: usize, a: f32) -> f32 {
            let (a, mut sums) = (_mm256_set1_ps(a), [_mm256_set1_ps(1.0); CHAINS]);
            for _ in 0..rounds {
                for sum in &mut sums {
                    *sum = _mm256_fmadd_ps(*sum, a, a);
                }
            }
            sums.iter().map(|&sum| _mm256_cvtss_f32(sum)).sum()
        }

        let flops = |lanes: usize| (2 * lanes * CHAINS * ROUNDS) as f64;
        // SAFETY: only paths that the CPU has are measured.
        match path {
            Path::Avx512 => {
                return flops(16)
                    / seconds(|| _ = black_box(unsafe { avx512(black_box(ROUNDS), black_box(0.5)) }));
            }
            Path::Avx2 => {
                return flops(8)
                    / seconds(|| _ = black_box(unsafe { avx2(black_box(ROUNDS), black_box(0.5)) }));
            }
            Path::Portable => {}
        }
    }
    let _ = path;
    let mut sums = [[1.0f32; 4]; CHAINS];
    let time = seconds(|| {
        let a = black_box(0.5f32);
        for _ in 0..ROUNDS {
            for sum in sums.as_flattened_mut() {
                *sum = *sum * a + a;
            }
        }
        black_box(&mut sums);
    });
    (2 * 4 * CHAINS * ROUNDS) as f64 / time
}

/// As a fit has it: threads share the rows of the output.
struct Gram {
    m: usize,
    z: Vec<f32>,
    panels: Aligned,
    gram: Vec<f64>,
    ranges: Vec<Range<usize>>,
}

impl Gram {
    const ROWS: usize = 512;

    fn new(m: usize, threads: usize) -> Self {
        Self {
            m,
            z: draw(6, Self::ROWS * m, 1.0),
            panels: Aligned::zeros(Self::ROWS * m.next_multiple_of(16)),
            gram: vec![0.0; m * m],
            ranges: simd::gram_ranges(m, threads),
        }
    }

    /// Of the lower triangle alone.
    fn flops(&self) -> usize {
        Self::ROWS * self.m * self.m
    }

    fn run(&mut self, path: Path) {
        let m = self.m;
        let block = simd::GRAM_BLOCK * m.next_multiple_of(16);
        let packed = self.panels.par_chunks_mut(block).zip(self.z.par_chunks(simd::GRAM_BLOCK * m));
        packed.for_each(|(panels, z)| simd::gram_panels(z, m, m, panels));
        let mut rest = self.gram.as_mut_slice();
        let mut parts = Vec::with_capacity(self.ranges.len());
        for range in &self.ranges {
            let (part, tail) = rest.split_at_mut(range.len() * m);
            parts.push((range.clone(), part));
            rest = tail;
        }
        let panels = &*self.panels;
        parts.into_par_iter().for_each(|(range, part)| simd::gram(path, panels, m, range, part));
    }
}

/// Shown by divan as the name of the case.
struct Case(Path, Shape);

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(path, (d, s, batch, k)) = self;
        write!(f, "{path} d={d} s={s} B={batch} k={k}")
    }
}

fn cases() -> impl Iterator<Item = Case> {
    simd::available().into_iter().flat_map(|path| SHAPES.map(|shape| Case(path, shape)))
}

#[divan::bench(args = cases(), max_time = 0.2)]
fn step(bencher: Bencher<'_, '_>, &Case(path, shape): &Case) {
    let mut step = Step::new(shape);
    bencher.counter(ItemsCount::new(step.flops(2))).bench_local(|| step.run(path));
}

#[divan::bench(args = cases(), max_time = 0.2)]
fn slopes(bencher: Bencher<'_, '_>, &Case(path, shape): &Case) {
    let mut step = Step::new(shape);
    step.gather(path, 0);
    step.forward(path);
    let (d, s, _, k) = shape;
    let mut out = vec![0.0; CHUNK * d];
    let Step { frequencies, beta: [beta, ..], tape, .. } = &step;
    bencher.counter(ItemsCount::new(2 * CHUNK * d * s * k)).bench_local(|| {
        for beta in beta.chunks_exact(frequencies.padded()) {
            simd::slopes(path, frequencies, CHUNK, beta, tape, &mut out);
        }
    });
}

#[divan::bench(args = cases(), max_time = 0.2)]
fn predict(bencher: Bencher<'_, '_>, &Case(path, shape): &Case) {
    let mut step = Step::new(shape);
    step.gather(path, 0);
    let (d, s, _, k) = shape;
    let Step { frequencies, beta: [beta, ..], scaled, pred, .. } = &mut step;
    bencher
        .counter(ItemsCount::new(2 * CHUNK * s * (d + k)))
        .bench_local(|| simd::predict(path, frequencies, scaled, CHUNK, beta, k, pred));
}

#[divan::bench(args = simd::available(), max_time = 0.2)]
fn sincos(bencher: Bencher<'_, '_>, &path: &Path) {
    let x = draw(7, 3072, 100.0);
    let (mut sin, mut cos) = (Aligned::zeros(x.len()), Aligned::zeros(x.len()));
    bencher.counter(ItemsCount::new(x.len())).bench_local(|| simd::sincos(path, &x, &mut sin, &mut cos));
}

#[divan::bench(args = simd::available(), consts = [300, 1000], max_time = 0.2)]
fn gram<const M: usize>(bencher: Bencher<'_, '_>, &path: &Path) {
    let mut gram = Gram::new(M, 1);
    bencher.counter(ItemsCount::new(gram.flops())).bench_local(|| gram.run(path));
}
