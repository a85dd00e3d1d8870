//! `rffnet export`: a model in a form that other programs run.

use std::path::PathBuf;

use clap::Args;
use rffnet::{Model, Task};

use crate::cli::Globals;
use crate::failure::Failure;
use crate::output::{Destination, object, print_json};
use crate::text::{count, plural};

const EXAMPLES: &str = "\
Examples:
  rffnet export houses.rffnet --onnx houses.onnx
  rffnet export houses.rffnet --onnx - > houses.onnx

The graph's input `X` is the model's columns, in its order, as 32-bit floats; it gives `prediction`, or `label` and \
`probabilities`.";

/// Write a model as an ONNX graph, which predicts without rffnet
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Export {
    /// The model file
    model: PathBuf,
    /// Write an ONNX graph to this file; `-` is standard output [default: none; it must be given]
    #[arg(long, value_name = "FILE", required = true)]
    onnx: PathBuf,
}

impl Export {
    pub(crate) fn run(&self, globals: &Globals) -> Result<(), Failure> {
        let destination = Destination::new(Some(&self.onnx), &[&self.model.to_string_lossy()])?;
        if globals.json && matches!(destination, Destination::Stdout) {
            return Err(Failure::usage(
                "--json needs --onnx FILE here: with -, the graph itself goes to standard output",
            ));
        }
        let model = Model::load(&self.model)?;
        let bytes = rffnet_onnx::to_onnx(&model)?;
        destination.write(|out| out.write_all(&bytes))?;
        let Destination::File(path) = destination else { return Ok(()) };
        let outputs: &[&str] = match model.task() {
            Task::Regression => &["prediction"],
            Task::Classification => &["label", "probabilities"],
        };
        let columns = model.feature_names().len();
        if globals.json {
            return print_json(&object! {
                task: model.task(),
                columns,
                outputs,
                bytes: bytes.len(),
                file: path.display().to_string(),
            });
        }
        globals.tell(format_args!(
            "ONNX graph written to {} ({} bytes): X, {}, gives {}",
            path.display(),
            count(bytes.len()),
            plural(columns, "column"),
            outputs.join(" and ")
        ));
        Ok(())
    }
}
