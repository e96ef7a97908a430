//! Pigeonhole as a library: finds near-duplicates among texts, with an index in any store named by
//! a URL.
//!
//! An [`Engine`] is an open index together with the recipe of its fingerprints. Its calls block,
//! take batches and answer in the order of the batch. Threads share one engine. The crate `index`
//! describes an index and the promises of a store; `features` describes the way from a text to a
//! fingerprint. The three programs are this crate with a command line, a journal, or HTTP around
//! it.
//!
//! ```
//! use pigeonhole_engine::index::DocumentId;
//! use pigeonhole_engine::{Engine, Options, Outcome, Text};
//!
//! let engine = Engine::open("memory:", &Options::default())?;
//! let texts = [
//!     Text::new(DocumentId::new("a").unwrap(), "The harbour office closes at noon on Fridays."),
//!     Text::new(DocumentId::new("b").unwrap(), "the harbour office closes at noon on fridays"),
//! ];
//! let outcomes = engine.insert_if_new(&texts)?;
//! assert_eq!(outcomes[0], Outcome::Inserted);
//! assert!(matches!(&outcomes[1], Outcome::Duplicate(of) if of.id.as_str() == "a"));
//! let found = engine.query(&["The harbour office closes at noon on Fridays!"], 10)?;
//! assert_eq!(found[0].as_ref().unwrap().n_matches, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod clusters;
mod counting;
pub mod dedup;
mod engine;
mod error;
mod extractor;
pub mod in_common;
pub mod join;
mod load;
mod options;
mod pipeline;
mod spool;
mod text_pace;
mod uri;

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use counting::{counter, forget_long_texts};
pub use engine::{Engine, Outcome, Text};
pub use error::OpenError;
pub use extractor::{Buffers, Extractor};
pub use load::Load;
pub use options::Options;
pub use pipeline::in_order;
pub use spool::Spool;
pub use text_pace::TextPace;
pub use uri::{StoreUri, decides_contained, local_path, open_index, outlives_process, shown, texts_default};
/// Crates whose types an engine takes and returns.
pub use {features, index};
