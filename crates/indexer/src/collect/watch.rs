//! The watched folder: finds whole files, and takes them away from their writers.
//!
//! ```text
//! WATCH/…                waiting files
//! WATCH/.taken/ROUND/…   files taken by a round: no other process renames or replaces them there
//! WATCH/.collector/      the state of the collector, the only one of this folder
//! ```

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, ensure};
use corpus::{FILES_MAX, Format, LeftOut, has_known_ending, is_beside_data, known_endings};
use walkdir::WalkDir;

use crate::durable;
use crate::numbers::Grouped;
use crate::progress::complain;

const TAKEN: &str = ".taken";
const STATE: &str = ".collector";

/// Suffixes of names of unfinished files.
const UNFINISHED: [&str; 4] = [".tmp", ".part", ".partial", "~"];

/// Age at which a file counts as whole. A program that writes in place is assumed not to pause
/// longer.
const SETTLE: Duration = Duration::from_secs(2);

/// Stored bytes after which a round takes no further file.
const ROUND_BYTES: u64 = 256 << 20;

pub(crate) struct WatchFolder {
    path: PathBuf,
    /// Files left in the folder and reported.
    named: HashSet<PathBuf>,
    /// Those of the files whose names tell no format, and those beside data, as of the last look.
    left_out: LeftOut,
    /// True if the last look found too young a file.
    has_young: bool,
    /// Holds the lock until dropped.
    lock: File,
}

/// A file ready to be taken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Waiting {
    modified: SystemTime,
    /// Relative to the folder.
    name: PathBuf,
    pub(crate) n_bytes: u64,
}

impl WatchFolder {
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let failed = || format!("failed to make {} ready", path.display());
        let path = path.canonicalize().with_context(failed)?;
        for folder in [TAKEN, STATE] {
            durable::create_folder(&path.join(folder)).with_context(failed)?;
        }
        let lock = durable::lock(&path.join(STATE).join("lock")).with_context(failed)?;
        let lock = lock.with_context(|| {
            format!("another collector watches {}; give each one a folder of its own", path.display())
        })?;
        Ok(Self { path, named: HashSet::new(), left_out: LeftOut::default(), has_young: false, lock })
    }

    /// Refuses a folder replaced since it was opened: the state is gone with the former one.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let same = |found: fs::Metadata| {
            let own = self.lock.metadata()?;
            Ok::<_, io::Error>((own.dev(), own.ino()) == (found.dev(), found.ino()))
        };
        let is_same = fs::metadata(self.state().join("lock")).and_then(same).unwrap_or(false);
        ensure!(
            is_same,
            "{} was removed or replaced while it was watched; make it again, then start the same command again",
            self.path.display()
        );
        Ok(())
    }

    /// The folder for the state of the collector.
    pub(crate) fn state(&self) -> PathBuf {
        self.path.join(STATE)
    }

    /// The folder for the files of a round.
    pub(crate) fn taken(&self, round: &str) -> PathBuf {
        self.path.join(TAKEN).join(round)
    }

    /// Returns true if the last call of [`waiting`](Self::waiting) found a file too young to be
    /// surely whole.
    pub(crate) fn has_young(&self) -> bool {
        self.has_young
    }

    /// The files left in the folder because their names tell no format.
    pub(crate) fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// The files ready to be taken, the oldest first. `format` is the format given by the user.
    pub(crate) fn waiting(&mut self, format: Option<Format>) -> anyhow::Result<Vec<Waiting>> {
        let failed = || format!("failed to read the folder {}", self.path.display());
        let is_hidden = |name: &OsStr| name.as_encoded_bytes().starts_with(b".");
        let entries = WalkDir::new(&self.path).min_depth(1).into_iter();
        let (mut waiting, mut unfit) = (Vec::new(), HashSet::new());
        let (mut unknown, mut beside) = (Unknown::default(), LeftOut::default());
        self.has_young = false;
        for entry in entries.filter_entry(|entry| !is_hidden(entry.file_name())) {
            let entry = match entry {
                // Another process has removed the file since its folder was read.
                Err(error) if is_gone(error.io_error()) => continue,
                entry => entry.with_context(failed)?,
            };
            let name = entry.file_name().to_string_lossy().to_ascii_lowercase();
            if entry.file_type().is_dir() || UNFINISHED.iter().any(|suffix| name.ends_with(suffix)) {
                continue;
            }
            if is_beside_data(&self.path, entry.path()) {
                beside.add_side_file();
                continue;
            }
            let why = if !entry.file_type().is_file() {
                "it is no regular file".to_owned()
            } else if format.is_none() && !has_known_ending(&name) {
                unknown.add(&name, entry.path(), !self.named.contains(entry.path()));
                unfit.insert(entry.into_path());
                continue;
            } else {
                match File::open(entry.path()).and_then(|file| file.metadata()) {
                    Err(error) if is_gone(Some(&error)) => continue,
                    Err(error) => error.to_string(),
                    Ok(metadata) => {
                        let modified = metadata.modified().with_context(failed)?;
                        // A time in the future does not delay a file.
                        if modified.elapsed().is_ok_and(|age| age < SETTLE) {
                            self.has_young = true;
                        } else {
                            let name = entry.path().strip_prefix(&self.path).unwrap_or(entry.path());
                            waiting.push(Waiting {
                                modified,
                                name: name.to_owned(),
                                n_bytes: metadata.len(),
                            });
                        }
                        continue;
                    }
                }
            };
            if !self.named.contains(entry.path()) {
                complain(format_args!("{} is left where it is: {why}", entry.path().display()));
            }
            unfit.insert(entry.into_path());
        }
        unknown.say();
        self.left_out = unknown.all;
        self.left_out.merge(&beside);
        // A file that disappears and returns is reported again.
        self.named = unfit;
        waiting.sort_unstable();
        Ok(waiting)
    }

    /// Moves files into the folder of a round: the first of `waiting`, as many as a round may take.
    pub(crate) fn take(&self, round: &str, waiting: &[Waiting]) -> anyhow::Result<()> {
        let taken = self.taken(round);
        let failed = || format!("failed to take files to {}", taken.display());
        let mut folders = BTreeSet::from([self.path.join(TAKEN), taken.clone()]);
        let mut n_bytes = 0;
        for file in waiting.iter().take(FILES_MAX) {
            if n_bytes > 0 && n_bytes + file.n_bytes > ROUND_BYTES {
                break;
            }
            let to = taken.join(&file.name);
            let folder = to.parent().unwrap_or(&taken);
            fs::create_dir_all(folder).with_context(failed)?;
            match fs::rename(self.path.join(&file.name), &to) {
                Err(error) if is_gone(Some(&error)) => continue,
                renamed => renamed.with_context(failed)?,
            }
            folders.extend(folder.ancestors().take_while(|folder| *folder != taken).map(Path::to_owned));
            n_bytes += file.n_bytes;
        }
        for folder in folders.iter().filter(|folder| folder.exists()) {
            durable::sync(folder).with_context(failed)?;
        }
        Ok(())
    }
}

