//! Inserts new documents: carries out the steps of claimants (`crate::claims`) for a whole
//! batch at a time.
//!
//! The documents of a batch take each step together, so that a step is a few requests for all of
//! them. Documents that must not overtake each other (`order`) are decided one after another:
//! batch-mates never conflict, and a duplicate of an earlier document is not even claimed.

mod claimed;
mod settling;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::claims::{Claim, Claimant, Entry, FILED_WITHIN_MS, Seen, State, Step, Ticket};
use index::backend::retry::{Failed, Late, Pause, Retry, Tries};
use index::{Document, DocumentId, Error, ErrorKind, Insertion, Result, Rule, Sketch};

use self::claimed::Claimed;
use super::access::Access;
use super::buckets::Reach;
use super::counters::Counters;
use super::documents::{self, Stored};
use super::drawn::drawn;
use super::layout::digest;
use super::meet::{Ghosts, Lookout, meet};
use super::order::waits_for;
use super::outlook::Outlook;
use super::remove::swap;
use super::rows::{Swapped, Table};
use super::write::Writes;

/// The time for which a claim makes others wait after its owner has died.
pub(super) const LEASE: Duration = Duration::from_secs(10);

/// The most documents claimed together: few enough to be done within one lease.
const BATCH_MAX: usize = 500;

/// The longest wait of a batch for the claims of others.
const PATIENCE: Duration = Duration::from_secs(120);

/// The most writes of cells by a batch that may take longer than claims allow.
const LATE_MAX: usize = 3;

/// The pauses between two looks at the claims of others.
const RETRY: Retry = Retry::new(Duration::from_millis(5), Duration::from_millis(200));

/// Implements [`Store::insert_if_new`](index::Store::insert_if_new).
pub(super) fn insert_if_new(
    access: &Access<'_>,
    documents: &[Document],
    rule: &Rule,
    counters: &Counters,
    outlook: &Outlook,
) -> Result<Vec<Insertion>> {
    let mut insertions = Vec::with_capacity(documents.len());
    for batch in documents.chunks(BATCH_MAX) {
        let reach = outlook.reach(batch.len());
        let done = insert_batch(access, batch, rule, counters, reach).map_err(|error| {
            let (n_done, n_documents) = (insertions.len(), documents.len());
            let what = format!(
                "of {n_documents} documents {n_done} are done, of the next {} some may be inserted and some not; \
                 repeat the call",
                batch.len()
            );
            Error::new(error.kind(), what).caused_by(error)
        })?;
        outlook.note(&done);
        insertions.extend(done);
    }
    Ok(insertions)
}

/// Decides in rounds: first the documents that depend on no earlier one of the batch, then the
/// documents whose dependencies are decided.
fn insert_batch(
    access: &Access<'_>,
    documents: &[Document],
    rule: &Rule,
    counters: &Counters,
    reach: Reach,
) -> Result<Vec<Insertion>> {
    let ids = || documents.iter().map(|document| &document.id);
    let mut stored = documents::read(access, ids())?;
    read_texts_in_doubt(access, documents, rule, &mut stored)?;
    let waits_for = waits_for(documents, &stored, rule);
    let mut stored = Some(stored);
    let mut insertions: Vec<Option<Insertion>> = vec![None; documents.len()];
    let owner = drawn();
    loop {
        let left: Vec<usize> = (0..documents.len()).filter(|&place| insertions[place].is_none()).collect();
        if left.is_empty() {
            return Ok(insertions.into_iter().flatten().collect());
        }
        let stored = match stored.take() {
            Some(stored) => stored,
            None => documents::read(access, left.iter().map(|&place| &documents[place].id))?,
        };
        let mut claiming = Claiming::new(access, rule, counters);
        for &place in &left {
            let row = stored.get(&documents[place].id).cloned().unwrap_or_default();
            claiming.add(&documents[place], Ticket { time: access.now(), owner, number: place as u32 }, row);
        }
        let mut found = claiming.look(reach)?;
        // In the order of the batch: a document with a duplicate inserts nothing, and later ones
        // need not wait for it.
        let mut undecided: HashSet<usize> = HashSet::new();
        let mut waiting: Vec<usize> = Vec::new();
        for (number, &place) in left.iter().enumerate() {
            let waits = waits_for[place].iter().any(|before| undecided.contains(before));
            if waits {
                waiting.push(number);
            } else if let Some(entries) = found.remove(&number) {
                claiming.tell(number, Seen::Entries(entries));
            }
            if waits || !claiming.is_done(number) {
                undecided.insert(place);
            }
        }
        claiming.leave_out(&waiting);
        for (number, insertion) in claiming.run()? {
            insertions[left[number]] = Some(insertion);
        }
    }
}

