//! `memory:`, and the abilities of a store there.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::{
    Backups, CallSizes, Capabilities, Clock, Error, MemoryStore, Mode, Place, Result, Store, TextKeeping,
};

/// `memory:`, an address to which no later process can return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUri;

impl FromStr for MemoryUri {
    type Err = Error;

    /// Reads the rest of a URL after `memory:`.
    fn from_str(rest: &str) -> Result<Self> {
        if rest.is_empty() { Ok(Self) } else { Err(Error::invalid("memory: takes nothing after the colon")) }
    }
}

impl fmt::Display for MemoryUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("memory:")
    }
}

impl Place for MemoryUri {
    fn open(&self, _: Mode, clock: Clock, _: Option<Duration>) -> Result<Box<dyn Store>> {
        Ok(Box::new(MemoryStore::with_clock(clock)))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            local_path: None,
            outlives_process: false,
            n_handles_max: 0,
            searches: CallSizes::per_core(16),
            texts: TextKeeping::Zstd,
            insertions: CallSizes::new(1, 256),
            contained: true,
        }
    }

    fn backups(&self) -> Backups<'_> {
        Backups::Elsewhere(
            "an index in memory ends with its process; `indexer export` writes one out that is kept",
        )
    }

    fn public_name(&self) -> String {
        self.to_string()
    }
}
