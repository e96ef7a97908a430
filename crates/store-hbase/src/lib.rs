//! `hbase+rpc://HOST:PORT/NAME` and `hbase://HOST:PORT/NAME`: documents in two tables of HBase, for
//! billions of them.
//!
//! A simhash has a row for each table of its scheme, and a signature one for each of its bands,
//! `simhash::RowKey`. A row has a cell for each document of that key; a query reads one short range
//! of rows for each of its keys. `schema/README.md` draws the stored rows. The crate consists of
//! the rows (`rows`, the seam), their meaning (`layout`, `documents`, `buckets`), and the
//! operations on them (`near`, `write`, `remove`, and `claiming` for `insert_if_new`). `tier` is
//! what claimants know of older cells, and `bulk` gives the rows for loads past all of these.
//!
//! # Adding a transport
//!
//! Behind the seam is a transport, one module and one cargo feature each, which no other part of
//! the crate knows. `rpc` leaves connections, look-up and retries to the crate `hbase-rpc`.
//! `thrift` has them in `thrift::plan`: a `Connection` to the gateway, and a `Call` for each kind
//! of request. Common to transports are the `Witness`, by which a request is known to belong to
//! the index, and the `Server`, which words the messages about the other end and their advice. A
//! new transport needs an arm of [`Transport`], by which a URL names it, a line of
//! `engine/src/uri.rs`, and has to pass `index::testsuite` like any store, and the hazards of this
//! crate's tests.
#![cfg_attr(
    not(any(feature = "rpc", feature = "thrift")),
    expect(dead_code, reason = "a build without a transport opens no index")
)]

mod access;
mod buckets;
mod bulk;
mod cells;
mod claiming;
mod claims;
mod counters;
mod documents;
mod drawn;
mod examine;
#[cfg(all(feature = "thrift", any(test, feature = "testsuite")))]
mod fake;
mod layout;
mod loads;
mod marks;
mod meet;
mod near;
mod older;
mod opening;
mod options;
mod order;
mod outlook;
mod remove;
mod retention;
mod rows;
#[cfg(feature = "rpc")]
mod rpc;
mod server;
mod snapshots;
mod store;
#[cfg(all(feature = "rpc", feature = "thrift"))]
#[cfg(test)]
mod tests;
#[cfg(feature = "thrift")]
mod thrift;
mod tier;
mod transport;
mod uri;
mod witness;
mod write;

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use self::bulk::{BulkLoad, Standing};
#[cfg(all(feature = "thrift", any(test, feature = "testsuite")))]
pub use self::fake::{FakeGateway, Fault, FaultKind, VisibleRow};
pub use self::store::HbaseStore;
pub use self::transport::Transport;
pub use self::uri::{HbaseUri, TierOptions, TlsFiles};
