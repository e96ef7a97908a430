//! Writes without a check for near documents: the meaning of a batch is decided in memory, by the
//! rule of all stores. Its steps have an order in which searches read every intermediate state
//! rightly.
//!
//! 1. The cells of the new sketches. A cell without a record is no match.
//! 2. The texts, where the index keeps them. A text that no record names is never read.
//! 3. The records, unless the first steps took minutes: then all begins anew, since others sweep
//!    old cells without a record. From here on the documents are there, or replaced. Where a minute
//!    has passed since the first step, a note before and after ends the tiers that may lack them
//!    (`older`).
//! 4. The cells of the old sketches, which are matches no more. They stay for [`LINGER`]: a search
//!    begun before finds the document under one sketch or the other.
//! 5. The old texts go at once: a search reads a text together with the record that names it.
//! 6. Documents claimed since the first read are written once more, with timestamps above the
//!    claims'.
//!
//! A process dying in between leaves cells that no search returns, and the same call again ends the
//! work. There is one exception: after step 3, only the new record of a replaced document is left.
//! When the document is inserted again it is unchanged, and the cells of the old sketch stay. They
//! are no match, and cost a look at the record.
//!
//! Timestamps are ours, because HBase's deletes hide every put with an equal or smaller timestamp,
//! even a later put: a document gets one that exceeds all its earlier ones. Its row carries them
//! on, also for a while after its removal (`remove`), so that the clocks of two writers may differ
//! by as much.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::claims::{Claim, FILED_WITHIN_MS, State};
use index::{Document, DocumentId, Error, ErrorKind, Insertion, Result, Sketch, Text};
use simhash::RowKey;

use super::access::Access;
use super::buckets::is_filed;
use super::documents;
use super::documents::Stored;
use super::layout::{
    RECORD_COLUMN, Record, TEXT_COLUMNS, digest, document_row, encode_text, index_column, text_column,
};
use super::older;
use super::rows::{Mutation, Mutations, Table};

/// The time for which searches can still meet the old cells of a replaced document: longer than any
/// search takes.
pub(super) const LINGER: Duration = Duration::from_secs(120);

/// The longest lead of a document's timestamp over the clock at which its whole batch shares the
/// timestamp, in one request: as far as synchronized clocks differ. A document further ahead,
/// because a clock was, keeps its time to itself.
const SHARED_MS: i64 = 60 * 1000;

/// The time in milliseconds within which records follow their cells: cells without a record are
/// swept after ten minutes ([`SWEPT_AFTER`](super::meet::SWEPT_AFTER)).
const IN_TIME_MS: i64 = 8 * 60_000;

/// The number of times that cells are written before a call gives up.
const TRIES: usize = 3;

/// The most bytes of texts that are written together.
const TOGETHER_BYTES_MAX: usize = 8 << 20;

/// Implements [`Store::insert`](index::Store::insert).
pub(super) fn insert<'a>(access: &Access<'_>, documents: &'a [Document]) -> Result<Vec<Insertion>> {
    let stored = documents::read(access, documents.iter().map(|document| &document.id))?;
    let mut changed: BTreeMap<&DocumentId, &Document> = BTreeMap::new();
    let mut insert = |document: &'a Document| {
        let Document { id, sketch, .. } = document;
        let text_of = |sketch: &Sketch| sketch.text().filter(|_| access.keeps_texts).and_then(digest);
        let live = || stored.get(id)?.live.as_ref().map(|live| (&live.sketch, live.text));
        let before = changed.get(id).map(|changed| (&changed.sketch, text_of(&changed.sketch)));
        let insertion = match before.or_else(live) {
            Some((old, text)) if old == sketch && (sketch.text().is_none() || text == text_of(sketch)) => {
                // A call that ended before its last look at the claims left the cells to this one.
                if stored.get(id).is_some_and(is_hidden) {
                    changed.entry(id).or_insert(document);
                }
                return Insertion::Unchanged;
            }
            Some(_) => Insertion::Replaced,
            None => Insertion::Inserted,
        };
        changed.insert(id, document);
        insertion
    };
    let insertions = documents.iter().map(&mut insert).collect();
    let written = write(access, &changed, &stored)?;
    let overtaken = overtaken(access, &written)?;
    if !overtaken.is_empty() {
        changed.retain(|id, _| overtaken.contains_key(id));
        write(access, &changed, &overtaken)?;
    }
    Ok(insertions)
}

/// Returns true for a record whose cells the withdrawal of a claim may have deleted.
fn is_hidden(stored: &Stored) -> bool {
    stored.claim.as_ref().zip(stored.record_timestamp).is_some_and(|(claim, record)| hides(claim, record))
}

/// Returns true for a claim whose withdrawal deletes the cells of this time.
fn hides(claim: &Claim, timestamp: i64) -> bool {
    matches!(claim.state, State::Pending | State::Aborted) && claim.timestamp >= timestamp
}

