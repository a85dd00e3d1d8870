//! Rows in a binary file, so that each job reads what it needs without parsing text again.
//!
//! ```text
//! "rffnet rows 1\n"   length of the header, 8 bytes   header, JSON   x, f32   target, f64 or u32   weights, f32
//! ```
//!
//! All numbers are little-endian. The file lives as long as a comparison; it is not a format to keep.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use rffnet::{ColumnType, Data, OwnedTarget, Target};
use rffnet_data::{Sample, Table};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::source::beyond;

const MAGIC: &[u8; 14] = b"rffnet rows 1\n";

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    rows: usize,
    names: Vec<String>,
    positional: bool,
    /// What the columns hold; empty where all are numbers.
    types: Vec<ColumnType>,
    /// None for numbers.
    classes: Option<Vec<String>>,
    weight: bool,
}

/// Writes rows, for [`Source::Snapshot`](crate::Source::Snapshot).
pub fn write_snapshot(path: &Path, data: &Data<'_>) -> Result<(), Error> {
    write(path, data).map_err(|e| Error::new(format!("cannot write {}: {e}", path.display())))
}

fn write(path: &Path, data: &Data<'_>) -> io::Result<()> {
    let (classes, columns) = match data.y {
        Target::Values { outputs, .. } => (None, outputs),
        Target::Labels { classes, .. } => (Some(classes.to_vec()), 1),
    };
    if columns != 1 {
        return Err(io::Error::other("the target must be one column"));
    }
    let header = Header {
        rows: data.x.rows(),
        names: (0..data.x.columns()).map(|j| data.name(j)).collect(),
        positional: data.positional || data.names.is_none(),
        types: data.types.unwrap_or_default().to_vec(),
        classes,
        weight: data.weight.is_some(),
    };
    let header = serde_json::to_vec(&header)?;
    let mut out = BufWriter::new(File::create(path)?);
    out.write_all(MAGIC)?;
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    data.x.to_dense().iter().try_for_each(|v| out.write_all(&v.to_le_bytes()))?;
    match data.y {
        Target::Values { values, .. } => values.iter().try_for_each(|v| out.write_all(&v.to_le_bytes()))?,
        Target::Labels { codes, .. } => codes.iter().try_for_each(|v| out.write_all(&v.to_le_bytes()))?,
    }
    data.weight.unwrap_or_default().iter().try_for_each(|v| out.write_all(&v.to_le_bytes()))?;
    out.flush()
}

/// The given rows, counted from 0, of a snapshot; all without.
pub fn read_snapshot(path: &Path, rows: Option<&[usize]>) -> Result<Sample, Error> {
    let shown = path.display();
    let failed = |e: io::Error| Error::new(format!("cannot read {shown}: {e}"));
    let damaged = || Error::new(format!("{shown} is not a file of rows"));
    let file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let mut input = BufReader::with_capacity(1 << 16, file);
    let (mut magic, mut length) = ([0; 14], [0; 8]);
    input.read_exact(&mut magic).and_then(|()| input.read_exact(&mut length)).map_err(|_| damaged())?;
    let length = u64::from_le_bytes(length);
    if &magic != MAGIC || length > size {
        return Err(damaged());
    }
    let mut header = vec![0; length as usize];
    input.read_exact(&mut header).map_err(failed)?;
    let header: Header = serde_json::from_slice(&header).map_err(|_| damaged())?;
    let (n, d) = (header.rows as u64, header.names.len() as u64);
    let wide = if header.classes.is_some() { 4 } else { 8 };
    if !(header.types.is_empty() || header.types.len() == header.names.len()) {
        return Err(damaged());
    }
    let per_row = 4 * d + wide + 4 * u64::from(header.weight);
    let start = MAGIC.len() as u64 + 8 + length;
    if n.checked_mul(per_row).and_then(|bytes| bytes.checked_add(start)) != Some(size) {
        return Err(damaged());
    }
    let all: Vec<usize>;
    let rows = match rows {
        Some(rows) => rows,
        None => {
            all = (0..header.rows).collect();
            &all
        }
    };
    if let Some(&row) = rows.iter().find(|&&row| row >= header.rows) {
        return Err(beyond(&shown.to_string(), row, header.rows));
    }
    let mut reader = Cells { input, at: start };
    let x = reader.take(start, rows, header.names.len(), f32::from_le_bytes).map_err(failed)?;
    let (target, weight) = (start + 4 * n * d, start + n * (4 * d + wide));
    let target = match header.classes {
        None => reader.take(target, rows, 1, f64::from_le_bytes).map_err(failed)?.into(),
        Some(classes) => OwnedTarget::Labels {
            codes: reader.take(target, rows, 1, u32::from_le_bytes).map_err(failed)?,
            classes,
        },
    };
    let weight = header.weight.then(|| reader.take(weight, rows, 1, f32::from_le_bytes));
    let table = Table {
        names: header.names,
        has_names: !header.positional,
        x,
        rows: rows.len(),
        target: None,
        target_name: None,
        weight: weight.transpose().map_err(failed)?,
        source: shown.to_string(),
        types: header.types,
        ..Table::default()
    };
    Ok(Sample { table, target })
}

