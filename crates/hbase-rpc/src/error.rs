//! The errors of calls, and the reaction to each.

use std::fmt;
use std::io;
use std::time::Duration;

/// The reason a call has no answer.
#[derive(Debug)]
pub enum Error {
    /// The connection failed, or was closed. The server may have executed the request, unless
    /// `was_sent` is false.
    Connection {
        /// The error of the system.
        source: io::Error,
        /// True if a part of the request may have reached the server.
        was_sent: bool,
    },
    /// No answer came within this time. The server may have executed the request.
    Deadline(Duration),
    /// The server answered with an exception.
    Remote(RemoteError),
    /// The server sent bytes that are no answer of this protocol. The connection is given up.
    Protocol(String),
    /// The two sides do not trust each other, or one of them does not speak TLS: the message of the
    /// TLS library.
    Tls(String),
    /// No ticket of Kerberos could be had for this server, or the server uses Kerberos differently
    /// or not at all: the reason, and a remedy where there is one.
    Kerberos(String),
    /// The request, of this length in bytes, exceeds the bound of the connection
    /// ([`request_len_max`](crate::ConnectionOptions::request_len_max)) or of the protocol.
    TooLong(usize),
    /// HBase could not understand the request, which was not sent.
    Invalid(&'static str),
    /// The call was repeated without progress until patience ran out.
    GaveUp {
        /// The time without progress.
        waited: Duration,
        /// The last error.
        source: Box<Self>,
    },
}

/// An exception thrown by the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteError {
    /// The Java class, with its package.
    pub class: String,
    /// The stack trace, which begins with the message.
    pub stack_trace: String,
    /// True if the server says not to try again.
    pub do_not_retry: bool,
    /// The present place of the region, if the server knows: host and port.
    pub moved_to: Option<(String, u16)>,
}

/// A caller's best reaction to an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// The server is busy: wait, then ask the same server again.
    RetryHere,
    /// The region is elsewhere, or on its way: look it up anew, then ask there.
    LookUpAgain,
    /// Another try would fail, too.
    GiveUp,
}

/// Exceptions of a server that is up and cannot take the call now. The request was not executed.
const BUSY: [&str; 6] = [
    "CallQueueTooBigException",
    "CallDroppedException",
    "RegionTooBusyException",
    "RpcThrottlingException",
    "MultiActionResultTooLarge",
    "RetryImmediatelyException",
];

/// Exceptions of a scan unknown to the server: the scan is begun again where it was.
const FORGOTTEN: [&str; 4] =
    ["LeaseException", "OutOfOrderScannerNextException", "ScannerResetException", "UnknownScannerException"];

/// Exceptions of a region that the asked server does not have. The request was not executed.
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

/// Exceptions for lasting reasons. Those of single actions lack `do_not_retry`, which exceptions of
/// whole calls have.
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
    /// Returns true if the asked server did not have the region.
    #[must_use]
    pub(crate) fn is_elsewhere(&self) -> bool {
        ELSEWHERE.contains(&self.name())
    }

    /// Returns true if the server has certainly not executed the request.
    #[must_use]
    pub(crate) fn is_not_done(&self) -> bool {
        self.is_elsewhere() || BUSY.contains(&self.name()) || FINAL.contains(&self.name())
    }

    /// Returns the class without its package and outer class.
    #[must_use]
    pub fn name(&self) -> &str {
        let name = self.class.rsplit('.').next().unwrap_or(&self.class);
        name.rsplit('$').next().unwrap_or(name)
    }

    /// Returns the first line of the stack trace, without the class.
    #[must_use]
    pub(crate) fn message(&self) -> &str {
        let line = self.stack_trace.lines().next().unwrap_or_default();
        line.strip_prefix(&*self.class).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(line)
    }

    fn wants_kerberos(&self) -> bool {
        self.name() == "AccessDeniedException" && self.message() == "Authentication is required"
    }

    /// Returns the caller's best reaction. A call with an exception unknown here is tried again
    /// after a look-up, unless the server says not to.
    #[must_use]
    pub fn advice(&self) -> Advice {
        let name = self.name();
        if BUSY.contains(&name) || FORGOTTEN.contains(&name) {
            Advice::RetryHere
        } else if FINAL.contains(&name) {
            Advice::GiveUp
        } else if self.is_elsewhere() || !self.do_not_retry {
            // For a region that has moved, `do_not_retry` only rules out the *same* server.
            Advice::LookUpAgain
        } else {
            Advice::GiveUp
        }
    }
}

impl Error {
    /// Returns the caller's best reaction.
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

    /// Returns true if the server uses Kerberos and takes no caller with a name alone.
    #[must_use]
    pub fn wants_kerberos(&self) -> bool {
        match self {
            Self::Remote(remote) => remote.wants_kerberos(),
            Self::GaveUp { source, .. } => source.wants_kerberos(),
            _ => false,
        }
    }

    /// Creates an exception, as a server would throw it.
    pub(crate) fn remote(class: &str, message: &str) -> Self {
        let class = format!("org.apache.hadoop.hbase.{class}");
        let stack_trace = format!("{class}: {message}");
        Self::Remote(RemoteError { class, stack_trace, do_not_retry: false, moved_to: None })
    }

    /// Returns a copy of the error, for another item of the same call.
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

    /// Returns true if the server may have executed the request.
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

// No `source`: the text of an error includes the error behind it.
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
