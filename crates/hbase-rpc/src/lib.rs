//! A client for HBase's own RPC, the protocol by which HBase's Java client speaks to masters and
//! region servers: no gateway in between.
//!
//! The crate knows HBase, and nothing of the data kept there. A [`Client`] stands for a cluster:
//! the client finds regions, keeps connections, and repeats calls where a repetition is safe.
//! [`blocking`] offers the same to threads. Below, a [`Connection`] carries many calls at once to
//! one server, and [`Cells`] are the cells of an answer.
//!
//! Times of cells are milliseconds since 1970, lengths are bytes, and keys are compared byte by
//! byte. A stop row is not in its range, and an empty stop row is the end of the table. An
//! [`Error`] knows the caller's best reaction ([`Error::advice`]), and whether the server may have
//! executed the request ([`Error::may_be_done`]).
//!
//! A page of each of many ranges, by as few calls as there are regions:
//!
//! ```
//! use hbase_rpc::{Client, ClientOptions, Error, PageOptions, Pages, Range};
//! # use hbase_rpc::{Cell, CellType, Mutation, fake::FakeCluster};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let cluster = FakeCluster::start(1);
//! # cluster.create_table("t", &["f"], &[]);
//! # for row in ["a1", "a2", "b1", "c1"] {
//! #     let (row, family, qualifier, value) = (row.into(), "f".into(), "q".into(), "v".into());
//! #     cluster.put("t", vec![Cell { row, family, qualifier, timestamp: 1, kind: CellType::Put, value }]);
//! # }
//! # let master = cluster.master();
//! let client = Client::new(vec![master], ClientOptions::default());
//! let ranges = [Range::new("a", "b"), Range::new("c", "d")];
//! let (pieces_max, cells_max, together_min) = (100, 1_000, 2);
//! let (cache_blocks, since) = (true, None);
//! let options = PageOptions { pieces_max, cells_max, together_min, cache_blocks, since };
//! let mut n_rows = [0, 0];
//! let mut visit = |number: usize, page: Pages| {
//!     n_rows[number] = page.len();
//!     Ok::<(), Error>(())
//! };
//! client.pages("t", &"f".into(), &ranges, &options, &mut visit).await?;
//! assert_eq!(n_rows, [2, 1]);
//! # Ok(())
//! # }
//! ```
//!
//! The feature `testsuite` adds `fake`, a cluster in this process for tests.
#![forbid(unsafe_code)]

pub mod blocking;
mod bounds;
mod cell;
mod client;
mod connection;
mod error;
#[cfg(feature = "testsuite")]
pub mod fake;
mod frame;
#[cfg(feature = "kerberos")]
mod kerberos;
#[cfg_attr(
    not(feature = "testsuite"),
    expect(unreachable_pub, reason = "`fake` shows some of them to tests")
)]
mod messages;
mod pages;
mod regions;
mod slots;
#[cfg(feature = "tls")]
mod tls;

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use cell::{Cell, CellError, CellType, Cells, LATEST};
pub use client::{CheckAndMutate, Checked, Client, ClientOptions, Get, Mutation, Scan, Scanner, Watch};
pub use connection::{Connection, ConnectionOptions};
pub use error::{Advice, Error, RemoteError};
pub use frame::{Answer, Service};
#[cfg(feature = "kerberos")]
pub use kerberos::{Kerberos, NotAPrincipal};
pub use pages::{PageOptions, Pages, Range};
pub use regions::Address;
#[cfg(feature = "tls")]
pub use tls::{Tls, TlsError};
