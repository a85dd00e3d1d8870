//! The members of an ensemble; a single model has one.

use crate::backend::Backend;
use crate::features::{CELLS, CUTS, Cut, FeatureMap, Network, Partitions, Weights};
use crate::problem::Columns;

/// Rows that importances are computed from, at most, where there are partitions: their changes take time.
const STEP_ROWS: usize = 2_000;

/// One member's numbers as the model file has them: `d` columns, `s` random features, `k` outputs, arrays row-major.
///
/// `f(x)_c = intercept_c + sum_i beta_ic scale cos( sum_j omega_ji theta_j t_j(x_j) + phase_i ) + sum_j linear_jc t_j(x_j)`,
/// with the transforms t of [`Model::transforms`](crate::Model::transforms) and the metadata's `feature_scale`, and where there
/// are partitions `+ sum_p cells_p,c(x),c`, the values of the cells that the row lies in.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MemberTensors {
    /// Relevances, signed, `d`; zero for columns the member does not look at.
    pub theta: Vec<f32>,
    /// Frequencies, `d x s`.
    pub omega: Vec<f32>,
    /// Phases, `s`.
    pub phase: Vec<f32>,
    /// The head without the cosines' factor, `s x k`.
    pub beta: Vec<f32>,
    /// `k`.
    pub intercept: Vec<f32>,
    /// Linear terms, `d x k`; empty without.
    pub linear: Vec<f32>,
    /// The columns of the partitions' cuts, `p x 6`; empty without partitions, like the next two.
    pub cut_columns: Vec<f32>,
    /// Where these are cut, in units of the transformed columns, `p x 6`. A row is above a cut if it is at least there, and its
    /// cell has the number in which the bits of these cuts, the first one the lowest, are set.
    pub cut_places: Vec<f32>,
    /// Values of the cells, `p x 64 x k`.
    pub cells: Vec<f32>,
}

impl MemberTensors {
    /// The columns that the cosines look at, ascending; the first one if there is none, since the kernels need one.
    pub fn support(&self) -> Vec<usize> {
        let support: Vec<usize> = (0..self.theta.len()).filter(|&j| self.theta[j] != 0.0).collect();
        if support.is_empty() { vec![0] } else { support }
    }

    /// The frequencies of a column.
    pub fn frequencies(&self, column: usize) -> &[f32] {
        let s = self.phase.len();
        &self.omega[column * s..(column + 1) * s]
    }
}

/// A member as the file has it, and the kernels' form that is made from it: so a model and its reloaded copy agree bit for
/// bit.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) map: FeatureMap,
    pub(crate) weights: Weights,
    pub(crate) stored: MemberTensors,
}

impl Member {
    pub(crate) fn new(stored: MemberTensors, scale: f64) -> Self {
        let (d, k) = (stored.theta.len(), stored.intercept.len());
        let support = stored.support();
        let omega = support.iter().flat_map(|&j| stored.frequencies(j)).copied().collect();
        let theta = support.iter().map(|&j| stored.theta[j]).collect();
        // Partitions whose cells are all zero fill up the file of a member that has none.
        let cells = if stored.cells.iter().all(|value| *value == 0.0) { &[][..] } else { &stored.cells[..] };
        let cuts = cells.len() / (CELLS * k) * CUTS;
        let places = stored.cut_columns[..cuts].iter().zip(&stored.cut_places);
        let cuts = places.map(|(&column, &at)| Cut { column: column as usize, at });
        let map = FeatureMap::on(d, support, omega, stored.phase.clone())
            .with_partitions(Partitions::new(cuts.collect()));
        let mut weights = Weights { theta, intercept: stored.intercept.clone(), ..Weights::zeros(&map, k) };
        for (i, &b) in stored.beta.iter().enumerate() {
            weights.beta[(i % k) * map.padded() + i / k] = (b as f64 * scale) as f32;
        }
        weights.linear = transposed(&stored.linear, k);
        weights.cells = transposed(cells, k);
        Self { map, weights, stored }
    }

    /// From trained weights; with so many partitions, empty ones where it has none.
    pub(crate) fn from_weights(map: &FeatureMap, weights: &Weights, scale: f64, partitions: usize) -> Self {
        let (d, s, k, padded) = (map.columns(), map.features(), weights.intercept.len(), map.padded());
        let mut omega = vec![0.0; d * s];
        for (a, &j) in map.support.iter().enumerate() {
            omega[j * s..(j + 1) * s].copy_from_slice(&map.omega[a * s..(a + 1) * s]);
        }
        let beta =
            (0..s * k).map(|i| (weights.beta[(i % k) * padded + i / k] as f64 / scale) as f32).collect();
        let mut cuts = map.partitions.as_ref().map_or(Vec::new(), |partitions| partitions.cuts().to_vec());
        cuts.resize(partitions * CUTS, Cut::NONE);
        let mut cells = transposed(&weights.cells, weights.cells.len() / k);
        cells.resize(partitions * CELLS * k, 0.0);
        let stored = MemberTensors {
            theta: map.spread(&weights.theta),
            omega,
            phase: map.phase.to_vec(),
            beta,
            intercept: weights.intercept.clone(),
            linear: transposed(&weights.linear, d),
            cut_columns: cuts.iter().map(|cut| cut.column as f32).collect(),
            cut_places: cuts.iter().map(|cut| cut.at).collect(),
            cells,
        };
        Self::new(stored, scale)
    }

    pub(crate) fn network(&self) -> Network<'_> {
        Network::new(&self.map, &self.weights)
    }

    /// The importance of each column to the average of the members: the root mean square, over rows, of its derivative.
    pub(crate) fn importances(
        backend: &dyn Backend,
        columns: Columns<'_>,
        members: &[Self],
        rows: &[usize],
        weight: &(dyn Fn(usize) -> f32 + Sync),
    ) -> impl Iterator<Item = f64> + use<> {
        let networks: Vec<Network<'_>> = members.iter().map(Self::network).collect();
        let steps = members.iter().any(|member| member.map.partitions.is_some());
        let every = if steps { rows.len().div_ceil(STEP_ROWS).max(1) } else { 1 };
        let seen: Vec<usize> = rows.iter().copied().step_by(every).collect();
        backend.squared_slopes(columns, &networks, &seen, weight).into_iter().map(f64::sqrt)
    }
}

/// A row-major matrix with `rows` columns from one with `rows` rows, and back.
fn transposed(values: &[f32], columns: usize) -> Vec<f32> {
    if values.is_empty() {
        return Vec::new();
    }
    let rows = values.len() / columns;
    (0..values.len()).map(|i| values[(i % rows) * columns + i / rows]).collect()
}
