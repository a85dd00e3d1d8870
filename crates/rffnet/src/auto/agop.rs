//! The AGOP metric of recursive feature machines (Radhakrishnan et al. 2024).
//!
//! Relevances stretch the axes; a function of x1 + x2 needs frequencies that lie along the diagonal. The average gradient
//! outer product M of a fitted network shows such directions: frequencies are drawn from N(0, M), the head is solved, and M
//! is computed again, for a few rounds. (With another kernel than the Gaussian one, the root of M mixes its frequencies.)

use super::Fitter;
use super::head::{Solved, walk};
use crate::features::{FeatureMap, ScaledFeatures};
use crate::numerics::cholesky::Cholesky;
use crate::solver::monitor::Monitor;
use crate::solver::varpro::Optimum;

/// With more columns there is no AGOP metric: the outer products would cost more than the Gram matrix.
const MOST_COLUMNS: usize = 300;

/// Added to the diagonal of M, whose mean is scaled to one, before its Cholesky factor is taken.
const JITTER: f64 = 1e-9;

/// The factor between the sizes of the metric that are tried, and how often it is applied.
const STRETCH: f64 = 2.0;
const STRETCHES: usize = 3;

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
        let full = Self::Full(Cholesky::new(&even, columns, columns, |_| JITTER).rows(), columns);
        let factor = size / full.size();
        factor.is_finite().then(|| full.times(factor))
    }

    /// The root of the covariance's trace.
    fn size(&self) -> f32 {
        let (Self::Diagonal(root) | Self::Full(root, _)) = self;
        root.iter().map(|r| r * r).sum::<f32>().sqrt()
    }

    fn times(mut self, factor: f32) -> Self {
        let (Self::Diagonal(root) | Self::Full(root, _)) = &mut self;
        root.iter_mut().for_each(|r| *r *= factor);
        self
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
        let (mut omega, mut theta) = (vec![0.0; d * s], vec![0.0; d]);
        for (a, (row, into)) in root.chunks_exact(d).zip(omega.chunks_exact_mut(s)).enumerate() {
            theta[a] = row.iter().map(|r| r * r).sum::<f32>().sqrt();
            if theta[a] > 0.0 {
                for (r, drawn) in row[..=a].iter().zip(drawn.omega.chunks_exact(s)) {
                    let share = r / theta[a];
                    into.iter_mut().zip(drawn).for_each(|(o, w)| *o += share * w);
                }
            }
        }
        ScaledFeatures { map: drawn.with_omega(omega), theta }
    }
}

impl Fitter<'_> {
    /// Rounds of AGOP from the relevances on, while the validation loss falls; `None` if there are no directions to find or
    /// the first round does not lower it.
    pub(super) fn agop(
        &self,
        from: &Optimum,
        drawn: &FeatureMap,
        monitor: &mut Monitor<'_>,
    ) -> Option<(Metric, Solved)> {
        let (problem, columns) = (self.training.problem, drawn.support.len());
        if !(2..=MOST_COLUMNS).contains(&columns) || !self.validates() {
            return None;
        }
        let mut try_out = |metric: Metric, alpha: f64, range| {
            let solved = self.solve(metric.apply(drawn.clone()), alpha, range, monitor);
            (!monitor.overdue()).then_some((metric, solved))
        };
        let relevances = Metric::Diagonal(from.features.theta.clone());
        let mut at = try_out(relevances, from.alpha, self.range)?;
        for _ in 0..self.sizes.constants.agop_rounds as usize {
            let agop = problem.backend.agop(problem, at.1.network(), &self.split.train);
            let metric = Metric::new(&agop, columns, at.0.size());
            let Some(next) = metric.and_then(|metric| try_out(metric, at.1.alpha, self.range)) else { break };
            // The size of the smallest validation loss, with the penalty as it is.
            let next = walk(
                next,
                |(_, solved)| solved.loss,
                |(metric, solved), direction, taken| {
                    let metric = metric.clone().times(direction.factor(STRETCH) as f32);
                    (taken < STRETCHES).then(|| try_out(metric, solved.alpha, None)).flatten()
                },
            );
            if next.1.loss >= at.1.loss || !next.1.loss.is_finite() {
                break;
            }
            at = next;
        }
        at.0.is_full().then_some(at)
    }
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