/// A file and where in it we are.
struct Cells {
    input: BufReader<File>,
    at: u64,
}

impl Cells {
    /// `width` numbers for each of `rows`, of a matrix that begins at `start`. Memory is that of the rows asked for.
    fn take<T, const N: usize>(
        &mut self,
        start: u64,
        rows: &[usize],
        width: usize,
        number: impl Fn([u8; N]) -> T,
    ) -> io::Result<Vec<T>> {
        let mut values = Vec::with_capacity(rows.len() * width);
        let mut row = vec![0; width * N];
        for &i in rows {
            let place = start + (i * row.len()) as u64;
            self.input.seek_relative(place as i64 - self.at as i64)?;
            self.input.read_exact(&mut row)?;
            self.at = place + row.len() as u64;
            values.extend(row.as_chunks::<N>().0.iter().map(|bytes| number(*bytes)));
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rffnet::Matrix;

    #[test]
    fn rows_come_back_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let x: Vec<f32> = (0..40).map(|i| i as f32 / 3.0).collect();
        let (names, weight) = (["a".to_string(), "b".into()], [0.5f32; 20]);
        let y: Vec<f64> = (0..20).map(|i| f64::from(i).sqrt()).collect();
        let types =
            [ColumnType::Date { day_first: true }, ColumnType::Category { levels: vec!["only".into()] }];
        let data = Data {
            names: Some(&names),
            weight: Some(&weight),
            types: Some(&types),
            ..Data::new(Matrix::new(&x, 20, 2).unwrap(), Target::Values { values: &y, outputs: 1 })
        };
        write_snapshot(&path, &data).unwrap();
        let all = read_snapshot(&path, None).unwrap();
        assert_eq!((&all.table.x, &all.table.names[..]), (&x, &names[..]));
        assert_eq!(all.target, y.clone().into());
        assert_eq!(all.table.types, types);
        let part = read_snapshot(&path, Some(&[7, 3, 19])).unwrap();
        assert_eq!(part.table.x, [14, 15, 6, 7, 38, 39].map(|i| x[i]));
        assert_eq!(part.target, vec![y[7], y[3], y[19]].into());
        assert_eq!(part.table.weight, Some(vec![0.5; 3]));
        assert!(read_snapshot(&path, Some(&[20])).is_err());
    }

    #[test]
    fn classes_come_back_and_damage_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let (x, codes, classes) = ([1.0, 2.0, f32::NAN], [1, 0, 1], ["no".to_string(), "yes".into()]);
        let y = Target::Labels { codes: &codes, classes: &classes };
        write_snapshot(&path, &Data::new(Matrix::new(&x, 3, 1).unwrap(), y)).unwrap();
        let all = read_snapshot(&path, None).unwrap();
        assert_eq!(all.target, OwnedTarget::Labels { codes: codes.to_vec(), classes: classes.to_vec() });
        assert!(!all.table.has_names && all.table.x[2].is_nan());
        let bytes = std::fs::read(&path).unwrap();
        for length in 0..bytes.len() {
            std::fs::write(&path, &bytes[..length]).unwrap();
            assert!(read_snapshot(&path, None).is_err(), "{length}");
        }
    }
}
