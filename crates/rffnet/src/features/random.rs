//! Random Fourier features alone, without a model.

use rayon::prelude::*;

use super::FeatureMap;
use crate::numerics::random::{Stream, Use, stream, uniform};
use crate::problem::Columns;
use crate::simd::CHUNK;
use crate::spectrum::{Kernel, Sampling, Spectrum, sample_iid, sample_orthogonal};
use crate::transform::{ColumnTransform, Transforms};
use crate::{Error, Matrix, backend};

/// Frequencies and phases for the columns of `support`.
pub(crate) fn draw(
    spectrum: &dyn Spectrum,
    sampling: Sampling,
    columns: usize,
    support: Vec<usize>,
    features: usize,
    rng: &mut Stream,
) -> FeatureMap {
    let omega = match sampling {
        Sampling::Iid => sample_iid(spectrum, support.len(), features, rng),
        Sampling::Orthogonal => sample_orthogonal(support.len(), features, rng),
    };
    let phase = (0..features).map(|_| (uniform(rng) * std::f64::consts::TAU) as f32).collect();
    FeatureMap::on(columns, support, omega, phase)
}

/// Random Fourier features `sqrt(2/s) cos(omega . (theta o t(x)) + phase)` of a kernel, with the column transforms t and
/// the relevances theta.
///
/// ```
/// use rffnet::{Kernel, Matrix, RandomFeatures, Sampling};
///
/// let x = [0.0, 0.0, 0.6, -0.8];
/// let features = RandomFeatures::draw(Kernel::Gaussian, Sampling::Iid, 2, 4000, 7)?;
/// let z = features.transform(Matrix::new(&x, 2, 2)?)?;
/// let product: f32 = z[..4000].iter().zip(&z[4000..]).map(|(a, b)| a * b).sum();
/// assert!((product - (-0.5f32).exp()).abs() < 0.05);
/// # Ok::<(), rffnet::Error>(())
/// ```
#[derive(Clone)]
pub struct RandomFeatures {
    map: FeatureMap,
    theta: Vec<f32>,
    transforms: Transforms,
}

impl RandomFeatures {
    /// Draws frequencies and phases as a fit with the same seed does; relevances are 1, columns as they are.
    pub fn draw(
        kernel: Kernel,
        sampling: Sampling,
        columns: usize,
        features: usize,
        seed: u64,
    ) -> Result<Self, Error> {
        if columns == 0 {
            return Err(Error::Shape("there is no column to learn from".into()));
        }
        // A fit refuses the same.
        let params = crate::Params::new().kernel(kernel).sampling(sampling).random_features(features);
        params.check(columns, false, None)?;
        let mut rng = stream(seed, Use::Frequencies);
        let map = draw(&kernel, sampling, columns, (0..columns).collect(), features, &mut rng);
        Ok(Self { map, theta: vec![1.0; columns], transforms: Transforms::identity(columns) })
    }

    /// From frequencies (`columns x features`), phases and relevances.
    pub fn new(omega: Vec<f32>, phase: Vec<f32>, theta: Vec<f32>) -> Result<Self, Error> {
        let (d, s) = (theta.len(), phase.len());
        if d == 0 || s == 0 || omega.len() != d * s {
            return Err(Error::Shape(format!("the arrays do not fit {d} columns and {s} features")));
        }
        let map = FeatureMap::on(d, (0..d).collect(), omega, phase);
        Ok(Self { map, theta, transforms: Transforms::identity(d) })
    }

    /// With transforms of the columns, one each.
    pub fn transforms(mut self, transforms: Vec<ColumnTransform>) -> Result<Self, Error> {
        let d = self.theta.len();
        if transforms.len() != d {
            return Err(Error::Shape(format!("there are {} transforms for {d} columns", transforms.len())));
        }
        if transforms.iter().any(|t| !t.is_sound()) {
            return Err(Error::Shape(
                "a column's transform has an impossible power, range or strength".into(),
            ));
        }
        self.transforms = Transforms::new(transforms);
        Ok(self)
    }

    /// Frequencies, `columns x features`.
    pub fn omega(&self) -> &[f32] {
        &self.map.omega
    }

    /// Phases.
    pub fn phase(&self) -> &[f32] {
        &self.map.phase
    }

    /// The features of each row, `rows x features`, on the threads of the current rayon pool.
    pub fn transform(&self, x: Matrix<'_>) -> Result<Vec<f32>, Error> {
        let (d, s) = (self.theta.len(), self.map.features());
        if x.columns() != d {
            return Err(Error::Shape(format!(
                "there are features of {d} columns but the data have {}",
                x.columns()
            )));
        }
        let columns = Columns { x, transforms: &self.transforms };
        let factor = (2.0 / s as f64).sqrt() as f32;
        let mut z = vec![0.0; x.rows() * s];
        z.par_chunks_mut(CHUNK * s).enumerate().for_each(|(chunk, z)| {
            let rows: Vec<usize> = (chunk * CHUNK..chunk * CHUNK + z.len() / s).collect();
            backend::cpu().features(columns, &self.map, &self.theta, &rows, |row, cosines| {
                z[row * s..(row + 1) * s].iter_mut().zip(cosines).for_each(|(z, c)| *z = factor * c);
            });
        });
        Ok(z)
    }
}
