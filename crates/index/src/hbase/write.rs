//! Writing: what a batch means is decided in memory, by the rule of all stores, and then carried out in an order in
//! which every moment is a state that searches read rightly.
//!
//! 1. The cells of the new sketches. A cell without a record is no match.
//! 2. The records. From here on the documents are there, replaced, or gone.
//! 3. The cells of the old sketches, which are matches no more. Those of a document that was replaced stay for
//!    [`LINGER`], so that a search that began before finds the document under one sketch or the other.
//!
//! Whoever dies in between leaves cells that no search answers with, and doing the same again ends the work. There is one
//! exception: of a document that was replaced only the new record is left after step 2, so when it is inserted again it
//! is unchanged, and the cells of the old sketch stay. They are no match, and cost a look at the record.
//!
//! Timestamps are ours, because HBase's deletes hide every put with a timestamp that is not greater, later ones too: a
//! document gets one that exceeds all it had before. Its record carries them on, also for a while after its removal
//! ([`REMEMBER`]), so that the clocks of two writers may differ by as much.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use simhash::{BucketKey, RowKey, Sketch, TableScheme};
use tables::Tables;

use super::documents::Stored;
use super::layout::{RECORD_COLUMN, Record, State, document_row, index_column};
use super::rows::{Mutation, Mutations, Rows, Table};
use crate::rule::{self, Shelf};
use crate::{Document, DocumentId, Error, Insertion, Match, Neighbours, Result, search};

/// How long the old cells of a document that was replaced can still be met. Longer than any search takes.
pub(super) const LINGER: Duration = Duration::from_secs(120);

/// How long it is remembered that a document was removed, and when.
pub(super) const REMEMBER: Duration = Duration::from_secs(24 * 60 * 60);

const NONE: &str = "none was written";
const SOME: &str = "some may have been written and some not";
const ALL: &str = "all were written, and only cells that are not needed any more are left over";

