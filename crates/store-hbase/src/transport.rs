//! Transports: the carriers of rows between this process and HBase.

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

/// A carrier of rows between this process and HBase, named by the scheme of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// `hbase`: a gateway, HBase's Thrift1 server. In builds with the crate's feature `thrift`.
    Gateway,
    /// `hbase+rpc`: HBase's own RPC, spoken to its masters and region servers. In builds with the
    /// crate's feature `rpc`.
    Rpc,
}

impl Transport {
    /// All transports that a URL can name, in this build or not.
    pub(crate) const ALL: [Self; 2] = [Self::Gateway, Self::Rpc];

    /// Returns the beginning of a URL, up to the colon.
    #[must_use]
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Gateway => "hbase",
            Self::Rpc => "hbase+rpc",
        }
    }

    /// Returns the kind of server that a URL names before the index.
    pub(crate) fn server(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Rpc => "master",
        }
    }

    /// Returns the port of a server, unless the URL names another.
    pub(crate) fn port(self) -> u16 {
        match self {
            Self::Gateway => 9090,
            Self::Rpc => 16000,
        }
    }

    /// Returns the number of connections to a server, unless the URL gives one.
    pub(crate) fn n_connections(self) -> usize {
        match self {
            // Each carries one call at a time: enough to keep a server of a few cores busy.
            Self::Gateway => 8,
            // Each carries many.
            Self::Rpc => 2,
        }
    }

    /// Returns true if a URL may name several servers, of which one has to answer.
    pub(crate) fn has_many_servers(self) -> bool {
        self == Self::Rpc
    }

    /// Returns true if HBase is told a user's name.
    pub(crate) fn has_user(self) -> bool {
        self == Self::Rpc
    }

    /// Returns the rows of the index at `uri`. Makes no request to HBase yet.
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
}
