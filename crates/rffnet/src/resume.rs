//! Going on from a model: more epochs of descent, on the same rows or on others.

use crate::auto::member_seed;
use crate::backend;
use crate::features::{Network, Weights};
use crate::model::{Member, Metadata, Model, Task};
use crate::numerics::random::{Use, stream};
use crate::params::{Common, Descent, Missing, Params, Plan};
use crate::prepare::{loss_unit, row_weights};
use crate::problem::{Columns, Problem};
use crate::solver::descent::{DescentState, descend};
use crate::solver::{Observer, Stopped};
use crate::training::Trained;
use crate::validation::Split;
use crate::{Data, Error, Matrix, Target};

impl Model {
    /// Descends from this model's parameters on `data`, which must have the same columns and classes, and returns the
    /// model where that ends. Standardisation stays as it was, since the parameters mean nothing without it; so do
    /// frequencies, phases, partitions with the values of their cells, and the number of members.
    ///
    /// `params` must ask for a descent. Its number of features, kernel and start are not looked at.
    pub fn resume(
        &self,
        params: &Params,
        data: &Data<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Model, Error> {
        let (plan, settings) = self.resumed_plan(params, data)?;
        let common = &plan.common;
        let rows: Vec<usize> =
            (0..data.x.rows()).filter(|&i| data.weight.is_none_or(|w| w[i] > 0.0)).collect();
        if rows.is_empty() {
            return Err(Error::Shape("there is no row of positive weight to learn from".into()));
        }
        let loss = common.loss.build(self.classes().len());
        if loss.link() != self.metadata.link {
            return Err(Error::Unsupported(format!(
                "the model was not fitted with the loss {}",
                common.loss
            )));
        }
        let y = self.targets(data);
        let encoded = (!self.encoder.is_identity()).then(|| self.encoder.encode(data.x));
        let x = match &encoded {
            Some(encoded) => Matrix::new(encoded, data.x.rows(), self.encoder.width())?,
            None => data.x,
        };
        let columns = Columns { x, transforms: &self.transforms };
        let problem = Problem {
            columns,
            width: y.len() / data.x.rows(),
            y: y.into(),
            weight: row_weights(data, common.class_weight, &rows).map(Into::into),
            outputs: self.outputs(),
            ties: self.encoder.ties().map(Into::into),
            loss: loss.as_ref(),
            unit: loss_unit(loss.as_ref(), &self.target_scale),
            backend: backend::cpu(),
        };
        let constant = problem.constant(&rows);
        let mut members = Vec::with_capacity(self.members.len());
        let mut last = None;
        for (number, Member { map, weights, .. }) in self.members.iter().enumerate() {
            let seed = member_seed(common.seed, number);
            let split = Split::new(&rows, common.validation_fraction, data.validation, seed);
            let floor = Weights::constant(map, &constant);
            let baseline = problem.unit * problem.mean_loss(Network::new(map, &floor), split.judged_on());
            let start = weights.clone();
            let state =
                DescentState::new(&problem, map, (common, &settings), start, &split.train, settings.epochs);
            let outcome = descend(state, &split, baseline, &mut stream(seed, Use::Shuffle), observer);
            if outcome.stopped == Stopped::Diverged {
                let advice = format!("try a smaller learning rate (it was {:?})", settings.lr);
                return Err(Error::Diverged { epoch: outcome.epochs, advice });
            }
            let trained = Trained::by_descent(outcome, map, baseline, split.validation.len());
            members.extend(trained.members(self.metadata.feature_scale));
            last = Some(trained);
        }
        let trained = last.ok_or_else(|| Error::ModelFile("the model has no member".into()))?;
        let unit = if self.outputs() == 1 { self.target_scale[0] } else { 1.0 };
        let weight = |i: usize| problem.weight(i);
        let slopes = Member::importances(backend::cpu(), columns, &members, &rows, &weight);
        let importance = self.encoder.importances(slopes.map(|slope| unit * slope), x, &rows, weight);
        let summary = trained.summary(rows.len(), Vec::new());
        Ok(Model {
            importance,
            // The range of the first rows' target says nothing about later ones.
            metadata: Metadata { params: plan, summary, guard: Vec::new(), ..self.metadata.clone() },
            history: trained.history,
            members,
            ..self.clone()
        })
    }

    /// The plan of `params`, with what the model has fixed, and its settings of descent; refuses data of another kind.
    fn resumed_plan(&self, params: &Params, data: &Data<'_>) -> Result<(Plan, Descent), Error> {
        if self.metadata.custom_loss {
            return Err(Error::Unsupported(
                "the model was fitted with a loss of its caller's own, which its file does not hold; fit it anew with \
                 that loss"
                    .into(),
            ));
        }
        let classification = self.task() == Task::Classification;
        let columns = self.feature_names().len();
        let checked = params.check(columns, classification, None)?;
        let missing = checked.missing();
        let plan = checked.for_rows(data.x.rows());
        let Some(settings) = plan.descent().cloned() else {
            return Err(Error::Unsupported(
                "only descent can go on from a model; choose the solver adam, sgd, palm-adam or palm-sgd"
                    .into(),
            ));
        };
        if data.x.columns() != columns {
            return Err(Error::Shape(format!(
                "the model was fitted on {columns} columns but the data have {}",
                data.x.columns()
            )));
        }
        data.check(missing != Missing::Error)?;
        let same = match data.y {
            Target::Values { outputs, .. } => !classification && outputs == self.outputs(),
            Target::Labels { classes, .. } => classification && classes == self.classes(),
        };
        if !same {
            return Err(Error::Target("the target is of another kind than the model's".into()));
        }
        let before = &self.plan().common;
        let common = Common {
            random_features: self.random_features(),
            kernel: before.kernel,
            sampling: before.sampling,
            scaled_features: before.scaled_features,
            standardise_target: before.standardise_target,
            linear: before.linear,
            ..plan.common
        };
        Ok((Plan { common, ..plan }, settings))
    }

    /// The target as this model was trained on it.
    fn targets(&self, data: &Data<'_>) -> Vec<f32> {
        match data.y {
            Target::Labels { codes, .. } => codes.iter().map(|&c| c as f32).collect(),
            Target::Values { values, outputs } => {
                let standardised = |(i, v): (usize, &f64)| {
                    ((v - self.target_mean[i % outputs]) / self.target_scale[i % outputs]) as f32
                };
                values.iter().enumerate().map(standardised).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Data, Fit, Matrix, Model, Params, Schedule, Silent, SolverKind, Target};

    /// Rows of two columns; the target is the product.
    fn rows() -> (Vec<f32>, Vec<f64>) {
        let x: Vec<f32> = (0..600).map(|i| ((i * 7919 % 1009) as f32 / 504.5) - 1.0).collect();
        let y = x.chunks(2).map(|row| 50.0 + (row[0] * row[1]) as f64).collect();
        (x, y)
    }

    fn descent() -> Params {
        Params::new()
            .solver(SolverKind::Adam)
            .schedule(Schedule::Constant)
            .lr(1e-3)
            .epochs(5)
            .validation_fraction(0.0)
    }

    fn last_loss(model: &Model) -> f64 {
        model.summary().losses.last().expect("an epoch was made").train
    }

    #[test]
    fn the_loss_goes_on_falling_and_nothing_else_changes() {
        let (x, y) = rows();
        let data =
            Data::new(Matrix::new(&x, 300, 2).expect("fits"), Target::Values { values: &y, outputs: 1 });
        let first = Fit::new(&descent()).run(&data).expect("can be learned");
        let second = first.resume(&descent(), &data, &mut Silent).expect("goes on");
        assert!(second.summary().losses[0].train < first.summary().losses[0].train);
        assert!(last_loss(&second) < last_loss(&first));
        assert_eq!(second.random_features(), first.random_features());
        assert_eq!(second.feature_names(), first.feature_names());
        let again = Model::from_bytes(&second.to_bytes().expect("written")).expect("read");
        let predicted = |model: &Model| model.predict(data.x).expect("can be predicted");
        assert_eq!(predicted(&again), predicted(&second));
    }

    #[test]
    fn a_committee_goes_on_by_descent() {
        let (x, y) = rows();
        let data =
            Data::new(Matrix::new(&x, 300, 2).expect("fits"), Target::Values { values: &y, outputs: 1 });
        let exact = Fit::new(&Params::default()).run(&data).expect("can be learned");
        let params = descent().lr(1e-5).epochs(1);
        let second = exact.resume(&params, &data, &mut Silent).expect("goes on");
        assert_eq!(second.committee(), exact.committee());
        let (a, b) = (exact.predict(data.x).expect("predicts"), second.predict(data.x).expect("predicts"));
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 0.05), "a small step changes little");
    }

    #[test]
    fn other_data_and_the_exact_solver_are_refused() {
        let (x, y) = rows();
        let data =
            Data::new(Matrix::new(&x, 300, 2).expect("fits"), Target::Values { values: &y, outputs: 1 });
        let model = Fit::new(&descent()).run(&data).expect("can be learned");
        let refused = |params: &Params, data: &Data<'_>| {
            model.resume(params, data, &mut Silent).err().expect("refused").to_string()
        };
        assert!(refused(&Params::default(), &data).contains("only descent"));
        let wide = Data { x: Matrix::new(&x, 200, 3).expect("fits"), ..data };
        assert!(refused(&descent(), &wide).contains("fitted on 2 columns"));
        let two = Target::Values { values: &y, outputs: 2 };
        let half = Data { x: Matrix::new(&x[..300], 150, 2).expect("fits"), y: two, ..data };
        assert!(refused(&descent(), &half).contains("another kind"));
    }
}
