//! The documents of a store in memory, by number and by id.

use std::hash::BuildHasher;
use std::ops::RangeBounds;

use hashbrown::{DefaultHashBuilder, HashTable};
use simhash::BucketKey;

use super::by_number::ByNumber;
use crate::{Document, DocumentId, Features, SketchKind, Source, StoredDocument, Timestamp};

/// A document without what follows from the rest of it: the buckets follow from the features.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) id: DocumentId,
    /// The features, without a text.
    pub(super) features: Features,
    pub(super) inserted_at: Timestamp,
    /// `None` for most documents.
    extra: Option<Box<Extra>>,
}

/// The parts that few documents have.
#[derive(Debug)]
struct Extra {
    source: Option<Source>,
    /// The keys of the simhash, if they do not follow from the kind of the index.
    keys: Option<Vec<BucketKey>>,
}

impl Held {
    pub(super) fn new(document: &Document, inserted_at: Timestamp, kind: &SketchKind) -> Self {
        let Document { id, sketch, source } = document;
        let keys = (!kind.follows(sketch)).then(|| sketch.simhash_keys().to_vec());
        let has_extra = source.is_some() || keys.is_some();
        Self {
            id: id.clone(),
            features: Features { text: None, ..sketch.features().clone() },
            inserted_at,
            extra: has_extra.then(|| Box::new(Extra { source: source.clone(), keys })),
        }
    }

    /// The document as it was given, without its text.
    pub(super) fn stored(&self, kind: &SketchKind) -> StoredDocument {
        let (features, extra) = (self.features.clone(), self.extra.as_deref());
        let sketch = match extra.and_then(|extra| extra.keys.clone()) {
            Some(keys) => kind.listed(features, keys),
            None => kind.sketch(features),
        };
        let source = extra.and_then(|extra| extra.source.clone());
        let document = Document { id: self.id.clone(), sketch, source };
        StoredDocument { document, inserted_at: self.inserted_at }
    }
}

/// Documents by number, found by their ids too. An id is held once.
#[derive(Default)]
pub(super) struct HeldDocuments {
    by_number: ByNumber<Held>,
    /// The numbers, by the hashes of the ids.
    by_id: HashTable<u64>,
    hasher: DefaultHashBuilder,
}

impl HeldDocuments {
    /// The number of documents.
    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }

    pub(super) fn get(&self, number: u64) -> Option<&Held> {
        self.by_number.get(number)
    }

    /// The number of the document with this id.
    pub(super) fn number_of(&self, id: &DocumentId) -> Option<u64> {
        let is_it = |&number: &u64| self.get(number).is_some_and(|held| held.id == *id);
        self.by_id.find(self.hasher.hash_one(id), is_it).copied()
    }

    /// Adds a document under a number that was never used. Its id must be new.
    pub(super) fn insert(&mut self, number: u64, held: Held) {
        let Self { by_number, by_id, hasher } = self;
        let hash = hasher.hash_one(&held.id);
        by_number.insert(number, held);
        let hash_of = |&number: &u64| by_number.get(number).map_or(0, |held| hasher.hash_one(&held.id));
        by_id.insert_unique(hash, number, hash_of);
    }

    pub(super) fn remove(&mut self, number: u64) {
        let Some(held) = self.by_number.remove(number) else { return };
        if let Ok(entry) = self.by_id.find_entry(self.hasher.hash_one(&held.id), |&other| other == number) {
            entry.remove();
        }
    }

    /// The documents of a range of numbers, ascending.
    pub(super) fn range(&self, numbers: impl RangeBounds<u64>) -> impl Iterator<Item = (u64, &Held)> {
        self.by_number.range(numbers)
    }

    /// The document of the greatest number below this one.
    pub(super) fn last_below(&self, number: u64) -> Option<(u64, &Held)> {
        self.by_number.last_below(number)
    }

    /// The documents in the order of their numbers.
    pub(super) fn values(&self) -> impl Iterator<Item = &Held> {
        self.by_number.values()
    }

    /// The document of the greatest number.
    pub(super) fn last(&self) -> Option<&Held> {
        self.by_number.last()
    }

    #[cfg(test)]
    pub(super) fn n_ids(&self) -> usize {
        self.by_id.len()
    }
}
