//! Files that are whole or absent: written beside their place and moved into it at the end.
//!
//! An output of a job with a journal is written under a fixed name. A resumed job cuts it back to
//! its length at the checkpoint.

mod direct;
mod existing;
mod files;
mod names;
mod packed;
mod partial;
mod parts;
mod whole;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, ensure};

use crate::stop::left_over;

use direct::Direct;
pub(crate) use existing::Replacing;
pub(crate) use files::Files;
pub(crate) use names::{ResultsFormat, Role, Written};
use packed::{Packed, packed_at_most};
use partial::{Journalled, Partial};
pub(crate) use partial::{Left, Reached};
pub(crate) use parts::{Naming, Numbered, Parts, finished};
use whole::{ClosedPartial, Whole};

/// Length of each output, by role: the option that asks for it. The key is not its place, which may
/// change. Beside the length is the [checksum](sum_of) of these bytes, unless the format has
/// checksums of its own.
pub(crate) type Lengths = BTreeMap<String, u64>;

/// The key of an output's checksum among the lengths.
pub(crate) fn sum_of(role: &str) -> String {
    format!("crc32 of {role}")
}

/// The name for standard output.
pub(crate) const STDOUT: &str = "-";

/// Roles of outputs in a journal: the options that ask for them.
pub(crate) const OUTPUT: &str = "--output";
pub(crate) const DUPLICATES: &str = "--duplicates";
pub(crate) const CLUSTERS: &str = "--clusters";
pub(crate) const PAIRS: &str = "--pairs";
pub(crate) const REJECTS: &str = "--rejects";

pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == STDOUT
}

/// Returns true if the path names an open file of this process, like `/dev/stdout`, which must not
/// be replaced.
fn is_open_file(path: &Path) -> bool {
    let folders = ["/dev/fd", "/proc/self/fd", "/proc/thread-self/fd"];
    path == Path::new("/dev/stdout")
        || path == Path::new("/dev/stderr")
        || path.parent().is_some_and(|folder| folders.iter().any(|open| folder == Path::new(open)))
}

/// Prints results of a finished job. A reader that has closed the pipe is no error.
pub(crate) fn print_to_stdout(what: &impl fmt::Display) -> anyhow::Result<()> {
    match write!(program::stdout(), "{what}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("failed to write to stdout")
        }
        _ => Ok(()),
    }
}

/// The canonical path of a file, even if the file does not exist yet. Follows a link, so that the
/// link stays and its target is replaced.
pub(crate) fn place_of(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        path.file_name().map_or(folder.clone(), |name| folder.join(name))
    })
}

/// A file being written, gzip if its name ends in `.gz` and zstd if it ends in `.zst`, or standard
/// output for `-`.
///
/// Anything but a regular file (`/dev/null`, a pipe) is written directly: it cannot be replaced.
pub(crate) struct Output {
    path: PathBuf,
    /// The role in a job with a journal; otherwise empty.
    role: &'static str,
    writer: Writer,
    is_new: bool,
    /// True until the name of the partial file is durable, which a checkpoint requires.
    is_unnamed: bool,
    /// Bytes written to the file, without the part that is being packed.
    n_bytes: u64,
    /// Bytes that were given to be packed in the current part.
    n_raw_bytes: u64,
}

/// Identity of an output of a resumed job.
pub(crate) struct Resumed<'a> {
    /// Part of the name of the partial file.
    pub(crate) job: &'a str,
    pub(crate) role: &'static str,
    /// Advice for an output that cannot resume.
    pub(crate) advice: &'static str,
}

enum Writer {
    Direct(BufWriter<Box<Direct>>),
    Plain(BufWriter<Partial>),
    Packed(Box<Packed>),
    /// Whole and in its place.
    InPlace,
}

