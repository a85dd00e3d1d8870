//! `rffnet compare`: which method is best on these rows?

mod line;
mod table;

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use rffnet::{Missing, OwnedTarget, Params};
use rffnet_compare::{Job, Kind, ModelSpec, Outcome, Source, run_apart, summarise, write_snapshot};
use rffnet_data::{Fold, Sample, Simulated, folds, group_folds, stratified_folds, subsample, time_folds};

use self::line::Line;
use crate::apart::{Apart, ApartOptions};
use crate::cli::Globals;
use crate::failure::Failure;
use crate::options::{ColumnOptions, check_source};
use crate::output::{Destination, object, write_json};
use crate::progress::INTERRUPTED;
use crate::read::{check_simulated, read_with_target};
use crate::target;
use crate::text::{count, name, plural};
use crate::values::{self, named};

const EXAMPLES: &str = "\
Examples:
  rffnet compare houses.csv --target price
  rffnet compare --dataset gse1 --rows 2000 --models rffnet,krr,constant --folds 3
  rffnet compare visits.csv --target cost --group patient --markdown -o visits.md
  rffnet compare prices.csv --target price --time --json

Every method learns from the same rows, in a process of its own; all but rffnet see the columns as rffnet encodes them,
standardised, with gaps filled in. A method that fails or would need too much memory is a line that says why.";

/// What is compared unless asked otherwise: quick methods, and something to beat.
const USUAL: &[Kind] =
    &[Kind::Rffnet, Kind::RffnetPaper, Kind::Krr, Kind::Nystroem, Kind::Rff, Kind::Linear, Kind::Constant];
const FOLDS: usize = 5;
const SIMULATED_ROWS: usize = 10_000;

/// Training rows of methods that would take far longer than the others.
fn usual_limit(kind: Kind) -> Option<usize> {
    match kind {
        Kind::Krr => Some(5_000),
        Kind::Gpr | Kind::Srff => Some(2_000),
        _ => None,
    }
}

/// Compare methods on your data, by cross-validation
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Compare {
    /// The rows to learn from and to be scored on: CSV, Parquet, JSON lines, LIBSVM or .npy, compressed or not; several files
    /// or a pattern such as 'part-*.csv' are read as one; `-` is standard input
    data: Vec<String>,
    #[command(flatten, next_help_heading = "Data")]
    columns: ColumnOptions,
    /// Missing values: the mean and, where they are common, an indicator; refuse them; or the mean alone [default: auto]
    #[arg(long, value_parser = named(Missing::ALL), help_heading = "Data")]
    missing: Option<Missing>,
    /// Compare on a built-in simulated set instead of a file [default: none]
    #[arg(long, value_name = "NAME", value_parser = named(Simulated::ALL), help_heading = "Data")]
    dataset: Option<Simulated>,
    /// Rows to draw from the simulated set [default: 10000]
    #[arg(long, value_name = "N", value_parser = values::whole::<usize>, help_heading = "Data")]
    rows: Option<usize>,
    /// What to compare: `all`, or names separated with commas [default: rffnet, rffnet-paper, krr, nystroem, rff,
    /// linear, constant]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = chosen, help_heading = "Comparison")]
    models: Vec<Chosen>,
    /// Parts the rows are cut into, each of which is scored once [default: 5]
    #[arg(long, value_name = "K", value_parser = values::whole::<usize>, help_heading = "Comparison")]
    folds: Option<usize>,
    #[command(flatten, next_help_heading = "Comparison")]
    apart: ApartOptions,
    /// Most rows a method learns from, drawn at random from the others [default: 5000 for krr, 2000 for gpr and
    /// srff, else all]
    #[arg(long, value_name = "N", value_parser = values::whole::<usize>, help_heading = "Comparison")]
    max_rows: Option<usize>,
    /// Largest array a baseline may ask for, in GB; what needs more is refused before it starts [default: 8]
    #[arg(long, value_name = "GB", value_parser = values::real, help_heading = "Comparison")]
    memory_limit: Option<f64>,
    /// Print a Markdown table [default: text for people]
    #[arg(long, conflicts_with = "csv", help_heading = "Output")]
    markdown: bool,
    /// Print CSV [default: text for people]
    #[arg(long, help_heading = "Output")]
    csv: bool,
    /// Write the table to this file [default: standard output]
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
}

/// A word of `--models`.
#[derive(Debug, Clone, Copy)]
enum Chosen {
    All,
    One(Kind),
}

