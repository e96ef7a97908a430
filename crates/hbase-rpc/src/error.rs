//! What goes wrong, and what is to be done about it.

use std::fmt;
use std::io;
use std::time::Duration;

/// Why a call has no answer.
#[derive(Debug)]
pub enum Error {
    /// The connection failed, or was closed. Whether the server has done what it was asked is not known, unless
    /// `was_sent` is false.
    Connection {
        /// What the system said.
        source: io::Error,
        /// Whether a part of the request may have reached the server.
        was_sent: bool,
    },
    /// No answer came in this time. Whether the server has done what it was asked is not known.
    Deadline(Duration),
    /// The server answered with an exception.
    Remote(RemoteError),
    /// The server sent what is no answer of this protocol. The connection is given up.
    Protocol(String),
    /// The two sides do not trust each other, or one of them does not speak TLS: what the library said.
    Tls(String),
    /// The server was shown no ticket of Kerberos, or does not take part in it: what there is to do.
    Kerberos(String),
    /// The request is longer than a server takes, or than its length can be written.
    TooLong(usize),
    /// A request that HBase could not understand: it was not sent.
    Invalid(&'static str),
    /// It was tried again for so long, and this is what came last.
    GaveUp {
        /// Since anything had gone on.
        waited: Duration,
        /// What came last.
        source: Box<Self>,
    },
}

/// An exception of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteError {
    /// The Java class, with its package.
    pub class: String,
    /// The stack trace, which begins with the message.
    pub stack_trace: String,
    /// What the server says of trying again.
    pub do_not_retry: bool,
    /// Where the region is now, if the server knows: host and port.
    pub moved_to: Option<(String, u16)>,
}

/// What a caller does about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// The server is busy: wait, then ask it again.
    RetryHere,
    /// The region is elsewhere, or on its way: look it up anew, then ask there.
    LookUpAgain,
    /// It would fail again.
    GiveUp,
}

/// Of a server that is up and cannot take the call now. It has not done what it was asked.
const BUSY: [&str; 6] = [
    "CallQueueTooBigException",
    "CallDroppedException",
    "RegionTooBusyException",
    "RpcThrottlingException",
    "MultiActionResultTooLarge",
    "RetryImmediatelyException",
];

/// Of a scan that the server knows no more: it is begun again where it was.
const FORGOTTEN: [&str; 4] =
    ["LeaseException", "OutOfOrderScannerNextException", "ScannerResetException", "UnknownScannerException"];

/// Of a region that is not where it was asked for. Nothing was done there.
const ELSEWHERE: [&str; 8] = [
    "NotServingRegionException",
    "RegionMovedException",
    "RegionOpeningException",
    "RegionInRecoveryException",
    "RegionServerStoppedException",
    "RegionServerAbortedException",
    "ServerNotRunningYetException",
    "WrongRegionException",
];

/// Of what will not change by itself. The exceptions of single actions do not say it, as those of whole calls do.
const FINAL: [&str; 8] = [
    "AccessDeniedException",
    "DoNotRetryIOException",
    "FailedSanityCheckException",
    "InvalidFamilyOperationException",
    "NoSuchColumnFamilyException",
    "NamespaceNotFoundException",
    "TableNotEnabledException",
    "TableNotFoundException",
];

impl RemoteError {
    /// Whether the region was not there.
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        ELSEWHERE.contains(&self.name())
    }

    /// Whether the server has certainly not done what it was asked.
    #[must_use]
    pub fn is_not_done(&self) -> bool {
        self.is_elsewhere() || BUSY.contains(&self.name()) || FINAL.contains(&self.name())
    }

    /// The class without its package.
    #[must_use]
    pub fn name(&self) -> &str {
        let name = self.class.rsplit('.').next().unwrap_or(&self.class);
        name.rsplit('$').next().unwrap_or(name)
    }

    /// The first line of the trace, without the class.
    #[must_use]
    pub fn message(&self) -> &str {
        let line = self.stack_trace.lines().next().unwrap_or_default();
        line.strip_prefix(&*self.class).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(line)
    }

    fn wants_kerberos(&self) -> bool {
        self.name() == "AccessDeniedException" && self.message() == "Authentication is required"
    }

    /// What to do about it. A class that is not known here is tried again elsewhere, unless the server says not to.
    #[must_use]
    pub fn advice(&self) -> Advice {
        let name = self.name();
        if BUSY.contains(&name) || FORGOTTEN.contains(&name) {
            Advice::RetryHere
        } else if FINAL.contains(&name) {
            Advice::GiveUp
        } else if self.is_elsewhere() || !self.do_not_retry {
            // The server says of a region that has moved not to ask *it* again.
            Advice::LookUpAgain
        } else {
            Advice::GiveUp
        }
    }
}

