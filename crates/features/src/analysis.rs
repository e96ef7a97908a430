//! The terms and margins that explain a fingerprint.

use simhash::{Fingerprint, Weight};

/// The terms behind a fingerprint.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// The terms that count, heaviest first.
    pub terms: Vec<Term>,
    /// The fingerprint of these terms; `None` for a text without features.
    pub fingerprint: Option<Fingerprint>,
    /// `Σ ±weight` of each bit, least significant first: the nearer to 0, the more easily the bit
    /// turns.
    pub margins: [i128; 64],
}

/// One distinct term of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The term as it was hashed, in normal form.
    pub text: String,
    /// The number of occurrences.
    pub count: u32,
    /// The inverse document frequency; `None` for a term without an entry in the dictionary, which
    /// weighs by the median.
    pub idf: Option<f64>,
    /// The weight of the term in this text.
    pub weight: Weight,
    /// The hash of the term: its bits are the term's votes.
    pub hash: u64,
}
