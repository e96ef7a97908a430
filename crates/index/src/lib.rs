//! Documents: the [`Store`] seam with its backends, the insert-if-new rule, and the [`Index`] with
//! its own description.
//!
//! This crate joins ids to sketches and keeps them. It knows no language: a recipe is a set of
//! named fields that must be equal, and the crate `features` knows their meaning. The crate
//! `tables` searches in memory.
//!
//! Each store with a server or files is a crate of its own. Such a crate implements [`Store`] with
//! the help of [`backend`], and describes its abilities by a [`Place`]. The crate `engine` opens
//! stores by URL. Documents stay for a time set by the index ([`Retention`]), in every store.

pub mod backend;
mod cells;
mod document;
mod error;
mod examine;
mod identity;
mod index;
mod key;
mod kind;
mod leap;
mod memory;
mod metadata;
mod options;
mod overlay;
mod place;
mod retention;
mod rule;
mod selection;
mod sketch;
mod source;
mod store;
#[cfg(feature = "testsuite")]
pub mod testsuite;
mod text;
mod time;

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use cells::{Cell, Segments};
pub use document::{
    Document, DocumentId, Insertion, InvalidDocumentId, MAX_ID_BYTES, Match, NearDocuments, Neighbours,
    StoredDocument,
};
pub use error::{Error, ErrorKind, Result};
pub use examine::{Examined, Finding, FindingKind};
pub use identity::Identity;
pub use index::{Foresight, Index, NewDocument, Removed};
pub use key::Key;
pub use kind::{Profile, STRANGERS_A_MILLION, SketchKind, UnknownKind};
pub use leap::leap_bytes;
pub use memory::{MemoryStore, MemoryUri};
pub use metadata::{FORMAT_VERSION, Metadata};
pub use options::{Mode, OpenOptions};
pub use place::{BackupFile, BackupScript, Backups, CallSizes, Capabilities, Place};
pub use retention::{InvalidRetention, Retention};
pub use rule::{CANDIDATES_MAX, COUNTED_MAX, Glance, Nearness, Promise, Rule};
pub use selection::Selection;
pub use sketch::{Family, Features, Sketch};
pub use source::{InvalidSource, MAX_SOURCE_BYTES, Source};
pub use store::{
    CellPage, ClaimCounts, ConnectionCounts, Cursor, ImageStatus, MAX_BATCH, MAX_SKETCH_KEYS, Page, Status,
    Store, WriteMark,
};
pub use tables::Cost;
pub use text::{CountTexts, Counter, Text, TextKeeping, TextPlace};
pub use time::{AHEAD_MAX, Clock, InvalidTimestamp, Timestamp};
