//! The files of a round: written beside their places, all of them, before the first one is moved into its place.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use flate2::write::GzEncoder;

use super::parquet::Rows;
use super::shelf::Shelf;
use super::spool::{self, Head};
use crate::durable;
use crate::output::ResultsFormat;

/// How many files are written at once; the items are gone through once for each so many.
const OPEN_MAX: usize = 64;

/// Rows of all open Parquet files that are held in memory, in bytes.
const ROW_BYTES: usize = 256 << 20;

/// The folder of all results, as one round sees it.
pub(super) struct Results<'a> {
    pub(super) root: &'a Path,
    /// Part of the names of all its files.
    pub(super) round: &'a str,
    pub(super) format: ResultsFormat,
    /// Names of members that are columns of their own in Parquet.
    pub(super) columns: Vec<&'a str>,
}

enum Writer {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
    Parquet(Box<Rows>),
}

impl Results<'_> {
    /// Writes the items of a spool, sorted into files, of which none has its name yet; gives the places where they belong, below
    /// the root.
    pub(super) fn write(&self, spool: &Path) -> anyhow::Result<Vec<PathBuf>> {
        let mut shelves = BTreeSet::new();
        spool::read(spool, |shelf, _, _| {
            shelves.insert(shelf);
            Ok(())
        })?;
        let shelves: Vec<Shelf> = shelves.into_iter().collect();
        let mut places = Vec::new();
        for shelves in shelves.chunks(OPEN_MAX) {
            let mut writers = BTreeMap::new();
            for shelf in shelves {
                let place = shelf.path().join(format!("{}.{}", self.round, self.format.suffix()));
                let failed = || format!("failed to create {}", self.root.join(&place).display());
                let file = self.create(&place).with_context(failed)?;
                let writer =
                    Writer::new(self.format, file, ROW_BYTES / shelves.len()).with_context(failed)?;
                writers.insert(shelf, (place, writer));
            }
            let failed = |place: &Path| format!("failed to write {}", self.root.join(place).display());
            spool::read(spool, |shelf, head, line| {
                let Some((place, writer)) = writers.get_mut(&shelf) else { return Ok(()) };
                writer.add(head, line, &self.columns).with_context(|| failed(place))
            })?;
            for (place, writer) in writers.into_values() {
                writer.finish().and_then(|file| Ok(file.sync_all()?)).with_context(|| failed(&place))?;
                places.push(place);
            }
        }
        Ok(places)
    }

    /// Copies a file that is whole, unless it is empty or not there, likewise.
    pub(super) fn copy(&self, from: &Path, folder: &Path) -> anyhow::Result<Option<PathBuf>> {
        if !from.metadata().is_ok_and(|metadata| metadata.len() > 0) {
            return Ok(None);
        }
        let place = folder.join(format!("{}.jsonl", self.round));
        let copy = || -> io::Result<()> {
            let mut file = self.create(&place)?;
            io::copy(&mut File::open(from)?, &mut file)?;
            file.sync_all()
        };
        copy().with_context(|| format!("failed to write {}", self.root.join(&place).display()))?;
        Ok(Some(place))
    }

    /// Leaves a sign of which folder this is, after all files are written, whose `places` are
    /// given, and before [`publish`]. By then the names of the files are durable: one that is
    /// missing is taken for one that was moved.
    pub(super) fn mark(&self, places: &[PathBuf]) -> anyhow::Result<()> {
        let folders: BTreeSet<PathBuf> =
            places.iter().filter_map(|place| Some(self.root.join(place.parent()?))).collect();
        for folder in folders {
            durable::sync(&folder).with_context(|| format!("failed to write {}", folder.display()))?;
        }
        let path = mark(self.root, self.round);
        durable::write(&path, b"").with_context(|| format!("failed to write {}", path.display()))
    }

    fn create(&self, place: &Path) -> io::Result<File> {
        let partial = partial(&self.root.join(place));
        durable::create_folder(partial.parent().unwrap_or(self.root))?;
        File::create(partial)
    }
}

/// Moves the files of a round to their places below `root`. One that is not there any more was moved before, and whoever uses
/// the results may have taken it away; unless `root` is another folder now, as where a disk is not mounted.
pub(super) fn publish(root: &Path, round: &str, places: &[PathBuf]) -> anyhow::Result<()> {
    let is_same = mark(root, round).exists();
    let mut folders = BTreeSet::new();
    for place in places {
        let path = root.join(place);
        match fs::rename(partial(&path), &path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => ensure!(
                is_same || path.exists(),
                "{} is not the folder that it was when the files of round {round} were written; mount it, or put it back",
                root.display()
            ),
            moved => moved.with_context(|| format!("failed to write {}", path.display()))?,
        }
        folders.extend(place.ancestors().skip(1).map(|folder| root.join(folder)));
    }
    // The folder of what was taken away may be gone, too.
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        durable::sync(folder).with_context(|| format!("failed to write {}", folder.display()))?;
    }
    Ok(())
}

