//! Penalties: the proximal step is what its definition says, and it makes relevances exactly zero.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{fit, normal_rows, quick, regression, target};
use proptest::prelude::*;
use rffnet::{Penalty, PenaltyKind};

fn prox(penalty: Penalty, w: f32, step: f64) -> f64 {
    let mut w = [w];
    penalty.prox(&mut w, step);
    w[0] as f64
}

/// argmin of value(u) + (u - w)^2 / (2 step) on a grid that is refined around its best point.
fn brute_force(penalty: Penalty, w: f64, step: f64) -> f64 {
    let objective = |u: f64| penalty.l1 * u.abs() + penalty.l2 * u * u + (u - w).powi(2) / (2.0 * step);
    let (mut centre, mut width) = (0.0, w.abs() + 1.0);
    while width > 1e-9 {
        let grid = (-100..=100).map(|i| centre + width * i as f64 / 100.0);
        centre = grid.min_by(|&a, &b| objective(a).total_cmp(&objective(b))).unwrap();
        width /= 20.0;
    }
    // Zero is never quite on a refined grid, yet it is where the kink is.
    if objective(0.0) <= objective(centre) { 0.0 } else { centre }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_proximal_step_minimises_its_definition(
        which in 0..PenaltyKind::ALL.len(),
        alpha in 0.0f64..3.0,
        l1_ratio in 0.0f64..1.0,
        w in -4.0f32..4.0,
        step in 0.01f64..2.0,
    ) {
        let penalty = Penalty::new(PenaltyKind::ALL[which], alpha, l1_ratio);
        let (got, expected) = (prox(penalty, w, step), brute_force(penalty, w as f64, step));
        prop_assert!((got - expected).abs() < 2e-6, "{:?} {} {}: {} {}", penalty, w, step, got, expected);
    }

    #[test]
    fn the_value_is_the_one_minimised(l1 in 0.0f64..3.0, l2 in 0.0f64..3.0, w in prop::array::uniform4(-4.0f32..4.0)) {
        let expected: f64 = w.iter().map(|&w| l1 * (w as f64).abs() + l2 * (w as f64) * (w as f64)).sum();
        let penalty = Penalty { l1, l2 };
        prop_assert!((penalty.value(&w) - expected).abs() < 1e-12);
    }
}

#[test]
fn l2_divides_by_one_plus_two_lambda_eta() {
    for (w, lambda, eta) in [(2.0f32, 0.1, 0.5), (-3.5, 4.0, 0.01), (1e-20, 1.0, 1.0), (1e30, 0.1, 1e-3)] {
        let got = prox(Penalty::new(PenaltyKind::L2, lambda, 0.5), w, eta);
        let expected = w as f64 / (1.0 + 2.0 * lambda * eta);
        assert!((got / expected - 1.0).abs() < 2e-7, "{got} {expected}");
    }
}

#[test]
fn l1_moves_towards_zero_by_lambda_eta_and_stops_there() {
    let l1 = Penalty::new(PenaltyKind::L1, 0.5, 0.0);
    assert_eq!(prox(l1, 2.0, 0.5), 1.75);
    assert_eq!(prox(l1, -2.0, 0.5), -1.75);
    for w in [0.25, -0.25, 0.1, -0.0, 0.0] {
        assert_eq!(prox(l1, w, 0.5), 0.0, "{w}");
    }
}

#[test]
fn the_elastic_net_thresholds_and_then_shrinks() {
    let net = Penalty::new(PenaltyKind::ElasticNet, 2.0, 0.25);
    assert_eq!(net, Penalty { l1: 0.5, l2: 1.5 });
    assert!((prox(net, 1.0, 0.5) - 0.75 / 2.5).abs() < 1e-7);
    assert_eq!(Penalty::new(PenaltyKind::ElasticNet, 2.0, 1.0), Penalty::new(PenaltyKind::L1, 2.0, 0.5));
    assert_eq!(Penalty::new(PenaltyKind::ElasticNet, 2.0, 0.0), Penalty::new(PenaltyKind::L2, 2.0, 0.5));
}

#[test]
fn no_penalty_and_no_step_change_nothing() {
    for w in [0.0f32, -0.7, 1e-40, 3e38] {
        assert_eq!(prox(Penalty::new(PenaltyKind::None, 5.0, 0.5), w, 0.3), w as f64);
        assert_eq!(prox(Penalty { l1: 2.0, l2: 3.0 }, w, 0.0), w as f64);
    }
    assert_eq!(Penalty::new(PenaltyKind::None, 5.0, 0.5).value(&[1.0, 2.0]), 0.0);
}

#[test]
fn l1_on_the_relevances_makes_irrelevant_ones_exactly_zero() {
    let x = normal_rows(600, 6, 3);
    let y = target(&x, 6, |r| (1.5 * r[1] as f64).sin());
    let data = regression(&x, 6, &y);
    let free = fit(&quick().epochs(40), &data).relevances();
    let penalised = fit(&quick().epochs(40).alpha_theta(0.2), &data).relevances();
    assert!(free.iter().all(|&t| t > 0.0), "{free:?}");
    for (j, &relevance) in penalised.iter().enumerate() {
        assert_eq!(relevance == 0.0, j != 1, "{penalised:?}");
    }
}

#[test]
fn each_penalty_shrinks_the_head_and_l1_makes_it_sparse() {
    let x = normal_rows(300, 2, 4);
    let y = target(&x, 2, |r| (r[0] as f64).sin());
    let data = regression(&x, 2, &y);
    let head = |kind: PenaltyKind, alpha: f64| {
        let params = quick().penalty(kind).alpha(alpha);
        common::Numbers::of(&fit(&params, &data)).beta
    };
    let norm = |w: &[f64]| w.iter().map(|w| w * w).sum::<f64>().sqrt();
    let free = norm(&head(PenaltyKind::None, 0.1));
    for kind in [PenaltyKind::L2, PenaltyKind::L1, PenaltyKind::ElasticNet] {
        let beta = head(kind, 0.05);
        assert!(norm(&beta) < 0.9 * free, "{kind}: {} {free}", norm(&beta));
        let zeros = beta.iter().filter(|&&b| b == 0.0).count();
        assert_eq!(zeros > 0, kind != PenaltyKind::L2, "{kind}: {zeros} zeros");
    }
}
