//! HBase's own RPC: what its Java client speaks to masters and region servers, without a gateway in between.
//!
//! Knows HBase, and nothing of what is kept there. A [`Client`] is a cluster: it finds regions, keeps connections, and tries
//! again what may be tried again; [`blocking`] is the same for threads. Below it a [`Connection`] carries many calls at once to
//! one server; [`messages`] are what is asked and answered, and [`Cells`] the rows that come with it.
//!
//! Times of cells are milliseconds since 1970, lengths are bytes, and keys are compared byte by byte; a stop row is not in its
//! range, and an empty one is the end of the table. An [`Error`] says what may be done about it ([`Error::advice`]) and whether the server may have
//! done what it was asked ([`Error::may_be_done`]).
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
//! let options = PageOptions { pieces_max: 100, cells_max: 1_000, together_min: 2, cache_blocks: true };
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
//! The feature `testsuite` has `fake`, a cluster in this process for tests.
#![forbid(unsafe_code)]

mod batch;
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
pub mod messages;
mod pages;
mod regions;
mod retry;
mod scan;
mod slots;
mod timeline;
#[cfg(feature = "tls")]
mod tls;

/// Runs what the README shows.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use batch::{CheckAndMutate, Checked, Get, Mutation};
pub use cell::{Cell, CellError, CellType, Cells, LATEST};
pub use client::{Client, ClientOptions};
pub use connection::{Connection, ConnectionOptions};
pub use error::{Advice, Error, RemoteError};
pub use frame::{Answer, Service};
#[cfg(feature = "kerberos")]
pub use kerberos::{Kerberos, NotAPrincipal};
pub use pages::{PageOptions, Pages, Range};
pub use regions::{Address, Region};
pub use retry::Watch;
pub use scan::{Scan, Scanner};
pub use timeline::{Read, Timeline};
#[cfg(feature = "tls")]
pub use tls::{Tls, TlsError};
