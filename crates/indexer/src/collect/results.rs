//! The files of a round. All are written beside their places before the first is moved into its
//! place.

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

/// Files open at once. The items are read once for each such set of files.
const OPEN_MAX: usize = 64;

/// Bound on the bytes of rows in memory, over all open Parquet files.
const ROW_BYTES: usize = 256 << 20;

/// The folder of all results, as seen by one round.
pub(super) struct Results<'a> {
    pub(super) root: &'a Path,
    /// The round's name, part of the names of all its files.
    pub(super) round: &'a str,
    pub(super) format: ResultsFormat,
    /// Members with columns of their own in Parquet.
    pub(super) columns: Vec<&'a str>,
}

enum Writer {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
    Parquet(Box<Rows>),
}

impl Results<'_> {
    /// Writes the items of a spool, sorted into files under partial names. Returns their places
    /// relative to the root.
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

    /// Copies a whole file in the same way; `None` if it is empty or missing.
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

    /// Leaves a mark that identifies this folder, once all files at `places` are written, and
    /// before [`publish`]. By then the names of the files are durable, because a missing file
    /// counts as moved.
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

/// Moves the files of a round to their places below `root`. A missing file counts as moved before,
/// and perhaps taken away since by a consumer of the results.
///
/// # Errors
///
/// If a file is missing and `root` lacks the round's mark: then `root` is another folder, as where
/// a disk is not mounted.
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
    // A consumer may have removed the folder, too.
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        durable::sync(folder).with_context(|| format!("failed to write {}", folder.display()))?;
    }
    Ok(())
}

/// Removes the mark of the round, once all its files are in their places.
pub(super) fn forget(root: &Path, round: &str) -> io::Result<()> {
    durable::remove(&mark(root, round))
}

/// The mark of the folder that holds a round's files.
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

    /// A missing file counts as moved, so its partial name must have survived a crash of the
    /// machine.
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
        // A consumer takes the folder away.
        fs::remove_dir_all(root.join("_rejects")).unwrap();
        publish(&root, "r", &places).unwrap();
        forget(&root, "r").unwrap();
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
    }
}
