//! Predicts the share of duplicates among the next documents from that of the last ones.

use std::sync::atomic::{AtomicU32, Ordering};

use index::Insertion;

use super::buckets::Reach;

/// The fewest documents of which a share is taken. Smaller batches search all buckets: the number
/// of requests is the same.
const BATCH_MIN: usize = 16;

/// The share of duplicates, in parts of 65,536, from which a look goes to all buckets at once. A
/// glance saves three quarters of a look for a new document; for a duplicate that the glance meets,
/// it costs a quarter more.
const SHARE_MAX: u32 = 65_536 / 4;

/// The share of duplicates below which a look goes only where a tier has something near. It saves a
/// new document a fifth of the buckets that it reads; a duplicate of a younger document is claimed
/// and withdrawn.
const SHARE_FEW: u32 = 65_536 / 16;

/// The share of duplicates among the documents inserted last, in parts of 65,536: half of the
/// weight is the last batch's.
pub(super) struct Outlook(AtomicU32);

impl Default for Outlook {
    fn default() -> Self {
        Self(AtomicU32::new(65_536 / 2))
    }
}

impl Outlook {
    /// Returns the buckets to search for duplicates of `n_documents` before they are claimed. The
    /// search after the claim reads all buckets in any case: the choice affects time alone.
    pub(super) fn reach(&self, n_documents: usize) -> Reach {
        match self.0.load(Ordering::Relaxed) {
            share if share >= SHARE_MAX || n_documents < BATCH_MIN => Reach::All,
            share if share >= SHARE_FEW => Reach::Glance,
            _ => Reach::Older,
        }
    }

    /// Notes the results of a batch.
    pub(super) fn note(&self, insertions: &[Insertion]) {
        if insertions.len() < BATCH_MIN {
            return;
        }
        let is_duplicate = |insertion: &&Insertion| matches!(insertion, Insertion::Duplicate(_));
        let share = insertions.iter().filter(is_duplicate).count() * 65_536 / insertions.len();
        // Batches that end at the same time count as one.
        self.0.store((self.0.load(Ordering::Relaxed) + share as u32) / 2, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use index::{DocumentId, Match, Nearness};
    use simhash::{Distance, Fingerprint};

    use super::*;

    #[test]
    fn what_was_new_is_expected_to_be() {
        let id = DocumentId::new("a").unwrap();
        let near = Nearness::by_distance(Distance::of_differing(1));
        let duplicate = Insertion::Duplicate(Match::new(id, Fingerprint(1), near));
        let (new, old) = (vec![Insertion::Inserted; 100], vec![duplicate; 100]);
        let outlook = Outlook::default();
        assert_eq!(outlook.reach(100), Reach::All);
        outlook.note(&new);
        outlook.note(&new);
        assert_eq!(outlook.reach(100), Reach::Glance);
        outlook.note(&new);
        outlook.note(&new);
        assert_eq!(outlook.reach(100), Reach::Older);
        // A small batch changes nothing, and has nothing to gain.
        assert_eq!(outlook.reach(BATCH_MIN - 1), Reach::All);
        outlook.note(&old[..BATCH_MIN - 1]);
        assert_eq!(outlook.reach(100), Reach::Older);
        outlook.note(&old);
        assert_eq!(outlook.reach(100), Reach::All);
    }
}
