//! The results of a run.

use std::fmt;
use std::ops::AddAssign;
use std::time::Duration;

use corpus::LeftOut;
use serde::{Deserialize, Serialize};

use crate::numbers::{Grouped, is_zero, megabytes, megabytes_per_second};

/// Counts of one run. Each record is passed over, or read and in exactly one of the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) counts: Counts,
    pub(crate) n_read: u64,
    pub(crate) n_rejected: u64,
    /// Records that hold no document, such as requests in WARC.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) n_passed_over: u64,
    /// Pages in which no main text was found, and of which all text was taken.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) n_whole_pages: u64,
    /// Bytes of all texts in UTF-8.
    pub(crate) n_text_bytes: u64,
    /// Records with [short](crate::short_texts::SHORT) texts, if these are counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) n_short: u64,
    /// Files that were found and not read.
    #[serde(default, skip_serializing_if = "LeftOut::is_empty")]
    pub(crate) left_out: LeftOut,
    pub(crate) time: Duration,
}

/// Counts of the documents that were not rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Counts {
    Fingerprinted { n: u64, n_without_features: u64 },
    Indexed(Indexed),
    Deduplicated(Deduplicated),
    Counted { n: u64, n_without_features: u64, frequencies: Frequencies },
}

/// Counts of an indexing run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Indexed {
    pub(crate) n_new: u64,
    pub(crate) n_unchanged: u64,
    pub(crate) n_replaced: u64,
    /// Documents of the index whose text has no features any more.
    pub(crate) n_removed: u64,
    pub(crate) n_without_features: u64,
}

/// Counts of a deduplication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Deduplicated {
    pub(crate) n_kept: u64,
    pub(crate) n_duplicates: u64,
    /// Also kept.
    pub(crate) n_without_features: u64,
    /// Documents without a rank, kept or dropped; `None` unless ranks decide.
    pub(crate) n_unranked: Option<u64>,
    /// Duplicates near to the index's document of their own id; `None` unless ids are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) n_unchanged: Option<u64>,
    /// Duplicates with other numbers than the document that stays.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) n_numbers_differ: u64,
    /// Duplicates with a fifth or more of their text in no document that stays for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) n_text_lost: u64,
    /// Duplicates contained in the document that stays, but not similar to it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) n_contained: u64,
    /// Duplicates repeated under the same id.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) n_repeated: u64,
    /// `None` without `--clusters`.
    pub(crate) clusters: Option<Clustered>,
}

/// Counts of clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Clustered {
    /// Number of written clusters.
    pub(crate) n: u64,
    /// Clusters with two documents that are not near, before they are split.
    pub(crate) n_chained: u64,
    pub(crate) is_split: bool,
}

/// Counts of a file of document frequencies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Frequencies {
    pub(crate) n_documents: u64,
    pub(crate) n_terms: u64,
    /// Least number of documents of a written term.
    pub(crate) min_df: u64,
    pub(crate) n_written: u64,
    /// SHA-256 of the file, by which a recipe names it.
    pub(crate) digest: String,
}

impl AddAssign for Indexed {
    fn add_assign(&mut self, more: Self) {
        self.n_new += more.n_new;
        self.n_unchanged += more.n_unchanged;
        self.n_replaced += more.n_replaced;
        self.n_removed += more.n_removed;
        self.n_without_features += more.n_without_features;
    }
}

impl AddAssign for Deduplicated {
    fn add_assign(&mut self, more: Self) {
        self.n_kept += more.n_kept;
        self.n_duplicates += more.n_duplicates;
        self.n_without_features += more.n_without_features;
        self.n_numbers_differ += more.n_numbers_differ;
        self.n_text_lost += more.n_text_lost;
        self.n_contained += more.n_contained;
        self.n_repeated += more.n_repeated;
    }
}

impl AddAssign<&Report> for Report {
    fn add_assign(&mut self, more: &Self) {
        let mut counts = self.counts.deduplicated();
        counts += more.counts.deduplicated();
        self.counts = Counts::Deduplicated(counts);
        self.n_read += more.n_read;
        self.n_rejected += more.n_rejected;
        self.n_passed_over += more.n_passed_over;
        self.n_whole_pages += more.n_whole_pages;
        self.n_text_bytes += more.n_text_bytes;
        self.n_short += more.n_short;
        self.time += more.time;
    }
}

impl Report {
    /// The counts of the records in one line.
    pub(crate) fn summary(&self) -> String {
        let rows = self.counts.rows().into_iter().map(|(name, n, _)| (name, n));
        let rows = rows.chain([("rejected", self.n_rejected)]);
        rows.map(|(name, n)| format!("{} {name}", Grouped(n))).collect::<Vec<_>>().join(", ")
    }
}

