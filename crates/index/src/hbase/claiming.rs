//! Inserting what is new: carries out what claimants (`crate::claims`) want done, for a whole batch at a time.
//!
//! The documents of a batch go step by step together, so that each round is a few requests for all of them. All of them
//! are filed before the first one searches.

use std::collections::{HashMap, HashSet};
use std::thread;
use std::time::{Duration, Instant};

use super::counters::Counters;
use super::documents::{self, Stored};
use super::layout::Record;
use super::meet::{Ghosts, Lookout, meet};
use super::remove::swap;
use super::rows::{Swapped, Table};
use super::write::{OldCells, Writes};
use super::{Access, owner};
use crate::claims::{Claim, Claimant, Seen, State, Step, Ticket};
use crate::{Document, DocumentId, Error, ErrorKind, Insertion, Match, Result, search};

/// How long a claim keeps others waiting whose owner has died.
pub(super) const LEASE: Duration = Duration::from_secs(10);

/// The most documents that are claimed together: few enough that a lease is enough for them.
const BATCH_MAX: usize = 500;

/// How long a batch may take that waits for others.
const PATIENCE: Duration = Duration::from_secs(120);

const PAUSE_MIN: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(200);

/// The contract of [`Store::insert_if_new`](crate::Store::insert_if_new).
pub(super) fn insert_if_new(
    access: &Access<'_>,
    documents: &[Document],
    max_distance: u32,
    counters: &Counters,
) -> Result<Vec<Insertion>> {
    let mut insertions = Vec::with_capacity(documents.len());
    while insertions.len() < documents.len() {
        let batch = distinct(&documents[insertions.len()..]);
        let stored = documents::read(access, batch.iter().map(|document| &document.id))?;
        let batch = &batch[..independent_len(batch, &stored, max_distance)];
        let claiming = Claiming::new(access, batch, stored, max_distance, counters);
        let done = claiming.run().map_err(|error| {
            let (n_done, n_documents) = (insertions.len(), documents.len());
            let what = format!(
                "of {n_documents} documents {n_done} are done, of the next {} some may be inserted and some not; \
                 repeat the call",
                batch.len()
            );
            Error::new(error.kind(), what).caused_by(error)
        })?;
        insertions.extend(done);
    }
    Ok(insertions)
}

/// The first documents, no id of which comes twice.
fn distinct(documents: &[Document]) -> &[Document] {
    let mut ids = HashSet::new();
    let repeated = documents.iter().take(BATCH_MAX).position(|document| !ids.insert(&document.id));
    &documents[..repeated.unwrap_or(documents.len().min(BATCH_MAX))]
}

/// How many of the first documents may be claimed together: none of them is near to the old version of one before it,
/// which is gone when it is its turn.
fn independent_len(
    documents: &[Document],
    stored: &HashMap<&DocumentId, Stored>,
    max_distance: u32,
) -> usize {
    let mut replaced = search::new_tables();
    for (number, document) in documents.iter().enumerate() {
        let mut is_near = false;
        replaced.near(std::slice::from_ref(&document.sketch), max_distance, &mut |_| is_near = true);
        if is_near {
            return number;
        }
        let old = stored.get(&document.id).and_then(|stored| stored.live.as_ref());
        if let Some(old) = old.filter(|old| old.sketch != document.sketch) {
            replaced.insert(&old.sketch, number as u64);
        }
    }
    documents.len()
}

struct Claiming<'a> {
    access: &'a Access<'a>,
    documents: &'a [Document],
    max_distance: u32,
    counters: &'a Counters,
    claimants: Vec<Claimant>,
    /// The rows of the documents, as they were read last.
    rows: Vec<Stored>,
    /// What was there of them when they were announced.
    replaced: Vec<Option<Record>>,
    /// Until the first one searches.
    in_step: bool,
    ghosts: Ghosts,
}

