//! Every loss against finite differences, its constant against its neighbours.

use super::cross_entropy::{Logistic, Softmax};
use super::poisson::Poisson;
use super::squared::Squared;
use super::*;

/// Central differences in f64 for every loss, over a grid of targets and outputs.
#[test]
fn gradients_match_finite_differences() {
    let regression = [-2.3, -0.4, 0.0, 0.7, 3.1];
    let cases: Vec<(LossKind, usize, Vec<Vec<f64>>)> = vec![
        (LossKind::Squared, 0, regression.iter().map(|&y| vec![y, 1.0 - y]).collect()),
        (LossKind::Huber { delta: 0.8 }, 0, regression.iter().map(|&y| vec![y, 1.0 - y]).collect()),
        (LossKind::Quantile { tau: 0.3 }, 0, regression.iter().map(|&y| vec![y, 1.0 - y]).collect()),
        (LossKind::Poisson, 0, vec![vec![0.0, 1.0], vec![7.0, 2.0]]),
        (LossKind::CrossEntropy, 2, vec![vec![0.0], vec![1.0]]),
        (LossKind::CrossEntropy, 4, vec![vec![0.0], vec![2.0], vec![3.0]]),
    ];
    for (kind, classes, targets) in cases {
        let loss = kind.build(classes);
        let outputs = match classes {
            0 => 2,
            2 => 1,
            k => k,
        };
        for y in &targets {
            for shift in [-3.13, -0.55, 0.21, 1.94] {
                let f: Vec<f64> = (0..outputs).map(|c| shift + 0.37 * c as f64).collect();
                let mut gradient = vec![0.0; outputs];
                loss.row(y, &f, &mut gradient);
                for c in 0..outputs {
                    let h = 1e-6;
                    let at = |delta: f64| {
                        let mut g = f.clone();
                        g[c] += delta;
                        loss.row(y, &g, &mut vec![0.0; outputs])
                    };
                    let numeric = (at(h) - at(-h)) / (2.0 * h);
                    let error = (numeric - gradient[c]).abs();
                    assert!(error < 1e-7 * (1.0 + numeric.abs()), "{kind} y={y:?} f={f:?}: {error}");
                }
            }
        }
    }
}

/// The stated constant is a minimiser: moving off it never lowers the loss.
#[test]
fn constants_minimise() {
    let y = [0.0f32, 1.0, 1.0, 2.0, 5.0, 0.0];
    let w = [1.0f32, 2.0, 1.0, 0.5, 0.25, 3.0];
    let labels = [0.0f32, 1.0, 1.0, 0.0, 1.0, 0.0];
    for (kind, y) in [
        (LossKind::Squared, &y),
        (LossKind::Huber { delta: 0.7 }, &y),
        (LossKind::Huber { delta: 100.0 }, &y),
        (LossKind::Quantile { tau: 0.7 }, &y),
        (LossKind::Poisson, &y),
        (LossKind::CrossEntropy, &labels),
    ] {
        let loss = kind.build(2);
        let constant = loss.constant(y, &w, 1)[0];
        let total = |f: f64| -> f64 {
            let rows = y.iter().zip(&w);
            rows.map(|(&y, &w)| w as f64 * loss.row(&[y as f64], &[f], &mut [0.0])).sum()
        };
        for delta in [-0.5, -0.01, 0.01, 0.5] {
            assert!(total(constant) <= total(constant + delta) + 1e-12, "{kind} {delta}");
        }
    }
}

#[test]
fn extreme_outputs_stay_defined() {
    let mut g = [0.0];
    assert_eq!(Logistic.row(&[1.0], &[800.0], &mut g), 0.0);
    assert_eq!(Logistic.row(&[0.0], &[800.0], &mut g), 800.0);
    assert!(Poisson.row(&[1.0], &[800.0], &mut g).is_infinite());
    let mut g = [0.0; 3];
    let loss = Softmax { classes: 3 }.row(&[2.0], &[1e30, -1e30, 0.0], &mut g);
    assert_eq!((loss, g), (1e30, [1.0, 0.0, -1.0]));
    assert!(Squared.row(&[0.0], &[f64::INFINITY], &mut g).is_infinite());
}

#[test]
fn names_round_trip_and_bad_ones_are_explained() {
    for text in ["squared", "cross-entropy", "huber:1.5", "quantile:0.9", "poisson"] {
        assert_eq!(text.parse::<LossKind>().map(|l| l.to_string()).ok().as_deref(), Some(text));
    }
    for text in ["huber:-1", "quantile:1", "squared:2", "l3"] {
        assert!(text.parse::<LossKind>().is_err(), "{text}");
    }
}
