//! What a call of the store is going to do, found out before it is made: what a job with a journal writes down.

use std::collections::{HashMap, HashSet};

use anyhow::{Context, ensure};
use index::{DocumentId, Index, Insertion, Match, NewDocument};
use serde::{Deserialize, Serialize};
use simhash::Fingerprint;

use crate::journal::Calls;
use crate::report::Indexed;

const FAILED: &str = "failed to ask the index";

/// A duplicate's original, as the journal remembers it.
#[derive(Serialize, Deserialize)]
struct Original {
    id: String,
    fingerprint: u64,
    distance: u32,
}

/// Inserts those of `documents` that nothing is near to; of every other the nearest.
///
/// The decision comes first and is written down, so that a call that is made again after a crash cannot change it: it
/// meets documents of its own then, which came later than those that it met the first time. What somebody else has
/// inserted between the decision and the call keeps a document out all the same.
///
/// Ids come once.
pub(super) fn insert_if_new(
    index: &Index,
    calls: &mut Calls,
    documents: &[NewDocument],
) -> anyhow::Result<Vec<Option<Match>>> {
    let decided: Vec<Option<Original>> = calls.decide(|| {
        let decided = decide(index, documents).context(FAILED)?;
        let original = |Match { id, fingerprint, distance }: Match| Original {
            id: id.as_str().to_owned(),
            fingerprint: fingerprint.0,
            distance,
        };
        Ok(decided.into_iter().map(|near| near.map(original)).collect())
    })?;
    ensure!(
        decided.len() == documents.len(),
        "the journal was written for other records; remove it to begin anew"
    );
    let kept = documents.iter().zip(&decided).filter(|(_, near)| near.is_none());
    let kept: Vec<NewDocument> = kept.map(|(document, _)| document.clone()).collect();
    let mut insertions = index.insert_if_new(&kept).context("failed to write to the index")?.into_iter();
    let mut answer = |near: Option<Original>| match near {
        Some(Original { id, fingerprint, distance }) => {
            Ok(Some(Match { id: DocumentId::new(id)?, fingerprint: Fingerprint(fingerprint), distance }))
        }
        None => match insertions.next() {
            Some(Insertion::Duplicate(found)) => Ok(Some(found)),
            Some(_) => Ok(None),
            None => anyhow::bail!("the store answered for fewer documents than it was given"),
        },
    };
    decided.into_iter().map(&mut answer).collect()
}

/// What [`Index::insert_if_new`] would do: nothing for documents that it would keep.
fn decide(index: &Index, documents: &[NewDocument]) -> index::Result<Vec<Option<Match>>> {
    let ids: Vec<DocumentId> = documents.iter().map(|document| document.id.clone()).collect();
    let old = index.get(&ids)?;
    let old: HashMap<&DocumentId, Fingerprint> = ids
        .iter()
        .zip(&old)
        .filter_map(|(id, old)| Some((id, old.as_ref()?.document.sketch.fingerprint())))
        .collect();
    let is_unchanged = |document: &NewDocument| old.get(&document.id) == Some(&document.fingerprint);
    let asked: Vec<&NewDocument> = documents.iter().filter(|document| !is_unchanged(document)).collect();
    // Versions that are replaced by then do not count, of which each is among the nearest once at most.
    let n_old = asked.iter().filter(|document| old.contains_key(&document.id)).count();
    let fingerprints: Vec<Fingerprint> = asked.iter().map(|document| document.fingerprint).collect();
    let mut neighbours = index.near(&fingerprints, index.max_distance(), n_old + 1)?.into_iter();
    let (mut kept, mut replaced) = (Vec::<&NewDocument>::new(), HashSet::new());
    let mut decided = Vec::with_capacity(documents.len());
    for document in documents {
        if is_unchanged(document) {
            decided.push(None);
            continue;
        }
        let stored = neighbours.next().unwrap_or_default().matches;
        let stored = stored.into_iter().find(|near| near.id != document.id && !replaced.contains(&near.id));
        let earlier = kept.iter().filter_map(|kept| {
            let distance = kept.fingerprint.distance(document.fingerprint);
            let is_near = distance <= index.max_distance();
            is_near.then(|| Match { id: kept.id.clone(), fingerprint: kept.fingerprint, distance })
        });
        let nearest = earlier.chain(stored).min_by(|a, b| (a.distance, &a.id).cmp(&(b.distance, &b.id)));
        if nearest.is_none() {
            kept.push(document);
            if old.contains_key(&document.id) {
                replaced.insert(&document.id);
            }
        }
        decided.push(nearest);
    }
    Ok(decided)
}

/// What inserting `inserts` and removing `removals` counts as. An id comes once among both.
pub(super) fn count(
    index: &Index,
    inserts: &[NewDocument],
    removals: &[DocumentId],
) -> index::Result<Indexed> {
    let mut counts = Indexed::default();
    let ids: Vec<DocumentId> = inserts.iter().map(|document| document.id.clone()).collect();
    for (document, old) in inserts.iter().zip(index.get(&ids)?) {
        match old.map(|old| old.document.sketch.fingerprint()) {
            None => counts.n_new += 1,
            Some(old) if old == document.fingerprint => counts.n_unchanged += 1,
            Some(_) => counts.n_replaced += 1,
        }
    }
    for old in index.get(removals)? {
        if old.is_some() {
            counts.n_removed += 1;
        } else {
            counts.n_without_features += 1;
        }
    }
    Ok(counts)
}
