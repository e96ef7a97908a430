//! Where an input lies: on this machine or elsewhere.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context, ensure};

use super::parquet::ParquetFile;
use super::remote::Object;

#[derive(Clone)]
pub(crate) enum Location {
    Local(PathBuf),
    Remote(Object),
}

/// What tells an input from what it may become.
pub(crate) struct Identity {
    pub(crate) n_bytes: u64,
    /// Nanoseconds since 1970; 0 where that is not known.
    pub(crate) modified: u128,
    /// What a server calls its contents.
    pub(crate) e_tag: Option<String>,
}

impl Location {
    /// As the user can find it; the address of what lies elsewhere.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Local(path) => path,
            Self::Remote(object) => Path::new(object.name()),
        }
    }

    pub(super) fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Local(path) => Box::new(File::open(path)?),
            Self::Remote(object) => Box::new(object.open()),
        })
    }

    /// As a file whose parts can be read in any order.
    pub(super) fn open_parts(&self) -> io::Result<ParquetFile> {
        Ok(match self {
            Self::Local(path) => ParquetFile::Local(File::open(path)?),
            Self::Remote(object) => ParquetFile::Remote(object.windows()),
        })
    }

    /// How many bytes there are, as far as can be told.
    pub(super) fn n_bytes(&self) -> u64 {
        match self {
            Self::Local(path) => path.metadata().map_or(0, |metadata| metadata.len()),
            Self::Remote(object) => object.n_bytes(),
        }
    }

    /// What must be the same for a job to go on; refuses what can be read only once, or may change unseen.
    pub(crate) fn identity(&self) -> anyhow::Result<Identity> {
        match self {
            Self::Local(path) => {
                let failed = || format!("failed to look at {}", path.display());
                let metadata = path.metadata().with_context(failed)?;
                ensure!(
                    metadata.is_file(),
                    "{} can be read only once, and a job with a journal must be able to read it again; write it to a \
                     file first",
                    path.display()
                );
                let modified = metadata.modified().with_context(failed)?;
                let modified = modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
                Ok(Identity { n_bytes: metadata.len(), modified, e_tag: None })
            }
            Self::Remote(object) => {
                let e_tag = object.e_tag().map(str::to_owned);
                let modified_ms = object.modified_ms().and_then(|ms| u128::try_from(ms).ok());
                ensure!(
                    e_tag.is_some() || modified_ms.is_some(),
                    "the server of {} names neither ETag nor Last-Modified, and a job with a journal must know that its \
                     input is the same; fetch it first",
                    object.name()
                );
                // What is written anew with the same contents is the same where they have a name.
                let modified = if e_tag.is_some() { 0 } else { modified_ms.unwrap_or(0) * 1_000_000 };
                Ok(Identity { n_bytes: object.n_bytes(), modified, e_tag })
            }
        }
    }
}
