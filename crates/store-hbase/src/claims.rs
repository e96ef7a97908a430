//! Insertion if new, exactly once, among writers that share only rows with compare-and-set.
//!
//! Near-duplicates have no common row known beforehand, and one step changes only one row. So each
//! document is claimed: the claim stands in the document's own row, the document's cells in the
//! index lead to the row, and every search of a near document meets both.
//!
//! ```text
//!                 is a duplicate
//!   look ───────────────────────────► nothing was written
//!    │ announce             file           search, resolve
//!    └───────────► Pending ──────► Pending ────────────────► Pending ─── commit ──► Committed
//!                     ▲                                         │                       │
//!                     │ announce, with a new timestamp          ├─ is a duplicate       │ removal
//!                     └─────────────── Aborted ◄────────────────┘ by another claimant   ▼
//!                                                                                    Removed
//! ```
//!
//! Near documents found by a search, and the claimant's reaction:
//!
//! | the near document is | then |
//! |---|---|
//! | committed | the own document is its duplicate: withdraw |
//! | pending with an earlier ticket | wait; abort the claim once its lease has run out |
//! | pending with a later ticket | abort it: its owner searches again and meets the own claim |
//! | aborted, removed, or gone | no obstacle; its owner will search again before committing |
//!
//! # Correctness
//! A claim and its cells are written before the claimant's search begins, so of two near documents
//! at least one meets the other. A claimant that meets a pending claim either sees its end or ends
//! it by compare-and-set. An ended claim can commit only after a new announcement and a new search,
//! which meets the first claimant. Every compare-and-set compares the whole claim, with its ticket
//! (the owner) and its timestamp (the incarnation), so no claimant changes a claim it has not seen.
//!
//! Tickets order all claims alike for all writers, so waiting makes no circle, and the earliest
//! claim never waits. Leases are for progress alone: a lease that runs out early, by any clock,
//! costs a second search and nothing else. To a claimant a lease has run out after the deadline in
//! the claim, or after the claimant has known the claim for longer than a lease by its own clock.
//!
//! The first look is for speed: most duplicates are of old documents, and end without a write.
//!
//! Cells bear the timestamp of their claim, which exceeds all earlier ones of the document. Cells
//! of a withdrawn claim go with the claim. Cells of a claim whose owner died lead nowhere; they are
//! swept later, together with cells of the same or lesser timestamps, so the cells of a claim that
//! overtook the aborted one stay.
//!
//! This module decides and does nothing itself: a [`Claimant`] names the next step and is told its
//! outcome. The walk over all interleavings is in `explore`.

mod claim;
#[cfg(test)]
mod explore;

use std::collections::BTreeMap;

use index::backend::rule;
use index::{Document, DocumentId, Insertion, Match, Rule, Sketch};

pub(crate) use self::claim::{Claim, Entry, State, Ticket};

/// The longest time in milliseconds from the timestamp of a claim to the end of the write of its
/// cells. A claimant that takes longer announces its claim anew, so that its cells have a time near
/// to their write: searches that know the older cells read only later ones (`tier`).
pub(crate) const FILED_WITHIN_MS: i64 = 60_000;

/// The next step of a claimant, to be done by its store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// Read these rows, possibly after a pause for a slower claimant.
    Read {
        /// The ids of the rows.
        ids: Vec<DocumentId>,
        /// True if other claimants are to be given time first.
        after_pause: bool,
    },
    /// Find the rows of committed documents near this sketch: the nearest is enough.
    Look(Sketch),
    /// Put the claim `to` in place of exactly `from`, in one atomic step.
    Swap {
        /// The row of the claim.
        id: DocumentId,
        /// The claim that must be there before.
        from: Option<Claim>,
        /// The claim that is there afterwards.
        to: Claim,
    },
    /// Write all cells of the own claim.
    File(Claim),
    /// Find the rows of documents with cells near this sketch, except the own one: the nearest
    /// committed document, and all with a pending claim.
    Search(Sketch),
    /// Nothing more: this is the answer.
    Done(Insertion),
}

/// The outcome of a step.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    /// Of `Read`, `Look` and `Search`: rows as of one moment each, later than the step.
    Entries(Vec<(DocumentId, Entry)>),
    /// Of `Swap`: true if it was done, false also if the outcome is unknown.
    Swapped(bool),
    /// Of `File`.
    Filed,
}

/// A document on its way into the index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Claimant {
    document: Document,
    /// A digest of the text, where the store keeps texts.
    text: Option<u64>,
    rule: Rule,
    ticket: Ticket,
    /// The time in milliseconds for which other claimants wait for this one, and this one for them.
    lease: i64,
    /// The claim as last announced.
    claim: Option<Claim>,
    replaces: bool,
    stage: Stage,
}

