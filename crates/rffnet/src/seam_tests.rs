//! A second implementation behind the seams: rows that are generated, a backend that counts. Folds over two halves are
//! tested beside the folds, in `backend/cpu/tests.rs`.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::backend::{self, Backend, GradientBuffers};
use crate::features::Network;
use crate::problem::{Columns, Problem};
use crate::ridge::{Design, Gram, Moments};
use crate::solver::descent::DescentState;
use crate::{Data, Fit, Matrix, Params, Rows, SolverKind, Target};

const COLUMNS: usize = 5;

/// A number in [-1, 1) for a cell, or none.
fn cell(i: usize, j: usize) -> f32 {
    if (i, j) == (7, 3) {
        return f32::NAN;
    }
    let scattered = ((i * COLUMNS + j) as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    let value = scattered as f32 / (1 << 23) as f32 - 1.0;
    // One skewed column, so that transforms are tried.
    if j == 4 { (3.0 * value).exp() } else { value }
}

/// Rows that are nowhere until they are read.
struct Generated(usize);

impl Rows for Generated {
    fn rows(&self) -> usize {
        self.0
    }

    fn columns(&self) -> usize {
        COLUMNS
    }

    fn read(&self, rows: &[usize], out: &mut [f32]) {
        for (out, &i) in out.chunks_exact_mut(COLUMNS).zip(rows) {
            out.iter_mut().enumerate().for_each(|(j, out)| *out = cell(i, j));
        }
    }
}

fn dense(rows: usize) -> Vec<f32> {
    (0..rows * COLUMNS).map(|at| cell(at / COLUMNS, at % COLUMNS)).collect()
}

fn targets(rows: usize) -> Vec<f64> {
    (0..rows).map(|i| (2.0 * cell(i, 0) as f64).sin() + cell(i, 1) as f64 * cell(i, 2) as f64).collect()
}

fn fits() -> Vec<Params> {
    let quick = Params::new().effort(crate::Effort::Quick).missing(crate::Missing::Mean);
    let descent = |solver| quick.clone().solver(solver).epochs(3).random_features(40);
    vec![quick.clone(), descent(SolverKind::Adam), descent(SolverKind::PalmSgd)]
}

/// Generated rows give the model of the same rows in memory, bit for bit.
#[test]
fn rows_need_not_be_in_memory() {
    let (cells, y) = (dense(300), targets(300));
    let target = Target::Values { values: &y, outputs: 1 };
    let (in_memory, generated) = (Matrix::new(&cells, 300, COLUMNS).expect("fits"), Generated(300));
    let generated = Matrix::from_rows(&generated);
    for params in fits() {
        let fit = |x| Fit::new(&params).run(&Data::new(x, target)).expect("can be learned");
        let (a, b) = (fit(in_memory), fit(generated));
        assert_eq!(a.to_bytes().expect("written"), b.to_bytes().expect("written"));
        assert_eq!(a.predict(generated).expect("finite"), b.predict(in_memory).expect("finite"));
    }
    let refused = Fit::new(&Params::new().missing(crate::Missing::Error))
        .run(&Data::new(generated, target))
        .err()
        .expect("a gap")
        .to_string();
    assert!(refused.starts_with("row 8, column 'x4' is missing"), "{refused}");
}

/// The same rows, read by several threads.
struct Parallel(Generated);

impl Rows for Parallel {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn columns(&self) -> usize {
        COLUMNS
    }

    fn read(&self, rows: &[usize], out: &mut [f32]) {
        out.par_chunks_mut(COLUMNS).zip(rows).for_each(|(out, &i)| self.0.read(&[i], out));
    }
}

/// A thread that waits for a source's own threads may be given another chunk of ours.
#[test]
fn a_source_of_rows_may_use_threads() {
    let (y, generated) = (targets(3000), Generated(3000));
    let parallel = Parallel(Generated(3000));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().expect("threads");
    let params = &fits()[1];
    let fit = |rows: &dyn Rows| {
        let data = Data::new(Matrix::from_rows(rows), Target::Values { values: &y, outputs: 1 });
        Fit::new(params).run(&data).expect("can be learned").predict(data.x).expect("finite")
    };
    assert_eq!(pool.install(|| fit(&parallel)), fit(&generated));
}

/// Counts what solvers ask for, and lets the CPU answer.
#[derive(Default)]
struct Counting {
    calls: [AtomicUsize; 8],
}

impl Counting {
    fn count(&self, call: usize) -> &'static backend::Cpu {
        self.calls[call].fetch_add(1, Ordering::Relaxed);
        backend::cpu()
    }
}

