//! The handle of a store, and the stores that are open in this process.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use index::backend::Known;
use index::backend::search::Bounded;
use index::{Clock, Mode, Result};

use super::directory;
use super::environment::{Environment, Opened};
use super::expiry::Seen;
use super::image::Terms;
use super::limits::Limits;
use super::shared::Shared;
use super::texts::Cache;

/// A store in a directory. Handles from several openings of one path in one process share the store
/// and its tables.
pub struct EmbeddedStore {
    pub(super) shared: Arc<Shared>,
    pub(super) clock: Clock,
}

/// The stores that are open in this process, by canonical path: LMDB must not open one twice.
static OPEN: Mutex<Option<HashMap<PathBuf, Weak<Shared>>>> = Mutex::new(None);

impl EmbeddedStore {
    /// Opens the store in the directory `path`, or creates both if `mode` allows.
    ///
    /// # Errors
    /// `NotFound` where there is none and none may be created; `InvalidArgument` for a file, or a
    /// directory with other content; `PermissionDenied` for a directory without write permission,
    /// which readers need too: LMDB notes each reader in a file there.
    pub fn open(path: &Path, mode: Mode) -> Result<Self> {
        Self::open_with(path, mode, Limits::default(), Clock::system())
    }

    /// As [`open`](Self::open), with a clock for this handle alone. A call gives up (`Busy`) after
    /// waiting `patience` for its turn to write while others committed nothing. Of several handles
    /// in one process the first one decides.
    pub(super) fn opened(path: &Path, mode: Mode, clock: Clock, patience: Option<Duration>) -> Result<Self> {
        let limits = Limits::default();
        Self::open_with(path, mode, Limits { patience: patience.unwrap_or(limits.patience), ..limits }, clock)
    }

    /// As [`open`](Self::open), with a clock for this handle alone.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with_clock(path: &Path, mode: Mode, clock: Clock) -> Result<Self> {
        Self::open_with(path, mode, Limits::default(), clock)
    }

    pub(super) fn open_with(path: &Path, mode: Mode, limits: Limits, clock: Clock) -> Result<Self> {
        let directory = directory::prepare(path, mode)?;
        // Nothing in here panics halfway through a change of the map.
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.get_or_insert_default();
        if let Some(shared) = open.get(&directory).and_then(Weak::upgrade) {
            return Ok(Self { shared, clock });
        }
        open.retain(|_, store| store.strong_count() > 0);
        let environment = Environment::open(directory.clone(), limits.map_bytes, limits.patience)?;
        if directory::data_bytes(&directory) <= limits.looked_through_max {
            environment.with(Opened::look_through)?;
        }
        let shared = Arc::new(Shared {
            environment,
            known: Known::new(format!("embedded:{}", directory.display())),
            seen: Seen::default(),
            bounded: Bounded::default(),
            texts: Cache::default(),
            ram: RwLock::new(None),
            terms: Terms::default(),
            limits,
        });
        open.insert(directory, Arc::downgrade(&shared));
        Ok(Self { shared, clock })
    }
}
