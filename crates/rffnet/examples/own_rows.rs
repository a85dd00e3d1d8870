//! Rows that are not a dense array in memory: here they are computed when they are read.
//!
//!     cargo run --release -p rffnet --example own_rows

use rffnet::{Data, Effort, Fit, Matrix, Params, Rows, Target};

/// A week of a signal behind each row: the readings of the seven days before it.
struct Windows {
    readings: Vec<f32>,
}

impl Rows for Windows {
    fn rows(&self) -> usize {
        self.readings.len() - 7
    }

    fn columns(&self) -> usize {
        7
    }

    fn read(&self, rows: &[usize], out: &mut [f32]) {
        for (out, &i) in out.chunks_exact_mut(7).zip(rows) {
            out.copy_from_slice(&self.readings[i..i + 7]);
        }
    }
}

pub(crate) fn main() -> Result<(), rffnet::Error> {
    // The logistic map: each day follows from the one before it, in a way no straight line shows.
    let mut readings = vec![0.3f32];
    for day in 0..800 {
        readings.push(3.9 * readings[day] * (1.0 - readings[day]));
    }
    let next: Vec<f64> = readings[7..].iter().map(|&v| v as f64).collect();
    let windows = Windows { readings };

    let data = Data::new(Matrix::from_rows(&windows), Target::Values { values: &next, outputs: 1 });
    let model = Fit::new(&Params::new().effort(Effort::Quick)).run(&data)?;
    let importance = model.importances();
    println!("importance of each day, oldest first: {importance:.2?}");
    assert!(importance[..6].iter().all(|&older| older < 0.1 * importance[6]));
    Ok(())
}
