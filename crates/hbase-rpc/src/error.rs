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
    /// The request is longer than a server takes, or than its length can be written.
    TooLong(usize),
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

/// Of a server that is up and cannot take the call now.
const BUSY: [&str; 6] = [
    "CallQueueTooBigException",
    "CallDroppedException",
    "RegionTooBusyException",
    "RpcThrottlingException",
    "OutOfOrderScannerNextException",
    "RetryImmediatelyException",
];

/// Of a region that is not where it was asked for.
const ELSEWHERE: [&str; 9] = [
    "NotServingRegionException",
    "RegionMovedException",
    "RegionOpeningException",
    "RegionInRecoveryException",
    "RegionServerStoppedException",
    "RegionServerAbortedException",
    "ServerNotRunningYetException",
    "WrongRegionException",
    "FailedSanityCheckException",
];

impl RemoteError {
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

    /// What to do about it. A class that is not known here is tried again elsewhere, unless the server says not to.
    #[must_use]
    pub fn advice(&self) -> Advice {
        let name = self.name();
        if BUSY.contains(&name) {
            Advice::RetryHere
        } else if name == "FailedSanityCheckException" {
            Advice::GiveUp
        } else if ELSEWHERE.contains(&name) || !self.do_not_retry {
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
            Self::TooLong(_) => Advice::GiveUp,
        }
    }

    /// Whether the server may have done what it was asked.
    #[must_use]
    pub fn may_be_done(&self) -> bool {
        match self {
            Self::Connection { was_sent, .. } => *was_sent,
            Self::Deadline(_) | Self::Protocol(_) => true,
            Self::Remote(_) | Self::TooLong(_) => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection { source, .. } => write!(f, "the connection failed: {source}"),
            Self::Deadline(time) => write!(f, "no answer in {} ms", time.as_millis()),
            Self::Remote(remote) => write!(f, "{}: {}", remote.name(), remote.message()),
            Self::Protocol(what) => write!(f, "no answer of this protocol: {what}"),
            Self::TooLong(len) => write!(f, "a request of {len} bytes is too long; send less at once"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Connection { source, .. } => Some(source),
            _ => None,
        }
    }
}

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
