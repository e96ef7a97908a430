//! The choice of the documents kept by a run: the store's insert-if-new, one document after
//! another, and the ids kept by this run already.
//!
//! Nothing here reads files, writes files or holds a text. The caller sets the order: the order of
//! a corpus, or the best first, which makes each dropped document near to a kept one at least as
//! good.

mod known_ids;
pub mod rounds;
mod spilled;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU64;

use features::shingles::{Grams, TextSketcher};
use features::{NormalForm, Recipe};
use index::{DocumentId, Error, Features, Index, MAX_BATCH, Match, Nearness, Source, Text};
use minhash::Signature;
use simhash::Fingerprint;

use crate::counting::grams;

pub use self::known_ids::{Foreseen, KnownIds};
pub(crate) use self::spilled::SpilledStore;
pub use self::spilled::{Decided, Spilled};

/// The decision on a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The document stays; one without features always does.
    Kept,
    /// The document is dropped.
    Duplicate {
        /// The fingerprint of the dropped document.
        fingerprint: Fingerprint,
        /// The document for which it is dropped.
        of: Original,
    },
}

/// The document of which another is a near-duplicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    /// The id.
    pub id: DocumentId,
    /// The fingerprint under which it was found.
    pub fingerprint: Fingerprint,
    /// The nearness of the two documents.
    pub nearness: Nearness,
    /// True if this run kept the document, false if an earlier run did.
    pub in_this_run: bool,
}

impl Verdict {
    /// The decision on a document with these features to which a kept one was found near.
    fn duplicate(features: &Features, found: Match, in_this_run: bool) -> Self {
        let Match { id, fingerprint, nearness, .. } = found;
        let of = Original { id, fingerprint, nearness, in_this_run };
        Self::Duplicate { fingerprint: features.fingerprint(), of }
    }
}

/// A document to decide about.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The id.
    pub id: &'a DocumentId,
    /// `None` if the text has no features; such a document is never dropped.
    pub features: Option<&'a Features>,
    /// The origin of the text, if known.
    pub source: Option<&'a Source>,
}

/// The documents kept by a run so far, against which the next ones are decided.
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
/// Memory: the id of each kept document, and hashes of its features and its text.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    known_ids: KnownIds,
    /// The form in which texts under one id are compared.
    form: NormalForm,
    hashes: HashMap<DocumentId, Hashes>,
    /// Hashes of the ids that come again in this run; `None` where that is not known. Of other ids
    /// nothing is held.
    ids_again: Option<HashSet<u64>>,
}

/// Hashes of a kept document, which recognize another arrival of the same document.
#[derive(Clone, Copy, Debug)]
struct Hashes {
    /// `None` if the document had no features.
    features: Option<NonZeroU64>,
    /// `None` if the text was not at hand.
    text: Option<NonZeroU64>,
}

impl Kept {
    /// Makes an empty set. `known_ids` sets the meaning of an id from an earlier run.
    #[must_use]
    pub fn new(known_ids: KnownIds) -> Self {
        Self { known_ids, ..Self::default() }
    }

    /// The same set, which compares texts in the normal form of this recipe.
    #[must_use]
    pub fn with_recipe(self, recipe: &BTreeMap<String, String>) -> Self {
        Self { form: Recipe::from_fields(recipe).map_or(self.form, |recipe| recipe.normal_form()), ..self }
    }

    /// The same set, for a run whose documents are all in `spilled`. It holds the ids that come
    /// again there, and no others.
    #[must_use]
    pub fn of_spilled(self, spilled: &Spilled) -> Self {
        Self { ids_again: Some(spilled.ids_again()), ..self }
    }

    /// The meaning of an id from an earlier run.
    #[must_use]
    pub fn known_ids(&self) -> KnownIds {
        self.known_ids
    }

    /// Notes a document kept before, which must be in the index.
    pub fn note(&mut self, id: DocumentId, features: Option<&Features>) {
        if self.ids_again.as_ref().is_some_and(|again| !again.contains(&hash(&id).get())) {
            return;
        }
        let text = features.and_then(|features| features.text.as_ref());
        let hashes = Hashes { features: features.map(hash), text: text.map(|text| hash(&**text)) };
        self.hashes.insert(id, hashes);
    }

