//! `rffnet eval`: scores of a model on rows with a known target.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use rffnet::Model;
use rffnet::scores::Scores;
use rffnet_data::{ColumnRef, ReadOptions, Sample};

use crate::cli::Globals;
use crate::failure::{Failure, in_file};
use crate::options::{CsvOptions, GapOptions};
use crate::output::{print, print_json};
use crate::read::{for_model, read_with_target, tell};
use crate::scores::shown;
use crate::target;
use crate::text::{exact, name, plural};

const EXAMPLES: &str = "\
Examples:
  rffnet eval houses.rffnet test.csv
  rffnet eval houses.rffnet test.csv --target sold_for --metric mae
  rffnet eval a9a.rffnet a9a.t.libsvm --json

Scores: mse, r2, mae and median_ae of a regression, pinball and coverage of a model of a quantile too; auc (macro one-vs-rest
for several classes), accuracy, log_loss and average_precision of a classifier.";

/// Which rows, and what is known of them. Shared with `select`.
#[derive(Debug, Args)]
pub(crate) struct Rows {
    /// The model file
    pub(crate) model: PathBuf,
    /// Rows the model has not seen, with their target; several files or a pattern are read as one; `-` is standard input
    #[arg(required = true)]
    pub(crate) data: Vec<String>,
    /// The column to compare with, by name or 1-based position [default: the one of the same name as in the fit, the last
    /// one of a file without a header, and LIBSVM's label]
    #[arg(long, short, value_name = "COL")]
    target: Option<ColumnRef>,
    /// The column of row weights [default: none]
    #[arg(long, value_name = "COL")]
    weight: Option<ColumnRef>,
    /// Leave out rows without a target [default: such rows are an error]
    #[arg(long)]
    drop_missing_target: bool,
    #[command(flatten)]
    gaps: GapOptions,
    #[command(flatten)]
    csv: CsvOptions,
}

impl Rows {
    pub(crate) fn read(&self, globals: &Globals) -> Result<(Model, Sample), Failure> {
        let model = Model::load(&self.model)?;
        let options = self.csv.with(ReadOptions {
            format: globals.format,
            target: self.target.clone(),
            likely_target: model.target_name().map(String::from),
            weight: self.weight.clone(),
            drop_missing_target: self.drop_missing_target,
            ..self.gaps.with(for_model(&model))
        });
        let table = read_with_target(&self.data, &options)?;
        tell(&table, globals);
        let target = target::of_model(&table, &model)?;
        Ok((model, Sample { table, target }))
    }
}

/// Score a model on rows with a known target
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Eval {
    #[command(flatten)]
    rows: Rows,
    /// Print this score alone, with all of its digits [default: all scores]
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
}

impl Eval {
    pub(crate) fn run(&self, globals: &Globals) -> Result<(), Failure> {
        let (model, sample) = self.rows.read(globals)?;
        let scores = Scores::of(&model, &sample.data()?).map_err(in_file(&sample.table.source))?;
        if let Some(metric) = &self.metric {
            return one(&scores, metric, globals.json);
        }
        if globals.json {
            return print_json(&scores);
        }
        let rows = plural(sample.table.rows, "row");
        globals.tell(format_args!("{}: {rows}, {}", sample.table.source, model.task()));
        let entries = scores.entries();
        let wide = entries.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let line = |(name, value): &(&str, Option<f64>)| format!("{name:<wide$}  {}\n", shown(*value));
        print(&entries.iter().map(line).collect::<String>())
    }
}

/// One score, by its name.
fn one(scores: &Scores, metric: &str, json: bool) -> Result<(), Failure> {
    let entries = scores.entries();
    let Some((known, value)) = entries.iter().find(|(known, _)| *known == metric) else {
        let names: Vec<&str> = entries.iter().map(|(name, _)| *name).collect();
        return Err(Failure::request(format!(
            "there is no score '{}' here; the scores are {}",
            name(metric, 40),
            names.join(", ")
        )));
    };
    if json {
        return print_json(&BTreeMap::from([(known, value)]));
    }
    print(&format!("{}\n", value.map_or("-".into(), exact)))
}
