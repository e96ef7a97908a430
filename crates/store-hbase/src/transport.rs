//! What carries rows between this process and HBase.

#[cfg(not(all(feature = "thrift", feature = "rpc")))]
use index::Error;
use index::Result;

use crate::HbaseUri;
use crate::plan::Options;
use crate::rows::Rows;
#[cfg(feature = "rpc")]
use crate::rpc::RpcRows;
#[cfg(feature = "thrift")]
use crate::thrift::ThriftRows;

/// What carries rows between this process and HBase: the scheme of a URL names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// `hbase`: a gateway, HBase's Thrift1 server. It is in this build where the crate's feature `thrift` is.
    Gateway,
    /// `hbase+rpc`: HBase's own RPC, spoken to its masters and region servers. It is in this build where the crate's feature
    /// `rpc` is.
    Rpc,
}

impl Transport {
    /// All that URLs can name, whether or not they are in this build.
    pub(crate) const ALL: [Self; 2] = [Self::Gateway, Self::Rpc];

    /// What a URL begins with, up to the colon.
    #[must_use]
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Gateway => "hbase",
            Self::Rpc => "hbase+rpc",
        }
    }

    /// What a URL names before the index.
    pub(crate) fn server(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Rpc => "master",
        }
    }

    /// The port of a server, unless the URL names another.
    pub(crate) fn port(self) -> u16 {
        match self {
            Self::Gateway => 9090,
            Self::Rpc => 16000,
        }
    }

    /// The connections to a server, unless the URL says how many.
    pub(crate) fn n_connections(self) -> usize {
        match self {
            // Each carries one call at a time: enough to keep a server of a few cores busy.
            Self::Gateway => 8,
            // Each carries many.
            Self::Rpc => 2,
        }
    }

    /// Whether a URL may name several servers, of which one has to answer.
    pub(crate) fn has_many_servers(self) -> bool {
        self == Self::Rpc
    }

    /// Whether HBase is told a user's name.
    pub(crate) fn has_user(self) -> bool {
        self == Self::Rpc
    }

    /// The rows of the index at `uri`. Nothing is asked of HBase yet.
    #[cfg_attr(
        not(any(feature = "thrift", feature = "rpc")),
        expect(unused_variables, reason = "this build has no transport that takes the options")
    )]
    pub(crate) fn open(uri: &HbaseUri, options: Options) -> Result<Box<dyn Rows>> {
        match uri.transport {
            #[cfg(feature = "thrift")]
            Self::Gateway => Ok(Box::new(ThriftRows::new(uri.server.clone(), &uri.name, options))),
            #[cfg(not(feature = "thrift"))]
            Self::Gateway => Err(Self::missing(uri, "thrift")),
            #[cfg(feature = "rpc")]
            Self::Rpc => Ok(Box::new(RpcRows::new(uri, options)?)),
            #[cfg(not(feature = "rpc"))]
            Self::Rpc => Err(Self::missing(uri, "rpc")),
        }
    }

    /// The error where it is not in this build.
    #[cfg(not(all(feature = "thrift", feature = "rpc")))]
    fn missing(uri: &HbaseUri, feature: &str) -> Error {
        let HbaseUri { transport, server, name, .. } = uri;
        let (scheme, what) = (transport.scheme(), transport.server());
        Error::invalid(format!(
            "this build has no {what} transport, so it cannot open {scheme}://{server}/{name}; build it with the feature \
             `{feature}`"
        ))
    }
}
