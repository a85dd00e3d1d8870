//! Random features against the kernels they stand for: Propositions 1 and 2 of the paper.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{Xorshift, bits, fit, matrix, normal_rows, quick, regression, target};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rffnet::{Fit, Kernel, Model, Params, Sampling, Shape, Spectrum};

const COLUMNS: usize = 3;

/// prod_j G(theta_j (x_j - x'_j)).
fn exact(kernel: &dyn Spectrum, theta: &[f64], a: &[f64], b: &[f64]) -> f64 {
    theta.iter().zip(a).zip(b).map(|((t, a), b)| kernel.kernel(t * (a - b))).product()
}

/// z(theta o x) . z(theta o x') with s frequencies, as the paper writes it.
fn estimate(
    kernel: &dyn Spectrum,
    theta: &[f64],
    a: &[f64],
    b: &[f64],
    s: usize,
    rng: &mut Xoshiro256PlusPlus,
) -> f64 {
    let mut sum = 0.0;
    for _ in 0..s {
        let (mut at_a, mut at_b) = (0.0, 0.0);
        for ((t, a), b) in theta.iter().zip(a).zip(b) {
            let omega = kernel.sample(rng);
            at_a += omega * t * a;
            at_b += omega * t * b;
        }
        let phase = std::f64::consts::TAU * (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        sum += (at_a + phase).cos() * (at_b + phase).cos();
    }
    2.0 * sum / s as f64
}

/// Pairs of points at distances where the kernels are neither 0 nor 1.
fn pairs(count: usize) -> Vec<[[f64; COLUMNS]; 2]> {
    let mut rng = Xorshift::new(11);
    let mut point = || std::array::from_fn(|_| rng.normal());
    (0..count).map(|_| [point(), point()]).collect()
}

const THETA: [f64; COLUMNS] = [0.7, -0.4, 0.2];

#[test]
fn the_kernels_are_the_textbook_ones() {
    let at = |kernel: Kernel, delta: f64| kernel.kernel(delta);
    for kernel in Kernel::ALL {
        assert_eq!(at(*kernel, 0.0), 1.0);
        assert_eq!(at(*kernel, 0.8), at(*kernel, -0.8));
        assert!(at(*kernel, 0.5) > at(*kernel, 1.0) && at(*kernel, 40.0) < 1e-3);
    }
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-14, "{a} {b}");
    near(at(Kernel::Gaussian, 1.5), (-1.125f64).exp());
    near(at(Kernel::Laplace, 1.5), (-1.5f64).exp());
    near(at(Kernel::Cauchy, 1.5), 1.0 / 3.25);
    let u = 1.5 * 3f64.sqrt();
    near(at(Kernel::Matern32, 1.5), (1.0 + u) * (-u).exp());
    let u = 1.5 * 5f64.sqrt();
    near(at(Kernel::Matern52, 1.5), (1.0 + u + u * u / 3.0) * (-u).exp());
}

