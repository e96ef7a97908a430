//! Writes the kept rows of Parquet files into a Parquet file with their columns.
//!
//! During the run only the numbers of the kept rows are in memory. At the end the inputs are read
//! again and the file is written column by column, each in its stored form, so memory does not grow
//! with the rows or the file. A Parquet file has its table of contents at its end and cannot resume
//! at a checkpoint like other outputs; it is made again from the same rows, with the same content.

mod united;

use std::ops::Range;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail, ensure};
use corpus::{Identity, Location};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::Result;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{SchemaDescriptor, TypePtr};

use self::united::{United, difference};
use super::row_set::RowSet;
use crate::journal::{Journal, Row, RowsLog};
use crate::output::{Files, Lengths, Output};
use corpus::parquet::{ParquetFile, ROWS_AT_A_TIME, Target, copy, guarded, open_parquet, write_nulls};

/// Uncompressed size at which a row group ends. Kept rows of neighbouring row groups are merged up
/// to it, because readers prefer large groups.
const GROUP_BYTES: u64 = 128 << 20;

/// Bound on the merged row groups, all of whose files are open at once.
const GROUPS_MAX: usize = 128;

pub(crate) struct ParquetOutput {
    files: Files,
    inputs: Vec<Input>,
    /// Columns of all valid inputs.
    columns: United,
    kept: RowSet,
    /// `None` without a journal.
    log: Option<RowsLog>,
}

struct Input {
    location: Location,
    /// The version of the file when the run began, where that can be known.
    identity: Option<Identity>,
    /// Schema and number of rows when the run began; `None` for an invalid file, which the run
    /// rejects.
    schema: Option<(TypePtr, i64)>,
}

/// The rows of a row group.
struct Group {
    file: Arc<SerializedFileReader<ParquetFile>>,
    n_file: usize,
    n_group: usize,
    rows: Range<u64>,
}

impl ParquetOutput {
    pub(super) fn new<'a>(
        inputs: impl Iterator<Item = &'a Location>,
        open: impl FnOnce() -> anyhow::Result<Files>,
        journal: Option<&Journal>,
    ) -> anyhow::Result<Self> {
        let mut opened = Vec::new();
        let mut columns: Option<(&Location, United)> = None;
        let mut unreadable = None;
        for location in inputs {
            let path = location.path();
            // Before the look: a later version has another one.
            let identity = location.identity().ok();
            let schema = match Input::look(location) {
                Err(error) => {
                    unreadable
                        .get_or_insert(anyhow!(error).context(format!("failed to read {}", path.display())));
                    None
                }
                Ok(found) => {
                    let (first, columns) = columns.get_or_insert_with(|| (location, United::new(&found.0)));
                    if let Err([there, here]) = columns.add(&found.0) {
                        bail!(
                            "{} and {} have other columns, {there} and {here}; one output cannot take both: name one that \
                             ends in .jsonl, or run once for each",
                            first.path().display(),
                            path.display()
                        );
                    }
                    Some(found)
                }
            };
            opened.push(Input { location: location.clone(), identity, schema });
        }
        let columns = match (columns, unreadable) {
            (Some((_, columns)), _) => columns,
            (None, Some(error)) => return Err(error),
            (None, None) => bail!("there is no input to write from"),
        };
        let mut kept = RowSet::default();
        let put_back = |rows: Vec<Row>| rows.into_iter().for_each(|(n_file, row)| kept.insert(n_file, row));
        let log = journal.map(|journal| journal.rows_log(put_back)).transpose()?;
        Ok(Self { files: open()?, inputs: opened, columns, kept, log })
    }

    pub(super) fn add(&mut self, (n_file, row): Row) {
        self.kept.insert(n_file, row);
        if let Some(log) = &mut self.log {
            log.add((n_file, row));
        }
    }

    pub(super) fn checkpoint(&mut self, lengths: &mut Lengths) -> anyhow::Result<()> {
        self.log.as_mut().map_or(Ok(()), |log| log.checkpoint(lengths))
    }

    /// Reads the inputs again and writes the file, or the parts.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        let Self { files, inputs, columns, kept, .. } = self;
        let Some(first) = inputs.iter().find(|input| input.schema.is_some()) else {
            bail!("no input is left to write {} from", files.path().display());
        };
        let mut writer = Writer::new(files, first, &columns)?;
        for (n_file, input) in inputs.iter().enumerate() {
            let Some(last) = kept.last(n_file) else { continue };
            let file = Arc::new(input.open()?);
            let mut first_row: u64 = 1;
            for (n_group, metadata) in file.metadata().row_groups().iter().enumerate() {
                let n_rows = u64::try_from(metadata.num_rows()).unwrap_or(0);
                let rows = first_row..first_row.saturating_add(n_rows);
                first_row = rows.end;
                let n_kept = kept.count(n_file, rows.start..rows.end.min(last + 1));
                if n_kept == 0 {
                    continue;
                }
                let n_group_bytes = u64::try_from(metadata.total_byte_size()).unwrap_or(0);
                let n_bytes = (n_group_bytes / n_rows).saturating_mul(n_kept);
                writer.add(Group { file: Arc::clone(&file), n_file, n_group, rows }, n_bytes, &kept)?;
            }
        }
        writer.finish(&kept)
    }
}

/// The file, or the part, that is being written, and the row groups that become its next one.
struct Writer {
    files: Files,
    /// `None` between two parts.
    file: Option<SerializedFileWriter<Output>>,
    schema: TypePtr,
    columns: SchemaDescriptor,
    properties: WriterPropertiesPtr,
    groups: Vec<Group>,
    /// Uncompressed size of what is kept of the groups.
    n_bytes: u64,
}