/// Reads the stored texts of documents given with the stored sketch and another text: only a count
/// tells whether the two differ.
fn read_texts_in_doubt<'a>(
    access: &Access<'_>,
    documents: &'a [Document],
    rule: &Rule,
    stored: &mut HashMap<&'a DocumentId, Stored>,
) -> Result<()> {
    if !access.counts_by(rule) {
        return Ok(());
    }
    let is_in_doubt = |document: &&Document| {
        let live = stored.get(&document.id).and_then(|stored| stored.live.as_ref());
        live.filter(|live| live.sketch == document.sketch && live.text.is_some())
            .is_some_and(|live| document.sketch.text().is_some_and(|text| digest(text) != live.text))
    };
    let ids: Vec<_> = documents.iter().filter(is_in_doubt).map(|document| &document.id).collect();
    stored.extend(documents::read_told(access, ids.into_iter())?);
    Ok(())
}

/// Rows that were met or read.
type Entries = Vec<(DocumentId, Entry)>;

/// Documents claimed together; no two of them are near each other.
struct Claiming<'a> {
    access: &'a Access<'a>,
    rule: &'a Rule,
    counters: &'a Counters,
    /// By number; `None` for a document that was left out.
    claimed: Vec<Option<Claimed<'a>>>,
    ghosts: Ghosts,
    /// The number of writes of cells that took longer than claims allow.
    n_late: usize,
}

impl<'a> Claiming<'a> {
    fn new(access: &'a Access<'a>, rule: &'a Rule, counters: &'a Counters) -> Self {
        Self { access, rule, counters, claimed: Vec::new(), ghosts: Ghosts::default(), n_late: 0 }
    }

    /// Adds a document and its row.
    fn add(&mut self, document: &'a Document, ticket: Ticket, row: Stored) {
        let lease = LEASE.as_millis() as i64;
        let text = document.sketch.text().filter(|_| self.access.keeps_texts).and_then(digest);
        let mut claimant = Claimant::new(document.clone(), *self.rule, ticket, lease).with_text(text);
        claimant.advance(Seen::Entries(vec![(document.id.clone(), row.entry())]), self.access.now());
        self.claimed.push(Some(Claimed { document, claimant, row, replaced: None, texts: Vec::new() }));
    }

    /// Returns the entries near each document that is at the step `Look`, by number. A document
    /// with a match in the glance searches all buckets for the nearest.
    fn look(&mut self, reach: Reach) -> Result<HashMap<usize, Entries>> {
        let looks = self.steps().into_iter().filter_map(|(number, step)| match step {
            Step::Look(sketch) => Some((number, sketch)),
            _ => None,
        });
        let looks: Vec<_> = looks.collect();
        let mut found: HashMap<_, _> = self.meet(looks.clone(), reach)?.into_iter().collect();
        if reach != Reach::All {
            let has_met = |(number, _): &(usize, _)| {
                found.get(number).is_some_and(|entries: &Entries| !entries.is_empty())
            };
            let again = looks.into_iter().filter(has_met).collect();
            found.extend(self.meet(again, Reach::All)?);
        }
        Ok(found)
    }

