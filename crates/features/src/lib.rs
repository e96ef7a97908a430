//! Language: from a text to its fingerprint. Normalise, segment, weigh, hash; [`simhash`] sums.
//!
//! A [`Recipe`] holds the choices, a [`Fingerprinter`] follows them. This crate knows nothing of
//! documents, files or stores: texts and dictionaries come as `&str`, fingerprints leave as 64
//! bits.
//!
//! ```
//! use pigeonhole_features::{Dictionaries, Fingerprinter, Recipe};
//!
//! let fingerprinter = Fingerprinter::new(Recipe::default(), &Dictionaries::default())?;
//! let simplified = fingerprinter.fingerprint("一目了然的鸽巢原理");
//! assert_eq!(simplified, fingerprinter.fingerprint("一目瞭然的鴿巢原理"));
//! assert_eq!(fingerprinter.fingerprint("……"), None);
//! # Ok::<(), pigeonhole_features::RecipeError>(())
//! ```
#![forbid(unsafe_code)]

mod analysis;
mod built_in;
mod choices;
mod comparison;
mod dictionaries;
mod digest;
pub mod document_frequencies;
mod error;
pub mod field;
mod fingerprinter;
mod form;
mod growth;
mod hash;
mod normalize;
pub mod numbers;
mod recipe;
mod segment;
pub mod shingles;
mod terms;
mod weight;

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use analysis::{Analysis, Term};
pub use choices::Choices;
pub use comparison::{ComparedTerm, Comparison, Push};
pub use dictionaries::Dictionaries;
pub use digest::{Digest, ParseDigestError};
pub use error::{LineError, RecipeError};
pub use field::RECIPE_VERSION;
pub use fingerprinter::{Fingerprinter, Scratch};
pub use form::NormalForm;
pub use growth::grown_chars;
pub use recipe::Recipe;
pub use segment::{ParseSegmenterError, Segmenter};
pub use weight::{ParseWeightsError, Weights};
