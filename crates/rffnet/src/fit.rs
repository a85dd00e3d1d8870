//! The one place where a fit is put together.

use crate::features::{FeatureMap, Problem, Weights, mean_loss, squared_slopes};
use crate::file::FORMAT;
use crate::init;
use crate::loss::{Loss, LossKind};
use crate::model::{Card, Member, Model, Summary, Task};
use crate::params::{ClassWeight, Init, Missing, Params, Plan, Shape};
use crate::rng::{Use, shuffle, stream, uniform};
use crate::scale::{ColumnStatistics, column_statistics};
use crate::solver::descent::{Outcome, Split, descend};
use crate::solver::{History, Observer, Silent, Stopped};
use crate::spectrum::{Sampling, Spectrum, sample_iid, sample_orthogonal};
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
        let mut plan =
            self.params.plan(Shape { rows: data.x.rows(), columns: data.x.columns(), classification })?;
        if self.loss.is_some() {
            plan.standardise_target = false;
        }
        data.check(plan.missing == Missing::Mean)?;
        let built_in;
        let loss: &dyn Loss = match self.loss {
            Some(loss) => loss,
            None => {
                built_in = plan.loss.build(class_count(data));
                built_in.as_ref()
            }
        };
        let kernel = self.spectrum.map_or_else(|| plan.kernel.to_string(), |_| "custom".into());
        let spectrum: &dyn Spectrum = match self.spectrum {
            Some(spectrum) => spectrum,
            None => &plan.kernel,
        };
        let mut silent = Silent;
        let observer: &mut dyn Observer = match self.observer {
            Some(observer) => observer,
            None => &mut silent,
        };

        let rows = rows_that_count(data)?;
        let target = PreparedTarget::new(data, &plan, &rows)?;
        let weight = row_weights(data, &plan, &rows);
        let ColumnStatistics { scale, range } =
            column_statistics(data.x, &rows, |i| weight.as_ref().map_or(1.0, |w| w[i]));
        let problem = Problem {
            x: data.x,
            scale,
            y: target.y,
            weight,
            outputs: target.outputs,
            loss,
            unit: target.unit,
        };
        let split = split_rows(&rows, &plan);

        let map = draw_features(spectrum, &plan, data.x.columns());
        let floor = constant_weights(&problem, &map, &rows);
        let baseline = {
            let judged = if split.validation.is_empty() { &split.train } else { &split.validation };
            mean_loss(&problem, &map, &floor, judged) * problem.unit
        };
        let mut warnings = constant_column_warning(data, &range);
        let outcome = if target.constant {
            warnings.push("the target has the same value in every row; the model predicts that value".into());
            nothing_to_learn(floor)
        } else {
            let start = starting_point(&problem, &map, &plan, floor, &range, &split);
            let mut shuffling = stream(plan.seed, Use::Shuffle);
            descend(&problem, &map, &plan, start, &split, baseline, &mut shuffling, observer)
        };
        judge(&outcome, baseline, &plan, &mut warnings)?;

        let mut weights = outcome.weights;
        weights.theta.iter_mut().zip(&range).filter(|(_, r)| **r == 0.0).for_each(|(t, _)| *t = 0.0);
        let member = Member::from_weights(map, weights, plan.feature_scale());
        let slopes = squared_slopes(data.x, &problem.scale, &member.map, &member.weights, &rows);
        let unit = if target.scale.len() == 1 { target.scale[0] } else { 1.0 };
        let importance = slopes.iter().map(|s| (unit * (s / rows.len() as f64).sqrt()) as f32).collect();
        let validating = !split.validation.is_empty() && !target.constant;
        let summary = Summary {
            rows: rows.len(),
            validation_rows: split.validation.len(),
            epochs: outcome.epochs,
            best_epoch: outcome.best_epoch,
            stopped: outcome.stopped,
            validation_loss: validating.then_some(outcome.loss),
            baseline_loss: baseline.is_finite().then_some(baseline),
            warnings,
            losses: outcome.history.losses().to_vec(),
        };
        let card = Card {
            format: FORMAT,
            task: if classification { Task::Classification } else { Task::Regression },
            classes: match data.y {
                Target::Labels { classes, .. } => classes.to_vec(),
                Target::Values { .. } => Vec::new(),
            },
            feature_names: (0..data.x.columns()).map(|j| data.name(j)).collect(),
            named: data.names.is_some(),
            kernel,
            link: loss.link(),
            feature_scale: plan.feature_scale(),
            params: plan,
            summary,
        };
        Ok(Model {
            card,
            scale: problem.scale,
            target_mean: target.mean,
            target_scale: target.scale,
            members: vec![member],
            importance,
            history: outcome.history,
        })
    }
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

