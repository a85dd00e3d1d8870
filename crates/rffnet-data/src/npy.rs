//! NumPy's `.npy`: one two-dimensional array of numbers, in either order of bytes and of rows and columns.

use rffnet::text::{count, plural};

use crate::MAX_COLUMNS;
use crate::block::Block;
use crate::cell::{self, At, Cell, Fault, Use, fault_error};
use crate::collector::Collector;
use crate::column::number_text;
use crate::error::DataError;
use crate::input::{BLOCK, Input};
use crate::layout::{Layout, Role, made_up_names};
use crate::npy_header::{Header, Kind, parse_header};

/// Headers of plain arrays have a hundred bytes or so.
const MAX_HEADER: usize = 1 << 20;

/// Reads all rows of `input` into `collector`.
pub(crate) fn read(mut input: Input<'_>, collector: &mut Collector<'_>) -> Result<(), DataError> {
    let source = input.source().to_string();
    collector.options.refuse_types(&source, ".npy")?;
    let header = read_header(&mut input)?;
    let Shape { rows, columns } = check_shape(&source, &header)?;
    let mut data = Data {
        input,
        source: &source,
        header: &header,
        promised: rows as u128 * columns as u128,
        got: 0,
        bytes: Vec::new(),
    };
    let mut values = Vec::new();
    // In Fortran's order columns come one after the other, and rows are complete only at the end. Nothing is
    // reserved beforehand: the values grow as the bytes arrive. In the other order the first row must be there
    // before anything of the promised width is made.
    data.append(if header.fortran_order { rows * columns } else { columns }, &mut values)?;
    let layout = collector.begin(&source, made_up_names(columns), false)?;
    let mut reader = RowReader::new(&source, &layout, collector);
    for row in 0..rows {
        if header.fortran_order {
            reader.read(row, (0..columns).map(|j| values[j * rows + row]))?;
            continue;
        }
        if row > 0 {
            values.clear();
            data.append(columns, &mut values)?;
        }
        reader.read(row, values.iter().copied())?;
    }
    reader.flush()
}

fn read_header(input: &mut Input<'_>) -> Result<Header, DataError> {
    let source = input.source().to_string();
    let short =
        || DataError::format(format!("{source}: the file ends within the .npy header; save the array again"));
    let start: [u8; 8] = input.peek(8)?.try_into().map_err(|_| short())?;
    if !start.starts_with(b"\x93NUMPY") {
        return Err(DataError::format(format!(
            "{source}: this is not a .npy file (it does not start with \\x93NUMPY); check --format"
        )));
    }
    let wide = match start[6] {
        1 => false,
        2 | 3 => true,
        version => {
            return Err(DataError::format(format!(
                "{source}: .npy version {version} is not known (1 to 3 are); save the array again"
            )));
        }
    };
    input.consume(8);
    let mut length = Vec::new();
    let width = if wide { 4 } else { 2 };
    if input.append(width, &mut length)? < width {
        return Err(short());
    }
    let length = length.iter().rev().fold(0, |n, &byte| n << 8 | usize::from(byte));
    if length > MAX_HEADER {
        return Err(DataError::format(format!(
            "{source}: the .npy header claims {} bytes, more than any plain array needs; save the array again",
            count(length)
        )));
    }
    let mut text = Vec::new();
    if input.append(length, &mut text)? < length {
        return Err(short());
    }
    let text = String::from_utf8_lossy(&text);
    parse_header(&text).map_err(|what| DataError::format(format!("{source}: {what}")))
}

struct Shape {
    rows: usize,
    columns: usize,
}

fn check_shape(source: &str, header: &Header) -> Result<Shape, DataError> {
    let &[rows, columns] = header.shape.as_slice() else {
        return Err(DataError::format(format!(
            "{source}: the array has {}, and a table needs two (rows and columns); reshape it before saving",
            plural(header.shape.len(), "dimension")
        )));
    };
    if rows == 0 || columns == 0 {
        return Err(DataError::format(format!(
            "{source}: the array is {rows} x {columns} and so holds no values; give one with rows and columns"
        )));
    }
    if columns > MAX_COLUMNS as u64 {
        return Err(DataError::format(format!(
            "{source}: the array has {} columns, more than {}; is it transposed?",
            count(columns),
            count(MAX_COLUMNS)
        )));
    }
    let bytes = u128::from(rows) * u128::from(columns) * header.kind.size() as u128;
    match (usize::try_from(rows), isize::try_from(bytes)) {
        (Ok(rows), Ok(_)) => Ok(Shape { rows, columns: columns as usize }),
        _ => Err(DataError::format(format!(
            "{source}: the header claims {} x {} values, more than can exist; save the array again",
            count(rows),
            count(columns)
        ))),
    }
}

/// The values after the header.
struct Data<'a> {
    input: Input<'a>,
    source: &'a str,
    header: &'a Header,
    promised: u128,
    got: u128,
    /// One block, reused.
    bytes: Vec<u8>,
}

