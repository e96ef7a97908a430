//! `embedded:PATH`: a directory of this machine.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use index::{Backups, CallSizes, Capabilities, Clock, Error, Mode, Place, Result, Store, TextKeeping};

use super::store::EmbeddedStore;

/// The location of an embedded index: its directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddedUri {
    /// The path as written: relative to the working directory, or absolute.
    pub path: PathBuf,
}

impl FromStr for EmbeddedUri {
    type Err = Error;

    /// Parses the part after `embedded:`.
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
            // The directory, LMDB's two files, and all three again while the map grows or the
            // directory is synced.
            n_handles_max: 8,
            // A search needs a core. There is one writer at a time, waiting for the disk.
            searches: CallSizes::per_core(16),
            texts: TextKeeping::Zstd,
            insertions: CallSizes::new(1, 256),
            contained: true,
        }
    }

    fn backups(&self) -> Backups<'_> {
        Backups::File(self)
    }

    fn public_name(&self) -> String {
        self.to_string()
    }
}
