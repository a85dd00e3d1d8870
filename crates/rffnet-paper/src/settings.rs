//! The settings behind the paper's tables, and what a quick run makes of them.

use rffnet::Params;
use rffnet_compare::{Kind, ModelSpec};
use rffnet_data::Simulated;

/// Rows of the simulations. The paper's text says 5,000; its tables come from these.
pub(crate) const ROWS: usize = 10_000;
pub(crate) const TEST_ROWS: usize = 2_000;
pub(crate) const QUICK_ROWS: usize = 1_000;
/// Replicas of a simulation, folds of a real set.
pub(crate) const REPLICAS: usize = 10;
pub(crate) const QUICK_REPLICAS: usize = 2;

/// The simulated regression sets.
pub(crate) const REGRESSION: [Simulated; 4] =
    [Simulated::Gse1, Simulated::Gse2, Simulated::Jse2, Simulated::Jse3];

/// A row of a table of scores.
pub(crate) struct Variant {
    /// As the table names it.
    pub(crate) label: &'static str,
    pub(crate) kind: Kind,
    /// The same method twice: how this row differs.
    pub(crate) converged: bool,
    /// Training rows and replicas at most, where all would take too long: in a full run, in a quick one.
    most: Option<[Cut; 2]>,
}

/// What is left of a slow method's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    rows: usize,
    replicas: usize,
}

/// A Gaussian process factorises an n x n matrix in every step: 10,000 rows and 100 steps take ten minutes a cell.
const GPR: Option<[Cut; 2]> = Some([Cut { rows: 2_000, replicas: 3 }, Cut { rows: 500, replicas: 1 }]);
/// SRFF goes over all rows a hundred thousand times, and more until it has converged.
const SRFF: Option<[Cut; 2]> = Some([Cut { rows: 2_000, replicas: 3 }, Cut { rows: 200, replicas: 1 }]);
const SRFF_CONVERGED: Option<[Cut; 2]> =
    Some([Cut { rows: 1_000, replicas: 3 }, Cut { rows: 200, replicas: 1 }]);

/// The rows of a table, in the paper's order; our own method last, if asked for.
pub(crate) fn variants(classification: bool, auto: bool) -> Vec<Variant> {
    let row = |label, kind| Variant { label, kind, converged: false, most: None };
    let mut rows = vec![row("EigenPro", Kind::Eigenpro), row("Fastfood", Kind::Fastfood)];
    if !classification {
        rows.push(Variant { most: GPR, ..row("GPR, the paper's 100 steps", Kind::Gpr) });
        rows.push(Variant { converged: true, most: GPR, ..row("GPR, converged", Kind::Gpr) });
        rows.push(row("Kernel Ridge", Kind::Krr));
    }
    rows.push(row("Nyström", Kind::Nystroem));
    rows.push(row("RFFNet", Kind::RffnetPaper));
    if !classification {
        rows.push(Variant { most: SRFF, ..row("SRFF, the paper's setting", Kind::Srff) });
        rows.push(Variant { converged: true, most: SRFF_CONVERGED, ..row("SRFF, converged", Kind::Srff) });
    }
    if auto {
        rows.push(row("rffnet `auto`", Kind::Rffnet));
    }
    rows
}

impl Variant {
    /// Training rows of `all`, replicas of `usual`.
    pub(crate) fn size(&self, all: usize, usual: usize, quick: bool) -> (usize, usize) {
        let cut = self.most.map(|cuts| cuts[usize::from(quick)]);
        cut.map_or((all, usual), |cut| (all.min(cut.rows), usual.min(cut.replicas)))
    }

    /// With the settings for a set.
    pub(crate) fn spec(&self, set: &str) -> ModelSpec {
        let spec = ModelSpec::new(self.kind);
        match self.kind {
            Kind::RffnetPaper => spec.with(paper_params(set)),
            Kind::Rffnet => spec,
            _ if self.converged => spec.converged(),
            Kind::Gpr => match paper_params(set).lr {
                Some(rate) => spec.paper().at_rate(rate),
                None => spec.paper(),
            },
            _ => spec.paper(),
        }
    }
}

/// RFFNet's settings for a set.
pub(crate) fn paper_params(set: &str) -> Params {
    let paper = Params::paper();
    match set {
        "abalone" | "compact" | "powerplant" | "a9a" | "w8a" => paper.lr(1e-2),
        "yearprediction" => paper.random_features(1_000).alpha(1e-4),
        _ => paper,
    }
}
