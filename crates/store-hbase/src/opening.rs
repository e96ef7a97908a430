//! The ways to a store: a URL, which names a transport, and the address of a gateway.

use std::path::Path;
use std::time::Duration;

use index::{
    Backups, CallSizes, Capabilities, Clock, Error, ErrorKind, Mode, Place, Result, Store, TextKeeping,
};

use super::options::Options;
use super::rows::Rows;
#[cfg(feature = "rpc")]
use super::rpc::RpcRows;
use super::store::HbaseStore;
#[cfg(feature = "thrift")]
use super::thrift::ThriftRows;
use super::transport::Transport;
use super::uri::HbaseUri;

/// The least wait for a reply: without patience a call is still made, once.
const REPLY_MIN: Duration = Duration::from_secs(1);

impl HbaseStore {
    /// Returns the store of the index at `uri`; it connects on first use. `patience` is the longest
    /// wait for a server or a region that is away; the default is 120 s from the last answer.
    ///
    /// # Errors
    /// `InvalidArgument` where the transport of the URL is not in this build, or the folder of the
    /// tier's file is not there.
    pub fn open(uri: &HbaseUri, clock: Clock, patience: Option<Duration>) -> Result<Self> {
        let mut options = Options { n_connections: uri.n_connections, ..Options::default() };
        options.patience = patience.unwrap_or(options.patience);
        options.reply_timeout = options.reply_timeout.min(options.patience.max(REPLY_MIN));
        if let Some(file) = uri.tier.as_ref().and_then(|tier| tier.file.as_deref()) {
            check_folder_of(file)?;
        }
        Ok(Self::over(rows_at(uri, options)?, clock).with_tier(uri.tier.clone()))
    }
}

/// Refuses a file whose folder is not there: a tier is filled for minutes before it is saved.
fn check_folder_of(file: &Path) -> Result<()> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if folder.is_dir() {
        return Ok(());
    }
    let what = format!("the folder of tier-file is not there: `{}`; make it first", folder.display());
    Err(Error::new(ErrorKind::InvalidArgument, what))
}

#[cfg(feature = "thrift")]
impl HbaseStore {
    /// Returns the store of the index `name` behind the Thrift gateway at `gateway`, `HOST:PORT`,
    /// with at most `n_connections` at a time. It connects on first use.
    #[must_use]
    pub fn new(gateway: String, name: &str, n_connections: usize) -> Self {
        Self::with_clock(gateway, name, n_connections, Clock::system())
    }

    /// Works as [`new`](Self::new), with another clock than this machine's.
    #[must_use]
    pub fn with_clock(gateway: String, name: &str, n_connections: usize, clock: Clock) -> Self {
        let options = Options { n_connections, ..Options::default() };
        Self::over(Box::new(ThriftRows::new(gateway, name, options)), clock)
    }
}

/// Returns the rows of the index at `uri`. Makes no request to HBase yet.
#[cfg_attr(
    not(any(feature = "thrift", feature = "rpc")),
    expect(unused_variables, reason = "this build has no transport that takes the options")
)]
fn rows_at(uri: &HbaseUri, options: Options) -> Result<Box<dyn Rows>> {
    match uri.transport {
        #[cfg(feature = "thrift")]
        Transport::Gateway => Ok(Box::new(ThriftRows::new(uri.server.clone(), &uri.name, options))),
        #[cfg(not(feature = "thrift"))]
        Transport::Gateway => Err(missing(uri, "thrift")),
        #[cfg(feature = "rpc")]
        Transport::Rpc => Ok(Box::new(RpcRows::new(uri, options)?)),
        #[cfg(not(feature = "rpc"))]
        Transport::Rpc => Err(missing(uri, "rpc")),
    }
}

/// Returns the error of a transport that is not in this build.
#[cfg(not(all(feature = "thrift", feature = "rpc")))]
fn missing(uri: &HbaseUri, feature: &str) -> Error {
    let HbaseUri { transport, server, name, .. } = uri;
    let (scheme, what) = (transport.scheme(), transport.server());
    Error::invalid(format!(
        "this build has no {what} transport, so it cannot open {scheme}://{server}/{name}; build it with the feature \
         `{feature}`"
    ))
}

impl Place for HbaseUri {
    fn open(&self, _: Mode, clock: Clock, patience: Option<Duration>) -> Result<Box<dyn Store>> {
        if clock.refuses_ahead() {
            return Err(Error::invalid(
                "an index in HBase does not know when it was last written to; leave --clock-ahead-max out (what has \
                 expired is dropped by the clocks of HBase's servers, not by this machine's)",
            ));
        }
        Ok(Box::new(HbaseStore::open(self, clock, patience)?))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            local_path: None,
            outlives_process: true,
            n_handles_max: self.n_connections,
            // Two round trips for up to 64, the documents included.
            searches: CallSizes::new(4, 64),
            // An insertion may wait for another process: few others share its wait.
            insertions: CallSizes::new(16, 64),
            contained: false,
            // Where the tables have a family for them.
            texts: TextKeeping::Zstd,
        }
    }

    fn backups(&self) -> Backups<'_> {
        Backups::Script(self)
    }

    fn public_name(&self) -> String {
        format!("{}://{}/{}", self.transport.scheme(), self.server, self.name)
    }
}
