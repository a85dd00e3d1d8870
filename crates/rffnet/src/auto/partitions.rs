//! Steps beside the cosines: partitions of the rows into cells, in one head with the cosines and the linear terms.
//!
//! A partition is grown as gradient boosting grows a symmetric tree: cut by cut, each the best of a few that are drawn, on the
//! gradient that those before have left. Columns are drawn by the slopes of the cosines, places from the rows. The values
//! that boosting gives the cells are forgotten: all cells are solved together, beside the cosines, with a penalty of their own.

use super::Fitter;
use super::head::Solved;
use super::member_seed;
use crate::features::{CELLS, CUTS, Cut, Network, Partitions};
use crate::loss::{ExactHead, LossRows};
use crate::numerics::random::{Stream, Use, below, stream, uniform};
use crate::solver::monitor::{Monitor, Shared};

/// Cuts that are drawn for each that is made.
const CANDIDATES: usize = 12;
/// The share of the gradient that a partition takes away from those that come after it.
const RATE: f32 = 0.1;
/// Rows by which the value of a cell is shrunk while partitions are grown.
const SHRINKAGE: f32 = 5.0;
/// Rows that a partition is grown on, and from which the places of cuts are taken.
const GROWN_ROWS: usize = 2_500;
const PLACE_ROWS: usize = 4_096;
/// Where between two values the place of a cut is: about midway, but not on a number of the same grid.
const BETWEEN: f32 = 0.481;
/// Columns that are cut, at most: those of the largest slopes.
const MOST_COLUMNS: usize = 500;
/// Chance of a column without slope, as a share of the mean.
const FLAT: f64 = 0.05;
/// The penalties of the cells that are tried, times that of the cosines.
pub(super) const PENALTIES: [f64; 4] = [100.0, 10.0, 1.0, 0.1];

impl Fitter<'_> {
    /// The solution with partitions beside the cosines, if that is better or if they were asked for.
    pub(super) fn with_partitions<'s>(
        &'s self,
        solved: Solved<'s>,
        partitions: &Partitions,
        monitor: &mut Monitor<'_>,
    ) -> Solved<'s> {
        if partitions.count() == 0 || monitor.stopped() {
            return solved;
        }
        let losses = solved.losses();
        let beside = self.solve_beside(solved, partitions);
        let found = beside.losses();
        let asked = self.sizes.asks_partitions && found.iter().all(|loss| loss.is_finite());
        if asked || self.better(&found, &losses) { beside } else { beside.without_partitions() }
    }

    /// The head of the cosines and of the cells, whose penalty is chosen on validation.
    fn solve_beside<'s>(&'s self, solved: Solved<'s>, partitions: &Partitions) -> Solved<'s> {
        let (problem, alpha, mut features) = (self.training.problem, solved.alpha, solved.features);
        let mut reduced = solved.reduced.with_partitions(partitions);
        features.map = features.map.with_partitions(partitions.clone());
        // A penalty that was asked for is that of all coefficients.
        let chooses = self.validates() && self.training.common.fixed_alpha.is_none();
        let penalties = if chooses { PENALTIES.map(|times| times * alpha).to_vec() } else { vec![alpha] };
        let (loss, weights) = reduced.best_penalised(&features, alpha, &penalties, |weights| {
            problem.mean_loss(Network::new(&features.map, weights), self.split.judged_on())
        });
        Solved { features, weights, loss, reduced, ..solved }
    }

    /// Partitions of the training rows, with columns drawn by these mean squared slopes; none where nothing could tell whether
    /// they are better, or where there is no time.
    pub(super) fn grow_partitions(&self, slopes: &[f64], shared: &Shared) -> Partitions {
        let sizes = self.sizes;
        let wanted = self.validates() || sizes.asks_partitions;
        if sizes.partitions == 0 || !wanted || shared.stopped() {
            return Partitions::default();
        }
        let table = Table::new(self, slopes);
        let mut growth = Growth::new(self, &table);
        let mut rng = stream(member_seed(self.training.common.seed, self.number), Use::Partitions);
        Partitions::new((0..sizes.partitions).flat_map(|_| growth.next(&mut rng)).collect())
    }
}