/// The target as it is trained on.
struct PreparedTarget {
    y: Vec<f32>,
    outputs: usize,
    mean: Vec<f64>,
    scale: Vec<f64>,
    /// What a training loss is multiplied with to be in units of the target.
    unit: f64,
    constant: bool,
}

impl PreparedTarget {
    fn new(data: &Data<'_>, plan: &Plan, rows: &[usize]) -> Result<Self, Error> {
        match data.y {
            Target::Labels { codes, classes } => Self::labels(codes, classes, rows),
            Target::Values { values, outputs } => Self::values(values, outputs, data.weight, plan, rows),
        }
    }

    fn labels(codes: &[u32], classes: &[String], rows: &[usize]) -> Result<Self, Error> {
        let first = codes[rows[0]];
        if rows.iter().all(|&i| codes[i] == first) {
            return Err(Error::Target(format!(
                "every row is of class '{}'; a classifier needs at least two classes",
                classes[first as usize]
            )));
        }
        let outputs = if classes.len() == 2 { 1 } else { classes.len() };
        let y = codes.iter().map(|&c| c as f32).collect();
        Ok(Self {
            y,
            outputs,
            mean: vec![0.0; outputs],
            scale: vec![1.0; outputs],
            unit: 1.0,
            constant: false,
        })
    }

    fn values(
        values: &[f64],
        outputs: usize,
        weight: Option<&[f32]>,
        plan: &Plan,
        rows: &[usize],
    ) -> Result<Self, Error> {
        if plan.loss == LossKind::Poisson
            && let Some(&i) =
                rows.iter().find(|&&i| values[i * outputs..(i + 1) * outputs].iter().any(|v| *v < 0.0))
        {
            return Err(Error::Target(format!(
                "row {} has a negative target; counts are needed for poisson",
                i + 1
            )));
        }
        let (mut mean, mut scale) = (vec![0.0; outputs], vec![1.0; outputs]);
        let mut constant = true;
        for c in 0..outputs {
            let column =
                || rows.iter().map(|&i| (values[i * outputs + c], weight.map_or(1.0, |w| w[i] as f64)));
            let mass: f64 = column().map(|(_, w)| w).sum();
            let centre = column().map(|(v, w)| v * (w / mass)).sum::<f64>();
            let spread = column().map(|(v, w)| (v - centre).powi(2) * (w / mass)).sum::<f64>().sqrt();
            if !(centre.is_finite() && spread.is_finite()) {
                return Err(Error::Target(
                    "the target's values are too large to be squared; rescale it".into(),
                ));
            }
            let first = values[rows[0] * outputs + c];
            let varies = rows.iter().any(|&i| values[i * outputs + c] != first);
            constant &= !varies;
            if plan.standardise_target || !varies {
                mean[c] = if varies { centre } else { first };
                scale[c] = if varies && spread > 0.0 { spread } else { 1.0 };
            }
        }
        // A constant is predicted through the target's mean, except behind a link, where the intercept holds it.
        if plan.loss == LossKind::Poisson {
            (mean, scale) = (vec![0.0; outputs], vec![1.0; outputs]);
        }
        let mut y = vec![0.0; values.len()];
        for (i, (y, v)) in y.iter_mut().zip(values).enumerate() {
            *y = ((v - mean[i % outputs]) / scale[i % outputs]) as f32;
        }
        if let Some(&i) =
            rows.iter().find(|&&i| y[i * outputs..(i + 1) * outputs].iter().any(|v| !v.is_finite()))
        {
            return Err(Error::Target(format!(
                "the target in row {} is too large for 32-bit numbers; rescale it",
                i + 1
            )));
        }
        let unit = match plan.loss {
            _ if outputs > 1 => 1.0,
            LossKind::Squared | LossKind::Huber { .. } => scale[0] * scale[0],
            LossKind::Quantile { .. } => scale[0],
            LossKind::Poisson | LossKind::CrossEntropy => 1.0,
        };
        Ok(Self { y, outputs, mean, scale, unit, constant })
    }
}

