//! What a call of the store is going to do, found out before it is made: what a job with a journal writes down.

use anyhow::{Context, ensure};
use index::{DocumentId, Index, Insertion, Match, Nearness, NewDocument, StoredDocument};
use minhash::Similarity;
use serde::{Deserialize, Serialize};
use simhash::{Distance, Fingerprint};

use crate::journal::Calls;
use crate::report::Indexed;

/// A duplicate's original, as the journal remembers it.
#[derive(Serialize, Deserialize)]
struct Original {
    id: String,
    fingerprint: u64,
    distance: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    similarity: Option<f64>,
}

/// Inserts those of `documents` that nothing is near to; of every other the nearest.
///
/// The decision comes first and is written down, so that a call that is made again after a crash cannot change it: it
/// meets documents of its own then, which came later than those that it met the first time. What somebody else has
/// inserted between the decision and the call keeps a document out all the same.
///
/// Ids come once.
pub(crate) fn insert_if_new(
    index: &Index,
    calls: &mut Calls,
    documents: &[NewDocument],
) -> anyhow::Result<Vec<Option<Match>>> {
    insert_decided(index, calls, documents, || foresee(index, documents))
}

/// The same, where a document is also kept out by what the index has under its own id, if that is near: who collects
/// gets things twice.
pub(crate) fn insert_if_unseen(
    index: &Index,
    calls: &mut Calls,
    documents: &[NewDocument],
) -> anyhow::Result<Vec<Option<Match>>> {
    insert_decided(index, calls, documents, || {
        let ids: Vec<DocumentId> = documents.iter().map(|document| document.id.clone()).collect();
        let own_version = |(document, stored): (&NewDocument, Option<StoredDocument>)| {
            let sketch = stored?.document.sketch;
            let nearness = index.rule().confirms(sketch.features(), &document.features)?;
            Some(Match::new(document.id.clone(), sketch.fingerprint(), nearness))
        };
        let own: Vec<_> = documents.iter().zip(index.get(&ids)?).map(own_version).collect();
        let others: Vec<NewDocument> = documents
            .iter()
            .zip(&own)
            .filter(|(_, own)| own.is_none())
            .map(|(other, _)| other.clone())
            .collect();
        let mut nearest = foresee(index, &others)?.into_iter();
        Ok(own.into_iter().map(|own| own.or_else(|| nearest.next().flatten())).collect())
    })
}

/// For each document the one that would keep it out.
fn foresee(index: &Index, documents: &[NewDocument]) -> index::Result<Vec<Option<Match>>> {
    Ok(index.foresee_insert_if_new(documents)?.into_iter().map(Insertion::original).collect())
}

fn insert_decided(
    index: &Index,
    calls: &mut Calls,
    documents: &[NewDocument],
    decide: impl FnOnce() -> index::Result<Vec<Option<Match>>>,
) -> anyhow::Result<Vec<Option<Match>>> {
    let decided: Vec<Option<Original>> = calls.decide(|| {
        let original = |found: Option<Match>| {
            found.map(|Match { id, fingerprint, distance, similarity }| Original {
                id: id.as_str().to_owned(),
                fingerprint: fingerprint.0,
                distance: distance.as_bits(),
                similarity: similarity.map(Similarity::get),
            })
        };
        Ok(decide().context("failed to ask the index")?.into_iter().map(original).collect())
    })?;
    ensure!(
        decided.len() == documents.len(),
        "the journal was written for other records; remove it to begin anew"
    );
    let kept = documents.iter().zip(&decided).filter(|(_, near)| near.is_none());
    let kept: Vec<NewDocument> = kept.map(|(document, _)| document.clone()).collect();
    let mut insertions = index.insert_if_new(&kept).context("failed to write to the index")?.into_iter();
    let mut answer = |near: Option<Original>| match near {
        Some(Original { id, fingerprint, distance, similarity }) => {
            let nearness = Nearness {
                similarity: similarity.map(Similarity::clamped),
                distance: Distance::new(distance)?,
            };
            Ok(Some(Match::new(DocumentId::new(id)?, Fingerprint(fingerprint), nearness)))
        }
        None => match insertions.next() {
            Some(Insertion::Duplicate(found)) => Ok(Some(found)),
            Some(_) => Ok(None),
            None => anyhow::bail!("the store answered for fewer documents than it was given"),
        },
    };
    decided.into_iter().map(&mut answer).collect()
}

/// What inserting `inserts` and removing `removals` counts as. An id comes once among both.
pub(crate) fn count(
    index: &Index,
    inserts: &[NewDocument],
    removals: &[DocumentId],
) -> index::Result<Indexed> {
    let mut counts = Indexed::default();
    let ids: Vec<DocumentId> = inserts.iter().map(|document| document.id.clone()).collect();
    for (document, old) in inserts.iter().zip(index.get(&ids)?) {
        match old {
            None => counts.n_new += 1,
            Some(old) if *old.document.sketch.features() == document.features => counts.n_unchanged += 1,
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
