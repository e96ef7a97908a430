//! In-memory search for sketches, and the join of many fingerprints with themselves. The crate
//! knows bits only: no documents, no text, no I/O.
#![forbid(unsafe_code)]

mod bucket_tables;
mod distance;
mod heap;
mod naive;
mod self_join;
mod tables;

pub use bucket_tables::BucketTables;
pub use naive::NaiveTables;
pub use self_join::SelfJoin;
/// The crate of the sketches, fingerprints and schemes in this one's signatures.
pub use simhash;
pub use tables::{Cost, Hit, Tables};

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
