//! A warning about runs of mostly short texts, of which a classic index misses many
//! near-duplicates.
//!
//! A different word moves the more bits of a simhash the shorter its text is, so simhashes alone
//! find few of the short near-duplicates. In the measured corpora, they find .08 to .54 of the
//! near-duplicates if the median text has fewer than 1,000 characters. They find .77 to .95 if it
//! has 3,400 and more (one of three if there are no more). Of pieces of one length they find .33 to
//! .64 at 250 characters, .53 to .76 at 1,000 and .75 to .89 at 2,000 (docs/src/measured.md,
//! "What a simhash sees"). Thus at 1,000 characters they miss a quarter at least.

use index::{Index, Profile};

use crate::numbers::Grouped;
use crate::progress::complain;
use crate::report::Report;

/// Texts of fewer characters are short.
pub(crate) const SHORT: usize = 1_000;

/// Least number of documents for a warning: a trial or a sample says little about a corpus.
const DOCUMENTS_MIN: u64 = 1_000;

/// Returns true if an index misses short near-duplicates, so that their number matters.
pub(crate) fn matter(index: &Index) -> bool {
    index.kind().profile() == Profile::Classic
}

/// Warns about a run over mostly short texts, with a better profile. `uri` is the place of an index
/// that outlives the run, and so keeps its profile.
pub(crate) fn warn(report: &Report, uri: Option<&str>) {
    if let Some(what) = warning(report.n_read, report.n_short, uri) {
        complain(format_args!("{what}"));
    }
}

/// The warning, if any. `n_short` is 0 for an index to which short texts do not matter.
fn warning(n_read: u64, n_short: u64, uri: Option<&str>) -> Option<String> {
    if n_read < DOCUMENTS_MIN || n_short * 2 <= n_read {
        return None;
    }
    let what_to_do = match uri {
        None => "run it with --profile full".to_owned(),
        Some(uri) => format!("{uri} keeps its profile, so make a new index with --profile full"),
    };
    Some(format!(
        "{} of {} records have texts of fewer than {} characters, and there profile classic misses a quarter of the \
         near-duplicates or more; {what_to_do}, or with what `pigeonhole tune FILE -o pigeonhole.toml` chooses (--config \
         pigeonhole.toml)",
        Grouped(n_short),
        Grouped(n_read),
        Grouped(SHORT as u64),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_of_many_documents_of_which_most_are_short() {
        for (n_read, n_short, is_said) in [
            (0, 0, false),
            (999, 999, false),
            (1_000, 500, false),
            (1_000, 501, true),
            (1_000_000, 500_000, false),
            (1_000_000, 1_000_000, true),
        ] {
            assert_eq!(warning(n_read, n_short, None).is_some(), is_said, "{n_short} of {n_read}");
        }
        let [new, kept] = [None, Some("embedded:a")].map(|uri| warning(2_000, 1_999, uri).unwrap());
        let begin = "1,999 of 2,000 records have texts of fewer than 1,000 characters";
        assert!(new.starts_with(begin) && new.contains("; run it with --profile full, or"), "{new}");
        assert!(
            kept.starts_with(begin) && kept.contains("; embedded:a keeps its profile, so make a new"),
            "{kept}"
        );
    }
}
