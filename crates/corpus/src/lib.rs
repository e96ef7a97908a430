//! Reads corpora: turns files, folders, globs and addresses into records with an id and a text, in
//! any supported format.
//!
//! [`Inputs::open`] finds all inputs of the options and tries to open each one.
//! [`Inputs::documents`] then reads document by document; calls block while the reader waits for
//! data. A bad record is an item with its reason, and reading continues after a bad record.
//!
//! ```
//! use pigeonhole_corpus::{Fields, InputOptions, Inputs};
//!
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("news.jsonl"), "{\"id\": 1, \"text\": \"The office closes.\"}\n{\"id\": 2}\n")?;
//!
//! let options = InputOptions::of([folder.path()]);
//! let (mut n_documents, mut n_rejected) = (0, 0);
//! for document in Inputs::open(&options)?.documents(Fields::of(&options)) {
//!     match document {
//!         Ok(document) => {
//!             assert_eq!((document.id.as_str(), &*document.text), ("1", "The office closes."));
//!             n_documents += 1;
//!         }
//!         Err(rejected) => {
//!             assert_eq!((rejected.origin.stem(), rejected.number), ("news.jsonl", 2));
//!             n_rejected += 1;
//!         }
//!     }
//! }
//! assert_eq!((n_documents, n_rejected), (1, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A multi-threaded program takes [`Inputs::chunks`], which one thread reads, and hands each chunk
//! to any thread, where [`Fields::parse`] extracts the fields of each record. `files` lists the
//! inputs, local or remote (`remote`), `compression` unpacks them, and a reader for each format
//! (`reader`) cuts the content into `records`. None of these modules knows the purpose of a record.
//!
//! Memory is bounded for any input: records are handed on in portions, and a record longer than the
//! limit is skipped and reported, not held in memory.
#![forbid(unsafe_code)]

mod archive;
mod archive_kind;
mod arrow;
mod budget;
mod columns;
mod compression;
mod content;
mod conversions;
mod copies;
mod csv;
mod documents;
mod encoding;
mod error;
mod field_path;
mod fields;
mod files;
mod format;
mod guarded;
mod header;
mod holds;
mod inputs;
mod internal_error;
mod json;
mod json_line;
mod left_out;
mod lines;
mod live;
mod location;
mod made_ids;
mod members;
#[cfg(test)]
mod mutations;
mod notes;
mod numbers;
mod options;
mod origin;
pub mod parquet;
mod rank;
mod reader;
mod reading;
mod records;
mod remembering;
mod remote;
mod side_files;
mod table_folders;
#[cfg(feature = "testing")]
pub mod testing;
mod text;
mod there;
mod value;
mod warc;
mod whole_rows;
mod wildcards;

/// Runs the examples of the README as doctests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use columns::Columns;
pub use compression::WINDOW_LOG_MAX;
pub use copies::{Copies, is_in_memory};
pub use csv::{Quote, TableOptions, TextEncoding};
pub use documents::{Document, Documents, Rejected};
pub use error::Error;
pub use field_path::FieldPath;
pub use fields::{Digits, FieldNames, Fields, Given, GivenFields, Record, Told};
pub use files::WHAT_TO_DO;
pub use format::Format;
pub use header::Header;
pub use holds::{has_known_ending, known_endings};
pub use inputs::{Chunks, Inputs};
pub use internal_error::{caught, install_hook};
pub use left_out::LeftOut;
pub use location::{Identity, Location, NoIdentity};
pub use made_ids::{FILES_MAX, MadeIds, RoundIds};
pub use members::Members;
pub use notes::Notes;
pub use numbers::Grouped;
pub use options::{InputOptions, PageText, RECORD_BYTES_MAX, RecordOptions, WAIT};
pub use origin::Origin;
pub use rank::{Rank, RankBy};
pub use records::{Chunk, Numbered, Place, Position, RawRecord, RecordError};
pub use remote::{Upload, Uploads, is_in_bucket, is_remote};
pub use side_files::is_beside_data;
pub use whole_rows::{Delimited, WholeRows, write_delimited};
