//! `rffnet eval`: scores of a model on rows with a known target.

use std::path::PathBuf;

use clap::Args;
use rffnet::Model;
use rffnet::scores::Scores;
use rffnet_data::{ColumnRef, ReadOptions, Sample};

use crate::cli::Globals;
use crate::failure::{Failure, in_file};
use crate::options::Header;
use crate::output::{print, print_json};
use crate::read::{for_model, read_with_target};
use crate::scores::shown;
use crate::target;
use crate::text::plural;

const EXAMPLES: &str = "\
Examples:
  rffnet eval houses.rffnet test.csv --target price
  rffnet eval a9a.rffnet a9a.t.libsvm --json

Scores: mse and r2 of a regression; auc (macro one-vs-rest for several classes), accuracy, log_loss and
average_precision of a classifier.";

/// Which rows, and what is known of them. Shared with `select`.
#[derive(Debug, Args)]
pub(crate) struct Rows {
    /// The model file
    pub(crate) model: PathBuf,
    /// Rows the model has not seen, with their target; `-` is standard input
    pub(crate) data: String,
    /// The column to compare with, by name or 1-based position [default: the last one of a file without a header, and
    /// LIBSVM's label]
    #[arg(long, short, value_name = "COL")]
    target: Option<ColumnRef>,
    /// The column of row weights [default: none]
    #[arg(long, value_name = "COL")]
    weight: Option<ColumnRef>,
    #[command(flatten)]
    header: Header,
}

impl Rows {
    pub(crate) fn read(&self, globals: &Globals) -> Result<(Model, Sample), Failure> {
        let model = Model::load(&self.model)?;
        let options = ReadOptions {
            format: globals.format,
            target: self.target.clone(),
            weight: self.weight.clone(),
            header: self.header.choice(),
            ..for_model(&model)
        };
        let table = read_with_target(&self.data, &options)?;
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
}

impl Eval {
    pub(crate) fn run(&self, globals: &Globals) -> Result<(), Failure> {
        let (model, sample) = self.rows.read(globals)?;
        let scores = Scores::of(&model, &sample.data()?).map_err(in_file(&sample.table.source))?;
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