/// Claims in the way, each with the time since which the claimant has known it.
type Rivals = BTreeMap<DocumentId, (Claim, i64)>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// Reads the own row. `rival` is another claim in the way, with the time of its first sight.
    Reading {
        rival: Option<(Claim, i64)>,
    },
    /// Looks for near documents; holds the own row as read.
    Looking(Entry),
    Announcing {
        from: Option<Claim>,
    },
    Filing,
    Searching,
    Waiting {
        rivals: Rivals,
        after_pause: bool,
    },
    Aborting {
        rival: DocumentId,
        rivals: Rivals,
    },
    Committing,
    Withdrawing(Match),
    Done(Insertion),
}

impl Claimant {
    /// A claimant for a document to be inserted if no document is near by `rule`.
    pub(crate) fn new(document: Document, rule: Rule, ticket: Ticket, lease: i64) -> Self {
        let stage = Stage::Reading { rival: None };
        Self { document, text: None, rule, ticket, lease, claim: None, replaces: false, stage }
    }

    /// The same claimant with a digest of the text, where the store keeps texts. The text is
    /// written before the cells of the claim, so every claimant led there by a cell can count.
    #[must_use]
    pub(crate) fn with_text(self, text: Option<u64>) -> Self {
        Self { text, ..self }
    }

    /// The next step.
    pub(crate) fn step(&self) -> Step {
        let own = || self.document.id.clone();
        let swap = |state| {
            let claim = self.announced();
            let expires = claim.expires && state != State::Committed;
            Step::Swap { id: own(), from: self.claim.clone(), to: Claim { state, expires, ..claim.clone() } }
        };
        match &self.stage {
            Stage::Reading { rival } => Step::Read { ids: vec![own()], after_pause: rival.is_some() },
            Stage::Announcing { from } => {
                Step::Swap { id: own(), from: from.clone(), to: self.announced().clone() }
            }
            Stage::Filing => Step::File(self.announced().clone()),
            Stage::Looking(_) => Step::Look(self.document.sketch.clone()),
            Stage::Searching => Step::Search(self.document.sketch.clone()),
            Stage::Waiting { rivals, after_pause } => {
                let ids = rivals.iter().filter(|(_, (claim, _))| claim.ticket < self.ticket || !after_pause);
                Step::Read { ids: ids.map(|(id, _)| id.clone()).collect(), after_pause: *after_pause }
            }
            Stage::Aborting { rival, rivals } => {
                let from = rivals[rival].0.clone();
                let to = Claim { state: State::Aborted, ..from.clone() };
                Step::Swap { id: rival.clone(), from: Some(from), to }
            }
            Stage::Committing => swap(State::Committed),
            Stage::Withdrawing(_) => swap(State::Aborted),
            Stage::Done(insertion) => Step::Done(insertion.clone()),
        }
    }

    /// Goes on with the outcome of [`step`](Self::step). `now` is in milliseconds. A clock set back
    /// makes the claimant wait longer by the difference.
    pub(crate) fn advance(&mut self, seen: Seen, now: i64) {
        let stage = std::mem::replace(&mut self.stage, Stage::Reading { rival: None });
        self.stage = match (stage, seen) {
            (Stage::Reading { rival }, Seen::Entries(mut entries)) => match entries.pop() {
                Some((_, entry)) => self.contend(entry, rival, now),
                None => Stage::Reading { rival },
            },
            (Stage::Looking(entry), Seen::Entries(near)) => match self.nearest(&near) {
                Some(found) => Stage::Done(Insertion::Duplicate(found)),
                None => self.announce(entry, now),
            },
            (Stage::Announcing { .. }, Seen::Swapped(true)) => Stage::Filing,
            (Stage::Filing, Seen::Filed) if self.is_late(now) => Stage::Reading { rival: None },
            (Stage::Filing, Seen::Filed) => Stage::Searching,
            (Stage::Searching, Seen::Entries(entries)) => self.resolve(Rivals::new(), entries, now),
            (Stage::Waiting { rivals, .. }, Seen::Entries(entries)) => self.resolve(rivals, entries, now),
            (Stage::Aborting { rival, mut rivals }, Seen::Swapped(is_done)) => {
                if is_done {
                    rivals.remove(&rival);
                    self.turn(rivals, now)
                } else {
                    Stage::Waiting { rivals, after_pause: false }
                }
            }
            (Stage::Committing, Seen::Swapped(true)) => Stage::Done(self.success()),
            (Stage::Withdrawing(of), Seen::Swapped(true)) => Stage::Done(Insertion::Duplicate(of)),
            (Stage::Announcing { .. } | Stage::Committing | Stage::Withdrawing(_), Seen::Swapped(false)) => {
                Stage::Reading { rival: None }
            }
            // The outcome of another step: ask again.
            (stage, _) => stage,
        };
    }

    /// The claim as last announced.
    pub(crate) fn claim(&self) -> Option<&Claim> {
        self.claim.as_ref()
    }

    fn announced(&self) -> &Claim {
        self.claim.as_ref().expect("every stage after the first has announced a claim")
    }