    fn tell(&mut self, number: usize, seen: Seen) {
        let now = self.access.now();
        if let Some(claimed) = &mut self.claimed[number] {
            claimed.claimant.advance(seen, now);
        }
    }

    fn is_done(&self, number: usize) -> bool {
        let step = self.claimed[number].as_ref().map(|claimed| claimed.claimant.step());
        matches!(step, Some(Step::Done(_)))
    }

    fn leave_out(&mut self, numbers: &[usize]) {
        for &number in numbers {
            self.claimed[number] = None;
        }
    }

    /// Returns the next step of each document that is not done.
    fn steps(&self) -> Vec<(usize, Step)> {
        let steps = self.claimed.iter().enumerate();
        let steps = steps.filter_map(|(number, claimed)| Some((number, claimed.as_ref()?.claimant.step())));
        steps.filter(|(_, step)| !matches!(step, Step::Done(_))).collect()
    }

    /// Takes steps until all documents are done.
    fn run(mut self) -> Result<Vec<(usize, Insertion)>> {
        let deadline = Instant::now() + PATIENCE;
        let counters = self.counters;
        let outcome = RETRY.run(
            PATIENCE,
            |tries| self.go_on(tries, deadline),
            |_, Pause { time, .. }| counters.waited(time),
        );
        outcome.map_err(|failed| match failed {
            Failed::Final(error) => error,
            Failed::Away(Late { last: n_waiting, .. }) => busy(n_waiting),
        })?;
        self.settle()?;
        let done = self.claimed.iter().enumerate().filter_map(|(number, claimed)| {
            match claimed.as_ref()?.claimant.step() {
                Step::Done(insertion) => Some((number, insertion)),
                _ => None,
            }
        });
        Ok(done.collect())
    }

    /// Takes steps until all documents are done, or returns the number of those that wait for the
    /// claims of others. Each other step begins the pauses anew, but not the time to the deadline.
    fn go_on(&mut self, tries: &mut Tries, deadline: Instant) -> Result<(), Failed<Error, usize>> {
        if !tries.is_first() {
            // All of them have waited, and read once more.
            self.round(self.steps()).map_err(Failed::Final)?;
        }
        loop {
            let mut steps = self.steps();
            let n_steps = steps.len();
            steps.retain(|(_, step)| !matches!(step, Step::Read { after_pause: true, .. }));
            if steps.is_empty() {
                return if n_steps == 0 { Ok(()) } else { Err(Failed::Away(n_steps)) };
            }
            self.round(steps).map_err(Failed::Final)?;
            tries.has_gone_on(deadline.saturating_duration_since(Instant::now()));
        }
    }

    /// Takes one step of each of these documents; steps of one kind go together.
    fn round(&mut self, steps: Vec<(usize, Step)>) -> Result<()> {
        let (mut reads, mut searches, mut swaps, mut files) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (number, step) in steps {
            match step {
                Step::Read { ids, .. } => reads.push((number, ids)),
                Step::Look(sketch) | Step::Search(sketch) => searches.push((number, sketch)),
                Step::Swap { id, from, to } => swaps.push((number, id, from, to)),
                Step::File(claim) => files.push((number, claim)),
                Step::Done(_) => {}
            }
        }
        self.read(&reads)?;
        for (number, entries) in self.meet(searches, Reach::All)? {
            self.tell(number, Seen::Entries(entries));
        }
        self.swap(swaps)?;
        self.file(files)
    }

    fn read(&mut self, reads: &[(usize, Vec<DocumentId>)]) -> Result<()> {
        let ids = reads.iter().flat_map(|(_, ids)| ids);
        let counts = self.access.counts_by(self.rule);
        let rows =
            if counts { documents::read_told(self.access, ids)? } else { documents::read(self.access, ids)? };
        for (number, ids) in reads {
            let mut entries = Vec::with_capacity(ids.len());
            for id in ids {
                let row = rows.get(id).cloned().unwrap_or_default();
                entries.push((id.clone(), row.entry()));
                if let Some(claimed) =
                    self.claimed[*number].as_mut().filter(|claimed| claimed.document.id == *id)
                {
                    claimed.row = row;
                }
            }
            self.tell(*number, Seen::Entries(entries));
        }
        Ok(())
    }

