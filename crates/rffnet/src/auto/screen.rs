//! Tables with many columns for their rows: the few columns that a member looks at.
//!
//! A column is kept that the lasso keeps, with its penalty chosen by cross-validation (Tibshirani 1996), or that acts through
//! a product: with itself or with any other, its correlation with what the lasso has left over is beyond what chance gives the
//! largest of all products. Linear terms get the factors with which ridge regression is the lasso at the lasso's own solution:
//! since |b| = min over w of (b^2 / w + w) / 2, the penalty of b_j goes with 1 / |b_j|. So the head holds the sparse linear model.
//! Only a member's training rows are looked at: its validation rows are to judge what becomes of it.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::Fitter;
use crate::loss::ExactHead;
use crate::ridge::LinearTerm;
use crate::simd;

/// Columns that the lasso passes on, at most: those of the largest coefficients.
const MOST_COLUMNS: usize = 100;
/// Parts of the rows for cross-validation; penalties from the strongest, the factor between neighbours, and how many come without
/// a better one before the path ends.
const FOLDS: usize = 5;
const PENALTIES: usize = 40;
const PENALTY_STEP: f64 = 0.85;
const PATIENCE: usize = 5;
/// Sweeps over the columns for a penalty, and the change of a coefficient that ends them.
const MOST_SWEEPS: usize = 20;
const TOLERANCE: f32 = 1e-3;
/// Columns whose products are looked at, at most: those of the largest correlations of their values or their squares.
const MOST_PAIRED: usize = 5_000;
/// Columns that are paired with all others at a time.
const BLOCK: usize = 32;
/// How often all products are looked at, and how many are taken each time, at most.
const SCANS: usize = 3;
const PRODUCTS: usize = 8;
/// Share of the threshold, as rough norms have it, from which on a product is looked at closely, and how many of a block are, at
/// most: the largest.
const CLOSE: f32 = 0.6;
const LOOKED_AT: usize = 64;

/// The columns that a member looks at, ascending, and those of them that have a linear term.
pub(super) struct Screened {
    pub(super) columns: Vec<usize>,
    pub(super) terms: Vec<LinearTerm>,
}

impl Fitter<'_> {
    /// Whether there are many columns for the training rows.
    pub(super) fn is_wide(&self) -> bool {
        let rows = self.split.train.len() as f64;
        self.validates() && self.support().len() as f64 > self.sizes.constants.wide * rows
    }

    /// The columns that seem to matter.
    pub(super) fn screen(&self) -> Screened {
        let table = Table::new(self);
        let mut sizes = vec![0.0f64; table.columns.len()];
        let mut kept = BTreeSet::new();
        for target in self.targets() {
            let lasso = table.lasso(&table.centred(&target));
            sizes.iter_mut().zip(&lasso.coefficients).for_each(|(size, b)| *size += f64::from(b.abs()));
            kept.extend(lasso.few);
            kept.extend(table.products(lasso.errors));
        }
        let mut linear: Vec<usize> = (0..sizes.len()).filter(|&j| sizes[j] > 0.0).collect();
        linear.sort_by(|&a, &b| sizes[b].total_cmp(&sizes[a]));
        linear.truncate(MOST_COLUMNS);
        linear.sort_unstable();
        // The kernels need a column.
        if kept.is_empty() {
            kept.insert(0);
        }
        let total: f64 = linear.iter().map(|&j| sizes[j]).sum();
        let term = |j: usize| LinearTerm { column: table.columns[j], factor: (sizes[j] / total).sqrt() };
        Screened {
            terms: linear.into_iter().map(term).collect(),
            columns: kept.into_iter().map(|j| table.columns[j]).collect(),
        }
    }

    /// What is predicted on the training rows: the target of each output, or the indicator of each class.
    fn targets(&self) -> Vec<Vec<f32>> {
        let (problem, rows) = (self.training.problem, &self.split.train);
        let classes = matches!(problem.loss.exact_head(), ExactHead::Newton(_)) && problem.outputs > 1;
        let of = |output: usize| {
            let number = |&i: &usize| match classes {
                true => f32::from(problem.target(i)[0] == output as f32),
                false => problem.target(i)[output],
            };
            rows.iter().map(number).collect()
        };
        (0..problem.outputs).map(of).collect()
    }
}

