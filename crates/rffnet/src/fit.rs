//! The one place where a fit is put together.

use crate::auto::ensemble;
use crate::duplicates::merged;
use crate::features::{FeatureMap, Problem, Weights, mean_loss, mean_squared_slopes, row_losses};
use crate::init;
use crate::loss::{Link, Loss};
use crate::model::file::FORMAT;
use crate::model::{Card, Member, Model, Summary, Task};
use crate::numerics::random::{Stream, Use, stream, uniform};
use crate::params::{ClassWeight, Init, Missing, Params, Plan, Preset, Shape, SolverKind};
use crate::prepare::{PreparedTarget, row_weights};
use crate::solver::descent::{Split, descend};
use crate::solver::{History, Observer, Silent, Stopped};
use crate::spectrum::{Sampling, Spectrum, sample_iid, sample_orthogonal};
use crate::transform::candidates::Shapes;
use crate::transform::{ColumnStatistics, column_statistics};
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
}

impl<'a> Fit<'a> {
    /// A fit with these parameters.
    pub fn new(params: &'a Params) -> Self {
        Self { params, observer: None, spectrum: None, loss: None }
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

    /// Trains a regression with a loss of your own; the target is then not standardised.
    pub fn loss(mut self, loss: &'a dyn Loss) -> Self {
        self.loss = Some(loss);
        self
    }

    /// Fits, on the threads of the current rayon pool. The result does not depend on their number.
    pub fn run(self, data: &Data<'_>) -> Result<Model, Error> {
        let classification = matches!(data.y, Target::Labels { .. });
        // What can be said without looking at the data comes first, so that a wrong parameter is never hidden.
        let shape = Shape { rows: data.x.rows(), columns: data.x.columns(), classification };
        let missing = self.params.plan(shape)?.missing;
        data.check(missing == Missing::Mean)?;
        let learned_from = rows_that_count(data)?.len();
        let merged = if self.params.preset == Preset::Auto { merged(data) } else { None };
        let data = &merged.as_ref().map_or(Ok(*data), |merged| merged.data(data))?;
        let rows = rows_that_count(data)?;
        let mut plan = self.params.plan(Shape { rows: rows.len(), ..shape })?;
        if plan.class_weight == ClassWeight::Balanced && !classification {
            return Err(Error::Unsupported(
                "class-weight balanced needs classes; the target is a number".into(),
            ));
        }
        let built_in;
        let loss: &dyn Loss = match self.loss {
            Some(loss) => {
                check_link(loss.link(), class_count(data))?;
                plan.use_custom_loss();
                loss
            }
            None => {
                built_in = plan.loss.build(class_count(data));
                built_in.as_ref()
            }
        };
        if self.spectrum.is_some() && plan.sampling == Sampling::Orthogonal {
            return Err(Error::Unsupported(
                "orthogonal sampling is for the gaussian kernel; a spectrum of your own needs iid".into(),
            ));
        }
        let kernel = self.spectrum.map_or_else(|| plan.kernel.to_string(), |_| "custom".into());
        let kernel_spectrum = plan.kernel;
        let spectrum: &dyn Spectrum = self.spectrum.unwrap_or(&kernel_spectrum);
        let mut silent = Silent;
        let observer: &mut dyn Observer = match self.observer {
            Some(observer) => observer,
            None => &mut silent,
        };

        let target = PreparedTarget::new(data, &plan, loss.link(), &rows)?;
        let weight = row_weights(data, &plan, &rows);
        let weight_of = |i: usize| weight.as_ref().map_or(1.0, |w| w[i]);
        let statistics = column_statistics(data.x, &rows, weight_of);
        let shapes = if plan.solver == SolverKind::Varpro && !target.constant {
            Shapes::new(&statistics, data.x, &rows, weight_of)
        } else {
            Shapes::default()
        };
        let ColumnStatistics { mut scale, low, range } = statistics;
        let problem = Problem {
            x: data.x,
            scale: scale.clone(),
            width: target.y.len() / data.x.rows(),
            y: target.y,
            weight,
            outputs: target.outputs,
            loss,
            unit: target.unit,
        };
        let mut warnings = constant_column_warning(data, &range);
        let setting = Setting { problem: &problem, rows: &rows, range: &range, spectrum, shape: "" };
        let trained = if target.constant {
            warnings.push("the target has the same value in every row; the model predicts that value".into());
            setting.constant(&plan)
        } else if plan.solver == SolverKind::Varpro {
            let others = shapes.problems(&problem)?;
            let shaped = others.iter().zip(shapes.0.iter()).map(|(problem, shape)| Setting {
                problem,
                range: &shape.range,
                shape: &shape.text,
                ..setting
            });
            let settings: Vec<Setting<'_>> = std::iter::once(setting).chain(shaped).collect();
            let (at, trained) = ensemble::train(&settings, &plan, self.params.budget, observer);
            if let Some(shape) = at.checked_sub(1).map(|at| &shapes.0[at]) {
                scale = shape.scale.clone();
            }
            scale.cut(&low, &range);
            drop(others);
            drop(shapes);
            trained
        } else {
            setting.descent(&plan, observer)
        };
        trained.judge(&plan, &mut warnings)?;
        if trained.networks.iter().any(|(_, weights)| !weights.is_finite()) {
            let advice = "the features or the head are not finite; check the columns and the spectrum".into();
            return Err(Error::Diverged { epoch: trained.epochs, advice });
        }

        plan.random_features = trained.networks[0].0.features();
        let feature_scale = plan.feature_scale();
        let members: Vec<Member> = trained
            .networks
            .iter()
            .map(|(map, weights)| Member::from_weights(map, weights, feature_scale))
            .collect();
        let networks: Vec<_> = members.iter().map(|m| (&m.map, &m.weights)).collect();
        let slopes = mean_squared_slopes(data.x, &scale, &networks, &rows, |i| problem.weight(i));
        let unit = if target.scale.len() == 1 { target.scale[0] } else { 1.0 };
        let importance = slopes.iter().map(|s| (unit * s.sqrt()) as f32).collect();
        let guard = if plan.solver == SolverKind::Varpro { guard(data, &rows) } else { Vec::new() };
        let summary = Summary {
            rows: learned_from,
            validation_rows: trained.validation_rows,
            epochs: trained.epochs,
            best_epoch: trained.best_epoch,
            stopped: trained.stopped,
            validation_loss: (trained.validation_rows > 0 && !target.constant).then_some(trained.loss),
            baseline_loss: trained.baseline.is_finite().then_some(trained.baseline),
            chosen: trained.chosen,
            warnings,
            losses: trained.history.losses().to_vec(),
        };
        let card = Card {
            format: FORMAT,
            task: if classification { Task::Classification } else { Task::Regression },
            classes: match data.y {
                Target::Labels { classes, .. } => classes.to_vec(),
                Target::Values { .. } => Vec::new(),
            },
            feature_names: (0..data.x.columns()).map(|j| data.name(j)).collect(),
            named: data.names.is_some() && !data.positional,
            kernel,
            link: loss.link(),
            feature_scale,
            guard,
            params: plan,
            summary,
        };
        Ok(Model {
            card,
            scale,
            target_mean: target.mean,
            target_scale: target.scale,
            members,
            importance,
            history: trained.history,
        })
    }
}

/// How far predictions of an exact regression may leave the range of the training target, as a share of it: a row far
/// outside the training data must not be extrapolated without bound.
const LEEWAY: f64 = 0.1;

fn guard(data: &Data<'_>, rows: &[usize]) -> Vec<(f64, f64)> {
    let Target::Values { values, outputs } = data.y else { return Vec::new() };
    (0..outputs)
        .map(|c| {
            let column = || rows.iter().map(|&i| values[i * outputs + c]);
            let (low, high) =
                (column().fold(f64::INFINITY, f64::min), column().fold(f64::NEG_INFINITY, f64::max));
            let room = LEEWAY * (high - low);
            (low - room, high + room)
        })
        .collect()
}

/// A custom loss must speak of the kind of target there is.
fn check_link(link: Link, classes: usize) -> Result<(), Error> {
    match (link, classes) {
        (Link::Identity | Link::Log, 0) | (Link::Logistic, 2) => Ok(()),
        (Link::Softmax, classes) if classes > 2 => Ok(()),
        _ => Err(Error::Unsupported(format!(
            "a loss with the {link} link does not fit a target with {}",
            if classes == 0 { "numbers".into() } else { format!("{classes} classes") }
        ))),
    }
}

/// What every way of training starts from.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub(crate) problem: &'a Problem<'a>,
    /// Rows of positive weight.
    pub(crate) rows: &'a [usize],
    /// The range of each standardised column; 0 where it is constant.
    pub(crate) range: &'a [f32],
    pub(crate) spectrum: &'a dyn Spectrum,
    /// For people: what was done to the shape of columns.
    pub(crate) shape: &'a str,
}