impl<'a> Claiming<'a> {
    fn new(
        access: &'a Access<'a>,
        documents: &'a [Document],
        mut stored: HashMap<&DocumentId, Stored>,
        max_distance: u32,
        counters: &'a Counters,
    ) -> Self {
        let (now, owner) = (access.now(), owner());
        let mut claimants = Vec::with_capacity(documents.len());
        let mut rows = Vec::with_capacity(documents.len());
        for (number, document) in (0..).zip(documents) {
            let ticket = Ticket { time: now, owner, number };
            let lease = LEASE.as_millis() as i64;
            let mut claimant = Claimant::new(document.clone(), max_distance, ticket, lease);
            let row = stored.remove(&document.id).unwrap_or_default();
            claimant.advance(Seen::Entries(vec![(document.id.clone(), row.entry())]), now);
            claimants.push(claimant);
            rows.push(row);
        }
        Self {
            access,
            documents,
            max_distance,
            counters,
            claimants,
            rows,
            replaced: vec![None; documents.len()],
            in_step: true,
            ghosts: Ghosts::default(),
        }
    }

    fn run(mut self) -> Result<Vec<Insertion>> {
        let begun = Instant::now();
        let mut pause = Duration::ZERO;
        loop {
            let steps = self.claimants.iter().map(Claimant::step).enumerate();
            let mut steps: Vec<_> = steps.filter(|(_, step)| !matches!(step, Step::Done(_))).collect();
            if steps.is_empty() {
                break;
            }
            let waits = |step: &Step| matches!(step, Step::Read { after_pause: true, .. });
            if steps.iter().all(|(_, step)| waits(step)) {
                if begun.elapsed() > PATIENCE {
                    return Err(busy(steps.len()));
                }
                self.pause(&mut pause);
            } else {
                steps.retain(|(_, step)| !waits(step));
                pause = Duration::ZERO;
            }
            let is_ahead = |(_, step): &(usize, Step)| !matches!(step, Step::Search(_));
            if self.in_step && steps.iter().any(is_ahead) {
                steps.retain(is_ahead);
            } else {
                self.in_step = false;
            }
            self.round(steps)?;
        }
        self.settle()?;
        Ok(self.insertions())
    }

    /// The first pause is none: who is waited for may be in this very batch.
    fn pause(&self, pause: &mut Duration) {
        self.counters.waited(*pause);
        thread::sleep(*pause);
        *pause = (*pause * 2).clamp(PAUSE_MIN, PAUSE_MAX);
    }

    /// One step of each of these, those of a kind together.
    fn round(&mut self, steps: Vec<(usize, Step)>) -> Result<()> {
        let (mut reads, mut lookouts, mut swaps, mut files) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (number, step) in steps {
            match step {
                Step::Read { ids, .. } => reads.push((number, ids)),
                Step::Look(sketch) | Step::Search(sketch) => {
                    let (id, max_distance) = (&self.documents[number].id, self.max_distance);
                    lookouts.push((number, Lookout { id, sketch, max_distance }));
                }
                Step::Swap { id, from, to } => swaps.push((number, id, from, to)),
                Step::File(claim) => files.push((number, claim)),
                Step::Done(_) => {}
            }
        }
        self.read(&reads)?;
        self.look(lookouts)?;
        self.swap(swaps)?;
        self.file(files)
    }

    fn read(&mut self, reads: &[(usize, Vec<DocumentId>)]) -> Result<()> {
        let rows = documents::read(self.access, reads.iter().flat_map(|(_, ids)| ids))?;
        let now = self.access.now();
        for (number, ids) in reads {
            let mut entries = Vec::with_capacity(ids.len());
            for id in ids {
                let row = rows.get(id).cloned().unwrap_or_default();
                entries.push((id.clone(), row.entry()));
                if *id == self.documents[*number].id {
                    self.rows[*number] = row;
                }
            }
            self.claimants[*number].advance(Seen::Entries(entries), now);
        }
        Ok(())
    }

