//! `embedded:PATH`: a directory of this machine.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use index::{CallSizes, Capabilities, Clock, Error, Mode, Place, Result, Store, TextKeeping};

use crate::EmbeddedStore;

/// The directory of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddedUri {
    /// As it was written: relative to where the program runs, or from the root on.
    pub path: PathBuf,
}

impl FromStr for EmbeddedUri {
    type Err = Error;

    /// Reads what comes after `embedded:`.
    fn from_str(rest: &str) -> Result<Self> {
        if rest.is_empty() {
            return Err(Error::invalid(
                "embedded: needs the path of a directory, for example embedded:./my-index",
            ));
        }
        // Not a URL with an authority, but people will write one; an empty one does no harm.
        let path = match rest.strip_prefix("//") {
            Some(path) if !path.starts_with('/') => {
                return Err(Error::invalid(format!(
                    "embedded: names no host; write embedded:{path} or embedded:/{path}"
                )));
            }
            without_authority => without_authority.unwrap_or(rest),
        };
        Ok(Self { path: path.into() })
    }
}

impl fmt::Display for EmbeddedUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "embedded:{}", self.path.display())
    }
}

impl Place for EmbeddedUri {
    fn open(&self, mode: Mode, clock: Clock, patience: Option<Duration>) -> Result<Box<dyn Store>> {
        Ok(Box::new(EmbeddedStore::opened(&self.path, mode, clock, patience)?))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            local_path: Some(&self.path),
            outlives_process: true,
            // The directory, LMDB's two files, and those again while the map grows or the directory is synced.
            n_handles_max: 8,
            // A search needs a core. There is one writer at a time, who waits for the disk.
            searches: CallSizes::per_core(16),
            texts: TextKeeping::Zstd,
            insertions: CallSizes::new(1, 256),
            contained: true,
        }
    }

    fn public_name(&self) -> String {
        self.to_string()
    }
}