impl Counts {
    /// The counts of a deduplication; zeros for other runs.
    pub(crate) fn deduplicated(&self) -> Deduplicated {
        if let Self::Deduplicated(counts) = self { *counts } else { Deduplicated::default() }
    }

    /// Rows of name, number, and a remark for numbers other than 0.
    fn rows(&self) -> Vec<(&'static str, u64, &'static str)> {
        match *self {
            Self::Fingerprinted { n, n_without_features } => {
                vec![("fingerprinted", n, ""), ("no features", n_without_features, "")]
            }
            Self::Indexed(indexed) => vec![
                ("indexed", indexed.n_new, ""),
                ("unchanged", indexed.n_unchanged, ""),
                ("replaced", indexed.n_replaced, ""),
                ("removed", indexed.n_removed, "their text has no features any more"),
                ("no features", indexed.n_without_features, "not indexed"),
            ],
            Self::Deduplicated(counts) => {
                let unchanged = |n| ("  unchanged", n, "of these: near to their own earlier versions");
                // A row appears only for a number other than 0.
                let some = |name, n, remark| (n > 0).then_some((name, n, remark));
                let numbers = "of these: --same-numbers keeps them";
                let contained = "of these: parts of documents that stay, by --contained";
                let lost = "of these: a fifth of it and more is in nothing that stays; see --keep longest";
                [("kept", counts.n_kept, ""), ("duplicates", counts.n_duplicates, "")]
                    .into_iter()
                    .chain(counts.n_unchanged.map(unchanged))
                    .chain(some("  same id", counts.n_repeated, "of these: the same text under the same id"))
                    .chain(some("  contained", counts.n_contained, contained))
                    .chain(some("  numbers", counts.n_numbers_differ, numbers))
                    .chain(some("  text lost", counts.n_text_lost, lost))
                    .chain([(
                        "no features",
                        counts.n_without_features,
                        "kept too: there is nothing to compare them by",
                    )])
                    .collect()
            }
            Self::Counted { n, n_without_features, .. } => {
                vec![("counted", n, ""), ("no features", n_without_features, "not counted")]
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "read          {:>12}", Grouped(self.n_read))?;
        for (name, n, remark) in self.counts.rows() {
            write!(f, "{name:<13} {:>12}", Grouped(n))?;
            if n > 0 && !remark.is_empty() {
                write!(f, "  ({remark})")?;
            }
            writeln!(f)?;
        }
        writeln!(f, "rejected      {:>12}", Grouped(self.n_rejected))?;
        for (name, n, remark) in [
            ("passed over", self.n_passed_over, "records of WARC without a page or a text"),
            ("whole pages", self.n_whole_pages, "no main text was found in them, so all of it was taken"),
        ] {
            if n > 0 {
                writeln!(f, "{name:<13} {:>12}  ({remark})", Grouped(n))?;
            }
        }
        if !self.left_out.is_empty() {
            let (n, endings) = (self.left_out.n(), self.left_out.by_ending());
            writeln!(f, "left out      {:>12}  (files that were not read: {endings})", Grouped(n))?;
        }
        if let Counts::Deduplicated(Deduplicated { clusters: Some(clusters), .. }) = self.counts {
            write!(f, "{clusters}")?;
        }
        if let Counts::Counted { frequencies, .. } = &self.counts {
            write!(f, "{frequencies}")?;
        }
        // Indexed documents without texts came with their features.
        if let Counts::Indexed(Indexed { n_new, n_unchanged, n_replaced, .. }) = self.counts
            && self.n_text_bytes == 0
            && n_new + n_unchanged + n_replaced > 0
        {
            let seconds = self.time.as_secs_f64();
            let per_second = (self.n_read as f64 / seconds.max(1e-3)) as u64;
            return writeln!(f, "seconds       {seconds:>12.2}  ({} documents/s)", Grouped(per_second));
        }
        writeln!(
            f,
            "seconds       {:>12.2}  ({:.1} MB of text, {:.1} MB/s)",
            self.time.as_secs_f64(),
            megabytes(self.n_text_bytes),
            megabytes_per_second(self.n_text_bytes, self.time)
        )
    }
}

impl fmt::Display for Clustered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "clusters      {:>12}", Grouped(self.n))?;
        let remark = match (self.n_chained, self.is_split) {
            (0, _) => "",
            (_, false) => "  (some of their documents are not near each other; --chains split parts them)",
            (_, true) => "  (split around the documents that stay)",
        };
        writeln!(f, "chained       {:>12}{remark}", Grouped(self.n_chained))
    }
}

impl fmt::Display for Frequencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "terms         {:>12}", Grouped(self.n_terms))?;
        write!(f, "written       {:>12}", Grouped(self.n_written))?;
        if self.min_df > 1 {
            write!(f, "  (of at least {} documents)", Grouped(self.min_df))?;
        }
        writeln!(f, "\ndigest        {}", self.digest)
    }
}
