//! `rffnet fit`: from rows to a model.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use rffnet::scores::Scores;
use rffnet::{Data, Encoded, LossKind, Missing, Model, Outline, OwnedTarget, Params, Shape, Stopped};
use rffnet_data::{Sample, Table, group_split, split, stratified_split, time_split};

use crate::apart::Apart;
use crate::bars::{SHOWN, chart, relevances};
use crate::cli::Globals;
use crate::columns::{self, lacking};
use crate::config::Config;
use crate::copies;
use crate::failure::{Failure, in_file};
use crate::options::DataOptions;
use crate::output::{check_writable, object, print, print_json, width};
use crate::params::ParamOptions;
use crate::progress::{ProgressBar, step};
use crate::read::{check_simulated, like, read_with_target};
use crate::scores::line;
use crate::target;
use crate::text::{exact, name, plural, seconds};

const EXAMPLES: &str = "\
Examples:
  rffnet fit --dataset gse1 --rows 2000 -o gse1.rffnet
  rffnet fit houses.csv --target price --test-fraction 0.2 -o houses.rffnet
  rffnet fit train.csv --target label --test test.csv --class-weight balanced --json
  rffnet fit 'visits-*.parquet' --target cost --group patient --test-fraction 0.2
  rffnet fit prices.csv --target price --time day --ignore note --categorical zip
  rffnet fit a9a.libsvm --columns 123 --effort quick --budget 60 -o a9a.rffnet
  zcat big.csv.gz | rffnet fit - --target y --config settings.toml

settings.toml holds the same names, one per line: `features = 500`, `kernel = \"matern32\"`.
Ctrl-C stops after the current step and keeps the best model so far.";

/// Rows drawn from a simulated set, and further rows to test on.
const SIMULATED_ROWS: usize = 10_000;
const SIMULATED_TEST_ROWS: usize = 2_000;

/// Fit a model to a file or to a simulated set
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Fit {
    #[command(flatten)]
    data: DataOptions,
    #[command(flatten)]
    params: ParamOptions,
    /// Take whatever is not given here from a TOML file with the same names [default: none]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    config: Option<PathBuf>,
}

impl Fit {
    /// Fills what the command line leaves open from the configuration file.
    pub(crate) fn read_config(&mut self, globals: &mut Globals) -> Result<(), Failure> {
        let Some(path) = &self.config else { return Ok(()) };
        let file = Config::read(path)?;
        self.data = std::mem::take(&mut self.data).or(file.data);
        self.params = std::mem::take(&mut self.params).or(file.params);
        *globals = std::mem::take(globals).or(file.globals);
        Ok(())
    }

    pub(crate) fn run(&self, globals: &Globals) -> Result<(), Failure> {
        // Whatever can be refused is refused before the first row is read.
        self.data.check()?;
        let params = self.params.params(globals.seed())?;
        let classification = params.loss == Some(LossKind::CrossEntropy);
        let solver = params.plan(Shape { rows: SIMULATED_ROWS, columns: 1, classification })?.solver();
        if let Some(path) = &self.data.output {
            let inputs: Vec<&str> =
                self.data.data.iter().chain(&self.data.test).map(String::as_str).collect();
            check_writable(path, &inputs)?;
        }

        let Parts { train, apart, test } = self.parts(&params, globals)?;
        let data = Data { validation: apart.validation(), ..train.data()? };
        globals.tell(target::sentence(&train));
        if !globals.quiet {
            for line in described(&train, &data, &params)? {
                globals.tell(line);
            }
        }
        let notes = self.notes(&train.table);
        notes.iter().for_each(|note| globals.tell(format_args!("note: {note}")));
        let mut progress = ProgressBar::new(globals.quiet, step(solver));
        globals.tell(format_args!("fitting {}", plural(train.table.rows, "row")));
        let begun = Instant::now();
        let fitted = rffnet::Fit::new(&params).observer(&mut progress).run(&data);
        let fit_seconds = begun.elapsed().as_secs_f64();
        drop(progress);
        let model = fitted.map_err(in_file(&train.table.source))?;
        let scores = test.as_ref().map(|test| score(&model, test)).transpose()?;
        let mut warnings = warnings(&model, params.budget);
        if self.data.dataset.is_none() {
            warnings.extend(test.as_ref().and_then(|test| copies::warning(&train, test)));
        }
        for warning in &warnings {
            globals.tell(format_args!("warning: {warning}"));
        }
        if let Some(path) = &self.data.output {
            model.save(path)?;
        }

        if globals.json {
            let said = Said { warnings, notes, columns: columns::of_table(&train.table, model.encoder()) };
            return self.print_report(&model, globals, fit_seconds, scores, said);
        }
        let tested = scores.zip(test.as_ref().map(|t| t.table.rows));
        let mut text = summary(&model, &train.table, fit_seconds, tested);
        text.push('\n');
        text.push_str(&chart(&relevances(&model), SHOWN, width()));
        if let Some(path) = &self.data.output {
            text.push_str(&format!("\nmodel written to {}\n", path.display()));
        }
        print(&text)
    }

