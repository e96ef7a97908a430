//! The LMDB environment of a store: opening it, and growing its map.
//!
//! LMDB maps its file into memory at a size chosen at the opening. The environment is closed and
//! opened anew when a writer needs more, when another process has written more, or when a failed
//! write of the root page has shut it. Meanwhile no transaction may be open in this process, which
//! the gate ensures.

mod databases;
mod locks;
mod map;
mod transactions;

use std::fs::File;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, RwLock};
use std::time::Duration;

use heed::byteorder::BE;
use heed::types::{Bytes, Str, U64};
use heed::{CompactionOption, Database, Env, MdbError, RoTxn, env_closing_event};
use index::{Error, ErrorKind, Result};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use super::errors::{Failure, explain, full};
use super::pages::Pages;
use super::place::{Before, Place};
use super::turns::Turns;
use super::{directory, pages};

pub(super) use self::map::open_env;

/// The key in `meta` of the metadata.
pub(super) const METADATA_KEY: &str = "metadata";

/// Far more than the doublings of any disk, or the growths by other processes during one call.
const ATTEMPTS_MAX: usize = 64;
/// Half of what 47 bits of addresses allow.
const MAP_BYTES_MAX: usize = 1 << 46;
/// A file system without this much room is full.
const PROBE_BYTES: u64 = 1 << 20;

/// The room behind the file in a ready store: more than most commits need.
const GROWTH_BYTES: u64 = 64 << 10;
/// The longest wait for an earlier store of this process at the same path, which is already
/// closing.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(10);

/// The database of the image's blocks.
pub(super) type Blocks = Database<'static, Bytes, Bytes>;

/// An environment that opens itself anew when it has to.
pub(super) struct Environment {
    directory: PathBuf,
    /// The files of the first opening: later ones must find the same files.
    place: Arc<Place>,
    /// The time a writer waits while others hold the lock and commit nothing.
    patience: Duration,
    /// `None` after a failed reopening; the next call tries again.
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
    /// Change number → record of the document inserted by the change, until it is removed.
    pub(super) log: Database<'static, U64<BE>, Bytes>,
    /// Key of the id → change number.
    pub(super) ids: Database<'static, Bytes, U64<BE>>,
    /// Change number → record of the removal; the last ones only.
    pub(super) removals: Database<'static, U64<BE>, Bytes>,
    /// Change number → text of the document inserted by the change, until it is removed. `None` in
    /// an index created before texts existed.
    pub(super) texts: Option<Database<'static, U64<BE>, Bytes>>,
    /// The blocks of the image, once there is a database of them.
    image: OnceLock<Blocks>,
    /// The number of earlier openings.
    generation: u64,
}

