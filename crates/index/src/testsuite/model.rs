//! Random operations, held against a model so plain that it can be read.

use std::collections::BTreeMap;

use simhash::{Distance, Sketch};

use super::{apart, contents, document, near, near_documents, sketch, spread};
use crate::{Document, DocumentId, Insertion, Match, Store};

/// How many sequences of operations are tried.
pub(super) const SEEDS: u64 = 20;
const OPERATIONS: usize = 25;

/// What a store is: sketches under ids.
#[derive(Default)]
struct Model {
    documents: BTreeMap<DocumentId, Sketch>,
}

impl Model {
    /// All within the distance that share a bucket, by distance, then id.
    fn near(&self, query: &Sketch, max_distance: Distance) -> Vec<Match> {
        let mut matches: Vec<_> = self
            .documents
            .iter()
            .filter(|(_, sketch)| sketch.keys().iter().any(|key| query.keys().contains(key)))
            .map(|(id, sketch)| {
                let fingerprint = sketch.fingerprint();
                Match { id: id.clone(), fingerprint, distance: fingerprint.distance(query.fingerprint()) }
            })
            .filter(|found| found.distance <= max_distance)
            .collect();
        matches.sort_by(|a, b| (a.distance, &a.id).cmp(&(b.distance, &b.id)));
        matches
    }

    fn insert(&mut self, document: &Document) -> Insertion {
        match self.documents.insert(document.id.clone(), document.sketch.clone()) {
            None => Insertion::Inserted,
            Some(old) if old == document.sketch => Insertion::Unchanged,
            Some(_) => Insertion::Replaced,
        }
    }

    fn insert_if_new(&mut self, document: &Document, max_distance: Distance) -> Insertion {
        if self.documents.get(&document.id) == Some(&document.sketch) {
            return Insertion::Unchanged;
        }
        let mut near = self.near(&document.sketch, max_distance);
        near.retain(|found| found.id != document.id);
        if near.is_empty() { self.insert(document) } else { Insertion::Duplicate(near.remove(0)) }
    }
}

/// Few ids and few fingerprints, which are near each other: everything meets everything.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        spread(self.0) % n
    }

    fn bits(&mut self) -> u64 {
        let centre = spread(self.below(3));
        (0..self.below(4)).fold(centre, |bits, _| bits ^ 1 << (7 * self.below(8)))
    }

    fn documents(&mut self) -> Vec<Document> {
        let len = self.below(8);
        (0..len).map(|_| document(&format!("id {}", self.below(12)), self.bits())).collect()
    }
}

/// One sequence; every answer must be the model's, and the contents in the end.
pub(super) fn random_operations(store: &dyn Store, seed: u64) {
    let mut draw = Draw(seed << 32);
    let mut model = Model::default();
    for step in 0..OPERATIONS {
        let context = format!("seed {seed}, step {step}");
        let max_distance = apart(draw.below(4) as u32);
        match draw.below(6) {
            0 | 1 => {
                let documents = draw.documents();
                let expected: Vec<_> = documents.iter().map(|document| model.insert(document)).collect();
                assert_eq!(store.insert(&documents).expect("an insertion"), expected, "{context}");
            }
            2 | 3 => {
                let documents = draw.documents();
                let expected: Vec<_> =
                    documents.iter().map(|document| model.insert_if_new(document, max_distance)).collect();
                let answers = store.insert_if_new(&documents, max_distance).expect("an insertion");
                assert_eq!(answers, expected, "{context}");
            }
            4 => {
                let ids: Vec<_> = draw.documents().into_iter().map(|document| document.id).collect();
                let expected: Vec<_> = ids.iter().map(|id| model.documents.remove(id).is_some()).collect();
                assert_eq!(store.remove(&ids).expect("a removal"), expected, "{context}");
            }
            _ => {
                let query = sketch(draw.bits());
                let limit = draw.below(5) as usize;
                let expected = model.near(&query, max_distance);
                let n_matches = expected.len() as u64;
                let expected = expected.into_iter().take(limit);
                let expected: Vec<_> =
                    expected.map(|found| (found.id.as_str().to_owned(), found.distance.as_bits())).collect();
                let expected = (expected, n_matches);
                assert_eq!(near(store, &query, max_distance, limit), expected, "{context}");
                assert_eq!(near_documents(store, &query, max_distance, limit), expected, "{context}");
            }
        }
    }
    let expected = model.documents.into_iter().map(|(id, sketch)| Document { id, sketch, source: None });
    assert!(contents(store).into_iter().eq(expected), "seed {seed}");
}
