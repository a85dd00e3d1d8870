//! `rffnet predict`: one line per row.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use rffnet::{Model, Task};
use rffnet_data::{ColumnRef, ReadOptions, Table, Values, csv_cell, write_parquet};
use serde::Serialize;

use crate::cli::Globals;
use crate::failure::{Failure, in_file};
use crate::options::{CsvOptions, GapOptions};
use crate::output::Destination;
use crate::read::{for_model, read_files, tell};
use crate::text::exact;

const EXAMPLES: &str = "\
Examples:
  rffnet predict houses.rffnet new.csv > prices.csv
  rffnet predict iris.rffnet flowers.csv --proba -o classes.csv
  rffnet predict houses.rffnet new.csv --id address --keep street,area -o prices.parquet
  rffnet predict houses.rffnet - < new.csv

Columns are matched by name where there are names: their order does not matter, further ones are ignored.
A level of a category that the model does not know counts as a rare one; how many there were is said.";

/// Predict the rows of a file: CSV with a header and one line per row, or Parquet
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Predict {
    /// The model file
    model: PathBuf,
    /// The rows to predict; several files or a pattern are read as one; `-` is standard input
    #[arg(required = true)]
    data: Vec<String>,
    /// Class probabilities too, one column `p_CLASS` each [default: the label alone]
    #[arg(long)]
    proba: bool,
    /// A column to write before the predictions, such as the rows' id [default: none]
    #[arg(long, value_name = "COL")]
    id: Option<ColumnRef>,
    /// Further columns to write before the predictions, as they stand in the file; repeat it or separate with commas
    /// [default: none]
    #[arg(long, value_name = "COL", value_delimiter = ',')]
    keep: Vec<ColumnRef>,
    #[command(flatten)]
    gaps: GapOptions,
    #[command(flatten)]
    csv: CsvOptions,
    /// Write to this file, as Parquet if its name ends in .parquet [default: CSV to standard output]
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
        let inputs = self.data.iter().map(String::as_str).chain([&*model_path]).collect::<Vec<_>>();
        let destination = Destination::new(self.output.as_deref(), &inputs)?;
        let parquet =
            self.output.as_ref().is_some_and(|path| path.extension().is_some_and(|e| e == "parquet"));
        if parquet && globals.json {
            return Err(Failure::usage("--json and a Parquet file exclude each other; give one of them"));
        }
        let model = Model::load(&self.model)?;
        if self.proba && model.task() == Task::Regression {
            return Err(Failure::request("a regression model has no class probabilities; leave out --proba"));
        }
        let options = self.csv.with(ReadOptions {
            format: globals.format,
            keep: self.id.iter().chain(&self.keep).cloned().collect(),
            ..self.gaps.with(for_model(&model))
        });
        let table = read_files(&self.data, &options).map_err(|error| match &self.id {
            Some(id) if !self.keep.contains(id) => Failure::from(error).with_flag(id, "--keep", "--id"),
            _ => error.into(),
        })?;
        tell(&table, globals);
        let predicted = self.predicted(&model, table.matrix()?).map_err(in_file(&table.source))?;
        destination.write(|out| match (globals.json, parquet) {
            (true, _) => predicted.json(&table, out),
            (false, true) => predicted.parquet(&table.kept, out),
            (false, false) => predicted.csv(&table.kept, out),
        })
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

/// Columns of the file that are written before the predictions.
type Kept = [(String, Vec<String>)];

impl Predicted<'_> {
    /// The names of the predictions' columns.
    fn names(&self) -> Vec<String> {
        match self {
            Predicted::Values { outputs: 1, .. } | Predicted::Labels { probabilities: None, .. } => {
                vec!["prediction".into()]
            }
            Predicted::Values { outputs, .. } => (1..=*outputs).map(|k| format!("prediction{k}")).collect(),
            Predicted::Labels { classes, .. } => {
                let probabilities = classes.iter().map(|class| format!("p_{class}"));
                ["prediction".to_string()].into_iter().chain(probabilities).collect()
            }
        }
    }

    fn csv(&self, kept: &Kept, out: &mut dyn Write) -> io::Result<()> {
        let names = self.names();
        let names = kept.iter().map(|(name, _)| name).chain(&names).map(|name| csv_cell(name));
        writeln!(out, "{}", names.collect::<Vec<_>>().join(","))?;
        let rows = match self {
            Predicted::Values { values, outputs } => values.len() / outputs,
            Predicted::Labels { labels, .. } => labels.len(),
        };
        for row in 0..rows {
            for (_, texts) in kept {
                write!(out, "{},", csv_cell(&texts[row]))?;
            }
            match self {
                Predicted::Values { values, outputs } => {
                    writeln!(out, "{}", numbers(&values[row * outputs..(row + 1) * outputs]))?;
                }
                Predicted::Labels { labels, probabilities: None, .. } => {
                    writeln!(out, "{}", csv_cell(labels[row]))?;
                }
                Predicted::Labels { labels, probabilities: Some(p), classes } => {
                    let p = &p[row * classes.len()..(row + 1) * classes.len()];
                    writeln!(out, "{},{}", csv_cell(labels[row]), numbers(p))?;
                }
            }
        }
        Ok(())
    }

    fn parquet(&self, kept: &Kept, out: &mut dyn Write) -> io::Result<()> {
        let names = self.names();
        let mut columns: Vec<(&str, Values<'_>)> = Vec::new();
        for (name, texts) in kept {
            let texts = texts.iter().map(|text| Some(text.as_str()).filter(|text| !text.is_empty()));
            columns.push((name, Values::Texts(texts.collect())));
        }
        let every = |numbers: &[f64], k: usize, width: usize| -> Vec<f64> {
            numbers.iter().skip(k).step_by(width).copied().collect()
        };
        let numbers: Vec<Vec<f64>> = match self {
            Predicted::Values { values, outputs } => {
                (0..*outputs).map(|k| every(values, k, *outputs)).collect()
            }
            Predicted::Labels { labels, probabilities, classes } => {
                columns.push((&names[0], Values::Texts(labels.iter().copied().map(Some).collect())));
                let probabilities = probabilities.as_deref().unwrap_or_default();
                let given = if probabilities.is_empty() { 0 } else { classes.len() };
                (0..given).map(|k| every(probabilities, k, classes.len())).collect()
            }
        };
        let own = &names[names.len() - numbers.len()..];
        columns.extend(own.iter().zip(&numbers).map(|(name, v)| (name.as_str(), Values::Numbers(v))));
        write_parquet(&columns, out)
    }

    fn json(&self, table: &Table, out: &mut dyn Write) -> io::Result<()> {
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
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            kept: BTreeMap<&'a String, &'a [String]>,
        }
        let (rows, kept) = (table.rows, table.kept.iter().map(|(name, texts)| (name, &texts[..])).collect());
        let report = match self {
            Predicted::Values { values, outputs } => {
                let predictions = match outputs {
                    1 => Predictions::Numbers(values),
                    k => Predictions::Rows(values.chunks_exact(*k).collect()),
                };
                Report { rows, classes: None, predictions, probabilities: None, kept }
            }
            Predicted::Labels { labels, probabilities, classes } => Report {
                rows,
                classes: Some(classes),
                predictions: Predictions::Labels(labels),
                probabilities: probabilities.as_ref().map(|p| p.chunks_exact(classes.len()).collect()),
                kept,
            },
        };
        serde_json::to_writer(&mut *out, &report)?;
        writeln!(out)
    }
}

fn numbers(values: &[f64]) -> String {
    values.iter().map(|v| exact(*v)).collect::<Vec<_>>().join(",")
}
