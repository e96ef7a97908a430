//! The place of an index, given by a URL, and the abilities of a store there. Every backend has a
//! [`Place`] of its own; the crate `engine` knows all of them.

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use crate::{Clock, Mode, Result, Store, TextKeeping, Timestamp};

/// A place parsed and not opened. Its `Display` is a URL that leads back to it.
pub trait Place: fmt::Debug + fmt::Display + Send + Sync {
    /// Opens the store. It may be without metadata yet, also with [`Mode::MustExist`].
    ///
    /// With a `patience`, calls wait no longer than `patience` for a server that has answered
    /// before, or for a turn to write. Without one they wait as long as suits a batch job: two
    /// minutes.
    ///
    /// # Errors
    /// `NotFound` where there is no store and `mode` does not allow making one; `InvalidArgument`
    /// for a clock that refuses where the store does not know the time of its last write.
    fn open(&self, mode: Mode, clock: Clock, patience: Option<Duration>) -> Result<Box<dyn Store>>;

    /// The abilities of the store, known before it is opened.
    fn capabilities(&self) -> Capabilities<'_>;

    /// The way in which an index there is backed up.
    fn backups(&self) -> Backups<'_>;

    /// The place as strangers may know it: without the paths of secrets, and without settings.
    fn public_name(&self) -> String;
}

/// A way to back an index up.
pub enum Backups<'a> {
    /// One file, copied while others write.
    File(&'a dyn BackupFile),
    /// Commands for the shell of the store's own server.
    Script(&'a dyn BackupScript),
    /// Other programs, named in the words for the operator.
    Elsewhere(&'static str),
}

/// An index in one file, as backups see it.
pub trait BackupFile {
    /// The most bytes that a copy takes now.
    ///
    /// # Errors
    /// Those of opening the store.
    fn copy_bytes_max(&self) -> Result<u64>;

    /// Copies the index into `file`, as of one moment, and replaces what the file holds. Writers of
    /// all processes go on meanwhile.
    ///
    /// # Errors
    /// `Corrupt` where a page of the index is damaged, and those of reading and writing.
    fn copy_to(&self, file: &mut File) -> Result<()>;

    /// Makes an index of a copy. The copy is written by `write`, which may refuse it; the index is
    /// there once the copy is whole and synced, or not at all.
    ///
    /// # Errors
    /// `InvalidArgument` where an index or anything else is there already; those of `write`, and of
    /// files.
    fn put_back(&self, write: &mut dyn FnMut(&mut File) -> Result<()>) -> Result<()>;
}

/// An index that its server backs up.
pub trait BackupScript {
    /// The commands for a backup at the time `at`, whose copies go to the place `to`.
    fn script(&self, at: Timestamp, to: &str) -> String;
}

/// The abilities of a store at a place. Programs ask for these instead of the store's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities<'a> {
    /// The directory of this machine that holds the store, if one does.
    pub local_path: Option<&'a Path>,
    /// True if the store outlives the process.
    pub outlives_process: bool,
    /// The number of file handles that the store may have open at once in this process.
    pub n_handles_max: usize,
    /// The sizes of calls that suit searches best.
    pub searches: CallSizes,
    /// The way texts are kept in a new index there, unless the caller chooses.
    pub texts: TextKeeping,
    /// The sizes of calls that suit insertions best.
    pub insertions: CallSizes,
    /// True if the store can decide by [contained](crate::Rule::contained) documents.
    pub contained: bool,
}

/// The calls that serve many callers best. An item waits for all of its call, so calls are larger
/// only where asking for more at once saves work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSizes {
    /// Calls at the same time; `None` for one on each core of this machine.
    pub n_calls_max: Option<usize>,
    /// Items in one call.
    pub n_items_max: usize,
}

impl CallSizes {
    /// At most `n_calls_max` calls at a time, of at most `n_items_max` items.
    #[must_use]
    pub const fn new(n_calls_max: usize, n_items_max: usize) -> Self {
        Self { n_calls_max: Some(n_calls_max), n_items_max }
    }

    /// A call on each core, of at most `n_items_max` items.
    #[must_use]
    pub const fn per_core(n_items_max: usize) -> Self {
        Self { n_calls_max: None, n_items_max }
    }
}

/// Takes `HOST[:PORT]/NAME` apart, for backends with a server.
///
/// # Errors
/// The defect, in words.
pub fn split_authority(place: &str, default_port: u16) -> Result<(&str, u16, &str), String> {
    let (authority, name) = place.split_once('/').ok_or("the name of the index is missing")?;
    let (host, port) = match authority.rsplit_once(':') {
        // The colons of an IPv6 address are inside of brackets.
        Some((host, port)) if !port.ends_with(']') => {
            let port = port.parse().ok().filter(|&port: &u16| port > 0);
            (host, port.ok_or_else(|| format!("{authority:?} has no valid port"))?)
        }
        _ => (authority, default_port),
    };
    if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c == '@') {
        return Err(format!("{host:?} is not a host"));
    }
    Ok((host, port, name))
}