    /// The training part, and the test part if there is one.
    fn parts(&self, params: &Params, globals: &Globals) -> Result<Parts, Failure> {
        let task = self.data.columns.task();
        if let Some(set) = self.data.dataset {
            let rows = self.data.rows.unwrap_or(SIMULATED_ROWS);
            check_simulated(set, rows, self.data.columns.target.as_ref())?;
            let (train, test) = set.train_test(rows, SIMULATED_TEST_ROWS, globals.seed());
            let target = target::learn(&train, task)?;
            let test = Sample { target: target::compare(&test, target.classes())?, table: test };
            return Ok(Parts {
                train: Sample { table: train, target },
                apart: Apart::Random,
                test: Some(test),
            });
        }
        let options = self.data.apart.reading(self.data.columns.read_options(params.missing, globals));
        let table = read_with_target(&self.data.data, &options);
        let table = table.map_err(|failure| self.data.apart.named(failure, &self.data.columns))?;
        let (table, apart) = self.data.apart.arrange(table)?;
        let all = Sample { target: target::learn(&table, task)?, table };
        if let Some(path) = &self.data.test {
            let table = read_with_target(std::slice::from_ref(path), &like(&all.table, options))?;
            lacking(&table).iter().for_each(|sentence| globals.tell(format_args!("{path}: {sentence}")));
            let test = Sample { target: target::compare(&table, all.target.classes())?, table };
            return Ok(Parts { train: all, apart, test: Some(test) });
        }
        match self.data.test_fraction {
            None => Ok(Parts { train: all, apart, test: None }),
            Some(fraction) => self.split(&all, &apart, fraction, globals.seed()),
        }
    }

    fn split(&self, all: &Sample, apart: &Apart, fraction: f64, seed: u64) -> Result<Parts, Failure> {
        if !(fraction > 0.0 && fraction < 1.0) {
            return Err(Failure::request(format!(
                "test-fraction is {fraction}; it must be above 0 and below 1"
            )));
        }
        let rows = all.table.rows;
        let (train, test) = match (apart, &all.target) {
            (Apart::Groups(groups), _) => group_split(groups, fraction, seed),
            (Apart::Time, _) => time_split(rows, fraction),
            (Apart::Random, OwnedTarget::Labels { codes, .. }) => stratified_split(codes, fraction, seed),
            (Apart::Random, OwnedTarget::Values { .. }) => split(rows, fraction, seed),
        };
        if test.is_empty() && rows > 1 {
            return Err(Failure::request(format!(
                "{}: all rows are of one group, which cannot be split into a training and a test part; leave out \
                 --test-fraction or --group",
                all.table.source
            )));
        }
        if test.is_empty() {
            return Err(Failure::request(format!(
                "{}: {} cannot be split into a training and a test part; leave out --test-fraction",
                all.table.source,
                plural(all.table.rows, "row")
            )));
        }
        Ok(Parts { train: all.take(&train), apart: apart.take(&train), test: Some(all.take(&test)) })
    }

    /// What was decided: by the reader, and how rows are held out.
    fn notes(&self, table: &Table) -> Vec<String> {
        let mut notes = table.notes.clone();
        let column = |column: &rffnet_data::ColumnRef| name(&column.to_string(), 40);
        if let Some(group) = self.data.apart.group() {
            notes.push(format!("rows that agree in '{}' are held out together", column(group)));
        }
        if self.data.apart.in_time() {
            notes.push("the rows held out for validation and test are the last ones".into());
        }
        notes
    }

