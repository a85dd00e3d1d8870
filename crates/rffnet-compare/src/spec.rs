//! The methods by name, with their settings.

use rffnet::scores::Prediction;
use rffnet::{Data, Fit, Matrix, Params, Target};
use rffnet_baselines::{
    Constant, EigenPro, Fastfood, Gpr, KernelRidge, Linear, Method, Nystroem, Options, Rff, Srff,
};
use serde::{Deserialize, Serialize};

use crate::encode::Preparation;
use crate::{Error, Job};

rffnet::named_enum! {
    /// A method's name.
    #[derive(Hash)]
    #[allow(missing_docs)] // the names say it
    pub enum Kind {
        Rffnet => "rffnet",
        RffnetPaper => "rffnet-paper",
        Krr => "krr",
        Nystroem => "nystroem",
        Fastfood => "fastfood",
        Eigenpro => "eigenpro",
        Gpr => "gpr",
        Srff => "srff",
        Rff => "rff",
        Linear => "linear",
        Constant => "constant",
    } else Error = unknown_kind
}

fn unknown_kind(text: &str) -> Error {
    let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    let near = rffnet_data::nearest(text, names.iter().copied());
    let advice = near.map_or(String::new(), |near| format!(" (did you mean '{near}'?)"));
    Error::new(format!("there is no model '{text}'{advice}; the models are {}", names.join(", ")))
}

/// Which settings a baseline has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// What we think is sensible.
    #[default]
    Usual,
    /// The paper's.
    Paper,
    /// The paper's, but trained until nothing changes (gpr and srff).
    Converged,
}

/// A method and its settings.
///
/// ```
/// use rffnet_compare::{Kind, ModelSpec};
/// let spec = ModelSpec::new(Kind::Gpr).converged();
/// assert_eq!(serde_json::to_string(&spec)?, r#"{"kind":"gpr","setting":"converged"}"#);
/// assert_eq!(serde_json::from_str::<ModelSpec>(r#"{"kind":"krr"}"#)?, ModelSpec::new(Kind::Krr));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// Which method.
    pub kind: Kind,
    /// Which settings, of a baseline.
    #[serde(default)]
    pub setting: Setting,
    /// All settings of `rffnet` or `rffnet-paper` but the seed, in place of the preset's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Params>,
    /// The learning rate of `gpr` with the paper's setting, in place of 1e-3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

/// The paper's learning rate on simulated sets.
const PAPER_RATE: f64 = 1e-3;

impl From<Kind> for ModelSpec {
    fn from(kind: Kind) -> Self {
        Self::new(kind)
    }
}

impl ModelSpec {
    /// With the usual settings.
    pub fn new(kind: Kind) -> Self {
        Self { kind, setting: Setting::Usual, params: None, rate: None }
    }

    /// With the paper's settings.
    pub fn paper(self) -> Self {
        Self { setting: Setting::Paper, ..self }
    }

    /// With the paper's settings, trained until nothing changes.
    pub fn converged(self) -> Self {
        Self { setting: Setting::Converged, ..self }
    }

    /// With these parameters (`rffnet` and `rffnet-paper`).
    pub fn with(self, params: Params) -> Self {
        Self { params: Some(params), ..self }
    }

    /// With this learning rate (`gpr`, the paper's setting).
    pub fn at_rate(self, rate: f64) -> Self {
        Self { rate: Some(rate), ..self }
    }

    /// Trains on the threads of the current rayon pool; a baseline may ask for arrays of up to `memory_limit` bytes.
    pub fn fit(&self, data: &Data<'_>, seed: u64, memory_limit: u64) -> Result<Fitted, Error> {
        if self.rate.is_some() && (self.kind, self.setting) != (Kind::Gpr, Setting::Paper) {
            return Err(Error::new(
                "a learning rate is for gpr with the paper's setting alone; leave it out",
            ));
        }
        if let Some(rate) = self.rate.filter(|rate| !(*rate > 0.0 && rate.is_finite())) {
            return Err(Error::new(format!("the learning rate is {rate}; it must be a positive number")));
        }
        let Some(method) = self.method()? else {
            let paper = self.kind == Kind::RffnetPaper || self.setting == Setting::Paper;
            let preset = if paper { Params::paper() } else { Params::default() };
            let params = self.params.clone().unwrap_or(preset).seed(seed);
            return Ok(Fitted::Rffnet(Box::new(Fit::new(&params).run(data)?)));
        };
        if self.params.is_some() {
            return Err(Error::new(format!(
                "parameters of rffnet mean nothing to {}; leave them out",
                self.kind
            )));
        }
        let (preparation, rows) = Preparation::fit(data, seed)?;
        let x = Matrix::new(&rows, data.x.rows(), preparation.width())?;
        let encoded = Data { x, names: None, types: None, ..*data };
        let model = rffnet_baselines::fit(method.as_ref(), &encoded, &Options { seed, memory_limit })?;
        let classes = match data.y {
            Target::Values { .. } => None,
            Target::Labels { classes, .. } => Some(classes.len()),
        };
        Ok(Fitted::Baseline { preparation, model, classes })
    }

