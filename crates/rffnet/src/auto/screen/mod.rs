//! Tables with many columns for their rows: the few columns that a member looks at.
//!
//! A column is kept that the lasso keeps, with its penalty chosen by cross-validation (Tibshirani 1996), or that acts through
//! a product: with itself or with any other, its correlation with what the lasso has left over is beyond what chance gives the
//! largest of all products. Linear terms get the factors with which ridge regression is the lasso at the lasso's own solution:
//! since |b| = min over w of (b^2 / w + w) / 2, the penalty of b_j goes with 1 / |b_j|. So the head holds the sparse linear model.
//! Only a member's training rows are looked at: its validation rows are to judge what becomes of it.

mod lasso;
mod products;

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::Fitter;
use crate::loss::ExactHead;
use crate::ridge::LinearTerm;
use crate::simd;
use crate::solver::monitor::Shared;

/// Columns with a linear term, columns that the lasso passes on to the cosines, and columns of products, at most: those of the largest
/// coefficients.
const MOST_COLUMNS: usize = 100;

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

    /// The columns that seem to matter; `None` if there is no time to find out.
    pub(super) fn screen(&self, shared: &Shared) -> Option<Screened> {
        let table = Table::new(self);
        let (mut sizes, mut few) = (vec![0.0f64; table.columns.len()], vec![0.0f64; table.columns.len()]);
        let mut paired = BTreeSet::new();
        for target in self.targets() {
            if shared.stopped() {
                return None;
            }
            let mut target = table.centred(&target);
            let length = norm(&target);
            if length > 0.0 {
                target.iter_mut().for_each(|t| *t /= length);
                let lasso = table.lasso(&target);
                for (j, b) in lasso.coefficients.iter().enumerate() {
                    sizes[j] += f64::from((length * b).abs());
                }
                lasso.few.into_iter().for_each(|j| few[j] = sizes[j]);
                paired.extend(table.products(lasso.errors));
            }
        }
        let largest = |sizes: &[f64]| {
            let mut columns: Vec<usize> = (0..sizes.len()).filter(|&j| sizes[j] > 0.0).collect();
            columns.sort_by(|&a, &b| sizes[b].total_cmp(&sizes[a]));
            columns.truncate(MOST_COLUMNS);
            columns.sort_unstable();
            columns
        };
        let linear = largest(&sizes);
        let mut kept: BTreeSet<usize> = largest(&few).into_iter().collect();
        kept.extend(paired.into_iter().take(MOST_COLUMNS));
        // The kernels need a column.
        if kept.is_empty() {
            kept.insert(0);
        }
        let total: f64 = linear.iter().map(|&j| sizes[j]).sum();
        let term = |j: usize| LinearTerm { column: table.columns[j], factor: (sizes[j] / total).sqrt() };
        Some(Screened {
            terms: linear.into_iter().map(term).collect(),
            columns: kept.into_iter().map(|j| table.columns[j]).collect(),
        })
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
}

/// Less the mean, whose rows count by the squares of their roots; each row times its root.
fn centre(values: &mut [f32], roots: &[f32]) {
    let mean =
        values.iter().zip(roots).map(|(&v, &root)| f64::from(v * root) * f64::from(root)).sum::<f64>() as f32;
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
    use super::lasso::Path;
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

    /// The square of a column of two values hardly varies, and a residual may have a mean of its own.
    #[test]
    fn a_product_that_hardly_varies_is_nothing() {
        let (mut x, noise) = normals(4);
        for j in 0..30 {
            x[j * ROWS..(j + 1) * ROWS]
                .iter_mut()
                .for_each(|x| *x = if *x > 0.03 * j as f32 { 1.0 } else { 0.0 });
        }
        let table = table(&x, &[1.0; ROWS]);
        let residual: Vec<f32> = noise.iter().zip(&table.roots).map(|(e, root)| (e + 0.2) * root).collect();
        assert!(table.products(residual).len() <= 4);
    }
}
