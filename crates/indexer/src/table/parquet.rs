//! Rows as a Parquet file, in row groups that do not depend on interruptions of the run.
//!
//! A Parquet file has its table of contents at its end, so it cannot resume at a checkpoint. With a
//! journal, the journal gets the rows, and the file is made of them at the end of the job.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::cell::Cell;
use super::{Column, Kind};
use crate::journal::{Journal, TableLog};
use crate::output::{Files, Lengths, Output};

/// Bounds of a row group, which is held in memory.
const GROUP_ROWS: usize = 1 << 16;
const GROUP_BYTES: usize = 64 << 20;

/// Bounds on what a file holds at its end, and on what of it is for each column of a row group.
const FOOTER_BYTES: usize = 1024;
const CHUNK_FOOTER_BYTES: usize = 512;

/// Rows in a frame of the journal.
const LOGGED_ROWS: usize = 1 << 12;

pub(crate) type Row = Vec<Cell<'static>>;

pub(super) enum ParquetTable {
    Written(Box<Writer>),
    Logged(Box<Logged>),
}

/// The file, and the rows of its next row group.
pub(crate) struct Writer {
    files: Files,
    /// `None` between two parts.
    file: Option<SerializedFileWriter<Output>>,
    columns: Vec<Column>,
    rows: Vec<Row>,
    n_bytes: usize,
}

pub(super) struct Logged {
    output: Output,
    columns: Vec<Column>,
    log: TableLog,
    /// Rows not in the log yet.
    rows: Vec<Row>,
}

impl ParquetTable {
    pub(super) fn open(
        columns: Vec<Column>,
        option: &'static str,
        path: &Path,
        journal: Option<&Journal>,
    ) -> anyhow::Result<Self> {
        let Some(journal) = journal else {
            return Ok(Self::Written(Box::new(Writer::new(columns, Files::one(Output::create(path)?))?)));
        };
        let output = journal.output_at_the_end(option, path)?;
        let log = journal.table_log(option)?;
        Ok(Self::Logged(Box::new(Logged { output, columns, log, rows: Vec::new() })))
    }

    pub(super) fn add(&mut self, cells: Vec<Cell<'_>>) -> anyhow::Result<()> {
        let row = cells.into_iter().map(Cell::into_owned).collect();
        match self {
            Self::Written(writer) => writer.add(row),
            Self::Logged(logged) => {
                logged.rows.push(row);
                if logged.rows.len() < LOGGED_ROWS { Ok(()) } else { logged.hand_on() }
            }
        }
    }

    pub(super) fn checkpoint(&mut self, lengths: &mut Lengths) -> anyhow::Result<()> {
        match self {
            Self::Written(_) => Ok(()),
            Self::Logged(logged) => {
                logged.hand_on()?;
                logged.log.checkpoint(lengths)
            }
        }
    }

    pub(super) fn finish(self) -> anyhow::Result<()> {
        match self {
            Self::Written(writer) => writer.finish(),
            Self::Logged(logged) => {
                let Logged { output, columns, log, rows } = *logged;
                debug_assert!(rows.is_empty(), "a checkpoint comes before the end");
                let mut writer = Writer::new(columns, Files::one(output))?;
                log.read(|rows: Vec<Row>| rows.into_iter().try_for_each(|row| writer.add(row)))?;
                writer.finish()
            }
        }
    }
}

impl Logged {
    fn hand_on(&mut self) -> anyhow::Result<()> {
        self.log.append(&self.rows)?;
        self.rows.clear();
        Ok(())
    }
}

impl Writer {
    pub(crate) fn new(columns: Vec<Column>, files: Files) -> anyhow::Result<Self> {
        let mut writer = Self { files, file: None, columns, rows: Vec::new(), n_bytes: 0 };
        writer.begin()?;
        Ok(writer)
    }