/// The training rows, as the number of places of each column that a row is not below.
struct Table {
    rows: usize,
    /// Those that vary.
    columns: Vec<Column>,
    /// Column by column.
    codes: Vec<u8>,
}

struct Column {
    number: usize,
    /// Where it may be cut, ascending.
    places: Vec<f32>,
    /// The chance of it and those before it.
    chance: f64,
}

impl Table {
    fn new(fitter: &Fitter<'_>, slopes: &[f64]) -> Self {
        let (columns, rows) = (fitter.training.problem.columns, &fitter.split.train);
        let mut support = fitter.support();
        if support.len() > MOST_COLUMNS {
            support.sort_by(|&a, &b| slopes[b].total_cmp(&slopes[a]));
            support.truncate(MOST_COLUMNS);
            support.sort_unstable();
        }
        let mut chances: Vec<f64> = support.iter().map(|&j| slopes[j].powf(0.25)).collect();
        if !chances.iter().sum::<f64>().is_normal() {
            chances.fill(1.0);
        }
        let flat = FLAT * chances.iter().sum::<f64>() / chances.len() as f64;
        let mut table = Self { rows: rows.len(), columns: Vec::new(), codes: Vec::new() };
        let mut sum = 0.0;
        for (&number, chance) in support.iter().zip(chances) {
            let transform = columns.transforms.columns()[number];
            let cells = columns.x.column(number, rows.iter().copied());
            let values: Vec<f32> = cells.into_iter().map(|v| transform.apply(v)).collect();
            let places = places(values[..rows.len().min(PLACE_ROWS)].to_vec());
            if !places.is_empty() {
                table.codes.extend(values.iter().map(|v| places.partition_point(|place| place <= v) as u8));
                sum += chance + flat;
                table.columns.push(Column { number, places, chance: sum });
            }
        }
        table
    }

    /// The rows' codes of a column.
    fn codes(&self, column: usize) -> &[u8] {
        &self.codes[column * self.rows..(column + 1) * self.rows]
    }

    fn draw_column(&self, rng: &mut Stream) -> usize {
        let at = uniform(rng) * self.columns[self.columns.len() - 1].chance;
        self.columns.partition_point(|column| column.chance <= at).min(self.columns.len() - 1)
    }
}

/// Up to 255 places, each between neighbouring values, so that no value is at a place; at even distances in rows where there are
/// more values.
fn places(mut values: Vec<f32>) -> Vec<f32> {
    const MOST: usize = u8::MAX as usize;
    values.sort_unstable_by(f32::total_cmp);
    let place = |pair: &[f32]| pair[0] + BETWEEN * (pair[1] - pair[0]);
    let between = |pair: &&[f32]| pair[0] < place(pair) && place(pair) < pair[1];
    let all: Vec<f32> = values.windows(2).filter(between).map(place).collect();
    if all.len() <= MOST {
        return all;
    }
    let quantiles = (1..=MOST).map(|q| values[q * values.len() / (MOST + 1)]);
    let mut places: Vec<f32> =
        quantiles.filter_map(|v| all.get(all.partition_point(|place| *place < v)).copied()).collect();
    places.dedup();
    places
}

/// Partitions on the way.
struct Growth<'a> {
    fitter: &'a Fitter<'a>,
    table: &'a Table,
    /// What boosting with the partitions so far predicts, `rows x outputs`.
    outputs: Vec<f32>,
    curvature: fn(&[f32]) -> f64,
}