/// Training rows, column by column: of mean zero and length one, each row times the root of its share of the weight.
struct Table {
    columns: Vec<usize>,
    /// `columns x rows`.
    x: Vec<f32>,
    /// Roots of the rows' shares of the weight.
    roots: Vec<f32>,
    /// The number of rows of equal weight that say as much (Kish 1965).
    effective_rows: f32,
}

impl Table {
    fn new(fitter: &Fitter<'_>) -> Self {
        let (problem, rows) = (fitter.training.problem, &fitter.split.train);
        let values = |&j: &usize| {
            let transform = problem.columns.transforms.columns()[j];
            let cells = problem.columns.x.column(j, rows.iter().copied());
            cells.into_iter().map(|cell| transform.apply(cell)).collect()
        };
        Self::of(fitter.support(), &problem.weights(rows), values)
    }

    /// Of columns with these values in the rows.
    fn of(columns: Vec<usize>, weights: &[f32], values: impl Fn(&usize) -> Vec<f32> + Sync) -> Self {
        let total: f32 = weights.iter().sum();
        let roots: Vec<f32> = weights.iter().map(|w| (w / total).sqrt()).collect();
        let mut x = vec![0.0; columns.len() * roots.len()];
        x.par_chunks_mut(roots.len()).zip(&columns).for_each(|(x, j)| {
            x.copy_from_slice(&values(j));
            centre(x, &roots);
            let length = norm(x);
            let inverse = if length > 1e-6 { length.recip() } else { 0.0 };
            x.iter_mut().for_each(|x| *x *= inverse);
        });
        let effective_rows = 1.0 / roots.iter().map(|root| root.powi(4)).sum::<f32>();
        Self { columns, x, roots, effective_rows }
    }

    fn rows(&self) -> usize {
        self.roots.len()
    }

    fn column(&self, j: usize) -> &[f32] {
        &self.x[j * self.rows()..(j + 1) * self.rows()]
    }

    /// Less its mean, each row times its root.
    fn centred(&self, target: &[f32]) -> Vec<f32> {
        let mut target = target.to_vec();
        centre(&mut target, &self.roots);
        target
    }

    /// Products of all columns with one vector.
    fn correlations(&self, vector: &[f32]) -> Vec<f32> {
        let n = self.rows();
        let mut products = vec![0.0; self.columns.len()];
        products.par_chunks_mut(512).zip(self.x.par_chunks(512 * n)).for_each(|(products, x)| {
            simd::dense_outputs(simd::path(), x, n, vector, products);
        });
        products
    }

