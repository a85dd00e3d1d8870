//! The steps of a fit, in order.

use crate::auto;
use crate::backend::{self, Backend};
use crate::duplicates::merged;
use crate::encode::Encoded;
use crate::loss::Loss;
use crate::model::file::FORMAT;
use crate::model::{Member, Metadata, Model, Task};
use crate::params::{ClassWeight, Method, Missing, Params, Preset, check_link};
use crate::prepare::{PreparedTarget, row_weights, target_limits};
use crate::problem::{Columns, Problem};
use crate::solver::{Observer, Silent};
use crate::spectrum::{Sampling, Spectrum};
use crate::suspicions::suspicions;
use crate::training::Training;
use crate::transform::statistics::ColumnStatistics;
use crate::{Data, Error, Target};

/// A fit about to be made: parameters, and whatever is to be watched or replaced.
///
/// ```
/// use rffnet::{Data, Fit, Matrix, Params, Target};
///
/// // y = x1^2; x2 is noise
/// let x: Vec<f32> = (0..400).flat_map(|i| [(i % 20) as f32 / 10.0 - 1.0, (i * 7 % 13) as f32]).collect();
/// let y: Vec<f64> = x.chunks(2).map(|r| (r[0] * r[0]) as f64).collect();
/// let data = Data::new(Matrix::new(&x, 400, 2)?, Target::Values { values: &y, outputs: 1 });
///
/// let model = Fit::new(&Params::default()).run(&data)?;
/// let importance = model.importances();
/// assert!(importance[0] > 10.0 * importance[1]);
/// let prediction = model.predict(Matrix::new(&[0.5, 3.0], 1, 2)?)?;
/// assert!((prediction[0] - 0.25).abs() < 0.05);
/// # Ok::<(), rffnet::Error>(())
/// ```
pub struct Fit<'a> {
    params: &'a Params,
    observer: Option<&'a mut dyn Observer>,
    spectrum: Option<&'a dyn Spectrum>,
    loss: Option<&'a dyn Loss>,
    backend: &'a dyn Backend,
}

impl<'a> Fit<'a> {
    /// A fit with these parameters.
    pub fn new(params: &'a Params) -> Self {
        Self { params, observer: None, spectrum: None, loss: None, backend: backend::cpu() }
    }

