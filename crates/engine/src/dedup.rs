//! Which documents of a run stay: the store's insert-if-new, one document after another, and what is about the run alone: an
//! id that it has kept already.
//!
//! Nothing here reads files, writes them or holds a text. In what order documents come is the caller's to say: that of a
//! corpus, or the best first, so that every dropped one is near to a kept one that is at least as good.

mod known_ids;

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use index::{DocumentId, Error, Features, Index, MAX_BATCH, Match, Nearness, Source};
use minhash::Similarity;
use simhash::{Distance, Fingerprint};

pub use self::known_ids::KnownIds;

/// What becomes of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It stays, if only because it has no features.
    Kept,
    /// It is dropped.
    Duplicate {
        /// Its own.
        fingerprint: Fingerprint,
        /// What it is dropped for.
        of: Original,
    },
}

/// Of which document another is a near-duplicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    /// Its name.
    pub id: DocumentId,
    /// That under which it was found.
    pub fingerprint: Fingerprint,
    /// How near the two are.
    pub nearness: Nearness,
    /// Whether this run has kept it, and not one before.
    pub in_this_run: bool,
}

/// A document about which it has not been decided.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its name.
    pub id: &'a DocumentId,
    /// `None` where its text has no features; then there is nothing to drop it for.
    pub features: Option<&'a Features>,
    /// Where it came from, if that is known.
    pub source: Option<&'a Source>,
}

/// The documents that a run has kept so far, by which it decides about the next.
///
/// ```
/// use pigeonhole_engine::dedup::{Candidate, Kept, Verdict};
/// use pigeonhole_engine::{Engine, Options};
/// use index::DocumentId;
///
/// let engine = Engine::open("memory:", &Options::default())?;
/// let texts = ["The harbour office closes at noon.", "the harbour office closes at noon", "A dog ran past."];
/// let ids: Vec<DocumentId> = ["a", "b", "c"].into_iter().map(|id| id.parse()).collect::<Result<_, _>>()?;
/// let features = engine.features(&texts);
/// let candidates: Vec<Candidate<'_>> = ids
///     .iter()
///     .zip(&features)
///     .map(|(id, features)| Candidate { id, features: features.as_ref(), source: None })
///     .collect();
/// let verdicts = Kept::default().decide(engine.index(), &candidates)?;
/// assert_eq!((&verdicts[0], &verdicts[2]), (&Some(Verdict::Kept), &Some(Verdict::Kept)));
/// assert!(matches!(&verdicts[1], Some(Verdict::Duplicate { of, .. }) if of.id == ids[0] && of.in_this_run));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Memory: the id and a hash of the features of each kept document.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    known_ids: KnownIds,
    /// A hash of the features under each id; none where it had none.
    hashes: HashMap<DocumentId, Option<u64>>,
}

impl Kept {
    /// Nothing kept yet, by a run to which an id of an earlier one means this.
    #[must_use]
    pub fn new(known_ids: KnownIds) -> Self {
        Self { known_ids, hashes: HashMap::new() }
    }

    /// What an id means that the index has from an earlier run.
    #[must_use]
    pub fn known_ids(&self) -> KnownIds {
        self.known_ids
    }

    /// Notes what was kept before, which must be in the index.
    pub fn note(&mut self, id: DocumentId, features: Option<&Features>) {
        self.hashes.insert(id, features.map(hash));
    }

