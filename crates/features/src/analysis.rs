//! Why a text has the fingerprint it has.

use simhash::{Fingerprint, Weight};

/// The terms behind a fingerprint.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// The terms that count, heaviest first.
    pub terms: Vec<Term>,
    /// What they make; `None` for a text without features.
    pub fingerprint: Option<Fingerprint>,
    /// `Σ ±weight` of each bit, least significant first: the nearer to 0, the more easily the bit turns.
    pub margins: [i128; 64],
}

/// One distinct term of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The term as it was hashed, in normal form.
    pub text: String,
    /// How often it occurs.
    pub count: u32,
    /// Its inverse document frequency; `None` for a term that the dictionary lacks, and that weighs by the median.
    pub idf: Option<f64>,
    /// What it weighs.
    pub weight: Weight,
    /// The bits for which it votes.
    pub hash: u64,
}
