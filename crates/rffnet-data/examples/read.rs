//! Reads a table once and prints its rows, its columns and the seconds it took.
//!
//! ```text
//! cargo run --release -p rffnet-data --example read -- train.parquet [COLUMN]
//! ```

use std::time::Instant;

use rffnet_data::{ReadOptions, read};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: read FILE [TARGET]")?;
    let target = arguments.next().map(Into::into);
    let options = ReadOptions { target, missing: true, ..ReadOptions::default() };
    let start = Instant::now();
    let table = read(&path, &options)?;
    println!("{} {} {:.4}", table.rows, table.columns(), start.elapsed().as_secs_f64());
    Ok(())
}
