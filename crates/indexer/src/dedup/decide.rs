//! Foresees the results of a call of the store, for a job with a journal to log before the call.

use anyhow::{Context, ensure};
use engine::dedup::{Candidate, Foreseen, KnownIds};
use index::{DocumentId, Index, Match, Nearness, NewDocument};
use minhash::Similarity;
use serde::{Deserialize, Serialize};
use simhash::{Distance, Fingerprint};

use crate::journal::{Calls, checksum};
use crate::report::Indexed;

/// The original of a duplicate, as stored in the journal.
#[derive(Serialize, Deserialize)]
struct Original {
    id: String,
    fingerprint: u64,
    distance: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    similarity: Option<f64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    exact: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shares: Option<[f64; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    numbers_differ: Option<bool>,
}

/// New decisions for some documents of a call, each with its index among the documents with
/// features.
type Again = Vec<(usize, Option<Original>)>;

/// Inserts the new ones of `candidates`, and returns for each candidate with features the document
/// that keeps it out, if any. See [`KnownIds`].
///
/// The decision precedes the call and is logged. A call repeated after a crash cannot change it,
/// although the call then meets documents of its own that came later than those it met the first
/// time. A document that another program has inserted between the decision and the call still keeps
/// a candidate out. Decisions that relied on this candidate are then made again, and logged
/// likewise; so is what keeps a candidate out, before the next call.
///
/// Ids are distinct in a call. A later call may replace a document of this one.
pub(crate) fn insert_if_new(
    index: &Index,
    calls: &mut Calls,
    known_ids: KnownIds,
    candidates: &[Candidate<'_>],
) -> anyhow::Result<Vec<Option<Match>>> {
    let foresee = |candidates: &[Candidate<'_>]| -> anyhow::Result<Vec<Option<Match>>> {
        known_ids.foresee(index, candidates).context("failed to ask the index")
    };
    let documents = checksum(candidates.iter().map(|candidate| (candidate.id, candidate.features.is_some())));
    let decided = calls.decide(documents, || Ok(written(foresee(candidates)?)))?;
    let n_with_features = candidates.iter().filter(|candidate| candidate.features.is_some()).count();
    ensure!(decided.len() == n_with_features, OF_OTHERS);
    let mut foreseen = Foreseen::new(read(decided)?);
    for again in calls.again::<Again>()? {
        let (places, again): (Vec<usize>, _) = again.into_iter().unzip();
        foreseen.revise(&places, read(again)?).context(OF_OTHERS)?;
    }
    if calls.is_past() {
        known_ids.repeat(index, candidates, &foreseen).context(FAILED)?;
        return Ok(foreseen.into_answers());
    }
    let mut logged = foreseen.clone();
    let foresee_again = |places: &[usize], candidates: &[Candidate<'_>]| -> anyhow::Result<_> {
        let decide = || Ok(places.iter().copied().zip(written(foresee(candidates)?)).collect::<Again>());
        let (_, again): (Vec<usize>, _) = calls.decide_again(decide)?.into_iter().unzip();
        let again = read(again)?;
        logged.revise(places, again.clone())?;
        Ok(again)
    };
    let answers = known_ids.carry_out(index, candidates, foreseen, foresee_again).context(FAILED)?;
    let came: Again = (0..)
        .zip(logged.into_answers().into_iter().zip(&answers))
        .filter(|(_, (logged, answer))| logged.is_none() && answer.is_some())
        .map(|(place, (_, answer))| (place, answer.clone().map(Original::from)))
        .collect();
    if !came.is_empty() {
        calls.decide_again(|| Ok(came))?;
    }
    Ok(answers)
}

const FAILED: &str = "failed to write to the index";

const OF_OTHERS: &str = "the journal was written for other records; remove it to begin anew";

fn written(foreseen: Vec<Option<Match>>) -> Vec<Option<Original>> {
    foreseen.into_iter().map(|near| near.map(Original::from)).collect()
}

fn read(decided: Vec<Option<Original>>) -> anyhow::Result<Vec<Option<Match>>> {
    decided.into_iter().map(|near| near.map(Match::try_from).transpose()).collect()
}

impl From<Match> for Original {
    fn from(Match { id, fingerprint, nearness }: Match) -> Self {
        let Nearness { similarity, distance, exact, shares, numbers_differ } = nearness;
        Self {
            id: id.as_str().to_owned(),
            fingerprint: fingerprint.0,
            distance: distance.as_bits(),
            similarity: similarity.map(Similarity::get),
            exact,
            shares: shares.map(|shares| shares.map(Similarity::get)),
            numbers_differ,
        }
    }
}

impl TryFrom<Original> for Match {
    type Error = anyhow::Error;

    fn try_from(original: Original) -> anyhow::Result<Self> {
        let nearness = Nearness {
            similarity: original.similarity.map(Similarity::clamped),
            distance: Distance::new(original.distance)?,
            exact: original.exact,
            shares: original.shares.map(|shares| shares.map(Similarity::clamped)),
            numbers_differ: original.numbers_differ,
        };
        Ok(Self::new(DocumentId::new(original.id)?, Fingerprint(original.fingerprint), nearness))
    }
}

/// The counts from inserting `inserts` and removing `removals`. Ids are distinct among both.
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

#[cfg(test)]
mod tests;
