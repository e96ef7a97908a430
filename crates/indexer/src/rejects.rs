//! Records that could not be taken: counted, named on stderr, and written to a file where one was asked for.

use std::io::Write;
use std::path::Path;

use serde_json::json;

use crate::output::Output;
use crate::progress::complain;

/// How many rejected records are named on stderr.
const NAMED_MAX: u64 = 5;

pub(crate) struct Rejects {
    file: Option<Output>,
    n_rejected: u64,
}

impl Rejects {
    pub(crate) fn new(path: Option<&Path>) -> anyhow::Result<Self> {
        Ok(Self { file: path.map(Output::create).transpose()?, n_rejected: 0 })
    }

    /// Takes note of a record that could not be taken.
    pub(crate) fn reject(&mut self, source: &str, line_number: u64, reason: &str) -> anyhow::Result<()> {
        self.n_rejected += 1;
        if self.n_rejected <= NAMED_MAX {
            complain(format_args!("rejected {source}:{line_number}: {reason}"));
        } else if self.n_rejected == NAMED_MAX + 1 {
            let all = if self.file.is_some() {
                "they are in the --rejects file"
            } else {
                "--rejects FILE lists all"
            };
            complain(format_args!("rejected more; {all}"));
        }
        self.write(source, line_number, reason)
    }

    /// Names a record that was not used for a reason that is no fault of its own; it is not counted as rejected.
    pub(crate) fn mention(&mut self, source: &str, line_number: u64, reason: &str) -> anyhow::Result<()> {
        self.write(source, line_number, reason)
    }

    fn write(&mut self, source: &str, line_number: u64, reason: &str) -> anyhow::Result<()> {
        if let Some(file) = &mut self.file {
            writeln!(file, "{}", json!({ "source": source, "line": line_number, "reason": reason }))
                .map_err(|error| file.failed(error))?;
        }
        Ok(())
    }

    /// Puts the file in its place and says how many records were rejected.
    pub(crate) fn finish(self) -> anyhow::Result<u64> {
        if let Some(file) = self.file {
            file.finish()?;
        }
        Ok(self.n_rejected)
    }
}