/// What every way of training leaves behind. Losses are in units of the target.
pub(crate) struct Trained {
    /// Averaged; all with the same number of features.
    pub(crate) networks: Vec<(FeatureMap, Weights)>,
    pub(crate) stopped: Stopped,
    pub(crate) epochs: usize,
    pub(crate) best_epoch: usize,
    pub(crate) loss: f64,
    /// The loss of the best constant on the rows that `loss` is of.
    pub(crate) baseline: f64,
    /// Whether the gain over the constant is more than chance.
    pub(crate) beats_constant: bool,
    pub(crate) validation_rows: usize,
    pub(crate) history: History,
    /// See [`Summary::chosen`].
    pub(crate) chosen: String,
}

impl Setting<'_> {
    /// Columns that vary; the first one if none does, since a network looks at something.
    pub(crate) fn support(&self) -> Vec<usize> {
        let varying: Vec<usize> = (0..self.range.len()).filter(|&j| self.range[j] != 0.0).collect();
        if varying.is_empty() { vec![0] } else { varying }
    }

    /// Frequencies and phases for the columns that vary.
    pub(crate) fn draw(&self, plan: &Plan, features: usize, rng: &mut Stream) -> FeatureMap {
        let support = self.support();
        let omega = match plan.sampling {
            Sampling::Iid => sample_iid(self.spectrum, support.len(), features, rng),
            Sampling::Orthogonal => sample_orthogonal(support.len(), features, rng),
        };
        let phase = (0..features).map(|_| (uniform(rng) * std::f64::consts::TAU) as f32).collect();
        FeatureMap::on(self.range.len(), support, omega, phase)
    }

    /// No features, and the best constant as intercept: what a fit has to beat.
    pub(crate) fn constant_weights(&self, map: &FeatureMap) -> Weights {
        let problem = self.problem;
        let y: Vec<f32> = self.rows.iter().flat_map(|&i| problem.target(i)).copied().collect();
        let w: Vec<f32> = self.rows.iter().map(|&i| problem.weight(i)).collect();
        let constant = problem.loss.constant(&y, &w, problem.outputs);
        Weights {
            intercept: constant.iter().map(|&c| c as f32).collect(),
            ..Weights::zeros(map, problem.outputs)
        }
    }

    /// Nothing to learn.
    fn constant(&self, plan: &Plan) -> Trained {
        let map = self.draw(plan, plan.random_features, &mut stream(plan.seed, Use::Frequencies));
        let weights = self.constant_weights(&map);
        Trained {
            networks: vec![(map, weights)],
            stopped: Stopped::ConstantTarget,
            epochs: 0,
            best_epoch: 0,
            loss: 0.0,
            baseline: 0.0,
            beats_constant: true,
            validation_rows: 0,
            history: History::default(),
            chosen: String::new(),
        }
    }

    /// Algorithm 1 of the paper.
    fn descent(&self, plan: &Plan, observer: &mut dyn Observer) -> Trained {
        let problem = self.problem;
        let split = Split::new(self.rows, plan.validation_fraction, plan.seed);
        let map = self.draw(plan, plan.random_features, &mut stream(plan.seed, Use::Frequencies));
        let floor = self.constant_weights(&map);
        let judged = split.judges();
        let baseline = mean_loss(problem, &map, &floor, judged) * problem.unit;
        let start = self.starting_point(&map, plan, floor.clone(), &split, observer);
        let mut shuffling = stream(plan.seed, Use::Shuffle);
        let outcome = descend(problem, &map, plan, start, &split, baseline, &mut shuffling, observer);
        Trained {
            beats_constant: beats(problem, &map, &outcome.weights, &floor, judged),
            networks: vec![(map, outcome.weights)],
            stopped: outcome.stopped,
            epochs: outcome.epochs,
            best_epoch: outcome.best_epoch,
            loss: outcome.loss,
            baseline,
            validation_rows: split.validation.len(),
            history: outcome.history,
            chosen: String::new(),
        }
    }

    fn starting_point(
        &self,
        map: &FeatureMap,
        plan: &Plan,
        constant: Weights,
        split: &Split,
        observer: &mut dyn Observer,
    ) -> Weights {
        let mut start = constant;
        if !plan.intercept {
            start.intercept.fill(0.0);
        }
        if plan.random_head {
            let mut rng = stream(plan.seed, Use::Head);
            let bound = 1.0 / (map.features() as f64).sqrt();
            for output in start.beta.chunks_exact_mut(map.padded()) {
                let head = output[..map.features()].iter_mut();
                head.for_each(|b| *b = (bound * (2.0 * uniform(&mut rng) - 1.0)) as f32);
            }
        }
        let range: Vec<f32> = map.support.iter().map(|&j| self.range[j]).collect();
        start.theta = match plan.init {
            Init::Constant => init::constant(&range, map.columns()),
            Init::Restarter => {
                start.theta = init::constant(&range, map.columns());
                init::restarter(self.problem, map, plan, &start, &range, &split.train, observer)
            }
            Init::Regressor => {
                let all = init::regressor(self.problem, &split.train);
                map.support.iter().map(|&j| all[j]).collect()
            }
            Init::Varpro => return init::varpro(*self, map, plan, start, split, observer),
        };
        start
    }
}

