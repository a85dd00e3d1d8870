//! The training columns in other shapes.

use crate::features::Problem;
use crate::transform::{ColumnStatistics, Scale, Shaping};
use crate::{Error, Matrix};

/// Other shapes of the columns that the exact solver may learn from, from the least change to the most.
#[derive(Default)]
pub(crate) struct Shapes(pub(crate) Vec<ShapedColumns>);

/// The columns in another shape, copied: powers are too dear to be taken anew in every pass.
pub(crate) struct ShapedColumns {
    pub(crate) scale: Scale,
    pub(crate) range: Vec<f32>,
    pub(crate) text: String,
    columns: Vec<f32>,
}

impl Shapes {
    pub(crate) fn new(
        statistics: &ColumnStatistics,
        x: Matrix<'_>,
        rows: &[usize],
        weight: impl Fn(usize) -> f32 + Sync,
    ) -> Self {
        let shaped = |shaping| {
            let (scale, range) = statistics.shaped(shaping, x, rows, &weight)?;
            Some(ShapedColumns { columns: scale.applied(x), text: scale.describe(), scale, range })
        };
        Self([Shaping::Bent, Shaping::Evened].into_iter().filter_map(shaped).collect())
    }

    /// The same problem on the shaped columns.
    pub(crate) fn problems<'a>(&'a self, problem: &Problem<'a>) -> Result<Vec<Problem<'a>>, Error> {
        let (rows, columns) = (problem.x.rows(), problem.x.columns());
        let with = |shape: &'a ShapedColumns| {
            let x = Matrix::new(&shape.columns, rows, columns)?;
            Ok(Problem { x, scale: Scale::identity(columns), ..problem.clone() })
        };
        self.0.iter().map(with).collect()
    }
}