/// Returns the rows of the written documents that were claimed since the first read: the withdrawal
/// of a claim deletes its cells and all older ones. The next withdrawal meets the record, and
/// leaves the cells of the record.
fn overtaken<'a>(
    access: &Access<'_>,
    written: &BTreeMap<&'a DocumentId, i64>,
) -> Result<HashMap<&'a DocumentId, Stored>> {
    let is_hidden = |(id, claim): &(&DocumentId, Claim)| {
        written.get(id).is_some_and(|&timestamp| hides(claim, timestamp))
    };
    let claims = documents::read_claims(access, written.keys().copied())?;
    documents::read(access, claims.into_iter().filter(is_hidden).map(|(id, _)| id))
}

/// Carries out the changes, and returns the timestamps. `stored` holds the rows of the documents
/// that have one.
fn write<'a>(
    access: &Access<'_>,
    changed: &BTreeMap<&'a DocumentId, &Document>,
    stored: &HashMap<&DocumentId, Stored>,
) -> Result<BTreeMap<&'a DocumentId, i64>> {
    for _ in 0..TRIES {
        if let Some(written) = write_in_time(access, changed, stored)? {
            return Ok(written);
        }
    }
    Err(Error::new(
        ErrorKind::Busy,
        format!(
            "it took over {} minutes to write the cells of {} documents, {TRIES} times, so none was written; \
             repeat the call with fewer",
            IN_TIME_MS / 60_000,
            changed.len()
        ),
    ))
}

/// As [`write`]; `None` where the cells took so long that others may have swept them meanwhile, as
/// those of a dead writer.
fn write_in_time<'a>(
    access: &Access<'_>,
    changed: &BTreeMap<&'a DocumentId, &Document>,
    stored: &HashMap<&DocumentId, Stored>,
) -> Result<Option<BTreeMap<&'a DocumentId, i64>>> {
    let now = access.now();
    let next = |id: &DocumentId| stored.get(id).map_or(0, |stored: &Stored| stored.newest + 1);
    let shared = changed.keys().map(|id| next(id)).filter(|next| next - now <= SHARED_MS).max();
    let shared = shared.unwrap_or(now).max(now);
    let mut written = BTreeMap::new();
    let mut cells = Writes::new(Table::Index);
    let mut records = Writes::new(Table::Documents);
    let mut old_cells = OldCells::default();
    let (mut texts, mut old_texts) = (Writes::new(Table::Documents), Writes::new(Table::Documents));
    for (&id, Document { sketch, source, .. }) in changed {
        let timestamp = next(id).max(shared);
        written.insert(id, timestamp);
        cells.put_cells(timestamp, id, sketch.rows());
        let text = texts.put_text(timestamp, id, sketch.text().filter(|_| access.keeps_texts))?;
        let record = Record { sketch: sketch.clone(), timestamp, source: source.clone(), text };
        records.put_record(timestamp, id, &record, access);
        let Some(old) = stored.get(id) else { continue };
        if access.keeps_texts {
            old_texts.delete_texts(timestamp - 1, id);
        }
        if let Some(live) = &old.live {
            old_cells.replaced(id, live, sketch, timestamp);
        }
        // A remover may have died before it deleted the cells.
        if let Some(claim) = old.claim.as_ref().filter(|claim| claim.state == State::Removed) {
            old_cells.gone(claim.timestamp, id, &claim.sketch, Some(sketch));
        }
    }
    let failed = |written| {
        let n_documents = changed.len();
        move |error: Error| {
            Error::new(error.kind(), format!("of {n_documents} documents {written}; repeat the call"))
                .caused_by(error)
        }
    };
    cells.apply(access).map_err(failed("none was written"))?;
    texts.apply(access).map_err(failed("none was written"))?;
    let leave_note_if_late = || {
        let is_late = access.now() - now > FILED_WITHIN_MS;
        if is_late { older::leave(access.rows, access.now()) } else { Ok(()) }
    };
    leave_note_if_late().map_err(failed("none was written"))?;
    if access.now() - now > IN_TIME_MS {
        return Ok(None);
    }
    let applied = records.apply(access);
    // Also after an error: the same call again would find what was written, and leave no note.
    let left = leave_note_if_late();
    applied.and(left).map_err(failed("some may have been written and some not"))?;
    let left = "all were written, and only cells that are not needed any more are left over";
    old_cells.apply(access).and_then(|()| old_texts.apply(access)).map_err(failed(left))?;
    Ok(Some(written))
}

/// Changes of cells of one table, over many documents.
pub(super) struct Writes {
    table: Table,
    time_to_live: Option<Duration>,
    by_timestamp: BTreeMap<i64, Vec<Mutation>>,
}

impl Writes {
    pub(super) fn new(table: Table) -> Self {
        Self { table, time_to_live: None, by_timestamp: BTreeMap::new() }
    }

    /// Puts the cells of a document in some of its rows.
    pub(super) fn put_cells(
        &mut self,
        timestamp: i64,
        id: &DocumentId,
        rows: impl IntoIterator<Item = RowKey>,
    ) {
        self.change_cells(timestamp, id, rows, Some(&[]));
    }

    /// Deletes the cells of a document in some of its rows, up to the timestamp `until`.
    pub(super) fn delete_cells(
        &mut self,
        until: i64,
        id: &DocumentId,
        rows: impl IntoIterator<Item = RowKey>,
    ) {
        self.change_cells(until, id, rows, None);
    }

