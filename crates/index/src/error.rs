//! What can go wrong, by kind: the kind drives exit codes, HTTP status and retries; the message says what to do next.

use std::fmt;

/// The result of this crate's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed, in the terms a program acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no such index.
    NotFound,
    /// The index is there, and is not of the scheme, recipe or version that was asked for.
    Mismatch,
    /// The index is another one than was opened: it was made anew since. Opening it again may do.
    Replaced,
    /// The request can never succeed: a malformed URL, a batch above its limit, a directory that is something else.
    InvalidArgument,
    /// Somebody else decides: a read-only directory, another user's files.
    PermissionDenied,
    /// The store cannot be reached or read now; the same call may succeed later.
    Unavailable,
    /// The store is there and was switched off; the same call succeeds once it is switched on
    /// again.
    Disabled,
    /// No room is left. Nothing was written; the same call succeeds once there is room.
    StorageFull,
    /// Stored bytes are not what was written.
    Corrupt,
    /// Others were faster too often; the same call may succeed at once.
    Busy,
    /// A bug.
    Internal,
}

impl ErrorKind {
    /// Whether the same call may succeed without anybody doing anything.
    #[must_use]
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Unavailable | Self::Busy)
    }
}

/// A kind, a sentence for people, and what caused it.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    context: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error without a cause below it. `context` is lower case, without a full stop, and says what to do next.
    #[must_use]
    pub fn new(kind: ErrorKind, context: impl Into<String>) -> Self {
        Self { kind, context: context.into(), source: None }
    }

    /// The same error with the one that caused it.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What a program should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// A request that can never succeed.
    #[must_use]
    pub fn invalid(context: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, context)
    }

    /// Stored bytes that are not what was written.
    #[must_use]
    pub fn corrupt(context: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, context)
    }

    /// A lock whose holder panicked: what it guards may be half changed.
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