    /// The lasso with the penalty that cross-validation prefers.
    fn lasso(&self, target: &[f32]) -> Lasso {
        let n = self.rows();
        let strongest = self.correlations(target).iter().fold(0.0, |m: f32, c| m.max(c.abs()));
        let penalty = |step: usize| strongest * (PENALTY_STEP as f32).powi(step as i32);
        let inside =
            |fold: Option<usize>| (0..n).map(move |i| fold != Some(i % FOLDS)).collect::<Vec<bool>>();
        let mut folds: Vec<Path<'_>> =
            (0..FOLDS).map(|fold| Path::new(self, target, inside(Some(fold)))).collect();
        // Of each row, of the fold that does not know it.
        let errors_of = |folds: &[Path<'_>]| (0..n).map(|i| folds[i % FOLDS].errors[i]).collect::<Vec<f32>>();
        let square = |errors: &[f32]| errors.iter().map(|e| e * e).sum::<f32>();
        let mut errors = vec![errors_of(&folds)];
        let mut best = 0;
        for step in 1..PENALTIES {
            folds.par_iter_mut().for_each(|fold| fold.descend(penalty(step)));
            errors.push(errors_of(&folds));
            if square(&errors[step]) < square(&errors[best]) {
                best = step;
            }
            if step > best + PATIENCE {
                break;
            }
        }
        // Within a standard error of the best one, row by row.
        let no_worse = |errors_of_step: &Vec<f32>| {
            let differences = || errors_of_step.iter().zip(&errors[best]).map(|(a, b)| a * a - b * b);
            let mean = differences().sum::<f32>() / n as f32;
            mean <= (differences().map(|d| (d - mean).powi(2)).sum::<f32>()).sqrt() / n as f32
        };
        let simplest = errors.iter().position(no_worse).unwrap_or(best);
        let mut path = Path::new(self, target, inside(None));
        (1..=simplest).for_each(|step| path.descend(penalty(step)));
        let few = (0..self.columns.len()).filter(|&j| path.coefficients[j] != 0.0).collect();
        (simplest + 1..=best).for_each(|step| path.descend(penalty(step)));
        Lasso { coefficients: path.coefficients, few, errors: errors.swap_remove(best) }
    }

    /// Columns whose product with another or with themselves goes with the residual: the largest first, each taken from the
    /// residual before the next.
    fn products(&self, mut residual: Vec<f32>) -> Vec<usize> {
        let paired = self.paired(&residual);
        let thresholds = Thresholds::new(paired.len());
        let (mut found, mut taken): (Vec<usize>, Vec<Vec<f32>>) = (Vec::new(), Vec::new());
        for _ in 0..SCANS {
            let mut candidates = self.scan(&paired, &residual, thresholds);
            candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
            let before = taken.len();
            for (_, j, k) in candidates {
                if taken.len() == before + PRODUCTS {
                    break;
                }
                // Those before may have explained it.
                if self.significance(j, k, &residual) < thresholds.of(j, k) {
                    continue;
                }
                // In the metric of the rows' weights, at right angles to those before.
                let mut product: Vec<f32> = self.product(j, k).collect();
                centre(&mut product, &self.roots);
                for other in &taken {
                    let share = dot(&product, other);
                    add(&mut product, -share, other);
                }
                let length = norm(&product);
                if length > 1e-6 {
                    product.iter_mut().for_each(|p| *p /= length);
                    let share = dot(&residual, &product);
                    add(&mut residual, -share, &product);
                    taken.push(product);
                    found.extend([j, k]);
                }
            }
            if taken.len() == before {
                break;
            }
        }
        found
    }

    /// Columns to be paired: all, or those of the largest correlations.
    fn paired(&self, residual: &[f32]) -> Vec<usize> {
        let mut columns: Vec<usize> = (0..self.columns.len()).collect();
        if columns.len() > MOST_PAIRED {
            let squares =
                |v: &[f32]| v.iter().zip(&self.roots).map(|(v, root)| v * v / root).collect::<Vec<_>>();
            let mut squared = squares(residual);
            let mass = squared.iter().zip(&self.roots).map(|(s, root)| s * root).sum::<f32>();
            squared.iter_mut().zip(&self.roots).for_each(|(s, root)| *s -= mass * root);
            let scale = norm(residual) / norm(&squared).max(f32::MIN_POSITIVE);
            let size = |j: usize| {
                let square = squares(self.column(j));
                let length = norm(&square).max(f32::MIN_POSITIVE);
                let with_square = dot(residual, &square).abs().max(scale * dot(&squared, &square).abs());
                dot(residual, self.column(j)).abs().max(with_square / length)
            };
            let sizes: Vec<f32> = columns.par_iter().map(|&j| size(j)).collect();
            columns.sort_by(|&a, &b| sizes[b].total_cmp(&sizes[a]));
            columns.truncate(MOST_PAIRED);
            columns.sort_unstable();
        }
        columns
    }

    /// Pairs whose products go with the residual, with their significance.
    fn scan(&self, paired: &[usize], residual: &[f32], thresholds: Thresholds) -> Vec<(f32, usize, usize)> {
        let n = self.rows();
        // Of a row, without the root that the columns have.
        let plain: Vec<f32> = residual.iter().zip(&self.roots).map(|(r, root)| r / root.max(1e-20)).collect();
        let close = CLOSE * thresholds.square * norm(residual) / self.effective_rows.sqrt();
        let x: Vec<f32> = paired.iter().flat_map(|&j| self.column(j)).copied().collect();
        let blocks: Vec<usize> = (0..paired.len()).step_by(BLOCK).collect();
        let of_block = |&first: &usize| {
            let block = first..(first + BLOCK).min(paired.len());
            let weighted = |k: usize| x[k * n..(k + 1) * n].iter().zip(&plain).map(|(x, r)| x * r);
            let heads: Vec<f32> = block.clone().flat_map(weighted).collect();
            // Each pair once: those before the end of the block.
            let mut products = vec![0.0; block.end * block.len()];
            simd::dense_outputs(simd::path(), &x[..block.end * n], n, &heads, &mut products);
            let mut pairs = Vec::new();
            for (j, products) in products.chunks_exact(block.len()).enumerate() {
                for (k, product) in block.clone().zip(products) {
                    if product.abs() >= close && j <= k {
                        pairs.push((product.abs(), paired[j], paired[k]));
                    }
                }
            }
            if pairs.len() > LOOKED_AT {
                pairs.select_nth_unstable_by(LOOKED_AT, |a, b| b.0.total_cmp(&a.0));
                pairs.truncate(LOOKED_AT);
            }
            pairs.iter_mut().for_each(|(size, j, k)| *size = self.significance(*j, *k, residual));
            pairs.retain(|&(significance, j, k)| significance >= thresholds.of(j, k));
            pairs
        };
        blocks.par_iter().flat_map_iter(of_block).collect()
    }

    /// The products of two columns, row by row, without the rows' shares.
    fn product(&self, j: usize, k: usize) -> impl Iterator<Item = f32> {
        let of = self.column(j).iter().zip(self.column(k)).zip(&self.roots);
        of.map(|((a, b), root)| a * b / (root * root).max(1e-20))
    }

    /// The correlation of the residual with the product of two columns, in standard errors of one that is zero.
    fn significance(&self, j: usize, k: usize, residual: &[f32]) -> f32 {
        let (mut sum, mut mean, mut squares) = (0.0, 0.0, 0.0);
        for ((product, r), root) in self.product(j, k).zip(residual).zip(&self.roots) {
            sum += product * root * r;
            mean += product * root * root;
            squares += (product * root).powi(2);
        }
        let length = (squares - mean * mean).max(0.0).sqrt() * norm(residual);
        if length > 0.0 { sum.abs() / length * self.effective_rows.sqrt() } else { 0.0 }
    }
}

/// What the largest of so many standard normal numbers is about: of the squares of all columns, and of all pairs.
#[derive(Clone, Copy)]
struct Thresholds {
    square: f32,
    pair: f32,
}

impl Thresholds {
    fn new(columns: usize) -> Self {
        let largest = |count: f32| (2.0 * count.ln()).max(1.0).sqrt();
        let columns = columns as f32;
        Self { square: largest(columns), pair: largest(columns * columns / 2.0) }
    }