    fn change_cells(
        &mut self,
        timestamp: i64,
        id: &DocumentId,
        rows: impl IntoIterator<Item = RowKey>,
        value: Option<&[u8]>,
    ) {
        let column = index_column(id);
        let mutations = self.by_timestamp.entry(timestamp).or_default();
        mutations.extend(rows.into_iter().map(|row| Mutation {
            row: row.encode().to_vec(),
            column: column.clone(),
            value: value.map(<[u8]>::to_vec),
        }));
    }

    /// Puts the text of a version of a document, if the version has one. Returns the digest by
    /// which the record or the claim has to name the text; `None` for a text too long to keep.
    pub(super) fn put_text(
        &mut self,
        timestamp: i64,
        id: &DocumentId,
        text: Option<&Text>,
    ) -> Result<Option<u64>> {
        let Some((text, digest)) = text.and_then(|text| Some((text, digest(text)?))) else {
            return Ok(None);
        };
        self.change(timestamp, id, text_column(timestamp, digest), Some(encode_text(text)?));
        Ok(Some(digest))
    }

    /// Deletes the text of one version of a document, if the timestamp of its cell is at most
    /// `until`.
    pub(super) fn delete_text(&mut self, until: i64, id: &DocumentId, (timestamp, digest): (i64, u64)) {
        self.change(until, id, text_column(timestamp, digest), None);
    }

    /// Deletes all texts of a document with timestamps up to `until`.
    pub(super) fn delete_texts(&mut self, until: i64, id: &DocumentId) {
        self.change(until, id, TEXT_COLUMNS.to_vec(), None);
    }

    pub(super) fn put_record(
        &mut self,
        timestamp: i64,
        id: &DocumentId,
        record: &Record,
        access: &Access<'_>,
    ) {
        self.change_record(timestamp, id, Some(record.encode(access.kind)));
    }

    /// Deletes the record, up to the timestamp `until`.
    pub(super) fn delete_record(&mut self, until: i64, id: &DocumentId) {
        self.change_record(until, id, None);
    }

    fn change_record(&mut self, timestamp: i64, id: &DocumentId, value: Option<Vec<u8>>) {
        self.change(timestamp, id, RECORD_COLUMN.to_vec(), value);
    }

    fn change(&mut self, timestamp: i64, id: &DocumentId, column: Vec<u8>, value: Option<Vec<u8>>) {
        let mutation = Mutation { row: document_row(id), column, value };
        self.by_timestamp.entry(timestamp).or_default().push(mutation);
    }

    pub(super) fn apply(self, access: &Access<'_>) -> Result<()> {
        let Self { table, time_to_live, by_timestamp } = self;
        for (timestamp, mut mutations) in by_timestamp {
            // Neighbours share a request, which then concerns few regions.
            mutations.sort_unstable_by(|a, b| a.row.cmp(&b.row));
            while !mutations.is_empty() {
                let left = mutations.split_off(n_together(&mutations));
                access.rows.apply(&Mutations { table, timestamp, time_to_live, mutations })?;
                mutations = left;
            }
        }
        Ok(())
    }
}

/// Returns the number of leading mutations that go together.
fn n_together(mutations: &[Mutation]) -> usize {
    let mut n_bytes = 0;
    let fits = |mutation: &&Mutation| {
        n_bytes += mutation.value.as_ref().map_or(0, Vec::len);
        n_bytes <= TOGETHER_BYTES_MAX
    };
    mutations.iter().take_while(fits).count().max(1)
}

/// The cells of former versions.
pub(super) struct OldCells {
    lingering: Writes,
    deleted: Writes,
}

impl Default for OldCells {
    fn default() -> Self {
        let lingering = Writes { time_to_live: Some(LINGER), ..Writes::new(Table::Index) };
        Self { lingering, deleted: Writes::new(Table::Index) }
    }
}

impl OldCells {
    /// Adds the cells of a document that has another sketch since `timestamp`.
    pub(super) fn replaced(&mut self, id: &DocumentId, old: &Record, new: &Sketch, timestamp: i64) {
        let rows: Vec<_> = rows_only_in(&old.sketch, Some(new)).collect();
        self.lingering.put_cells(timestamp, id, rows.iter().copied());
        self.deleted.delete_cells(old.timestamp, id, rows);
    }

    /// Adds the cells of a document that is gone under this sketch, and at most there under another
    /// one.
    pub(super) fn gone(&mut self, until: i64, id: &DocumentId, old: &Sketch, new: Option<&Sketch>) {
        self.deleted.delete_cells(until, id, rows_only_in(old, new));
    }

    pub(super) fn apply(self, access: &Access<'_>) -> Result<()> {
        self.lingering.apply(access)?;
        self.deleted.apply(access)
    }
}

/// Returns the rows of `sketch` that are not rows of `other`.
fn rows_only_in(sketch: &Sketch, other: Option<&Sketch>) -> impl Iterator<Item = RowKey> {
    sketch.rows().filter(move |row| !other.is_some_and(|other| is_filed(other, *row)))
}
