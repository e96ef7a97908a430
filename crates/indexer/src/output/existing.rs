//! Outputs that exist before a run: replaced only on request.

use std::path::Path;

use anyhow::{bail, ensure};
use clap::Args;

use super::{Numbered, is_open_file, is_stdout};

/// Permission to replace files of earlier runs.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Replacing {
    /// Replace outputs that exist already; without it the run is refused before any work
    ///
    /// What a job with a --journal has begun goes on without it. What is no file, as /dev/null or a
    /// pipe, is written to in any case.
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,
}

impl Replacing {
    /// Refuses `outputs` that exist.
    pub(crate) fn check(self, outputs: &[&Path]) -> anyhow::Result<()> {
        for output in outputs.iter().filter(|_| !self.force) {
            let part = Numbered::of(output).and_then(|names| names.there().into_iter().next());
            if let Some((_, part)) = part {
                bail!("{} exists: give --force to replace all such parts, or another name", part.display());
            }
            let is_there = !is_stdout(output) && !is_open_file(output) && output.is_file();
            ensure!(!is_there, "{} exists: give --force to replace it, or another name", output.display());
        }
        Ok(())
    }
}