    fn of(self, j: usize, k: usize) -> f32 {
        if j == k { self.square } else { self.pair }
    }
}

/// What the lasso says of a target.
struct Lasso {
    coefficients: Vec<f32>,
    /// Columns that it keeps with the strongest penalty that is within a standard error of the best.
    few: Vec<usize>,
    /// Of each row, by a fit that does not know it.
    errors: Vec<f32>,
}

/// The lasso on some of the rows, from strong to weak penalties.
struct Path<'a> {
    table: &'a Table,
    inside: Vec<bool>,
    coefficients: Vec<f32>,
    /// Of all rows, and of those inside alone, zero elsewhere.
    errors: Vec<f32>,
    residual: Vec<f32>,
    /// Squared lengths of the columns inside.
    lengths: Vec<f32>,
    penalty: f32,
}

impl<'a> Path<'a> {
    fn new(table: &'a Table, target: &[f32], inside: Vec<bool>) -> Self {
        let length =
            |x: &[f32]| x.iter().zip(&inside).filter(|(_, inside)| **inside).map(|(x, _)| x * x).sum();
        let lengths = table.x.par_chunks(table.rows()).map(length).collect();
        let mut path = Self {
            table,
            coefficients: vec![0.0; table.columns.len()],
            errors: target.to_vec(),
            residual: Vec::new(),
            lengths,
            penalty: f32::INFINITY,
            inside,
        };
        path.residual = path.within();
        path
    }

