//! Exact near-duplicate truth for a corpus, and verdicts compared with it.
//!
//! The crate knows sets and pairs of numbers only: no text, no store, no I/O. The caller chooses
//! the elements of a set (character n-grams, words).
#![forbid(unsafe_code)]

mod curve;
mod families;
mod greedy;
mod jaccard;
mod join;
mod score;

pub use curve::{Bin, Fate, confidence, curve};
pub use families::{FamilyScore, families};
pub use greedy::{Audit, audit};
pub use jaccard::{jaccard, overlap};
pub use join::{Pair, similar_pairs, similar_pairs_up_to};
pub use score::{Band, Scores, Truth, score};

/// Runs the examples of the README as doctests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
