//! Searches of a batch before its first write, on several threads.
//!
//! A document that shares no bucket with what its batch has written so far has the same nearest
//! document before the batch and in its turn. Most documents are such, and their searches need not
//! wait for one another.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use hashbrown::HashSet;
use simhash::BucketKey;

use super::Contents;
use crate::backend::Live;
use crate::backend::search::Bounded;
use crate::{Document, Match, Rule, Sketch};

/// Documents that a thread takes at a time. A batch of fewer is not worth a thread.
const PIECE: usize = 32;

/// Batches without such searches after one in which most of them were in vain, as in a crowd whose
/// documents all share a bucket.
const BATCHES_WITHOUT: u32 = 16;

/// The answer of a search before the batch.
#[derive(Clone, Debug)]
struct Answer {
    /// The number of the document under the same id, which the search left out.
    own: Option<u64>,
    found: Option<Match>,
    /// The number of searches that were bounded: one or none.
    n_bounded: u64,
}

/// The searches of a batch, and the changes of the batch so far.
#[derive(Default)]
pub(super) struct Ahead {
    /// The answers, by their documents' places; `None` where the search failed. Empty if none was
    /// made.
    answers: Vec<Option<Answer>>,
    /// The place of the document at hand.
    place: usize,
    /// The buckets of the documents that were put in.
    written: HashSet<BucketKey>,
    /// True once a document was taken out.
    has_taken: bool,
    /// The answers that were of use.
    n_used: Cell<usize>,
}

/// The batches that are still to come before searches are worth while again.
#[derive(Debug, Default)]
pub(super) struct Without(u32);

impl Ahead {
    /// Searches for each document of a batch, on `n_threads` threads.
    pub(super) fn search(
        contents: &Contents,
        live: &Live,
        documents: &[Document],
        rule: &Rule,
        n_threads: usize,
    ) -> Self {
        let n_threads = n_threads.min(documents.len() / PIECE);
        if n_threads < 2 || contents.without_ahead.0 > 0 {
            return Self::default();
        }
        let next = AtomicUsize::new(0);
        let answers = Mutex::new(vec![None; documents.len()]);
        let work = || {
            loop {
                let start = next.fetch_add(PIECE, Ordering::Relaxed);
                let Some(piece) = documents.get(start..documents.len().min(start + PIECE)) else { break };
                if piece.is_empty() {
                    break;
                }
                let found: Vec<_> =
                    piece.iter().map(|document| answer(contents, live, document, rule)).collect();
                let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
                answers[start..start + found.len()].clone_from_slice(&found);
            }
        };
        thread::scope(|scope| {
            for _ in 1..n_threads {
                scope.spawn(work);
            }
            work();
        });
        let answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
        Self { answers, ..Self::default() }
    }

    /// Turns to the document in a place of the batch.
    pub(super) fn turn_to(&mut self, place: usize) {
        self.place = place;
    }

    /// The nearest document to the one at hand but `own`, if it is known already.
    pub(super) fn nearest(
        &self,
        sketch: &Sketch,
        own: Option<u64>,
        bounded: &Bounded,
    ) -> Option<Option<Match>> {
        let answer = self.answers.get(self.place)?.as_ref()?;
        let is_alone = || sketch.keys().all(|key| !self.written.contains(&key));
        if self.has_taken || answer.own != own || !is_alone() {
            return None;
        }
        bounded.add(answer.n_bounded);
        self.n_used.set(self.n_used.get() + 1);
        Some(answer.found.clone())
    }

    /// The batches without such searches that come after this one.
    pub(super) fn without_next(&self, Without(left): &Without) -> Without {
        let was_in_vain = self.n_used.get() < self.answers.len() / 2;
        Without(if was_in_vain { BATCHES_WITHOUT } else { left.saturating_sub(1) })
    }

    /// Notes that a document was put in.
    pub(super) fn put(&mut self, sketch: &Sketch) {
        if !self.answers.is_empty() {
            self.written.extend(sketch.keys());
        }
    }

    /// Notes that a document was taken out.
    pub(super) fn take(&mut self) {
        self.has_taken = true;
    }
}

fn answer(contents: &Contents, live: &Live, document: &Document, rule: &Rule) -> Option<Answer> {
    let own = contents.documents.number_of(&document.id);
    let bounded = Bounded::default();
    let found = contents.nearest(&document.sketch, rule, own, live, &bounded).ok()?;
    Some(Answer { own, found, n_bounded: bounded.get() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testsuite::{apart, document, spread};
    use crate::{MemoryStore, OpenOptions, Store};

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        /// Batches with copies, documents that are near to each other, ids that come again and
        /// searches that are bounded, compared with one search after another.
        #[test]
        fn threads_change_no_answer(
            batches in prop::collection::vec(
                prop::collection::vec((0_u64..400, 0_u64..150, 0_u32..6), 2 * PIECE..4 * PIECE), 1..5
            ),
            candidates_max in 1_usize..4,
        ) {
            let rule = Rule { candidates_max: Some(candidates_max), ..Rule::from(apart(3)) };
            let metadata = OpenOptions::default().new_metadata().unwrap();
            let stores = [1, 3].map(|n_threads| MemoryStore::new().with_threads(n_threads));
            for store in &stores {
                store.create(&metadata).unwrap();
            }
            for batch in &batches {
                let documents: Vec<Document> = batch
                    .iter()
                    .map(|&(id, text, n_bits)| document(&id.to_string(), spread(text) ^ ((1 << n_bits) - 1)))
                    .collect();
                let [one, several] = stores.each_ref().map(|store| store.insert_if_new(&documents, &rule).unwrap());
                prop_assert_eq!(one, several);
            }
            let [one, several] = stores.each_ref().map(|store| store.status().unwrap());
            prop_assert_eq!(one, several);
        }
    }

    /// A crowd whose documents meet in the batch is not searched twice for ever.
    #[test]
    fn searches_in_vain_are_given_up_for_a_while() {
        let store = MemoryStore::new().with_threads(2);
        store.create(&OpenOptions::default().new_metadata().unwrap()).unwrap();
        let rule = Rule::from(apart(3));
        let insert = |from: u64, of: fn(u64) -> u64| {
            let documents: Vec<_> = (from..from + 64).map(|n| document(&n.to_string(), of(n))).collect();
            store.insert_if_new(&documents, &rule).unwrap();
            store.read().unwrap().without_ahead.0
        };
        assert_eq!(insert(0, spread), 0);
        // The same high bits, and so shared buckets, at a distance.
        let crowd = |n: u64| spread(n) & 0xf_ffff | 1 << 60;
        assert_eq!(insert(100, crowd), BATCHES_WITHOUT);
        assert_eq!(insert(200, spread), BATCHES_WITHOUT - 1);
    }
}
