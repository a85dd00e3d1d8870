//! Times real fits and predictions on random data, for the side-by-side runs in `benchmarks/`.
//!
//! ```text
//! bench_worker fit ROWS COLUMNS FEATURES BATCH CLASSES THREADS EPOCHS    -> seconds of each epoch, one line
//! bench_worker predict ROWS COLUMNS FEATURES THREADS REPEATS             -> seconds of each pass, one line
//! ```
//! CLASSES 0 is regression. An epoch is what a fit does: shuffle, gather, features, gradients, Adam, prox.

use std::ops::ControlFlow;
use std::time::Instant;

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rffnet::{Data, Fit, Matrix, Params, Progress, Target};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Result<Vec<usize>, _> = arguments.iter().skip(1).map(|a| a.parse()).collect();
    let times = match (arguments.first().map(String::as_str), numbers?.as_slice()) {
        (Some("fit"), &[n, d, s, batch, classes, threads, epochs]) => {
            pool(threads)?.install(|| fit(n, d, s, batch, classes, epochs))?
        }
        (Some("predict"), &[n, d, s, threads, repeats]) => {
            pool(threads)?.install(|| predict(n, d, s, repeats))?
        }
        _ => return Err("see the head of bench_worker.rs for usage".into()),
    };
    let text: Vec<String> = times.iter().map(|t| format!("{t:.9}")).collect();
    println!("{}", text.join(" "));
    Ok(())
}

fn pool(threads: usize) -> Result<rayon::ThreadPool, rayon::ThreadPoolBuildError> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build()
}

/// Standard normal columns; the target depends on the first two.
fn columns(n: usize, d: usize) -> Vec<f32> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    // Twelve uniforms make a good enough normal for a benchmark.
    let mut normal = || (0..12).map(|_| rng.next_u32() as f32 / u32::MAX as f32).sum::<f32>() - 6.0;
    (0..n * d).map(|_| normal()).collect()
}

fn params(s: usize, batch: usize, epochs: usize) -> Params {
    Params::paper().random_features(s).batch_size(batch).epochs(epochs).lr(1e-3).validation_fraction(0.0)
}

fn fit(
    n: usize,
    d: usize,
    s: usize,
    batch: usize,
    classes: usize,
    epochs: usize,
) -> Result<Vec<f64>, rffnet::Error> {
    let x = columns(n, d);
    let second = usize::from(d > 1);
    let values: Vec<f64> = x.chunks_exact(d).map(|r| (r[0] * r[second]) as f64).collect();
    let codes: Vec<u32> = (0..n).map(|i| (i % classes.max(1)) as u32).collect();
    let names: Vec<String> = (0..classes).map(|c| c.to_string()).collect();
    let y = match classes {
        0 => Target::Values { values: &values, outputs: 1 },
        _ => Target::Labels { codes: &codes, classes: &names },
    };
    let data = Data::new(Matrix::new(&x, n, d)?, y);
    // The first epoch also waits for the fit to be set up, so one more is made and it is not counted.
    let mut ends = Vec::with_capacity(epochs + 1);
    let mut watch = |_: &Progress| {
        ends.push(Instant::now());
        ControlFlow::Continue(())
    };
    Fit::new(&params(s, batch, epochs + 1)).observer(&mut watch).run(&data)?;
    Ok(ends.windows(2).map(|w| (w[1] - w[0]).as_secs_f64()).collect())
}

fn predict(n: usize, d: usize, s: usize, repeats: usize) -> Result<Vec<f64>, rffnet::Error> {
    let x = columns(n, d);
    let few = 256.min(n);
    let y: Vec<f64> = x.chunks_exact(d).take(few).map(|r| r[0] as f64).collect();
    let data = Data::new(Matrix::new(&x[..few * d], few, d)?, Target::Values { values: &y, outputs: 1 });
    let model = Fit::new(&params(s, 64, 1)).run(&data)?;
    let rows = Matrix::new(&x, n, d)?;
    let mut times = Vec::with_capacity(repeats);
    for _ in 0..repeats + 1 {
        let start = Instant::now();
        std::hint::black_box(model.predict(rows)?);
        times.push(start.elapsed().as_secs_f64());
    }
    Ok(times.split_off(1))
}