impl<'a> Growth<'a> {
    fn new(fitter: &'a Fitter<'a>, table: &'a Table) -> Self {
        let problem = fitter.training.problem;
        let constant = problem.constant(&fitter.split.train);
        let outputs = constant.iter().map(|&v| v as f32).cycle().take(table.rows * constant.len()).collect();
        let curvature = match problem.loss.exact_head() {
            ExactHead::Newton(curvature) => curvature,
            _ => |_: &[f32]| 2.0,
        };
        Self { fitter, table, outputs, curvature }
    }

    /// The next partition; without cuts where no column can be cut.
    fn next(&mut self, rng: &mut Stream) -> [Cut; CUTS] {
        let table = self.table;
        let mut cuts = [Cut::NONE; CUTS];
        if table.columns.is_empty() {
            return cuts;
        }
        let count = table.rows.min(GROWN_ROWS);
        let first = below(table.rows - count + 1, rng);
        let rows = self.gradients(first..first + count);
        let mut cells = vec![0; count];
        // Column and code of each cut.
        let mut made = Vec::new();
        let depth = 1 + below(CUTS, rng);
        for (level, made_cut) in cuts.iter_mut().enumerate().take(depth) {
            let mut best = (-1.0, 0, 0);
            for _ in 0..CANDIDATES {
                let column = table.draw_column(rng);
                let codes = &table.codes(column)[first..first + count];
                let code = codes[below(count, rng)].max(1);
                let gain = rows.gain(&rows.sums(&cells, codes, code, level));
                if gain > best.0 {
                    best = (gain, column, code);
                }
            }
            let (_, column, code) = best;
            // No gain is a number.
            if code == 0 {
                break;
            }
            cut(&mut cells, &table.codes(column)[first..first + count], code, level);
            let Column { number, places, .. } = &table.columns[column];
            *made_cut = Cut { column: *number, at: places[code as usize - 1] };
            made.push((column, code));
        }
        let values = rows.values(&rows.sums(&cells, &cells, u8::MAX, CUTS - 1));
        let mut cells = vec![0; table.rows];
        made.iter().enumerate().for_each(|(level, &(column, code))| {
            cut(&mut cells, table.codes(column), code, level);
        });
        for (f, &cell) in self.outputs.chunks_exact_mut(rows.outputs).zip(&cells) {
            let values = &values[cell as usize * rows.outputs..];
            f.iter_mut().zip(values).for_each(|(f, v)| *f += RATE * v);
        }
        cuts
    }

    /// Gradient and curvature of some rows.
    fn gradients(&self, rows: std::ops::Range<usize>) -> Gradients {
        let problem = self.fitter.training.problem;
        let outputs = problem.outputs;
        let f = &self.outputs[rows.start * outputs..rows.end * outputs];
        let rows = &self.fitter.split.train[rows];
        let (y, weight) = (problem.targets(rows), problem.weights(rows));
        let mut gradient = vec![0.0; f.len()];
        let loss = LossRows { y: &y, f, weight: &weight, factor: 1.0, outputs, gradient: &mut gradient };
        problem.loss.block(loss, &mut 0.0);
        let curved = f.chunks_exact(outputs).zip(&weight);
        let curvature: Vec<f32> = curved.map(|(f, w)| (self.curvature)(f) as f32 * w).collect();
        let shrinkage = SHRINKAGE * curvature.iter().sum::<f32>() / rows.len() as f32;
        Gradients { outputs, gradient, curvature, shrinkage }
    }
}

/// Puts the rows of at least this code above a cut.
fn cut(cells: &mut [u8], codes: &[u8], code: u8, level: usize) {
    cells.iter_mut().zip(codes).for_each(|(cell, &c)| *cell |= u8::from(c >= code) << level);
}

/// Gradient and curvature of the loss by the outputs of some rows.
struct Gradients {
    outputs: usize,
    gradient: Vec<f32>,
    curvature: Vec<f32>,
    /// Curvature by which that of a cell is raised.
    shrinkage: f32,
}

