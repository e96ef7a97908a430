//! Finds the documents that a claimant meets: those with a cell near it, in any state.
//!
//! Unlike a search (`near`), a claimant judges by rows alone: a cell only leads to a row, and the
//! row is newer than the cell. Where texts decide (`weigh`), a row is read once more with its
//! texts, and that later read counts.

mod weigh;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::claims::{Claim, State};
use index::{DocumentId, Glance, Nearness, Result, Rule, Sketch, Timestamp};
use minhash::Similarity;
use simhash::RowKey;

use super::access::Access;
use super::buckets::{Buckets, Candidate, Reach, is_filed};
use super::documents::{self, Stored};
use super::loads::{self, may_load_beneath};
use super::rows::Table;
use super::write::Writes;

use self::weigh::Scales;

/// The age at which a cell that leads nowhere is deleted. A younger cell may belong to a writer
/// that has not written its record yet.
pub(super) const SWEPT_AFTER: Duration = Duration::from_secs(600);

/// A document that looks for near ones, and its rule.
pub(super) struct Lookout<'a> {
    pub(super) id: &'a DocumentId,
    pub(super) sketch: Sketch,
    pub(super) rule: &'a Rule,
    pub(super) reach: Reach,
}

impl Lookout<'_> {
    fn nearness(&self, sketch: &Sketch) -> Option<Nearness> {
        self.rule.nearness(&self.sketch, sketch)
    }

    /// Returns the greatest possible similarity of another document whose kept text decides if the
    /// two are near; `None` if texts do not decide.
    pub(super) fn is_worth(&self, sketch: &Sketch, text: Option<u64>) -> Option<Similarity> {
        text?;
        match self.rule.glance(self.sketch.features(), sketch.features()) {
            Glance::Worth { at_most, .. } if self.rule.proposes(&self.sketch, sketch) => Some(at_most),
            _ => None,
        }
    }
}

/// The rows that one document has met.
#[derive(Default)]
pub(super) struct Found {
    /// Rows with a pending claim that is near.
    pending: BTreeMap<DocumentId, Stored>,
    /// The nearest live document, by nearness, then id.
    nearest: Option<(Nearness, DocumentId, Stored)>,
}

/// Cells that lead nowhere, with their timestamps.
#[derive(Default)]
pub(super) struct Ghosts(BTreeSet<(DocumentId, i64, RowKey)>);

impl Ghosts {
    /// Notes all known cells of the candidate's version, if the version is neither live nor
    /// claimed.
    fn note(&mut self, access: &Access<'_>, candidate: &Candidate, stored: &Stored) {
        let Candidate { row, id, timestamp, .. } = candidate;
        // An expired cell goes by itself, by a clock that may be better than ours.
        let stays = access.horizon.is_live(Timestamp::saturating(*timestamp));
        if !stays || !is_old(access, *timestamp) || !is_ghost(*row, stored) {
            return;
        }
        // An aborted claim gives all rows that it had filed. Without a claim, the rows of a simhash
        // follow from the fingerprint.
        let claimed = stored.claim.as_ref().filter(|claim| claim.timestamp == *timestamp);
        let claimed = claimed.map(|claim| claim.sketch.clone());
        let by_scheme = access.kind.sketch_of_row(*row);
        let version = claimed.into_iter().chain(by_scheme).find(|sketch| is_filed(sketch, *row));
        let others = version.iter().flat_map(Sketch::rows).filter(|row| is_ghost(*row, stored));
        self.0.extend(others.chain([*row]).map(|row| (id.clone(), *timestamp, row)));
    }

    /// Notes one cell that leads nowhere.
    pub(super) fn note_cell(&mut self, row: RowKey, id: &DocumentId, timestamp: i64) {
        self.0.insert((id.clone(), timestamp, row));
    }

