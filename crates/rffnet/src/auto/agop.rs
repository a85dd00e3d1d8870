//! The AGOP metric of recursive feature machines (Radhakrishnan et al. 2024).
//!
//! Relevances stretch the axes; a function of x1 + x2 needs frequencies that lie along the diagonal. The average gradient
//! outer product M of a fitted network shows such directions: frequencies are drawn from N(0, M), the head is solved, and M
//! is computed again, for a few rounds. (With another kernel than the Gaussian one, the root of M mixes its frequencies.)

use super::Fitter;
use crate::features::{FeatureMap, ScaledFeatures};
use crate::numerics::cholesky::Cholesky;
use crate::solver::monitor::Monitor;

/// Added to the diagonal of M, whose mean is scaled to one, before its Cholesky factor is taken.
const JITTER: f64 = 1e-9;

/// The metric M, the covariance of the frequencies, held as a square root of it.
#[derive(Clone)]
pub(crate) enum Metric {
    /// The relevances.
    Diagonal(Vec<f32>),
    /// A lower triangle, row-major, and its number of columns.
    Full(Vec<f32>, usize),
}

impl Metric {
    /// With the covariance given as a lower triangle, row-major, and a size of its own.
    fn new(covariance: &[f64], columns: usize, size: f32) -> Option<Self> {
        let average = (0..columns).map(|a| covariance[a * columns + a]).sum::<f64>() / columns as f64;
        let even: Vec<f64> = covariance.iter().map(|c| c / average).collect();
        let root = Cholesky::new(&even, columns, columns, |_| JITTER).rows();
        let factor = size / length(&root);
        let root = root.into_iter().map(|r| r * factor).collect();
        factor.is_finite().then_some(Self::Full(root, columns))
    }

    /// The root of the covariance's trace.
    fn size(&self) -> f32 {
        let (Self::Diagonal(root) | Self::Full(root, _)) = self;
        length(root)
    }

    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::Full(..))
    }

    /// Gives this covariance to frequencies that were drawn independently. The relevances hold their standard deviations.
    pub(super) fn apply(&self, drawn: FeatureMap) -> ScaledFeatures {
        let (root, d) = match self {
            Self::Diagonal(theta) => return ScaledFeatures { map: drawn, theta: theta.clone() },
            Self::Full(root, d) => (root, *d),
        };
        let s = drawn.features();
        let theta: Vec<f32> = root.chunks_exact(d).map(length).collect();
        let mut omega = vec![0.0; d * s];
        for ((a, row), into) in root.chunks_exact(d).enumerate().zip(omega.chunks_exact_mut(s)) {
            for (r, drawn) in row[..=a].iter().zip(drawn.omega.chunks_exact(s)).filter(|_| theta[a] > 0.0) {
                into.iter_mut().zip(drawn).for_each(|(o, w)| *o += r / theta[a] * w);
            }
        }
        ScaledFeatures { map: drawn.with_omega(omega), theta }
    }
}

impl Fitter<'_> {
    /// The relevances as a metric and, for as long as it is better, the AGOP of the fit before; with the penalty that suits
    /// it, and the mean squared slopes of that fit along the columns. More columns than features would make outer products cost
    /// more than the Gram matrix.
    pub(super) fn metric(
        &self,
        found: &ScaledFeatures,
        monitor: &mut Monitor<'_>,
    ) -> (Metric, f64, Vec<f64>) {
        monitor.stage("AGOP metric", 0.0);
        let (problem, map) = (self.training.problem, &found.map);
        let columns = map.support.len();
        let drawn = self.draw(map.features(), &map.support, 0);
        let solve = |metric: &Metric, alpha, monitor: &mut Monitor<'_>| {
            let solved = self.solve(metric.apply(drawn.clone()), Some(alpha), monitor);
            (solved.losses(), solved)
        };
        let mut metric = Metric::Diagonal(found.theta.clone());
        let (mut losses, mut solved) = solve(&metric, self.alpha(), monitor);
        for _ in 0..self.sizes.constants.agop_rounds as usize {
            if monitor.stopped() || !(2..=map.features()).contains(&columns) || self.sizes.learned == 0 {
                break;
            }
            let agop = problem.backend.agop(problem, solved.network(), &self.split.train);
            let Some(next) = Metric::new(&agop, columns, metric.size()) else { break };
            let candidate = solve(&next, solved.alpha, monitor);
            if !self.better(&candidate.0, &losses) {
                break;
            }
            metric = next;
            (losses, solved) = candidate;
        }
        (metric, solved.alpha, self.squared_slopes(solved.network()))
    }
}

/// Of a vector.
pub(super) fn length(values: &[f32]) -> f32 {
    values.iter().map(|v| v * v).sum::<f32>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three frequencies of two columns.
    fn drawn() -> FeatureMap {
        FeatureMap::new(vec![1.0, 2.0, -3.0, 0.5, -1.0, 4.0], vec![0.1, 0.2, 0.3])
    }

    #[test]
    fn frequencies_are_the_root_times_what_was_drawn() {
        let metric = Metric::new(&[4.0, 0.0, 2.0, 2.0], 2, 3.0).expect("positive");
        assert!(metric.is_full() && (metric.size() - 3.0).abs() < 1e-5);
        // [4 2; 2 2] = LL' with L = [2 0; 1 1], of size sqrt(6).
        let root: Vec<f32> = [2.0, 0.0, 1.0, 1.0].iter().map(|r| r * 3.0 / 6f32.sqrt()).collect();
        let ScaledFeatures { map, theta } = metric.apply(drawn());
        for i in 0..3 {
            let (a, b) = (drawn().omega[i], drawn().omega[3 + i]);
            let expected = [root[0] * a, root[2] * a + root[3] * b];
            for (column, expected) in expected.into_iter().enumerate() {
                let got = theta[column] * map.omega[3 * column + i];
                assert!((got - expected).abs() < 1e-5, "{column} {i}: {got} {expected}");
            }
        }
        assert_eq!(map.phase, drawn().phase);
    }

    #[test]
    fn a_diagonal_metric_mixes_nothing() {
        let features = Metric::Diagonal(vec![0.5, 0.0]).apply(drawn());
        assert_eq!((features.map.omega, features.theta), (drawn().omega, vec![0.5, 0.0]));
    }

    #[test]
    fn a_network_without_slopes_gives_no_direction() {
        assert!(Metric::new(&[0.0; 4], 2, 1.0).is_none());
        assert!(Metric::new(&[f64::NAN, 0.0, 0.0, 1.0], 2, 1.0).is_none());
        // One direction only: the others stay all but empty.
        let Some(Metric::Full(root, 2)) = Metric::new(&[1.0, 0.0, 1.0, 1.0], 2, 1.0) else {
            panic!("one direction")
        };
        assert!(root[3].abs() < 1e-3 && (root[0] - root[2]).abs() < 1e-6, "{root:?}");
    }
}