fn chosen(text: &str) -> Result<Chosen, String> {
    match text.trim() {
        "all" => Ok(Chosen::All),
        name => name.parse().map(Chosen::One).map_err(|e: rffnet_compare::Error| e.to_string()),
    }
}

impl Compare {
    pub(crate) fn run(&self, globals: &Globals) -> Result<(), Failure> {
        self.check(globals)?;
        let inputs: Vec<&str> = self.data.iter().map(String::as_str).collect();
        let destination = Destination::new(self.output.as_deref(), &inputs)?;
        let (sample, apart) = self.sample(globals)?;
        let folds = self.folds(&sample, &apart, globals.seed())?;
        globals.tell(target::sentence(&sample));
        sample.table.notes.iter().for_each(|note| globals.tell(format_args!("note: {note}")));
        let results = self.results(&sample, &folds, globals)?;
        let summary = summarise(&results);

        let table = &sample.table;
        let task = match sample.target {
            OwnedTarget::Values { .. } => rffnet::Task::Regression,
            OwnedTarget::Labels { .. } => rffnet::Task::Classification,
        };
        let columns = table.columns();
        destination.write(|out| {
            if globals.json {
                let report = object! {
                    folds: folds.len(),
                    metric: summary.metric,
                    rows: &summary.rows,
                    split: self.split(&sample),
                    task,
                    data: &table.source,
                    data_rows: table.rows,
                    columns,
                    seed: globals.seed(),
                };
                return write_json(&report, out);
            }
            let text = if self.csv {
                table::csv(&summary)
            } else if self.markdown {
                table::markdown(&summary, columns)
            } else {
                let target = name(table.target_name.as_deref().unwrap_or("target"), 40);
                let head = format!(
                    "data    {}: {}, {}, target {target} ({task})\nfolds   {}, {}\n\n",
                    table.source,
                    plural(table.rows, "row"),
                    plural(columns, "column"),
                    folds.len(),
                    self.described(&sample),
                );
                head + &table::text(&summary, columns)
            };
            out.write_all(text.as_bytes())
        })?;
        if let Destination::File(path) = destination {
            globals.tell(format_args!("written to {}", path.display()));
        }
        Ok(())
    }

    /// Refuses, before the first row is read, what contradicts itself or cannot be done.
    fn check(&self, globals: &Globals) -> Result<(), Failure> {
        let usage = |sentence: &str| Err(Failure::usage(sentence));
        self.apart.check(&self.data, &self.columns)?;
        check_source("compare on", &self.data, self.dataset, self.rows)?;
        if self.dataset.is_some() {
            let mut flags = self.columns.of_files().into_iter().chain(self.apart.of_files());
            if let Some((flag, _)) = flags.find(|(_, given)| *given) {
                return usage(&format!("{flag} belongs to a data file; --dataset has its own columns"));
            }
        }
        if globals.json && (self.markdown || self.csv) {
            return usage("--json, --markdown and --csv exclude each other; give one of them");
        }
        if self.max_rows == Some(0) {
            return Err(Failure::request("max-rows is 0; it must be at least 1"));
        }
        match self.memory_limit {
            Some(gb) if !(gb > 0.0 && gb.is_finite()) => {
                Err(Failure::request(format!("memory-limit is {gb}; it must be above 0 GB")))
            }
            _ => Ok(()),
        }
    }

    fn sample(&self, globals: &Globals) -> Result<(Sample, Apart), Failure> {
        let table = match self.dataset {
            Some(set) => {
                let rows = self.rows.unwrap_or(SIMULATED_ROWS);
                check_simulated(set, rows, self.columns.target.as_ref())?;
                set.generate(rows, globals.seed())
            }
            None => {
                let options = self.apart.reading(self.columns.read_options(self.missing, globals));
                read_with_target(&self.data, &options)
                    .map_err(|failure| self.apart.named(failure, &self.columns))?
            }
        };
        let (table, apart) = self.apart.arrange(table)?;
        let target = target::learn(&table, self.columns.task())?;
        Ok((Sample { table, target }, apart))
    }