    /// Deletes the noted cells and all older versions of them. Two kinds are kept: cells of a
    /// document that is there by now, and cells not older than a bulk load under way. The delete
    /// would hide a cell of the load, whose record comes later.
    ///
    /// A claim that comes meanwhile has a greater timestamp. An insertion without a claim, begun
    /// before the sweep, either has written its record by now, or looks for claims afterwards.
    pub(super) fn sweep(&self, access: &Access<'_>) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let loads = loads::under_way(access.rows)?;
        let ids = self.0.iter().map(|(id, ..)| id);
        let rows = documents::read_each(access, ids)?;
        let nowhere = Stored::default();
        let mut deletes = Writes::new(Table::Index);
        for (id, timestamp, row) in &self.0 {
            let stored = rows.get(id).map_or(Some(&nowhere), |stored| stored.as_ref().ok());
            if !may_load_beneath(&loads, *timestamp) && stored.is_some_and(|stored| is_ghost(*row, stored)) {
                deletes.delete_cells(*timestamp, id, [*row]);
            }
        }
        deletes.apply(access)
    }
}

/// Returns for each lookout the row of the nearest live document, and of all documents with a
/// pending claim that is near. These rows and a page of each bucket bound the memory. Cells that
/// lead nowhere are noted in `ghosts`.
///
/// An empty answer is valid once another call has confirmed that the tables still belong to the
/// index: a claimant without a match claims its document or commits the claim, and this call
/// confirms the tables.
pub(super) fn meet(
    access: &Access<'_>,
    lookouts: &[Lookout<'_>],
    ghosts: &mut Ghosts,
) -> Result<Vec<Vec<(DocumentId, Stored)>>> {
    if lookouts.is_empty() {
        return Ok(Vec::new());
    }
    let tier = access.tier.map_or(Ok(None), |tier| tier())?;
    let mut buckets = Buckets::default();
    for (number, lookout) in lookouts.iter().enumerate() {
        buckets.add(number, &lookout.sketch, lookout.rule, lookout.reach, tier.as_deref());
    }
    let mut found: Vec<Found> = Vec::new();
    found.resize_with(lookouts.len(), Found::default);
    while let Some(pages) = buckets.next(access.rows)? {
        // A claimant that searches meets its own cells; its row is known already.
        let is_other = |candidate: &&Candidate| candidate.id != *lookouts[candidate.query].id;
        let others = || pages.candidates.iter().filter(is_other);
        let rows = documents::read(access, others().map(|candidate| &candidate.id))?;
        let nowhere = Stored::default();
        let mut scales = Scales::default();
        for candidate in others() {
            let stored = rows.get(&candidate.id).unwrap_or(&nowhere);
            ghosts.note(access, candidate, stored);
            let (number, lookout) = (candidate.query, &lookouts[candidate.query]);
            if !scales.put(number, lookout, &candidate.id, stored) {
                found[number].take(lookout, &candidate.id, stored);
            }
        }
        scales.weigh(access, lookouts, &mut found)?;
    }
    Ok(found.into_iter().map(Found::into_rows).collect())
}

/// Returns true if `timestamp` is older than any write still under way.
pub(super) fn is_old(access: &Access<'_>, timestamp: i64) -> bool {
    access.now() - timestamp > SWEPT_AFTER.as_millis() as i64
}

/// Returns true if a document's cell in `row` belongs neither to its record, live or expired, nor
/// to its pending claim. The cell may be older than these: their own cell may be on its way.
pub(super) fn is_ghost(row: RowKey, stored: &Stored) -> bool {
    let is_there = stored.live.iter().chain(&stored.expired).any(|record| is_filed(&record.sketch, row));
    !is_there && !pending(stored).is_some_and(|claim| is_filed(&claim.sketch, row))
}

pub(super) fn pending(stored: &Stored) -> Option<&Claim> {
    stored.claim.as_ref().filter(|claim| claim.state == State::Pending)
}

impl Found {
    /// Returns the similarity of the nearest document met.
    pub(super) fn best(&self) -> Option<Similarity> {
        self.nearest.as_ref()?.0.similarity
    }

    /// Keeps a row if it has a near pending claim, or the nearest live document.
    pub(super) fn take(&mut self, lookout: &Lookout<'_>, id: &DocumentId, stored: &Stored) {
        if pending(stored).is_some_and(|claim| lookout.nearness(&claim.sketch).is_some()) {
            self.pending.insert(id.clone(), stored.clone());
        }
        let live = stored.live.as_ref();
        if let Some(nearness) = live.and_then(|live| lookout.nearness(&live.sketch))
            && self.nearest.as_ref().is_none_or(|(best, other, _)| (nearness, id) < (*best, other))
        {
            self.nearest = Some((nearness, id.clone(), stored.clone()));
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
