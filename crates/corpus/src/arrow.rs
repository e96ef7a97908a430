//! Arrow in its two forms, stream and file (Feather), cut into rows: one record batch after
//! another, and only the requested columns.
//!
//! A file is a stream between two marks, and is read as one: from its beginning, so also from a
//! pipe. Streams one after another are read in turn, each by its own schema. The lengths in a
//! header are believed only as far as bytes follow.

mod column;
mod line;
mod messages;

use std::collections::HashMap;
use std::io::{self, BufRead};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{DictionaryBatch, Endianness, MessageHeader};
use arrow_schema::{ArrowError, Fields, Schema, SchemaRef};

use super::columns::Columns;
use super::field_path::FieldPath;
use super::internal_error::caught;
use super::parquet::push_row;
use super::reader::RecordReader;
use super::records::{Form, RecordError, Records};
use super::there::listed;
use super::whole_rows::WholeRows;
use column::{Column, bytes_for_text};
use line::Lines;
use messages::{Message, Messages, check_lengths};

pub(super) struct Arrow<R> {
    messages: Messages<R>,
    paths: Vec<FieldPath>,
    table: Option<Table>,
    batch: Option<Batch>,
    /// Number of the first row of the next batch.
    next_number: u64,
    n_batches: u64,
    record_bytes_max: usize,
    /// True if the lines of whole rows are requested.
    has_lines: bool,
    ended: bool,
}

/// The schema in the first message of a stream, and all that is needed to read the rest.
struct Table {
    /// With bytes in the place of texts.
    schema: SchemaRef,
    columns: Vec<Column>,
    /// Places of the columns to be read, ascending.
    projection: Vec<usize>,
    /// Form of the lines of whole rows, if requested.
    lines: Option<Lines>,
    /// Names of all columns, as shown to the user.
    names: Arc<str>,
    dictionaries: HashMap<i64, ArrayRef>,
}

/// The record batch being read.
struct Batch {
    content: RecordBatch,
    row: usize,
    n_rows: usize,
    /// Number of the next row.
    number: u64,
}

impl<R: BufRead> Arrow<R> {
    pub(super) fn new(reader: R, columns: &Columns, record_bytes_max: usize) -> Self {
        Self {
            messages: Messages::new(reader),
            paths: columns.paths.clone(),
            table: None,
            batch: None,
            next_number: 1,
            n_batches: 0,
            record_bytes_max,
            has_lines: false,
            ended: false,
        }
    }

    /// Also reads the lines of whole rows, if they are requested.
    pub(super) fn with_whole_rows(self, whole_rows: &WholeRows) -> Self {
        Self { has_lines: *whole_rows == WholeRows::JsonOfAll, ..self }
    }

    /// Reads messages up to the next record batch. The inner error is that of this batch alone.
    fn next_batch(&mut self) -> io::Result<Option<Result<Batch, String>>> {
        while let Some(message) = self.messages.next()? {
            if message.is_first {
                self.table = None;
            }
            let header = message.header()?;
            let body = Buffer::from(message.body.as_slice());
            match (header.header_type(), &mut self.table) {
                (MessageHeader::Schema, None) => {
                    self.table = Some(Table::new(&message, &self.paths, self.has_lines)?);
                }
                (MessageHeader::DictionaryBatch, Some(table)) => {
                    let dictionary = header.header_as_dictionary_batch();
                    let read = dictionary.ok_or_else(|| "its dictionary is empty".to_owned());
                    let read = read.and_then(|dictionary| {
                        dictionary.data().map_or(Ok(()), |data| check_lengths(data, &body))?;
                        table.read_dictionary(&body, dictionary, header.version())
                    });
                    // With another dictionary the next batches would have other texts.
                    read.map_err(|why| broken(&format!("a dictionary cannot be read: {why}")))?;
                }
                (MessageHeader::RecordBatch, Some(table)) => {
                    let Some(batch) = header.header_as_record_batch() else {
                        return Err(broken("a record batch is empty"));
                    };
                    self.n_batches += 1;
                    let n_rows = usize::try_from(batch.length())
                        .map_err(|_| broken("a batch has less than no rows"))?;
                    let number = self.next_number;
                    self.next_number = number.saturating_add(n_rows as u64);
                    let read = check_lengths(batch, &body).and_then(|()| {
                        let (schema, projection) = (Arc::clone(&table.schema), Some(&table.projection[..]));
                        let dictionaries = &table.dictionaries;
                        let read = guarded(|| {
                            read_record_batch(
                                &body,
                                batch,
                                schema,
                                dictionaries,
                                projection,
                                &header.version(),
                            )
                        });
                        let content = read?;
                        if !table.projection.is_empty() && content.num_rows() != n_rows {
                            return Err("its columns have other lengths than it says".to_owned());
                        }
                        Ok(Batch { content, row: 0, n_rows, number })
                    });
                    return Ok(Some(read));
                }
                (MessageHeader::NONE, _) => {}
                (_, None) => return Err(broken("it does not begin with a schema")),
                _ => return Err(broken("a message is neither a dictionary nor a record batch")),
            }
        }
        match self.table {
            Some(_) => Ok(None),
            // An empty file has no row.
            None if self.messages.is_at_start() => Ok(None),
            None => Err(broken("it has no schema")),
        }
    }
}

