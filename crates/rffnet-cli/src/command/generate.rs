//! `rffnet generate`: a simulated set as a file.

use std::path::PathBuf;

use clap::Args;
use rffnet_data::{Format, Simulated, write};

use crate::cli::Globals;
use crate::failure::Failure;
use crate::output::{Destination, object, print_json};
use crate::text::plural;
use crate::values::{self, named};

const EXAMPLES: &str = "\
Examples:
  rffnet generate gse1 --rows 5000 --seed 1 -o gse1.csv
  rffnet generate moons --rows 100 | head
  rffnet generate gse2 --rows 20000 -o gse2.npy

The name of the file tells the format: .csv, .libsvm and .npy, with .gz after it compressed.";

/// Write one of the paper's simulated sets to a file
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Generate {
    /// The simulated set
    #[arg(value_parser = named(Simulated::ALL))]
    name: Simulated,
    /// Rows to draw
    #[arg(long, value_name = "N", value_parser = values::whole::<usize>, default_value_t = 10_000)]
    rows: usize,
    /// Write to this file [default: CSV to standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Generate {
    pub(crate) fn run(&self, globals: &Globals) -> Result<(), Failure> {
        self.name.check_rows(self.rows)?;
        let destination = Destination::new(self.output.as_deref(), &[])?;
        if globals.json && matches!(destination, Destination::Stdout) {
            return Err(Failure::usage(
                "--json needs -o FILE here: without, the rows themselves go to standard output",
            ));
        }
        let table = self.name.generate(self.rows, globals.seed());
        destination.write(|out| write(&table, &self.file_name(globals.format), out))?;
        let Destination::File(path) = destination else { return Ok(()) };
        if globals.json {
            return print_json(&object! {
                name: self.name.name(),
                rows: table.rows,
                columns: table.columns(),
                seed: globals.seed(),
                file: path.display().to_string(),
            });
        }
        let (rows, columns) = (plural(table.rows, "row"), plural(table.columns(), "column"));
        globals.tell(format_args!("{rows} of {columns} written to {}", path.display()));
        Ok(())
    }

    /// The name that tells the writer its format: the file's, unless --format says otherwise.
    fn file_name(&self, format: Option<Format>) -> String {
        let name =
            self.output.as_ref().map_or_else(|| "-".into(), |path| path.to_string_lossy().into_owned());
        match format {
            None => name,
            Some(format) if name.to_ascii_lowercase().ends_with(".gz") => format!("rows.{format}.gz"),
            Some(format) => format!("rows.{format}"),
        }
    }
}