    /// The baseline; none for rffnet itself.
    fn method(&self) -> Result<Option<Box<dyn Method>>, Error> {
        match self.kind {
            Kind::Krr => self.pick(KernelRidge::default(), KernelRidge::paper(), None),
            Kind::Nystroem => self.pick(Nystroem::default(), Nystroem::paper(), None),
            Kind::Fastfood => self.pick(Fastfood::default(), Fastfood::paper(), None),
            Kind::Eigenpro => self.pick(EigenPro::default(), EigenPro::paper(), None),
            Kind::Gpr => {
                self.pick(Gpr::default(), Gpr::paper(self.rate.unwrap_or(PAPER_RATE)), Some(Gpr::converged()))
            }
            Kind::Srff => self.pick(Srff::default(), Srff::paper(), Some(Srff::converged())),
            Kind::Rff => self.pick(Rff::default(), Rff::paper(), None),
            Kind::Linear => self.pick(Linear::default(), Linear::paper(), None),
            Kind::Constant => self.pick(Constant, Constant, None),
            Kind::Rffnet | Kind::RffnetPaper if self.setting == Setting::Converged => {
                Err(self.unknown("converged"))
            }
            Kind::Rffnet | Kind::RffnetPaper => Ok(None),
        }
    }

    fn pick<M: Method + 'static>(
        &self,
        usual: M,
        paper: M,
        converged: Option<M>,
    ) -> Result<Option<Box<dyn Method>>, Error> {
        let chosen = match self.setting {
            Setting::Usual => usual,
            Setting::Paper => paper,
            Setting::Converged => converged.ok_or_else(|| self.unknown("converged"))?,
        };
        Ok(Some(Box::new(chosen)))
    }

    fn unknown(&self, setting: &str) -> Error {
        Error::new(format!("{} has no setting '{setting}'", self.kind))
    }
}

/// A trained method.
pub enum Fitted {
    /// rffnet, with either preset.
    Rffnet(Box<rffnet::Model>),
    /// Any other.
    Baseline {
        /// How its rows are encoded.
        preparation: Preparation,
        /// What was trained.
        model: rffnet_baselines::Model,
        /// The number of classes; none for numbers.
        classes: Option<usize>,
    },
}

impl Fitted {
    /// Predictions for rows, all finite.
    pub fn predict(&self, x: Matrix<'_>) -> Result<Prediction, Error> {
        let (preparation, model, classes) = match self {
            Fitted::Rffnet(model) => return Ok(Prediction::of(model, x)?),
            Fitted::Baseline { preparation, model, classes } => (preparation, model, classes),
        };
        let rows = preparation.apply(x);
        let x = Matrix::new(&rows, x.rows(), preparation.width())?;
        let (prediction, per_row) = match classes {
            None => (Prediction::Values(model.predict(x)?), model.outputs()),
            Some(classes) => {
                let prediction = match model.probabilities(x)? {
                    Some(p) => Prediction::Probabilities(p),
                    // One number speaks for the second of two classes.
                    None if *classes == 2 => {
                        Prediction::Ranks(model.decision(x)?.into_iter().flat_map(|f| [-f, f]).collect())
                    }
                    None => Prediction::Ranks(model.decision(x)?),
                };
                (prediction, *classes)
            }
        };
        match prediction.numbers().iter().position(|v| !v.is_finite()) {
            None => Ok(prediction),
            Some(at) => {
                Err(Error::new(format!("the prediction for row {} is not a finite number", at / per_row + 1)))
            }
        }
    }

