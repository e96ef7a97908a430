//! What a failure means, and how messages speak of a server: the sentences are the same for every transport, which adds
//! what to look at.

use index::{Error, ErrorKind};

use crate::rows::TableNames;

/// Why a request failed, in a transport's own terms; shown, it is what the server or the system said, in one line.
pub(crate) trait Failure: std::error::Error + Send + Sync + 'static {
    /// What it means for the call.
    fn means(&self) -> Meaning;
}

/// What a failed request means for the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A server or a region is away or too busy, and will be back.
    Passing,
    /// The answer is none, or the server broke down. It may be chance, a few times.
    Strange,
    /// The server speaks another protocol.
    Foreign,
    /// A table or a family is not there.
    NoTables,
    /// A table is disabled.
    Disabled,
    /// The user may not do this.
    Denied,
    /// HBase says that to try again is no use.
    Refused,
}

impl Meaning {
    /// Of an exception of HBase's, whose Java class `text` begins with or names.
    pub(crate) fn of_exception(text: &str, can_retry: bool) -> Self {
        let names = |classes: &[&str]| classes.iter().any(|class| text.contains(class));
        if names(&["TableNotFoundException", "NoSuchColumnFamilyException", "UnknownNamespace"]) {
            Self::NoTables
        } else if names(&["TableNotEnabledException"]) {
            Self::Disabled
        } else if names(&["AccessDeniedException"]) {
            Self::Denied
        } else if can_retry {
            Self::Passing
        } else {
            Self::Refused
        }
    }
}

/// How messages name a server, and what they advise.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// `HOST:PORT`.
    pub(crate) address: String,
    /// What it is to HBase, after "the HBase".
    pub(crate) role: &'static str,
    /// What it should be, with its article.
    pub(crate) kind: &'static str,
    /// What to do where the user of the transport may not read or write: a sentence.
    pub(crate) denied: String,
    /// How a request reaches HBase, after "a request".
    pub(crate) way: String,
    /// What to look at when it does not answer: a question.
    pub(crate) away: &'static str,
    /// When its answers are none: a question.
    pub(crate) strange: &'static str,
    /// When it speaks another protocol: a question.
    pub(crate) foreign: &'static str,
}

impl Server {
    /// The error of a failure that trying again does not help.
    pub(crate) fn refusal(&self, meaning: Meaning, tables: &TableNames) -> Option<Error> {
        let Self { address, kind, denied, way, foreign, .. } = self;
        Some(match meaning {
            Meaning::Passing | Meaning::Strange => return None,
            Meaning::Foreign => Error::invalid(format!("{address} is not {kind}; {foreign}")),
            Meaning::NoTables => tables.missing(),
            Meaning::Disabled => tables.disabled(),
            Meaning::Denied => Error::new(ErrorKind::PermissionDenied, denied.clone()),
            Meaning::Refused => Error::new(ErrorKind::Unavailable, format!("HBase refused a request {way}")),
        })
    }

    /// The error where it has not answered for as long as it is waited for.
    pub(crate) fn unavailable(&self, tried: &str) -> Error {
        let Self { address, role, away, .. } = self;
        Error::new(
            ErrorKind::Unavailable,
            format!("the HBase {role} at {address} failed ({tried}); {away} The same call may be repeated"),
        )
    }

    /// The error where its answers are none again and again.
    pub(crate) fn strange(&self, progress: &str) -> Error {
        let Self { address, kind, strange, .. } = self;
        Error::new(
            ErrorKind::Unavailable,
            format!(
                "{address} does not answer as {kind} does ({progress}); {strange} The same call may be repeated"
            ),
        )
    }
}
