//! Copies of columns of Parquet in their stored form: values, and the levels that place them in
//! rows. Nothing is converted, so nothing is lost.

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
    Int96Type,
};
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::ColumnDescriptor;

/// Reads the next rows of a `column`, one for each flag in `is_kept`, and writes those kept.
/// Without a writer the rows are read all the same, as a check of their readability.
pub fn copy(
    column: &ColumnDescriptor,
    reader: &mut ColumnReader,
    is_kept: &[bool],
    to: Option<&mut SerializedColumnWriter<'_>>,
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
    to: Option<&mut SerializedColumnWriter<'_>>,
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
        let value = match !has_definitions || definitions[i] == column.max_def_level() {
            true => Some(values.next().ok_or_else(misfit)?),
            false => None,
        };
        if *row.checked_sub(1).and_then(|row| is_kept.get(row)).ok_or_else(misfit)? {
            kept.0.extend(definitions.get(i));
            kept.1.extend(repetitions.get(i));
            kept.2.extend(value);
        }
    }
    let (definitions, repetitions) =
        (has_definitions.then_some(&kept.0[..]), has_repetitions.then_some(&kept.1[..]));
    to.typed::<T>().write_batch(&kept.2, definitions, repetitions)?;
    Ok(())
}

fn misfit() -> ParquetError {
    ParquetError::General("a column's levels and values do not fit together".to_owned())
}
