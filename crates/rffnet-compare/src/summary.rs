//! From outcomes, fold by fold, to the rows of a table.

use rffnet::scores::Scores;
use serde::Serialize;

use crate::{Kind, Outcome};

/// One method over all folds: the object of `compare --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The method.
    pub model: Kind,
    /// Mean of the metric over folds; none if a fold failed.
    pub mean: Option<f64>,
    /// Its standard deviation over folds.
    pub sd: Option<f64>,
    /// Mean seconds to train on a fold.
    pub fit_seconds: Option<f64>,
    /// Mean seconds to predict a fold's test rows.
    pub predict_seconds: Option<f64>,
    /// The largest peak of memory, in MB.
    pub peak_mb: Option<f64>,
    /// Columns whose importance (without one: relevance) is at least 5 % of the largest, averaged over folds; none where
    /// the method does not know.
    pub columns_found: Option<usize>,
    /// What the user should know; why it failed, if it did.
    pub note: Option<String>,
    /// All scores of each fold.
    pub scores: Vec<Scores>,
}

/// Methods, the best first, those that failed last.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// What they are sorted by: `mse`, `auc`, or `accuracy` where a fold has no AUC.
    pub metric: &'static str,
    /// One per method.
    pub rows: Vec<Row>,
}

/// Columns below this share of the largest importance do not count as found.
const FOUND: f64 = 0.05;

/// Sums up what became of each method: its outcomes in the order of the folds, up to and including the first that
/// failed, and a remark that applies to all of them.
pub fn summarise(results: &[(Kind, Vec<Outcome>, Option<String>)]) -> Summary {
    let scores = || results.iter().flat_map(|(_, outcomes, _)| outcomes).filter_map(|o| o.scores.as_ref());
    let metric = match scores().next() {
        Some(Scores::Classification { .. }) if scores().all(|s| s.get("auc").is_some()) => "auc",
        Some(Scores::Classification { .. }) => "accuracy",
        _ => "mse",
    };
    let mut rows: Vec<Row> = results
        .iter()
        .map(|(kind, outcomes, remark)| row(*kind, outcomes, remark.as_deref(), metric))
        .collect();
    let sign = if metric == "mse" { 1.0 } else { -1.0 };
    // Equal and absent ones stay in the order in which they were asked for.
    rows.sort_by(|a, b| {
        let key = |row: &Row| row.mean.map_or(f64::INFINITY, |mean| sign * mean);
        key(a).total_cmp(&key(b))
    });
    Summary { metric, rows }
}

fn row(model: Kind, outcomes: &[Outcome], remark: Option<&str>, metric: &str) -> Row {
    let failed = outcomes.iter().position(|o| o.scores.is_none());
    let mut notes: Vec<String> = remark.map(String::from).into_iter().collect();
    for (i, outcome) in outcomes.iter().enumerate() {
        let Some(note) = &outcome.note else { continue };
        let note = match failed {
            Some(fold) if fold == i && i > 0 => format!("fold {}: {note}", i + 1),
            _ => note.clone(),
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    let values: Vec<f64> =
        outcomes.iter().filter_map(|o| o.scores.as_ref()).filter_map(|s| s.get(metric)).collect();
    let mean =
        |of: &dyn Fn(&Outcome) -> Option<f64>| average(&outcomes.iter().filter_map(of).collect::<Vec<_>>());
    let whole = failed.is_none();
    Row {
        model,
        mean: average(&values).filter(|_| whole),
        sd: deviation(&values).filter(|_| whole),
        fit_seconds: mean(&|o| o.fit_seconds).filter(|_| whole),
        predict_seconds: mean(&|o| o.predict_seconds).filter(|_| whole),
        peak_mb: outcomes.iter().filter_map(|o| o.peak_mb).max_by(f64::total_cmp).filter(|_| whole),
        columns_found: found(outcomes).filter(|_| whole),
        note: Some(notes.join("; ")).filter(|note| !note.is_empty()),
        scores: outcomes.iter().filter_map(|o| o.scores).collect(),
    }
}

fn average(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Of a sample; none for a single value.
fn deviation(values: &[f64]) -> Option<f64> {
    let mean = average(values)?;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// How many columns matter, each fold with the same say.
fn found(outcomes: &[Outcome]) -> Option<usize> {
    let mut sum: Vec<f64> = Vec::new();
    for outcome in outcomes {
        let list = outcome.importances.as_ref().or(outcome.relevances.as_ref())?;
        let largest = list.iter().copied().fold(0.0, f64::max);
        sum.resize(list.len(), 0.0);
        sum.iter_mut().zip(list).filter(|_| largest > 0.0).for_each(|(s, v)| *s += v / largest);
    }
    let largest = sum.iter().copied().fold(0.0, f64::max);
    Some(sum.iter().filter(|&&v| v > 0.0 && v >= FOUND * largest).count())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn scores(value: serde_json::Value) -> Option<Scores> {
        Some(serde_json::from_value(value).unwrap())
    }

    fn scored(mse: f64, importances: Option<Vec<f64>>) -> Outcome {
        Outcome {
            scores: scores(json!({ "mse": mse, "r2": 0.5 })),
            fit_seconds: Some(mse),
            peak_mb: Some(10.0 * mse),
            importances,
            ..Outcome::default()
        }
    }

    #[test]
    fn the_best_comes_first_and_the_failed_last() {
        let results = [
            (Kind::Gpr, vec![scored(0.1, None), Outcome::failed("too large")], None),
            (Kind::Constant, vec![scored(4.0, None), scored(6.0, None)], Some("few rows".into())),
            (
                Kind::Rffnet,
                vec![
                    scored(1.0, Some(vec![2.0, 0.2, 0.01])),
                    Outcome { note: Some("look".into()), ..scored(2.0, Some(vec![8.0, 0.1, 0.0])) },
                ],
                None,
            ),
        ];
        let summary = summarise(&results);
        assert_eq!(summary.metric, "mse");
        let [rffnet, constant, gpr] = &summary.rows[..] else { panic!("{summary:?}") };
        assert_eq!((rffnet.model, rffnet.mean, rffnet.fit_seconds), (Kind::Rffnet, Some(1.5), Some(1.5)));
        assert!((rffnet.sd.unwrap() - 0.5f64.sqrt()).abs() < 1e-12);
        assert_eq!((rffnet.peak_mb, rffnet.columns_found), (Some(20.0), Some(2)));
        assert_eq!(rffnet.note.as_deref(), Some("look"));
        assert_eq!((constant.columns_found, constant.note.as_deref()), (None, Some("few rows")));
        assert_eq!((gpr.mean, gpr.peak_mb, gpr.note.as_deref()), (None, None, Some("fold 2: too large")));
    }

    #[test]
    fn accuracy_counts_where_a_fold_has_one_class() {
        let scored = |auc: Option<f64>, accuracy: f64| {
            let scores = scores(json!({ "auc": auc, "accuracy": accuracy }));
            Outcome { scores, ..Outcome::default() }
        };
        let both = [
            (Kind::Linear, vec![scored(Some(0.9), 0.5), scored(Some(0.9), 0.5)], None),
            (Kind::Krr, vec![scored(Some(0.8), 0.6), scored(Some(0.8), 0.6)], None),
        ];
        let summary = summarise(&both);
        assert_eq!((summary.metric, summary.rows[0].model), ("auc", Kind::Linear));
        let mut one = both;
        one[0].1[1] = scored(None, 0.5);
        let summary = summarise(&one);
        assert_eq!((summary.metric, summary.rows[0].model), ("accuracy", Kind::Krr));
        assert_eq!(summary.rows[0].mean, Some(0.6));
    }
}
