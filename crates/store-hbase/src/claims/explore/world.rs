//! The world of the claimants: rows, cells, and all actions still under way.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use simhash::{BucketKey, Fingerprint};

use super::super::*;
use super::tiers::{LEEWAY, TICK};
use super::{LEASE, MAX_DISTANCE, Mutation, NOW};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Row {
    /// A version from before the claim.
    pub(super) record: Option<(Sketch, i64)>,
    pub(super) claim: Option<Claim>,
}

impl Row {
    /// The live version and its timestamp: the newest one decides.
    fn live(&self) -> Option<(&Sketch, i64)> {
        let record = self.record.as_ref().map(|(sketch, timestamp)| (sketch, *timestamp));
        match &self.claim {
            Some(claim) if claim.state == State::Committed => Some((&claim.sketch, claim.timestamp)),
            Some(claim) if claim.state == State::Removed => {
                record.filter(|&(_, timestamp)| timestamp > claim.timestamp)
            }
            _ => record,
        }
    }

    pub(super) fn entry(&self) -> Entry {
        let newest = self.claim.iter().map(|claim| claim.timestamp);
        let newest = newest.chain(self.record.iter().map(|&(_, timestamp)| timestamp)).max();
        let live = self.live().map(|(sketch, _)| sketch.clone());
        Entry { live, text: None, newest: newest.unwrap_or(0), claim: self.claim.clone() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Participant {
    pub(super) claimant: Claimant,
    pub(super) process: usize,
    pub(super) is_dead: bool,
    pub(super) n_announcements: u8,
    /// A search between its two halves: the documents whose cells were met.
    pub(super) met: Option<Vec<usize>>,
    /// A step put off by a mutation until the search is over.
    pub(super) put_off: Option<Step>,
}

/// Worlds of one step share the rows and participants that the step has left as they were.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) rows: Vec<Rc<Row>>,
    /// Timestamps by document and fingerprint.
    pub(super) cells: BTreeMap<(usize, u64), i64>,
    pub(super) participants: Vec<Rc<Participant>>,
    /// Compare-and-sets that may still arrive: abandoned ones, and those by which removals let
    /// their claims expire.
    pub(super) late: Vec<(usize, Option<Claim>, Claim)>,
    /// The numbers of answers still to be lost, and of processes still to die, at most.
    pub(super) n_losses: u8,
    pub(super) n_deaths: u8,
    /// The number of documents that another process may still remove.
    pub(super) n_removals: u8,
    /// The removed documents.
    pub(super) removed: Vec<usize>,
    /// The number of cells of aborted claims that may still be swept.
    pub(super) n_sweeps: u8,
    /// Cells about to be deleted: document, fingerprint, and the newest timestamp to delete.
    pub(super) doomed: Vec<(usize, u64, i64)>,
    /// The time in milliseconds, and the number of steps that it may still take.
    pub(super) time: i64,
    pub(super) n_ticks: u8,
    /// The number of times that the tier may still be filled.
    pub(super) n_fillings: u8,
    /// The time by which the clock of the last process is behind.
    pub(super) behind: i64,
    /// The tier of all claimants: the simhashes that it has, and the first timestamp that it may
    /// lack.
    pub(super) tier: Option<(BTreeSet<u64>, i64)>,
}

impl Participant {
    pub(super) fn document(&self) -> usize {
        number_of(&self.claimant.document.id)
    }
}

impl World {
    pub(super) fn participant_mut(&mut self, number: usize) -> &mut Participant {
        Rc::make_mut(&mut self.participants[number])
    }

    pub(super) fn told(&self, number: usize, seen: Seen, now: i64) -> Self {
        let mut after = self.clone();
        let local = self.local(self.participants[number].process);
        let claimant = &mut after.participant_mut(number).claimant;
        claimant.advance(seen, now);
        // There are only two moments: a lease that begins at the later one must be able to run out
        // as well.
        if let (Some(claim), Stage::Announcing { .. }) = (&mut claimant.claim, &claimant.stage) {
            claim.deadline = LEASE;
            let newest = self.rows[number_of(&claimant.document.id)].entry().newest;
            claim.timestamp = local.max(newest + 1);
        }
        match &mut claimant.stage {
            Stage::Reading { rival: Some((_, since)) } => *since = NOW,
            Stage::Waiting { rivals, .. } | Stage::Aborting { rivals, .. } => {
                rivals.values_mut().for_each(|(_, since)| *since = NOW);
            }
            _ => {}
        }
        after
    }

    pub(super) fn swap(
        &mut self,
        mutation: Option<Mutation>,
        document: usize,
        from: Option<&Claim>,
        to: &Claim,
    ) -> bool {
        let row = Rc::make_mut(&mut self.rows[document]);
        let is_same = match (mutation, row.claim.as_ref(), from) {
            (_, None, None) => true,
            (Some(Mutation::IgnoreIncarnation), Some(a), Some(b)) => {
                (a.state, a.ticket) == (b.state, b.ticket)
            }
            (Some(Mutation::IgnoreOwner), Some(a), Some(b)) => a.state == b.state,
            (Some(Mutation::CommitThoughAborted), Some(a), Some(b)) if to.state == State::Committed => {
                a.ticket == b.ticket
            }
            (_, a, b) => a == b,
        };
        if !is_same {
            return false;
        }
        // The document of the earlier claim is first written into its record.
        match &row.claim {
            Some(Claim { state: State::Committed, sketch, timestamp, .. }) => {
                row.record = Some((sketch.clone(), *timestamp));
            }
            Some(Claim { state: State::Removed, .. }) if mutation != Some(Mutation::LeaveWhatWasRemoved) => {
                row.record = None;
            }
            _ => {}
        }
        row.claim = Some(to.clone());
        true
    }

    /// The world after the arrival of a compare-and-set whose answer no process awaits any more.
    pub(super) fn arrived(&self, mutation: Option<Mutation>, number: usize) -> Self {
        let mut after = self.clone();
        let (document, from, to) = after.late.swap_remove(number);
        after.swap(mutation, document, from.as_ref(), &to);
        after
    }

    /// The world after a removal of the document, if it is there; its cells are still to be
    /// deleted, and its claim to expire.
    pub(super) fn without(&self, document: usize) -> Option<Self> {
        let (sketch, timestamp) = self.rows[document].live()?;
        let mut after = self.clone();
        after.n_removals -= 1;
        after.removed.push(document);
        after.doomed.push((document, sketch.fingerprint().0, timestamp));
        let removed = Claim {
            state: State::Removed,
            sketch: sketch.clone(),
            source: None,
            text: None,
            timestamp: self.rows[document].entry().newest + 1,
            ticket: Ticket { time: 0, owner: u64::MAX, number: self.n_removals.into() },
            deadline: 0,
            expires: false,
        };
        if self.rows[document].claim.as_ref().is_none_or(|claim| claim.expires) {
            after.late.push((document, Some(removed.clone()), Claim { expires: true, ..removed.clone() }));
        }
        Rc::make_mut(&mut after.rows[document]).claim = Some(removed);
        Some(after)
    }

    /// The world after a participant has met a cell that leads nowhere.
    pub(super) fn sweeping(&self, mutation: Option<Mutation>, cell: (usize, u64)) -> Option<Self> {
        let (document, bits) = cell;
        let timestamp = self.cells[&cell];
        let row = &self.rows[document];
        let is_of = |sketch: &Sketch, of: i64| sketch.fingerprint().0 == bits && of == timestamp;
        let is_live = row.live().is_some_and(|(sketch, of)| is_of(sketch, of));
        let is_pending = row
            .claim
            .as_ref()
            .is_some_and(|claim| claim.state == State::Pending && is_of(&claim.sketch, claim.timestamp));
        let is_doomed = !is_live && (!is_pending || mutation == Some(Mutation::SweepPending));
        is_doomed.then(|| {
            let mut after = self.clone();
            after.n_sweeps -= 1;
            after.doomed.push((document, bits, timestamp));
            after
        })
    }

    /// The world after the deletion of a doomed cell.
    pub(super) fn swept(&self, mutation: Option<Mutation>, number: usize) -> Self {
        let mut after = self.clone();
        let (document, bits, until) = after.doomed.swap_remove(number);
        let cell = (document, bits);
        let is_meant = |&timestamp: &i64| timestamp <= until || mutation == Some(Mutation::SweepAllCells);
        if after.cells.get(&cell).is_some_and(is_meant) {
            after.cells.remove(&cell);
        }
        after
    }

    pub(super) fn file(&mut self, document: usize, claim: &Claim) {
        let timestamp = self.cells.entry((document, claim.sketch.fingerprint().0)).or_default();
        *timestamp = claim.timestamp.max(*timestamp);
    }

    /// The time by the clock of a process.
    pub(super) fn local(&self, process: usize) -> i64 {
        let last = self.participants.iter().map(|participant| participant.process).max();
        if Some(process) == last { self.time - self.behind } else { self.time }
    }

    /// The world a step of time later.
    pub(super) fn later(&self) -> Option<Self> {
        let n_ticks = self.n_ticks.checked_sub(1)?;
        Some(Self { time: self.time + TICK, n_ticks, ..self.clone() })
    }

    /// The world after the tier was filled with the records and claims of this moment.
    pub(super) fn filled(&self) -> Option<Self> {
        let n_fillings = self.n_fillings.checked_sub(1)?;
        let sketches = self.rows.iter().flat_map(|row| {
            let record = row.record.iter().map(|(sketch, _)| sketch);
            record
                .chain(row.claim.iter().filter(|claim| claim.state.is_believed()).map(|claim| &claim.sketch))
        });
        let simhashes = sketches.map(|sketch| sketch.fingerprint().0).collect();
        let tier = Some((simhashes, self.time - LEEWAY));
        Some(Self { tier, n_fillings, ..self.clone() })
    }

    /// The other documents with a cell near the sketch; only those with a late cell where the tier
    /// has nothing near.
    pub(super) fn meet(&self, own: usize, sketch: &Sketch) -> Vec<usize> {
        let near = |bits: u64| sketch.fingerprint().distance(Fingerprint(bits)) <= MAX_DISTANCE;
        let since = match &self.tier {
            Some((simhashes, since)) if !simhashes.iter().any(|&bits| near(bits)) => *since,
            _ => i64::MIN,
        };
        let met = self
            .cells
            .iter()
            .filter(|&(&(other, bits), &timestamp)| other != own && near(bits) && timestamp >= since);
        let mut met: Vec<_> = met.map(|(&(other, _), _)| other).collect();
        met.dedup();
        met
    }

    fn live(&self, document: usize) -> Option<Fingerprint> {
        self.rows[document].live().map(|(sketch, _)| sketch.fingerprint())
    }
}

/// Returns the first violation at any moment.
pub(super) fn wrong_in(world: &World) -> Option<String> {
    for a in 0..world.rows.len() {
        let Some(fingerprint) = world.live(a) else { continue };
        let near =
            |&b: &usize| world.live(b).is_some_and(|other| fingerprint.distance(other) <= MAX_DISTANCE);
        if let Some(b) = (0..a).find(near) {
            return Some(format!("{a} and {b} are both there"));
        }
        if !world.cells.contains_key(&(a, fingerprint.0)) {
            return Some(format!("{a} is there without its cells"));
        }
    }
    None
}

/// Returns the first violation once no participant can act any more.
pub(super) fn wrong_at_the_end(world: &World) -> Option<String> {
    for participant in world.participants.iter().filter(|participant| !participant.is_dead) {
        let own = participant.document();
        let is_removed = |document: usize| world.removed.contains(&document);
        match participant.claimant.step() {
            Step::Done(Insertion::Duplicate(of)) => {
                // The original may have been replaced since.
                if world.live(number_of(&of.id)).is_none() && !is_removed(number_of(&of.id)) {
                    return Some(format!("{own} was dropped for {of:?}, which is not there"));
                }
            }
            Step::Done(_) => {
                if world.live(own).is_none() && !is_removed(own) {
                    return Some(format!("{own} was inserted and is not there"));
                }
            }
            step => return Some(format!("{own} is stuck at {step:?}")),
        }
    }
    None
}

/// A sketch in one bucket with all others: only distances matter here.
pub(super) fn sketch_of(bits: u64) -> Sketch {
    Sketch::new(Fingerprint(bits), vec![BucketKey { flag: 1, segment: 0 }])
}

pub(super) fn id_of(document: usize) -> DocumentId {
    DocumentId::new(document.to_string()).unwrap()
}

pub(super) fn number_of(id: &DocumentId) -> usize {
    id.as_str().parse().unwrap()
}
