//! The inputs of a run: opened, and read portion by portion.

use std::iter::Enumerate;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::vec;

use super::archive::Archived;
use super::columns::Columns;
use super::copies::Copies;
use super::csv::TableOptions;
use super::error::Error;
use super::files::{self, Source};
use super::format::Format;
use super::guarded::Guarded;
use super::header::Header;
use super::internal_error::caught;
use super::left_out::LeftOut;
use super::location::Location;
use super::notes::Notes;
use super::options::InputOptions;
use super::origin::Origin;
use super::reading::{Opened, Reading};
use super::records::{Chunk, Position, RecordError, Records};
use super::whole_rows::WholeRows;

/// The inputs of a run, all of which could be opened.
pub struct Inputs {
    sources: Vec<Source>,
    /// Bytes read so far, counted as stored.
    pub n_bytes_read: Arc<AtomicU64>,
    /// Total bytes to read, as stored; `None` if any source has no length, such as a pipe.
    pub n_bytes: Option<u64>,
    /// Files found among the inputs and not read.
    pub left_out: LeftOut,
    /// Things found out about the inputs so far.
    pub notes: Notes,
    record_bytes_max: usize,
    window_log_max: u32,
    tables: TableOptions,
    /// Use of whole rows, beside the fields found in them.
    pub whole_rows: WholeRows,
    copies: Option<Copies>,
}

impl Inputs {
    /// Finds all inputs of the options and tries to open each, so a run does not discover halfway
    /// that the last one is missing.
    pub fn open(options: &InputOptions) -> Result<Self, Error> {
        let files::Listing { sources, n_bytes, left_out } = files::find(options)?;
        Ok(Self {
            sources,
            n_bytes_read: Arc::default(),
            n_bytes,
            left_out,
            notes: Notes::default(),
            record_bytes_max: options.records.record_bytes_max,
            window_log_max: options.records.zstd_window_log_max,
            tables: options.records.tables,
            whole_rows: WholeRows::default(),
            copies: options.copies.clone(),
        })
    }

    /// Returns the same inputs for another pass, which makes notes of its own; the error is the
    /// path of an input that can be read only once.
    pub fn again(&self) -> Result<Self, &Path> {
        let sources = self.sources.iter().map(|source| source.again().ok_or(source.path()));
        let n_bytes_read = Arc::clone(&self.n_bytes_read);
        let (sources, whole_rows) = (sources.collect::<Result<_, _>>()?, self.whole_rows.clone());
        let (left_out, notes) = (self.left_out.clone(), Notes::default());
        let copies = self.copies.clone();
        Ok(Self { sources, n_bytes_read, whole_rows, left_out, notes, copies, ..*self })
    }

    /// Returns false once a [copy](InputOptions::copies) of an input is given up, which
    /// [`again`](Self::again) would need.
    #[must_use]
    pub fn are_copies_whole(&self) -> bool {
        self.copies.as_ref().is_none_or(Copies::are_whole)
    }

    /// Returns the paths of the inputs, in reading order.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.sources.iter().map(Source::path)
    }

    /// Returns the locations of the inputs, in reading order.
    pub fn locations(&self) -> impl Iterator<Item = &Location> {
        self.sources.iter().map(Source::location)
    }

    /// Returns the paths of the inputs, each with its format; `None` for an archive, each member of
    /// which has one of its own.
    pub fn formats(&self) -> impl Iterator<Item = (&Path, Option<Format>)> {
        self.sources.iter().map(|source| (source.path(), source.format()))
    }

    /// Returns the headers of all inputs, which must be CSV or TSV. An input without a header, or
    /// one that cannot be read, is left out: the run reports its fault.
    ///
    /// # Errors
    /// If an input that can be read only once cannot be read.
    pub fn headers(&mut self) -> Result<Vec<(&Path, Header)>, Error> {
        let mut headers = Vec::new();
        for source in &mut self.sources {
            let is_once = source.opened.is_some();
            match Header::peek(source, self.tables, self.record_bytes_max, self.window_log_max) {
                Ok(header) => headers.extend(header.map(|header| (source.path(), header))),
                Err(error) if is_once => {
                    let failed = format!("failed to read {}", source.path().display());
                    return Err(anyhow::Error::from(error).context(failed).into());
                }
                Err(_) => {}
            }
        }
        Ok(headers)
    }

    /// Returns all records from position `from` on, chunk by chunk; of rows, only the cells of
    /// `columns`.
    #[must_use]
    pub fn chunks(self, from: Position, columns: &Columns) -> Chunks {
        let Self { sources, n_bytes_read, notes, whole_rows, .. } = self;
        let reading = Reading {
            columns: columns.clone(),
            whole_rows,
            n_bytes_read,
            notes,
            record_bytes_max: self.record_bytes_max,
            window_log_max: self.window_log_max,
            tables: self.tables,
        };
        let sources = sources.into_iter().enumerate();
        Chunks { sources, from, reading, current: None }
    }
}

/// Iterator over the records of the inputs, many at a time, in input order. An unreadable place is
/// a record that holds its error.
pub struct Chunks {
    sources: Enumerate<vec::IntoIter<Source>>,
    from: Position,
    reading: Reading,
    current: Option<Current>,
}

/// The source being read.
struct Current {
    n_file: usize,
    reader: Reader,
    /// Number of records of this source that an earlier run took.
    n_taken: u64,
    /// Number of records of this source before the next ones.
    n_before: u64,
}

