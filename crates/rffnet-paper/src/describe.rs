//! Tables C.5 and D.6: the real sets, and the kernels.

use rffnet::text::count;

use crate::bench::Bench;
use crate::grid::Grid;
use crate::page::{Page, Part};
use crate::{Experiment, REAL_SETS};

/// Table C.5, with what was found in the folder of data.
pub(crate) fn sets(bench: &Bench<'_>) -> Page {
    let mut grid =
        Grid::new(["set", "paper: train", "paper: test", "paper: columns", "here: rows", "here: columns"]);
    let mut raw = Grid::new(["set", "paper_train", "paper_test", "paper_columns", "rows", "columns"]);
    let mut notes = Vec::new();
    for set in REAL_SETS {
        let paper = [set.train, set.test, set.columns];
        // Without a folder nothing is looked for, and what is missing is no news.
        let found = bench.request.data_dir.as_ref().map(|_| bench.real(set.name));
        let here = match found.as_deref() {
            Some(Ok(real)) => {
                notes.extend(real.note.as_ref().map(|note| format!("{}: {note}", set.name)));
                Some([real.table.rows, real.table.columns()])
            }
            Some(Err(why)) => {
                notes.push(why.clone());
                None
            }
            None => None,
        };
        let shown = |f: &dyn Fn(usize) -> String, none: &str| {
            let here = here.map_or_else(|| [none.to_string(), none.to_string()], |h| h.map(f));
            let cells = std::iter::once(set.name.to_string()).chain(paper.map(f));
            cells.chain(here).collect::<Vec<_>>()
        };
        grid.push(shown(&count, "-"));
        raw.push(shown(&|n| n.to_string(), ""));
    }
    let text = "Rows and columns of the real sets. The paper's powerplant is five copies of the same 9,568 rows in different \
                orders, so nearly every test row stands in the training part too: use it only to reproduce the paper.";
    let mut parts = vec![Part::Text(text.into()), Part::Table(grid)];
    if bench.request.data_dir.is_none() {
        parts.push(Part::Text("Pass `--data-dir` to see what is there.".into()));
    }
    Page { experiment: Experiment::TableC5, parts, notes, raw }
}

/// Table D.6, corrected.
pub(crate) fn kernels() -> Page {
    let mut grid = Grid::new(["kernel", "k(x, x'), with δ = x - x'", "spectral density p(ω)", "`--kernel`"]);
    grid.push(["Gaussian", "exp(-½ Σ δⱼ²)", "Π exp(-½ ωⱼ²) / √(2π)", "`gaussian`"]);
    grid.push(["Laplace", "exp(-Σ abs(δⱼ))", "Π 1 / (π (1 + ωⱼ²))", "`laplace`"]);
    grid.push(["Cauchy", "Π 1 / (1 + δⱼ²)", "Π ½ exp(-abs(ωⱼ))", "`cauchy`"]);
    let text = "The paper's row of the Cauchy kernel has 2 / (1 + δⱼ²) and exp(-Σ abs(ωⱼ)): k(x, x) would be 2ᵈ instead of 1, and \
                the density would not integrate to 1. The constants here are right. Figure D.5 names the densities, not the \
                kernels: its \"Laplace\" is the Cauchy kernel.";
    let raw = grid.clone();
    let parts = vec![Part::Table(grid), Part::Text(text.into())];
    Page { experiment: Experiment::TableD6, parts, notes: Vec::new(), raw }
}
