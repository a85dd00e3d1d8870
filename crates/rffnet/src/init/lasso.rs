//! The lasso by coordinate descent on the covariance matrix.

use rayon::prelude::*;

use crate::problem::Problem;

const MAX_SWEEPS: usize = 1000;
const TOLERANCE: f64 = 1e-6;

/// For each output the minimiser of `mean w (y - x.b)^2 / 2 + share * strength_max * |b|_1` over the standardised
/// rows, where `strength_max` is the smallest strength at which b = 0.
pub(crate) fn lasso(
    problem: &Problem<'_>,
    rows: &[usize],
    share: f64,
    target: impl Fn(usize, usize) -> f64 + Sync,
) -> Vec<Vec<f64>> {
    let covariance = Covariance::of(problem, rows, target);
    (0..problem.outputs)
        .map(|c| {
            let cross = &covariance.cross[c];
            let strength = share * cross.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            coordinate_descent(&covariance.gram, cross, strength)
        })
        .collect()
}

/// minimise b'Gb/2 - c'b + strength |b|_1.
fn coordinate_descent(gram: &[f64], cross: &[f64], strength: f64) -> Vec<f64> {
    let d = cross.len();
    let mut b = vec![0.0; d];
    // gradient = c - G b, kept up to date
    let mut gradient = cross.to_vec();
    for _ in 0..MAX_SWEEPS {
        let mut moved: f64 = 0.0;
        for j in 0..d {
            let curvature = gram[j * d + j];
            if curvature <= 0.0 {
                continue;
            }
            let u = gradient[j] + curvature * b[j];
            let new = u.signum() * (u.abs() - strength).max(0.0) / curvature;
            let delta = new - b[j];
            if delta != 0.0 {
                b[j] = new;
                let row = &gram[j * d..(j + 1) * d];
                gradient.iter_mut().zip(row).for_each(|(g, a)| *g -= a * delta);
                moved = moved.max(delta.abs());
            }
        }
        if moved < TOLERANCE {
            break;
        }
    }
    b
}

/// Weighted, centred second moments of the standardised columns and the targets.
struct Covariance {
    gram: Vec<f64>,
    cross: Vec<Vec<f64>>,
}

impl Covariance {
    fn of(problem: &Problem<'_>, rows: &[usize], target: impl Fn(usize, usize) -> f64 + Sync) -> Self {
        const BLOCK: usize = 1024;
        let (x, d, k) = (problem.columns.x, problem.columns.x.columns(), problem.outputs);
        let transforms = problem.columns.transforms.columns();
        // Columns of v: the d inputs, the k targets, and 1; one symmetric product gives every moment.
        let width = d + k + 1;
        let product = |rows: &[usize]| {
            let mut sums = vec![0.0; width * width];
            let mut v = vec![0.0; width];
            x.for_each_row(rows, |at, row| {
                let i = rows[at];
                let cells = row.iter().zip(transforms);
                v.iter_mut().zip(cells).for_each(|(v, (&x, t))| *v = t.apply(x) as f64);
                (0..k).for_each(|c| v[d + c] = target(i, c));
                v[d + k] = 1.0;
                let w = problem.weight(i) as f64;
                for a in 0..width {
                    let (wa, row) = (w * v[a], &mut sums[a * width..a * width + a + 1]);
                    row.iter_mut().zip(&v).for_each(|(s, b)| *s += wa * b);
                }
            });
            sums
        };
        // Groups of blocks run in parallel and are added in order; only a few d x d sums are alive at a time.
        let mut total = vec![0.0; width * width];
        for group in rows.chunks(BLOCK * 8) {
            let parts: Vec<Vec<f64>> = group.par_chunks(BLOCK).map(product).collect();
            for part in &parts {
                total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
            }
        }
        let at = |a: usize, b: usize| total[a.max(b) * width + a.min(b)];
        let mass = at(width - 1, width - 1);
        let covariance =
            |a: usize, b: usize| at(a, b) / mass - at(a, width - 1) * at(b, width - 1) / (mass * mass);
        Self {
            gram: (0..d * d).map(|at| covariance(at / d, at % d)).collect(),
            cross: (0..k).map(|c| (0..d).map(|j| covariance(j, d + c)).collect()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Karush-Kuhn-Tucker conditions hold at the solution.
    #[test]
    fn solution_is_optimal() {
        let gram = [2.0, 0.6, 0.1, 0.6, 1.5, -0.4, 0.1, -0.4, 1.0];
        let cross = [1.0, -0.3, 0.2];
        for strength in [0.0, 0.05, 0.3, 2.0] {
            let b = coordinate_descent(&gram, &cross, strength);
            for j in 0..3 {
                let g = cross[j] - (0..3).map(|l| gram[j * 3 + l] * b[l]).sum::<f64>();
                if b[j] == 0.0 {
                    assert!(g.abs() <= strength + 1e-5);
                } else {
                    assert!((g - strength * b[j].signum()).abs() < 1e-5);
                }
            }
        }
        assert_eq!(coordinate_descent(&gram, &cross, 1.0), vec![0.0; 3]);
    }
}
