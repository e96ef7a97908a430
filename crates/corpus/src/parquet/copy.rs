//! Copies of columns of Parquet in their stored form: values, and the levels that place them in
//! rows. Nothing is converted, so nothing is lost.

use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
    Int96Type,
};
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::ColumnDescriptor;

/// Column being written.
pub struct Target<'t, 'w> {
    /// Writer of the column.
    pub writer: &'t mut SerializedColumnWriter<'w>,
    /// Definition level to write for each that is read: more may be null there than in the file.
    pub levels: &'t [i16],
}

/// Reads the next rows of a `column`, one for each flag in `is_kept`, and writes those kept.
/// Without a writer the rows are read all the same, as a check of their readability.
pub fn copy(
    column: &ColumnDescriptor,
    reader: &mut ColumnReader,
    is_kept: &[bool],
    to: Option<Target<'_, '_>>,
) -> Result<()> {
    match reader {
        ColumnReader::BoolColumnReader(reader) => copy_typed::<BoolType>(column, reader, is_kept, to),
        ColumnReader::Int32ColumnReader(reader) => copy_typed::<Int32Type>(column, reader, is_kept, to),
        ColumnReader::Int64ColumnReader(reader) => copy_typed::<Int64Type>(column, reader, is_kept, to),
        ColumnReader::Int96ColumnReader(reader) => copy_typed::<Int96Type>(column, reader, is_kept, to),
        ColumnReader::FloatColumnReader(reader) => copy_typed::<FloatType>(column, reader, is_kept, to),
        ColumnReader::DoubleColumnReader(reader) => copy_typed::<DoubleType>(column, reader, is_kept, to),
        ColumnReader::ByteArrayColumnReader(reader) => {
            copy_typed::<ByteArrayType>(column, reader, is_kept, to)
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            copy_typed::<FixedLenByteArrayType>(column, reader, is_kept, to)
        }
    }
}

fn copy_typed<T: DataType>(
    column: &ColumnDescriptor,
    reader: &mut ColumnReaderImpl<T>,
    is_kept: &[bool],
    to: Option<Target<'_, '_>>,
) -> Result<()> {
    let (mut definitions, mut repetitions, mut values, mut n_rows) = (Vec::new(), Vec::new(), Vec::new(), 0);
    while n_rows < is_kept.len() {
        let n_left = is_kept.len() - n_rows;
        let (definitions, repetitions) = (Some(&mut definitions), Some(&mut repetitions));
        let (n_read, ..) = reader.read_records(n_left, definitions, repetitions, &mut values)?;
        if n_read == 0 {
            return Err(ParquetError::EOF("a column ends before its row group does".to_owned()));
        }
        n_rows += n_read;
    }
    let Some(to) = to else { return Ok(()) };
    let (has_definitions, has_repetitions) = (column.max_def_level() > 0, column.max_rep_level() > 0);
    let n_levels = if has_definitions { definitions.len() } else { n_rows };
    let mut kept = (Vec::new(), Vec::new(), Vec::new());
    let (mut values, mut row) = (values.into_iter(), 0);
    for i in 0..n_levels {
        // A row begins where the repetition level is 0.
        row += usize::from(!has_repetitions || repetitions.get(i) == Some(&0));
        let definition = definitions.get(i).copied().filter(|_| has_definitions).unwrap_or(0);
        let value = match definition == column.max_def_level() {
            true => Some(values.next().ok_or_else(misfit)?),
            false => None,
        };
        if *row.checked_sub(1).and_then(|row| is_kept.get(row)).ok_or_else(misfit)? {
            let level = usize::try_from(definition).ok().and_then(|level| to.levels.get(level));
            kept.0.push(*level.ok_or_else(misfit)?);
            kept.1.extend(repetitions.get(i));
            kept.2.extend(value);
        }
    }
    let may_be_null = to.levels.last().is_some_and(|defined| *defined > 0);
    let (definitions, repetitions) =
        (may_be_null.then_some(&kept.0[..]), has_repetitions.then_some(&kept.1[..]));
    to.writer.typed::<T>().write_batch(&kept.2, definitions, repetitions)?;
    Ok(())
}

/// Writes `n_rows` rows that are null in `column`.
pub fn write_nulls(
    column: &ColumnDescriptor,
    n_rows: usize,
    writer: &mut SerializedColumnWriter<'_>,
) -> Result<()> {
    let levels = vec![0; n_rows];
    let (definitions, repetitions) = (Some(&levels[..]), (column.max_rep_level() > 0).then_some(&levels[..]));
    match column.physical_type() {
        Type::BOOLEAN => writer.typed::<BoolType>().write_batch(&[], definitions, repetitions),
        Type::INT32 => writer.typed::<Int32Type>().write_batch(&[], definitions, repetitions),
        Type::INT64 => writer.typed::<Int64Type>().write_batch(&[], definitions, repetitions),
        Type::INT96 => writer.typed::<Int96Type>().write_batch(&[], definitions, repetitions),
        Type::FLOAT => writer.typed::<FloatType>().write_batch(&[], definitions, repetitions),
        Type::DOUBLE => writer.typed::<DoubleType>().write_batch(&[], definitions, repetitions),
        Type::BYTE_ARRAY => writer.typed::<ByteArrayType>().write_batch(&[], definitions, repetitions),
        Type::FIXED_LEN_BYTE_ARRAY => {
            writer.typed::<FixedLenByteArrayType>().write_batch(&[], definitions, repetitions)
        }
    }?;
    Ok(())
}

fn misfit() -> ParquetError {
    ParquetError::General("a column's levels and values do not fit together".to_owned())
}