impl Gradients {
    /// The sums of gradients and, behind them, of curvature in each cell, if the rows of at least this code were above one cut
    /// more.
    fn sums(&self, cells: &[u8], codes: &[u8], code: u8, level: usize) -> Vec<f32> {
        /// Tables that rows are added to in turn, since neighbours are often in one cell and would wait for one another.
        const TABLES: usize = 4;
        let (k, cells_of) = (self.outputs, CELLS.min(2 << level));
        let side = |(&cell, &c): (&u8, &u8)| cell | u8::from(c >= code) << level;
        let cells: Vec<u8> = cells.iter().zip(codes).map(side).collect();
        if k == 1 {
            let mut sums = [[[0.0f32; 2]; CELLS]; TABLES];
            let rows = cells.iter().zip(self.gradient.iter().zip(&self.curvature));
            for (at, (&cell, (gradient, curvature))) in rows.enumerate() {
                let [g, h] = &mut sums[at % TABLES][cell as usize % CELLS];
                *g += gradient;
                *h += curvature;
            }
            let of_cell = |cell: usize| [0, 1].map(|part| sums.iter().map(|table| table[cell][part]).sum());
            return (0..cells_of).flat_map(of_cell).collect();
        }
        let mut sums = vec![0.0; (k + 1) * cells_of];
        let rows = cells.iter().zip(self.gradient.chunks_exact(k).zip(&self.curvature));
        for (&cell, (gradient, curvature)) in rows {
            let sums = &mut sums[cell as usize * (k + 1)..][..k + 1];
            sums.iter_mut().zip(gradient).for_each(|(s, g)| *s += g);
            sums[k] += curvature;
        }
        sums
    }

    /// Twice what a Newton step in every cell takes off the loss.
    fn gain(&self, sums: &[f32]) -> f32 {
        let of_cell = |sum: &[f32]| {
            let squares = sum[..self.outputs].iter().map(|g| g * g).sum::<f32>();
            squares / (sum[self.outputs] + self.shrinkage).max(f32::MIN_POSITIVE)
        };
        sums.chunks_exact(self.outputs + 1).map(of_cell).sum()
    }

    /// That step.
    fn values(&self, sums: &[f32]) -> Vec<f32> {
        let of_cell = |sum: &[f32]| -> Vec<f32> {
            let curvature = (sum[self.outputs] + self.shrinkage).max(f32::MIN_POSITIVE);
            sum[..self.outputs].iter().map(|g| -g / curvature).collect()
        };
        sums.chunks_exact(self.outputs + 1).flat_map(of_cell).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_between_the_values() {
        assert_eq!(places(vec![1.0, 0.0, 1.0, 3.0]), [BETWEEN, 1.0 + 2.0 * BETWEEN]);
        assert!(places(vec![2.0; 9]).is_empty());
        // Neighbours in f32 have nothing between them.
        assert!(places(vec![1.0, 1.0f32.next_up()]).is_empty());
        let many: Vec<f32> = (0..10_000).map(|i| (i as f32).powi(2)).collect();
        let places = places(many.clone());
        assert!(places.len() > 200 && places.len() < 256 && places.is_sorted());
        assert!(places.iter().all(|place| many.binary_search_by(|v| v.total_cmp(place)).is_err()));
    }

    #[test]
    fn the_gain_is_what_newton_steps_take_off_the_loss() {
        // Squared loss of three rows, two of them in one cell.
        let rows =
            Gradients { outputs: 1, gradient: vec![2.0, 4.0, -6.0], curvature: vec![2.0; 3], shrinkage: 0.0 };
        let sums = rows.sums(&[0, 0, 0], &[1, 1, 2], 2, 0);
        assert_eq!(sums, [6.0, 4.0, -6.0, 2.0]);
        assert_eq!(rows.values(&sums), [-1.5, 3.0]);
        // (1 + 4 + 9) - (0.25 + 0.25 + 0)
        assert!((0.5 * rows.gain(&sums) - 13.5).abs() < 1e-5);
    }
}
