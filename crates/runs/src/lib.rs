//! Sorting and keeping more than memory holds, in files without names: the system frees them when
//! the process ends, however it ends. Each block has a checksum, by which damage is an error where
//! it is read. The crate knows bytes and words only.
#![forbid(unsafe_code)]

mod records;
mod sealed;
mod strings;
mod words;

pub use records::{Packing, Place, Records};
pub use strings::{SortedStrings, StringSorter};
pub use words::{SortedWords, WordSorter};

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
