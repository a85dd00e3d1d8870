//! Times fits and predictions on data from files, for the side-by-side runs in `benchmarks/`.
//!
//! ```text
//! sklearn_worker METHOD FOLDER THREADS REPEATS   -> seconds of each fit, one line; of each prediction, one line
//! ```
//! METHOD is `krr`, `nystroem-ridge` or `nystroem-logistic`. The folder holds `shape` ("rows columns test-rows"), the
//! arrays `x`, `test` (f32, row-major), `y` (f64; classes as 0 and 1) and `landmarks` (u64), little-endian. The last
//! predictions are left there as `ours` (f64): values, or log-odds.

use std::path::Path;
use std::time::Instant;

use rffnet::{Data, Matrix, Target};
use rffnet_baselines::{KernelRidge, Method, Nystroem, Options, fit};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [method, folder, threads, repeats] = arguments.as_slice() else {
        return Err("see the head of sklearn_worker.rs for usage".into());
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.parse()?).build()?;
    let repeats = repeats.parse()?;
    // Errors of threads cross the pool as text.
    let times = pool.install(|| run(method, Path::new(folder), repeats).map_err(|e| e.to_string()))?;
    for times in times {
        let text: Vec<String> = times.iter().map(|t| format!("{t:.9}")).collect();
        println!("{}", text.join(" "));
    }
    Ok(())
}

fn run(name: &str, folder: &Path, repeats: usize) -> Fallible<[Vec<f64>; 2]> {
    let shape = std::fs::read_to_string(folder.join("shape"))?;
    let shape: Vec<usize> = shape.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let &[n, d, m] = shape.as_slice() else { return Err("shape: three numbers".into()) };
    let x = read(folder, "x", f32::from_le_bytes)?;
    let test = read(folder, "test", f32::from_le_bytes)?;
    let y = read(folder, "y", f64::from_le_bytes)?;
    let landmarks: Vec<usize> = read(folder, "landmarks", |b| u64::from_le_bytes(b) as usize)?;
    let codes: Vec<u32> = y.iter().map(|&y| y as u32).collect();
    let classes = ["0".to_string(), "1".to_string()];
    let nystroem = Nystroem { landmarks: Some(landmarks), ..Nystroem::paper() };
    let values = Target::Values { values: &y, outputs: 1 };
    let (method, y): (&dyn Method, _) = match name {
        "krr" => (&KernelRidge::paper(), values),
        "nystroem-ridge" => (&nystroem, values),
        "nystroem-logistic" => (&nystroem, Target::Labels { codes: &codes, classes: &classes }),
        _ => return Err("METHOD is krr, nystroem-ridge or nystroem-logistic".into()),
    };
    let data = Data::new(Matrix::new(&x, n, d)?, y);
    let test = Matrix::new(&test, m, d)?;
    let mut times = [vec![], vec![]];
    // One more than is counted: the first also waits for fresh memory.
    for _ in 0..repeats + 1 {
        let start = Instant::now();
        let model = fit(method, &data, &Options::default())?;
        times[0].push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let out = model.decision(test)?;
        times[1].push(start.elapsed().as_secs_f64());
        let bytes: Vec<u8> = out.iter().flat_map(|v| v.to_le_bytes()).collect();
        std::fs::write(folder.join("ours"), bytes)?;
    }
    Ok(times.map(|mut t| t.split_off(1)))
}

/// An array of little-endian numbers of `N` bytes.
fn read<T, const N: usize>(folder: &Path, name: &str, number: fn([u8; N]) -> T) -> Fallible<Vec<T>> {
    let bytes = std::fs::read(folder.join(name))?;
    let (numbers, rest) = bytes.as_chunks::<N>();
    if !rest.is_empty() {
        return Err(format!("{name}: not a whole number of entries").into());
    }
    Ok(numbers.iter().copied().map(number).collect())
}
