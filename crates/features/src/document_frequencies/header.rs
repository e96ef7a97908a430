//! The header above the terms: the number of documents, and the recipe of the terms.

use std::collections::BTreeMap;
use std::fmt;
use std::io::BufRead;

use super::read::{Lines, ReadError};
use super::{MAGIC, VERSION};
use crate::field;

/// The fields of a recipe that decide its terms.
///
/// Stop words are among them: stop words decide the shingles, and the terms of the median.
const TERM_FIELDS: [&str; 7] = [
    field::VERSION,
    field::SIMPLIFY,
    field::FOLD,
    field::SEGMENTER,
    field::DICTIONARY,
    field::USER_DICTIONARY,
    field::STOP_WORDS,
];

const N_DOCUMENTS: &str = "documents";
const MIN_DF: &str = "min-df";

/// The header of a file of document frequencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The number of documents counted: those with at least one term.
    pub n_documents: u64,
    /// Terms of fewer documents are left out. If this is not 1, the counts cannot be added to
    /// others.
    pub min_df: u64,
    /// The values of [`TERM_FIELDS`]; empty for a field that recipes of this version lack.
    terms: [String; TERM_FIELDS.len()],
}

impl Header {
    /// Creates the header of terms that are made by the recipe of these fields.
    pub(crate) fn of_fields(fields: &BTreeMap<String, String>, n_documents: u64, min_df: u64) -> Self {
        Self {
            n_documents,
            min_df,
            terms: TERM_FIELDS.map(|name| fields.get(name).cloned().unwrap_or_default()),
        }
    }

    /// Returns the first field of the terms in which the two headers differ: its name, and both
    /// values.
    #[must_use]
    pub fn difference<'a>(&'a self, other: &'a Self) -> Option<(&'static str, &'a str, &'a str)> {
        let values = self.terms.iter().zip(&other.terms);
        let mut fields =
            TERM_FIELDS.into_iter().zip(values).map(|(name, (a, b))| (name, a.as_str(), b.as_str()));
        fields.find(|(_, a, b)| a != b)
    }

    /// Returns the value of a field of the recipe.
    pub(crate) fn term_field(&self, name: &str) -> Option<&str> {
        TERM_FIELDS.iter().position(|&field| field == name).map(|i| self.terms[i].as_str())
    }

    /// Reads the header, up to the first term.
    pub(super) fn read(lines: &mut Lines<impl BufRead>) -> Result<Self, ReadError> {
        match lines.next()?.strip_prefix(MAGIC) {
            Some(VERSION) => {}
            Some(_) => return Err(lines.error("this program reads version 1 only")),
            None => return Err(lines.error("expected `# pigeonhole document frequencies 1`")),
        }
        let (n_documents, min_df) = (number(lines, N_DOCUMENTS)?, number(lines, MIN_DF)?);
        let mut terms = TERM_FIELDS.map(|_| String::new());
        let mut version = 1;
        for (name, place) in TERM_FIELDS.into_iter().zip(&mut terms) {
            if field::is_of(version, name) {
                value(lines, name)?.clone_into(place);
            }
            if name == field::VERSION {
                version = place.parse().map_err(|_| lines.error("expected a whole number after the name"))?;
            }
        }
        Ok(Self { n_documents, min_df, terms })
    }
}

fn number(lines: &mut Lines<impl BufRead>, name: &str) -> Result<u64, ReadError> {
    value(lines, name)?.parse().map_err(|_| lines.error("expected a whole number after the name"))
}

/// Returns the value after the name in the next line.
fn value<'l>(lines: &'l mut Lines<impl BufRead>, name: &str) -> Result<&'l str, ReadError> {
    lines.next()?;
    let value =
        lines.present().strip_prefix("# ").and_then(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.ok_or_else(|| lines.error("the header is damaged"))
}

/// The lines of the header.
impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{MAGIC}{VERSION}")?;
        writeln!(f, "# {N_DOCUMENTS} {}", self.n_documents)?;
        writeln!(f, "# {MIN_DF} {}", self.min_df)?;
        let mut fields = TERM_FIELDS.iter().zip(&self.terms).filter(|(_, value)| !value.is_empty());
        fields.try_for_each(|(name, value)| writeln!(f, "# {name} {value}"))
    }
}
