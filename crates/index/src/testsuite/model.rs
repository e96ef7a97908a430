//! Random operations, compared with a model simple enough to be checked by reading.

use std::collections::BTreeMap;

use super::{contents, id, signed, sketch, spread, verifying_metadata, within};
use crate::{Document, DocumentId, Insertion, Match, Rule, Sketch, Store};

/// The number of random sequences.
pub(super) const SEEDS: u64 = 20;
const OPERATIONS: usize = 25;

/// The model of a store: sketches under ids.
#[derive(Default)]
struct Model {
    documents: BTreeMap<DocumentId, Sketch>,
}

impl Model {
    /// All near documents, by nearness, then id.
    fn near(&self, query: &Sketch, rule: &Rule) -> Vec<Match> {
        let near = |(id, sketch): (&DocumentId, &Sketch)| {
            Some(Match::new(id.clone(), sketch.fingerprint(), rule.nearness(query, sketch)?))
        };
        let mut matches: Vec<_> = self.documents.iter().filter_map(near).collect();
        matches.sort_by(|a, b| (a.nearness, &a.id).cmp(&(b.nearness, &b.id)));
        matches
    }

    fn insert(&mut self, document: &Document) -> Insertion {
        match self.documents.insert(document.id.clone(), document.sketch.clone()) {
            None => Insertion::Inserted,
            Some(old) if old == document.sketch => Insertion::Unchanged,
            Some(_) => Insertion::Replaced,
        }
    }

    fn insert_if_new(&mut self, document: &Document, rule: &Rule) -> Insertion {
        if self.documents.get(&document.id) == Some(&document.sketch) {
            return Insertion::Unchanged;
        }
        let mut near = self.near(&document.sketch, rule);
        near.retain(|found| found.id != document.id);
        if near.is_empty() { self.insert(document) } else { Insertion::Duplicate(near.remove(0)) }
    }
}

/// Random draws of few ids and few fingerprints, near each other, so all documents meet.
struct Draw {
    state: u64,
    verifies: bool,
}

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.state = self.state.wrapping_add(1);
        spread(self.state) % n
    }

    fn bits(&mut self) -> u64 {
        let centre = spread(self.below(3));
        (0..self.below(4)).fold(centre, |bits, _| bits ^ 1 << (7 * self.below(8)))
    }

    /// Where signatures decide, the sketch of a set; sets overlap by much or by little, some have a
    /// simhash.
    fn sketch(&mut self) -> Sketch {
        let bits = self.bits();
        if !self.verifies {
            return sketch(bits);
        }
        let n = [1_u64, 5, 30, 200][self.below(4) as usize];
        let from = self.below(4) * n.div_ceil(10) + 1_000 * self.below(2);
        signed((self.below(4) > 0).then_some(bits), from..from + n)
    }

    fn documents(&mut self) -> Vec<Document> {
        let len = self.below(8);
        let document = |draw: &mut Self| {
            let id = id(&format!("id {}", draw.below(12)));
            Document { id, sketch: draw.sketch(), source: None }
        };
        (0..len).map(|_| document(self)).collect()
    }

    fn rule(&mut self) -> Rule {
        let rule = within(self.below(4) as u32);
        if self.verifies {
            Rule { max_distance: rule.max_distance, ..verifying_metadata().rule() }
        } else {
            rule
        }
    }
}

/// Runs one sequence on an index that verifies or not; every answer must be the model's, and so
/// must the contents in the end.
pub(super) fn random_operations(store: &dyn Store, seed: u64, verifies: bool) {
    let mut draw = Draw { state: seed << 32, verifies };
    let mut model = Model::default();
    for step in 0..OPERATIONS {
        let context = format!("seed {seed}, step {step}");
        let rule = draw.rule();
        match draw.below(6) {
            0 | 1 => {
                let documents = draw.documents();
                let expected: Vec<_> = documents.iter().map(|document| model.insert(document)).collect();
                assert_eq!(store.insert(&documents).expect("an insertion"), expected, "{context}");
            }
            2 | 3 => {
                let documents = draw.documents();
                let expected: Vec<_> =
                    documents.iter().map(|document| model.insert_if_new(document, &rule)).collect();
                let answers = store.insert_if_new(&documents, &rule).expect("an insertion");
                assert_eq!(answers, expected, "{context}");
            }
            4 => {
                let ids: Vec<_> = draw.documents().into_iter().map(|document| document.id).collect();
                let expected: Vec<_> = ids.iter().map(|id| model.documents.remove(id).is_some()).collect();
                assert_eq!(store.remove(&ids).expect("a removal"), expected, "{context}");
            }
            _ => {
                let query = draw.sketch();
                let limit = draw.below(5) as usize;
                let expected = model.near(&query, &rule);
                let n_matches = expected.len() as u64;
                let queries = std::slice::from_ref(&query);
                let found = store.near(queries, &rule, limit).expect("a search").remove(0);
                assert_eq!(found.n_matches, n_matches, "{context}");
                assert!(
                    found.matches.iter().eq(expected.iter().take(limit)),
                    "{context}: {found:?} {expected:?}"
                );
                let found = store.near_documents(queries, &rule, limit).expect("a search").remove(0);
                let documents =
                    found.documents.iter().map(|(nearness, stored)| (*nearness, &stored.document.id));
                let expected = expected.iter().take(limit).map(|found| (found.nearness, &found.id));
                assert!(documents.eq(expected) && found.n_matches == n_matches, "{context}");
            }
        }
    }
    let expected = model.documents.into_iter().map(|(id, sketch)| Document { id, sketch, source: None });
    assert!(contents(store).into_iter().eq(expected), "seed {seed}");
}