/// A feature's product cos(omega . d) + cos(.. + 2 phase) has a mean square of at most 3/2, so the error of s of them
/// is at most sqrt(1.5 / s). Over 200 pairs the ratio of the root mean squares at s and 16 s is 4, give or take 8 %.
#[test]
fn the_estimate_converges_like_one_over_sqrt_s_for_every_kernel() {
    for kernel in Kernel::ALL {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut root_mean_square = |s: usize| {
            let squares = pairs(200).into_iter().map(|[a, b]| {
                (estimate(kernel, &THETA, &a, &b, s, &mut rng) - exact(kernel, &THETA, &a, &b)).powi(2)
            });
            (squares.sum::<f64>() / 200.0).sqrt()
        };
        let (few, many) = (root_mean_square(250), root_mean_square(4000));
        assert!(few < (1.8f64 / 250.0).sqrt() && many < (1.8f64 / 4000.0).sqrt(), "{kernel}: {few} {many}");
        let ratio = few / many;
        assert!((2.9..5.5).contains(&ratio), "{kernel}: {few} / {many} = {ratio}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Proposition 1: z(theta o x) . z(theta o x') is unbiased for k_theta(x, x'). A feature's product lies in [-2, 2],
    /// so the mean of 20,000 is off by more than 0.12 with probability below 1e-15 (Hoeffding).
    #[test]
    fn proposition_1_the_estimate_is_unbiased(
        which in 0..Kernel::ALL.len(),
        theta in prop::array::uniform3(-1.5f64..1.5),
        a in prop::array::uniform3(-1.0f64..1.0),
        b in prop::array::uniform3(-1.0f64..1.0),
        seed in any::<u64>(),
    ) {
        let kernel = Kernel::ALL[which];
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let got = estimate(&kernel, &theta, &a, &b, 20_000, &mut rng);
        let scaled = |x: [f64; 3]| [theta[0] * x[0], theta[1] * x[1], theta[2] * x[2]];
        let isotropic = exact(&kernel, &[1.0; 3], &scaled(a), &scaled(b));
        let ard = exact(&kernel, &theta, &a, &b);
        prop_assert!((ard - isotropic).abs() < 1e-12);
        prop_assert!((got - ard).abs() < 0.12, "{} {} {}", kernel, got, ard);
    }

    /// Proposition 2: theta omega has the density p(w / theta) / |theta|, so its characteristic function at t is
    /// G(theta t), whatever the sign of theta. (Means of 20,000 numbers in [-1, 1]:
    /// off by more than 0.06 with probability below 1e-15.)
    #[test]
    fn proposition_2_relevances_scale_the_spectral_density(
        which in 0..Kernel::ALL.len(),
        theta in -3.0f64..3.0,
        t in -2.0f64..2.0,
        seed in any::<u64>(),
    ) {
        let kernel = Kernel::ALL[which];
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let n = 20_000;
        let (mut cos, mut sin) = (0.0, 0.0);
        for _ in 0..n {
            let angle = theta * kernel.sample(&mut rng) * t;
            cos += angle.cos();
            sin += angle.sin();
        }
        let (cos, sin) = (cos / n as f64, sin / n as f64);
        prop_assert!((cos - kernel.kernel(theta * t)).abs() < 0.06, "{} {}", kernel, cos);
        prop_assert!(sin.abs() < 0.06, "{}: not symmetric, {}", kernel, sin);
    }
}

#[test]
fn orthogonal_sampling_is_offered_for_the_gaussian_kernel_alone() {
    let shape = Shape { rows: 100, columns: 3, classification: false };
    for &kernel in Kernel::ALL {
        let params = Params::new().kernel(kernel).sampling(Sampling::Orthogonal);
        let plan = params.plan(shape);
        if kernel == Kernel::Gaussian {
            assert_eq!(plan.unwrap().common.sampling, Sampling::Orthogonal);
        } else {
            let text = plan.unwrap_err().to_string();
            assert!(text.contains("biased") && text.contains(&kernel.to_string()), "{text}");
        }
    }
}

#[test]
fn every_kernel_and_both_samplings_learn() {
    let x = normal_rows(400, 3, 1);
    let y = target(&x, 3, |r| (r[0] as f64).sin());
    let data = regression(&x, 3, &y);
    let choices = Kernel::ALL.iter().map(|&k| (k, Sampling::Iid));
    let mut frequencies = Vec::new();
    for (kernel, sampling) in choices.chain([(Kernel::Gaussian, Sampling::Orthogonal)]) {
        let model = fit(&quick().kernel(kernel).sampling(sampling), &data);
        assert_eq!(model.kernel(), kernel.to_string());
        let summary = model.summary();
        let (loss, baseline) = (summary.validation_loss.unwrap(), summary.baseline_loss.unwrap());
        assert!(loss < 0.5 * baseline, "{kernel} {sampling}: {loss} {baseline}");
        frequencies.push(common::Numbers::of(&model).omega);
    }
    for (i, a) in frequencies.iter().enumerate() {
        assert!(frequencies[..i].iter().all(|b| a != b), "two choices gave the same frequencies");
    }
}

/// Two frequencies only: the kernel factor is a cosine.
struct Tone;

impl Spectrum for Tone {
    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        if rng.next_u64() >> 63 == 0 { 2.0 } else { -2.0 }
    }
    fn kernel(&self, delta: f64) -> f64 {
        (2.0 * delta).cos()
    }
}

#[test]
fn a_spectrum_of_the_callers_is_used_named_custom_and_saved() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(8);
    let (a, b) = ([0.3, 0.1, -0.2], [-0.5, 0.4, 0.0]);
    let got = estimate(&Tone, &THETA, &a, &b, 20_000, &mut rng);
    assert!((got - exact(&Tone, &THETA, &a, &b)).abs() < 0.06);

    let x = normal_rows(300, 2, 2);
    let y = target(&x, 2, |r| (r[0] as f64).cos());
    let data = regression(&x, 2, &y);
    let model = Fit::new(&quick()).spectrum(&Tone).run(&data).unwrap();
    assert_eq!(model.kernel(), "custom");
    assert!(common::Numbers::of(&model).omega.iter().all(|w| w.abs() == 2.0));
    assert!(model.summary().validation_loss < model.summary().baseline_loss);
    let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(again.kernel(), "custom");
    let rows = matrix(&x, 2);
    assert_eq!(bits(&again.predict(rows).unwrap()), bits(&model.predict(rows).unwrap()));
}