impl Trained {
    /// Refuses a fit that diverged before it had learned anything; warns of one that is no better than a constant.
    fn judge(&self, plan: &Plan, warnings: &mut Vec<String>) -> Result<(), Error> {
        match self.stopped {
            Stopped::ConstantTarget => return Ok(()),
            Stopped::Diverged if self.loss >= self.baseline => {
                let advice = format!("try a smaller learning rate (it was {:?}) or a larger alpha", plan.lr);
                return Err(Error::Diverged { epoch: self.epochs, advice });
            }
            Stopped::Diverged => warnings.push(format!(
                "the fit diverged in epoch {}; epoch {}, the best before, was kept",
                self.epochs, self.best_epoch
            )),
            _ => {}
        }
        if !self.beats_constant {
            warnings.push(
                "the model is no better than a constant: the columns may not bear on the target, or alpha may be \
                 too large"
                    .into(),
            );
        }
        Ok(())
    }
}

/// Standard errors by which the mean gain over a constant must exceed zero. The epoch was chosen on the same rows, so
/// two would not do.
const CLEARLY: f64 = 3.0;

/// Whether `weights` beat `constant` on the rows by more than chance: the mean gain per row against its standard error,
/// or half the loss gone, which heavy tails and few rows can hide from that test.
pub(crate) fn beats(
    problem: &Problem<'_>,
    map: &FeatureMap,
    weights: &Weights,
    constant: &Weights,
    rows: &[usize],
) -> bool {
    let (model, floor) = (row_losses(problem, map, weights, rows), row_losses(problem, map, constant, rows));
    let halved = model.iter().sum::<f64>() < 0.5 * floor.iter().sum::<f64>();
    halved || clearly_smaller(&model, &floor, CLEARLY)
}