/// A batch, decided on top of what is stored.
pub(super) struct Batch<'a> {
    stored: &'a HashMap<&'a DocumentId, Stored>,
    /// What becomes of documents: their new number in `tables`, or none for those that are removed.
    changed: BTreeMap<DocumentId, Option<u64>>,
    /// The documents of this batch by number, from 0; those that were taken away again are no longer in `changed`.
    filed: Vec<Document>,
    tables: Box<dyn Tables>,
    /// What is stored near the document in turn, and that document.
    turn: Option<(&'a DocumentId, &'a Neighbours)>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(stored: &'a HashMap<&'a DocumentId, Stored>) -> Self {
        let tables = search::new_tables();
        Self { stored, changed: BTreeMap::new(), filed: Vec::new(), tables, turn: None }
    }

    /// How many of the nearest stored documents the rule needs to see: all but one may be replaced in this batch.
    pub(super) fn n_neighbours(&self) -> usize {
        self.stored.values().filter(|stored| stored.is_live()).count() + 1
    }

    pub(super) fn insert(&mut self, documents: &[Document]) -> Result<Vec<Insertion>> {
        documents.iter().map(|document| rule::insert(self, document, None)).collect()
    }

    /// `near` has the stored neighbours of each document, [`n_neighbours`](Self::n_neighbours) of them.
    pub(super) fn insert_if_new(
        &mut self,
        documents: &'a [Document],
        near: &'a [Neighbours],
        max_distance: u32,
    ) -> Result<Vec<Insertion>> {
        let insert = |(document, near): (&'a Document, &'a Neighbours)| {
            self.turn = Some((&document.id, near));
            rule::insert(self, document, Some(max_distance))
        };
        documents.iter().zip(near).map(insert).collect()
    }

    pub(super) fn remove(&mut self, ids: &[DocumentId]) -> Result<Vec<bool>> {
        let mut remove = |id| {
            let was_there = rule::remove(self, id)?;
            // Somebody may have died before its cells were gone.
            if !was_there && self.stored.contains_key(id) {
                self.changed.insert(id.clone(), None);
            }
            Ok(was_there)
        };
        ids.iter().map(&mut remove).collect()
    }

    /// Carries it out. `now` is the time in milliseconds.
    pub(super) fn commit(self, rows: &dyn Rows, scheme: &TableScheme, now: i64) -> Result<()> {
        let n_documents = self.changed.len();
        for (written, step) in self.plan(scheme, now) {
            rows.apply(&step).map_err(|error| {
                Error::new(error.kind(), format!("of {n_documents} documents {written}; repeat the call"))
                    .caused_by(error)
            })?;
        }
        Ok(())
    }

    /// Steps, each with what is true of the documents where it fails.
    fn plan(self, scheme: &TableScheme, now: i64) -> Vec<(&'static str, Mutations)> {
        let newest = |id: &DocumentId| {
            self.stored.get(id).map(|stored| stored.record.timestamp.max(stored.cell_timestamp))
        };
        let timestamp = self.changed.keys().filter_map(newest).map(|newest| newest + 1).max();
        let timestamp = timestamp.unwrap_or(now).max(now);
        let step = |table, time_to_live| Mutations { table, timestamp, time_to_live, mutations: Vec::new() };
        let mut cells = step(Table::Index, None);
        let mut records = step(Table::Documents, None);
        let mut removed = step(Table::Documents, Some(REMEMBER));
        let mut lingering = step(Table::Index, Some(LINGER));
        let mut deletes: BTreeMap<(Table, i64), Vec<Mutation>> = BTreeMap::new();
        for (id, &number) in &self.changed {
            let old = self.stored.get(id);
            let row = document_row(id);
            let column = index_column(id);
            let cell = |sketch: &Sketch, key: BucketKey, value| {
                let row = RowKey::new(key, sketch.fingerprint()).encode().to_vec();
                Mutation { row, column: column.clone(), value }
            };
            let put_record = |record: &Record| {
                let value = Some(record.encode(scheme));
                Mutation { row: row.clone(), column: RECORD_COLUMN.to_vec(), value }
            };
            let new = number.map(|number| &self.filed[number as usize].sketch);
            if let Some(sketch) = new {
                let keys = sketch.keys().iter();
                cells.mutations.extend(keys.map(|&key| cell(sketch, key, Some(Vec::new()))));
                let record = Record { state: State::Live, sketch: sketch.clone(), timestamp };
                records.mutations.push(put_record(&record));
            }
            let Some(old) = old else { continue };
            let old_sketch = &old.record.sketch;
            let is_kept = |key: &BucketKey| {
                new.is_some_and(|new| {
                    new.fingerprint() == old_sketch.fingerprint() && new.keys().contains(key)
                })
            };
            let gone: Vec<_> = old_sketch.keys().iter().copied().filter(|key| !is_kept(key)).collect();
            if new.is_some() && old.is_live() {
                let linger = gone.iter().map(|&key| cell(old_sketch, key, Some(Vec::new())));
                lingering.mutations.extend(linger);
            }
            let delete = gone.iter().map(|&key| cell(old_sketch, key, None));
            deletes.entry((Table::Index, old.record.timestamp)).or_default().extend(delete);
            if new.is_none() {
                // The versions below would come back when the one that remembers has vanished.
                let mut last = timestamp - 1;
                if old.is_live() {
                    removed
                        .mutations
                        .push(put_record(&Record { state: State::Removed, ..old.record.clone() }));
                } else {
                    last = old.cell_timestamp - 1;
                }
                let delete = Mutation { row, column: RECORD_COLUMN.to_vec(), value: None };
                deletes.entry((Table::Documents, last)).or_default().push(delete);
            }
        }
        let deletes = deletes.into_iter().map(|((table, timestamp), mutations)| Mutations {
            table,
            timestamp,
            time_to_live: None,
            mutations,
        });
        let mut plan = vec![(NONE, cells), (SOME, records), (SOME, removed)];
        plan.extend(std::iter::once(lingering).chain(deletes).map(|step| (ALL, step)));
        plan.retain(|(_, step)| !step.mutations.is_empty());
        // Neighbours share a request, which then concerns few regions.
        for (_, step) in &mut plan {
            step.mutations.sort_unstable_by(|a, b| a.row.cmp(&b.row));
        }
        plan
    }
}

impl Shelf for Batch<'_> {
    type Error = Error;

    fn find(&self, id: &DocumentId) -> Result<Option<(u64, Sketch)>> {
        Ok(match self.changed.get(id) {
            Some(None) => None,
            Some(&Some(number)) => Some((number, self.filed[number as usize].sketch.clone())),
            // A number that nothing in `tables` has.
            None => self
                .stored
                .get(id)
                .filter(|stored| stored.is_live())
                .map(|stored| (u64::MAX, stored.record.sketch.clone())),
        })
    }

    fn nearest(&self, sketch: &Sketch, max_distance: u32, except: Option<u64>) -> Result<Option<Match>> {
        let id_of = |number: u64| Ok(self.filed[number as usize].id.clone());
        let counts = |number| Some(number) != except;
        let here = search::nearest(&[&*self.tables], sketch, max_distance, &counts, &id_of)?;
        let there = self.turn.and_then(|(own, near)| {
            near.matches.iter().find(|found| found.id != *own && !self.changed.contains_key(&found.id))
        });
        Ok(here
            .into_iter()
            .chain(there.cloned())
            .min_by(|a, b| (a.distance, &a.id).cmp(&(b.distance, &b.id))))
    }

    fn put(&mut self, document: &Document) -> Result<()> {
        let number = self.filed.len() as u64;
        self.tables.insert(&document.sketch, number);
        self.filed.push(document.clone());
        self.changed.insert(document.id.clone(), Some(number));
        Ok(())
    }

    fn take(&mut self, id: &DocumentId, number: u64, sketch: &Sketch) -> Result<()> {
        self.tables.remove(sketch, number);
        self.changed.insert(id.clone(), None);
        Ok(())
    }
}