    /// How the rows are cut, in a word.
    fn split(&self, sample: &Sample) -> &'static str {
        match (self.apart.group(), self.apart.in_time(), &sample.target) {
            (Some(_), _, _) => "group",
            (None, true, _) => "time",
            (None, false, OwnedTarget::Labels { .. }) => "stratified",
            (None, false, OwnedTarget::Values { .. }) => "plain",
        }
    }

    fn described(&self, sample: &Sample) -> String {
        match self.apart.group() {
            Some(column) => format!("no '{}' in two of them", name(&column.to_string(), 40)),
            None if self.apart.in_time() => "each learns from the rows before those it is scored on".into(),
            None if self.split(sample) == "stratified" => "drawn at random, classes in proportion".into(),
            None => "drawn at random".into(),
        }
    }

    fn folds(&self, sample: &Sample, apart: &Apart, seed: u64) -> Result<Vec<Fold>, Failure> {
        let (k, rows) = (self.folds.unwrap_or(FOLDS), sample.table.rows);
        let cut = match (apart, &sample.target) {
            (Apart::Groups(groups), _) => group_folds(groups, k, seed),
            (Apart::Time, _) => time_folds(rows, k),
            (Apart::Random, OwnedTarget::Labels { codes, .. }) => stratified_folds(codes, k, seed),
            (Apart::Random, OwnedTarget::Values { .. }) => folds(rows, k, seed),
        };
        cut.map_err(|e| Failure::request(format!("{}: {e}", sample.table.source)))
    }

    /// Every model on every fold, up to its first failure.
    fn results(&self, sample: &Sample, folds: &[Fold], globals: &Globals) -> Result<Vec<Tried>, Failure> {
        let cannot = |e: io::Error| Failure::request(format!("cannot make a temporary file: {e}"));
        let file = tempfile::Builder::new().prefix("rffnet-").tempfile().map_err(cannot)?.into_temp_path();
        remove_when_interrupted(&file);
        write_snapshot(&file, &sample.data()?)?;
        let models = self.models();
        let mut line = Line::new(globals.quiet, models.len() * folds.len());
        let mut results = Vec::new();
        for kind in models {
            let limit = self.max_rows.or(usual_limit(kind)).unwrap_or(usize::MAX);
            let mut outcomes: Vec<Outcome> = Vec::new();
            for (i, fold) in folds.iter().enumerate() {
                line.draw(&format!("{kind}, fold {} of {}", i + 1, folds.len()));
                let rows = |rows: Vec<usize>| Source::Snapshot { path: file.to_path_buf(), rows: Some(rows) };
                let train = rows(subsample(&fold.train, limit, globals.seed()));
                let job = Job {
                    seed: globals.seed(),
                    threads: globals.threads.map_or(0, |n| n.get().into()),
                    memory_limit: (self.memory_limit.unwrap_or(8.0) * 1e9) as u64,
                    ..Job::new(self.spec(kind), train, rows(fold.test.clone()))
                };
                let outcome = run_apart(&job);
                let failed = outcome.scores.is_none();
                outcomes.push(outcome);
                if failed {
                    break;
                }
                line.done += 1;
            }
            line.done = (results.len() + 1) * folds.len();
            let most = folds.iter().map(|fold| fold.train.len()).max().unwrap_or(0);
            let remark = (most > limit)
                .then(|| format!("learned from {} of {} rows of a fold", count(limit), count(most)));
            results.push((kind, outcomes, remark));
        }
        Ok(results)
    }

    /// The method, with `--missing`, which is rffnet's own business.
    fn spec(&self, kind: Kind) -> ModelSpec {
        let spec = ModelSpec::new(kind);
        match (kind, self.missing) {
            (Kind::Rffnet, Some(missing)) => spec.with(Params::new().missing(missing)),
            (Kind::RffnetPaper, Some(missing)) => spec.with(Params::paper().missing(missing)),
            _ => spec,
        }
    }

    /// Each once, in the order of the request.
    fn models(&self) -> Vec<Kind> {
        let mut kinds: Vec<Kind> = Vec::new();
        for chosen in &self.models {
            let more = match chosen {
                Chosen::All => Kind::ALL,
                Chosen::One(kind) => std::slice::from_ref(kind),
            };
            for kind in more {
                if !kinds.contains(kind) {
                    kinds.push(*kind);
                }
            }
        }
        if kinds.is_empty() { USUAL.to_vec() } else { kinds }
    }
}

/// A method, its outcomes, and what is to be said of it anyway.
type Tried = (Kind, Vec<Outcome>, Option<String>);

/// Ctrl-C ends the command, but leaves nothing behind.
fn remove_when_interrupted(file: &Path) {
    let file = file.to_path_buf();
    // Without a handler only the temporary file stays: no reason not to compare.
    let _ = ctrlc::set_handler(move || {
        let _ = std::fs::remove_file(&file);
        std::process::exit(INTERRUPTED);
    });
}