impl Writer {
    fn new(files: Files, first: &Input, columns: &United) -> anyhow::Result<Self> {
        let failed = || format!("failed to write what is kept to {}", files.path().display());
        let file = first.open()?;
        // Types of columns, as pandas, Arrow and others define them beyond Parquet. They do not
        // hold for the columns of other files.
        let types = file.metadata().file_metadata().key_value_metadata();
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_key_value_metadata(types.filter(|_| columns.is_first()).cloned());
        let schema = columns.schema().with_context(failed)?;
        let columns = SchemaDescriptor::new(Arc::clone(&schema));
        let properties = Arc::new(properties.build());
        let mut writer =
            Self { files, file: None, schema, columns, properties, groups: Vec::new(), n_bytes: 0 };
        writer.begin()?;
        Ok(writer)
    }

    /// Adds a row group, of which so many bytes are kept.
    fn add(&mut self, group: Group, n_bytes: u64, kept: &RowSet) -> anyhow::Result<()> {
        if let Some(max) = self.files.bytes_max() {
            if self.n_written() + self.n_bytes + n_bytes > max {
                self.end_group(kept)?;
            }
            if self.n_written() + n_bytes > max && self.has_groups() {
                self.end_file()?;
                self.begin()?;
            }
        }
        self.groups.push(group);
        self.n_bytes += n_bytes;
        let is_full = self.n_bytes >= GROUP_BYTES || self.groups.len() == GROUPS_MAX;
        if is_full { self.end_group(kept) } else { Ok(()) }
    }

    fn finish(mut self, kept: &RowSet) -> anyhow::Result<()> {
        self.end_group(kept)?;
        self.end_file()?;
        self.files.finish()
    }

    fn begin(&mut self) -> anyhow::Result<()> {
        let output = self.files.next()?;
        let (schema, properties) = (Arc::clone(&self.schema), Arc::clone(&self.properties));
        let file = SerializedFileWriter::new(output, schema, properties);
        self.file = Some(file.with_context(|| self.failed())?);
        Ok(())
    }

    fn end_file(&mut self) -> anyhow::Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let output = file.into_inner().with_context(|| self.failed())?;
        self.files.add(output)
    }

    fn end_group(&mut self, kept: &RowSet) -> anyhow::Result<()> {
        let Some(file) = self.file.as_mut().filter(|_| !self.groups.is_empty()) else { return Ok(()) };
        let written = guarded(|| write_group(file, &self.columns, &self.groups, kept));
        written.with_context(|| self.failed())?;
        (self.groups, self.n_bytes) = (Vec::new(), 0);
        Ok(())
    }

    fn has_groups(&self) -> bool {
        self.file.as_ref().is_some_and(|file| !file.flushed_row_groups().is_empty())
    }

    fn n_written(&self) -> u64 {
        self.file.as_ref().map_or(0, |file| file.bytes_written() as u64)
    }

    fn failed(&self) -> String {
        format!("failed to write what is kept to {}", self.files.path().display())
    }
}

impl Input {
    fn look(location: &Location) -> Result<(TypePtr, i64)> {
        let file = open_parquet(location)?;
        let metadata = file.metadata().file_metadata();
        Ok((metadata.schema_descr().root_schema_ptr(), metadata.num_rows()))
    }

    /// Opens the file again. Fails if it has changed since the run began.
    fn open(&self) -> anyhow::Result<SerializedFileReader<ParquetFile>> {
        let failed = || format!("failed to read {} again", self.location.path().display());
        let file = open_parquet(&self.location).with_context(failed)?;
        let metadata = file.metadata().file_metadata();
        let is_same = self.schema.as_ref().is_some_and(|(schema, n_rows)| {
            difference(schema, metadata.schema_descr().root_schema()).is_none()
                && *n_rows == metadata.num_rows()
                && self.location.identity().ok() == self.identity
        });
        ensure!(is_same, "{} has changed since the run began", self.location.path().display());
        Ok(file)
    }
}

/// Writes the kept rows of several row groups as one.
fn write_group(
    writer: &mut SerializedFileWriter<Output>,
    columns: &SchemaDescriptor,
    groups: &[Group],
    kept: &RowSet,
) -> Result<()> {
    let mut group_writer = writer.next_row_group()?;
    let mut n_column = 0;
    while let Some(mut writer) = group_writer.next_column()? {
        let written = columns.column(n_column);
        for group in groups {
            let schema = group.file.metadata().file_metadata().schema_descr();
            let path = written.path().parts();
            let place = schema.columns().iter().position(|column| column.path().parts() == path);
            let levels = united::levels(columns.root_schema(), schema.root_schema(), path);
            let end = kept.end_in(group.n_file, group.rows.clone());
            let mut reader = match place.zip(levels) {
                None => None,
                Some((place, levels)) => {
                    let reader = group.file.get_row_group(group.n_group)?.get_column_reader(place)?;
                    Some((schema.column(place), reader, levels))
                }
            };
            // Reads in the same portions as before, and no further: rows readable then are readable
            // now.
            for start in (group.rows.start..end).step_by(ROWS_AT_A_TIME) {
                let rows = start..group.rows.end.min(start + ROWS_AT_A_TIME as u64);
                let is_kept: Vec<bool> = rows.map(|row| kept.contains(group.n_file, row)).collect();
                match &mut reader {
                    None => {
                        let n_kept = is_kept.iter().filter(|is_kept| **is_kept).count();
                        write_nulls(&written, n_kept, &mut writer)?;
                    }
                    Some((column, reader, levels)) => {
                        let target = Target { writer: &mut writer, levels };
                        copy(column, reader, &is_kept, Some(target))?;
                    }
                }
            }
        }
        writer.close()?;
        n_column += 1;
    }
    group_writer.close()?;
    Ok(())
}
