//! Files that are whole or not there: written beside their place and moved into it at the end.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use flate2::write::GzEncoder;
use tempfile::NamedTempFile;

/// The name that stands for standard output.
pub(crate) const STDOUT: &str = "-";

pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == STDOUT
}

/// Prints what a person is to see of a job that is done. A reader who has gone away changes nothing about that.
pub(crate) fn print_to_stdout(what: &impl fmt::Display) -> anyhow::Result<()> {
    match write!(io::stdout(), "{what}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("failed to write to stdout")
        }
        _ => Ok(()),
    }
}

/// A file being written, gzip where its name ends in `.gz` and zstd where it ends in `.zst`, or standard output for `-`.
///
/// What a name that is not a regular file leads to (`/dev/null`, a pipe) is written directly: it cannot be replaced.
pub(crate) struct Output {
    path: PathBuf,
    writer: Writer,
}

enum Writer {
    Direct(BufWriter<Box<dyn Write>>),
    Plain(BufWriter<NamedTempFile>),
    Gzip(Box<GzEncoder<BufWriter<NamedTempFile>>>),
    Zstd(Box<zstd::Encoder<'static, BufWriter<NamedTempFile>>>),
}

impl Output {
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let failed = || format!("failed to create {}", path.display());
        // A link stays, and what it leads to is replaced.
        let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let writer = if is_stdout(path) {
            Writer::Direct(BufWriter::new(Box::new(io::stdout())))
        } else if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            let file = fs::OpenOptions::new().write(true).open(path).with_context(failed)?;
            Writer::Direct(BufWriter::new(Box::new(file)))
        } else {
            let folder = match path.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder,
                _ => Path::new("."),
            };
            let mut builder = tempfile::Builder::new();
            let prefix = format!(".{}.", path.file_name().unwrap_or_default().to_string_lossy());
            builder.prefix(&prefix).suffix(".partial");
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                // Those of the file that is replaced, else what a new file gets; the process's umask is taken off.
                let replaced = fs::metadata(path).ok().map(|metadata| metadata.permissions());
                builder.permissions(replaced.unwrap_or_else(|| fs::Permissions::from_mode(0o666)));
            }
            let file = BufWriter::new(builder.tempfile_in(folder).with_context(failed)?);
            match path.extension().and_then(OsStr::to_str) {
                Some("gz") => Writer::Gzip(Box::new(GzEncoder::new(file, flate2::Compression::default()))),
                Some("zst") => {
                    let mut encoder =
                        zstd::Encoder::new(file, zstd::DEFAULT_COMPRESSION_LEVEL).with_context(failed)?;
                    // Who unpacks it is told of a flipped bit, as with gzip.
                    encoder.include_checksum(true).with_context(failed)?;
                    Writer::Zstd(Box::new(encoder))
                }
                _ => Writer::Plain(file),
            }
        };
        Ok(Self { path: path.to_owned(), writer })
    }

    /// What to report when a write to it failed.
    pub(crate) fn failed(&self, error: io::Error) -> anyhow::Error {
        anyhow!(error).context(format!("failed to write {}", self.path.display()))
    }

    /// Moves the file to its place. Without this an error leaves nothing of it; a killed process leaves
    /// `.NAME.….partial`, which nobody reads.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let path = self.path;
        let finish = || -> io::Result<()> {
            let file = match self.writer {
                Writer::Direct(mut writer) => return writer.flush(),
                Writer::Plain(writer) => writer,
                Writer::Gzip(encoder) => encoder.finish()?,
                Writer::Zstd(encoder) => encoder.finish()?,
            };
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        finish().with_context(|| format!("failed to write {}", path.display()))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.writer {
            Writer::Direct(writer) => writer.write(bytes),
            Writer::Plain(writer) => writer.write(bytes),
            Writer::Gzip(writer) => writer.write(bytes),
            Writer::Zstd(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.writer {
            Writer::Direct(writer) => writer.flush(),
            Writer::Plain(writer) => writer.flush(),
            Writer::Gzip(writer) => writer.flush(),
            Writer::Zstd(writer) => writer.flush(),
        }
    }
}
