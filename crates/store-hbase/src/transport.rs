//! Transports: the carriers of rows between this process and HBase.

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
}
