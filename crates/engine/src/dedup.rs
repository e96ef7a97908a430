//! The choice of the documents kept by a run: the store's insert-if-new, one document after
//! another, and the ids kept by this run already.
//!
//! Nothing here reads files, writes files or holds a text. The caller sets the order: the order of
//! a corpus, or the best first, which makes each dropped document near to a kept one at least as
//! good.

mod known_ids;
pub mod rounds;
mod spilled;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU64;

use features::shingles::{Grams, TextSketcher};
use features::{NormalForm, Recipe};
use index::{
    DocumentId, Error, Features, Index, MAX_BATCH, Match, Metadata, Nearness, Source, StoredDocument, Text,
    TextKeeping, leap_bytes,
};
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

    /// The decision on a document that this run has kept before.
    fn repeated(id: DocumentId, features: &Features) -> Self {
        let fingerprint = features.fingerprint();
        let numbers = features.signature.as_ref().and_then(Signature::numbers);
        let nearness = Nearness {
            numbers_differ: numbers.map(|_| false),
            ..Nearness::same(features.signature.is_some())
        };
        Self::Duplicate { fingerprint, of: Original { id, fingerprint, nearness, in_this_run: true } }
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
/// Memory: the id of each kept document, and hashes of its features and its text; of a run with [an
/// index of its own](Self::of_own_index) the ids of documents without features.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    known_ids: KnownIds,
    /// The form in which texts under one id are compared.
    form: NormalForm,
    noted: HashMap<DocumentId, Earlier>,
    held: Held,
}

/// The kept documents that are noted by their ids.
#[derive(Clone, Debug, Default)]
enum Held {
    /// All of them.
    #[default]
    All,
    /// Those without features: the index has the others, and no documents of other runs.
    WithoutFeatures,
}

/// A kept document, as far as it takes to recognize another arrival of the same document.
#[derive(Clone, Copy, Debug)]
struct Earlier {
    /// A hash; `None` if the document had no features.
    features: Option<NonZeroU64>,
    text: EarlierText,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EarlierText {
    /// The text was not at hand.
    None,
    /// A hash of the text.
    Hashed(NonZeroU64),
    /// The index has the text, if any.
    InIndex,
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

    /// The same set, for a run that alone writes to `index`, which was empty and from which nothing
    /// expires. Where texts are kept, the index says what was kept under an id.
    #[must_use]
    pub fn of_own_index(self, index: &Index) -> Self {
        let Metadata { texts, retain, .. } = index.metadata();
        let tells = *texts != TextKeeping::None && retain.is_none();
        Self { held: if tells { Held::WithoutFeatures } else { self.held }, ..self }
    }

    /// The meaning of an id from an earlier run.
    #[must_use]
    pub fn known_ids(&self) -> KnownIds {
        self.known_ids
    }

    /// The bytes of memory that `n` more documents may take at once: those of the ids, which are in
    /// a table that doubles.
    #[must_use]
    pub fn leap_bytes(&self, n: usize) -> u64 {
        leap_bytes(self.noted.capacity(), self.noted.len(), n, size_of::<(DocumentId, Earlier)>())
    }

    /// Notes a document kept before, which must be in the index.
    pub fn note(&mut self, id: DocumentId, features: Option<&Features>) {
        let is_noted = match &self.held {
            Held::All => true,
            Held::WithoutFeatures => features.is_none(),
        };
        if is_noted {
            let text = features.and_then(|features| features.text.as_ref());
            let text = text.map_or(EarlierText::None, |text| EarlierText::Hashed(hash(&**text)));
            self.noted.insert(id, Earlier { features: features.map(hash), text });
        }
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
            let documents = |ids: &[DocumentId]| index.get(ids);
            let texts = |ids: &[DocumentId]| index.texts(ids);
            verdicts.extend(self.decide_batch(batch.iter().copied(), documents, texts, insert_if_new)?);
            rest = later;
        }
        Ok(verdicts)
    }

