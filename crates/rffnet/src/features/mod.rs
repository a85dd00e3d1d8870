//! The feature map z(theta o x) and the network on top of it: what is learned, without how it is computed.

mod partitions;
mod random;

use std::sync::Arc;

use crate::simd::Frequencies;

pub(crate) use partitions::{CELLS, CUTS, Cut, Partitions};
pub use random::RandomFeatures;
pub(crate) use random::draw;

/// Frequencies and phases, on the columns that have a relevance; the others cost nothing. Cheap to clone.
#[derive(Clone)]
pub(crate) struct FeatureMap {
    columns: usize,
    /// The columns the features look at, ascending.
    pub(crate) support: Arc<[usize]>,
    /// `support x features`, row-major.
    pub(crate) omega: Arc<[f32]>,
    pub(crate) phase: Arc<[f32]>,
    /// The kernels' form of both.
    pub(crate) packed: Arc<Frequencies>,
    /// Beside the cosines, where there are steps.
    pub(crate) partitions: Option<Arc<Partitions>>,
}

impl FeatureMap {
    /// Features of all columns.
    #[cfg(test)]
    pub(crate) fn new(omega: Vec<f32>, phase: Vec<f32>) -> Self {
        let columns = omega.len() / phase.len();
        Self::on(columns, (0..columns).collect(), omega, phase)
    }

    /// Features of the columns in `support`.
    pub(crate) fn on(columns: usize, support: Vec<usize>, omega: Vec<f32>, phase: Vec<f32>) -> Self {
        debug_assert_eq!(omega.len(), support.len() * phase.len());
        let packed = Arc::new(Frequencies::new(&omega, &phase));
        Self {
            columns,
            support: support.into(),
            omega: omega.into(),
            phase: phase.into(),
            packed,
            partitions: None,
        }
    }

    /// The same with these partitions; none if there are none.
    pub(crate) fn with_partitions(self, partitions: Partitions) -> Self {
        let partitions = (partitions.count() > 0).then(|| partitions.into());
        Self { partitions, ..self }
    }

    /// The same columns and phases with other frequencies.
    pub(crate) fn with_omega(&self, omega: Vec<f32>) -> Self {
        Self::on(self.columns, self.support.to_vec(), omega, self.phase.to_vec())
    }

    /// Partitions beside the cosines.
    pub(crate) fn partition_count(&self) -> usize {
        self.partitions.as_ref().map_or(0, |partitions| partitions.count())
    }

    /// Columns of the data.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) fn features(&self) -> usize {
        self.packed.features()
    }

    /// The width that the kernels work on: a row of the head is padded to it with zeros.
    pub(crate) fn padded(&self) -> usize {
        self.packed.padded()
    }

    /// Values of the supported columns, spread over all columns.
    pub(crate) fn spread(&self, values: &[f32]) -> Vec<f32> {
        let mut all = vec![0.0; self.columns];
        self.support.iter().zip(values).for_each(|(&j, &v)| all[j] = v);
        all
    }
}

/// The learned part. The factor of the cosines is folded into `beta`, whose rows (one per output) are padded with
/// zeros to the width the kernels work on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weights {
    /// Relevances of the supported columns.
    pub(crate) theta: Vec<f32>,
    pub(crate) beta: Vec<f32>,
    pub(crate) intercept: Vec<f32>,
    /// Linear terms, `outputs x columns` of the transformed data; empty without.
    pub(crate) linear: Vec<f32>,
    /// Values of the cells of all partitions, `outputs x cells`; empty without.
    pub(crate) cells: Vec<f32>,
}

impl Weights {
    pub(crate) fn zeros(map: &FeatureMap, outputs: usize) -> Self {
        Self {
            theta: vec![0.0; map.support.len()],
            beta: vec![0.0; outputs * map.padded()],
            intercept: vec![0.0; outputs],
            linear: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// No features, and a constant as intercept.
    pub(crate) fn constant(map: &FeatureMap, constant: &[f64]) -> Self {
        let intercept = constant.iter().map(|&c| c as f32).collect();
        Self { intercept, ..Self::zeros(map, constant.len()) }
    }

    fn parts(&self) -> [&Vec<f32>; 5] {
        [&self.theta, &self.beta, &self.intercept, &self.linear, &self.cells]
    }

    fn parts_mut(&mut self) -> [&mut Vec<f32>; 5] {
        [&mut self.theta, &mut self.beta, &mut self.intercept, &mut self.linear, &mut self.cells]
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.parts().iter().all(|part| part.iter().all(|w| w.is_finite()))
    }

    pub(crate) fn clear(&mut self) {
        self.parts_mut().into_iter().for_each(|part| part.fill(0.0));
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (a, b) in self.parts_mut().into_iter().zip(other.parts()) {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        }
    }
}

/// A feature map and the weights on top of it.
#[derive(Clone, Copy)]
pub(crate) struct Network<'a> {
    pub(crate) map: &'a FeatureMap,
    pub(crate) weights: &'a Weights,
}

impl<'a> Network<'a> {
    pub(crate) fn new(map: &'a FeatureMap, weights: &'a Weights) -> Self {
        Self { map, weights }
    }

    pub(crate) fn outputs(&self) -> usize {
        self.weights.intercept.len()
    }
}

/// Frequencies and the relevances that scale them.
#[derive(Clone)]
pub(crate) struct ScaledFeatures {
    pub(crate) map: FeatureMap,
    pub(crate) theta: Vec<f32>,
}

impl ScaledFeatures {
    /// The frequencies of the `a`-th column it looks at.
    pub(crate) fn frequencies(&self, a: usize) -> &[f32] {
        let s = self.map.features();
        &self.map.omega[a * s..(a + 1) * s]
    }

    /// The same on fewer columns.
    pub(crate) fn keep(&self, keep: impl Fn(usize, f32) -> bool) -> Self {
        let kept: Vec<usize> =
            (0..self.theta.len()).filter(|&a| keep(self.map.support[a], self.theta[a])).collect();
        let support = kept.iter().map(|&a| self.map.support[a]).collect();
        let omega = kept.iter().flat_map(|&a| self.frequencies(a)).copied().collect();
        let map = FeatureMap::on(self.map.columns(), support, omega, self.map.phase.to_vec());
        Self { map, theta: kept.iter().map(|&a| self.theta[a]).collect() }
    }

    /// Half the frequencies as they are, the others on length scales from their own to one `finest` times finer, evenly on a
    /// logarithmic scale.
    pub(crate) fn over_scales(self, finest: f32) -> Self {
        if finest == 1.0 {
            return self;
        }
        let s = self.map.features();
        let factor = |i: usize| finest.powf((2.0 * (i % s) as f32 / s as f32 - 1.0).max(0.0));
        let omega = self.map.omega.iter().enumerate().map(|(i, w)| w * factor(i)).collect();
        Self { map: self.map.with_omega(omega), ..self }
    }

    /// theta spread over all columns.
    pub(crate) fn relevances(&self) -> Vec<f32> {
        self.map.spread(&self.theta)
    }
}
