//! A claimed document, and the writes that belong to its claims.

use crate::claims::{Claim, Claimant, State, Step};
use index::{Document, Insertion};

use super::super::access::Access;
use super::super::documents::Stored;
use super::super::layout::Record;
use super::super::meet::Ghosts;
use super::super::write::Writes;

/// One document of a batch.
pub(super) struct Claimed<'a> {
    pub(super) document: &'a Document,
    pub(super) claimant: Claimant,
    /// The row, as last read.
    pub(super) row: Stored,
    /// The record in the index when the document was announced.
    pub(super) replaced: Option<Record>,
    /// The timestamps and digests of the texts that were written for the document's claims.
    pub(super) texts: Vec<(i64, u64)>,
}

impl Claimed<'_> {
    /// Adds the deletes of texts: all older texts of an inserted document, else the texts of its
    /// own claims.
    pub(super) fn old_texts(&self, deletes: &mut Writes) {
        let Self { document: Document { id, .. }, claimant, row, texts, .. } = self;
        let was_inserted = matches!(claimant.step(), Step::Done(Insertion::Inserted | Insertion::Replaced));
        match claimant.claim().filter(|_| was_inserted) {
            Some(claim) if row.newest > 0 => deletes.delete_texts(claim.timestamp - 1, id),
            Some(_) => {}
            None => texts.iter().for_each(|name| deletes.delete_text(name.0, id, *name)),
        }
    }

    /// Notes the cells of a withdrawn claim. The claim's timestamp is the one that the row had at
    /// the end, and each later claim on the document has a greater one.
    pub(super) fn withdrawn(&self, ghosts: &mut Ghosts) {
        let Self { document: Document { id, sketch, .. }, claimant, .. } = self;
        if let (Step::Done(Insertion::Duplicate(_)), Some(claim)) = (claimant.step(), claimant.claim()) {
            sketch.rows().for_each(|row| ghosts.note_cell(row, id, claim.timestamp));
        }
    }

    /// Copies the state that only the claim holds into the record, before another claim takes its
    /// place.
    pub(super) fn fold(&self, records: &mut Writes, from: Option<&Claim>, access: &Access<'_>) {
        let Self { document: Document { id, .. }, row, .. } = self;
        // Expired records too: a fast clock here must not lose the document for others.
        let kept = row.live.as_ref().or(row.expired.as_ref());
        match (from.map(|claim| claim.state), kept) {
            (Some(State::Committed), Some(kept)) if row.is_claimed() => {
                records.put_record(kept.timestamp, id, kept, access);
            }
            // Also without a record: a put of an older version, from a process that has died, may
            // be under way.
            (Some(State::Removed), None) => records.delete_record(row.newest, id),
            _ => {}
        }
    }
}
