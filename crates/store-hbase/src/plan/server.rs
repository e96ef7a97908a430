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
    /// A server is away, and will be back.
    Passing,
    /// A server answers, and does not have the region: that is on its way to another, or to be
    /// split or merged.
    Moving,
    /// A server answers, and has too much to do.
    Busy,
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
            Self::of_passing(names)
        } else {
            Self::Refused
        }
    }

    /// Of an exception after which HBase's own clients try again.
    fn of_passing(names: impl Fn(&[&str]) -> bool) -> Self {
        let moving = [
            "NotServingRegionException",
            "RegionMovedException",
            "RegionOpeningException",
            "RegionInRecoveryException",
            "RegionServerStoppedException",
            "RegionServerAbortedException",
            "ServerNotRunningYetException",
            "WrongRegionException",
        ];
        let busy = [
            "CallQueueTooBigException",
            "CallDroppedException",
            "RegionTooBusyException",
            "RpcThrottlingException",
            "MultiActionResultTooLarge",
        ];
        if names(&busy) {
            Self::Busy
        } else if names(&moving) {
            Self::Moving
        } else {
            Self::Passing
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
            Meaning::Passing | Meaning::Moving | Meaning::Busy | Meaning::Strange => return None,
            Meaning::Foreign => Error::invalid(format!("{address} is not {kind}; {foreign}")),
            Meaning::NoTables => tables.missing(),
            Meaning::Disabled => tables.disabled(),
            Meaning::Denied => Error::new(ErrorKind::PermissionDenied, denied.clone()),
            Meaning::Refused => Error::new(ErrorKind::Unavailable, format!("HBase refused a request {way}")),
        })
    }

    /// The error where a call was not done for as long as it is waited for, by what came last.
    pub(crate) fn unavailable(&self, meaning: Meaning, tried: &str, tables: &TableNames) -> Error {
        let Self { address, role, away, .. } = self;
        let what = match meaning {
            Meaning::Moving => format!(
                "the HBase {role} at {address} answers, and a region of {tables} is with no server ({tried}): it is \
                 moved, split, merged, or taken over from a server that failed. Wait, and repeat the same call; \
                 `status 'detailed'` in the HBase shell names what is in transition"
            ),
            Meaning::Busy => format!(
                "the HBase {role} at {address} answers, and has too much to do ({tried}): a queue or a memstore is full, or \
                 a quota is used up. Wait, and repeat the same call; less at a time helps"
            ),
            _ => format!(
                "the HBase {role} at {address} failed ({tried}); {away} The same call may be repeated"
            ),
        };
        Error::new(ErrorKind::Unavailable, what)
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
