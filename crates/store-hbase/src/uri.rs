//! `hbase://HOST:PORT/NAME`: the place of an index in HBase.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use index::backend::split_authority;
use index::{CallSizes, Capabilities, Clock, Error, Mode, Place, Result, Store};

use crate::HbaseStore;

/// The place of an index in HBase, and how to get there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HbaseUri {
    /// `HOST:PORT` of a Thrift gateway.
    pub gateway: String,
    /// The table of the index; the documents' has `_docs` after it. With its namespace, where it has one.
    pub name: String,
    /// The most connections to the gateway at a time.
    pub n_connections: usize,
}

/// The port of a Thrift gateway, unless the URL names another.
const HBASE_PORT: u16 = 9090;

/// Enough to keep a gateway of a few cores busy.
const HBASE_CONNECTIONS: usize = 8;

/// More would be the gateway's threads, not ours.
const HBASE_CONNECTIONS_MAX: usize = 1_000;

impl FromStr for HbaseUri {
    type Err = Error;

    /// Reads what comes after `hbase://`.
    fn from_str(rest: &str) -> Result<Self> {
        let malformed = |what: String| {
            Error::invalid(format!(
                "{what}; write hbase://HOST:PORT/NAME, for example hbase://localhost:9090/news"
            ))
        };
        let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
        let (host, port, name) = split_authority(place, HBASE_PORT).map_err(malformed)?;
        check_table_name(name)?;
        let mut n_connections = HBASE_CONNECTIONS;
        if query.is_some_and(|query| query.matches("connections=").count() > 1) {
            return Err(malformed("connections is there twice".to_owned()));
        }
        for parameter in query.into_iter().flat_map(|query| query.split('&')) {
            let number = match parameter.split_once('=') {
                Some(("connections", number)) => number.parse().ok(),
                _ => None,
            };
            n_connections = number.filter(|number| (1..=HBASE_CONNECTIONS_MAX).contains(number)).ok_or_else(
                || {
                    malformed(format!(
                        "{parameter:?} is not a parameter; there is connections=N, from 1 to {HBASE_CONNECTIONS_MAX}"
                    ))
                },
            )?;
        }
        Ok(Self { gateway: format!("{host}:{port}"), name: name.to_owned(), n_connections })
    }
}

impl fmt::Display for HbaseUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { gateway, name, n_connections } = self;
        write!(f, "hbase://{gateway}/{name}?connections={n_connections}")
    }
}

impl Place for HbaseUri {
    fn open(&self, _: Mode, clock: Clock, patience: Option<Duration>) -> Result<Box<dyn Store>> {
        if clock.refuses_ahead() {
            return Err(Error::invalid(
                "an index in HBase does not know when it was last written to; leave --clock-ahead-max out (what has \
                 expired is dropped by the clocks of HBase's servers, not by this machine's)",
            ));
        }
        let Self { gateway, name, n_connections } = self;
        Ok(Box::new(HbaseStore::opened(gateway.clone(), name, *n_connections, clock, patience)))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            local_path: None,
            outlives_process: true,
            n_handles_max: self.n_connections,
            // Two round trips for up to 64, the documents included.
            searches: CallSizes::new(4, 64),
            // It may wait for another process, so not many wait with it.
            insertions: CallSizes::new(16, 64),
        }
    }

    fn public_name(&self) -> String {
        format!("hbase://{}/{}", self.gateway, self.name)
    }
}

/// HBase's own rule: a namespace of letters, digits and underscores, and a name that may also have dots and dashes, but
/// not at its start.
fn check_table_name(name: &str) -> Result<()> {
    let (namespace, table) = name.split_once(':').unwrap_or(("default", name));
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_valid = !namespace.is_empty()
        && namespace.chars().all(is_word)
        && table.starts_with(is_word)
        && table.chars().all(|c| is_word(c) || c == '.' || c == '-');
    if table.ends_with("_docs") {
        return Err(Error::invalid(format!(
            "{name:?} is the name of an index's table of documents; give the index's own name, without _docs"
        )));
    }
    if is_valid {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{name:?} cannot be the name of a table; use letters, digits, '_', '-' and '.', with NAMESPACE: before it if \
         it has one"
    )))
}