    /// Decides about documents, each before the later ones, and inserts the kept ones into the
    /// index. `None` means a rejected document: another text was kept under its id. Another text
    /// has other features or, where texts are at hand, another normal form, even one made of the
    /// same n-grams and numbers.
    ///
    /// # Errors
    /// The errors of the store. Documents kept before the failure are in the index, and a later
    /// call of this run may find them there as documents of an earlier run.
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
            let texts = |ids: &[DocumentId]| index.texts(ids);
            verdicts.extend(self.decide_batch(batch.iter().copied(), texts, insert_if_new)?);
            rest = later;
        }
        Ok(verdicts)
    }

    /// As [`decide`](Self::decide), with the calls of the store made by the caller. `insert_if_new`
    /// works as [`KnownIds`] does: takes the candidates whose ids this run has not kept, inserts
    /// the new ones, and answers for each candidate with features with the document that keeps the
    /// candidate out. `texts` reads texts of the index, for records that come again with the same
    /// features and other bytes. No id may be among the candidates twice ([`batch_len`]): the
    /// decision on the first use settles the meaning of the second.
    ///
    /// # Errors
    /// The errors of `texts` and `insert_if_new`, and `Internal` if `insert_if_new` answers for
    /// fewer documents than given.
    pub fn decide_batch<'a, E: From<Error>>(
        &mut self,
        candidates: impl Iterator<Item = Candidate<'a>> + Clone,
        texts: impl FnOnce(&[DocumentId]) -> Result<Vec<Option<Text>>, E>,
        insert_if_new: impl FnOnce(&[Candidate<'a>]) -> Result<Vec<Option<Match>>, E>,
    ) -> Result<Vec<Option<Verdict>>, E> {
        let others = self.other_texts(candidates.clone(), texts)?;
        let is_new = |candidate: &Candidate<'_>| !self.hashes.contains_key(candidate.id);
        let new: Vec<_> = candidates.clone().filter(is_new).collect();
        let nearest = insert_if_new(&new)?;
        // A document may be dropped for one that comes after it.
        let with_features = new.iter().filter_map(|new| Some((new.id, new.features?)));
        let kept_now: HashMap<&DocumentId, &Features> =
            with_features.zip(&nearest).filter_map(|(new, near)| near.is_none().then_some(new)).collect();
        let is_kept_now = |found: &Match| {
            kept_now.get(&found.id).is_some_and(|features| features.fingerprint() == found.fingerprint)
        };
        let mut nearest = nearest.into_iter();
        let mut verdicts = Vec::new();
        for Candidate { id, features, .. } in candidates {
            let verdict = match (self.hashes.get(id), features) {
                (Some(earlier), Some(features))
                    if earlier.features == Some(hash(features)) && !others.contains(id) =>
                {
                    let fingerprint = features.fingerprint();
                    let numbers = features.signature.as_ref().and_then(Signature::numbers);
                    let nearness = Nearness {
                        numbers_differ: numbers.map(|_| false),
                        ..Nearness::same(features.signature.is_some())
                    };
                    let of = Original { id: id.clone(), fingerprint, nearness, in_this_run: true };
                    Some(Verdict::Duplicate { fingerprint, of })
                }
                (Some(_), _) => None,
                // A document without features cannot be compared, so it stays.
                (None, None) => Some(Verdict::Kept),
                (None, Some(features)) => {
                    let found = nearest.next().ok_or_else(known_ids::too_few)?;
                    Some(found.map_or(Verdict::Kept, |found| {
                        let in_this_run = self.ids_again.is_some()
                            || self.hashes.contains_key(&found.id)
                            || is_kept_now(&found);
                        Verdict::duplicate(features, found, in_this_run)
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

impl Kept {
    /// The ids of records that come again with the kept features but with another text: their sets
    /// are equal, as the sets of `a b a` and `a b` are.
    ///
    /// The kept text is read only if the bytes differ. A text no longer in the index counts as
    /// another one.
    fn other_texts<'a, E>(
        &self,
        candidates: impl Iterator<Item = Candidate<'a>>,
        texts: impl FnOnce(&[DocumentId]) -> Result<Vec<Option<Text>>, E>,
    ) -> Result<HashSet<DocumentId>, E> {
        let again: Vec<(&DocumentId, &Text, NonZeroU64)> = candidates
            .filter_map(|Candidate { id, features, .. }| {
                let (features, earlier) = (features?, self.hashes.get(id)?);
                let (text, of_earlier) = (features.text.as_ref()?, earlier.text?);
                let is_open = earlier.features == Some(hash(features)) && of_earlier != hash(&**text);
                is_open.then_some((id, text, of_earlier))
            })
            .collect();
        if again.is_empty() {
            return Ok(HashSet::new());
        }
        let ids: Vec<DocumentId> = again.iter().map(|(id, ..)| (*id).clone()).collect();
        let mut sketcher = TextSketcher::new(self.form);
        let mut is_other = |stored: Option<Text>, text: &Text, of_earlier: NonZeroU64| {
            stored.is_none_or(|stored| {
                let [kept, again] = [&stored, text].map(|text| grams(&mut sketcher, text));
                hash(&*stored) != of_earlier || !Grams::are_copies(&kept, &again)
            })
        };
        let stored = texts(&ids)?;
        let others = again.into_iter().zip(stored).filter_map(|((id, text, of_earlier), stored)| {
            is_other(stored, text, of_earlier).then(|| id.clone())
        });
        Ok(others.collect())
    }
}

/// A hash that is equal for equal values, in every process.
fn hash(hashed: &(impl Hash + ?Sized)) -> NonZeroU64 {
    let mut hasher = DefaultHasher::new();
    hashed.hash(&mut hasher);
    NonZeroU64::new(hasher.finish()).unwrap_or(NonZeroU64::MIN)
}

/// The length of the prefix in which no id comes twice, at most `n_max`: a batch that can be
/// decided at once.
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
        // Decided against the documents of an earlier run.
        let verdicts = Kept::default().decide(&index, &[of(&b, Some(0xfe << 40))]).unwrap();
        assert!(
            matches!(&verdicts[..], [Some(Verdict::Duplicate { of, .. })] if of.id == old && !of.in_this_run)
        );
    }

    /// As sets `1000` is `10000`, and `a b a` is `a b`.
    #[test]
    fn a_text_of_the_same_sets_is_another_text_under_the_same_id() {
        // A simhash would tell the texts apart, because it counts how often a word comes.
        let options = crate::Options { profile: Some(index::Profile::Minhash), ..crate::Options::default() };
        let engine = crate::Engine::open("memory:", &options).unwrap();
        let part = "The ferry to the island leaves at noon. ".repeat(2);
        let first = format!("The fine is 1000. {part}The harbour office closes on Fridays. {part}");
        for (again, expected) in [
            (first.clone(), Some(false)),
            (first.to_uppercase().replace('.', " !"), Some(false)),
            (first.replace("1000", "10000"), None),
            (first.clone() + &part, None),
        ] {
            let mut kept = Kept::default();
            let id: DocumentId = "a".parse().unwrap();
            let texts = [first.as_str(), again.as_str()];
            let features = engine.features(&texts);
            let candidates: Vec<Candidate<'_>> = features
                .iter()
                .map(|features| Candidate { id: &id, features: features.as_ref(), source: None })
                .collect();
            engine.index().remove(std::slice::from_ref(&id)).unwrap();
            let verdicts = kept.decide(engine.index(), &candidates).unwrap();
            assert_eq!(verdicts[0], Some(Verdict::Kept));
            let numbers_differ = verdicts[1].as_ref().map(|verdict| match verdict {
                Verdict::Duplicate { of, .. } => of.nearness.numbers_differ.unwrap(),
                Verdict::Kept => unreachable!("{again}"),
            });
            assert_eq!(numbers_differ, expected, "{again}");
        }
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
        let decided = Kept::default().decide_batch(
            [candidate].into_iter(),
            |_| Ok(Vec::new()),
            |_| Ok::<_, Error>(Vec::new()),
        );
        assert_eq!(decided.unwrap_err().kind(), ErrorKind::Internal);
    }
}