    /// As [`decide`](Self::decide), with the calls of the store made by the caller. `insert_if_new`
    /// works as [`KnownIds`] does: takes the candidates whose ids this run has not kept, inserts
    /// the new ones, and answers for each candidate with features with the document that keeps the
    /// candidate out. `documents` and `texts` read from the index: documents kept earlier, where it
    /// [tells](Self::of_own_index), and texts for records that come again with the same features
    /// and other bytes. No id may be among the candidates twice ([`batch_len`]): the
    /// decision on the first use settles the meaning of the second.
    ///
    /// # Errors
    /// The errors of the calls, and `Internal` if one answers for fewer documents than given.
    pub fn decide_batch<'a, E: From<Error>>(
        &mut self,
        candidates: impl Iterator<Item = Candidate<'a>> + Clone,
        documents: impl FnOnce(&[DocumentId]) -> Result<Vec<Option<StoredDocument>>, E>,
        texts: impl FnOnce(&[DocumentId]) -> Result<Vec<Option<Text>>, E>,
        insert_if_new: impl FnOnce(&[Candidate<'a>]) -> Result<Vec<Option<Match>>, E>,
    ) -> Result<Vec<Option<Verdict>>, E> {
        let earlier = self.earlier(candidates.clone(), documents)?;
        let others = self.other_texts(&earlier, candidates.clone(), texts)?;
        let is_new = |candidate: &Candidate<'_>| !earlier.contains_key(candidate.id);
        let new: Vec<_> = candidates.clone().filter(is_new).collect();
        let nearest = insert_if_new(&new)?;
        // A document may be dropped for one that comes after it.
        let with_features = new.iter().filter_map(|new| Some((new.id, new.features?)));
        let kept_now: HashMap<&DocumentId, &Features> = if matches!(self.held, Held::All) {
            with_features.zip(&nearest).filter_map(|(new, near)| near.is_none().then_some(new)).collect()
        } else {
            HashMap::new()
        };
        let is_kept_now = |found: &Match| {
            kept_now.get(&found.id).is_some_and(|features| features.fingerprint() == found.fingerprint)
        };
        let mut nearest = nearest.into_iter();
        let mut verdicts = Vec::new();
        for Candidate { id, features, .. } in candidates {
            let verdict = match (earlier.get(id), features) {
                (Some(earlier), Some(features))
                    if earlier.features == Some(hash(features)) && !others.contains(id) =>
                {
                    Some(Verdict::repeated(id.clone(), features))
                }
                (Some(_), _) => None,
                // A document without features cannot be compared, so it stays.
                (None, None) => Some(Verdict::Kept),
                (None, Some(features)) => {
                    let found = nearest.next().ok_or_else(known_ids::too_few)?;
                    Some(found.map_or(Verdict::Kept, |found| {
                        let in_this_run = !matches!(self.held, Held::All)
                            || self.noted.contains_key(&found.id)
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
    /// The documents that this run has kept under the ids of the candidates.
    fn earlier<'a, E: From<Error>>(
        &self,
        candidates: impl Iterator<Item = Candidate<'a>> + Clone,
        documents: impl FnOnce(&[DocumentId]) -> Result<Vec<Option<StoredDocument>>, E>,
    ) -> Result<HashMap<&'a DocumentId, Earlier>, E> {
        let noted = candidates.clone().filter_map(|new| Some((new.id, *self.noted.get(new.id)?)));
        let mut earlier: HashMap<&DocumentId, Earlier> = noted.collect();
        if matches!(self.held, Held::WithoutFeatures) {
            let ids: Vec<DocumentId> = candidates.clone().map(|new| new.id.clone()).collect();
            for (Candidate { id, .. }, stored) in candidates.zip(documents(&ids)?) {
                let features = stored.map(|stored| hash(stored.document.sketch.features()));
                let in_index = Earlier { features, text: EarlierText::InIndex };
                earlier.extend(features.map(|_| (id, in_index)));
            }
        }
        Ok(earlier)
    }

    /// The ids of records that come again with the kept features but with another text: their sets
    /// are equal, as the sets of `a b a` and `a b` are.
    ///
    /// The kept text is read only if the bytes may differ. A text no longer in the index counts as
    /// another one.
    fn other_texts<'a, E>(
        &self,
        earlier: &HashMap<&DocumentId, Earlier>,
        candidates: impl Iterator<Item = Candidate<'a>>,
        texts: impl FnOnce(&[DocumentId]) -> Result<Vec<Option<Text>>, E>,
    ) -> Result<HashSet<DocumentId>, E> {
        let again: Vec<(&DocumentId, &Text, EarlierText)> = candidates
            .filter_map(|Candidate { id, features, .. }| {
                let (features, earlier) = (features?, earlier.get(id)?);
                let text = features.text.as_ref()?;
                let is_open = match earlier.text {
                    EarlierText::None => false,
                    EarlierText::Hashed(of_earlier) => of_earlier != hash(&**text),
                    EarlierText::InIndex => true,
                };
                (is_open && earlier.features == Some(hash(features))).then_some((id, text, earlier.text))
            })
            .collect();
        if again.is_empty() {
            return Ok(HashSet::new());
        }
        let ids: Vec<DocumentId> = again.iter().map(|(id, ..)| (*id).clone()).collect();
        let mut sketcher = TextSketcher::new(self.form);
        let mut is_other = |stored: Option<Text>, text: &Text, of_earlier: EarlierText| {
            let Some(stored) = stored else { return of_earlier != EarlierText::InIndex };
            if *stored == **text {
                return false;
            }
            let is_earlier = match of_earlier {
                EarlierText::Hashed(of_earlier) => hash(&*stored) == of_earlier,
                EarlierText::None | EarlierText::InIndex => true,
            };
            !is_earlier || !are_copies(&mut sketcher, &stored, text)
        };
        let stored = texts(&ids)?;
        let others = again.into_iter().zip(stored).filter_map(|((id, text, of_earlier), stored)| {
            is_other(stored, text, of_earlier).then(|| id.clone())
        });
        Ok(others.collect())
    }
}

/// Returns true if two texts differ in no more than the normal form levels.
fn are_copies(sketcher: &mut TextSketcher, one: &Text, other: &Text) -> bool {
    let [one, other] = [one, other].map(|text| grams(sketcher, text));
    Grams::are_copies(&one, &other)
}

/// Returns true if a document under the id of an earlier one is this again: it has the same
/// features, and where both have their texts, the same text in this normal form.
fn is_repeated(features: &Features, earlier: &Features, form: NormalForm) -> bool {
    let is_other = || match (&features.text, &earlier.text) {
        (Some(text), Some(of_earlier)) => {
            **text != **of_earlier && !are_copies(&mut TextSketcher::new(form), of_earlier, text)
        }
        _ => false,
    };
    hash(features) == hash(earlier) && !is_other()
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
