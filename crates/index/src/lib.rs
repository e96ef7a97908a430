//! Documents: the [`Store`] seam with its backends, the insert-if-new rule, and the [`Index`] that describes itself.
//!
//! This crate joins ids to sketches and keeps them. It knows no language: a recipe is named fields that must be equal,
//! and what they mean is for the crate `features`. How a store searches in memory is for the crate `tables`.
//!
//! A store is opened by URL ([`StoreUri`]): `memory:`, `embedded:PATH`, `hbase://HOST:PORT/NAME` and
//! `redis://HOST:PORT/NAME`. `claims` has the protocol by which HBase's decides who inserts, without a lock over all.
//! How long documents stay is an index's own ([`Retention`]), and every store keeps to it.

mod away;
mod claims;
#[cfg(feature = "cli")]
pub mod cli;
mod document;
mod embedded;
mod error;
mod examine;
mod hbase;
mod identity;
mod index;
mod last_write;
mod memory;
mod metadata;
mod options;
mod redis;
mod retention;
mod rule;
mod runs;
mod search;
mod selection;
mod source;
mod store;
#[cfg(feature = "testsuite")]
pub mod testsuite;
mod time;
mod uri;

pub use self::redis::RedisStore;
pub use document::{
    Document, DocumentId, Insertion, InvalidDocumentId, MAX_ID_BYTES, Match, NearDocuments, Neighbours,
    StoredDocument,
};
pub use embedded::EmbeddedStore;
pub use error::{Error, ErrorKind, Result};
pub use examine::{Examined, Finding, FindingKind};
pub use hbase::{BulkLoad, HbaseStore, Standing};
pub use identity::Identity;
pub use index::{Index, NewDocument, Removed};
pub use memory::MemoryStore;
pub use metadata::{FORMAT_VERSION, Metadata};
pub use options::{Mode, OpenOptions};
pub use retention::{InvalidRetention, Retention};
pub use selection::Selection;
pub use source::{InvalidSource, MAX_SOURCE_BYTES, Source};
pub use store::{ClaimCounts, ConnectionCounts, Cursor, MAX_BATCH, MAX_SKETCH_KEYS, Page, Status, Store};
pub use tables::Cost;
pub use time::{AHEAD_MAX, Clock, InvalidTimestamp, Timestamp};
pub use uri::{HbaseUri, RedisUri, StoreUri};
