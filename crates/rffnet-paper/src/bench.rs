//! A run: which experiments, at what size, and where their cells are kept.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;

use rayon::{ThreadPool, ThreadPoolBuilder};
use rffnet_compare::{Job, Outcome};

use crate::cache::Cache;
use crate::page::{Page, write_index};
use crate::real::Real;
use crate::{
    Error, Experiment, convergence, curves, describe, landscape, relevance, reliability, scores, selection,
};

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// Which tables and figures.
    pub what: Vec<Experiment>,
    /// Fewer rows and replicas: minutes instead of hours. The pages say so.
    pub quick: bool,
    /// Adds our own method beside the paper's.
    pub auto: bool,
    /// Replicas or folds at most.
    pub replicas: Option<usize>,
    /// Where the real sets are.
    pub data_dir: Option<PathBuf>,
    /// Where the results go.
    pub output: PathBuf,
    /// Where random numbers start.
    pub seed: u64,
    /// Threads to work with; 0 is all cores.
    pub threads: usize,
}

impl Request {
    /// The command that asks for one experiment of this request, without paths.
    fn command(&self, experiment: Experiment) -> String {
        let mut command = format!("rffnet reproduce {experiment}");
        if self.quick {
            command += " --quick";
        }
        if self.auto {
            command += " --preset auto";
        }
        if let Some(replicas) = self.replicas {
            command += &format!(" --replicas {replicas}");
        }
        if self.data_dir.is_some() {
            command += " --data-dir DIR";
        }
        if self.seed != 0 {
            command += &format!(" --seed {}", self.seed);
        }
        // Elsewhere the number of threads changes nothing.
        use Experiment::{Convergence, TableF7, TableF8, TableF9, TableF10};
        let timed = matches!(experiment, Convergence | TableF7 | TableF8 | TableF9 | TableF10);
        if self.threads != 0 && timed {
            command += &format!(" --threads {}", self.threads);
        }
        command
    }
}

/// What the experiments share.
pub(crate) struct Bench<'a> {
    pub(crate) request: &'a Request,
    pub(crate) cache: Cache,
    /// Does a job.
    pub(crate) run: &'a dyn Fn(&Job) -> Outcome,
    /// Says what is done.
    pub(crate) tell: &'a dyn Fn(&str),
    /// Real sets that were looked for.
    real: RefCell<HashMap<&'static str, Rc<Result<Real, String>>>>,
}

impl Bench<'_> {
    /// Replicas where the paper has `full` and a quick run `quick`.
    pub(crate) fn replicas(&self, full: usize, quick: usize) -> usize {
        let wanted = if self.request.quick { quick } else { full };
        self.request.replicas.map_or(wanted, |most| wanted.min(most.max(1)))
    }

    /// The threads asked for, for fits in this process.
    pub(crate) fn pool(&self) -> Result<ThreadPool, Error> {
        let pool = ThreadPoolBuilder::new().num_threads(self.request.threads).build();
        pool.map_err(|e| Error::new(format!("the threads could not be started: {e}")))
    }

    /// A real set, read once; otherwise the sentence that says where to get it.
    pub(crate) fn real(&self, name: &'static str) -> Rc<Result<Real, String>> {
        if let Some(found) = self.real.borrow().get(name) {
            return Rc::clone(found);
        }
        (self.tell)(&format!("reading {name}"));
        let found = Rc::new(Real::find(name, self.request.data_dir.as_deref()));
        self.real.borrow_mut().insert(name, Rc::clone(&found));
        found
    }
}

/// Runs what is asked for. `run` does a job, in a process of its own; `tell` is told what is done, a line each.
///
/// Returns the files of the index.
pub fn reproduce(
    request: &Request,
    run: &dyn Fn(&Job) -> Outcome,
    tell: &dyn Fn(&str),
) -> Result<Vec<PathBuf>, Error> {
    fs::create_dir_all(&request.output).map_err(|e| Error::io("make the folder", &request.output, e))?;
    let cache = Cache::new(request.output.join("cells"))?;
    let bench = Bench { request, cache, run, tell, real: RefCell::default() };
    for &experiment in &request.what {
        tell(&format!("{experiment}: {}", experiment.title()));
        page(&bench, experiment)?.write(&request.output, &request.command(experiment))?;
        write_index(&request.output)?;
    }
    Ok(["index.html", "index.md"].map(|file| request.output.join(file)).to_vec())
}

fn page(bench: &Bench<'_>, experiment: Experiment) -> Result<Page, Error> {
    use Experiment::*;
    match experiment {
        Table1 | Table2 | Table3 | Table4 | TableF7 | TableF8 | TableF9 | TableF10 | TableF11 | TableF12
        | TableF13 | TableF14 => scores::page(bench, experiment),
        TableC5 => Ok(describe::sets(bench)),
        TableD6 => Ok(describe::kernels()),
        Fig2 => relevance::simulated(bench),
        Fig3 => selection::page(bench),
        Fig4 => relevance::real(bench),
        FigD5 | FigD6 | FigD7 | FigE8 => curves::page(bench, experiment),
        FigE9 | FigE10 => curves::relevances(bench, experiment),
        Landscape => landscape::page(bench),
        Convergence => convergence::page(bench),
        Reliability => reliability::page(bench),
    }
}
