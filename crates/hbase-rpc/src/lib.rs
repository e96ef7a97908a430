//! HBase's own RPC: what its Java client speaks to masters and region servers, without a gateway in between.
//!
//! Knows HBase, and nothing of what is kept there. [`Connection`] carries many calls at once to one server; [`messages`] are
//! what is asked and answered, and [`Cells`] the rows that come with it.
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
pub mod messages;
mod pages;
mod regions;
mod retry;
mod scan;

pub use batch::{CheckAndMutate, Checked, Get, Mutation};
pub use cell::{Cell, CellError, CellType, Cells, LATEST};
pub use client::{Client, ClientOptions};
pub use connection::{Connection, ConnectionOptions};
pub use error::{Advice, Error, RemoteError};
pub use frame::{Answer, Service};
pub use pages::{PageOptions, Pages, Range};
pub use regions::{Address, Region};
pub use scan::{Scan, Scanner};