    /// How much each column matters, where the method knows it: |theta| of rffnet.
    pub fn relevances(&self) -> Option<Vec<f64>> {
        match self {
            Fitted::Rffnet(model) => Some(model.relevances().into_iter().map(f64::from).collect()),
            Fitted::Baseline { preparation, model, .. } => {
                model.relevances().map(|encoded| preparation.largest(&encoded))
            }
        }
    }

    /// The root mean square of the derivative along each standardised column, of rffnet.
    pub fn importances(&self) -> Option<Vec<f64>> {
        match self {
            Fitted::Rffnet(model) => Some(model.importances().iter().copied().map(f64::from).collect()),
            Fitted::Baseline { .. } => None,
        }
    }

    /// What the user should know of the fit.
    pub fn note(&self) -> Option<String> {
        match self {
            Fitted::Rffnet(model) => {
                Some(model.summary().warnings.join("; ")).filter(|warnings| !warnings.is_empty())
            }
            Fitted::Baseline { .. } => None,
        }
    }
}

impl Job {
    /// Trains this job's model on `data`.
    pub fn fit(&self, data: &Data<'_>) -> Result<Fitted, Error> {
        self.model.fit(data, self.seed, self.memory_limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outcome, Part, Source, run};
    use rffnet_data::Simulated;

    fn outcome(spec: ModelSpec, set: Simulated, rows: usize) -> Outcome {
        let part = |part| Source::Simulated { set, rows, test_rows: 200, seed: 5, part };
        run(&Job { threads: 1, ..Job::new(spec, part(Part::Train), part(Part::Test)) })
    }

    /// Every name, on numbers and on classes: better than a constant, or a sentence that says why not.
    #[test]
    fn every_method_learns() {
        for &kind in Kind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
            // Sparse features take their time, and fit the noise of so few rows.
            let (set, rows) = if kind == Kind::Srff { (Simulated::Jse3, 20) } else { (Simulated::Jse2, 120) };
            let numbers = outcome(kind.into(), set, rows);
            let r2 = numbers.scores.and_then(|s| s.r2()).unwrap_or_else(|| panic!("{kind}: {numbers:?}"));
            let worth = if matches!(kind, Kind::Constant | Kind::Srff) { -0.5 } else { 0.1 };
            assert!(r2 > worth, "{kind}: {r2}");
            let classes = outcome(kind.into(), Simulated::Moons, 300);
            match (kind, classes.scores) {
                (Kind::Constant, Some(s)) => assert_eq!(s.get("auc"), Some(0.5)),
                (_, Some(s)) => {
                    let (auc, accuracy) = (s.get("auc").unwrap(), s.get("accuracy").unwrap());
                    assert!(auc > 0.9 && accuracy > 0.8, "{kind}: {s:?}");
                }
                (_, None) => assert!(classes.note.unwrap().contains("class"), "{kind}"),
            }
        }
    }

    #[test]
    fn settings_differ_and_unknown_ones_are_refused() {
        let mse = |spec: ModelSpec| {
            let outcome = outcome(spec, Simulated::Jse3, 150);
            outcome.scores.and_then(|s| s.get("mse")).unwrap_or_else(|| panic!("{outcome:?}"))
        };
        let linear = ModelSpec::new(Kind::Linear);
        assert_ne!(mse(linear.clone()), mse(linear.clone().paper()));
        assert!(mse(ModelSpec::new(Kind::Gpr).converged()) < mse(ModelSpec::new(Kind::Gpr).paper()));
        let few = Params::paper().random_features(10).epochs(2);
        let paper = ModelSpec::new(Kind::RffnetPaper);
        assert_ne!(mse(paper.clone().with(few.clone())), mse(paper));
        let note = |spec| outcome(spec, Simulated::Jse3, 150).note.unwrap();
        assert_eq!(note(ModelSpec::new(Kind::Krr).converged()), "krr has no setting 'converged'");
        assert!(note(linear.with(few)).starts_with("parameters of rffnet mean nothing to linear"));
        let error = "nystrom".parse::<Kind>().unwrap_err().to_string();
        assert!(error.starts_with("there is no model 'nystrom' (did you mean 'nystroem'?)"), "{error}");
    }
}