    fn look(&mut self, lookouts: Vec<(usize, Lookout<'_>)>) -> Result<()> {
        let (numbers, lookouts): (Vec<_>, Vec<_>) = lookouts.into_iter().unzip();
        let met = meet(self.access, &lookouts, &mut self.ghosts)?;
        let now = self.access.now();
        for (number, rows) in numbers.into_iter().zip(met) {
            let entries = rows.into_iter().map(|(id, row)| (id, row.entry())).collect();
            self.claimants[number].advance(Seen::Entries(entries), now);
        }
        Ok(())
    }

    fn swap(&mut self, swaps: Vec<(usize, DocumentId, Option<Claim>, Claim)>) -> Result<()> {
        if swaps.is_empty() {
            return Ok(());
        }
        let mut records = Writes::new(Table::Documents);
        for (number, id, from, to) in &swaps {
            if to.state == State::Pending {
                self.fold(&mut records, *number, id, from.as_ref());
                self.replaced[*number] = self.rows[*number].live.clone();
            }
        }
        records.apply(self.access)?;
        let to_swap = |(_, id, from, to): &(_, DocumentId, Option<Claim>, Claim)| {
            swap(self.access, id, from.as_ref(), to)
        };
        let requests: Vec<_> = swaps.iter().map(to_swap).collect();
        let answers = self.access.rows.swap(Table::Documents, &requests)?;
        let now = self.access.now();
        for ((number, id, _, to), answer) in swaps.into_iter().zip(answers) {
            let is_done = answer == Swapped::Done;
            self.counters.swapped(to.state, id == self.documents[number].id, is_done);
            self.claimants[number].advance(Seen::Swapped(is_done), now);
        }
        Ok(())
    }

    /// What is known from the claim alone goes into the record, before another claim takes its place.
    fn fold(&self, records: &mut Writes, number: usize, id: &DocumentId, from: Option<&Claim>) {
        let row = &self.rows[number];
        match (from.map(|claim| claim.state), &row.live) {
            (Some(State::Committed), Some(live)) if row.is_claimed() => {
                records.put_record(live.timestamp, id, live, self.access);
            }
            // Also where there is no record: a put of an older version may be under way, of somebody who has died.
            (Some(State::Removed), None) => records.delete_record(row.newest - 1, id),
            _ => {}
        }
    }

    fn file(&mut self, files: Vec<(usize, Claim)>) -> Result<()> {
        let mut cells = Writes::new(Table::Index);
        for (number, claim) in &files {
            let Document { id, sketch, .. } = &self.documents[*number];
            cells.put_cells(claim.timestamp, id, sketch, sketch.keys());
        }
        cells.apply(self.access)?;
        let now = self.access.now();
        for (number, _) in files {
            self.claimants[number].advance(Seen::Filed { in_step: self.in_step }, now);
        }
        Ok(())
    }

    /// What is left to be done for documents that were replaced, and for cells that lead nowhere.
    fn settle(&self) -> Result<()> {
        let mut old_cells = OldCells::default();
        for ((document, claimant), old) in self.documents.iter().zip(&self.claimants).zip(&self.replaced) {
            if let (Step::Done(Insertion::Replaced), Some(claim), Some(old)) =
                (claimant.step(), claimant.claim(), old)
            {
                old_cells.replaced(&document.id, old, &document.sketch, claim.timestamp);
            }
        }
        old_cells.apply(self.access)?;
        if let Err(error) = self.ghosts.sweep(self.access) {
            // The next one who meets them will try again.
            tracing::warn!(%error, "failed to sweep cells that lead nowhere");
        }
        Ok(())
    }

    /// The answers, as if the documents had come one after another: of two documents that are near, one that was there
    /// and an earlier one of the batch, the nearest counts.
    fn insertions(&self) -> Vec<Insertion> {
        let mut inserted = search::new_tables();
        let id_of = |number: u64| Ok(self.documents[number as usize].id.clone());
        let mut insertions = Vec::with_capacity(self.documents.len());
        for (number, (document, claimant)) in self.documents.iter().zip(&self.claimants).enumerate() {
            let Step::Done(mut insertion) = claimant.step() else { continue };
            match &mut insertion {
                Insertion::Duplicate(of) => {
                    let here = search::nearest(
                        &[&*inserted],
                        &document.sketch,
                        self.max_distance,
                        &|_| true,
                        &id_of,
                    );
                    let rank = |found: &Match| (found.distance, found.id.clone());
                    if let Ok(Some(here)) = here
                        && rank(&here) < rank(of)
                    {
                        *of = here;
                    }
                }
                Insertion::Inserted | Insertion::Replaced => {
                    inserted.insert(&document.sketch, number as u64);
                }
                Insertion::Unchanged => {}
            }
            insertions.push(insertion);
        }
        insertions
    }
}

fn busy(n_waiting: usize) -> Error {
    Error::new(
        ErrorKind::Busy,
        format!(
            "{n_waiting} documents have waited for {} s for others that are being inserted and near to them",
            PATIENCE.as_secs()
        ),
    )
}
