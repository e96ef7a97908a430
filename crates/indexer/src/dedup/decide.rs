//! What a call of the store is going to do, found out before it is made: what a job with a journal writes down.

use anyhow::{Context, ensure};
use engine::dedup::{Candidate, KnownIds};
use index::{DocumentId, Index, Match, Nearness, NewDocument};
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

/// Takes in those of `candidates` that are new; of every other one that has features, what keeps it out. See
/// [`KnownIds`].
///
/// The decision comes first and is written down, so that a call that is made again after a crash cannot change it: it
/// meets documents of its own then, which came later than those that it met the first time. What somebody else has
/// inserted between the decision and the call keeps a document out all the same.
///
/// Ids come once.
pub(crate) fn insert_if_new(
    index: &Index,
    calls: &mut Calls,
    known_ids: KnownIds,
    candidates: &[Candidate<'_>],
) -> anyhow::Result<Vec<Option<Match>>> {
    let decided: Vec<Option<Original>> = calls.decide(|| {
        let foreseen = known_ids.foresee(index, candidates).context("failed to ask the index")?;
        Ok(foreseen.into_iter().map(|near| near.map(Original::from)).collect())
    })?;
    let n_with_features = candidates.iter().filter(|candidate| candidate.features.is_some()).count();
    ensure!(
        decided.len() == n_with_features,
        "the journal was written for other records; remove it to begin anew"
    );
    let decided = decided.into_iter().map(|near| near.map(Match::try_from).transpose());
    let decided = decided.collect::<anyhow::Result<_>>()?;
    known_ids.carry_out(index, candidates, decided).context("failed to write to the index")
}

impl From<Match> for Original {
    fn from(Match { id, fingerprint, distance, similarity }: Match) -> Self {
        Self {
            id: id.as_str().to_owned(),
            fingerprint: fingerprint.0,
            distance: distance.as_bits(),
            similarity: similarity.map(Similarity::get),
        }
    }
}

impl TryFrom<Original> for Match {
    type Error = anyhow::Error;

    fn try_from(Original { id, fingerprint, distance, similarity }: Original) -> anyhow::Result<Self> {
        let nearness =
            Nearness { similarity: similarity.map(Similarity::clamped), distance: Distance::new(distance)? };
        Ok(Self::new(DocumentId::new(id)?, Fingerprint(fingerprint), nearness))
    }
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
