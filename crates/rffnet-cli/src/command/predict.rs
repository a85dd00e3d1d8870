//! `rffnet predict`: one line per row.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use rffnet::{Model, Task};
use rffnet_data::{ReadOptions, csv_cell};
use serde::Serialize;

use crate::cli::Globals;
use crate::failure::{Failure, in_file};
use crate::options::Header;
use crate::output::Destination;
use crate::read::for_model;
use crate::text::exact;

const EXAMPLES: &str = "\
Examples:
  rffnet predict houses.rffnet new.csv > prices.csv
  rffnet predict iris.rffnet flowers.csv --proba -o classes.csv
  rffnet predict houses.rffnet - < new.csv

Columns are matched by name where there are names: their order does not matter, further ones are ignored.";

/// Predict the rows of a file: CSV with a header and one line per row
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Predict {
    /// The model file
    model: PathBuf,
    /// The rows to predict; `-` is standard input
    data: String,
    /// Class probabilities too, one column `p_CLASS` each [default: the label alone]
    #[arg(long)]
    proba: bool,
    #[command(flatten)]
    header: Header,
    /// Write to this file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What was predicted, row by row.
enum Predicted<'a> {
    /// So many numbers per row.
    Values {
        values: Vec<f64>,
        outputs: usize,
    },
    Labels {
        labels: Vec<&'a str>,
        probabilities: Option<Vec<f64>>,
        classes: &'a [String],
    },
}

impl Predict {
    pub(crate) fn run(&self, globals: &Globals) -> Result<(), Failure> {
        let model_path = self.model.to_string_lossy();
        let destination = Destination::new(self.output.as_deref(), &[&self.data, &model_path])?;
        let model = Model::load(&self.model)?;
        if self.proba && model.task() == Task::Regression {
            return Err(Failure::request("a regression model has no class probabilities; leave out --proba"));
        }
        let options =
            ReadOptions { format: globals.format, header: self.header.choice(), ..for_model(&model) };
        let table = rffnet_data::read(&self.data, &options)?;
        let predicted = self.predicted(&model, table.matrix()?).map_err(in_file(&table.source))?;
        destination
            .write(|out| if globals.json { predicted.json(table.rows, out) } else { predicted.csv(out) })
    }

    fn predicted<'a>(&self, model: &'a Model, x: rffnet::Matrix<'_>) -> Result<Predicted<'a>, rffnet::Error> {
        if model.task() == Task::Regression {
            return Ok(Predicted::Values { values: model.predict(x)?, outputs: model.outputs() });
        }
        let classes = model.classes();
        let labels = model.labels(x)?.into_iter().map(|code| classes[code as usize].as_str()).collect();
        let probabilities = if self.proba { Some(model.probabilities(x)?) } else { None };
        Ok(Predicted::Labels { labels, probabilities, classes })
    }
}

impl Predicted<'_> {
    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Predicted::Values { values, outputs: 1 } => {
                writeln!(out, "prediction")?;
                values.iter().try_for_each(|v| writeln!(out, "{}", exact(*v)))
            }
            Predicted::Values { values, outputs } => {
                let header: Vec<String> = (1..=*outputs).map(|k| format!("prediction{k}")).collect();
                writeln!(out, "{}", header.join(","))?;
                values.chunks_exact(*outputs).try_for_each(|row| writeln!(out, "{}", numbers(row)))
            }
            Predicted::Labels { labels, probabilities: None, .. } => {
                writeln!(out, "prediction")?;
                labels.iter().try_for_each(|label| writeln!(out, "{}", csv_cell(label)))
            }
            Predicted::Labels { labels, probabilities: Some(p), classes } => {
                let header: Vec<String> =
                    classes.iter().map(|class| csv_cell(&format!("p_{class}")).into_owned()).collect();
                writeln!(out, "prediction,{}", header.join(","))?;
                let rows = labels.iter().zip(p.chunks_exact(classes.len()));
                rows.into_iter()
                    .try_for_each(|(label, p)| writeln!(out, "{},{}", csv_cell(label), numbers(p)))
            }
        }
    }

    fn json(&self, rows: usize, out: &mut dyn Write) -> io::Result<()> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Predictions<'a> {
            Numbers(&'a [f64]),
            Rows(Vec<&'a [f64]>),
            Labels(&'a [&'a str]),
        }
        #[derive(Serialize)]
        struct Report<'a> {
            rows: usize,
            #[serde(skip_serializing_if = "Option::is_none")]
            classes: Option<&'a [String]>,
            predictions: Predictions<'a>,
            #[serde(skip_serializing_if = "Option::is_none")]
            probabilities: Option<Vec<&'a [f64]>>,
        }
        let report = match self {
            Predicted::Values { values, outputs } => {
                let predictions = match outputs {
                    1 => Predictions::Numbers(values),
                    k => Predictions::Rows(values.chunks_exact(*k).collect()),
                };
                Report { rows, classes: None, predictions, probabilities: None }
            }
            Predicted::Labels { labels, probabilities, classes } => Report {
                rows,
                classes: Some(classes),
                predictions: Predictions::Labels(labels),
                probabilities: probabilities.as_ref().map(|p| p.chunks_exact(classes.len()).collect()),
            },
        };
        serde_json::to_writer(&mut *out, &report)?;
        writeln!(out)
    }
}

fn numbers(values: &[f64]) -> String {
    values.iter().map(|v| exact(*v)).collect::<Vec<_>>().join(",")
}
