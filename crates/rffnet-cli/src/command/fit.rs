//! `rffnet fit`: from rows to a model.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use rffnet::scores::Scores;
use rffnet::{LossKind, Model, OwnedTarget, Params, Shape, Stopped};
use rffnet_data::{ReadOptions, Sample, Table, split, stratified_split};

use crate::bars::{SHOWN, chart, relevances};
use crate::cli::Globals;
use crate::config::Config;
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
                [&self.data.data, &self.data.test].into_iter().flatten().map(String::as_str).collect();
            check_writable(path, &inputs)?;
        }

        let (train, test) = self.samples(&params, globals)?;
        let data = train.data()?;
        globals.tell(target::sentence(&train));
        let mut progress = ProgressBar::new(globals.quiet, step(solver));
        globals.tell(format_args!("fitting {}", plural(train.table.rows, "row")));
        let begun = Instant::now();
        let fitted = rffnet::Fit::new(&params).observer(&mut progress).run(&data);
        let fit_seconds = begun.elapsed().as_secs_f64();
        drop(progress);
        let model = fitted.map_err(in_file(&train.table.source))?;
        let scores = test.as_ref().map(|test| score(&model, test)).transpose()?;
        let warnings = warnings(&model, params.budget);
        for warning in &warnings {
            globals.tell(format_args!("warning: {warning}"));
        }
        if let Some(path) = &self.data.output {
            model.save(path)?;
        }

        if globals.json {
            return self.print_report(&model, globals, fit_seconds, scores, warnings);
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
    fn samples(&self, params: &Params, globals: &Globals) -> Result<(Sample, Option<Sample>), Failure> {
        let task = self.data.columns.task();
        if let Some(set) = self.data.dataset {
            let rows = self.data.rows.unwrap_or(SIMULATED_ROWS);
            check_simulated(set, rows, self.data.columns.target.as_ref())?;
            let (train, test) = set.train_test(rows, SIMULATED_TEST_ROWS, globals.seed());
            let target = target::learn(&train, task)?;
            let test = Sample { target: target::compare(&test, target.classes())?, table: test };
            return Ok((Sample { table: train, target }, Some(test)));
        }
        let path = self.data.data.as_deref().unwrap_or("-");
        let options = self.data.columns.read_options(params.missing, globals);
        let table = read_with_target(path, &options)?;
        let all = Sample { target: target::learn(&table, task)?, table };
        if let Some(path) = &self.data.test {
            // Only the model's columns and the target are looked for: what is ignored may be absent.
            let options = ReadOptions { select: like(&all.table), ignore: Vec::new(), ..options };
            let table = read_with_target(path, &options)?;
            let test = Sample { target: target::compare(&table, all.target.classes())?, table };
            return Ok((all, Some(test)));
        }
        match self.data.test_fraction {
            None => Ok((all, None)),
            Some(fraction) => {
                let (train, test) = self.split(&all, fraction, globals.seed())?;
                Ok((train, Some(test)))
            }
        }
    }

    fn split(&self, all: &Sample, fraction: f64, seed: u64) -> Result<(Sample, Sample), Failure> {
        if !(fraction > 0.0 && fraction < 1.0) {
            return Err(Failure::request(format!(
                "test-fraction is {fraction}; it must be above 0 and below 1"
            )));
        }
        let (train, test) = match &all.target {
            OwnedTarget::Labels { codes, .. } => stratified_split(codes, fraction, seed),
            OwnedTarget::Values { .. } => split(all.table.rows, fraction, seed),
        };
        if test.is_empty() {
            return Err(Failure::request(format!(
                "{}: {} cannot be split into a training and a test part; leave out --test-fraction",
                all.table.source,
                plural(all.table.rows, "row")
            )));
        }
        Ok((all.take(&train), all.take(&test)))
    }

    fn print_report(
        &self,
        model: &Model,
        globals: &Globals,
        fit_seconds: f64,
        test: Option<Scores>,
        warnings: Vec<String>,
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
            warnings,
        })
    }
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