impl Error {
    /// What to do about it, as far as it is the server's to say.
    #[must_use]
    pub fn advice(&self) -> Advice {
        match self {
            Self::Remote(remote) => remote.advice(),
            Self::Connection { .. } | Self::Deadline(_) | Self::Protocol(_) => Advice::LookUpAgain,
            Self::Tls(_) | Self::Kerberos(_) | Self::TooLong(_) | Self::Invalid(_) | Self::GaveUp { .. } => {
                Advice::GiveUp
            }
        }
    }

    /// Whether the server takes no caller that names itself alone: it is one with Kerberos.
    #[must_use]
    pub fn wants_kerberos(&self) -> bool {
        match self {
            Self::Remote(remote) => remote.wants_kerberos(),
            Self::GaveUp { source, .. } => source.wants_kerberos(),
            _ => false,
        }
    }

    /// An exception, as a server would throw it.
    pub(crate) fn remote(class: &str, message: &str) -> Self {
        let class = format!("org.apache.hadoop.hbase.{class}");
        let stack_trace = format!("{class}: {message}");
        Self::Remote(RemoteError { class, stack_trace, do_not_retry: false, moved_to: None })
    }

    /// The same once more, for another item of the same call.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Connection { source, was_sent } => {
                let source = io::Error::new(source.kind(), source.to_string());
                Self::Connection { source, was_sent: *was_sent }
            }
            Self::Deadline(time) => Self::Deadline(*time),
            Self::Remote(remote) => Self::Remote(remote.clone()),
            Self::Protocol(what) => Self::Protocol(what.clone()),
            Self::Tls(what) => Self::Tls(what.clone()),
            Self::Kerberos(what) => Self::Kerberos(what.clone()),
            Self::TooLong(len) => Self::TooLong(*len),
            Self::Invalid(what) => Self::Invalid(what),
            Self::GaveUp { waited, source } => {
                Self::GaveUp { waited: *waited, source: Box::new(source.again()) }
            }
        }
    }

    /// Whether the server may have done what it was asked.
    #[must_use]
    pub fn may_be_done(&self) -> bool {
        match self {
            Self::Connection { was_sent, .. } => *was_sent,
            Self::Deadline(_) | Self::Protocol(_) => true,
            Self::Remote(remote) => !remote.is_not_done(),
            Self::Tls(_) | Self::Kerberos(_) | Self::TooLong(_) | Self::Invalid(_) => false,
            Self::GaveUp { source, .. } => source.may_be_done(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection { source, .. } => write!(f, "the connection failed: {source}"),
            Self::Deadline(time) => write!(f, "no answer in {} ms", time.as_millis()),
            Self::Remote(remote) => write!(f, "{}: {}", remote.name(), remote.message()),
            Self::Tls(what) => write!(f, "TLS failed: {what}"),
            Self::Kerberos(what) => write!(f, "Kerberos failed: {what}"),
            Self::Protocol(what) => write!(f, "no answer of this protocol: {what}"),
            Self::Invalid(what) => write!(f, "a request that cannot be: {what}"),
            Self::GaveUp { waited, source } => write!(f, "{source} (tried for {} s)", waited.as_secs()),
            Self::TooLong(len) => write!(f, "a request of {len} bytes is too long; send less at once"),
        }
    }
}

// What is behind it is in its own words.
impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(class: &str, do_not_retry: bool) -> RemoteError {
        let stack_trace = format!("{class}: it says so\n\tat java.lang.Thread.run(Thread.java:840)");
        RemoteError { class: class.to_owned(), stack_trace, do_not_retry, moved_to: None }
    }

    #[test]
    fn what_to_do() {
        for (class, do_not_retry, advice) in [
            ("org.apache.hadoop.hbase.CallQueueTooBigException", false, Advice::RetryHere),
            ("org.apache.hadoop.hbase.RegionTooBusyException", false, Advice::RetryHere),
            ("org.apache.hadoop.hbase.NotServingRegionException", false, Advice::LookUpAgain),
            ("org.apache.hadoop.hbase.exceptions.RegionMovedException", true, Advice::LookUpAgain),
            ("org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException", true, Advice::GiveUp),
            ("org.apache.hadoop.hbase.DoNotRetryIOException", true, Advice::GiveUp),
            ("java.io.IOException", false, Advice::LookUpAgain),
        ] {
            let error = remote(class, do_not_retry);
            assert_eq!(error.advice(), advice, "{class}");
            assert_eq!(error.message(), "it says so");
            assert!(!error.name().contains('.'));
        }
    }
}
