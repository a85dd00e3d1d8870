//! Mini-batches of descent: one gradient step and one proximal step each.

use super::gradient::gradient;
use crate::features::Network;
use crate::simd::{self, Path, Prox};
use crate::solver::descent::{DescentState, Moving};

pub(super) fn epoch(path: Path, state: &mut DescentState<'_>, order: &[usize]) -> f64 {
    let (mut sum, mut batches) = (0.0, 0);
    for rows in order.chunks(state.batch) {
        if state.settings.drop_last && rows.len() < state.batch {
            break;
        }
        sum += batch(path, state, rows);
        batches += 1;
        if !f64::is_finite(sum) {
            break;
        }
    }
    sum / batches as f64
}

fn batch(path: Path, state: &mut DescentState<'_>, rows: &[usize]) -> f64 {
    let lr = state.next_rate();
    let (problem, map) = (state.problem, state.map);
    let w = &mut state.weights;
    let loss = gradient(path, problem, Network::new(map, w), rows, &mut state.buffers);
    let g = &state.buffers.total().weights;
    step(path, &mut state.beta, &mut w.beta, &g.beta, lr);
    step(path, &mut state.linear, &mut w.linear, &g.linear, lr);
    if state.intercept_moves {
        step(path, &mut state.intercept, &mut w.intercept, &g.intercept, lr);
    }
    if state.settings.alternates() {
        gradient(path, problem, Network::new(map, w), rows, &mut state.buffers);
    }
    let g = &mut state.buffers.total_mut().weights;
    problem.tie(&map.support, &mut g.theta, |g| g.iter().sum::<f32>() / g.len() as f32);
    step(path, &mut state.theta, &mut w.theta, &g.theta, lr);
    loss
}

/// One gradient step, then the penalty's proximal step with the same rate.
fn step(path: Path, block: &mut Moving, w: &mut [f32], g: &[f32], lr: f64) {
    let (l1, shrink) = block.penalty.prox_factors(lr);
    let prox = Prox { l1, shrink };
    if block.adam {
        block.steps += 1;
        let bias = |beta: f64| (1.0 - beta.powi(block.steps)) as f32;
        let (bias1, bias2) = (bias(0.9), bias(0.999));
        simd::adam(path, w, g, &mut block.first, &mut block.second, lr as f32, bias1, bias2, prox);
    } else {
        simd::sgd(path, w, g, lr as f32, prox);
    }
}