/// Removes what tells the folder of the results from others, once all files of a round are in their places.
pub(super) fn forget(root: &Path, round: &str) -> io::Result<()> {
    durable::remove(&mark(root, round))
}

/// A file by which the folder of a round's files is known.
fn mark(root: &Path, round: &str) -> PathBuf {
    root.join(format!(".{round}.round"))
}

fn partial(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.partial"))
}

impl Writer {
    fn new(format: ResultsFormat, file: File, row_bytes: usize) -> anyhow::Result<Self> {
        let buffered = |file| BufWriter::with_capacity(64 << 10, file);
        Ok(match format {
            ResultsFormat::Jsonl => Self::Plain(buffered(file)),
            ResultsFormat::JsonlGz => {
                Self::Gzip(GzEncoder::new(buffered(file), flate2::Compression::default()))
            }
            ResultsFormat::JsonlZst => {
                let mut encoder = zstd::Encoder::new(buffered(file), zstd::DEFAULT_COMPRESSION_LEVEL)?;
                encoder.include_checksum(true)?;
                Self::Zstd(encoder)
            }
            ResultsFormat::Parquet => Self::Parquet(Box::new(Rows::new(file, row_bytes)?)),
        })
    }

    fn add(&mut self, head: &Head<'_>, line: &[u8], columns: &[&str]) -> anyhow::Result<()> {
        let writer: &mut dyn Write = match self {
            Self::Plain(writer) => writer,
            Self::Gzip(writer) => writer,
            Self::Zstd(writer) => writer,
            Self::Parquet(rows) => return Ok(rows.add(head, line, columns)?),
        };
        writer.write_all(line)?;
        Ok(writer.write_all(b"\n")?)
    }

    fn finish(self) -> anyhow::Result<File> {
        let file = match self {
            Self::Plain(writer) => writer,
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
            Self::Parquet(rows) => return Ok(rows.finish()?),
        };
        Ok(file.into_inner().map_err(io::IntoInnerError::into_error)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is missing is taken for one that was moved: so what it was called must have
    /// outlived the machine.
    #[test]
    fn the_names_of_files_that_are_not_whole_are_durable_before_they_are_moved() {
        let folder = tempfile::tempdir().unwrap();
        let (root, rejects) = (folder.path().join("results"), folder.path().join("rejects"));
        fs::write(&rejects, "one\n").unwrap();
        let results = Results { root: &root, round: "r", format: ResultsFormat::Jsonl, columns: Vec::new() };
        durable::SYNCED.take();
        let place = results.copy(&rejects, Path::new("_rejects/date=1")).unwrap().unwrap();
        results.mark(&[place]).unwrap();
        let synced = durable::SYNCED.take();
        let [rejects, day] = ["_rejects", "_rejects/date=1"].map(|name| root.join(name));
        for expected in [folder.path(), &root, &rejects, &day] {
            assert!(synced.iter().any(|synced| synced == expected), "{}: {synced:?}", expected.display());
        }
    }

    #[test]
    fn what_was_written_to_another_folder_is_not_taken_for_moved() {
        let folder = tempfile::tempdir().unwrap();
        let (root, rejects) = (folder.path().join("results"), folder.path().join("rejects"));
        fs::write(&rejects, "one\n").unwrap();
        let results = Results { root: &root, round: "r", format: ResultsFormat::Jsonl, columns: Vec::new() };
        let place = results.copy(&rejects, Path::new("_rejects")).unwrap().unwrap();
        let places = [place.clone()];
        results.mark(&places).unwrap();

        let away = folder.path().join("away");
        fs::rename(&root, &away).unwrap();
        fs::create_dir(&root).unwrap();
        let error = publish(&root, "r", &places).unwrap_err().to_string();
        assert!(error.contains("is not the folder that it was"), "{error}");

        fs::remove_dir(&root).unwrap();
        fs::rename(&away, &root).unwrap();
        publish(&root, "r", &places).unwrap();
        assert_eq!(fs::read_to_string(root.join(&place)).unwrap(), "one\n");
        publish(&root, "r", &places).unwrap();
        // Who uses it has it now.
        fs::remove_dir_all(root.join("_rejects")).unwrap();
        publish(&root, "r", &places).unwrap();
        forget(&root, "r").unwrap();
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
    }
}
