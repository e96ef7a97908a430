//! Writes items as Parquet rows, in the same columns for all kinds of items.

use std::fs::File;
use std::mem;
use std::sync::Arc;

use corpus::Members;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::spool::Head;

/// The source is no column: it is in the name of the folder. By Hive's convention a column is in
/// the name or in the file but not in both, and readers of the folder take it from the name.
const SCHEMA: &str = "message item {
    required binary id (UTF8);
    required int64 time (TIMESTAMP(MILLIS,true));
    required binary text (UTF8);
    optional binary fields (JSON);
}";

/// A file, and the rows of its next row group.
pub(super) struct Rows {
    writer: SerializedFileWriter<File>,
    ids: Vec<ByteArray>,
    times: Vec<i64>,
    texts: Vec<ByteArray>,
    fields: Vec<Option<ByteArray>>,
    n_bytes: usize,
    /// Size of a row group before compression, approximately.
    group_bytes: usize,
}

impl Rows {
    pub(super) fn new(file: File, group_bytes: usize) -> Result<Self> {
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        Ok(Self {
            writer: SerializedFileWriter::new(file, schema, Arc::new(properties.build()))?,
            ids: Vec::new(),
            times: Vec::new(),
            texts: Vec::new(),
            fields: Vec::new(),
            n_bytes: 0,
            group_bytes,
        })
    }

    /// Adds an item. The members of its line other than `columns` become its fields.
    pub(super) fn add(&mut self, head: &Head<'_>, line: &[u8], columns: &[&str]) -> Result<()> {
        let fields = Members::of(line).and_then(|members| members.without(columns).to_object());
        let value = |text: &str| ByteArray::from(text.as_bytes().to_vec());
        self.n_bytes += head.id.len() + head.text.len() + fields.as_ref().map_or(0, Vec::len);
        self.ids.push(value(&head.id));
        self.times.push(head.time_ms);
        self.texts.push(value(&head.text));
        self.fields.push(fields.map(ByteArray::from));
        if self.n_bytes >= self.group_bytes { self.write_group() } else { Ok(()) }
    }

    /// Completes the file.
    pub(super) fn finish(mut self) -> Result<File> {
        if !self.ids.is_empty() {
            self.write_group()?;
        }
        self.writer.into_inner()
    }

    fn write_group(&mut self) -> Result<()> {
        self.n_bytes = 0;
        let mut group = self.writer.next_row_group()?;
        write_column::<ByteArrayType>(&mut group, &mem::take(&mut self.ids), None)?;
        write_column::<Int64Type>(&mut group, &mem::take(&mut self.times), None)?;
        write_column::<ByteArrayType>(&mut group, &mem::take(&mut self.texts), None)?;
        write_optional(&mut group, mem::take(&mut self.fields))?;
        group.close()?;
        Ok(())
    }
}

fn write_optional(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: Vec<Option<ByteArray>>,
) -> Result<()> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<ByteArray> = values.into_iter().flatten().collect();
    write_column::<ByteArrayType>(group, &values, Some(&levels))
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<()> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, levels, None)?;
        column.close()?;
    }
    Ok(())
}
