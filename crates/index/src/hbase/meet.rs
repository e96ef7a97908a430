//! What a claimant meets: documents with a cell near it, whatever has become of them.
//!
//! Unlike a search (`near`) it goes by rows alone: a cell only leads to one. What a row says is newer than the cell.

use std::collections::BTreeMap;
use std::time::Duration;

use simhash::{BucketKey, Fingerprint, Sketch};

use super::Access;
use super::buckets::{Buckets, Candidate};
use super::documents::{self, Stored};
use super::write::Writes;
use crate::claims::{Claim, State};
use crate::{DocumentId, Result};

/// How old a cell that leads nowhere has to be. A younger one may be of somebody who has not written his record yet.
const SWEPT_AFTER: Duration = Duration::from_secs(600);

/// Whom a document looks out for.
pub(super) struct Lookout<'a> {
    pub(super) id: &'a DocumentId,
    pub(super) sketch: Sketch,
    pub(super) max_distance: u32,
}

impl Lookout<'_> {
    fn distance(&self, fingerprint: Fingerprint) -> Option<u32> {
        let distance = self.sketch.fingerprint().distance(fingerprint);
        (distance <= self.max_distance).then_some(distance)
    }

    fn is_near(&self, sketch: &Sketch) -> Option<u32> {
        let shares = || self.sketch.keys().iter().any(|key| sketch.keys().binary_search(key).is_ok());
        self.distance(sketch.fingerprint()).filter(|_| shares())
    }
}

/// The rows that one document has met.
#[derive(Default)]
struct Found {
    /// Those with a pending claim that is near.
    pending: BTreeMap<DocumentId, Stored>,
    /// The one that is there and nearest, by distance, then id.
    nearest: Option<(u32, DocumentId, Stored)>,
}

/// For each lookout the rows of the nearest document that is there, and of all with a pending claim that is near. Memory
/// is bounded by these, and by a page of each bucket. Cells that lead nowhere are noted in `ghosts`, to be deleted.
pub(super) fn meet(
    access: &Access<'_>,
    lookouts: &[Lookout<'_>],
    ghosts: &mut Writes,
) -> Result<Vec<Vec<(DocumentId, Stored)>>> {
    let mut buckets = Buckets::default();
    for (number, lookout) in lookouts.iter().enumerate() {
        buckets.add(number, &lookout.sketch);
    }
    let mut found: Vec<Found> = Vec::new();
    found.resize_with(lookouts.len(), Found::default);
    let is_near = |number: usize, fingerprint| lookouts[number].distance(fingerprint).is_some();
    let is_old = access.now() - SWEPT_AFTER.as_millis() as i64;
    while let Some(pages) = buckets.next(access.rows, &is_near)? {
        let rows = documents::read(access, pages.candidates.iter().map(|candidate| &candidate.id))?;
        let nowhere = Stored::default();
        for candidate in &pages.candidates {
            let stored = rows.get(&candidate.id).unwrap_or(&nowhere);
            if candidate.timestamp < is_old && is_ghost(candidate, stored) {
                let Candidate { timestamp, id, fingerprint, bucket, .. } = candidate;
                let sketch = Sketch::new(*fingerprint, vec![*bucket]);
                ghosts.delete_cells(*timestamp, id, &sketch, &[*bucket]);
            }
            let lookout = &lookouts[candidate.query];
            if candidate.id != *lookout.id {
                found[candidate.query].take(lookout, &candidate.id, stored);
            }
        }
    }
    Ok(found.into_iter().map(Found::into_rows).collect())
}

/// Whether a cell is neither of what is there nor of a claim that may still become that.
fn is_ghost(candidate: &Candidate, stored: &Stored) -> bool {
    let is_filed = |sketch: &Sketch, bucket: &BucketKey| {
        sketch.fingerprint() == candidate.fingerprint && sketch.keys().binary_search(bucket).is_ok()
    };
    // Also where the version is newer than the cell: its own cell may be on its way.
    let is_live = stored.live.as_ref().is_some_and(|live| is_filed(&live.sketch, &candidate.bucket));
    !is_live && !pending(stored).is_some_and(|claim| is_filed(&claim.sketch, &candidate.bucket))
}

fn pending(stored: &Stored) -> Option<&Claim> {
    stored.claim.as_ref().filter(|claim| claim.state == State::Pending)
}

impl Found {
    fn take(&mut self, lookout: &Lookout<'_>, id: &DocumentId, stored: &Stored) {
        if pending(stored).is_some_and(|claim| lookout.is_near(&claim.sketch).is_some()) {
            self.pending.insert(id.clone(), stored.clone());
        }
        let live = stored.live.as_ref();
        if let Some(distance) = live.and_then(|live| lookout.is_near(&live.sketch))
            && self.nearest.as_ref().is_none_or(|(best, other, _)| (distance, id) < (*best, other))
        {
            self.nearest = Some((distance, id.clone(), stored.clone()));
        }
    }

    fn into_rows(self) -> Vec<(DocumentId, Stored)> {
        let Self { mut pending, nearest } = self;
        if let Some((_, id, stored)) = nearest {
            pending.insert(id, stored);
        }
        pending.into_iter().collect()
    }
}
