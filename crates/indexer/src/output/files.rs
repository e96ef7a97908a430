//! The files of an output that is made as a whole: one, or one after another in parts.

use std::path::{Path, PathBuf};

use super::{Output, Parts};

pub(crate) struct Files {
    path: PathBuf,
    /// Opened before the run, where errors cost least.
    first: Option<Output>,
    parts: Option<Parts>,
    /// The file, if there are no parts.
    written: Option<Output>,
}

impl Files {
    /// One file.
    pub(crate) fn one(output: Output) -> Self {
        let path = output.path().to_owned();
        Self { path, first: Some(output), parts: None, written: None }
    }

    /// Files one after another.
    pub(crate) fn in_parts(path: &Path, mut parts: Parts) -> anyhow::Result<Self> {
        let first = Some(parts.next()?);
        Ok(Self { path: path.to_owned(), first, parts: Some(parts), written: None })
    }

    /// The name of the output.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The bound on a part.
    pub(crate) fn bytes_max(&self) -> Option<u64> {
        self.parts.as_ref().map(Parts::bytes_max)
    }

    /// The next file to write.
    pub(crate) fn next(&mut self) -> anyhow::Result<Output> {
        match (self.first.take(), &mut self.parts) {
            (Some(first), _) => Ok(first),
            (None, Some(parts)) => parts.next(),
            (None, None) => anyhow::bail!("{} is one file", self.path.display()),
        }
    }

    /// Takes a file that is written.
    pub(crate) fn add(&mut self, output: Output) -> anyhow::Result<()> {
        match &mut self.parts {
            Some(parts) => parts.add(output),
            None => {
                self.written = Some(output);
                Ok(())
            }
        }
    }

    /// Moves the files into their places.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        self.written.map_or(Ok(()), Output::finish)?;
        self.parts.map_or(Ok(()), Parts::finish)
    }
}