impl Environment {
    /// Opens the environment in a directory accepted by [`directory::prepare`]. A new environment
    /// gets a map of `map_bytes`.
    pub(super) fn open(directory: PathBuf, map_bytes: usize, patience: Duration) -> Result<Self> {
        let map_bytes = (directory::data_bytes(&directory) == 0).then_some(map_bytes);
        let opened = open(&directory, map_bytes, patience, None, 0)?;
        Ok(Self { directory, place: Arc::clone(&opened.place), patience, gate: RwLock::new(Some(opened)) })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Does `work`, which opens one transaction and keeps nothing of it. The work starts again if
    /// the environment had to be opened anew. Work inside work would wait for itself.
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
                // Another process has grown the file; or a failed write of the root page has shut
                // the environment, until LMDB has read from disk which root page is valid.
                heed::Error::Mdb(MdbError::MapResized | MdbError::Panic) => {
                    drop(gate);
                    self.reopen(Some(generation), None)?;
                }
                // LMDB's error for a write cut short, by a full disk or for another reason. So of a
                // full disk it is not the cause.
                heed::Error::Io(error) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => {
                    return Err(opened
                        .fullness()
                        .map_or_else(|| explain(error.into()), |cause| full(Some(&cause)).caused_by(cause)));
                }
                error => return Err(explain(error)),
            }
        }
        Err(grows())
    }

    /// Closes and opens the environment, unless another thread has since `generation`.
    fn reopen(&self, generation: Option<u64>, map_bytes: Option<usize>) -> Result<()> {
        let mut gate = self.gate.write().map_err(|_| Error::poisoned())?;
        if gate.as_ref().map(|opened| opened.generation) != generation {
            return Ok(());
        }
        if map_bytes.is_some_and(|bytes| bytes > MAP_BYTES_MAX) {
            return Err(Error::new(
                ErrorKind::StorageFull,
                format!("the store has reached {MAP_BYTES_MAX} bytes; split it"),
            )
            .having_written_nothing());
        }
        // LMDB must not open one file twice in one process: its locks would be lost.
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
    /// The newest document and the newest removal are never deleted without a newer change, so the
    /// number needs no counter, which could disagree.
    pub(super) fn last_change(&self, txn: &RoTxn<'_>) -> Result<u64, heed::Error> {
        let log = self.log.remap_data_type::<heed::types::DecodeIgnore>().last(txn)?;
        let removals = self.removals.remap_data_type::<heed::types::DecodeIgnore>().last(txn)?;
        Ok(log.max(removals).map_or(0, |(number, ())| number))
    }

    /// Returns the stored metadata; `None` before there is an index.
    ///
    /// # Errors
    /// `Corrupt` where there are documents without metadata.
    pub(super) fn metadata<'txn>(&self, txn: &'txn RoTxn<'_>) -> Result<Option<&'txn [u8]>, Failure> {
        let stored = self.meta.get(txn, METADATA_KEY)?;
        if stored.is_none() && self.last_change(txn)? > 0 {
            return Err(Error::corrupt(
                "the metadata of the index is missing; restore the index from a backup or build it anew",
            )
            .into());
        }
        Ok(stored)
    }

    /// The database of the image's blocks, if there was one when it was last looked for.
    pub(super) fn image(&self) -> Option<Blocks> {
        self.image.get().copied()
    }

    /// The database of the image's blocks, which the caller has made.
    pub(super) fn blocks(&self) -> Result<Blocks> {
        self.image().ok_or_else(|| Error::corrupt("the database of the image is missing"))
    }

    /// Looks for the database of the image's blocks, which another process may have made. For a
    /// caller without a transaction.
    pub(super) fn look_for_image(&self) -> Result<(), Failure> {
        if self.image.get().is_none()
            && let Some(found) = databases::find_image(&self.env, self.read_txn()?)?
        {
            self.image.get_or_init(|| found);
        }
        Ok(())
    }

    /// Makes the database of the image's blocks, unless it is there. For a caller without a
    /// transaction.
    pub(super) fn make_image(&self) -> Result<(), Failure> {
        self.look_for_image()?;
        if self.image.get().is_none() {
            let made = self.write_txn()?.commit_with(databases::make_image)?;
            self.image.get_or_init(|| made);
        }
        Ok(())
    }

    /// Checks every page of the file, once in this process. For a caller without a transaction that
    /// is about to read everything.
    pub(super) fn look_through(&self) -> Result<(), Failure> {
        self.place.check()?;
        self.place.look_through(&self.env, Pages::All)
    }

    /// Copies all used pages of the last commit into a file, in place of its content. Writers are
    /// not held up. For a caller without a transaction.
    pub(super) fn copy_to(&self, file: &mut File) -> Result<(), Failure> {
        self.place.check()?;
        file.set_len(0).and_then(|()| file.rewind()).map_err(heed::Error::Io)?;
        self.env.copy_to_file(file, CompactionOption::Enabled)?;
        self.place.check()?;
        Ok(())
    }

    /// Returns a checksum of the record of a change; `None` where the record is gone.
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

    /// Returns the database of texts, in an index with texts.
    ///
    /// # Errors
    /// `Corrupt` where the database is gone.
    pub(super) fn texts(&self) -> Result<Database<'static, U64<BE>, Bytes>> {
        self.texts.ok_or_else(|| {
            Error::corrupt(
                "the texts of the index are missing; restore the index from a backup or build it anew",
            )
        })
    }

    /// Returns the reason for which the file cannot grow, if it cannot. Tries LMDB's own file,
    /// because a limit may apply to it alone. The file becomes longer than LMDB needs now, which
    /// does LMDB no harm.
    fn fullness(&self) -> Option<io::Error> {
        let file = self.place.data();
        let grown = fallocate(file, FallocateFlags::empty(), file.metadata().ok()?.len(), PROBE_BYTES);
        let error = grown.err()?;
        matches!(error, Errno::NOSPC | Errno::DQUOT | Errno::FBIG).then(|| error.into())
    }

    /// Checks for room behind the file for a write. The length of the file does not change.
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
            // Other errors, as of file systems that cannot reserve, say nothing about room.
            _ => Ok(()),
        }
    }
}

/// Opens the files at `place`, or the directory's files at the first opening. Tries again if
/// another process makes the file longer between the map and the first transaction.
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
            // An earlier store at this path, being dropped by its last owner.
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
    // Checked again, on LMDB's own handle: another process may have begun the file or replaced it.
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
    let image = databases::find_image(&env, env.read_txn()?)?.map_or_else(OnceLock::new, OnceLock::from);
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
        image,
        generation,
    })
}

/// The error of a file made longer by other processes each time before this one has mapped it
/// whole.
fn grows() -> Error {
    Error::new(ErrorKind::Busy, "the store grew again and again during one call; try again")
}
