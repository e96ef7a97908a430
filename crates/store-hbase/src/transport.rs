//! What carries rows between this process and HBase.

#[cfg(not(feature = "thrift"))]
use index::Error;
use index::Result;

use crate::plan::Options;
use crate::rows::Rows;
#[cfg(feature = "thrift")]
use crate::thrift::ThriftRows;

/// What carries rows between this process and HBase: the scheme of a URL names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// `hbase`: a gateway, HBase's Thrift1 server. It is in this build where the crate's feature `thrift` is.
    Gateway,
}

impl Transport {
    /// All that URLs can name, whether or not they are in this build.
    pub(crate) const ALL: [Self; 1] = [Self::Gateway];

    /// What a URL begins with, up to the colon.
    #[must_use]
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Gateway => "hbase",
        }
    }

    /// What a URL names before the index.
    pub(crate) fn server(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
        }
    }

    /// The port of a server, unless the URL names another.
    pub(crate) fn port(self) -> u16 {
        match self {
            Self::Gateway => 9090,
        }
    }

    /// The rows of the index `name` behind `server`, `HOST:PORT`. Nothing is asked of it yet.
    #[cfg_attr(
        not(feature = "thrift"),
        expect(unused_variables, reason = "this build has no transport that takes the options")
    )]
    pub(crate) fn open(self, server: &str, name: &str, options: Options) -> Result<Box<dyn Rows>> {
        match self {
            #[cfg(feature = "thrift")]
            Self::Gateway => Ok(Box::new(ThriftRows::new(server.to_owned(), name, options))),
            #[cfg(not(feature = "thrift"))]
            Self::Gateway => Err(self.missing(server, name, "thrift")),
        }
    }

    /// The error where it is not in this build.
    #[cfg(not(feature = "thrift"))]
    fn missing(self, server: &str, name: &str, feature: &str) -> Error {
        let (scheme, what) = (self.scheme(), self.server());
        Error::invalid(format!(
            "this build has no {what} transport, so it cannot open {scheme}://{server}/{name}; build it with the feature \
             `{feature}`"
        ))
    }
}
