//! Removing documents, by compare-and-set in the column of claims, so that nobody who is about to insert one overlooks it.
//!
//! 1. The claim is set to `removed`, with a timestamp that exceeds all the document had before. It is there no more.
//! 2. Its record, its texts and its cells are deleted, all that are not newer than the claim.
//! 3. The claim is set to one that is kept for [`REMEMBER`] only, unless a committed claim was beneath it once, which would
//!    show again.
//!
//! Whoever dies in between leaves what no search answers with; doing the same again, inserting the document, or a repair
//! ends the work. As nobody may do so for long, no claim expires before the record beneath it is gone. Only its remover
//! knows that it may, so what another one ends stays for good.
//!
//! What comes up when a claim expires is itself `removed`, and does no harm: the first step's, unless HBase has dropped it
//! by then, as it does when it writes both to disk together.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use index::backend::claims::{Claim, State, Ticket};
use index::{DocumentId, Error, ErrorKind, Result, Selection};

use super::documents::{self, Stored, to_stored_document};
use super::layout::{CLAIM_COLUMN, document_row, encode_claim};
use super::rows::{Swap, Swapped, Table};
use super::write::{OldCells, Writes};
use super::{Access, owner};

/// How long it is remembered that a document was removed, and when; and how a claim ended that came to nothing.
pub(super) const REMEMBER: Duration = Duration::from_secs(24 * 60 * 60);

/// How often a removal starts again because somebody else claims the document at the same time.
const ATTEMPTS_MAX: usize = 20;

/// The contract of [`Store::remove_if`](index::Store::remove_if).
pub(super) fn remove_if(access: &Access<'_>, ids: &[DocumentId], selection: &Selection) -> Result<Vec<bool>> {
    let owner = owner();
    let mut left: BTreeSet<&DocumentId> = ids.iter().collect();
    let mut removed: BTreeSet<&DocumentId> = BTreeSet::new();
    let mut may_expire: HashMap<&DocumentId, Claim> = HashMap::new();
    for _ in 0..ATTEMPTS_MAX {
        let stored = documents::read(access, left.iter().copied())?;
        let (claims, swaps) = plan(access, owner, &stored, selection);
        let is_over_nothing = |(id, _): &&(_, _)| stored[id].claim.as_ref().is_none_or(|claim| claim.expires);
        may_expire.extend(claims.iter().filter(is_over_nothing).cloned());
        for (id, stored) in &stored {
            // An answer to a compare-and-set was lost.
            if stored.claim.as_ref().is_some_and(|claim| claim.ticket.owner == owner) {
                removed.insert(*id);
            }
        }
        let swapped = access.rows.swap(Table::Documents, &swaps)?;
        let mut ended = stored;
        left.clear();
        for (claim, swapped) in claims.into_iter().zip(swapped) {
            let (id, claim) = claim;
            if swapped == Swapped::Done {
                removed.insert(id);
                ended.entry(id).or_default().claim = Some(claim);
            } else {
                ended.remove(id);
                left.insert(id);
            }
        }
        clean(access, &ended)?;
        let_expire(access, &ended, &may_expire);
        if left.is_empty() {
            return Ok(ids.iter().map(|id| removed.remove(id)).collect());
        }
    }
    let (n_left, n_ids) = (left.len(), ids.len());
    Err(Error::new(
        ErrorKind::Busy,
        format!(
            "{n_left} of {n_ids} documents were claimed faster than they could be removed; repeat the call"
        ),
    ))
}

/// The claims that remove what is there.
fn plan<'a>(
    access: &Access<'_>,
    owner: u64,
    stored: &HashMap<&'a DocumentId, Stored>,
    selection: &Selection,
) -> (Vec<(&'a DocumentId, Claim)>, Vec<Swap>) {
    let now = access.now();
    let mut claims = Vec::new();
    let mut swaps = Vec::new();
    for (number, (&id, stored)) in (0..).zip(stored) {
        let Some(live) = &stored.live else { continue };
        if !selection.matches(&to_stored_document(id.clone(), live.clone())) {
            continue;
        }
        let claim = Claim {
            state: State::Removed,
            sketch: live.sketch.clone(),
            source: None,
            text: None,
            timestamp: now.max(stored.newest + 1),
            ticket: Ticket { time: now, owner, number },
            deadline: now,
            expires: false,
        };
        swaps.push(swap(access, id, stored.claim.as_ref(), &claim));
        claims.push((id, claim));
    }
    (claims, swaps)
}

/// A compare-and-set of a claim. What comes to nothing is forgotten in time.
pub(super) fn swap(access: &Access<'_>, id: &DocumentId, from: Option<&Claim>, to: &Claim) -> Swap {
    Swap {
        row: document_row(id),
        column: CLAIM_COLUMN.to_vec(),
        from: from.map(|claim| encode_claim(claim, access.kind)),
        to: encode_claim(to, access.kind),
        time_to_live: to.expires.then_some(REMEMBER),
    }
}

/// Deletes what is left of documents that were removed.
pub(super) fn clean(access: &Access<'_>, stored: &HashMap<&DocumentId, Stored>) -> Result<()> {
    let mut records = Writes::new(Table::Documents);
    let mut cells = OldCells::default();
    for (id, stored) in stored {
        let Some(claim) = stored.claim.as_ref().filter(|claim| claim.state == State::Removed) else {
            continue;
        };
        // Also what was written without asking at the same moment, which a claim takes precedence over.
        let until = claim.timestamp;
        if stored.record_timestamp.is_some_and(|record| record > until) {
            // It has been inserted again since.
            continue;
        }
        // Also where there is none: a put of an older version may be under way, of somebody who has died.
        records.delete_record(until, id);
        if access.keeps_texts {
            records.delete_texts(until, id);
        }
        cells.gone(until, id, &claim.sketch, None);
    }
    let result = records.apply(access).and_then(|()| cells.apply(access));
    result.map_err(|error| {
        Error::new(
            error.kind(),
            "the documents are removed, and what is left of them is not yet; repeat the call",
        )
        .caused_by(error)
    })
}

/// Lets those claims of a removal expire that may, of documents that it has cleaned up after.
fn let_expire(
    access: &Access<'_>,
    cleaned: &HashMap<&DocumentId, Stored>,
    may_expire: &HashMap<&DocumentId, Claim>,
) {
    let swap_of = |(id, stored): (&&DocumentId, &Stored)| {
        let claim = stored.claim.as_ref().filter(|claim| may_expire.get(id) == Some(claim))?;
        Some(swap(access, id, Some(claim), &Claim { expires: true, ..claim.clone() }))
    };
    let swaps: Vec<_> = cleaned.iter().filter_map(swap_of).collect();
    if let Err(error) = access.rows.swap(Table::Documents, &swaps) {
        tracing::warn!(%error, "failed to let it be forgotten in time that documents were removed");
    }
}
