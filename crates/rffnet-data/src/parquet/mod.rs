//! Parquet files: row groups of column chunks of pages.
//!
//! The `parquet` crate reads the footer and writes files. Pages are read and decoded here, straight into packed cells: so
//! texts stay codes of their dictionaries, memory follows the bytes that are there, and no damaged page panics. Columns are
//! read in parallel, a window of rows at a time; besides the table, only the pages that the windows are in are held.

mod column;
mod damage;
mod encoding;
mod input;
mod page;
mod schema;
mod source;
mod thrift;
mod value;
mod window;
mod write;

use std::fs::File;
use std::panic::catch_unwind;
use std::sync::Arc;

use parquet::file::metadata::{
    ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader, ParquetStatisticsPolicy,
};
use rffnet::text::count;

use crate::MAX_COLUMNS;
use crate::collector::Collector;
use crate::error::{DataError, shown};
use crate::input::Input;
use crate::layout::{Layout, resolve};
use crate::names::listed;
use crate::options::{ColumnRef, ReadOptions, Select};

use damage::{Damage, damaged};
use schema::{Field, Leaf};
use source::Source;
use window::Windows;

pub(crate) use write::write_table;
pub use write::{Values, write_parquet};

/// How Parquet files begin.
pub(crate) const MAGIC: &[u8; 4] = b"PAR1";

/// Reads all rows of a file into `collector`.
pub(crate) fn read_file(file: File, name: &str, collector: &mut Collector<'_>) -> Result<(), DataError> {
    let length = file
        .metadata()
        .map_err(|e| DataError::io(format!("{name} could not be read ({e}); check the disk"), e))?
        .len();
    read_source(&Source::File(file), length, name, collector)
}

/// Reads all rows of an input that cannot be read from its end, such as a pipe: its bytes are taken into memory first.
pub(crate) fn read(mut input: Input<'_>, collector: &mut Collector<'_>) -> Result<(), DataError> {
    const STEP: usize = 1 << 20;
    let name = input.source().to_string();
    let mut bytes = Vec::new();
    while input.append(STEP, &mut bytes)? == STEP {
        if let Some(limit) = collector.limit.filter(|&limit| bytes.len() as u64 > limit) {
            return Err(DataError::format(format!(
                "{name}: the Parquet data takes more than the {} MB that may be used; save it as a file, which is read in parts",
                count(limit / 1_000_000)
            )));
        }
    }
    let length = bytes.len() as u64;
    read_source(&Source::Memory(bytes), length, &name, collector)
}

fn read_source(
    source: &Source,
    length: u64,
    name: &str,
    collector: &mut Collector<'_>,
) -> Result<(), DataError> {
    let mut start = Vec::new();
    if source.read(0, MAGIC.len(), &mut start).is_err() || start != MAGIC {
        return Err(DataError::format(format!(
            "{name}: this is not a Parquet file; rename it, or pass its --format"
        )));
    }
    let broken = |damage: Damage| {
        DataError::format(format!(
            "{name}: the Parquet file is damaged ({}); write or fetch it again",
            damage.0
        ))
    };
    let (metadata, end) = read_footer(source, length).map_err(broken)?;
    let fields = schema::fields(metadata.file_metadata().schema_descr()).map_err(broken)?;
    let layout = find_layout(name, &fields, collector)?;
    let rows = metadata.row_groups().iter().try_fold(0_usize, |sum, group| {
        usize::try_from(group.num_rows()).ok().and_then(|rows| sum.checked_add(rows))
    });
    let rows = rows.ok_or_else(|| broken(damaged("a row group has an impossible number of rows")))?;
    if rows == 0 {
        return Err(DataError::format(format!(
            "{name}: the file has no rows; give a file with at least one row"
        )));
    }
    let leaves: Vec<Option<Leaf>> = fields.into_iter().map(|field| field.leaf.ok()).collect();
    let mut windows = Windows::new(name, source, &layout, &leaves, collector.options);
    windows.declare(collector);
    for group in metadata.row_groups() {
        windows.read_group(group, end, collector)?;
    }
    Ok(())
}

/// The metadata of a file, and where it begins: the end of all pages.
fn read_footer(source: &Source, length: u64) -> Result<(ParquetMetaData, u64), Damage> {
    const TAIL: usize = 8;
    let mut bytes = Vec::new();
    let tail = length.checked_sub(TAIL as u64).filter(|&at| at >= MAGIC.len() as u64).ok_or(Damage::CUT)?;
    source.read(tail, TAIL, &mut bytes)?;
    match bytes[4..] {
        [b'P', b'A', b'R', b'1'] => {}
        [b'P', b'A', b'R', b'E'] => return Err(damaged("it is encrypted, which is not supported")),
        _ => return Err(Damage::CUT),
    }
    let size = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let start = tail.checked_sub(size.into()).filter(|&at| at >= MAGIC.len() as u64).ok_or(Damage::CUT)?;
    source.read(start, size as usize, &mut bytes)?;
    // Statistics are not used here, and take longest to parse.
    let options = ParquetMetaDataOptions::new()
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
    // The one call into the crate with bytes of the file. No footer is known that makes it panic, but it does not promise
    // that there is none.
    let metadata =
        catch_unwind(|| ParquetMetaDataReader::decode_metadata_with_options(&bytes, Some(&options)))
            .map_err(|_| damaged("its metadata contradicts itself"))?
            .map_err(|e| damaged(format!("its metadata cannot be read: {}", shown(&e.to_string()))))?;
    Ok((metadata, start))
}

/// The roles of the columns. Nested ones are left out, and it is an error to ask for one.
fn find_layout(
    name: &str,
    fields: &[Field],
    collector: &mut Collector<'_>,
) -> Result<Arc<Layout>, DataError> {
    if fields.len() > MAX_COLUMNS {
        let (have, most) = (count(fields.len()), count(MAX_COLUMNS));
        return Err(DataError::format(format!(
            "{name}: the file has {have} columns, more than the {most} that are taken for data"
        )));
    }
    let mut options = collector.options.clone();
    let mut left_out = Vec::new();
    for (i, field) in fields.iter().enumerate() {
        let Err(what) = field.leaf else { continue };
        if asks_for(&options, &field.name) {
            return Err(DataError::column(format!(
                "{name}: column '{}' is {what}, which cannot be read; write it as columns of numbers or texts",
                shown(&field.name)
            )));
        }
        options.ignore.push(ColumnRef::Position(i + 1));
        left_out.push(field.name.as_str());
    }
    if !left_out.is_empty() {
        let one = left_out.len() == 1;
        collector.notes.push(format!(
            "{} {} {} nested or not of numbers and texts and {} left out",
            if one { "column" } else { "columns" },
            listed(left_out.iter().copied(), 5),
            if one { "is" } else { "are" },
            if one { "is" } else { "are" },
        ));
    }
    let names = fields.iter().map(|field| field.name.clone()).collect();
    if collector.layout.is_some() {
        return collector.begin(name, names, true);
    }
    let layout = resolve(name, names, true, &options)?;
    collector.begin_with(name, layout)
}

/// Whether a column is to be used for something.
fn asks_for(options: &ReadOptions, name: &str) -> bool {
    let is = |column: &ColumnRef| matches!(column, ColumnRef::Named(wanted) if wanted == name);
    let lists = [&options.categorical, &options.numeric, &options.date, &options.keep];
    options.target.iter().chain(&options.weight).any(is)
        || lists.iter().any(|columns| columns.iter().any(is))
        || matches!(&options.select, Select::Named { names, .. } if names.iter().any(|wanted| wanted == name))
}