    /// Decides about documents, each before those after it, and takes into the index what is kept. `None` is for one whose
    /// id stands for another text that is kept.
    ///
    /// # Errors
    /// Those of the store. What was kept before the failure is in the index, and a later call of this run may find it there
    /// as a document of an earlier one.
    pub fn decide(
        &mut self,
        index: &Index,
        candidates: &[Candidate<'_>],
    ) -> index::Result<Vec<Option<Verdict>>> {
        let (known_ids, mut verdicts) = (self.known_ids, Vec::with_capacity(candidates.len()));
        let mut rest = candidates;
        while !rest.is_empty() {
            let (batch, later) = rest.split_at(batch_len(rest.iter().map(|next| next.id), MAX_BATCH));
            let insert_if_new = |new: &[Candidate<'_>]| known_ids.insert_if_new(index, new);
            verdicts.extend(self.decide_batch(batch.iter().copied(), insert_if_new)?);
            rest = later;
        }
        Ok(verdicts)
    }

    /// As [`decide`](Self::decide), where `insert_if_new` makes the call of the store, as [`KnownIds`] does: it is
    /// given those whose ids this run has not kept, takes in those that are new, and answers for each that has features
    /// with the document that keeps it out. No id may be among the candidates twice ([`batch_len`]): what its second
    /// use stands for is known only once its first has been decided.
    ///
    /// # Errors
    /// Those of `insert_if_new`, and `Internal` where it answers for fewer documents than it was given.
    pub fn decide_batch<'a, E: From<Error>>(
        &mut self,
        candidates: impl Iterator<Item = Candidate<'a>> + Clone,
        insert_if_new: impl FnOnce(&[Candidate<'a>]) -> Result<Vec<Option<Match>>, E>,
    ) -> Result<Vec<Option<Verdict>>, E> {
        let is_new = |candidate: &Candidate<'_>| !self.hashes.contains_key(candidate.id);
        let new: Vec<_> = candidates.clone().filter(is_new).collect();
        let mut nearest = insert_if_new(&new)?.into_iter();
        let mut verdicts = Vec::new();
        for Candidate { id, features, .. } in candidates {
            let verdict = match (self.hashes.get(id), features) {
                (Some(earlier), Some(features)) if *earlier == Some(hash(features)) => {
                    let fingerprint = features.fingerprint();
                    let similarity = features.signature.as_ref().map(|_| Similarity::ONE);
                    let nearness = Nearness { similarity, distance: Distance::ZERO };
                    let of = Original { id: id.clone(), fingerprint, nearness, in_this_run: true };
                    Some(Verdict::Duplicate { fingerprint, of })
                }
                (Some(_), _) => None,
                // Nothing to compare it by, so nothing to drop it for.
                (None, None) => Some(Verdict::Kept),
                (None, Some(features)) => {
                    let found = nearest.next().ok_or_else(known_ids::too_few)?;
                    Some(found.map_or(Verdict::Kept, |found| Verdict::Duplicate {
                        fingerprint: features.fingerprint(),
                        of: Original {
                            in_this_run: self.hashes.contains_key(&found.id),
                            nearness: found.nearness(),
                            id: found.id,
                            fingerprint: found.fingerprint,
                        },
                    }))
                }
            };
            if matches!(verdict, Some(Verdict::Kept)) {
                self.note(id.clone(), features);
            }
            verdicts.push(verdict);
        }
        Ok(verdicts)
    }
}

/// Equal for equal features, in every process.
fn hash(features: &Features) -> u64 {
    let mut hasher = DefaultHasher::new();
    features.hash(&mut hasher);
    hasher.finish()
}

/// How many of these come before the first id that comes again, and before `n_max`: about so many can be decided at once.
pub fn batch_len<'a>(ids: impl IntoIterator<Item = &'a DocumentId>, n_max: usize) -> usize {
    let mut seen = HashSet::new();
    ids.into_iter().take(n_max).take_while(|&id| seen.insert(id)).count()
}

#[cfg(test)]
mod tests {
    use index::{ErrorKind, OpenOptions};

    use super::*;

    #[test]
    fn an_id_stands_for_the_first_text_that_is_kept_under_it() {
        let index = crate::open_index("memory:", &OpenOptions::default()).unwrap();
        let [old, a, b] = ["old", "a", "b"].map(|id| id.parse::<DocumentId>().unwrap());
        index.insert(&[(old.clone(), Fingerprint(0xff << 40))]).unwrap();
        let known = [0, 1, 0xff, 0xff << 20, 0xff << 40, 0xfe << 40]
            .map(|bits| (bits, Features::from(Fingerprint(bits))));
        let known = HashMap::from(known);
        let of =
            |id, bits: Option<u64>| Candidate { id, features: bits.map(|bits| &known[&bits]), source: None };
        let candidates = [
            of(&a, Some(0)),
            of(&b, Some(1)),
            of(&a, Some(0)),
            of(&a, Some(0xff)),
            of(&b, None),
            of(&b, Some(0xff << 20)),
            of(&old, Some(0xff << 40)),
            of(&old, None),
        ];
        let verdicts = Kept::default().decide(&index, &candidates).unwrap();
        let shown = verdicts.iter().map(|verdict| match verdict {
            None => "another text".to_owned(),
            Some(Verdict::Kept) => "kept".to_owned(),
            Some(Verdict::Duplicate { of, .. }) => {
                format!("{} {} {}", of.nearness.distance, of.id, of.in_this_run)
            }
        });
        let expected =
            ["kept", "1 a true", "0 a true", "another text", "kept", "another text", "kept", "another text"];
        assert!(shown.eq(expected));
        // Against what an earlier run has kept.
        let verdicts = Kept::default().decide(&index, &[of(&b, Some(0xfe << 40))]).unwrap();
        assert!(
            matches!(&verdicts[..], [Some(Verdict::Duplicate { of, .. })] if of.id == old && !of.in_this_run)
        );
    }

    #[test]
    fn a_batch_ends_before_an_id_that_comes_again() {
        let ids = ["a", "b", "a", "c"].map(|id| id.parse::<DocumentId>().unwrap());
        for (n_max, expected) in [(0, 0), (1, 1), (2, 2), (3, 2), (9, 2)] {
            assert_eq!(batch_len(&ids, n_max), expected);
        }
        assert_eq!(batch_len(&ids[1..], 9), 3);
        assert_eq!(batch_len(&[], 9), 0);
    }

    #[test]
    fn answers_that_are_missing_are_an_error() {
        let a: DocumentId = "a".parse().unwrap();
        let features = Features::from(Fingerprint(0));
        let candidate = Candidate { id: &a, features: Some(&features), source: None };
        let decided = Kept::default().decide_batch([candidate].into_iter(), |_| Ok::<_, Error>(Vec::new()));
        assert_eq!(decided.unwrap_err().kind(), ErrorKind::Internal);
    }
}