/// Files whose names tell no format.
#[derive(Default)]
struct Unknown {
    all: LeftOut,
    /// The new ones, and the first of them.
    new: LeftOut,
    first: Option<PathBuf>,
}

impl Unknown {
    fn add(&mut self, name: &str, path: &Path, is_new: bool) {
        self.all.add(name);
        if is_new {
            self.new.add(name);
            self.first.get_or_insert_with(|| path.to_owned());
        }
    }

    /// Reports the new ones, in one line.
    fn say(&self) {
        let Some(first) = &self.first else { return };
        let (first, endings) = (first.display(), known_endings());
        match self.new.n() - 1 {
            0 => complain(format_args!(
                "{first} is left where it is: its name does not end in one of {endings}; --format says what all are"
            )),
            n_more => complain(format_args!(
                "{first} and {} more are left where they are ({}): their names do not end in one of {endings}; --format \
                 says what all are",
                Grouped(n_more),
                self.new.by_ending()
            )),
        }
    }
}

fn is_gone(error: Option<&io::Error>) -> bool {
    error.is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(folder: &Path, name: &str, age: u64) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "{}").unwrap();
        let modified = SystemTime::now() - Duration::from_secs(age);
        File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    }

    fn names(waiting: &[Waiting]) -> Vec<&str> {
        waiting.iter().map(|file| file.name.to_str().unwrap()).collect()
    }

    #[test]
    fn whole_files_are_taken_the_oldest_first() {
        let folder = tempfile::tempdir().unwrap();
        for (name, age) in [
            ("b.jsonl", 10),
            ("feed/deep/a.csv.gz", 20),
            ("c.jsonl", 30),
            ("young.jsonl", 0),
            (".hidden.jsonl", 10),
            (".folder/x.jsonl", 10),
            ("half.jsonl.tmp", 10),
            ("half.jsonl.PART", 10),
            ("unknown", 10),
            ("a.docx", 10),
            ("feed/b.docx", 0),
        ] {
            file(folder.path(), name, age);
        }
        let mut watched = WatchFolder::open(folder.path()).unwrap();
        let waiting = watched.waiting(None).unwrap();
        assert_eq!(names(&waiting), ["c.jsonl", "feed/deep/a.csv.gz", "b.jsonl"]);
        assert!(watched.has_young());
        assert_eq!(watched.named.len(), 3, "{:?}", watched.named);
        assert_eq!(watched.left_out().to_string(), "3 files (.docx 2, no ending 1)");
        assert_eq!(names(&watched.waiting(Some(Format::Jsonl)).unwrap()).len(), 5);
        assert!(watched.left_out().is_empty());
        watched.take("r1", &waiting).unwrap();
        assert!(folder.path().join(".taken/r1/feed/deep/a.csv.gz").is_file());
        assert_eq!(watched.waiting(None).unwrap(), []);
        // Another process removed the file first.
        watched.take("r2", &waiting).unwrap();
    }

    /// A round of nothing else could not be read, and the collector began it again for ever.
    #[test]
    fn what_programs_write_beside_data_stays() {
        let folder = tempfile::tempdir().unwrap();
        for name in
            ["_SUCCESS", "dataset_info.json", "state.json", "_temporary/0/part-0.jsonl", "day/a.jsonl"]
        {
            file(folder.path(), name, 10);
        }
        file(folder.path(), "README.md", 10);
        fs::write(folder.path().join("README.md"), "---\nlicense: mit\n---\n").unwrap();
        let mut watched = WatchFolder::open(folder.path()).unwrap();
        assert_eq!(names(&watched.waiting(None).unwrap()), ["day/a.jsonl"]);
        assert_eq!(watched.left_out().to_string(), "5 files (side files 5)");
    }

    #[test]
    fn a_folder_has_one_collector() {
        let folder = tempfile::tempdir().unwrap();
        durable::SYNCED.take();
        let first = WatchFolder::open(folder.path()).unwrap();
        // The state would be lost with the folder's name.
        assert!(durable::SYNCED.take().contains(&folder.path().canonicalize().unwrap()));
        let second = WatchFolder::open(folder.path()).map(|_| ()).unwrap_err();
        assert!(second.to_string().contains("another collector"), "{second}");
        drop(first);
        WatchFolder::open(folder.path()).unwrap();
    }
}
