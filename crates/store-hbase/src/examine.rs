//! Examines the whole index: each document must have all its cells, each cell must lead to a
//! document, each text must belong to one (`texts`), and no claim may be left behind. Others may
//! write meanwhile: suspects are read again, and young cells are left alone.
//!
//! Each table is read once (`walk`), and the two tables are compared as sums (`sums`). Only where
//! the sums differ are the tables read once more, and the rows and cells of the suspects one by
//! one.

mod sums;
mod texts;
mod walk;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::claims::{Claim, State};
use index::backend::Horizon;
use index::{DocumentId, Examined, Finding, FindingKind, Result, Timestamp};
use simhash::RowKey;

use self::sums::Sums;
use self::walk::{Open, walk};
use super::access::Access;
use super::claiming::LEASE;
use super::documents::{self, Stored};
use super::layout::{Record, decode_document_row, decode_id, index_column};
use super::loads::{self, may_load_beneath};
use super::meet::{Ghosts, SWEPT_AFTER, is_ghost, is_old};
use super::remove::{clean, swap};
use super::rows::{Row, Swapped, Table};
use super::write::Writes;

/// The number of documents whose cells are read together.
const GROUP: usize = 16;

/// Implements [`Store::examine`](index::Store::examine).
pub(super) fn examine(open: Open<'_>, mends: bool, report: &mut dyn FnMut(Examined)) -> Result<()> {
    let sums = Sums::new();
    let since = open()?.horizon;
    walk(open, Table::Documents, mends, report, &|examination, span, page| {
        let documents = examination.documents(&page)?;
        examination.expect(&documents, since, &sums);
        if examination.access.keeps_texts { examination.texts(span, &documents) } else { Ok(()) }
    })?;
    walk(open, Table::Index, mends, report, &|examination, _, page| {
        let (cells, damaged) = cells_of(&page);
        damaged.iter().for_each(|place| examination.found(FindingKind::Damaged, place, false));
        (examination.report)(Examined::Items(cells.len() as u64));
        let stays = |(_, _, timestamp): &&Met| stays(since, *timestamp);
        cells.iter().filter(stays).for_each(|(row, id, timestamp)| sums.meet(id, *row, *timestamp));
        Ok(())
    })?;
    if sums.are_even() {
        return Ok(());
    }
    walk(open, Table::Documents, mends, report, &|examination, _, page| {
        let (mut documents, _) = examination.decoded(&page);
        documents.retain(|(id, _)| sums.suspect(id));
        examination.all_unfiled(&documents)
    })?;
    walk(open, Table::Index, mends, report, &|examination, _, page| {
        let (mut cells, _) = cells_of(&page);
        cells.retain(|(_, id, _)| sums.suspect(id));
        examination.ghosts(&cells)
    })
}

/// A cell of the index that was read, with its timestamp.
type Met = (RowKey, DocumentId, i64);

/// Returns the cells of rows, and the places of foreign cells.
fn cells_of(rows: &[Row]) -> (Vec<Met>, Vec<String>) {
    let (mut cells, mut damaged) = (Vec::with_capacity(rows.len()), Vec::new());
    for row in rows {
        let key = RowKey::decode(&row.key).ok();
        for cell in &row.cells {
            match key.zip(decode_id(&cell.qualifier).ok()) {
                Some((key, id)) => cells.push((key, id, cell.timestamp)),
                None => {
                    damaged.push(format!("{} {}", row.key.escape_ascii(), cell.qualifier.escape_ascii()));
                }
            }
        }
    }
    (cells, damaged)
}

/// Returns true if a cell of this timestamp does not expire soon: HBase expires cells by its own
/// clock, and a claim a moment after its cells.
fn stays(horizon: Horizon, timestamp: i64) -> bool {
    horizon.is_live(Timestamp::saturating(timestamp - SWEPT_AFTER.as_millis() as i64))
}

/// The examination of one page.
struct Examination<'a, 'r> {
    access: &'a Access<'a>,
    mends: bool,
    report: &'r mut dyn FnMut(Examined),
}

impl Examination<'_, '_> {
    fn found(&mut self, kind: FindingKind, place: &str, is_mended: bool) {
        let place = place.to_owned();
        (self.report)(Examined::Found(Finding { kind, place, is_mended }));
    }

