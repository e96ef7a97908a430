//! Insert if new, exactly once, among any number of writers that share nothing but rows which can be compared and set.
//!
//! Near-duplicates have no row in common that is known beforehand, and a row is all that can be changed in one step. So a
//! document is claimed: the claim stands in the document's own row, the document's cells in the index lead to it, and
//! whoever searches meets both.
//!
//! ```text
//!                 is a duplicate
//!   look ───────────────────────────► nothing was written
//!    │ announce                file             search, resolve
//!    └────────────► Pending ────────► Pending ────────────────► Pending ──── commit ───► Committed
//!                      ▲                                           │                         │ by who removes
//!                      │ announce, with a new timestamp            ├─ is a duplicate         ▼ the document
//!                      └──────────────── Aborted ◄─────────────────┘ by another claimant  Removed
//! ```
//!
//! What is found near, and what becomes of it:
//!
//! | what is near is | then |
//! |---|---|
//! | committed | we are its duplicate: withdraw |
//! | pending with an earlier ticket | wait for it; abort it once its lease has run out |
//! | pending with a later ticket | abort it, so that it searches again and meets us |
//! | aborted, removed, or gone | no obstacle; it will search again before it commits |
//!
//! # Why it holds
//! Everyone's claim and cells are there before its search begins, so of two near documents at least one meets the other.
//! Who meets a pending claim either sees its end or ends it by compare-and-set, and a claim that was ended can only
//! commit after a new announcement and a new search, which meets us. Every compare-and-set compares the whole claim, with
//! its ticket (whose it is) and its timestamp (its incarnation), so nobody ends or commits a claim that it has not seen.
//!
//! Tickets order all claims in the same way for everybody, so waiting makes no circle, and the earliest one is never kept
//! waiting. Leases are for progress alone: one that runs out early, by whatever clock, costs a second search and nothing
//! else. A claimant believes the deadline in the claim, and its own clock where that takes longer than a lease.
//!
//! Looking first is for speed: most duplicates are of documents that have long been there, and end with nothing written.
//!
//! Cells bear the timestamp of their claim, which exceeds all that the document had before. Those of a claim that was
//! withdrawn go with it, and those of one whose owner died lead nowhere and are swept later, with all that are not newer:
//! those of the claim that overtook it stay.
//!
//! This module decides and does nothing: a [`Claimant`] says what to do next and is told what came of it. The walk over
//! all interleavings is in `explore`.

#[cfg(test)]
mod explore;

use std::collections::BTreeMap;

use super::rule;
use crate::{Document, DocumentId, Insertion, Match, Rule, Sketch, Source};

/// Whose turn it is: the smaller one goes first. Only that all see the same order matters, not what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    /// Milliseconds, by the clock of whoever drew it.
    pub time: i64,
    /// A random number for each batch.
    pub owner: u64,
    /// The place in the batch.
    pub number: u32,
}

/// How far a claim has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Its owner is at work, or dead.
    Pending,
    /// Withdrawn, or ended by somebody else.
    Aborted,
    /// The document is there.
    Committed,
    /// The document was there; whoever removed it leaves the timestamp that the next one has to exceed.
    Removed,
}

/// What a document's row says of the latest claim on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// How far it is.
    pub state: State,
    /// What is to be inserted.
    pub sketch: Sketch,
    /// Where that comes from.
    pub source: Option<Source>,
    /// A digest of its text, where the store keeps that.
    pub text: Option<u64>,
    /// That of its cells in the index: its incarnation.
    pub timestamp: i64,
    /// Whose turn it is.
    pub ticket: Ticket,
    /// When its lease runs out, in milliseconds.
    pub deadline: i64,
    /// Whether the row may forget it by itself in time: not where a committed claim stood there before, which could
    /// show again, and not a removal before what it removed is gone.
    pub expires: bool,
}

/// What a document's row says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Entry {
    /// What the document is found by, if it is there.
    pub live: Option<Sketch>,
    /// A digest of the text of that, where the store keeps it.
    pub text: Option<u64>,
    /// The greatest timestamp that it has had, in whatever state.
    pub newest: i64,
    /// The claim on the id, where there is one.
    pub claim: Option<Claim>,
}