    fn within(&self) -> Vec<f32> {
        self.errors.iter().zip(&self.inside).map(|(&e, &inside)| if inside { e } else { 0.0 }).collect()
    }

    /// To the next, weaker penalty: coordinate descent on the columns that the strong rule leaves (Tibshirani et al. 2012), until
    /// no other should move.
    fn descend(&mut self, penalty: f32) {
        let share = self.inside.iter().zip(&self.table.roots).filter(|(inside, _)| **inside);
        let penalty = penalty * share.map(|(_, root)| root * root).sum::<f32>();
        let rule = if self.penalty.is_finite() { 2.0 * penalty - self.penalty } else { penalty };
        let gradient = self.table.correlations(&self.residual);
        let may_move = |j: &usize| self.coefficients[*j] != 0.0 || gradient[*j].abs() >= rule;
        let mut working: Vec<usize> = (0..gradient.len()).filter(may_move).collect();
        for _ in 0..MOST_SWEEPS {
            if self.sweep(&working, penalty) > TOLERANCE {
                continue;
            }
            let gradient = self.table.correlations(&self.residual);
            let violates = |j: &usize| self.coefficients[*j] == 0.0 && gradient[*j].abs() > 1.001 * penalty;
            let others: Vec<usize> = (0..gradient.len()).filter(violates).collect();
            if others.is_empty() {
                break;
            }
            working.extend(others);
        }
        self.penalty = penalty;
    }

    /// The largest change of a coefficient.
    fn sweep(&mut self, working: &[usize], penalty: f32) -> f32 {
        let mut moved: f32 = 0.0;
        for &j in working.iter().filter(|&&j| self.lengths[j] > 1e-6) {
            let (x, b) = (self.table.column(j), self.coefficients[j]);
            let u = dot(x, &self.residual) + self.lengths[j] * b;
            let new = u.signum() * (u.abs() - penalty).max(0.0) / self.lengths[j];
            let change = new - b;
            if change != 0.0 {
                self.coefficients[j] = new;
                add(&mut self.errors, -change, x);
                let inside = self.residual.iter_mut().zip(x).zip(&self.inside);
                inside.for_each(|((r, x), &inside)| *r -= if inside { change * x } else { 0.0 });
                moved = moved.max(change.abs());
            }
        }
        moved
    }
}

