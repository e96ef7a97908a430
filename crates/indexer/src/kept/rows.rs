//! Kept records of any format as rows of Parquet.
//!
//! The columns and their types are known once all records are: until then their lines of JSON wait,
//! packed, in a file without a name, or in the journal. At the end they are read twice.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};
use std::path::Path;

use anyhow::Context;

use super::schema::Columns;
use crate::journal::{Journal, TableLog};
use crate::output::{Files, Lengths, OUTPUT, folder_of};
use crate::table::ParquetWriter;

/// Bounds of a frame of the journal.
const FRAME_LINES: usize = 1 << 12;
const FRAME_BYTES: usize = 4 << 20;

pub(crate) struct RowsOutput {
    files: Files,
    columns: Columns,
    /// Names of the columns if no record is kept.
    header: Vec<String>,
    waiting: Waiting,
}

enum Waiting {
    File(Box<zstd::Encoder<'static, BufWriter<File>>>),
    Log(Logged),
}

struct Logged {
    log: TableLog,
    /// Lines not in the log yet, and their bytes.
    lines: Vec<String>,
    n_bytes: usize,
}

impl RowsOutput {
    pub(super) fn new(
        path: &Path,
        files: Files,
        (columns, header): (Columns, Vec<String>),
        journal: Option<&Journal>,
    ) -> anyhow::Result<Self> {
        let waiting = match journal {
            Some(journal) => {
                let log = journal.table_log(OUTPUT)?;
                Waiting::Log(Logged { log, lines: Vec::new(), n_bytes: 0 })
            }
            None => {
                let open = || {
                    let file = BufWriter::new(tempfile::tempfile_in(folder_of(path))?);
                    zstd::Encoder::new(file, zstd::DEFAULT_COMPRESSION_LEVEL)
                };
                let failed = || format!("failed to make a file for records beside {}", path.display());
                Waiting::File(Box::new(open().with_context(failed)?))
            }
        };
        Ok(Self { files, columns, header, waiting })
    }

    pub(super) fn add(&mut self, line: &[u8]) -> anyhow::Result<()> {
        match &mut self.waiting {
            Waiting::File(file) => {
                let written = file.write_all(line).and_then(|()| file.write_all(b"\n"));
                written.with_context(|| waits_no_more(&self.files))
            }
            Waiting::Log(logged) => {
                logged.lines.push(String::from_utf8_lossy(line).into_owned());
                logged.n_bytes += line.len();
                let is_full = logged.lines.len() >= FRAME_LINES || logged.n_bytes >= FRAME_BYTES;
                if is_full { logged.hand_on() } else { Ok(()) }
            }
        }
    }

    pub(super) fn checkpoint(&mut self, lengths: &mut Lengths) -> anyhow::Result<()> {
        match &mut self.waiting {
            Waiting::File(_) => Ok(()),
            Waiting::Log(logged) => {
                logged.hand_on()?;
                logged.log.checkpoint(lengths)
            }
        }
    }

    /// Reads the records again and writes the file, or the parts.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        let Self { files, mut columns, header, waiting } = self;
        let mut lines = Lines::of(waiting).with_context(|| waits_no_more(&files))?;
        lines.each(|line| {
            columns.see(line);
            Ok(())
        })?;
        if columns.is_empty() {
            for name in &header {
                columns.add(name);
            }
        }
        let mut writer = ParquetWriter::new(columns.columns(), files)?;
        lines.each(|line| writer.add(columns.row(line)))?;
        writer.finish()
    }
}

impl Logged {
    fn hand_on(&mut self) -> anyhow::Result<()> {
        self.log.append(&self.lines)?;
        self.lines.clear();
        self.n_bytes = 0;
        Ok(())
    }
}

/// The lines to read, any number of times.
enum Lines {
    File(File),
    Log(TableLog),
}

impl Lines {
    fn of(waiting: Waiting) -> io::Result<Self> {
        Ok(match waiting {
            Waiting::Log(logged) => {
                debug_assert!(logged.lines.is_empty(), "a checkpoint comes before the end");
                Self::Log(logged.log)
            }
            Waiting::File(file) => Self::File(file.finish()?.into_inner()?),
        })
    }

    fn each(&mut self, mut take: impl FnMut(&[u8]) -> anyhow::Result<()>) -> anyhow::Result<()> {
        match self {
            Self::Log(log) => {
                log.read(|lines: Vec<String>| lines.iter().try_for_each(|line| take(line.as_bytes())))
            }
            Self::File(file) => {
                let failed = "failed to read the records that were kept again";
                file.rewind().context(failed)?;
                let mut reader = BufReader::new(zstd::Decoder::new(&*file).context(failed)?);
                let mut line = Vec::new();
                while reader.read_until(b'\n', &mut line).context(failed)? > 0 {
                    take(line.strip_suffix(b"\n").unwrap_or(&line))?;
                    line.clear();
                }
                Ok(())
            }
        }
    }
}

fn waits_no_more(files: &Files) -> String {
    format!("failed to write what is kept to a file beside {}", files.path().display())
}