impl Output {
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let failed = || format!("failed to create {}", path.display());
        if is_open_file(path) {
            let open = || Ok(Box::new(fs::OpenOptions::new().append(true).open(path)?) as Box<_>);
            let writer = Writer::direct(path, open).with_context(failed)?;
            return Ok(Self::new(path.to_owned(), writer));
        }
        // A link stays, and its target is replaced.
        ensure!(
            !path.is_symlink() || path.exists(),
            "{} is a link that leads to nothing; name the file itself",
            path.display()
        );
        let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let writer = if is_stdout(path) {
            Writer::direct(path, || Ok(Box::new(program::stdout()))).with_context(failed)?
        } else if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            let open = || Ok(Box::new(fs::OpenOptions::new().write(true).open(path)?) as Box<_>);
            Writer::direct(path, open).with_context(failed)?
        } else {
            Writer::to_file(path, Partial::temporary(path).with_context(failed)?).with_context(failed)?
        };
        Ok(Self::new(path.to_owned(), writer))
    }

    /// Opens the partial file of a job as of a checkpoint; creates it without one.
    pub(crate) fn resume(
        path: PathBuf,
        reached: Option<Reached>,
        whose: &Resumed<'_>,
    ) -> anyhow::Result<Self> {
        let Resumed { job, role, advice } = *whose;
        let partial = partial_of_job(&path, job);
        let failed = || match reached {
            Some(Reached { len, .. }) => {
                format!(
                    "failed to open {}, which had {len} bytes at the checkpoint; {advice}",
                    partial.display()
                )
            }
            None => format!("failed to open {}", partial.display()),
        };
        let is_new = reached.is_none();
        let mut options = File::options();
        options.read(true).write(true).create(is_new).truncate(is_new);
        let mut file = options.open(&partial).with_context(failed)?;
        let mut hasher = crc32fast::Hasher::new();
        if let Some(reached) = reached {
            let len = reached.len;
            let n_bytes = file.metadata().with_context(failed)?.len();
            ensure!(
                n_bytes >= len,
                "{} has {n_bytes} bytes and had {len} at the checkpoint; {advice}",
                partial.display()
            );
            hasher = partial::hash_of(&file, len).with_context(failed)?;
            ensure!(
                reached.is_with(&hasher),
                "{} is not what was written up to the checkpoint; {advice}",
                partial.display()
            );
            file.set_len(len).with_context(failed)?;
            file.seek(SeekFrom::End(0)).with_context(failed)?;
        } else if let Ok(replaced) = fs::metadata(&path) {
            file.set_permissions(replaced.permissions()).with_context(failed)?;
        }
        left_over::kept_for_the_job(&partial);
        let journalled = Journalled { file, path: partial.clone(), hasher };
        let writer =
            Writer::to_file(&path, Partial::Journalled(Box::new(journalled))).with_context(failed)?;
        let n_bytes = reached.map_or(0, |reached| reached.len);
        Ok(Self { role, is_new, n_bytes, ..Self::new(path, writer) })
    }

    /// An output that is whole already.
    pub(crate) fn in_place(path: PathBuf) -> Self {
        Self { is_new: false, is_unnamed: false, ..Self::new(path, Writer::InPlace) }
    }

    fn new(path: PathBuf, writer: Writer) -> Self {
        Self { path, role: "", writer, is_new: true, is_unnamed: true, n_bytes: 0, n_raw_bytes: 0 }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if no earlier run has written to the output.
    pub(crate) fn is_new(&self) -> bool {
        self.is_new
    }

    /// The error for a failed write.
    pub(crate) fn failed(&self, error: io::Error) -> anyhow::Error {
        anyhow!(error).context(format!("failed to write {}", self.path.display()))
    }

    /// Hands written bytes on to the reader of a pipe. A file keeps its buffer: it has no readers
    /// before it is whole.
    pub(crate) fn hand_on(&mut self) -> anyhow::Result<()> {
        match &mut self.writer {
            Writer::Direct(writer) => writer.flush().map_err(|error| self.failed(error)),
            Writer::Plain(_) | Writer::Packed(_) | Writer::InPlace => Ok(()),
        }
    }

    /// Makes the written bytes durable, and adds their number to `lengths`.
    pub(crate) fn checkpoint(&mut self, lengths: &mut Lengths) -> anyhow::Result<()> {
        let file = match &mut self.writer {
            Writer::Direct(_) | Writer::InPlace => return Ok(()),
            Writer::Plain(file) => Ok(file),
            // Ends the part: the state of the packer depends on all bytes before.
            Writer::Packed(packed) => packed.end_part().map(|()| &mut packed.file),
        };
        let written = file.and_then(|file| {
            file.flush()?;
            file.get_ref().file().sync_data()?;
            if self.is_unnamed {
                // The checkpoint will say that the file exists.
                crate::durable::sync(folder_of(&self.path))?;
                self.is_unnamed = false;
            }
            Ok((file.stream_position()?, file.get_ref().crc32()))
        });
        let (len, crc32) = written.map_err(|error| self.failed(error))?;
        (self.n_bytes, self.n_raw_bytes) = (len, 0);
        lengths.insert(self.role.to_owned(), len);
        lengths.extend(crc32.map(|crc32| (sum_of(self.role), u64::from(crc32))));
        Ok(())
    }

    /// Returns true if the file has at most `max` bytes with `n` more and its end.
    pub(crate) fn fits(&mut self, n: u64, max: u64) -> anyhow::Result<bool> {
        let Writer::Packed(packed) = &mut self.writer else { return Ok(self.n_bytes + n <= max) };
        if self.n_raw_bytes > 0 && self.n_bytes + packed_at_most(self.n_raw_bytes + n) > max {
            // How far these were packed is known at the end of the part.
            let ended = packed.end_part().and_then(|()| packed.len());
            self.n_bytes = ended.map_err(|error| self.failed(error))?;
            self.n_raw_bytes = 0;
        }
        Ok(self.n_bytes + packed_at_most(self.n_raw_bytes + n) <= max)
    }

    /// A second handle of the partial file, which holds its lock as long as it is open.
    pub(crate) fn lock(&self) -> Option<File> {
        let partial = match &self.writer {
            Writer::Plain(file) => file.get_ref(),
            Writer::Packed(packed) => packed.file.get_ref(),
            Writer::Direct(_) | Writer::InPlace => return None,
        };
        partial.file().try_clone().ok()
    }

    /// Moves the file into its place. If this is not called because of an error, the partial file
    /// is removed, unless it belongs to a journal. A killed process leaves `.NAME.….partial`, which
    /// no other program reads.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        // Held until the file has its name, or another run takes it for left over.
        let _lock = self.lock();
        self.close()?.put()
    }

    /// Makes the file durable and closes it.
    fn close(self) -> anyhow::Result<Whole> {
        let Self { path, writer, .. } = self;
        let close = || -> io::Result<(Option<ClosedPartial>, u64, Option<u32>)> {
            let file = match writer {
                Writer::InPlace => return Ok((None, 0, None)),
                Writer::Direct(writer) => {
                    let direct = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
                    return direct.end().map(|()| (None, 0, None));
                }
                Writer::Plain(file) => file,
                Writer::Packed(mut packed) => {
                    packed.end_part()?;
                    packed.file
                }
            };
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.file().sync_all()?;
            let (len, crc32) = (file.file().metadata()?.len(), file.crc32());
            let closed = match file {
                Partial::Temporary(file) => ClosedPartial::Temporary(file.into_temp_path()),
                Partial::Journalled(journalled) => {
                    // A checkpoint may say that the file exists.
                    sync_names(&path)?;
                    ClosedPartial::Journalled(journalled.path)
                }
            };
            Ok((Some(closed), len, crc32))
        };
        let (partial, len, crc32) = close().with_context(|| format!("failed to write {}", path.display()))?;
        Ok(Whole { path, partial, len, crc32 })
    }
}

