//! Bits: fingerprints and their distances, the schemes of blocks that must agree, and the row keys
//! made of these.
//!
//! This crate has no dependencies and knows nothing of text, documents, files or networks. The
//! parts that may not change without a new format version are drawn in `schema/README.md`.
#![forbid(unsafe_code)]

mod accumulator;
mod distance;
mod facet;
mod fingerprint;
mod row_key;
mod scheme;

pub use accumulator::{Accumulator, Weight};
pub use distance::{Distance, InvalidDistance};
pub use facet::{BucketKey, Facet};
pub use fingerprint::{Fingerprint, ParseFingerprintError};
pub use row_key::{KeyRange, ROW_KEY_LEN, RowKey, RowKeyError};
pub use scheme::{
    MAX_KEY_BITS, SCHEME_NAMES, SchemeError, SplitsError, Table, TableScheme, n_regions_max, splits,
};

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