/// What a claimant wants done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Read these rows; after a pause where that is because of somebody who takes his time.
    Read {
        /// Whose.
        ids: Vec<DocumentId>,
        /// Whether others are to be given time first.
        after_pause: bool,
    },
    /// Find the rows of the documents that are there and near this sketch: the nearest is enough.
    Look(Sketch),
    /// Put the claim `to` in place of exactly `from`, in one step that nothing comes between.
    Swap {
        /// Whose claim.
        id: DocumentId,
        /// What must be there.
        from: Option<Claim>,
        /// What is there then.
        to: Claim,
    },
    /// Write the cells of the own claim, all of them.
    File(Claim),
    /// Find the rows of the documents with cells near this sketch, the own one left out: the nearest that is there, and
    /// all with a claim that is pending.
    Search(Sketch),
    /// Nothing more: this is the answer.
    Done(Insertion),
}

/// What came of a step.
#[derive(Clone, Debug)]
pub enum Seen {
    /// Of `Read`, `Look` and `Search`: rows as of one moment each, later than the step.
    Entries(Vec<(DocumentId, Entry)>),
    /// Of `Swap`: whether it was done. `false` also where nobody knows.
    Swapped(bool),
    /// Of `File`.
    Filed,
}

/// One document on its way into the index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claimant {
    document: Document,
    /// A digest of its text, where the store keeps that.
    text: Option<u64>,
    rule: Rule,
    ticket: Ticket,
    /// How long others wait for us, in milliseconds, and we for them.
    lease: i64,
    /// As it was announced last.
    claim: Option<Claim>,
    replaces: bool,
    stage: Stage,
}

/// Claims that are in the way, and since when we know of them.
type Rivals = BTreeMap<DocumentId, (Claim, i64)>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// The own row; since when somebody else's claim on it has been in the way.
    Reading {
        rival: Option<(Claim, i64)>,
    },
    /// For what is near and there; this is what the own row was.
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
    /// A document that is to be inserted if nothing is near to it by `rule`.
    pub fn new(document: Document, rule: Rule, ticket: Ticket, lease: i64) -> Self {
        let stage = Stage::Reading { rival: None };
        Self { document, text: None, rule, ticket, lease, claim: None, replaces: false, stage }
    }

    /// The same, whose text the store keeps: its claims say so by a digest. The text is written before the cells that lead to
    /// the claim, so all that meet it there can count.
    #[must_use]
    pub fn with_text(self, text: Option<u64>) -> Self {
        Self { text, ..self }
    }

    /// What to do next.
    pub fn step(&self) -> Step {
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

    /// Goes on with what came of [`step`](Self::step). `now` is in milliseconds. A clock that is set back makes us wait
    /// for as much longer.
    pub fn advance(&mut self, seen: Seen, now: i64) {
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
            // An answer to another step than ours: ask again.
            (stage, _) => stage,
        };
    }

    /// The claim as it was announced last.
    pub fn claim(&self) -> Option<&Claim> {
        self.claim.as_ref()
    }

    fn announced(&self) -> &Claim {
        self.claim.as_ref().expect("every stage after the first has announced a claim")
    }

    fn success(&self) -> Insertion {
        if self.replaces { Insertion::Replaced } else { Insertion::Inserted }
    }

    /// Has read the own row, at first or because a compare-and-set failed.
    fn contend(&mut self, entry: Entry, rival: Option<(Claim, i64)>, now: i64) -> Stage {
        if let Some(claim) = entry.claim.as_ref().filter(|claim| claim.ticket == self.ticket) {
            // The answer to a compare-and-set was lost.
            match claim.state {
                State::Committed => return Stage::Done(self.success()),
                State::Pending if self.claim.as_ref() == Some(claim) => return Stage::Filing,
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

    /// Says whether the document is what is there under its id: its sketch, and where texts are kept its text too.
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

    /// Claims the own row, which was this.
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

    /// Has read rows that are near, all of them or the rivals' again.
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

    /// What is there and near.
    fn nearest(&self, entries: &[(DocumentId, Entry)]) -> Option<Match> {
        let live = |(id, entry): &(DocumentId, Entry)| self.matched(id, entry.live.as_ref()?);
        entries.iter().filter_map(live).min_by(|a, b| (a.nearness, &a.id).cmp(&(b.nearness, &b.id)))
    }

    /// Waits for the earlier ones, aborts the later ones, and commits when there are no more.
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

    fn is_over(&self, claim: &Claim, since: i64, now: i64) -> bool {
        now > claim.deadline || now - since > self.lease
    }
}
