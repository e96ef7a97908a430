//! Signs of a wrong run. Each is reported once on stderr with a command for a closer look, and kept
//! for the report.

use engine::dedup::Original;
use index::{DocumentId, Index};

use crate::numbers::Grouped;
use crate::progress::complain;
use crate::report::Deduplicated;
use crate::top::Top;

/// Runs of fewer documents have no large groups.
const DOCUMENTS_MIN: u64 = 10_000;

/// A document that keeps out more than one in `SHARE_MAX` documents is doubtful: a page of errors,
/// or an empty form.
const SHARE_MAX: u64 = 1_000;

/// Bound on the counted ids of documents that keep others out.
const COUNTED_MAX: usize = 10_000;

/// Number of first documents looked up in the index.
const LOOKED_UP: usize = 2_000;

/// Counts of the documents that keep most others out, and the reported doubts.
pub(crate) struct Doubts {
    originals: Top<DocumentId>,
    said: Vec<String>,
}

impl Default for Doubts {
    fn default() -> Self {
        Self { originals: Top::new(COUNTED_MAX), said: Vec::new() }
    }
}

impl Doubts {
    /// Counts a document that keeps another one out.
    pub(crate) fn add(&mut self, of: &Original) {
        self.originals.add(of.id.clone());
    }

    /// The document that keeps out more than a thousandth of the run, with the number of those kept
    /// out.
    fn swallows(&self, n_documents: u64) -> Option<(DocumentId, u64)> {
        let most = self.originals.first(1).pop();
        most.filter(|&(_, n)| n_documents >= DOCUMENTS_MIN && n > n_documents / SHARE_MAX)
    }

    /// Reports a doubt, if there is one.
    pub(crate) fn say(&mut self, doubt: Option<String>) {
        if let Some(doubt) = doubt {
            complain(format_args!("{doubt}"));
            self.said.push(doubt);
        }
    }

    /// The reported doubts.
    pub(crate) fn said(&self) -> &[String] {
        &self.said
    }

    /// Reports, at the end of a run, a document that keeps many others out.
    pub(crate) fn say_swallowing(&mut self, counts: &Deduplicated) {
        let n_documents = counts.n_kept + counts.n_duplicates + counts.n_without_features;
        self.say(self.swallows(n_documents).map(|(id, n)| {
            let id = id.as_str();
            format!(
                "document {id:?} keeps {} others out, more than a thousandth of the run: look at them with --duplicates FILE \
                 or --report FILE.html; --min-similarity and --same-numbers ask for more",
                Grouped(n)
            )
        }));
    }
}

/// The doubt that an index knows most ids of the run: documents of an earlier run, or of this
/// corpus indexed before. `None` if it knows few.
///
/// # Errors
/// Those of the index.
pub(crate) fn known_ids(index: &Index, ids: &[DocumentId]) -> index::Result<Option<String>> {
    let ids = &ids[..ids.len().min(LOOKED_UP)];
    let n_known = index.get(ids)?.iter().filter(|stored| stored.is_some()).count();
    Ok(are_mostly_known(n_known, ids.len()).then(|| {
        format!(
            "the index knows {n_known} of the first {} ids, and what it has under its own id is no duplicate: see \
             --known-ids, which compares or replaces them",
            ids.len()
        )
    }))
}

fn are_mostly_known(n_known: usize, n_ids: usize) -> bool {
    n_ids >= 10 && 2 * n_known > n_ids
}

#[cfg(test)]
mod tests {
    use index::Nearness;
    use simhash::Fingerprint;

    use super::*;

    #[test]
    fn one_that_swallows_a_thousandth_is_named() {
        let of = |id: &str| Original {
            id: id.parse().unwrap(),
            fingerprint: Fingerprint(0),
            nearness: Nearness::same(true),
            in_this_run: true,
        };
        let mut doubts = Doubts::default();
        (0..12).for_each(|_| doubts.add(&of("error page")));
        (0..30).for_each(|n| doubts.add(&of(&format!("page {n}"))));
        for (n_documents, expected) in [(9_999, None), (10_000, Some(12)), (12_000, None)] {
            assert_eq!(doubts.swallows(n_documents).map(|(_, n)| n), expected, "{n_documents}");
        }
    }

    #[test]
    fn an_index_that_knows_most_ids_is_told() {
        for (n_known, n_ids, expected) in [(3, 4, false), (5, 10, false), (6, 10, true), (1_990, 2_000, true)]
        {
            assert_eq!(are_mostly_known(n_known, n_ids), expected, "{n_known} of {n_ids}");
        }
    }
}
