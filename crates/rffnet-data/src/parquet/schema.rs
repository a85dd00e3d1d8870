//! What the columns of a Parquet file hold.

use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::schema::types::{SchemaDescriptor, Type};

use super::damage::{Damage, damaged};

/// What the stored values of a column mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Meaning {
    Boolean,
    /// Signed whole numbers, or floats of 32 or 64 bits.
    Number,
    Unsigned,
    /// Floats of 16 bits.
    Half,
    /// Whole numbers that are divided by this power of ten.
    Decimal {
        divisor: f64,
    },
    /// Days since 1970.
    Day,
    /// So many units a day since 1970.
    Timestamp {
        per_day: f64,
    },
    /// So many units a day since midnight.
    Time {
        per_day: f64,
    },
    /// Nanoseconds of a day and a Julian day number.
    Int96,
    Text,
    Uuid,
}

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaf {
    /// Its place among the column chunks of a row group.
    pub(super) place: usize,
    pub(super) physical: Physical,
    pub(super) meaning: Meaning,
    /// The bytes of a value, where all have the same number.
    pub(super) width: usize,
    /// Whether it can have gaps.
    pub(super) optional: bool,
}

/// A field of the file's schema: its name, and what can be read from it; else what it is instead.
pub(super) struct Field {
    pub(super) name: String,
    pub(super) leaf: Result<Leaf, &'static str>,
}

/// The fields of a file in their order.
pub(super) fn fields(schema: &SchemaDescriptor) -> Result<Vec<Field>, Damage> {
    let mut place = 0;
    let mut out = Vec::new();
    for field in schema.root_schema().get_fields() {
        let leaf = leaf(field, place);
        place += leaves(field);
        out.push(Field { name: field.name().to_string(), leaf });
    }
    if place != schema.num_columns() {
        return Err(damaged("its schema does not fit its columns"));
    }
    Ok(out)
}

/// How many column chunks belong to a field.
fn leaves(field: &Type) -> usize {
    if field.is_primitive() { 1 } else { field.get_fields().iter().map(|field| leaves(field)).sum() }
}

fn leaf(field: &Type, place: usize) -> Result<Leaf, &'static str> {
    let info = field.get_basic_info();
    let Type::PrimitiveType { physical_type, type_length, scale, .. } = field else {
        return Err("nested");
    };
    let repetition = if info.has_repetition() { info.repetition() } else { Repetition::REQUIRED };
    if repetition == Repetition::REPEATED {
        return Err("a list");
    }
    let physical = *physical_type;
    let meaning = meaning(physical, info.logical_type_ref(), info.converted_type(), *scale)?;
    let width = match physical {
        Physical::FLOAT | Physical::INT32 => 4,
        Physical::DOUBLE | Physical::INT64 => 8,
        Physical::INT96 => 12,
        Physical::FIXED_LEN_BYTE_ARRAY => usize::try_from(*type_length).unwrap_or(0),
        Physical::BOOLEAN | Physical::BYTE_ARRAY => 0,
    };
    let fits = match (physical, meaning) {
        (_, Meaning::Half) => width == 2,
        (_, Meaning::Uuid) => width == 16,
        (Physical::FIXED_LEN_BYTE_ARRAY, _) => (1..=1024).contains(&width),
        _ => true,
    };
    if !fits {
        return Err("of a type that contradicts itself");
    }
    Ok(Leaf { place, physical, meaning, width, optional: repetition == Repetition::OPTIONAL })
}

fn meaning(
    physical: Physical,
    logical: Option<&LogicalType>,
    converted: ConvertedType,
    scale: i32,
) -> Result<Meaning, &'static str> {
    const BINARY: &str = "of bytes that are no text";
    let decimal = |scale: i32| Meaning::Decimal { divisor: 10_f64.powi(scale) };
    let whole = matches!(physical, Physical::INT32 | Physical::INT64);
    // The older, converted types say the same of most columns; files of before 2018 have nothing else.
    let from_logical = match logical {
        Some(LogicalType::Decimal(decimals)) if physical != Physical::BOOLEAN => {
            Some(decimal(decimals.scale))
        }
        Some(LogicalType::Integer(integer)) if whole => {
            Some(if integer.is_signed { Meaning::Number } else { Meaning::Unsigned })
        }
        Some(LogicalType::Date) if whole => Some(Meaning::Day),
        Some(LogicalType::Timestamp(time)) if whole => {
            Some(Meaning::Timestamp { per_day: per_day(&time.unit) })
        }
        Some(LogicalType::Time(time)) if whole => Some(Meaning::Time { per_day: per_day(&time.unit) }),
        Some(LogicalType::Float16) if physical == Physical::FIXED_LEN_BYTE_ARRAY => Some(Meaning::Half),
        Some(LogicalType::Uuid) if physical == Physical::FIXED_LEN_BYTE_ARRAY => Some(Meaning::Uuid),
        Some(LogicalType::Bson) => return Err(BINARY),
        _ => None,
    };
    let from_converted = || match converted {
        ConvertedType::DECIMAL if physical != Physical::BOOLEAN => Some(decimal(scale)),
        ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
            if whole =>
        {
            Some(Meaning::Unsigned)
        }
        ConvertedType::DATE if whole => Some(Meaning::Day),
        ConvertedType::TIMESTAMP_MILLIS if whole => Some(Meaning::Timestamp { per_day: 86_400e3 }),
        ConvertedType::TIMESTAMP_MICROS if whole => Some(Meaning::Timestamp { per_day: 86_400e6 }),
        ConvertedType::TIME_MILLIS if whole => Some(Meaning::Time { per_day: 86_400e3 }),
        ConvertedType::TIME_MICROS if whole => Some(Meaning::Time { per_day: 86_400e6 }),
        _ => None,
    };
    if let Some(meaning) = from_logical.or_else(from_converted) {
        return Ok(meaning);
    }
    match physical {
        Physical::BOOLEAN => Ok(Meaning::Boolean),
        Physical::INT32 | Physical::INT64 | Physical::FLOAT | Physical::DOUBLE => Ok(Meaning::Number),
        Physical::INT96 => Ok(Meaning::Int96),
        // Some writers do not mark texts as such.
        Physical::BYTE_ARRAY => Ok(Meaning::Text),
        Physical::FIXED_LEN_BYTE_ARRAY => Err(BINARY),
    }
}

fn per_day(unit: &TimeUnit) -> f64 {
    match unit {
        TimeUnit::MILLIS => 86_400e3,
        TimeUnit::MICROS => 86_400e6,
        TimeUnit::NANOS => 86_400e9,
    }
}