    /// Returns the documents of a page, and the places of rows that cannot be decoded.
    fn decoded(&self, page: &[Row]) -> (Vec<(DocumentId, Stored)>, Vec<String>) {
        let (mut documents, mut damaged) = (Vec::with_capacity(page.len()), Vec::new());
        for row in page {
            let decoded = decode_document_row(&row.key)
                .and_then(|id| Ok((id, Stored::decode(&row.key, &row.cells, self.access)?)));
            match decoded {
                Ok(document) => documents.push(document),
                Err(_) => damaged.push(row.key.escape_ascii().to_string()),
            }
        }
        (documents, damaged)
    }

    /// Reports the findings that the rows of a page give by themselves; returns their documents.
    fn documents(&mut self, page: &[Row]) -> Result<Vec<(DocumentId, Stored)>> {
        (self.report)(Examined::Items(page.len() as u64));
        let (documents, damaged) = self.decoded(page);
        damaged.iter().for_each(|place| self.found(FindingKind::Damaged, place, false));
        for (id, stored) in &documents {
            let at = stored.live.as_ref().map(|live| Timestamp::saturating(live.timestamp));
            let ahead = at.and_then(|at| Finding::of_ahead(id, at, self.access.clock));
            ahead.into_iter().for_each(|ahead| (self.report)(Examined::Found(ahead)));
        }
        self.claims(&documents)?;
        Ok(documents)
    }

    /// Adds the cells that documents should have to `sums`.
    fn expect(&self, documents: &[(DocumentId, Stored)], since: Horizon, sums: &Sums) {
        for (id, stored) in documents {
            // Some may have expired since the examination began.
            let there = stored.live.as_ref().or(stored.expired.as_ref());
            if let Some(record) = there.filter(|record| stays(since, record.timestamp)) {
                sums.expect(id, record.sketch.rows(), record.timestamp);
            }
        }
    }

    /// Reports, and mends, the documents that lack cells.
    fn all_unfiled(&mut self, documents: &[(DocumentId, Stored)]) -> Result<()> {
        for group in documents.chunks(GROUP) {
            let unfiled = self.unfiled(group)?;
            if unfiled.is_empty() {
                continue;
            }
            // Some may have been replaced or removed since the first read.
            let now = documents::read_each(self.access, unfiled.keys().copied())?;
            for (&id, (record, missing)) in &unfiled {
                let is_same = |stored: &Stored| stored.live.as_ref() == Some(*record);
                if !now.get(id).is_some_and(|stored| stored.as_ref().is_ok_and(is_same)) {
                    continue;
                }
                let is_mended = self.mends && self.file(id, record, missing)?;
                self.found(FindingKind::Unfiled, id.as_str(), is_mended);
            }
        }
        Ok(())
    }

    /// Returns true if a document does not expire soon.
    fn stays(&self, record: &Record) -> bool {
        stays(self.access.horizon, record.timestamp)
    }