    fn success(&self) -> Insertion {
        if self.replaces { Insertion::Replaced } else { Insertion::Inserted }
    }

    /// Goes on after reading the own row, at first or after a failed compare-and-set.
    fn contend(&mut self, entry: Entry, rival: Option<(Claim, i64)>, now: i64) -> Stage {
        if let Some(claim) = entry.claim.as_ref().filter(|claim| claim.ticket == self.ticket) {
            // The answer to a compare-and-set was lost.
            match claim.state {
                State::Committed => return Stage::Done(self.success()),
                State::Pending if self.claim.as_ref() == Some(claim) && !self.is_late(now) => {
                    return Stage::Filing;
                }
                _ => {}
            }
        }
        if self.is_there(&entry) {
            return Stage::Done(Insertion::Unchanged);
        }
        if let Some(claim) = entry.claim.as_ref().filter(|claim| claim.state == State::Pending) {
            let since = rival.filter(|(before, _)| before == claim).map_or(now, |(_, since)| since);
            if claim.ticket < self.ticket && !self.is_over(claim, since, now) {
                return Stage::Reading { rival: Some((claim.clone(), since)) };
            }
        }
        if self.claim.is_some() { self.announce(entry, now) } else { Stage::Looking(entry) }
    }

    /// Returns true if the document is already stored, with its text where texts are kept.
    fn is_there(&self, entry: &Entry) -> bool {
        let Some(live) = entry.live.as_ref().filter(|live| **live == self.document.sketch) else {
            return false;
        };
        let text = self.document.sketch.text();
        match (self.text, entry.text) {
            (None, stored) => stored.is_none() || text.is_none(),
            (Some(_), None) => false,
            (Some(text), Some(stored)) if text == stored => true,
            (Some(_), Some(_)) => {
                let texts = live.text().zip(text);
                texts.is_some_and(|(stored, text)| rule::is_same_text(stored, text, self.rule.counter))
            }
        }
    }

    /// Claims the own row, last read as `entry`.
    fn announce(&mut self, entry: Entry, now: i64) -> Stage {
        self.replaces = entry.live.is_some();
        self.claim = Some(Claim {
            state: State::Pending,
            sketch: self.document.sketch.clone(),
            source: self.document.source.clone(),
            text: self.text,
            timestamp: now.max(entry.newest + 1),
            ticket: self.ticket,
            deadline: now + self.lease,
            expires: entry.claim.as_ref().is_none_or(|claim| claim.expires),
        });
        Stage::Announcing { from: entry.claim }
    }

    /// Goes on after reading near rows, all of them or the rivals' again.
    fn resolve(&self, mut rivals: Rivals, entries: Vec<(DocumentId, Entry)>, now: i64) -> Stage {
        if let Some(found) = self.nearest(&entries) {
            return Stage::Withdrawing(found);
        }
        for (id, entry) in entries {
            let before = rivals.remove(&id);
            let claim = entry.claim.filter(|claim| self.is_rival(&id, claim));
            if let Some(claim) = claim {
                let since = before.filter(|(before, _)| *before == claim).map_or(now, |(_, since)| since);
                rivals.insert(id, (claim, since));
            }
        }
        self.turn(rivals, now)
    }

    /// The nearest committed document.
    fn nearest(&self, entries: &[(DocumentId, Entry)]) -> Option<Match> {
        let live = |(id, entry): &(DocumentId, Entry)| self.matched(id, entry.live.as_ref()?);
        entries.iter().filter_map(live).min_by(|a, b| (a.nearness, &a.id).cmp(&(b.nearness, &b.id)))
    }

    /// Waits for earlier rivals, aborts later ones, and commits without rivals.
    fn turn(&self, rivals: Rivals, now: i64) -> Stage {
        let must_wait =
            |(claim, since): &(Claim, i64)| claim.ticket < self.ticket && !self.is_over(claim, *since, now);
        if rivals.values().any(must_wait) {
            return Stage::Waiting { rivals, after_pause: true };
        }
        match rivals.keys().next().cloned() {
            Some(rival) => Stage::Aborting { rival, rivals },
            None => Stage::Committing,
        }
    }

    fn matched(&self, id: &DocumentId, sketch: &Sketch) -> Option<Match> {
        if *id == self.document.id {
            return None;
        }
        let nearness = self.rule.nearness(&self.document.sketch, sketch)?;
        Some(Match::new(id.clone(), sketch.fingerprint(), nearness))
    }

    fn is_rival(&self, id: &DocumentId, claim: &Claim) -> bool {
        claim.state == State::Pending && self.matched(id, &claim.sketch).is_some()
    }

    /// Returns true if cells written now are too late for the timestamp of the own claim.
    fn is_late(&self, now: i64) -> bool {
        now - self.announced().timestamp > FILED_WITHIN_MS
    }

    fn is_over(&self, claim: &Claim, since: i64, now: i64) -> bool {
        now > claim.deadline || now - since > self.lease
    }
}
