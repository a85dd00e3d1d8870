//! The simulated sets of the paper (appendix "Datasets").

use rffnet::text::count;
use serde::{Deserialize, Serialize};

use crate::column::Column;
use crate::error::{DataError, shown};
use crate::layout::made_up_names;
use crate::names::nearest;
use crate::random::{Stream, normal, seeded, shuffle, uniform};
use crate::table::Table;

rffnet::named_enum! {
    /// A simulated set: columns `x1..xd` as the paper counts them, target `y`.
    ///
    /// | set | d | columns | target |
    /// |---|---|---|---|
    /// | `gse1` | 18 | independent normal | sin((x1 + x3)^2) sin(x7 x8 x9) + noise |
    /// | `gse2` | 100 | independent normal | log((x11 + x12 + x13 + x14 + x15)^2) + noise |
    /// | `jse2` | 10 | normal, covariance 0.5^abs(i - j) | x1^3 + x2^3 + noise |
    /// | `jse3` | 10 | independent normal | x1 x2 + noise |
    /// | `classification` | 20 | two informative, two mixtures of them, sixteen of noise | 0 or 1, two clusters each |
    /// | `moons` | 2 | two interleaving half circles | 0 or 1: which of the two |
    ///
    /// The noise is normal with standard deviation 0.1. `classification` and `moons` behave as scikit-learn's
    /// `make_classification` and `make_moons` do by default; the rows themselves differ, as the random numbers
    /// do.
    #[derive(Hash)]
    pub enum Simulated {
        /// A product of sines, five of 18 columns.
        Gse1 => "gse1",
        /// A logarithm, five of 100 columns.
        Gse2 => "gse2",
        /// Two cubes, correlated columns.
        Jse2 => "jse2",
        /// A product of two columns.
        Jse3 => "jse3",
        /// Four clusters in a plane, among noise.
        Classification => "classification",
        /// Two half circles.
        Moons => "moons",
    } else DataError = unknown_set
}

/// The standard deviation of the noise in the regression sets.
const NOISE: f64 = 0.1;

/// 16 GB of 32-bit numbers: a request for more is a mistake.
const MAX_CELLS: u64 = 4_000_000_000;

impl Simulated {
    /// The number of input columns.
    pub fn columns(self) -> usize {
        match self {
            Simulated::Gse1 => 18,
            Simulated::Gse2 => 100,
            Simulated::Jse2 | Simulated::Jse3 => 10,
            Simulated::Classification => 20,
            Simulated::Moons => 2,
        }
    }

    /// Whether the target is a class, 0 or 1.
    pub fn is_classification(self) -> bool {
        matches!(self, Simulated::Classification | Simulated::Moons)
    }

