//! Rows to learn from, as solvers see them.

use std::sync::Arc;

use crate::Matrix;
use crate::backend::Backend;
use crate::features::Network;
use crate::loss::{Loss, LossRows};
use crate::transform::Transforms;

/// Columns as a network sees them: rows, and the transforms that are applied when they are read.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a> {
    pub(crate) x: Matrix<'a>,
    pub(crate) transforms: &'a Transforms,
}

/// The objective without its penalty: rows, targets as they are trained on, weights of mean one, and the loss.
#[derive(Clone)]
pub(crate) struct Problem<'a> {
    pub(crate) columns: Columns<'a>,
    /// `rows x width`; one class index per row, or the regression outputs.
    pub(crate) y: Arc<[f32]>,
    pub(crate) width: usize,
    pub(crate) weight: Option<Arc<[f32]>>,
    pub(crate) outputs: usize,
    /// Columns with the same number, which stand side by side, have one relevance; none where each has its own.
    pub(crate) ties: Option<Arc<[u32]>>,
    pub(crate) loss: &'a dyn Loss,
    /// What a loss is multiplied with to be in units of the target.
    pub(crate) unit: f64,
    pub(crate) backend: &'a dyn Backend,
}

#[cfg(test)]
impl<'a> Problem<'a> {
    /// Made-up rows, on the CPU.
    pub(crate) fn for_tests(
        columns: Columns<'a>,
        y: &[f32],
        weight: Option<&[f32]>,
        outputs: usize,
        loss: &'a dyn Loss,
    ) -> Self {
        let backend = crate::backend::cpu();
        let width = y.len() / columns.x.rows();
        let weight = weight.map(Into::into);
        Self { columns, y: y.into(), width, weight, outputs, ties: None, loss, unit: 1.0, backend }
    }
}

impl Problem<'_> {
    pub(crate) fn target(&self, i: usize) -> &[f32] {
        &self.y[i * self.width..(i + 1) * self.width]
    }

    pub(crate) fn weight(&self, i: usize) -> f32 {
        self.weight.as_ref().map_or(1.0, |w| w[i])
    }

    /// Completes a row of a design for products of its columns: the targets behind the first `columns` numbers, where there
    /// is room for them, and all times the root of the row's weight, and of its curvature.
    pub(crate) fn complete(&self, row: &mut [f32], columns: usize, i: usize, curvature: Option<&[f32]>) {
        if row.len() > columns {
            row[columns..].copy_from_slice(self.target(i));
        }
        let root = (self.weight(i) * curvature.map_or(1.0, |h| h[i])).sqrt();
        if root != 1.0 {
            row.iter_mut().for_each(|z| *z *= root);
        }
    }

    /// Gives tied columns of `support` one value, that which `combine` makes of theirs.
    pub(crate) fn tie<T: Copy>(&self, support: &[usize], values: &mut [T], combine: impl Fn(&[T]) -> T) {
        let Some(ties) = &self.ties else { return };
        let mut rest = values;
        for tied in support.chunk_by(|&a, &b| ties[a] == ties[b]) {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(tied.len());
            if own.len() > 1 {
                own.fill(combine(own));
            }
            rest = others;
        }
    }

    /// The targets of the given rows, one after the other.
    pub(crate) fn targets(&self, rows: &[usize]) -> Vec<f32> {
        rows.iter().flat_map(|&i| self.target(i)).copied().collect()
    }

    /// The weights of the given rows.
    pub(crate) fn weights(&self, rows: &[usize]) -> Vec<f32> {
        rows.iter().map(|&i| self.weight(i)).collect()
    }

    /// The best constant output for the given rows: what a fit has to beat.
    pub(crate) fn constant(&self, rows: &[usize]) -> Vec<f64> {
        self.loss.constant(&self.targets(rows), &self.weights(rows), self.outputs)
    }

    /// Weighted mean loss over the rows.
    pub(crate) fn mean_loss(&self, network: Network<'_>, rows: &[usize]) -> f64 {
        self.backend.mean_loss(self, network, rows)
    }

    /// The weighted loss of each row.
    pub(crate) fn row_losses(&self, network: Network<'_>, rows: &[usize]) -> Vec<f64> {
        let f = self.backend.outputs(self.columns, network, rows);
        let mut gradient = vec![0.0; self.outputs];
        let losses = rows.iter().zip(f.chunks_exact(self.outputs));
        losses
            .map(|(&i, f)| {
                let mut loss = 0.0;
                let row = LossRows {
                    y: self.target(i),
                    f,
                    weight: &[self.weight(i)],
                    factor: 1.0,
                    outputs: self.outputs,
                    gradient: &mut gradient,
                };
                self.loss.block(row, &mut loss);
                loss
            })
            .collect()
    }
}

/// One relevance for tied columns that have different ones.
pub(crate) fn root_mean_square(values: &[f32]) -> f32 {
    (values.iter().map(|&v| (v as f64).powi(2)).sum::<f64>() / values.len() as f64).sqrt() as f32
}
