//! From what the user names to records.
//!
//! [`files`] knows which files there are, here and elsewhere ([`remote`]), [`compression`] unpacks them, and a reader for each format cuts what is inside
//! into [`records`], which one thread does for all. What a record says ([`fields`]) is found out on the fingerprinting
//! threads. None of them knows what a record is for.
//!
//! Memory is bounded whatever the input: records are handed on in portions, and one that is longer than the limit is
//! skipped and reported, not held.

mod budget;
mod compression;
mod content;
mod csv;
mod encoding;
mod field_path;
mod fields;
mod files;
mod format;
mod guarded;
mod header;
mod json;
mod left_out;
mod lines;
mod location;
mod made_ids;
mod members;
#[cfg(test)]
mod mutations;
mod options;
mod parquet;
mod rank;
mod records;
mod remote;
mod text;
mod warc;
mod whole_rows;

use std::io::{self, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use field_path::FieldPath;
pub(crate) use fields::{Columns, FieldNames, Fields, Record};
pub(crate) use files::{Origin, WHAT_TO_DO};
pub(crate) use format::Format;
pub(crate) use header::Header;
pub(crate) use left_out::LeftOut;
pub(crate) use location::{Identity, Location};
pub(crate) use made_ids::{FILES_MAX, MadeIds, RoundIds};
pub(crate) use members::Members;
pub(crate) use options::{InputOptions, RecordOptions};
pub(crate) use parquet::{ParquetFile, ROWS_AT_A_TIME, copy, guarded, open_parquet};
pub(crate) use rank::{Rank, RankBy};
pub(crate) use records::{Chunk, Place, Position, RawRecord};
pub(crate) use remote::is_remote;
pub(crate) use whole_rows::{Delimited, WholeRows};

use anyhow::Context;

use crate::internal_error::caught;
use budget::Meter;
use compression::Counted;
use csv::Csv;
use files::Source;
use guarded::Guarded;
use lines::Lines;
use parquet::Parquet;
use records::{Form, RecordError, Records};
use text::WholeFile;
use warc::Warc;

const READ_BUFFER_BYTES: usize = 64 << 10;

/// The inputs of a run, all of which could be opened.
pub(crate) struct Inputs {
    sources: Vec<Source>,
    /// Bytes read so far, as they are stored.
    pub(crate) n_bytes_read: Arc<AtomicU64>,
    /// Bytes there are to read, where every source is a regular file.
    pub(crate) n_bytes: Option<u64>,
    /// What was found where inputs were looked for, and is not read.
    pub(crate) left_out: LeftOut,
    record_bytes_max: usize,
    /// What is to be made of rows beside finding fields in them.
    pub(crate) whole_rows: WholeRows,
}

/// Cuts one source into records.
trait RecordReader {
    /// How its records are to be understood.
    fn form(&self) -> Form;

    /// Appends the next records, in their order, until there are enough for a portion; none at the end. A source that
    /// cannot be read on ends with a record that says so.
    fn append_records(&mut self, records: &mut Records);

    /// The next records; `None` at the end.
    #[cfg(test)]
    fn next_records(&mut self) -> Option<Records> {
        let mut records = Records::new(self.form());
        self.append_records(&mut records);
        records.if_any()
    }
}

impl Inputs {
    /// Finds and tries to open all that the options name, so that a run does not find out half-way that the last one
    /// is missing.
    pub(crate) fn open(options: &InputOptions) -> anyhow::Result<Self> {
        let files::Listing { sources, n_bytes, left_out } = files::find(options)?;
        Ok(Self {
            sources,
            n_bytes_read: Arc::default(),
            n_bytes,
            left_out,
            record_bytes_max: options.records.record_bytes_max,
            whole_rows: WholeRows::default(),
        })
    }

    /// The same, to be read once more; the error is the path of one that can be read only once.
    pub(crate) fn again(&self) -> Result<Self, &Path> {
        let sources = self.sources.iter().map(|source| source.again().ok_or(source.path()));
        let n_bytes_read = Arc::clone(&self.n_bytes_read);
        let (sources, whole_rows) = (sources.collect::<Result<_, _>>()?, self.whole_rows.clone());
        Ok(Self { sources, n_bytes_read, whole_rows, left_out: self.left_out.clone(), ..*self })
    }

    /// The paths that are read.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.sources.iter().map(Source::path)
    }

    /// Where they lie.
    pub(crate) fn locations(&self) -> impl Iterator<Item = &Location> {
        self.sources.iter().map(Source::location)
    }

    /// The paths, with what is in each.
    pub(crate) fn formats(&self) -> impl Iterator<Item = (&Path, Format)> {
        self.sources.iter().map(|source| (source.path(), source.format()))
    }

    /// The headers of all inputs, which are CSV, but of those that have none or cannot be read, which the run will say.
    pub(crate) fn headers(&mut self) -> anyhow::Result<Vec<(&Path, Header)>> {
        let mut headers = Vec::new();
        for source in &mut self.sources {
            let is_once = source.opened.is_some();
            match Header::peek(source, self.record_bytes_max) {
                Ok(header) => headers.extend(header.map(|header| (source.path(), header))),
                Err(error) if is_once => {
                    return Err(error).with_context(|| format!("failed to read {}", source.path().display()));
                }
                Err(_) => {}
            }
        }
        Ok(headers)
    }

    /// Reads everything from a position on, of rows the `columns`, and hands it on chunk by chunk, until `send` says to
    /// stop by returning false.
    pub(crate) fn read(self, from: Position, columns: &Columns, mut send: impl FnMut(Chunk) -> bool) {
        for (n_file, source) in self.sources.into_iter().enumerate() {
            if n_file < from.n_file {
                self.n_bytes_read.fetch_add(source.location().n_bytes(), Ordering::Relaxed);
                continue;
            }
            let n_taken = if n_file == from.n_file { from.n_records } else { 0 };
            let mut n_before = 0;
            let origin = Arc::new(source.origin());
            let mut send = |records: Records| {
                let n_skipped = n_taken.saturating_sub(n_before).min(records.len() as u64) as usize;
                let chunk = Chunk { origin: Arc::clone(&origin), n_file, n_before, n_skipped, records };
                n_before += chunk.records.len() as u64;
                n_skipped == chunk.records.len() || send(chunk)
            };
            let opened = caught(|| {
                reader(source, &self.n_bytes_read, columns, &self.whole_rows, self.record_bytes_max)
                    .map_err(|error| error.to_string())
            });
            let mut reader = match opened.and_then(|opened| opened) {
                Ok(reader) => Guarded::new(reader),
                Err(why) => {
                    if !send(Records::broken(1, RecordError::Broken(why))) {
                        return;
                    }
                    continue;
                }
            };
            while let Some(records) = reader.next_records() {
                if !send(records) {
                    return;
                }
            }
        }
    }
}