/// Less the mean, whose rows count by the squares of their roots; each row times its root.
fn centre(values: &mut [f32], roots: &[f32]) {
    let mean: f32 = values.iter().zip(roots).map(|(v, root)| v * root * root).sum();
    values.iter_mut().zip(roots).for_each(|(v, root)| *v = (*v - mean) * root);
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a.iter().zip(b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f32>()
}

fn norm(v: &[f32]) -> f32 {
    dot(v, v).sqrt()
}

fn add(to: &mut [f32], factor: f32, v: &[f32]) {
    to.iter_mut().zip(v).for_each(|(to, v)| *to += factor * v);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::random::{Use, stream};
    use rand_distr::{Distribution, StandardNormal};

    const ROWS: usize = 120;
    const COLUMNS: usize = 60;

    /// Normal numbers, column by column, and as many more for the rows.
    fn normals(seed: u64) -> (Vec<f32>, Vec<f32>) {
        let rng = &mut stream(seed, Use::Frequencies);
        let mut draw = |count| (0..count).map(|_| StandardNormal.sample(rng)).collect();
        (draw(ROWS * COLUMNS), draw(ROWS))
    }

    fn table(x: &[f32], weights: &[f32]) -> Table {
        let rows = weights.len();
        Table::of((0..COLUMNS).collect(), weights, |&j| x[j * ROWS..j * ROWS + rows].to_vec())
    }

    fn sum(terms: &[(f32, usize)], x: &[f32], noise: &[f32], size: f32) -> Vec<f32> {
        let row = |i: usize| terms.iter().map(|(b, j)| b * x[j * ROWS + i]).sum::<f32>() + size * noise[i];
        (0..ROWS).map(row).collect()
    }

    /// The Karush-Kuhn-Tucker conditions: what is left goes with a column by the penalty where its coefficient is not zero, and by
    /// less elsewhere.
    #[test]
    fn a_path_ends_at_the_lasso() {
        let (x, noise) = normals(1);
        let weights: Vec<f32> = (0..ROWS).map(|i| 0.5 + (i % 3) as f32).collect();
        let table = table(&x, &weights);
        let target = table.centred(&sum(&[(2.0, 3), (-1.0, 7)], &x, &noise, 0.5));
        let mut path = Path::new(&table, &target, vec![true; ROWS]);
        for penalty in [1.0, 0.5, 0.2, 0.1] {
            path.descend(penalty);
            for (j, gradient) in table.correlations(&path.residual).into_iter().enumerate() {
                match path.coefficients[j] {
                    0.0 => assert!(gradient.abs() <= 1.01 * penalty, "{penalty} {j}: {gradient}"),
                    b => assert!((gradient - penalty * b.signum()).abs() < 0.01, "{penalty} {j}: {gradient}"),
                }
            }
        }
        assert!(path.coefficients[3] > 1.5 && path.coefficients[7] < -0.5);
    }

    #[test]
    fn the_lasso_keeps_the_columns_that_matter_and_errors_are_those_of_new_rows() {
        let (x, noise) = normals(2);
        let table = table(&x, &[1.0; ROWS]);
        let target = table.centred(&sum(&[(2.0, 3), (-1.5, 7)], &x, &noise, 1.0));
        let lasso = table.lasso(&target);
        assert!(lasso.few.contains(&3) && lasso.few.contains(&7) && lasso.few.len() < 12, "{:?}", lasso.few);
        let error = norm(&lasso.errors).powi(2);
        assert!((0.8..1.6).contains(&error), "noise of variance one: {error}");
        // Nothing to find.
        let lasso = table.lasso(&table.centred(&noise));
        assert!(lasso.few.is_empty(), "{:?}", lasso.few);
    }

    #[test]
    fn products_and_squares_are_found_and_noise_is_not() {
        let (mut found, mut wrong) = (0, 0);
        for seed in 0..10 {
            let (x, noise) = normals(seed);
            let table = table(&x, &[1.0; ROWS]);
            let at = |j: usize, i: usize| x[j * ROWS + i];
            let target: Vec<f32> =
                (0..ROWS).map(|i| at(4, i) * at(9, i) + at(20, i).powi(2) + 0.3 * noise[i]).collect();
            let columns = table.products(table.centred(&target));
            found += usize::from([4, 9, 20].iter().all(|j| columns.contains(j)));
            wrong += table.products(table.centred(&noise)).len();
        }
        assert!(found >= 9, "found {found} times");
        assert!(wrong <= 6, "{wrong} columns of noise");
    }

    #[test]
    fn rows_of_weight_zero_do_not_count() {
        let (x, noise) = normals(3);
        let target = sum(&[(1.0, 3)], &x, &noise, 0.5);
        let weights: Vec<f32> = (0..ROWS).map(|i| if i < 100 { 1.0 } else { 0.0 }).collect();
        let (whole, part) = (table(&x, &weights), table(&x, &weights[..100]));
        let products = |table: &Table, target: &[f32]| {
            let target = table.centred(target);
            (table.products(target.clone()), table.correlations(&target))
        };
        let ((a, c), (b, d)) = (products(&whole, &target), products(&part, &target[..100]));
        assert_eq!(a, b);
        assert!(c.iter().zip(&d).all(|(c, d)| (c - d).abs() < 1e-5));
    }
}
