//! `rffnet select`: which columns to keep.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rffnet::Task;
use rffnet::select::{TopK, top_k};
use serde::Serialize;

use super::eval::Rows;
use crate::cli::Globals;
use crate::failure::{Failure, in_file};
use crate::output::{check_writable, print, print_json};
use crate::text::{count, name, number, plural};
use crate::values;

const EXAMPLES: &str = "\
Examples:
  rffnet select gse1.rffnet held-out.csv
  rffnet select gse1.rffnet held-out.csv -o small.rffnet

`topk` keeps the k most relevant columns, for the k that scores best on the given rows, less those that gain no more
than chance. Give rows that the model was not fitted on.";

/// Select columns by their relevance, on rows the model has not seen
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Select {
    #[command(flatten)]
    rows: Rows,
    /// How to select
    #[arg(long, value_enum, default_value_t = Method::Topk)]
    method: Method,
    /// Largest expected share of false discoveries, of methods that control it [default: 0.1]
    #[arg(long, value_name = "Q", value_parser = values::real)]
    fdr: Option<f64>,
    /// Write the model that uses the selected columns alone to this file [default: do not keep it]
    #[arg(long, short, value_name = "MODEL")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Method {
    /// The k most relevant columns, for the best k
    Topk,
    /// Not available yet
    Stability,
    /// Not available yet
    Hrt,
    /// Not available yet
    Knockoff,
}

/// The object of `select --json`.
#[derive(Serialize)]
struct Report<'a> {
    method: &'static str,
    fdr: Option<f64>,
    selected: Vec<&'a str>,
    ranking: Vec<Ranked<'a>>,
    note: String,
    metric: &'static str,
    path: Vec<Step<'a>>,
    model: Option<String>,
}

/// A column and what it is ranked by.
#[derive(Serialize)]
struct Ranked<'a> {
    feature: &'a str,
    score: f32,
}

/// The metric with so many columns, the last of them just added.
#[derive(Serialize)]
struct Step<'a> {
    columns: usize,
    added: Option<&'a str>,
    score: f64,
}

impl Select {
    pub(crate) fn run(&self, globals: &Globals) -> Result<(), Failure> {
        if self.method != Method::Topk {
            let method = self.method.to_possible_value().map_or(String::new(), |v| v.get_name().to_string());
            return Err(Failure::request(format!(
                "the method {method} is not available yet; use --method topk"
            )));
        }
        if self.fdr.is_some() {
            return Err(Failure::request("topk does not control false discoveries; leave out --fdr"));
        }
        if let Some(path) = &self.output {
            if path.as_os_str() == "-" {
                return Err(Failure::usage(
                    "a model cannot be written to standard output; give -o a file name",
                ));
            }
            check_writable(path, &self.rows.data.iter().map(String::as_str).collect::<Vec<_>>())?;
        }
        let (model, sample) = self.rows.read(globals)?;
        let found = top_k(&model, &sample.data()?).map_err(in_file(&sample.table.source))?;
        let names = model.feature_names();
        let metric = if model.task() == Task::Regression { "mse" } else { "auc" };
        let sign = if model.task() == Task::Regression { -1.0 } else { 1.0 };
        let report = Report {
            method: "topk",
            fdr: None,
            selected: found.selected().iter().map(|&j| names[j].as_str()).collect(),
            ranking: found
                .order
                .iter()
                .map(|&j| Ranked { feature: &names[j], score: found.rank[j] })
                .collect(),
            note: note(&found, metric, sample.table.rows),
            metric,
            path: steps(&found, names, sign),
            model: self.output.as_ref().map(|path| path.display().to_string()),
        };
        if let Some(path) = &self.output {
            model.restricted(found.selected()).save(path)?;
        }
        if globals.json { print_json(&report) } else { print(&report.text(&found)) }
    }
}

fn steps<'a>(found: &TopK, names: &'a [String], sign: f64) -> Vec<Step<'a>> {
    let added = |k: usize| k.checked_sub(1).map(|i| names[found.order[i]].as_str());
    let step = |s: &rffnet::select::Step| Step {
        columns: s.columns,
        added: added(s.columns),
        score: sign * s.score,
    };
    found.path.iter().map(step).collect()
}

fn note(found: &TopK, metric: &str, rows: usize) -> String {
    let why = if found.kept < found.best {
        format!("no worse, but for chance, than the best {metric}")
    } else {
        format!("the best {metric}")
    };
    format!(
        "{} of {} kept: {why} on {}, which should be rows the model was not fitted on",
        count(found.kept),
        plural(found.order.len(), "column"),
        plural(rows, "row")
    )
}

impl Report<'_> {
    fn text(&self, found: &TopK) -> String {
        let TopK { best, kept, .. } = *found;
        // The path matters around the best; a long tail is one line.
        let shown = if self.path.len() <= best + 11 { self.path.len() } else { best + 10 };
        let cell = |step: &Step<'_>| step.added.map_or("(none)".into(), |added| name(added, 28));
        let wide = self.path[..shown].iter().map(|s| cell(s).chars().count()).max().unwrap_or(0).max(5);
        let mut out = format!("  columns  {:<wide$}  {:>9}\n", "added", self.metric);
        for step in &self.path[..shown] {
            let mark = match step.columns {
                columns if columns == kept && kept < best => "  <- no worse, but for chance",
                columns if columns == best => "  <- best",
                _ => "",
            };
            let (columns, score) = (count(step.columns), number(step.score));
            out.push_str(&format!("  {columns:>7}  {:<wide$}  {score:>9}{mark}\n", cell(step)));
        }
        if shown < self.path.len() {
            out.push_str(&format!("  and {} more steps, none better\n", count(self.path.len() - shown)));
        }
        let selected: Vec<String> = self.selected.iter().map(|n| name(n, 40)).collect();
        let selected = if selected.is_empty() { "none".to_string() } else { selected.join(" ") };
        out.push_str(&format!("\nselected  {selected}\n          {}\n", self.note));
        if let Some(path) = &self.model {
            out.push_str(&format!("\nmodel written to {path}\n"));
        }
        out
    }
}
