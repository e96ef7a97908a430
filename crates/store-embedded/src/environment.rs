//! The LMDB environment of a store: opening it, growing its map, and what its errors mean.
//!
//! LMDB maps its file into memory at a size that is chosen when it is opened. When a writer needs more, or another
//! process has written more, or a failed write of the root page has shut the environment, it is closed and opened anew.
//! That needs that no transaction is open in this process; the gate sees to it. It also keeps all of `unsafe` in one
//! call.

mod databases;
mod transactions;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use heed::byteorder::BE;
use heed::types::{Bytes, Str, U64};
use heed::{Database, Env, EnvOpenOptions, MdbError, RoTxn, env_closing_event};
use index::{Error, ErrorKind, Result};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use super::pages::Pages;
use super::place::{Before, Place};
use super::turns::Turns;
use super::{directory, pages};

/// Threads that have read and still run, of all processes together. Each keeps its place in LMDB's table of readers, so
/// that it takes the table's lock once, not in every call.
const READERS_MAX: u32 = 4096;
/// Far more than the doublings of any disk, or the growths of another process that fall into one call.
const ATTEMPTS_MAX: usize = 64;
/// Half of what 47 bits of addresses allow.
const MAP_BYTES_MAX: usize = 1 << 46;
/// A file system that has not got this much is full.
const PROBE_BYTES: u64 = 1 << 20;

/// How much must fit behind the file for a store that is ready: more than most commits need.
const GROWTH_BYTES: u64 = 64 << 10;
/// How long to wait for an earlier store of this process at the same path to close; it is closing already.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(10);

/// An environment that opens itself anew when it has to.
pub(super) struct Environment {
    directory: PathBuf,
    /// Of the first opening: who opens anew must find the same files.
    place: Arc<Place>,
    /// For how long a writer waits while others hold the lock and commit nothing.
    patience: Duration,
    /// `None` after a failure to open it anew; the next call tries again.
    gate: RwLock<Option<Opened>>,
}

/// An open environment and its databases. Drawn in `schema/embedded.md`.
pub(super) struct Opened {
    env: Env,
    place: Arc<Place>,
    page_bytes: u64,
    map_bytes: usize,
    patience: Duration,
    writers: Turns,
    pub(super) meta: Database<'static, Str, Bytes>,
    /// Change number → record of the document that it inserted, as long as it is there.
    pub(super) log: Database<'static, U64<BE>, Bytes>,
    /// Key of the id → change number.
    pub(super) ids: Database<'static, Bytes, U64<BE>>,
    /// Change number → record of the removal that it was, the last ones only.
    pub(super) removals: Database<'static, U64<BE>, Bytes>,
    /// Change number → text of the document that it inserted, as long as it is there. An index that was made before there
    /// were texts has none.
    pub(super) texts: Option<Database<'static, U64<BE>, Bytes>>,
    /// How often it had been opened before.
    generation: u64,
}

/// Why a piece of work inside the environment stopped.
#[derive(Debug)]
pub(super) enum Failure {
    Lmdb(heed::Error),
    Store(Error),
}