    /// Tells `observer` after every epoch.
    pub fn observer(mut self, observer: &'a mut dyn Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Draws frequencies from a spectrum of your own instead of a built-in kernel's.
    pub fn spectrum(mut self, spectrum: &'a dyn Spectrum) -> Self {
        self.spectrum = Some(spectrum);
        self
    }

    /// Trains with a loss of your own, by descent.
    pub fn loss(mut self, loss: &'a dyn Loss) -> Self {
        self.loss = Some(loss);
        self
    }

    /// Computes elsewhere than on the CPU.
    #[cfg(test)]
    pub(crate) fn backend(mut self, backend: &'a dyn Backend) -> Self {
        self.backend = backend;
        self
    }

    /// Fits, on the threads of the current rayon pool. The result does not depend on their number.
    pub fn run(self, data: &Data<'_>) -> Result<Model, Error> {
        let classes = data.classes().len();
        let classification = matches!(data.y, Target::Labels { .. });

        // What can be said without looking at the rows comes first, so that a wrong parameter is never hidden.
        let checked = self.params.check(data.x.columns(), classification, self.loss)?;
        data.check(checked.missing() != Missing::Error)?;
        let given = data.rows_that_count()?;
        let suspicions = suspicions(data, &given);

        // Few rows: copies of a row are one row. Levels are counted by rows, so a table of categories stays as it is.
        let merges = self.params.preset == Preset::Auto && !data.has_categories();
        let merged = if merges { merged(data) } else { None };
        let data = &merged.as_ref().map_or(Ok(*data), |merged| merged.data(data))?;
        let rows = data.rows_that_count()?;
        let plan = checked.for_rows(rows.len());
        let common = &plan.common;
        data.validation.check(&rows, common.validation_fraction)?;
        self.check_combination(common.sampling, common.class_weight, classes)?;

        // The objective: target, weights, columns, loss.
        let built_in = common.loss.build(classes);
        let loss = self.loss.unwrap_or(built_in.as_ref());
        let target = PreparedTarget::new(data, common, loss, &rows)?;
        let weight = row_weights(data, common.class_weight, &rows);
        let weight_of = |i: usize| weight.as_ref().map_or(1.0, |w| w[i]);
        let held_last = data.validation.last(rows.len(), common.validation_fraction);
        let encoded = Encoded::fit(data, &rows, held_last, common.missing, common.seed);
        let (encoder, x) = (&encoded.encoder, encoded.matrix(data.x)?);
        let statistics = ColumnStatistics::new(x, &rows, weight_of).without_scaling(&encoder.indicators());
        let widest =
            encoder.per_column(&statistics.range, |ranges| ranges.iter().copied().fold(0.0, f32::max));
        let mut warnings: Vec<String> = data.constant_column_warning(&widest).into_iter().collect();
        warnings.extend(suspicions);
        let problem = Problem {
            columns: Columns { x, transforms: &statistics.transforms },
            ties: encoder.ties().map(Into::into),
            width: target.y.len() / data.x.rows(),
            y: target.y.into(),
            weight: weight.clone().map(Into::into),
            outputs: target.outputs,
            loss,
            unit: target.unit,
            backend: self.backend,
        };

        // Training.
        let spectrum = self.spectrum.unwrap_or(&common.kernel);
        let mut silent = Silent;
        let observer = self.observer.unwrap_or(&mut silent);
        let training = Training {
            problem: &problem,
            rows: &rows,
            table_columns: data.x.columns(),
            range: &statistics.range,
            spectrum,
            common,
            held_out: data.validation,
        };
        let (transforms, trained) = match &plan.method {
            _ if target.constant => {
                warnings
                    .push("the target has the same value in every row; the model predicts that value".into());
                (statistics.transforms.clone(), training.constant())
            }
            Method::Descent(settings) => {
                (statistics.transforms.clone(), training.descent(settings, observer))
            }
            Method::VarPro(settings) => {
                auto::train(training, &statistics, settings, self.params.budget, observer)
            }
        };
        trained.check(plan.descent().map(|d| d.lr), &mut warnings)?;

        // The model, in the form that its file has.
        let limits = plan.varpro().map_or(Vec::new(), |_| target_limits(data, &rows));
        let plan = plan.with_features(trained.members[0].0.features());
        let feature_scale = plan.common.feature_scale();
        let members = trained.members(feature_scale);
        let columns = Columns { x, transforms: &transforms };
        let unit = if target.scale.len() == 1 { target.scale[0] } else { 1.0 };
        let slopes = Member::importances(self.backend, columns, &members, &rows, &weight_of);
        let importance = encoder.importances(slopes.map(|slope| unit * slope), x, &rows, weight_of);
        let metadata = Metadata {
            format: FORMAT,
            task: if classification { Task::Classification } else { Task::Regression },
            classes: data.classes().to_vec(),
            feature_names: (0..data.x.columns()).map(|j| data.name(j)).collect(),
            target_name: data.target_name.map(String::from),
            named: data.names.is_some() && !data.positional,
            kernel: self.spectrum.map_or_else(|| plan.common.kernel.to_string(), |_| "custom".into()),
            link: loss.link(),
            custom_loss: self.loss.is_some(),
            feature_scale,
            guard: limits,
            encoder: (!encoder.is_all_numbers()).then(|| encoder.clone()),
            summary: trained.summary(given.len(), warnings),
            params: plan,
        };
        Ok(Model {
            metadata,
            encoder: encoded.encoder,
            transforms,
            target_mean: target.mean,
            target_scale: target.scale,
            members,
            importance,
            history: trained.history,
        })
    }

    /// Refuses what does not go together.
    fn check_combination(
        &self,
        sampling: Sampling,
        class_weight: ClassWeight,
        classes: usize,
    ) -> Result<(), Error> {
        if class_weight == ClassWeight::Balanced && classes == 0 {
            return Err(Error::Unsupported(
                "class-weight balanced needs classes; the target is a number".into(),
            ));
        }
        if let Some(loss) = self.loss {
            check_link(loss.link(), classes)?;
        }
        if self.spectrum.is_some() && sampling == Sampling::Orthogonal {
            return Err(Error::Unsupported(
                "orthogonal sampling is for the gaussian kernel; a spectrum of your own needs iid".into(),
            ));
        }
        Ok(())
    }
}
