//! Looking at everything: that each document has all its cells, that each cell leads to a document, that each text is of one
//! (`texts`), and that no claim is left behind. Others may write meanwhile: what looks wrong is looked at again, and what is young is left alone.

mod texts;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use index::backend::claims::{Claim, State};
use index::{DocumentId, Error, ErrorKind, Examined, Finding, FindingKind, Result, Timestamp};
use simhash::{ROW_KEY_LEN, RowKey};

use super::Access;
use super::claiming::LEASE;
use super::documents::{self, Stored};
use super::layout::{
    DOCUMENT_FAMILY, DOCUMENTS_END, INDEX_FAMILY, Record, decode_document_row, decode_id, index_column,
};
use super::loads::{self, may_load_beneath};
use super::meet::{Ghosts, SWEPT_AFTER, is_ghost, is_old};
use super::remove::{clean, swap};
use super::rows::{Row, Span, Swapped, Table};
use super::write::Writes;

/// Documents whose cells are read together.
const GROUP: usize = 16;

/// How many parts of the index are read side by side.
const N_PARTS: u32 = 16;

/// The contract of [`Store::examine`](index::Store::examine). It takes long, so each page has an `open` of its own, which
/// knows what has expired by then.
pub(super) fn examine<'a>(
    open: &dyn Fn() -> Result<Access<'a>>,
    mends: bool,
    report: &mut dyn FnMut(Examined),
) -> Result<()> {
    let mut left = Some(Span::new(&[], DOCUMENTS_END));
    while let Some(span) = left.take() {
        let access = open()?;
        let mut page: Vec<Row> = Vec::new();
        access.rows.scan(
            Table::Documents,
            DOCUMENT_FAMILY,
            std::slice::from_ref(&span),
            &mut |_, rows| {
                page = rows;
                Ok(())
            },
        )?;
        left = span.rest(&page);
        let mut examination = Examination { access: &access, mends, report };
        let documents = examination.documents(&page)?;
        if access.keeps_texts {
            let end = left.as_ref().map_or(DOCUMENTS_END, |rest| &rest.start);
            examination.texts(&Span::new(&span.start, end), &documents)?;
        }
    }
    let mut spans = parts(&open()?)?;
    while !spans.is_empty() {
        let access = open()?;
        let mut rest = Vec::new();
        let mut rows: Vec<Row> = Vec::new();
        access.rows.scan(Table::Index, INDEX_FAMILY, &spans, &mut |number, page| {
            rest.extend(spans[number].rest(&page));
            rows.extend(page);
            Ok(())
        })?;
        spans = rest;
        Examination { access: &access, mends, report }.cells(&rows)?;
    }
    Ok(())
}

/// The whole index, in parts of about the same size.
fn parts(access: &Access<'_>) -> Result<Vec<Span>> {
    let n_parts = N_PARTS.min(access.kind.n_regions_max());
    let splits = access.kind.splits(n_parts).map_err(|error| {
        Error::new(ErrorKind::Internal, "the index cannot be read in parts").caused_by(error)
    })?;
    let mut starts = vec![Vec::new()];
    starts.extend(splits.iter().map(|split| split.to_be_bytes().to_vec()));
    let last = vec![0xff; ROW_KEY_LEN + 1];
    let ends = starts.iter().skip(1).chain([&last]);
    Ok(starts.iter().zip(ends).map(|(start, end)| Span::new(start, end)).collect())
}

/// One page.
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

    fn documents(&mut self, page: &[Row]) -> Result<Vec<(DocumentId, Stored)>> {
        (self.report)(Examined::Items(page.len() as u64));
        let mut documents: Vec<(DocumentId, Stored)> = Vec::with_capacity(page.len());
        for row in page {
            let decoded = decode_document_row(&row.key)
                .and_then(|id| Ok((id, Stored::decode(&row.key, &row.cells, self.access)?)));
            match decoded {
                Ok(document) => documents.push(document),
                Err(_) => self.found(FindingKind::Damaged, &row.key.escape_ascii().to_string(), false),
            }
        }
        for (id, stored) in &documents {
            let at = stored.live.as_ref().map(|live| Timestamp::saturating(live.timestamp));
            let ahead = at.and_then(|at| Finding::of_ahead(id, at, self.access.clock));
            ahead.into_iter().for_each(|ahead| (self.report)(Examined::Found(ahead)));
        }
        self.claims(&documents)?;
        for group in documents.chunks(GROUP) {
            let unfiled = self.unfiled(group)?;
            if unfiled.is_empty() {
                continue;
            }
            // Some may have been replaced or removed since they were read.
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
        Ok(documents)
    }

    /// Whether a document does not expire soon: HBase lets cells expire by its own clock, and a claim a moment after its cells.
    fn stays(&self, record: &Record) -> bool {
        let margin = SWEPT_AFTER.as_millis() as i64;
        self.access.horizon.is_live(Timestamp::saturating(record.timestamp - margin))
    }

    /// Those that lack cells, with the rows of these. A cell that is newer than its record finds the document as well. One
    /// that is older is about to be written anew, unless that should have happened long ago.
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

    /// Writes the cells that a document lacks, and says whether they are there then. A delete that is newer than the
    /// document hides them, so they are written once more as of now: the document keeps its own time. Where somebody
    /// replaces or removes it meanwhile they lead nowhere, as no cell brings a document back.
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

    /// Claims that nobody will end, and removals that nobody has finished.
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
            // A removal has no lease, and many together take their time.
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
                // Somebody has gone on with it, or ended it.
                continue;
            }
            self.found(FindingKind::DeadClaim, id.as_str(), swapped == Swapped::Done);
        }
        for id in half_removed.into_keys() {
            self.found(FindingKind::HalfRemoved, id.as_str(), self.mends);
        }
        Ok(())
    }

    fn cells(&mut self, rows: &[Row]) -> Result<()> {
        let mut cells: Vec<(RowKey, DocumentId, i64)> = Vec::new();
        for row in rows {
            let key = RowKey::decode(&row.key).ok();
            for cell in &row.cells {
                match key.zip(decode_id(&cell.qualifier).ok()) {
                    Some((key, id)) => cells.push((key, id, cell.timestamp)),
                    None => {
                        let place = format!("{} {}", row.key.escape_ascii(), cell.qualifier.escape_ascii());
                        self.found(FindingKind::Damaged, &place, false);
                    }
                }
            }
        }
        (self.report)(Examined::Items(cells.len() as u64));
        let loads = loads::under_way(self.access.rows)?;
        let documents = documents::read_each(self.access, cells.iter().map(|(_, id, _)| id))?;
        let nowhere = Stored::default();
        let mut ghosts = Ghosts::default();
        let mut places = Vec::new();
        for (row, id, timestamp) in &cells {
            let stored = match documents.get(id) {
                Some(Ok(stored)) => stored,
                // Nobody knows what is there.
                Some(Err(_)) => continue,
                None => &nowhere,
            };
            // A younger one may be of somebody who has not written his record yet, or of a version that somebody has just
            // replaced or removed and is about to clean up after. What has expired goes by itself.
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
