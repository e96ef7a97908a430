//! Errors by kind: the kind drives exit codes, HTTP status and retries; the message names the
//! remedy.

use std::fmt;

/// The result of this crate's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason for a failure, in terms on which a program acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The index does not exist.
    NotFound,
    /// The index is of another scheme, recipe or version than asked for.
    Mismatch,
    /// The index was made anew since it was opened. Opening it again may help.
    Replaced,
    /// The request can never succeed: a malformed URL, a batch above its limit, a directory with
    /// other contents.
    InvalidArgument,
    /// The permission is missing: a read-only directory, another user's files.
    PermissionDenied,
    /// The store cannot be reached or read now; the same call may succeed later.
    Unavailable,
    /// The store is there and was switched off; the same call succeeds once it is on again.
    Disabled,
    /// No space is left; the same call succeeds once there is space. The error
    /// [says](Error::has_written_nothing) where nothing was written: a store that writes a batch in
    /// parts may have written some.
    StorageFull,
    /// Stored bytes differ from the bytes written.
    Corrupt,
    /// Other writers were faster too often; the same call may succeed at once.
    Busy,
    /// A bug.
    Internal,
}

impl ErrorKind {
    /// Returns true if the same call may succeed without any repair.
    #[must_use]
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Unavailable | Self::Busy)
    }
}

/// A kind, a sentence for people, and the cause.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    context: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    has_written_nothing: bool,
}

impl Error {
    /// An error without a cause below it. `context` is lower case, without a full stop, and names
    /// the remedy.
    #[must_use]
    pub fn new(kind: ErrorKind, context: impl Into<String>) -> Self {
        Self { kind, context: context.into(), source: None, has_written_nothing: false }
    }

    /// The same error with its cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The same error of a call that has written nothing and will not.
    #[must_use]
    pub fn having_written_nothing(mut self) -> Self {
        self.has_written_nothing = true;
        self
    }

    /// Returns true if the call is known to have written nothing. After any other error of a
    /// writing call its outcome is [unknown](crate::Store#acknowledgement).
    #[must_use]
    pub fn has_written_nothing(&self) -> bool {
        self.has_written_nothing
    }

    /// The kind, on which a program acts.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The error for a request that can never succeed.
    #[must_use]
    pub fn invalid(context: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, context)
    }

    /// The error for stored bytes that differ from the bytes written.
    #[must_use]
    pub fn corrupt(context: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, context)
    }

    /// The error for a lock whose holder panicked: the guarded state may be half changed.
    #[must_use]
    pub fn poisoned() -> Self {
        Self::new(
            ErrorKind::Internal,
            "an earlier call panicked while it changed the store; restart the program",
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.context)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
