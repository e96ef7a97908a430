//! The meaning of failures, and the messages about a server: the sentences are the same for every
//! transport, which adds the advice.

use index::{Error, ErrorKind};

use crate::rows::TableNames;

/// The reason why a request failed, in a transport's own terms. Its `Display` is the message of the
/// server or of the system, in one line.
pub(crate) trait Failure: std::error::Error + Send + Sync + 'static {
    /// Returns the meaning of the failure for the call.
    fn means(&self) -> Meaning;
}

/// The meaning of a failed request for its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A server is away, and is expected back.
    Passing,
    /// A server answers, and does not have the region: the region is being moved, split or merged.
    Moving,
    /// A server answers, and has too much to do.
    Busy,
    /// The answer makes no sense, or the server broke down. A few times, this may be chance.
    Strange,
    /// The server speaks another protocol.
    #[cfg_attr(
        all(feature = "rpc", not(feature = "thrift")),
        expect(dead_code, reason = "a region server of another protocol ends the connection")
    )]
    Foreign,
    /// A table or a family does not exist.
    NoTables,
    /// A table is disabled.
    Disabled,
    /// The user has no permission.
    Denied,
    /// HBase says that another try is of no use.
    Refused,
}

impl Meaning {
    /// Returns the meaning of an exception of HBase; `text` begins with its Java class or names the
    /// class.
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

    /// Returns the meaning of an exception after which HBase's own clients try again.
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

/// The words of messages about a server, and their advice.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// `HOST:PORT`.
    pub(crate) address: String,
    /// The role of the server, after "the HBase".
    pub(crate) role: &'static str,
    /// The expected kind of server, with its article.
    pub(crate) kind: &'static str,
    /// The advice where the user of the transport may not read or write: a sentence.
    pub(crate) denied: String,
    /// The route of a request to HBase, after "a request".
    pub(crate) way: String,
    /// The advice where the server does not answer: a question.
    pub(crate) away: &'static str,
    /// The advice where its answers make no sense: a question.
    pub(crate) strange: &'static str,
    /// The advice where it speaks another protocol: a question.
    pub(crate) foreign: &'static str,
}

impl Server {
    /// Returns the error of a failure that another try does not help.
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

    /// Returns the error of a call that was not done within its patience, by the meaning of its
    /// last failure.
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

    /// Returns the error of a server whose answers make no sense again and again.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hbase_says() {
        for (text, can_retry, expected) in [
            ("org.apache.hadoop.hbase.TableNotFoundException: t", false, Meaning::NoTables),
            ("java.io.IOException: ...NoSuchColumnFamilyException", true, Meaning::NoTables),
            ("org.apache.hadoop.hbase.TableNotEnabledException: t", false, Meaning::Disabled),
            ("org.apache.hadoop.hbase.security.AccessDeniedException: x", false, Meaning::Denied),
            ("org.apache.hadoop.hbase.NotServingRegionException: t,,1", true, Meaning::Moving),
            ("org.apache.hadoop.hbase.CallQueueTooBigException: full", true, Meaning::Busy),
            ("org.apache.hadoop.hbase.PleaseHoldException: x", true, Meaning::Passing),
            ("org.apache.hadoop.hbase.DoNotRetryIOException", false, Meaning::Refused),
        ] {
            assert_eq!(Meaning::of_exception(text, can_retry), expected, "{text}");
        }
    }
}