enum Reader {
    File(Arc<Origin>, Guarded),
    Members(Box<Archived>),
    /// A source that could not be opened, with the reason; `None` once reported.
    Unopened(Arc<Origin>, Option<String>),
}

impl Iterator for Chunks {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        loop {
            let current = match &mut self.current {
                Some(current) => current,
                None => {
                    let (n_file, source) = self.sources.next()?;
                    if n_file < self.from.n_file {
                        self.reading.n_bytes_read.fetch_add(source.location().n_bytes(), Ordering::Relaxed);
                        continue;
                    }
                    self.current.insert(self.begin(n_file, source))
                }
            };
            let Some((origin, records)) = current.next_records(&self.reading) else {
                self.current = None;
                continue;
            };
            let chunk = current.chunk(origin, records);
            if chunk.has_any() {
                return Some(chunk);
            }
        }
    }
}

impl Chunks {
    fn begin(&self, n_file: usize, source: Source) -> Current {
        let n_taken = if n_file == self.from.n_file { self.from.n_records } else { 0 };
        let (origin, given) = (Arc::new(source.origin()), source.given());
        let reader = if let Some(kind) = source.archive() {
            Reader::Members(Archived::open(kind, source, &self.reading).into())
        } else {
            let opened = caught(|| self.reading.open(source).map_err(|error| error.to_string()));
            match opened.and_then(|opened| opened) {
                Ok(Opened::Records(reader)) => Reader::File(origin, Guarded::new(reader)),
                Ok(Opened::Tar(content)) => Reader::Members(Archived::tar(origin, given, content).into()),
                Err(why) => Reader::Unopened(origin, Some(why)),
            }
        };
        Current { n_file, reader, n_taken, n_before: 0 }
    }
}

impl Current {
    /// Returns the next records, with their origin; `None` at the end.
    fn next_records(&mut self, reading: &Reading) -> Option<(Arc<Origin>, Records)> {
        match &mut self.reader {
            Reader::File(origin, reader) => Some((Arc::clone(origin), reader.next_records()?)),
            Reader::Members(archived) => archived.next_records(reading),
            Reader::Unopened(origin, why) => {
                Some((Arc::clone(origin), Records::broken(1, RecordError::Broken(why.take()?))))
            }
        }
    }

    fn chunk(&mut self, origin: Arc<Origin>, records: Records) -> Chunk {
        let n_before = self.n_before;
        self.n_before += records.len() as u64;
        let n_skipped = self.n_taken.saturating_sub(n_before).min(records.len() as u64) as usize;
        Chunk { origin, n_file: self.n_file, n_before, n_skipped, records }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::fields::testing::names;
    use super::*;

    fn open(paths: &[&str]) -> Inputs {
        Inputs::open(&InputOptions::of(paths)).unwrap()
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
        for chunk in inputs.chunks(Position::default(), &columns()) {
            let name = chunk.origin.stem().to_owned();
            read.extend(chunk.records().map(|(_, (number, record))| {
                (name.clone(), number, record.map(|record| record.bytes.to_vec()).map_err(Clone::clone))
            }));
        }
        let [(gone, 1, Err(RecordError::Broken(_))), (kept, 1, Ok(line))] = &read[..] else {
            panic!("{read:?}")
        };
        assert_eq!((&gone[..], &kept[..], &line[..]), ("gone", "kept", &b"{}"[..]));
        assert_eq!(n_bytes_read.load(Ordering::Relaxed), 2);
    }

    /// Where the input is read twice, each file but the first was once counted twice.
    #[test]
    fn notes_of_another_pass_are_its_own() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.csv", "b.csv"] {
            fs::write(folder.path().join(name), "id;text\n1;one\n").unwrap();
        }
        let inputs = open(&[folder.path().to_str().unwrap()]);
        let notes = inputs.notes.clone();
        inputs.again().ok().unwrap().chunks(Position::default(), &columns()).for_each(drop);
        assert!(notes.lines().is_empty());
        inputs.chunks(Position::default(), &columns()).for_each(drop);
        let [note] = &notes.lines()[..] else { panic!() };
        assert!(note.ends_with("a.csv and 1 more: read as cells between ';'"), "{note}");
    }

    #[test]
    fn an_empty_file_has_no_record() {
        let folder = tempfile::tempdir().unwrap();
        let packed = zstd::encode_all(&b""[..], 1).unwrap();
        let names = ["jsonl", "csv", "parquet", "arrow", "warc", "tar", "tar.gz", "zip"];
        let empty = names.map(|ending| (format!("a.{ending}"), &b""[..]));
        let packed = ["jsonl.zst", "arrow.zst", "tar.zst"].map(|ending| (format!("a.{ending}"), &packed[..]));
        for (name, content) in empty.iter().chain(&packed) {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            assert_eq!(read_from(&[path.to_str().unwrap()], Position::default()), [], "{name}");
        }
    }

    fn columns() -> Columns {
        names(&["text"], false).columns()
    }

    /// Reads all records from a position on, each with its file and content.
    fn read_from(paths: &[&str], from: Position) -> Vec<(Position, String)> {
        let mut read = Vec::new();
        for chunk in open(paths).chunks(from, &columns()) {
            read.extend(chunk.records().map(|(position, (number, record))| {
                let content = record.map_or_else(ToString::to_string, |raw| format!("{raw:?}"));
                (position, format!("{}:{number} {content}", chunk.origin.stem()))
            }));
        }
        read
    }

    /// Reading resumes at every position, in a file of each kind.
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
