//! Exact near-duplicate truth for a corpus, and verdicts held against it.
//!
//! Knows sets and pairs of numbers only: no text, no store, no I/O. What the elements of a set are (character n-grams, words)
//! is for the caller to say.
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

/// Runs what the README shows.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