    /// Returns the documents that lack cells, with the rows of these cells. A cell newer than its
    /// record finds the document as well. An older cell is about to be rewritten, unless the
    /// rewrite is long overdue.
    fn unfiled<'a>(
        &self,
        documents: &'a [(DocumentId, Stored)],
    ) -> Result<HashMap<&'a DocumentId, (&'a Record, Vec<RowKey>)>> {
        let live: Vec<_> = documents
            .iter()
            .filter_map(|(id, stored)| Some((id, stored.live.as_ref().filter(|live| self.stays(live))?)))
            .collect();
        let rows: BTreeSet<RowKey> = live.iter().flat_map(|(_, record)| record.sketch.rows()).collect();
        let columns: Vec<_> = live.iter().map(|(id, _)| index_column(id)).collect();
        let columns: Vec<&[u8]> = columns.iter().map(Vec::as_slice).collect();
        if rows.is_empty() {
            return Ok(HashMap::new());
        }
        let keys: Vec<Vec<u8>> = rows.iter().map(|row| row.encode().to_vec()).collect();
        let cells = self.access.rows.get(Table::Index, &columns, &keys)?;
        let cells: BTreeMap<_, _> = rows.into_iter().zip(cells).collect();
        let mut unfiled = HashMap::new();
        for (id, record) in live {
            let is_missing = |row: &RowKey| {
                let own = cells[row].iter().find(|cell| cell.qualifier == id.as_str().as_bytes());
                let is_too_old =
                    |timestamp| timestamp < record.timestamp && is_old(self.access, record.timestamp);
                own.is_none_or(|cell| is_too_old(cell.timestamp))
            };
            let missing: Vec<_> = record.sketch.rows().filter(is_missing).collect();
            if !missing.is_empty() {
                unfiled.insert(id, (record, missing));
            }
        }
        Ok(unfiled)
    }

    /// Writes the cells that a document lacks; returns true if they are there afterwards. A delete
    /// newer than the document hides these cells; the second attempt writes them as of now, and the
    /// document keeps its own time. If the document is replaced or removed meanwhile, the cells
    /// lead nowhere: no cell brings a document back.
    fn file(&self, id: &DocumentId, record: &Record, missing: &[RowKey]) -> Result<bool> {
        let stored = Stored { live: Some(record.clone()), ..Stored::default() };
        let document = [(id.clone(), stored)];
        for timestamp in [record.timestamp, self.access.now().max(record.timestamp + 1)] {
            let mut cells = Writes::new(Table::Index);
            cells.put_cells(timestamp, id, missing.iter().copied());
            cells.apply(self.access)?;
            if self.unfiled(&document)?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reports, and mends, claims of dead owners and unfinished removals.
    fn claims(&mut self, documents: &[(DocumentId, Stored)]) -> Result<()> {
        let long_ago = self.access.now() - LEASE.as_millis() as i64;
        let mut dead: Vec<(&DocumentId, &Claim)> = Vec::new();
        let mut half_removed = HashMap::new();
        for (id, stored) in documents {
            let Some(claim) = &stored.claim else { continue };
            if claim.state == State::Pending && claim.deadline < long_ago {
                dead.push((id, claim));
            }
            let has_record = stored.record_timestamp.is_some_and(|record| record <= claim.timestamp);
            // A removal has no lease, and a large batch of removals takes its time.
            if claim.state == State::Removed && is_old(self.access, claim.timestamp) && has_record {
                half_removed.insert(id, stored.clone());
            }
        }
        let mut swapped = vec![Swapped::Unknown; dead.len()];
        if self.mends {
            let end = |(id, claim): &(&DocumentId, &Claim)| {
                let ended = Claim { state: State::Aborted, ..(*claim).clone() };
                swap(self.access, id, Some(claim), &ended)
            };
            let swaps: Vec<_> = dead.iter().map(end).collect();
            swapped = self.access.rows.swap(Table::Documents, &swaps)?;
            clean(self.access, &half_removed)?;
        }
        for ((id, _), swapped) in dead.into_iter().zip(swapped) {
            if swapped == Swapped::Refused {
                // The owner has gone on with the claim, or another process has ended it.
                continue;
            }
            self.found(FindingKind::DeadClaim, id.as_str(), swapped == Swapped::Done);
        }
        for id in half_removed.into_keys() {
            self.found(FindingKind::HalfRemoved, id.as_str(), self.mends);
        }
        Ok(())
    }

    /// Reports, and sweeps, the cells that lead nowhere.
    fn ghosts(&mut self, cells: &[Met]) -> Result<()> {
        if cells.is_empty() {
            return Ok(());
        }
        let loads = loads::under_way(self.access.rows)?;
        let documents = documents::read_each(self.access, cells.iter().map(|(_, id, _)| id))?;
        let nowhere = Stored::default();
        let mut ghosts = Ghosts::default();
        let mut places = Vec::new();
        for (row, id, timestamp) in cells {
            let stored = match documents.get(id) {
                Some(Ok(stored)) => stored,
                // The state of the document is unknown.
                Some(Err(_)) => continue,
                None => &nowhere,
            };
            // A younger cell may belong to a writer that has not written its record yet, or to a
            // version just replaced or removed, whose cells are about to be deleted. Expired cells
            // go by themselves.
            let is_at_rest = is_old(self.access, (*timestamp).max(stored.newest));
            let stays = self.access.horizon.is_live(Timestamp::saturating(*timestamp));
            let is_loaded = loads.contains_key(timestamp);
            if is_at_rest && stays && !is_loaded && is_ghost(*row, stored) {
                ghosts.note_cell(*row, id, *timestamp);
                let RowKey { segment, flag, fingerprint } = row;
                let place = format!("{id} under {fingerprint} in bucket {flag:02x}:{segment:08x}");
                places.push((place, self.mends && !may_load_beneath(&loads, *timestamp)));
            }
        }
        if self.mends {
            ghosts.sweep(self.access)?;
        }
        for (place, is_mended) in places {
            self.found(FindingKind::Ghost, &place, is_mended);
        }
        Ok(())
    }
}
