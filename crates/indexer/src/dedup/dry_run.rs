//! Deciding without writing: the same answers as the store's insert-if-new, and the store stays as it is.

use std::borrow::Borrow;
use std::collections::HashSet;

use anyhow::Context;
use index::{DocumentId, Index, Insertion, Match, MemoryStore, Mode, NewDocument, OpenOptions};
use simhash::Fingerprint;

/// Who decides which documents are new.
pub(crate) enum Decider {
    /// The index itself, which takes them in.
    Index(Index),
    DryRun(DryRun<Index>),
}

impl Decider {
    /// See [`Index::insert_if_new`]. No id may be among the documents twice.
    pub(crate) fn insert_if_new(&mut self, documents: &[NewDocument]) -> anyhow::Result<Vec<Insertion>> {
        match self {
            Self::Index(index) => index.insert_if_new(documents).context("failed to write to the index"),
            Self::DryRun(dry_run) => dry_run.insert_if_new(documents).context("failed to read the index"),
        }
    }
}

/// An index as it would be if what this run keeps were in it.
pub(crate) struct DryRun<I> {
    index: I,
    /// In memory: what this run keeps and the index has not.
    beside: Index,
    /// Documents of the index of which this run keeps another version, so that the one there does not count.
    replaced: HashSet<DocumentId>,
}

impl<I: Borrow<Index>> DryRun<I> {
    pub(crate) fn new(index: I) -> index::Result<Self> {
        let like = index.borrow();
        let options = OpenOptions {
            mode: Mode::CreateIfMissing,
            scheme: Some(like.kind().name().to_owned()),
            max_distance: Some(like.max_distance()),
            recipe_default: like.recipe().clone(),
            ..OpenOptions::default()
        };
        let beside = Index::over(Box::new(MemoryStore::new()), &options)?;
        Ok(Self { index, beside, replaced: HashSet::new() })
    }

    /// See [`Index::insert_if_new`]. No id may be among the documents twice.
    pub(crate) fn insert_if_new(&mut self, documents: &[NewDocument]) -> index::Result<Vec<Insertion>> {
        let index = self.index.borrow();
        let ids: Vec<DocumentId> = documents.iter().map(|document| document.id.clone()).collect();
        let queries: Vec<Fingerprint> = documents.iter().map(|document| document.fingerprint).collect();
        let stored = index.get(&ids)?;
        // Of what is found, a document's own older version does not count, nor those that are or will be replaced.
        let n_stored = stored.iter().flatten().count();
        let limit = self.replaced.len() + n_stored + 1;
        let near = index.near(&queries, index.max_distance(), limit)?;
        let mut insertions = Vec::with_capacity(documents.len());
        for ((document, stored), near) in documents.iter().zip(stored).zip(near) {
            let is_there = stored.is_some();
            if stored.is_some_and(|stored| stored.document.sketch.fingerprint() == document.fingerprint) {
                insertions.push(Insertion::Unchanged);
                continue;
            }
            let counts = |found: &Match| found.id != document.id && !self.replaced.contains(&found.id);
            let insertion = match near.matches.into_iter().find(counts) {
                Some(found) => Insertion::Duplicate(self.nearer_beside(document, found)?),
                None => self.insert_beside(document, is_there)?,
            };
            insertions.push(insertion);
        }
        Ok(insertions)
    }

    /// For each document the one that keeps it out, as [`insert_if_new`](Self::insert_if_new) says.
    pub(crate) fn nearest(&mut self, documents: &[NewDocument]) -> index::Result<Vec<Option<Match>>> {
        let nearest = |insertion| match insertion {
            Insertion::Duplicate(found) => Some(found),
            Insertion::Inserted | Insertion::Unchanged | Insertion::Replaced => None,
        };
        Ok(self.insert_if_new(documents)?.into_iter().map(nearest).collect())
    }

    /// Whichever decides, by distance, then id: what was found in the index, or what this run keeps.
    fn nearer_beside(&self, document: &NewDocument, found: Match) -> index::Result<Match> {
        let near = self.beside.near(&[document.fingerprint], self.beside.max_distance(), 1)?;
        let beside = near.into_iter().flat_map(|near| near.matches);
        let rank = |found: &Match| (found.distance, found.id.clone());
        Ok(beside.chain([found.clone()]).min_by_key(rank).unwrap_or(found))
    }

    fn insert_beside(&mut self, document: &NewDocument, is_there: bool) -> index::Result<Insertion> {
        let inserted = self.beside.insert_if_new(std::slice::from_ref(document))?.into_iter().next();
        Ok(match inserted {
            Some(Insertion::Duplicate(found)) => Insertion::Duplicate(found),
            _ if is_there => {
                self.replaced.insert(document.id.clone());
                Insertion::Replaced
            }
            _ => Insertion::Inserted,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Few ids and fingerprints in narrow clusters, so that all cases of the rule come up.
    fn documents(seed: u64, n: usize) -> Vec<NewDocument> {
        let mut state = seed;
        let mut next = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let mut document = || {
            let centre = next(8).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let fingerprint = (0..next(4)).fold(centre, |bits, _| bits ^ 1 << next(12));
            let id = DocumentId::new(format!("{}", next(60))).unwrap();
            NewDocument { id, fingerprint: Fingerprint(fingerprint), source: None }
        };
        (0..n).map(|_| document()).collect()
    }

    #[test]
    fn a_dry_run_decides_as_the_index_would_and_leaves_it_alone() {
        let mut seen = HashSet::new();
        for seed in 0..200 {
            let [real, dry] = [(); 2].map(|()| {
                let index = Index::over(Box::new(MemoryStore::new()), &OpenOptions::default()).unwrap();
                index.insert(&documents(seed, 20)).unwrap();
                index
            });
            let before = dry.digest().unwrap();
            let mut dry = DryRun::new(dry).unwrap();
            // As `dedup` does it: no id twice in a batch, and none that is kept already.
            let mut kept = HashSet::new();
            for batch in documents(seed + 1000, 100).chunks(7) {
                let mut ids = kept.clone();
                let batch: Vec<NewDocument> =
                    batch.iter().filter(|document| ids.insert(document.id.clone())).cloned().collect();
                let expected = real.insert_if_new(&batch).unwrap();
                assert_eq!(dry.insert_if_new(&batch).unwrap(), expected, "seed {seed}");
                for (document, insertion) in batch.into_iter().zip(&expected) {
                    seen.insert(std::mem::discriminant(insertion));
                    if !matches!(insertion, Insertion::Duplicate(_)) {
                        kept.insert(document.id);
                    }
                }
            }
            assert_eq!(dry.index.digest().unwrap(), before);
        }
        assert_eq!(seen.len(), 4, "every case came up");
    }
}