    /// The columns the target depends on, counted from 0. `None` for `classification`, where the seed
    /// decides.
    pub fn active(self) -> Option<&'static [usize]> {
        match self {
            Simulated::Gse1 => Some(&[0, 2, 6, 7, 8]),
            Simulated::Gse2 => Some(&[10, 11, 12, 13, 14]),
            Simulated::Jse2 | Simulated::Jse3 | Simulated::Moons => Some(&[0, 1]),
            Simulated::Classification => None,
        }
    }

    /// Whether that many rows can be drawn: up to four billion cells.
    ///
    /// # Errors
    /// If not; the sentence names the limit.
    pub fn check_rows(self, rows: usize) -> Result<(), DataError> {
        let limit = MAX_CELLS / self.columns() as u64;
        if (1..=limit).contains(&(rows as u64)) {
            return Ok(());
        }
        let limit = count(limit);
        Err(DataError::request(format!("rows is {rows}; {self} can have from 1 to {limit}")))
    }

    /// Draws `rows` rows.
    ///
    /// # Panics
    /// If the rows do not fit in memory; [`Simulated::check_rows`] is there to ask first.
    ///
    /// ```
    /// use rffnet_data::Simulated;
    /// let table = Simulated::Gse1.generate(500, 42);
    /// assert_eq!((table.rows, table.columns()), (500, 18));
    /// assert_eq!(table.names[0], "x1");
    /// ```
    pub fn generate(self, rows: usize, seed: u64) -> Table {
        let rng = &mut seeded(seed);
        let (x, y) = match self {
            Simulated::Classification => classification(rows, rng).shuffled(rng),
            Simulated::Moons => moons(rows, rng),
            _ => self.regression(rows, rng),
        };
        Table {
            names: made_up_names(self.columns()),
            has_names: true,
            x,
            rows,
            target: Some(Column::Numbers(y)),
            target_name: Some("y".to_string()),
            weight: None,
            source: self.name().to_string(),
            ..Table::default()
        }
    }

    /// A training and a test part from one world: for `classification` the same clusters and the same
    /// columns.
    ///
    /// # Panics
    /// As [`Simulated::generate`].
    pub fn train_test(self, rows: usize, test_rows: usize, seed: u64) -> (Table, Table) {
        let mut train = self.generate(rows.saturating_add(test_rows), seed);
        let test = train.take(&(rows..train.rows).collect::<Vec<_>>());
        train.x.truncate(rows * self.columns());
        train.rows = rows;
        if let Some(Column::Numbers(y)) = &mut train.target {
            y.truncate(rows);
        }
        (train, test)
    }

    fn regression(self, rows: usize, rng: &mut Stream) -> (Vec<f32>, Vec<f64>) {
        let d = self.columns();
        let mut x = Vec::with_capacity(rows * d);
        let mut y = Vec::with_capacity(rows);
        let mut row = vec![0.0; d];
        for _ in 0..rows {
            for j in 0..d {
                row[j] = normal(rng);
                // A first-order autoregression has exactly the covariance 0.5^|i-j|.
                if self == Simulated::Jse2 && j > 0 {
                    row[j] = 0.5 * row[j - 1] + 0.75_f64.sqrt() * row[j];
                }
            }
            let kept = x.len();
            x.extend(row.iter().map(|&v| v as f32));
            // The target follows from the columns as they are kept, so that the file obeys the formula
            // exactly.
            y.push(self.signal(&x[kept..]) + NOISE * normal(rng));
        }
        (x, y)
    }

    /// The regression function of the paper, without noise. Columns are counted from 1 there and from 0 here.
    fn signal(self, row: &[f32]) -> f64 {
        let x = |k: usize| f64::from(row[k - 1]);
        match self {
            Simulated::Gse1 => ((x(1) + x(3)).powi(2)).sin() * (x(7) * x(8) * x(9)).sin(),
            Simulated::Gse2 => (x(11) + x(12) + x(13) + x(14) + x(15)).powi(2).max(f64::MIN_POSITIVE).ln(),
            Simulated::Jse2 => x(1).powi(3) + x(2).powi(3),
            Simulated::Jse3 => x(1) * x(2),
            Simulated::Classification | Simulated::Moons => 0.0,
        }
    }
}

/// Two half circles of radius 1, evenly spaced angles, in random order.
fn moons(rows: usize, rng: &mut Stream) -> (Vec<f32>, Vec<f64>) {
    let outer = rows / 2;
    let inner = rows - outer;
    let angle = |i: usize, n: usize| std::f64::consts::PI * i as f64 / (n.max(2) - 1) as f64;
    let upper = (0..outer).map(|i| angle(i, outer)).map(|t| ([t.cos(), t.sin()], 0.0));
    let lower = (0..inner).map(|i| angle(i, inner)).map(|t| ([1.0 - t.cos(), 0.5 - t.sin()], 1.0));
    let mut points: Vec<([f64; 2], f64)> = upper.chain(lower).collect();
    shuffle(&mut points, rng);
    let x = points.iter().flat_map(|(p, _)| p.map(|v| v as f32)).collect();
    (x, points.into_iter().map(|(_, y)| y).collect())
}

/// `make_classification` before anything is shuffled: columns 0 and 1 are informative, 2 and 3 mixtures of
/// them.
struct Clusters {
    rows: Vec<([f64; Clusters::COLUMNS], f64)>,
    /// Rows whose label was drawn anew.
    #[cfg(test)]
    redrawn: usize,
}

impl Clusters {
    const COLUMNS: usize = 20;
    const CLUSTERS: usize = 4;
    const FLIP: f64 = 0.01;

    /// Rows and columns in random order.
    fn shuffled(mut self, rng: &mut Stream) -> (Vec<f32>, Vec<f64>) {
        shuffle(&mut self.rows, rng);
        let mut order: Vec<usize> = (0..Clusters::COLUMNS).collect();
        shuffle(&mut order, rng);
        let x = self.rows.iter().flat_map(|(row, _)| order.iter().map(|&j| row[j] as f32)).collect();
        (x, self.rows.iter().map(|(_, y)| *y).collect())
    }
}