    /// Returns the entries near each of these sketches, by the number of the document.
    fn meet(&mut self, sketches: Vec<(usize, Sketch)>, reach: Reach) -> Result<Vec<(usize, Entries)>> {
        let rule = self.rule;
        let lookout = |(number, sketch): (usize, Sketch)| {
            let id = &self.claimed[number].as_ref()?.document.id;
            Some((number, Lookout { id, sketch, rule, reach }))
        };
        let (numbers, lookouts): (Vec<_>, Vec<_>) = sketches.into_iter().filter_map(lookout).unzip();
        let met = meet(self.access, &lookouts, &mut self.ghosts)?;
        let entries =
            met.into_iter().map(|rows| rows.into_iter().map(|(id, row)| (id, row.entry())).collect());
        Ok(numbers.into_iter().zip(entries).collect())
    }

    fn swap(&mut self, swaps: Vec<(usize, DocumentId, Option<Claim>, Claim)>) -> Result<()> {
        if swaps.is_empty() {
            return Ok(());
        }
        let mut records = Writes::new(Table::Documents);
        let to_fold = swaps.iter().filter(|(_, _, _, to)| to.state == State::Pending);
        for (number, _, from, _) in to_fold {
            if let Some(claimed) = &mut self.claimed[*number] {
                claimed.fold(&mut records, from.as_ref(), self.access);
                claimed.replaced = claimed.row.live.clone();
            }
        }
        records.apply(self.access)?;
        let to_swap = |(_, id, from, to): &(_, DocumentId, Option<Claim>, Claim)| {
            swap(self.access, id, from.as_ref(), to)
        };
        let requests: Vec<_> = swaps.iter().map(to_swap).collect();
        let answers = self.access.rows.swap(Table::Documents, &requests)?;
        for ((number, id, _, to), answer) in swaps.into_iter().zip(answers) {
            let is_done = answer == Swapped::Done;
            let is_own = self.claimed[number].as_ref().is_some_and(|claimed| claimed.document.id == id);
            self.counters.swapped(to.state, is_own, is_done);
            self.tell(number, Seen::Swapped(is_done));
        }
        Ok(())
    }

    fn file(&mut self, files: Vec<(usize, Claim)>) -> Result<()> {
        let mut cells = Writes::new(Table::Index);
        let mut texts = Writes::new(Table::Documents);
        for (number, claim) in &files {
            let Some(claimed) = &mut self.claimed[*number] else { continue };
            let Document { id, sketch, .. } = claimed.document;
            cells.put_cells(claim.timestamp, id, sketch.rows());
            let text = sketch.text().filter(|_| claim.text.is_some());
            let digest = texts.put_text(claim.timestamp, id, text)?;
            claimed.texts.extend(digest.map(|digest| (claim.timestamp, digest)));
        }
        // Texts come before cells: a search that meets the claim by its cells counts by its text.
        texts.apply(self.access)?;
        cells.apply(self.access)?;
        for (number, _) in &files {
            self.tell(*number, Seen::Filed);
        }
        let step_of = |number: usize| self.claimed[number].as_ref().map(|claimed| claimed.claimant.step());
        let is_late = |(number, _): &(usize, Claim)| !matches!(step_of(*number), Some(Step::Search(_)));
        self.n_late += usize::from(files.iter().any(is_late));
        if self.n_late == LATE_MAX { Err(too_slow(files.len())) } else { Ok(()) }
    }
}

fn too_slow(n_documents: usize) -> Error {
    let (times, seconds) = (LATE_MAX, FILED_WITHIN_MS / 1_000);
    let what = format!(
        "HBase took over {seconds} s to write the cells of {n_documents} documents, {times} times; \
         look at its load, or give fewer documents in a call"
    );
    Error::new(ErrorKind::Busy, what)
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
