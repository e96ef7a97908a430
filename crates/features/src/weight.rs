//! The weights of terms.

pub(crate) mod idf;
pub(crate) mod levels;

use std::fmt;
use std::str::FromStr;

/// A method to weigh terms. Its text form is `tf-idf`, `levels` or `uniform`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Weights {
    /// Occurrences × inverse document frequency. A term without an entry in the idf dictionary has
    /// the dictionary's median.
    TfIdf,
    /// The classic five grades of importance: 1 to 5, in equal steps of the tf-idf weight of the
    /// text's heaviest term.
    Levels,
    /// Every distinct term weighs 1.
    ///
    /// A limit on the number of terms keeps the lowest mixed hashes: a random sample, but the same
    /// one wherever the same terms are.
    Uniform,
}

impl Weights {
    pub(crate) const EXPECTED: &str = "`tf-idf`, `levels` or `uniform`";

    pub(crate) fn uses_idf(self) -> bool {
        self != Self::Uniform
    }
}

impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TfIdf => "tf-idf",
            Self::Levels => "levels",
            Self::Uniform => "uniform",
        })
    }
}

/// A text that names no way to weigh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseWeightsError;

impl fmt::Display for ParseWeightsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", Weights::EXPECTED)
    }
}

impl std::error::Error for ParseWeightsError {}

impl FromStr for Weights {
    type Err = ParseWeightsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "tf-idf" => Ok(Self::TfIdf),
            "levels" => Ok(Self::Levels),
            "uniform" => Ok(Self::Uniform),
            _ => Err(ParseWeightsError),
        }
    }
}