impl Data<'_> {
    /// Appends `n` values to `out`, block by block: `out` never outgrows the bytes that are there.
    fn append(&mut self, n: usize, out: &mut Vec<f64>) -> Result<(), DataError> {
        let Header { kind, big_endian, .. } = *self.header;
        let size = kind.size();
        let mut left = n;
        while left > 0 {
            self.bytes.clear();
            let want = left.min(BLOCK / size);
            let got = self.input.append(want * size, &mut self.bytes)? / size;
            out.extend(self.bytes.chunks_exact(size).map(|value| kind.value(value, big_endian)));
            left -= got;
            self.got += got as u128;
            if got < want {
                return Err(DataError::format(format!(
                    "{}: the header promises {} values and {} are there; the file is cut short, so save or \
                         fetch it again",
                    self.source, self.promised, self.got
                )));
            }
        }
        Ok(())
    }
}

/// Rows are handed on this many cells at a time.
const CELLS: usize = 1 << 18;

struct RowReader<'a, 'c> {
    source: &'a str,
    layout: &'a Layout,
    missing: bool,
    inputs: Vec<f32>,
    block: Block,
    collector: &'a mut Collector<'c>,
}

impl<'a, 'c> RowReader<'a, 'c> {
    fn new(source: &'a str, layout: &'a Layout, collector: &'a mut Collector<'c>) -> Self {
        RowReader {
            source,
            layout,
            missing: collector.options.missing,
            inputs: vec![0.0; layout.inputs.len()],
            block: Block::new(layout.shape()),
            collector,
        }
    }

    fn read(&mut self, row: usize, values: impl Iterator<Item = f64>) -> Result<(), DataError> {
        let at = At { row: row as u64 + 1, line: None };
        let (mut target, mut weight) = (None, None);
        for (i, (value, role)) in values.zip(&self.layout.roles).enumerate() {
            if let Some(k) = self.layout.kept[i] {
                self.block.kept[k].push(number_text(value));
            }
            match *role {
                Role::Input(k) => match cell::input_number(value) {
                    Ok(value) => self.inputs[k] = value,
                    Err(Fault::Missing) if self.missing => self.inputs[k] = f32::NAN,
                    Err(fault) => return Err(self.fault(at, i, value, fault, Use::Input)),
                },
                Role::Skip => {}
                Role::Target => {
                    let number = Cell::from(value).number();
                    target = Some(match number {
                        Err(Fault::Missing) if self.collector.options.drop_missing_target => f64::NAN,
                        _ => number.map_err(|fault| self.fault(at, i, value, fault, Use::Target))?,
                    });
                }
                Role::Weight => {
                    let checked = cell::weight(value.into());
                    weight = Some(checked.map_err(|fault| self.fault(at, i, value, fault, Use::Weight))?);
                }
            }
        }
        let place = At { row: self.block.rows as u64 + 1, line: None };
        self.block.push_numbers(&self.inputs, target, weight, place);
        if self.block.cells.len() > CELLS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), DataError> {
        let block = std::mem::replace(&mut self.block, Block::new(self.layout.shape()));
        self.collector.push(block)
    }

    fn fault(&self, at: At, column: usize, value: f64, fault: Fault, used: Use) -> DataError {
        fault_error(self.source, at, &self.layout.names[column], &value.to_string(), fault, used)
    }
}

impl Kind {
    /// The number in `bytes`, which hold [`Kind::size`] bytes.
    fn value(self, bytes: &[u8], big_endian: bool) -> f64 {
        let mut raw = [0; 8];
        for (slot, &byte) in raw.iter_mut().zip(bytes) {
            *slot = byte;
        }
        if big_endian {
            raw[..bytes.len().min(8)].reverse();
        }
        let bits = u64::from_le_bytes(raw);
        match self {
            Kind::Float2 => half(bits as u16),
            Kind::Float4 => f64::from(f32::from_bits(bits as u32)),
            Kind::Float8 => f64::from_bits(bits),
            Kind::Int(1) => f64::from(bits as u8 as i8),
            Kind::Int(2) => f64::from(bits as u16 as i16),
            Kind::Int(4) => f64::from(bits as u32 as i32),
            Kind::Int(_) => bits as i64 as f64,
            Kind::Unsigned(_) => bits as f64,
            Kind::Bool => f64::from(u8::from(bits != 0)),
        }
    }
}

/// A number of 16 bits: one of sign, five of exponent, ten of fraction.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2_f64.powi(exponent - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves() {
        for (bits, value) in [
            (0x0000, 0.0),
            (0x3C00, 1.0),
            (0xC000, -2.0),
            (0x7BFF, 65504.0),
            (0x0001, 5.960464477539063e-8),
            (0x3555, 0.333251953125),
            (0x7C00, f64::INFINITY),
            (0xFC00, f64::NEG_INFINITY),
        ] {
            assert_eq!(half(bits), value, "{bits:x}");
        }
        assert!(half(0x7E00).is_nan());
    }

    #[test]
    fn values_of_every_kind() {
        assert_eq!(Kind::Int(2).value(&[0xFE, 0xFF], false), -2.0);
        assert_eq!(Kind::Int(2).value(&[0xFF, 0xFE], true), -2.0);
        assert_eq!(Kind::Int(8).value(&(-7_i64).to_be_bytes(), true), -7.0);
        assert_eq!(Kind::Int(1).value(&[0x80], false), -128.0);
        assert_eq!(Kind::Unsigned(4).value(&[0xFF; 4], true), 4_294_967_295.0);
        assert_eq!(Kind::Float4.value(&1.5_f32.to_be_bytes(), true), 1.5);
        assert_eq!(Kind::Float8.value(&(-0.1_f64).to_le_bytes(), false), -0.1);
        assert_eq!(Kind::Bool.value(&[1], false), 1.0);
    }
}