    fn print_report(
        &self,
        model: &Model,
        globals: &Globals,
        fit_seconds: f64,
        test: Option<Scores>,
        said: Said,
    ) -> Result<(), Failure> {
        let summary = model.summary();
        print_json(&object! {
            task: model.task(),
            rows: summary.rows,
            columns: model.feature_names().len(),
            random_features: model.random_features(),
            solver: model.plan().solver(),
            chosen: &summary.chosen,
            seed: globals.seed(),
            threads: rayon::current_num_threads(),
            fit_seconds,
            epochs: summary.epochs,
            stopped: summary.stopped,
            validation: summary.validation_loss.map(|loss| object! { loss }),
            test,
            relevances: relevances(model),
            model: self.data.output.as_ref().map(|path| path.display().to_string()),
            best_epoch: summary.best_epoch,
            kernel: model.kernel(),
            loss: model.plan().common.loss,
            classes: model.classes(),
            warnings: said.warnings,
            column_types: said.columns,
            notes: said.notes,
        })
    }
}

/// The rows to learn from, which of them stay together, and the rows to test on.
struct Parts {
    train: Sample,
    apart: Apart,
    test: Option<Sample>,
}

/// What the user should know beside the figures.
struct Said {
    warnings: Vec<String>,
    notes: Vec<String>,
    columns: Vec<columns::ColumnEntry>,
}

/// The columns and what will be done with them; the sizes of the fit and about how long it takes.
fn described(train: &Sample, data: &Data<'_>, params: &Params) -> Result<Vec<String>, Failure> {
    // The same for any seed, which decides about the out-of-fold means of the fit alone.
    let missing = params.missing.unwrap_or(Missing::Auto);
    let encoded = Encoded::new(data, missing, 0).map_err(in_file(&train.table.source))?;
    let classes = train.target.classes().map_or(0, <[String]>::len);
    let shape =
        Shape { rows: train.table.rows, columns: encoded.encoder.width(), classification: classes > 0 };
    let outputs = if classes > 2 { classes } else { 1 };
    let plan = Outline::new(params, shape, outputs)?.map(|outline| {
        let takes = outline.seconds();
        let takes = params.budget.map_or(takes, |budget| budget.min(takes));
        format!("plan: {outline}; about {}", seconds(takes))
    });
    let columns = columns::text(&columns::of_table(&train.table, &encoded.encoder));
    Ok([columns].into_iter().chain(plan).collect())
}

/// The model's, and one about the budget, which the model does not know.
fn warnings(model: &Model, budget: Option<f64>) -> Vec<String> {
    let mut warnings = model.summary().warnings.clone();
    if let (Stopped::Budget, Some(budget)) = (model.summary().stopped, budget) {
        warnings.push(format!(
            "the budget of {} s ran out; the model is the best one found by then, a larger budget may give a \
             better one",
            exact(budget)
        ));
    }
    warnings
}

fn score(model: &Model, test: &Sample) -> Result<Scores, Failure> {
    Scores::of(model, &test.data()?).map_err(in_file(&test.table.source))
}

/// The lines above the chart.
fn summary(model: &Model, table: &Table, fit_seconds: f64, test: Option<(Scores, usize)>) -> String {
    let (plan, summary) = (model.plan(), model.summary());
    let target = name(table.target_name.as_deref().unwrap_or("target"), 40);
    let mut lines = vec![
        format!(
            "data        {}: {}, {}, target {target} ({})",
            table.source,
            plural(summary.rows, "row"),
            plural(model.feature_names().len(), "column"),
            model.task(),
        ),
        format!(
            "model       {}, {} kernel, {} loss, {}",
            super::inspect::features(model),
            model.kernel(),
            plan.common.loss,
            plan.solver(),
        ),
        format!("fit         {}, {}", super::inspect::course(model), seconds(fit_seconds)),
    ];
    if !summary.chosen.is_empty() {
        lines.insert(2, format!("chose       {}", summary.chosen));
    }
    if let Some(loss) = summary.validation_loss {
        lines.push(format!("validation  {}", super::inspect::validation(model, loss)));
    }
    if let Some((scores, rows)) = test {
        lines.push(format!("test        {}   ({})", line(&scores), plural(rows, "row")));
    }
    lines.join("\n") + "\n"
}