fn classification(rows: usize, rng: &mut Stream) -> Clusters {
    // One cluster at each corner of the square, the corners in random order, classes taking turns.
    let mut corners = [[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]];
    shuffle(&mut corners, rng);
    let mix = matrix(rng);
    let mut out = Vec::with_capacity(rows);
    #[cfg(test)]
    let mut redrawn = 0;
    for (k, corner) in corners.iter().enumerate() {
        // What does not divide by four goes to the first clusters.
        let size = rows / Clusters::CLUSTERS + usize::from(k < rows % Clusters::CLUSTERS);
        let spread = matrix(rng);
        for _ in 0..size {
            let mut row = [0.0; Clusters::COLUMNS];
            let [a, b] = product([normal(rng), normal(rng)], spread);
            let informative = [a + corner[0], b + corner[1]];
            row[..2].copy_from_slice(&informative);
            row[2..4].copy_from_slice(&product(informative, mix));
            row[4..].iter_mut().for_each(|v| *v = normal(rng));
            let mut class = (k % 2) as f64;
            if uniform(rng) < Clusters::FLIP {
                class = f64::from(uniform(rng) < 0.5);
                #[cfg(test)]
                {
                    redrawn += 1;
                }
            }
            out.push((row, class));
        }
    }
    Clusters {
        rows: out,
        #[cfg(test)]
        redrawn,
    }
}

type Matrix = [[f64; 2]; 2];

/// Entries uniform on [-1, 1).
fn matrix(rng: &mut Stream) -> Matrix {
    std::array::from_fn(|_| std::array::from_fn(|_| 2.0 * uniform(rng) - 1.0))
}

/// The row vector `v` times `m`.
fn product(v: [f64; 2], m: Matrix) -> [f64; 2] {
    std::array::from_fn(|j| v[0] * m[0][j] + v[1] * m[1][j])
}