    pub(crate) fn add(&mut self, row: Row) -> anyhow::Result<()> {
        let n_bytes = row.iter().map(Cell::n_bytes).sum::<usize>();
        if !self.fits(n_bytes) {
            self.end_group()?;
            if !self.fits(n_bytes) && self.n_groups() > 0 {
                self.end_file()?;
                self.begin()?;
            }
        }
        self.n_bytes += n_bytes;
        self.rows.push(row);
        if self.rows.len() < GROUP_ROWS && self.n_bytes < GROUP_BYTES { Ok(()) } else { self.end_group() }
    }

    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        self.end_group()?;
        self.end_file()?;
        self.files.finish()
    }

    /// Begins the file, or its next part.
    fn begin(&mut self) -> anyhow::Result<()> {
        let output = self.files.next()?;
        let begin = || {
            let fields = self.columns.iter().map(Column::field).collect::<Result<_>>()?;
            let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
            let compression = Compression::ZSTD(ZstdLevel::default());
            let properties = WriterProperties::builder().set_compression(compression).build();
            SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties))
        };
        self.file = Some(begin().with_context(|| self.failed())?);
        Ok(())
    }

    fn end_file(&mut self) -> anyhow::Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let output = file.into_inner().with_context(|| self.failed())?;
        self.files.add(output)
    }

    fn end_group(&mut self) -> anyhow::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.write_group().with_context(|| self.failed())?;
        let max = self.files.bytes_max().unwrap_or(u64::MAX);
        // The rest would become small groups.
        if self.n_bytes_written() > max / 4 * 3 {
            self.end_file()?;
            self.begin()?;
        }
        Ok(())
    }

    /// Returns true if a part has room for so many bytes as they are in memory; packed they take
    /// less.
    fn fits(&self, n_bytes: usize) -> bool {
        let Some(max) = self.files.bytes_max() else { return true };
        let n_chunks = (self.n_groups() + 1) * self.columns.len();
        let footer = FOOTER_BYTES + n_chunks * CHUNK_FOOTER_BYTES;
        self.n_bytes_written() + (self.n_bytes + n_bytes + footer) as u64 <= max
    }

    fn n_groups(&self) -> usize {
        self.file.as_ref().map_or(0, |file| file.flushed_row_groups().len())
    }

    fn n_bytes_written(&self) -> u64 {
        self.file.as_ref().map_or(0, |file| file.bytes_written() as u64)
    }

    fn failed(&self) -> String {
        format!("failed to write {}", self.files.path().display())
    }

    fn write_group(&mut self) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut group = file.next_row_group()?;
        for (place, column) in self.columns.iter().enumerate() {
            let cells = self.rows.iter().map(|row| &row[place]);
            match column.kind {
                Kind::Text => write_column::<ByteArrayType>(&mut group, column, cells, |cell| match cell {
                    Cell::Text(text) => Some(ByteArray::from(text.as_bytes().to_vec())),
                    _ => None,
                }),
                Kind::Integer => write_column::<Int64Type>(&mut group, column, cells, |cell| match cell {
                    Cell::Integer(integer) => Some(*integer),
                    _ => None,
                }),
                Kind::Float => write_column::<DoubleType>(&mut group, column, cells, |cell| match cell {
                    Cell::Float(float) => Some(*float),
                    _ => None,
                }),
                Kind::Boolean => write_column::<BoolType>(&mut group, column, cells, |cell| match cell {
                    Cell::Boolean(boolean) => Some(*boolean),
                    _ => None,
                }),
                Kind::Bits => write_column::<Int64Type>(&mut group, column, cells, |cell| match cell {
                    Cell::Bits(bits) => Some(bits.cast_signed()),
                    _ => None,
                }),
                Kind::Bytes => write_column::<ByteArrayType>(&mut group, column, cells, |cell| match cell {
                    Cell::Bytes(bytes) => Some(ByteArray::from(bytes.to_vec())),
                    _ => None,
                }),
                Kind::Time => write_column::<Int64Type>(&mut group, column, cells, |cell| match cell {
                    Cell::Time(ms) => Some(*ms),
                    _ => None,
                }),
            }?;
        }
        group.close()?;
        self.rows.clear();
        self.n_bytes = 0;
        Ok(())
    }
}

impl Column {
    fn field(&self) -> Result<Arc<Type>> {
        let (physical, logical) = match self.kind {
            Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Integer => (PhysicalType::INT64, None),
            Kind::Float => (PhysicalType::DOUBLE, None),
            Kind::Boolean => (PhysicalType::BOOLEAN, None),
            Kind::Bits => (PhysicalType::INT64, Some(LogicalType::integer(64, false))),
            Kind::Bytes => (PhysicalType::BYTE_ARRAY, None),
            Kind::Time => (PhysicalType::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
        };
        let repetition = if self.is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let field = Type::primitive_type_builder(&self.name, physical);
        field.with_logical_type(logical).with_repetition(repetition).build().map(Arc::new)
    }
}

fn write_column<'a, T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Output>,
    column: &Column,
    cells: impl Iterator<Item = &'a Cell<'static>>,
    value: impl Fn(&Cell<'_>) -> Option<T::T>,
) -> Result<()> {
    let values: Vec<Option<T::T>> = cells.map(value).collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    let levels = column.is_optional.then_some(&levels[..]);
    if let Some(mut writer) = group.next_column()? {
        writer.typed::<T>().write_batch(&values, levels, None)?;
        writer.close()?;
    }
    Ok(())
}
