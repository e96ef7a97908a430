//! The errors of files and of LMDB, and their translation for the caller.

use std::io;

use heed::MdbError;
use index::{Error, ErrorKind};

use super::limits::READERS_MAX;

/// The reason for which work inside the environment stopped.
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

/// The error of a full map or disk; `error` names the limit that was met, if known.
pub(super) fn full(error: Option<&io::Error>) -> Error {
    let what = match error.map(io::Error::kind) {
        Some(io::ErrorKind::FileTooLarge) => "the store's file may not grow further (ulimit -f)",
        Some(io::ErrorKind::QuotaExceeded) => "the quota of the store's disk is used up",
        Some(_) => "the disk is full",
        None => "the disk is full, or the store's file may not grow further (ulimit -f)",
    };
    Error::new(
        ErrorKind::StorageFull,
        format!(
            "{what}; nothing of this call was written, and it will succeed once there is room, which a removal \
             needs too"
        ),
    )
    .having_written_nothing()
}

/// Translates an error of the operating system for the caller.
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

/// Translates an error of LMDB for the caller.
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
        )
        // A key or a number of other bytes than each has here.
        | heed::Error::Decoding(_) => Error::corrupt(
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