fn unknown_set(text: &str) -> DataError {
    let names: Vec<&str> = Simulated::ALL.iter().map(|set| set.name()).collect();
    let advice = match nearest(text, names.iter().copied()) {
        Some(near) => format!("did you mean {near}? (there are {})", names.join(", ")),
        None => format!("there are {}", names.join(", ")),
    };
    DataError::request(format!("there is no simulated set '{}'; {advice}", shown(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(table: &Table) -> &[f64] {
        table.target.as_ref().unwrap().numbers().unwrap()
    }

    fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
        let n = values.clone().count() as f64;
        let mean = values.clone().sum::<f64>() / n;
        (mean, (values.map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt())
    }

    #[test]
    fn regression_sets_follow_their_formulas() {
        for set in [Simulated::Gse1, Simulated::Gse2, Simulated::Jse2, Simulated::Jse3] {
            let table = set.generate(20_000, 11);
            let d = set.columns();
            for j in 0..d {
                let (mean, sd) = moments(table.x.chunks(d).map(|row| f64::from(row[j])));
                assert!(mean.abs() < 0.04 && (sd - 1.0).abs() < 0.03, "{set} x{}: {mean} {sd}", j + 1);
            }
            let residuals: Vec<f64> =
                table.x.chunks(d).zip(target(&table)).map(|(row, y)| y - set.signal(row)).collect();
            let (mean, sd) = moments(residuals.iter().copied());
            assert!(mean.abs() < 0.003 && (sd - 0.1).abs() < 0.003, "{set}: {mean} {sd}");
        }
    }

    #[test]
    fn formulas_by_hand() {
        let mut row = vec![0.0_f32; 100];
        for (k, v) in [(1, 1.0), (3, 0.5), (7, 1.0), (8, 2.0), (9, 0.25), (11, 3.0)] {
            row[k - 1] = v;
        }
        assert_eq!(Simulated::Gse1.signal(&row), 2.25_f64.sin() * 0.5_f64.sin());
        assert_eq!(Simulated::Gse2.signal(&row), 9.0_f64.ln());
        row[1] = -2.0;
        assert_eq!(Simulated::Jse2.signal(&row), 1.0 - 8.0);
        assert_eq!(Simulated::Jse3.signal(&row), -2.0);
        assert!(Simulated::Gse2.signal(&[0.0; 100]).is_finite());
    }

    #[test]
    fn jse2_columns_are_correlated() {
        let table = Simulated::Jse2.generate(40_000, 3);
        for (i, j) in [(0, 1), (0, 2), (4, 5), (3, 6), (9, 8), (0, 9)] {
            let products = table.x.chunks(10).map(|row| f64::from(row[i]) * f64::from(row[j]));
            let expected = 0.5_f64.powi(i.abs_diff(j) as i32);
            let (mean, _) = moments(products);
            assert!((mean - expected).abs() < 0.03, "{i} {j}: {mean} {expected}");
        }
    }

    #[test]
    fn seeds_decide() {
        for &set in Simulated::ALL {
            assert_eq!(set.generate(50, 1), set.generate(50, 1));
            assert_ne!(set.generate(50, 1).x, set.generate(50, 2).x);
            for rows in 0..6 {
                let table = set.generate(rows, 1);
                assert_eq!((table.x.len(), target(&table).len()), (rows * set.columns(), rows));
                assert!(table.x.iter().all(|v| v.is_finite()));
            }
        }
    }

    #[test]
    fn train_and_test_are_one_world() {
        for &set in Simulated::ALL {
            let whole = set.generate(130, 9);
            let (train, test) = set.train_test(100, 30, 9);
            assert_eq!((train.rows, test.rows), (100, 30));
            assert_eq!([train.x.as_slice(), &test.x].concat(), whole.x);
            assert_eq!([target(&train), target(&test)].concat(), target(&whole));
        }
    }

    #[test]
    fn moons_lie_on_the_circles() {
        let table = Simulated::Moons.generate(1001, 5);
        let mut counts = [0, 0];
        for (p, &y) in table.x.chunks(2).zip(target(&table)) {
            let [a, b] = [f64::from(p[0]), f64::from(p[1])];
            let (center, side) = if y == 0.0 { ([0.0, 0.0], 1.0) } else { ([1.0, 0.5], -1.0) };
            assert!(((a - center[0]).hypot(b - center[1]) - 1.0).abs() < 1e-6);
            assert!(side * (b - center[1]) > -1e-6);
            counts[y as usize] += 1;
        }
        assert_eq!(counts, [500, 501]);
        // Shuffled: both classes among the first rows.
        assert!(target(&table)[..20].contains(&0.0) && target(&table)[..20].contains(&1.0));
    }

    #[test]
    fn clusters_stand_at_the_corners() {
        let rng = &mut seeded(8);
        let clusters = classification(40_000, rng);
        for (k, rows) in clusters.rows.chunks(10_000).enumerate() {
            let centre: Vec<f64> = (0..2).map(|j| moments(rows.iter().map(|(r, _)| r[j])).0).collect();
            assert!(centre.iter().all(|c| (c.abs() - 1.0).abs() < 0.05), "{centre:?}");
            let agree = rows.iter().filter(|(_, y)| *y == (k % 2) as f64).count();
            assert!((9_900..10_000).contains(&agree), "{agree}");
        }
        // One label in a hundred is drawn anew, half of them to the same class.
        assert!((300..500).contains(&clusters.redrawn), "{}", clusters.redrawn);
        // Columns 2 and 3 are linear in 0 and 1: they give the same coefficients in any two rows.
        let rows = &clusters.rows;
        let solve = |a: usize, b: usize, j: usize| {
            let ([p, q], [r, s]) = ([rows[a].0[0], rows[a].0[1]], [rows[b].0[0], rows[b].0[1]]);
            let det = p * s - q * r;
            [(rows[a].0[j] * s - q * rows[b].0[j]) / det, (p * rows[b].0[j] - rows[a].0[j] * r) / det]
        };
        for j in [2, 3] {
            let (u, v) = (solve(0, 20_000, j), solve(7, 35_000, j));
            assert!((u[0] - v[0]).abs() < 1e-6 && (u[1] - v[1]).abs() < 1e-6, "{u:?} {v:?}");
        }
    }

    #[test]
    fn classification_is_balanced_and_shuffled() {
        let table = Simulated::Classification.generate(10_000, 2);
        let ones = target(&table).iter().sum::<f64>();
        assert!((ones - 5_000.0).abs() < 100.0, "{ones}");
        let early = target(&table)[..1000].iter().sum::<f64>();
        assert!((400.0..600.0).contains(&early), "{early}");
        // Sixteen columns are plain noise.
        let noise = (0..20).filter(|&j| {
            let (mean, sd) = moments(table.x.chunks(20).map(|row| f64::from(row[j])));
            mean.abs() < 0.05 && (sd - 1.0).abs() < 0.03
        });
        assert!((16..=18).contains(&noise.count()));
    }

    #[test]
    fn numbers_of_rows() {
        assert!(Simulated::Gse2.check_rows(1_000_000).is_ok());
        for rows in [0, 1_000_000_000_000, usize::MAX] {
            let message = Simulated::Gse2.check_rows(rows).unwrap_err().to_string();
            assert!(message.contains("gse2 can have from 1 to 40,000,000"), "{message}");
        }
    }

    #[test]
    fn names_parse_and_print() {
        for &set in Simulated::ALL {
            assert_eq!(set.to_string().parse::<Simulated>().unwrap(), set);
        }
        let message = "gse3".parse::<Simulated>().unwrap_err().to_string();
        assert!(message.contains("did you mean gse1?") && message.contains("moons"), "{message}");
    }
}