impl From<heed::Error> for Failure {
    fn from(error: heed::Error) -> Self {
        Self::Lmdb(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl Environment {
    /// Opens the environment in a directory that [`directory::prepare`] has found fit. A new one gets a map of
    /// `map_bytes`.
    pub(super) fn open(directory: PathBuf, map_bytes: usize, patience: Duration) -> Result<Self> {
        let map_bytes = (directory::data_bytes(&directory) == 0).then_some(map_bytes);
        let opened = open(&directory, map_bytes, patience, None, 0)?;
        Ok(Self { directory, place: Arc::clone(&opened.place), patience, gate: RwLock::new(Some(opened)) })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Does `work`, which opens one transaction and keeps nothing of it; from the start again where the environment had
    /// to be opened anew. Work inside work would wait for itself.
    pub(super) fn with<T>(&self, mut work: impl FnMut(&Opened) -> Result<T, Failure>) -> Result<T> {
        for _ in 0..ATTEMPTS_MAX {
            let gate = self.gate.read().map_err(|_| Error::poisoned())?;
            let Some(opened) = &*gate else {
                drop(gate);
                self.reopen(None, None)?;
                continue;
            };
            let (generation, map_bytes) = (opened.generation, opened.map_bytes);
            let error = match work(opened) {
                Ok(answer) => return Ok(answer),
                Err(Failure::Store(error)) => return Err(error),
                Err(Failure::Lmdb(error)) => error,
            };
            match error {
                heed::Error::Mdb(MdbError::MapFull) => {
                    drop(gate);
                    self.reopen(Some(generation), Some(map_bytes.saturating_mul(2)))?;
                }
                // Another process has grown the file; or a failed write of the root page has shut the environment, and
                // LMDB lets nothing through until it has read from disk which root page is the valid one.
                heed::Error::Mdb(MdbError::MapResized | MdbError::Panic) => {
                    drop(gate);
                    self.reopen(Some(generation), None)?;
                }
                // LMDB's word for a write that was cut short, which a full disk does, and also for a broken one.
                heed::Error::Io(error) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => {
                    return Err(if opened.is_full() {
                        full(None).caused_by(error)
                    } else {
                        explain(error.into())
                    });
                }
                error => return Err(explain(error)),
            }
        }
        Err(grows())
    }

    /// Closes and opens, unless somebody else has done it since `generation`.
    fn reopen(&self, generation: Option<u64>, map_bytes: Option<usize>) -> Result<()> {
        let mut gate = self.gate.write().map_err(|_| Error::poisoned())?;
        if gate.as_ref().map(|opened| opened.generation) != generation {
            return Ok(());
        }
        if map_bytes.is_some_and(|bytes| bytes > MAP_BYTES_MAX) {
            return Err(Error::new(
                ErrorKind::StorageFull,
                format!("the store has reached {MAP_BYTES_MAX} bytes; split it"),
            ));
        }
        // LMDB must not have one file open twice in one process: its locks would be lost.
        *gate = None;
        let generation = generation.map_or(0, |generation| generation + 1);
        *gate = Some(open(&self.directory, map_bytes, self.patience, Some(&self.place), generation)?);
        Ok(())
    }
}

impl Opened {
    #[cfg(test)]
    pub(super) fn env(&self) -> &Env {
        &self.env
    }

    /// The number of the last change, 0 before the first.
    ///
    /// The newest document and the newest removal are never taken away without a newer change, so this needs no counter
    /// of its own that could disagree.
    pub(super) fn last_change(&self, txn: &RoTxn<'_>) -> Result<u64, heed::Error> {
        let log = self.log.remap_data_type::<heed::types::DecodeIgnore>().last(txn)?;
        let removals = self.removals.remap_data_type::<heed::types::DecodeIgnore>().last(txn)?;
        Ok(log.max(removals).map_or(0, |(number, ())| number))
    }

    /// Looks at every page of the file, once in this process. For who has no transaction and is to read everything.
    pub(super) fn look_through(&self) -> Result<(), Failure> {
        self.place.look_through(&self.env, Pages::All)
    }

    /// A checksum of the record of a change, as long as it is there.
    pub(super) fn checksum_of_change(
        &self,
        txn: &RoTxn<'_>,
        number: u64,
    ) -> Result<Option<u32>, heed::Error> {
        let record = match self.log.get(txn, &number)? {
            None => self.removals.get(txn, &number)?,
            inserted => inserted,
        };
        Ok(record.map(crc32fast::hash))
    }

    /// The texts, of an index that keeps them.
    ///
    /// # Errors
    /// `Corrupt` where their database is gone.
    pub(super) fn texts(&self) -> Result<Database<'static, U64<BE>, Bytes>> {
        self.texts.ok_or_else(|| {
            Error::corrupt(
                "the texts of the index are missing; restore the index from a backup or build it anew",
            )
        })
    }

    /// Whether the file cannot grow. LMDB's own file, because a limit may be on it alone; it gets longer than LMDB needs
    /// now, which LMDB does not mind.
    fn is_full(&self) -> bool {
        let file = self.place.data();
        let Ok(metadata) = file.metadata() else { return false };
        matches!(
            fallocate(file, FallocateFlags::empty(), metadata.len(), PROBE_BYTES),
            Err(Errno::NOSPC | Errno::DQUOT | Errno::FBIG)
        )
    }

    /// Looks whether the file could grow by what a write may need. It stays as long as it is.
    pub(super) fn can_grow(&self) -> Result<()> {
        let file = self.place.data();
        let Ok(metadata) = file.metadata() else { return Ok(()) };
        let n_bytes = metadata.len();
        let limit = getrlimit(Resource::Fsize).current;
        let grown = match limit {
            Some(limit) if limit < n_bytes + GROWTH_BYTES => Err(Errno::FBIG),
            _ => fallocate(file, FallocateFlags::KEEP_SIZE, n_bytes, GROWTH_BYTES),
        };
        match grown {
            Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => {
                Err(full(Some(&error.into())).caused_by(io::Error::from(error)))
            }
            // Others, as of file systems that cannot reserve, say nothing of room.
            _ => Ok(()),
        }
    }
}

/// Opens the files at `place`, or those that are in the directory for the first time; once more where another process makes
/// the file longer between the map and the first transaction.
fn open(
    directory: &Path,
    map_bytes: Option<usize>,
    patience: Duration,
    place: Option<&Arc<Place>>,
    generation: u64,
) -> Result<Opened> {
    for _ in 0..ATTEMPTS_MAX {
        match open_once(directory, map_bytes, patience, place, generation) {
            Err(Failure::Lmdb(heed::Error::Mdb(MdbError::MapResized))) => {}
            Err(Failure::Lmdb(error)) => return Err(explain(error)),
            Err(Failure::Store(error)) => return Err(error),
            Ok(opened) => return Ok(opened),
        }
    }
    Err(grows())
}

fn open_once(
    directory: &Path,
    map_bytes: Option<usize>,
    patience: Duration,
    place: Option<&Arc<Place>>,
    generation: u64,
) -> Result<Opened, Failure> {
    if let Some(place) = place {
        place.check()?;
    }
    let before = Before::look(directory)?;
    let env = match open_env(directory, map_bytes) {
        Err(heed::Error::EnvAlreadyOpened) => {
            // An earlier store at this path, whose last owner is dropping it at this moment.
            if let Some(closing) = env_closing_event(directory) {
                closing.wait_timeout(CLOSING_TIMEOUT);
            }
            open_env(directory, map_bytes)
        }
        opened => opened,
    };
    let env = env?;
    let data = env.try_clone_inner_file()?;
    let place = match place {
        Some(place) if place.is_of(&data) => Arc::clone(place),
        Some(place) => return Err(place.overwritten().into()),
        None => Arc::new(Place::of(directory, &before, data)?),
    };
    place.check()?;
    // Once more, and of the file that LMDB has: others may have begun it, or put another in its place.
    let extent = pages::extent(place.data())?;
    let page_bytes = extent.ok_or_else(|| place.overwritten())?.page_bytes;
    if generation == 0 {
        // Before LMDB reads the first one.
        place.look_through(&env, Pages::Branches)?;
    }
    let writers = Turns::at(directory)?;
    let ([meta, log, ids, removals], texts) = databases::open(&env, &writers, patience)?;
    let (meta, log) = (meta.remap_key_type(), log.remap_key_type());
    let (ids, removals) = (ids.remap_data_type(), removals.remap_key_type());
    let texts = texts.map(|texts| texts.remap_key_type());
    let map_bytes = env.info().map_size;
    Ok(Opened {
        env,
        place,
        page_bytes,
        map_bytes,
        patience,
        writers,
        meta,
        log,
        ids,
        removals,
        texts,
        generation,
    })
}

#[expect(
    unsafe_code,
    reason = "LMDB maps its file; a map is sound only while nobody else writes to the file"
)]
pub(super) fn open_env(directory: &Path, map_bytes: Option<usize>) -> Result<Env, heed::Error> {
    let mut options = EnvOpenOptions::new();
    options.max_readers(READERS_MAX).max_dbs(databases::N_MAX);
    if let Some(bytes) = map_bytes {
        options.map_size(bytes);
    }
    // SAFETY: the map is sound while the file changes only through LMDB and its lock file. The directory is one that
    // holds nothing but LMDB's files (`directory::prepare`), which this program opens only here, and no flag is set that
    // gives up locks or syncing. That no other program writes into the file is the caller's part, and said in the
    // README; heed refuses to open it twice in this process. No reference into the map outlives its transaction, and
    // no transaction outlives the environment: both are lifetimes that heed checks.
    //
    // A page of the map that the file does not have kills who touches it (SIGBUS). LMDB touches none behind its last page,
    // and that the file has all up to there that are not free is checked before the map is made (`pages::extent`) and when
    // a transaction begins, as is that the file is still the one at the path with the roots that LMDB wrote (`Place`).
    //
    // What remains is what breaks the caller's part: a program that truncates the file, or writes into it, between that
    // look and the end of the transaction; and pages whose bytes have changed since, by a broken disk too. LMDB believes
    // what is within a page, so these may kill the process; the records have sums, which keep them from being an answer.
    unsafe { options.open(directory) }
}

/// Other processes make the file longer, each time before this one has mapped it whole.
fn grows() -> Error {
    Error::new(ErrorKind::Busy, "the store grew again and again during one call; try again")
}

/// No room is left: in the map, or where the system says which.
fn full(error: Option<&io::Error>) -> Error {
    let what = match error.map(io::Error::kind) {
        Some(io::ErrorKind::FileTooLarge) => "the store's file may not grow further (ulimit -f)",
        Some(io::ErrorKind::QuotaExceeded) => "the quota of the store's disk is used up",
        Some(_) => "the disk is full",
        None => "the disk is full, or the store's file may not grow further (ulimit -f)",
    };
    Error::new(
        ErrorKind::StorageFull,
        format!("{what}; nothing of this call was written, and it will succeed once there is room"),
    )
}

/// What an error of the operating system means for the caller.
pub(super) fn io_error(error: &io::Error, context: impl Into<String>) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::PermissionDenied,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            ErrorKind::StorageFull
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename => {
            ErrorKind::InvalidArgument
        }
        _ => ErrorKind::Unavailable,
    };
    Error::new(kind, context)
}

/// What an error of LMDB means for the caller.
pub(super) fn explain(error: heed::Error) -> Error {
    let described = match &error {
        heed::Error::Io(cause) => match io_error(cause, "the store's files cannot be read or written") {
            error if error.kind() == ErrorKind::StorageFull => full(Some(cause)),
            error => error,
        },
        heed::Error::Mdb(MdbError::MapFull) => full(None),
        heed::Error::Mdb(
            MdbError::Corrupted
            | MdbError::PageNotFound
            | MdbError::Invalid
            | MdbError::VersionMismatch
            | MdbError::Incompatible,
        ) => Error::corrupt(
            "the store's file is damaged or not this program's; restore it from a backup or build the index anew",
        ),
        heed::Error::Mdb(MdbError::ReadersFull) => Error::new(
            ErrorKind::Busy,
            format!("more than {READERS_MAX} threads read the store; let some end"),
        ),
        heed::Error::EnvAlreadyOpened => {
            Error::new(ErrorKind::Busy, "another part of this program has the directory open; close it first")
        }
        _ => Error::new(ErrorKind::Internal, "the store failed in a way that it should not"),
    };
    described.caused_by(error)
}
