//! Opening of sources: each becomes a reader of its format.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use encoding_rs::UTF_8;

use super::arrow::Arrow;
use super::budget::Meter;
use super::columns::Columns;
use super::compression::{self, Counted, READ_BUFFER_BYTES};
use super::content;
use super::csv::transcoded::{Transcoded, is_utf_16};
use super::csv::{self, Csv, TableOptions};
use super::files::Source;
use super::format::Format;
use super::json::beginning;
use super::json::documents::Documents;
use super::lines::Lines;
use super::location::Parts;
use super::notes::Notes;
use super::origin::Origin;
use super::parquet::Parquet;
use super::reader::RecordReader;
use super::records::Form;
use super::text::WholeFile;
use super::warc::Warc;
use super::whole_rows::WholeRows;

/// Way in which sources are read.
pub(super) struct Reading {
    pub(super) columns: Columns,
    pub(super) whole_rows: WholeRows,
    pub(super) n_bytes_read: Arc<AtomicU64>,
    pub(super) notes: Notes,
    pub(super) record_bytes_max: usize,
    /// Binary logarithm of the largest window of zstd.
    pub(super) window_log_max: u32,
    pub(super) tables: TableOptions,
}

/// Content of a source, opened.
pub(super) enum Opened {
    Records(Box<dyn RecordReader>),
    /// A tar archive, where it can only be told by its content.
    Tar(Box<dyn Read + Send>),
}

impl Reading {
    pub(super) fn open(&self, source: Source) -> io::Result<Opened> {
        let format = source.format().unwrap_or(Format::Jsonl);
        if format == Format::Parquet {
            let parts = source.location().open_parts()?;
            let parquet = self.parquet(parts, &self.n_bytes_read);
            // The actual content says more than the absence of the expected one.
            let parquet = parquet.map_err(|error| match source.complaint(self.window_log_max) {
                Some(complaint) => io::Error::other(format!("the file {complaint}")),
                None => error,
            });
            return parquet.map(Opened::Records);
        }
        let (name, is_stdin, is_once) = (source.origin(), source.arrives(), source.opened.is_some());
        let is_told = source.is_told();
        let meter = Meter::start();
        let raw = Counted::new(source.open()?, &self.n_bytes_read);
        let content = content::unpacked(meter.of(raw), format, self.window_log_max)?;
        let mut content = content.of_once(is_once);
        if is_once && content.is_tar() {
            return Ok(Opened::Tar(Box::new(meter.of(content))));
        }
        let found = if is_once && !is_told { content.found() } else { None };
        let format = found.unwrap_or(format);
        Ok(Opened::Records(self.records(format, &name, meter.of(content), is_stdin)?))
    }

    /// Opens a tar archive, packed or not.
    pub(super) fn unpacked_archive(&self, source: Source) -> io::Result<Box<dyn Read + Send>> {
        let meter = Meter::start();
        let raw = meter.of(Counted::new(source.open()?, &self.n_bytes_read));
        Ok(Box::new(meter.of(compression::open(raw, self.window_log_max)?.content)))
    }

    /// Opens a file in an archive.
    pub(super) fn member(
        &self,
        format: Format,
        origin: &Origin,
        content: Box<dyn Read + Send>,
    ) -> io::Result<Box<dyn RecordReader>> {
        if format == Format::Parquet {
            let parts = Parts::spooled(content)?;
            // Its bytes count as those of the archive.
            return self.parquet(parts, &Arc::default());
        }
        let meter = Meter::start();
        let content = content::unpacked(meter.of(content), format, self.window_log_max)?;
        self.records(format, origin, meter.of(content), false)
    }

    fn parquet(&self, parts: Parts, n_bytes_read: &Arc<AtomicU64>) -> io::Result<Box<dyn RecordReader>> {
        if parts.n_bytes()? == 0 {
            // An empty file has no row, as one of Arrow.
            return Ok(Box::new(Arrow::new(io::empty(), &self.columns, self.record_bytes_max)));
        }
        let parquet = Parquet::open(parts, &self.columns, n_bytes_read, self.record_bytes_max);
        Ok(Box::new(parquet.map_err(io::Error::other)?.with_whole_rows(&self.whole_rows)))
    }

    /// Returns the reader of any format but Parquet.
    fn records(
        &self,
        format: Format,
        origin: &Origin,
        content: impl Read + 'static,
        is_stdin: bool,
    ) -> io::Result<Box<dyn RecordReader>> {
        let Self { columns, whole_rows, record_bytes_max, tables, .. } = self;
        let (record_bytes_max, encoding) = (*record_bytes_max, tables.encoding.map(|encoding| encoding.0));
        let mut content = BufReader::with_capacity(READ_BUFFER_BYTES, content);
        Ok(match format {
            // UTF-8, as in most files, is handed on as it comes.
            Format::Jsonl
                if encoding.is_some_and(|given| given != UTF_8) || is_utf_16(content.fill_buf()?) =>
            {
                let content = Transcoded::new(content, encoding);
                let content = BufReader::with_capacity(READ_BUFFER_BYTES, content);
                json(content, record_bytes_max, is_stdin)?
            }
            Format::Jsonl => json(content, record_bytes_max, is_stdin)?,
            Format::Csv | Format::Tsv => {
                let csv::Opened { content, dialect, unusual } = csv::open(content, format, *tables);
                if let Some(unusual) = unusual {
                    self.notes.add(origin.name(), format!("read as {unusual}"));
                }
                let csv = Csv::new(content, dialect, columns.clone(), record_bytes_max);
                Box::new(csv.with_whole_rows(whole_rows).with_notes(&self.notes, origin.name()))
            }
            Format::Arrow => {
                Box::new(Arrow::new(content, columns, record_bytes_max).with_whole_rows(whole_rows))
            }
            Format::Parquet => return Err(io::Error::other("Parquet is read in parts")),
            Format::Text => {
                Box::new(WholeFile::new(content, Form::Text, record_bytes_max).with_encoding(encoding))
            }
            Format::Html => Box::new(WholeFile::new(content, Form::Html, record_bytes_max)),
            Format::Warc => Box::new(Warc::new(content, record_bytes_max)),
        })
    }
}

/// Returns the reader of JSON Lines, or of other JSON.
fn json(
    content: BufReader<impl Read + 'static>,
    record_bytes_max: usize,
    is_stdin: bool,
) -> io::Result<Box<dyn RecordReader>> {
    let (content, are_documents) = beginning::look(content, record_bytes_max)?;
    Ok(match are_documents {
        true => Box::new(Documents::new(content, record_bytes_max)),
        false => Box::new(Lines::new(content, record_bytes_max).with_stdin(is_stdin)),
    })
}