/// Sample weights times class weights, of mean one over the rows that count; `None` where all are equal.
fn row_weights(data: &Data<'_>, plan: &Plan, rows: &[usize]) -> Option<Vec<f32>> {
    let given = |i: usize| data.weight.map_or(1.0, |w| w[i] as f64);
    let class_weight: Option<(Vec<f64>, &[u32])> = match (plan.class_weight, data.y) {
        (ClassWeight::Balanced, Target::Labels { codes, classes }) => {
            let mut mass = vec![0.0; classes.len()];
            rows.iter().for_each(|&i| mass[codes[i] as usize] += given(i));
            Some((mass.iter().map(|m| 1.0 / m).collect(), codes))
        }
        _ => None,
    };
    if data.weight.is_none() && class_weight.is_none() {
        return None;
    }
    let full = |i: usize| {
        given(i) * class_weight.as_ref().map_or(1.0, |(by_class, codes)| by_class[codes[i] as usize])
    };
    let mean = rows.iter().map(|&i| full(i)).sum::<f64>() / rows.len() as f64;
    let mut weights = vec![0.0; data.x.rows()];
    rows.iter().for_each(|&i| weights[i] = (full(i) / mean) as f32);
    Some(weights)
}

fn split_rows(rows: &[usize], plan: &Plan) -> Split {
    let mut order = rows.to_vec();
    shuffle(&mut order, &mut stream(plan.seed, Use::Split));
    let held_out = (plan.validation_fraction * rows.len() as f64) as usize;
    let train = order.split_off(held_out);
    Split { train, validation: order }
}

fn draw_features(spectrum: &dyn Spectrum, plan: &Plan, columns: usize) -> FeatureMap {
    let mut rng = stream(plan.seed, Use::Frequencies);
    let s = plan.random_features;
    let omega = match plan.sampling {
        Sampling::Iid => sample_iid(spectrum, columns, s, &mut rng),
        Sampling::Orthogonal => sample_orthogonal(columns, s, &mut rng),
    };
    let phase = (0..s).map(|_| (uniform(&mut rng) * std::f64::consts::TAU) as f32).collect();
    FeatureMap::new(omega, phase)
}

/// No features, and the best constant as intercept: what a fit has to beat.
fn constant_weights(problem: &Problem<'_>, map: &FeatureMap, rows: &[usize]) -> Weights {
    let y: Vec<f32> = rows.iter().flat_map(|&i| problem.target(i)).copied().collect();
    let w: Vec<f32> = rows.iter().map(|&i| problem.weight(i)).collect();
    let constant = problem.loss.constant(&y, &w, problem.outputs);
    Weights {
        intercept: constant.iter().map(|&c| c as f32).collect(),
        ..Weights::zeros(map, problem.outputs)
    }
}

fn starting_point(
    problem: &Problem<'_>,
    map: &FeatureMap,
    plan: &Plan,
    constant: Weights,
    range: &[f32],
    split: &Split,
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
    start.theta = init::constant(range);
    match plan.init {
        Init::Constant => {}
        Init::Restarter => start.theta = init::restarter(problem, map, plan, &start, range, &split.train),
        Init::Regressor => start.theta = init::regressor(problem, &split.train),
    }
    start
}

fn nothing_to_learn(weights: Weights) -> Outcome {
    Outcome {
        weights,
        stopped: Stopped::ConstantTarget,
        epochs: 0,
        best_epoch: 0,
        loss: 0.0,
        history: History::default(),
    }
}

/// Refuses a fit that diverged before it had learned anything; warns of one that is no better than a constant.
fn judge(outcome: &Outcome, baseline: f64, plan: &Plan, warnings: &mut Vec<String>) -> Result<(), Error> {
    let learned = outcome.loss < baseline;
    match outcome.stopped {
        Stopped::ConstantTarget => Ok(()),
        Stopped::Diverged if !learned => {
            let advice = format!("try a smaller learning rate (it was {:?}) or a larger alpha", plan.lr);
            Err(Error::Diverged { epoch: outcome.epochs, advice })
        }
        stopped => {
            if stopped == Stopped::Diverged {
                warnings.push(format!(
                    "the fit diverged in epoch {}; epoch {}, the best before, was kept",
                    outcome.epochs, outcome.best_epoch
                ));
            }
            if !learned {
                warnings.push(
                    "the model is no better than a constant: the columns may not bear on the target, or alpha may be too large"
                        .into(),
                );
            }
            Ok(())
        }
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
