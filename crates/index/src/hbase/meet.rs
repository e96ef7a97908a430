//! What a claimant meets: documents with a cell near it, whatever has become of them.
//!
//! Unlike a search (`near`) it goes by rows alone: a cell only leads to one. What a row says is newer than the cell.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use simhash::{BucketKey, Fingerprint, Sketch};

use super::Access;
use super::buckets::{Buckets, Candidate};
use super::documents::{self, Stored};
use super::rows::Table;
use super::write::{Writes, keys_only_in};
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

/// Cells that lead nowhere.
#[derive(Default)]
pub(super) struct Ghosts(BTreeSet<(DocumentId, Fingerprint, i64, Vec<BucketKey>)>);

impl Ghosts {
    /// Notes all cells of the version that one was met of, if it is of none that is there or may come to be.
    fn note(&mut self, candidate: &Candidate, stored: &Stored, access: &Access<'_>) {
        let Candidate { bucket, fingerprint, id, timestamp, .. } = candidate;
        let is_old = access.now() - timestamp > SWEPT_AFTER.as_millis() as i64;
        let sketch = access.scheme.sketch(*fingerprint);
        let is_by_scheme = sketch.keys().binary_search(bucket).is_ok();
        let sketch = if is_by_scheme { sketch } else { Sketch::new(*fingerprint, vec![*bucket]) };
        // Also where what is there is newer than the cell: its own cell may be on its way.
        let keys = keys_only_in(&sketch, stored.live.as_ref().map(|live| &live.sketch));
        let keys = keys_only_in(&Sketch::new(*fingerprint, keys), pending(stored).map(|claim| &claim.sketch));
        if is_old && keys.contains(bucket) {
            self.0.insert((id.clone(), *fingerprint, *timestamp, keys));
        }
    }

    /// Deletes them, with what is older.
    pub(super) fn sweep(&self, access: &Access<'_>) -> Result<()> {
        let mut deletes = Writes::new(Table::Index);
        for (id, fingerprint, timestamp, keys) in &self.0 {
            deletes.delete_cells(*timestamp, id, &Sketch::new(*fingerprint, keys.clone()), keys);
        }
        deletes.apply(access)
    }
}

/// For each lookout the rows of the nearest document that is there, and of all with a pending claim that is near. Memory
/// is bounded by these, and by a page of each bucket. Cells that lead nowhere are noted in `ghosts`.
pub(super) fn meet(
    access: &Access<'_>,
    lookouts: &[Lookout<'_>],
    ghosts: &mut Ghosts,
) -> Result<Vec<Vec<(DocumentId, Stored)>>> {
    let mut buckets = Buckets::default();
    for (number, lookout) in lookouts.iter().enumerate() {
        buckets.add(number, &lookout.sketch);
    }
    let mut found: Vec<Found> = Vec::new();
    found.resize_with(lookouts.len(), Found::default);
    let is_near = |number: usize, fingerprint| lookouts[number].distance(fingerprint).is_some();
    while let Some(pages) = buckets.next(access.rows, &is_near)? {
        let rows = documents::read(access, pages.candidates.iter().map(|candidate| &candidate.id))?;
        let nowhere = Stored::default();
        for candidate in &pages.candidates {
            let stored = rows.get(&candidate.id).unwrap_or(&nowhere);
            ghosts.note(candidate, stored, access);
            let lookout = &lookouts[candidate.query];
            if candidate.id != *lookout.id {
                found[candidate.query].take(lookout, &candidate.id, stored);
            }
        }
    }
    Ok(found.into_iter().map(Found::into_rows).collect())
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
