//! Sets: their similarity, sketched in few bytes; the bands of a sketch by which two sets meet; and
//! the signature by which a pair that met is confirmed.
//!
//! An element is 64 bits of some hash ([`hash_words`] will do). This crate depends on
//! `pigeonhole-lanes` alone, and knows nothing of text, documents, files or networks.
//!
//! ```
//! use pigeonhole_minhash::{BandScheme, Signature, Sketcher, hash_words};
//!
//! let mut sketcher = Sketcher::<256>::new();
//! let mut sketch = |elements: std::ops::Range<u64>| {
//!     sketcher.extend(&elements.map(|element| hash_words(element, 0)).collect::<Vec<_>>());
//!     sketcher.finish().expect("the set has elements")
//! };
//! let (a, b) = (sketch(0..1000), sketch(50..1050)); // 950 of 1,050 in common
//! let scheme = BandScheme::long();
//! assert!(scheme.meet(&a.bins, &b.bins));
//! let signatures = [a, b].map(|set| Signature::long(&set.bins, set.size));
//! let comparison = Signature::compare(&signatures[0], &signatures[1]);
//! assert!((comparison.similarity.get() - 950.0 / 1050.0).abs() < 0.08);
//! ```
#![forbid(unsafe_code)]

mod bands;
mod bins;
mod curve;
mod filing;
mod filing_scheme;
mod hash;
mod lines;
mod signature;
mod similarity;
mod size;
mod sketcher;

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use bands::{BandKey, BandScheme, BandSchemeError};
pub use bins::Bins;
pub use curve::{kept_by_suffix, met_by_bands};
pub use filing::{Filing, SetKind};
pub use filing_scheme::{FilingScheme, FilingSchemeError};
pub use hash::{hash_each, hash_words};
pub use signature::{
    Basis, Comparison, LONG_BINS, Maker as SignatureMaker, SHORT_BINS, Sieve, Signature, SignatureError,
};
pub use similarity::Similarity;
pub use sketcher::{Sketched, Sketcher};
