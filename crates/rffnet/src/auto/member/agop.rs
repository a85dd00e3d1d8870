//! The AGOP metric of recursive feature machines (Radhakrishnan et al. 2024).
//!
//! Relevances stretch the axes; a function of x1 + x2 needs frequencies that lie along the diagonal. The average gradient
//! outer product M of a fitted network shows such directions: frequencies are drawn from N(0, M), the head is solved, and M
//! is computed again, for a few rounds. (With another kernel than the Gaussian one, the root of M mixes its frequencies.)

use crate::features::{FeatureMap, Network, ScaledFeatures};
use crate::numerics::cholesky::Cholesky;
use crate::solver::monitor::Monitor;
use crate::solver::reduced::HeadSettings;
use crate::solver::varpro::Optimum;
use crate::validation::Split;

use super::MemberFit;
use super::head::{Chosen, choose, walk};

/// Rounds at most, and the share by which each must lower the validation loss.
const ROUNDS: usize = 8;
const ROUND_GAIN: f64 = 0.003;

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

    /// For some of the columns.
    pub(super) fn on(&self, kept: &[usize]) -> Option<Self> {
        let (root, d) = match self {
            Self::Diagonal(theta) => return Some(Self::Diagonal(kept.iter().map(|&a| theta[a]).collect())),
            Self::Full(root, d) => (root, *d),
        };
        let row = |a: usize| &root[a * d..(a + 1) * d];
        let k = kept.len();
        let mut covariance = vec![0.0; k * k];
        for (i, &a) in kept.iter().enumerate() {
            for (j, &b) in kept[..=i].iter().enumerate() {
                covariance[i * k + j] = row(a).iter().zip(row(b)).map(|(a, b)| *a as f64 * *b as f64).sum();
            }
        }
        let size = (0..k).map(|i| covariance[i * k + i]).sum::<f64>().sqrt();
        Self::new(&covariance, k, size as f32)
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

/// The result of the rounds.
pub(super) struct Agop {
    pub(super) optimum: Optimum,
    pub(super) metric: Metric,
    /// The best penalty before the first round, and its loss.
    pub(super) before: (f64, f64),
}

/// The result of one round.
struct Round {
    metric: Metric,
    features: ScaledFeatures,
    found: Chosen,
}

impl MemberFit<'_> {
    /// Whether there are directions to find, and rows to validate them.
    pub(super) fn agop_applies(&self, columns: usize) -> bool {
        (2..=MOST_COLUMNS).contains(&columns) && self.validates()
    }

    /// Rounds of AGOP from `metric` on, while the validation loss improves; and the penalty and the loss they began with.
    pub(super) fn agop_rounds(
        &self,
        drawn: &FeatureMap,
        metric: Metric,
        alpha: f64,
        split: &Split,
        monitor: &mut Monitor<'_>,
    ) -> Agop {
        let problem = self.training.problem;
        let try_out = |metric: Metric, alpha: f64, range| {
            let features = metric.apply(drawn.clone());
            let head = HeadSettings { alpha, linear: self.linear };
            let found = choose(problem, split, &features, head, range);
            Round { metric, features, found }
        };
        let mut at = try_out(metric, alpha, self.range);
        let before = (at.found.alpha, at.found.loss);
        for _ in 0..ROUNDS {
            if monitor.overdue() {
                break;
            }
            let network = Network::new(&at.features.map, &at.found.weights);
            let agop = problem.backend.agop(problem, network, &split.train);
            let Some(metric) = Metric::new(&agop, drawn.support.len(), at.metric.size()) else { break };
            // The size of the smallest validation loss, with the penalty as it is.
            let next = walk(
                try_out(metric, at.found.alpha, self.range),
                |round| round.found.loss,
                |round, direction, taken| {
                    let metric = round.metric.clone().times(direction.factor(STRETCH) as f32);
                    (taken < STRETCHES && !monitor.overdue())
                        .then(|| try_out(metric, round.found.alpha, None))
                },
            );
            if next.found.loss >= at.found.loss * (1.0 - ROUND_GAIN) || !next.found.loss.is_finite() {
                break;
            }
            at = next;
        }
        let optimum = Optimum { features: at.features, alpha: at.found.alpha, loss: at.found.loss };
        Agop { optimum, metric: at.metric, before }
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
    fn fewer_columns_have_the_part_of_the_covariance_that_is_theirs() {
        // LL' for L = [2 0 0; 1 1 0; 3 1 1], rows and columns 0 and 2.
        let metric = Metric::Full(vec![2.0, 0.0, 0.0, 1.0, 1.0, 0.0, 3.0, 1.0, 1.0], 3);
        let Some(Metric::Full(root, 2)) = metric.on(&[0, 2]) else { panic!("full") };
        for (at, expected) in [(0, 2.0), (1, 0.0), (2, 3.0), (3, 2f32.sqrt())] {
            assert!((root[at] - expected).abs() < 1e-4, "{root:?}");
        }
        let Some(Metric::Diagonal(theta)) = Metric::Diagonal(vec![1.0, 2.0, 3.0]).on(&[1]) else {
            panic!("diagonal")
        };
        assert_eq!(theta, [2.0]);
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
