//! Removes documents by compare-and-set in the column of claims, so that no concurrent insertion
//! overlooks the removal.
//!
//! 1. The claim is set to `removed`, with a timestamp greater than all earlier ones of the
//!    document. From here on the document is gone.
//! 2. Its record, texts and cells up to the timestamp of the claim are deleted.
//! 3. The claim is set to one that is kept for [`REMEMBER`] only, unless a committed claim was
//!    beneath it once, which would show again.
//!
//! A process dying in between leaves nothing that a search returns. The same call again, an
//! insertion of the document, or a repair ends the work. These may be long in coming: no claim
//! expires before the record beneath it is gone. Only the remover knows if its claim may expire,
//! and a removal ended by another process stays for good.
//!
//! The claim beneath an expired one is `removed` too, and does no harm: it is the one of step 1,
//! unless HBase has dropped it by then, as it does when it writes both to disk together.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use crate::claims::{Claim, State, Ticket};
use index::{DocumentId, Error, ErrorKind, Result, Selection};

use super::access::Access;
use super::documents::{self, Stored, to_stored_document};
use super::drawn::drawn;
use super::layout::{CLAIM_COLUMN, document_row, encode_claim};
use super::rows::{Swap, Swapped, Table};
use super::write::{OldCells, Writes};

/// The time for which a removal, with its timestamp, is remembered, and the end of an aborted
/// claim.
pub(super) const REMEMBER: Duration = Duration::from_secs(24 * 60 * 60);

/// The most attempts of a removal; another attempt is needed when the document is claimed at the
/// same time.
const ATTEMPTS_MAX: usize = 20;

/// Implements [`Store::remove_if`](index::Store::remove_if).
pub(super) fn remove_if(access: &Access<'_>, ids: &[DocumentId], selection: &Selection) -> Result<Vec<bool>> {
    let owner = drawn();
    let mut left: BTreeSet<&DocumentId> = ids.iter().collect();
    let mut removed: BTreeSet<&DocumentId> = BTreeSet::new();
    let mut may_expire: HashMap<&DocumentId, Claim> = HashMap::new();
    for _ in 0..ATTEMPTS_MAX {
        let stored = documents::read(access, left.iter().copied())?;
        let (claims, swaps) = plan(access, owner, &stored, selection);
        let is_over_nothing = |(id, _): &&(_, _)| stored[id].claim.as_ref().is_none_or(|claim| claim.expires);
        may_expire.extend(claims.iter().filter(is_over_nothing).cloned());
        for (id, stored) in &stored {
            // The answer to a compare-and-set was lost.
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

/// Returns the claims that remove live documents.
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

/// Returns a compare-and-set of a claim. A claim with `expires` is forgotten after [`REMEMBER`].
pub(super) fn swap(access: &Access<'_>, id: &DocumentId, from: Option<&Claim>, to: &Claim) -> Swap {
    Swap {
        row: document_row(id),
        column: CLAIM_COLUMN.to_vec(),
        from: from.map(|claim| encode_claim(claim, access.kind)),
        to: encode_claim(to, access.kind),
        time_to_live: to.expires.then_some(REMEMBER),
    }
}

/// Deletes the remains of removed documents.
pub(super) fn clean(access: &Access<'_>, stored: &HashMap<&DocumentId, Stored>) -> Result<()> {
    let mut records = Writes::new(Table::Documents);
    let mut cells = OldCells::default();
    for (id, stored) in stored {
        let Some(claim) = stored.claim.as_ref().filter(|claim| claim.state == State::Removed) else {
            continue;
        };
        // Includes a record of the same moment, written without a claim: the claim takes
        // precedence.
        let until = claim.timestamp;
        if stored.record_timestamp.is_some_and(|record| record > until) {
            // The document has been inserted again since.
            continue;
        }
        // Also without a record: a put of an older version, from a process that has died, may be
        // under way.
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

/// Lets the claims in `may_expire` expire, of documents whose remains were deleted.
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