/// Whether the first losses, row by row, are smaller than the second by so many standard errors of the difference.
pub(crate) fn clearly_smaller(first: &[f64], second: &[f64], errors: f64) -> bool {
    let gains: Vec<f64> = first.iter().zip(second).map(|(f, s)| s - f).collect();
    let n = gains.len() as f64;
    let mean = gains.iter().sum::<f64>() / n;
    let variance = gains.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / n;
    mean > errors * (variance / (n - 1.0)).sqrt()
}

fn class_count(data: &Data<'_>) -> usize {
    match data.y {
        Target::Labels { classes, .. } => classes.len(),
        Target::Values { .. } => 0,
    }
}

/// Rows of positive weight.
fn rows_that_count(data: &Data<'_>) -> Result<Vec<usize>, Error> {
    let n = data.x.rows();
    let rows: Vec<usize> = (0..n).filter(|&i| data.weight.is_none_or(|w| w[i] > 0.0)).collect();
    match rows.len() {
        0 if n > 0 => Err(Error::Shape("every row has weight zero; nothing can be learned".into())),
        0 | 1 => {
            Err(Error::Shape(format!("there is {} row to learn from; at least 2 are needed", rows.len())))
        }
        _ => Ok(rows),
    }
}

fn constant_column_warning(data: &Data<'_>, range: &[f32]) -> Vec<String> {
    let constant: Vec<String> =
        (0..range.len()).filter(|&j| range[j] == 0.0).map(|j| format!("'{}'", data.name(j))).collect();
    match constant.len() {
        0 => Vec::new(),
        1 => vec![format!("column {} is constant and is left out (relevance 0)", constant[0])],
        many => {
            let shown = constant[..many.min(5)].join(", ");
            let more = if many > 5 { format!(" and {} more", many - 5) } else { String::new() };
            vec![format!("columns {shown}{more} are constant and are left out (relevance 0)")]
        }
    }
}
