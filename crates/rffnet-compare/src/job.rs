//! One method, one training part, one test part.

use std::time::Instant;

use rayon::ThreadPoolBuilder;
use rffnet::scores::Scores;
use serde::{Deserialize, Serialize};

use crate::apart::peak_mb;
use crate::source::read_pair;
use crate::{Error, ModelSpec, Source};

/// What to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The method.
    pub model: ModelSpec,
    /// The rows to learn from.
    pub train: Source,
    /// The rows to be scored on.
    pub test: Source,
    /// Where random numbers start.
    pub seed: u64,
    /// Threads to work with; 0 is all cores.
    pub threads: usize,
    /// The largest array a baseline may ask for, in bytes.
    pub memory_limit: u64,
}

impl Job {
    /// With seed 0, all cores and arrays of up to 8 GB.
    pub fn new(model: impl Into<ModelSpec>, train: Source, test: Source) -> Self {
        Self { model: model.into(), train, test, seed: 0, threads: 0, memory_limit: 8_000_000_000 }
    }
}

/// How it went; without scores it failed, and the note says why.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// On the test rows.
    pub scores: Option<Scores>,
    /// Training alone, without reading.
    pub fit_seconds: Option<f64>,
    /// Predictions for the test rows.
    pub predict_seconds: Option<f64>,
    /// The most memory the process had, in MB; it includes the rows. None where the system does not say.
    pub peak_mb: Option<f64>,
    /// How much each column matters, where the method knows it: |theta| of rffnet.
    pub relevances: Option<Vec<f64>>,
    /// The root mean square of the derivative along each standardised column, of rffnet.
    pub importances: Option<Vec<f64>>,
    /// What the user should know.
    pub note: Option<String>,
}

impl Outcome {
    pub(crate) fn failed(why: impl ToString) -> Self {
        Self { note: Some(why.to_string()), ..Self::default() }
    }
}

/// Does a job in this process, whose memory then counts as the job's.
pub fn run(job: &Job) -> Outcome {
    let pool = match ThreadPoolBuilder::new().num_threads(job.threads).build() {
        Ok(pool) => pool,
        Err(e) => return Outcome::failed(format!("the threads could not be started: {e}")),
    };
    let outcome = pool.install(|| work(job)).unwrap_or_else(Outcome::failed);
    Outcome { peak_mb: peak_mb(), ..outcome }
}

fn work(job: &Job) -> Result<Outcome, Error> {
    let (train, test) = read_pair(&job.train, &job.test)?;
    if train.table.rows == 0 || test.table.rows == 0 {
        return Err(Error::new("there are no rows to learn from, or none to be scored on"));
    }
    let (data, held) = (train.data()?, test.data()?);
    let begun = Instant::now();
    let fitted = job.fit(&data)?;
    let fit_seconds = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let prediction = fitted.predict(held.x)?;
    let predict_seconds = begun.elapsed().as_secs_f64();
    let scores = Scores::new(&prediction, &held)?;
    if !scores.is_finite() {
        return Err(Error::new("no test row has a weight above zero, so there is nothing to score"));
    }
    Ok(Outcome {
        scores: Some(scores),
        fit_seconds: Some(fit_seconds),
        predict_seconds: Some(predict_seconds),
        peak_mb: None,
        relevances: fitted.relevances(),
        importances: fitted.importances(),
        note: fitted.note(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Part};
    use rffnet_data::Simulated;

    fn job(kind: Kind, set: Simulated) -> Job {
        let part = |part| Source::Simulated { set, rows: 300, test_rows: 100, seed: 2, part };
        Job::new(kind, part(Part::Train), part(Part::Test))
    }

    #[test]
    fn jobs_and_outcomes_are_json() {
        let job = job(Kind::Constant, Simulated::Moons);
        let text = serde_json::to_string(&job).unwrap();
        assert_eq!(serde_json::from_str::<Job>(&text).unwrap(), job);
        let outcome = run(&job);
        let text = serde_json::to_string(&outcome).unwrap();
        assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome);
        assert_eq!(outcome.scores.and_then(|s| s.get("auc")), Some(0.5));
    }

    #[test]
    fn rffnet_knows_its_columns() {
        let outcome = run(&job(Kind::Rffnet, Simulated::Jse3));
        assert!(outcome.scores.and_then(|s| s.r2()).unwrap() > 0.9, "{outcome:?}");
        let importances = outcome.importances.unwrap();
        assert!(importances[..2].iter().all(|&v| v > 10.0 * importances[5]), "{importances:?}");
        assert!(outcome.fit_seconds.unwrap() > 0.0);
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        let mut converged = job(Kind::Rffnet, Simulated::Jse3);
        converged.model = converged.model.converged();
        assert_eq!(run(&converged).note.as_deref(), Some("rffnet has no setting 'converged'"));
        let mut empty = job(Kind::Constant, Simulated::Jse3);
        empty.train = Source::Snapshot { path: "no such file".into(), rows: None };
        let note = run(&empty).note.unwrap();
        assert!(note.starts_with("cannot read no such file"), "{note}");
    }
}