fn reader(
    source: Source,
    n_bytes_read: &Arc<AtomicU64>,
    columns: &Columns,
    whole_rows: &WholeRows,
    record_bytes_max: usize,
) -> io::Result<Box<dyn RecordReader>> {
    let unpacked = |source: Source| -> io::Result<_> {
        let format = source.format();
        let meter = Meter::start();
        let content = content::unpacked(meter.of(Counted::new(source.open()?, n_bytes_read)), format)?;
        Ok(BufReader::with_capacity(READ_BUFFER_BYTES, meter.of(content)))
    };
    let csv = |source, delimiter| -> io::Result<_> {
        let csv = Csv::new(unpacked(source)?, delimiter, columns.clone(), record_bytes_max);
        Ok(Box::new(csv.with_whole_rows(whole_rows)))
    };
    Ok(match source.format() {
        Format::Jsonl => Box::new(Lines::new(unpacked(source)?, record_bytes_max)),
        Format::Csv => csv(source, b',')?,
        Format::Tsv => csv(source, b'\t')?,
        Format::Parquet => {
            let parquet = Parquet::open(source.location(), columns, n_bytes_read, record_bytes_max);
            // What it is instead says more than what it is not.
            let parquet = parquet.map_err(|error| match source.complaint() {
                Some(complaint) => io::Error::other(format!("the file {complaint}")),
                None => io::Error::other(error),
            });
            Box::new(parquet?.with_whole_rows(whole_rows))
        }
        Format::Text => Box::new(WholeFile::new(unpacked(source)?, Form::Text, record_bytes_max)),
        Format::Html => Box::new(WholeFile::new(unpacked(source)?, Form::Html, record_bytes_max)),
        Format::Warc => Box::new(Warc::new(unpacked(source)?, record_bytes_max)),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    pub(super) fn open(paths: &[&str]) -> Inputs {
        try_open(paths).unwrap()
    }

    pub(super) fn try_open(paths: &[&str]) -> anyhow::Result<Inputs> {
        Inputs::open(&InputOptions::of(paths))
    }

    #[test]
    fn a_file_that_is_gone_when_it_is_its_turn_is_named_and_the_rest_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let [gone, kept] = ["gone", "kept"].map(|name| folder.path().join(name));
        for path in [&gone, &kept] {
            fs::write(path, "{}").unwrap();
        }
        let inputs = open(&[gone.to_str().unwrap(), kept.to_str().unwrap()]);
        assert_eq!(inputs.n_bytes, Some(4));
        let n_bytes_read = Arc::clone(&inputs.n_bytes_read);
        fs::remove_file(&gone).unwrap();
        let mut read = Vec::new();
        inputs.read(Position::default(), &columns(), |chunk| {
            let name = chunk.origin.stem().to_owned();
            read.extend(chunk.records().map(|(_, (number, record))| {
                (name.clone(), number, record.map(|record| record.bytes.to_vec()).map_err(Clone::clone))
            }));
            true
        });
        let [(gone, 1, Err(RecordError::Broken(_))), (kept, 1, Ok(line))] = &read[..] else {
            panic!("{read:?}")
        };
        assert_eq!((&gone[..], &kept[..], &line[..]), ("gone", "kept", &b"{}"[..]));
        assert_eq!(n_bytes_read.load(Ordering::Relaxed), 2);
    }

    fn columns() -> Columns {
        fields::testing::names(&["text"], false).columns()
    }

    /// All records from a position on, each with its file and what it says.
    fn read_from(paths: &[&str], from: Position) -> Vec<(Position, String)> {
        let mut read = Vec::new();
        open(paths).read(from, &columns(), |chunk| {
            read.extend(chunk.records().map(|(position, (number, record))| {
                let content = record.map_or_else(ToString::to_string, |raw| format!("{raw:?}"));
                (position, format!("{}:{number} {content}", chunk.origin.stem()))
            }));
            true
        });
        read
    }

    /// From every position on what was read after it comes again, also where the numbers of records do not tell: these
    /// rows all begin on the first line.
    #[test]
    fn reading_goes_on_at_every_position() {
        let folder = tempfile::tempdir().unwrap();
        let long: String = (0..1000).map(|n| format!("{n} {}\n", "x".repeat(1000))).collect();
        let rows: String = ["id,text", "a,b", "c,d", "e,f"].map(|row| format!("{row}\r")).concat();
        let paths =
            [("long.jsonl", &long[..]), ("empty.jsonl", "\n\n"), ("rows.csv", &rows), ("b.txt", "text")];
        let paths = paths.map(|(name, content)| {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            path.to_str().unwrap().to_owned()
        });
        let paths = paths.each_ref().map(String::as_str);
        let all = read_from(&paths, Position::default());
        assert_eq!(all.len(), 1004);
        for n in (0..all.len()).step_by(97).chain(999..all.len()) {
            assert_eq!(read_from(&paths, all[n].0), all[n + 1..], "after {:?}", all[n]);
        }
    }
}
