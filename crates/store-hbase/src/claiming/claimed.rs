//! A document that is claimed, and what goes with its claims.

use index::backend::claims::{Claim, Claimant, State, Step};
use index::{Document, Insertion};

use super::super::Access;
use super::super::documents::Stored;
use super::super::layout::Record;
use super::super::meet::Ghosts;
use super::super::write::Writes;

/// One document of a batch.
pub(super) struct Claimed<'a> {
    pub(super) document: &'a Document,
    pub(super) claimant: Claimant,
    /// The row, as it was read last.
    pub(super) row: Stored,
    /// What was there when it was announced.
    pub(super) replaced: Option<Record>,
    /// The timestamps and digests of the texts that were written for its claims.
    pub(super) texts: Vec<(i64, u64)>,
}

impl Claimed<'_> {
    /// What goes of the texts: of a document that is there now all that are older, else those of its own claims.
    pub(super) fn old_texts(&self, deletes: &mut Writes) {
        let Self { document: Document { id, .. }, claimant, row, texts, .. } = self;
        let was_inserted = matches!(claimant.step(), Step::Done(Insertion::Inserted | Insertion::Replaced));
        match claimant.claim().filter(|_| was_inserted) {
            Some(claim) if row.newest > 0 => deletes.delete_texts(claim.timestamp - 1, id),
            Some(_) => {}
            None => texts.iter().for_each(|name| deletes.delete_text(name.0, id, *name)),
        }
    }

    /// Notes the cells of a claim that was withdrawn. Its timestamp is that of the claim that the
    /// row had at the end, so each later claim on the document has a greater one.
    pub(super) fn withdrawn(&self, ghosts: &mut Ghosts) {
        let Self { document: Document { id, sketch, .. }, claimant, .. } = self;
        if let (Step::Done(Insertion::Duplicate(_)), Some(claim)) = (claimant.step(), claimant.claim()) {
            sketch.rows().for_each(|row| ghosts.note_cell(row, id, claim.timestamp));
        }
    }

    /// What is known from the claim alone goes into the record, before another claim takes its place.
    pub(super) fn fold(&self, records: &mut Writes, from: Option<&Claim>, access: &Access<'_>) {
        let Self { document: Document { id, .. }, row, .. } = self;
        // Also what has expired: a clock that is ahead must not make it lost to the others.
        let kept = row.live.as_ref().or(row.expired.as_ref());
        match (from.map(|claim| claim.state), kept) {
            (Some(State::Committed), Some(kept)) if row.is_claimed() => {
                records.put_record(kept.timestamp, id, kept, access);
            }
            // Also where there is no record: a put of an older version may be under way, of somebody who has died.
            (Some(State::Removed), None) => records.delete_record(row.newest, id),
            _ => {}
        }
    }
}