impl Table {
    fn new(message: &Message, paths: &[FieldPath], has_lines: bool) -> io::Result<Self> {
        let header = message.header()?;
        let schema = header.header_as_schema().ok_or_else(|| broken("its schema is empty"))?;
        if schema.endianness() != Endianness::Little {
            return Err(broken("its numbers are big-endian, and it is not read"));
        }
        let read = guarded(|| Ok(arrow_ipc::convert::fb_to_schema(schema)));
        let schema = read.map_err(|why| broken(&format!("its schema cannot be read: {why}")))?;
        let columns: Vec<Column> = paths.iter().map(|path| Column::find(path, schema.fields())).collect();
        let mut projection: Vec<usize> = columns.iter().filter_map(Column::place).collect();
        projection.sort_unstable();
        projection.dedup();
        let lines = has_lines.then(|| Lines::new(&schema));
        if has_lines {
            projection = (0..schema.fields().len()).collect();
        }
        let names = listed(schema.fields().iter().map(|field| &**field.name())).into();
        let fields: Fields = schema.fields().iter().map(bytes_for_text).collect();
        let schema = Arc::new(Schema::new(fields));
        Ok(Self { schema, columns, projection, lines, names, dictionaries: HashMap::new() })
    }

    fn read_dictionary(
        &mut self,
        body: &Buffer,
        dictionary: DictionaryBatch<'_>,
        version: arrow_ipc::MetadataVersion,
    ) -> Result<(), String> {
        let (schema, dictionaries) = (&self.schema, &mut self.dictionaries);
        guarded(|| read_dictionary(body, dictionary, schema, dictionaries, &version))
    }
}

impl<R: BufRead> RecordReader for Arrow<R> {
    fn form(&self) -> Form {
        Form::Row
    }

    fn append_records(&mut self, records: &mut Records) {
        while !self.ended && !records.is_full() {
            if let (Some(batch), Some(table)) = (&mut self.batch, &self.table)
                && batch.row < batch.n_rows
            {
                records.name_columns(&table.names);
                let (row, number) = (batch.row, batch.number);
                (batch.row, batch.number) = (row + 1, number + 1);
                let places = &table.projection;
                let values: Vec<_> =
                    table.columns.iter().map(|column| column.value(&batch.content, places, row)).collect();
                let mut line = Vec::new();
                if let Some(lines) = &table.lines {
                    lines.write(&batch.content, row, &mut line);
                }
                push_row(values.iter(), &line, number, self.record_bytes_max, records);
                continue;
            }
            let (number, n_streams) = (self.next_number, self.messages.n_streams());
            match self.next_batch() {
                Ok(Some(Ok(batch))) => self.batch = Some(batch),
                Ok(Some(Err(why))) => {
                    let why = format!("record batch {} cannot be read: {why}", self.n_batches);
                    records.push_error(number, RecordError::Damaged(why));
                }
                Ok(None) => self.ended = true,
                Err(error) => {
                    self.ended = true;
                    records.push_error(number, RecordError::Broken(error.to_string()));
                }
            }
            // Rows of one portion have the same columns.
            if self.messages.n_streams() != n_streams && records.len() > 0 {
                break;
            }
        }
    }
}

/// Runs `work` of the library, which is not written for damage: a panic in it is an error like any
/// other. The error is the reason shown to the user.
fn guarded<T>(work: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, String> {
    match caught(work) {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err("the reader of Arrow broke off".to_owned()),
    }
}

fn broken(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("no Arrow: {why}"))
}

#[cfg(test)]
pub(super) mod tests;
