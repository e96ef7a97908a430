//! What a run did, in the end.

use std::fmt;
use std::time::Duration;

use crate::numbers::{Grouped, megabytes, megabytes_per_second};

/// Counts of one run. Every record read is in exactly one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) counts: Counts,
    pub(crate) n_without_features: u64,
    pub(crate) n_rejected: u64,
    /// Of the texts, in UTF-8.
    pub(crate) n_text_bytes: u64,
    pub(crate) time: Duration,
}

/// What became of the documents that have a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    Fingerprinted { n: u64 },
    Indexed { n_new: u64, n_unchanged: u64, n_replaced: u64 },
    Deduplicated { n_kept: u64, n_duplicates: u64 },
}

impl Default for Counts {
    fn default() -> Self {
        Self::Fingerprinted { n: 0 }
    }
}

impl Counts {
    fn rows(&self) -> Vec<(&'static str, u64)> {
        match *self {
            Self::Fingerprinted { n } => vec![("fingerprinted", n)],
            Self::Indexed { n_new, n_unchanged, n_replaced } => {
                vec![("indexed", n_new), ("unchanged", n_unchanged), ("replaced", n_replaced)]
            }
            Self::Deduplicated { n_kept, n_duplicates } => {
                vec![("kept", n_kept), ("duplicates", n_duplicates)]
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.counts.rows();
        let n_read = rows.iter().map(|(_, n)| n).sum::<u64>() + self.n_without_features + self.n_rejected;
        writeln!(f, "read          {:>12}", Grouped(n_read))?;
        for (name, n) in rows {
            writeln!(f, "{name:<13} {:>12}", Grouped(n))?;
        }
        let without = match self.counts {
            Counts::Fingerprinted { .. } => "",
            Counts::Indexed { .. } => "  (not indexed; the --rejects file names them)",
            Counts::Deduplicated { .. } => "  (kept)",
        };
        writeln!(
            f,
            "no features   {:>12}{}",
            Grouped(self.n_without_features),
            if self.n_without_features > 0 { without } else { "" }
        )?;
        writeln!(f, "rejected      {:>12}", Grouped(self.n_rejected))?;
        writeln!(
            f,
            "seconds       {:>12.2}  ({:.1} MB of text, {:.1} MB/s)",
            self.time.as_secs_f64(),
            megabytes(self.n_text_bytes),
            megabytes_per_second(self.n_text_bytes, self.time)
        )
    }
}