impl Backend for Counting {
    fn outputs(&self, columns: Columns<'_>, network: Network<'_>, rows: &[usize]) -> Vec<f32> {
        self.count(0).outputs(columns, network, rows)
    }

    fn mean_loss(&self, problem: &Problem<'_>, network: Network<'_>, rows: &[usize]) -> f64 {
        self.count(1).mean_loss(problem, network, rows)
    }

    fn gradient(
        &self,
        problem: &Problem<'_>,
        network: Network<'_>,
        rows: &[usize],
        buffers: &mut GradientBuffers,
    ) -> f64 {
        self.count(2).gradient(problem, network, rows, buffers)
    }

    fn epoch(&self, state: &mut DescentState<'_>, order: &[usize]) -> f64 {
        self.count(3).epoch(state, order)
    }

    fn design(
        &self,
        columns: Columns<'_>,
        design: &Design<'_>,
        rows: &[usize],
        stride: usize,
        z: &mut [f32],
    ) {
        self.count(4).design(columns, design, rows, stride, z);
    }

    fn moments(
        &self,
        problem: &Problem<'_>,
        design: &Design<'_>,
        rows: &[usize],
        curvature: Option<&[f32]>,
    ) -> Moments {
        self.count(5).moments(problem, design, rows, curvature)
    }

    fn add_gram(&self, gram: &mut Gram, z: &[f32]) {
        self.count(4).add_gram(gram, z);
    }

    fn squared_slopes(
        &self,
        columns: Columns<'_>,
        networks: &[Network<'_>],
        rows: &[usize],
        weight: &(dyn Fn(usize) -> f32 + Sync),
    ) -> Vec<f64> {
        self.count(6).squared_slopes(columns, networks, rows, weight)
    }

    fn agop(&self, problem: &Problem<'_>, network: Network<'_>, rows: &[usize]) -> Vec<f64> {
        self.count(7).agop(problem, network, rows)
    }
}

/// Solvers reach rows through the backend alone: an epoch of descent is one call, and so is a gradient or a Gram matrix.
#[test]
fn a_backend_sees_coarse_calls() {
    let (x, y) = (dense(400), targets(400));
    let x = Matrix::new(&x, 400, COLUMNS).expect("fits");
    let data = Data::new(x, Target::Values { values: &y, outputs: 1 });
    let calls = |params: &Params| {
        let counting = Counting::default();
        let counted = Fit::new(params).backend(&counting).run(&data).expect("can be learned");
        let plain = Fit::new(params).run(&data).expect("can be learned");
        assert_eq!(counted.to_bytes().expect("written"), plain.to_bytes().expect("written"));
        (counting.calls.map(AtomicUsize::into_inner), counted.summary().epochs)
    };
    let [varpro, adam, palm] = fits().try_into().expect("three");
    for descent in [adam, palm] {
        let ([_, losses, gradients, epochs, _, moments, slopes, agop], made) = calls(&descent);
        assert_eq!((epochs, made, gradients, moments, agop), (3, 3, 0, 0, 0));
        // The constant's loss, and one of the validation rows after every epoch; importances.
        assert_eq!((losses, slopes), (4, 1));
    }
    let ([_, losses, gradients, epochs, _, moments, slopes, agop], made) = calls(&varpro);
    assert_eq!(epochs, 0);
    assert!(gradients >= made && moments >= gradients && losses >= made, "one head per gradient");
    assert!(slopes > 0 && agop > 0);
}