/// Makes the name of a file durable.
fn sync_names(path: &Path) -> io::Result<()> {
    crate::durable::sync(folder_of(path))
}

/// The partial file of a job for a place.
fn partial_of_job(path: &Path, job: &str) -> PathBuf {
    let file_name = path.file_name().unwrap_or_default().to_string_lossy();
    folder_of(path).join(format!(".{file_name}.{job}.partial"))
}

/// The state of an output at a checkpoint with these lengths, by its role.
pub(crate) fn reached(role: &str, lengths: &Lengths) -> Option<Reached> {
    let crc32 = lengths.get(&sum_of(role)).and_then(|&crc32| u32::try_from(crc32).ok());
    lengths.get(role).map(|&len| Reached { len, crc32 })
}

impl Writer {
    fn direct(path: &Path, open: impl FnOnce() -> io::Result<Box<dyn Write + Send>>) -> io::Result<Self> {
        Ok(Self::Direct(BufWriter::new(Box::new(Direct::open(path, open)?))))
    }

    /// Packs the file by the suffix of its place.
    fn to_file(path: &Path, file: Partial) -> io::Result<Self> {
        let file = BufWriter::new(file);
        let suffix = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
        Ok(match suffix.as_deref() {
            Some("gz") => Self::Packed(Box::new(Packed::gzip(file))),
            Some("zst") => Self::Packed(Box::new(Packed::zstd(file)?)),
            _ => Self::Plain(file),
        })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.writer {
            Writer::Direct(writer) => writer.write(bytes),
            Writer::Plain(file) => {
                let n_bytes = file.write(bytes)?;
                self.n_bytes += n_bytes as u64;
                Ok(n_bytes)
            }
            Writer::Packed(packed) => {
                let n_bytes = packed.write(bytes)?;
                self.n_raw_bytes += n_bytes as u64;
                Ok(n_bytes)
            }
            Writer::InPlace => Err(io::Error::other("it is whole already")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.writer {
            Writer::Direct(writer) => writer.flush(),
            Writer::Plain(file) => file.flush(),
            Writer::Packed(packed) => packed.flush(),
            Writer::InPlace => Ok(()),
        }
    }
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
