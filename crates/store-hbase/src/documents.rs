//! Reading documents' rows.
//!
//! A row has two columns, and the newer one decides. Batches write `d:record` without asking; claims are compared and set
//! in `d:claim` by themselves, so that neither can hide the other.

use std::collections::{BTreeSet, HashMap};

use index::backend::claims::{Claim, Entry, State};
use index::{Cursor, Document, DocumentId, Error, Page, Result, StoredDocument, Timestamp};

use super::Access;
use super::layout::{
    CLAIM_COLUMN, DOCUMENT_FAMILY, DOCUMENTS_END, RECORD_COLUMN, Record, decode_claim, decode_document_row,
    document_row, in_row,
};
use super::rows::{Cell, Row, Span, Table, successor};

/// What a document's row says.
#[derive(Clone, Debug, Default)]
pub(super) struct Stored {
    /// What is there.
    pub(super) live: Option<Record>,
    /// What would be, had it not expired by the clock of this process.
    pub(super) expired: Option<Record>,
    /// The latest claim, whatever has become of it.
    pub(super) claim: Option<Claim>,
    /// Of the record, whether or not it is what is there.
    pub(super) record_timestamp: Option<i64>,
    /// The greatest timestamp that the document has had.
    pub(super) newest: i64,
}

impl Stored {
    /// Whether what is there is known from the claim alone.
    pub(super) fn is_claimed(&self) -> bool {
        let claim = self.claim.as_ref().filter(|claim| claim.state == State::Committed);
        claim.is_some_and(|claim| self.record_timestamp.is_none_or(|record| claim.timestamp > record))
    }

    /// As claimants see it.
    pub(super) fn entry(&self) -> Entry {
        Entry {
            live: self.live.as_ref().map(|record| record.sketch.clone()),
            newest: self.newest,
            claim: self.claim.clone(),
        }
    }

    pub(super) fn decode(key: &[u8], cells: &[Cell], access: &Access<'_>) -> Result<Self> {
        let cell = |column: &[u8]| cells.iter().find(|cell| cell.qualifier == column[2..]);
        let mut stored = Self::default();
        if let Some(cell) = cell(RECORD_COLUMN) {
            let record = Record::decode(&cell.value, access.kind).map_err(|error| in_row(key, error))?;
            stored.newest = record.timestamp.max(cell.timestamp);
            stored.record_timestamp = Some(record.timestamp);
            stored.live = Some(record);
        }
        if let Some(cell) = cell(CLAIM_COLUMN) {
            let claim = decode_claim(&cell.value, access.kind).map_err(|error| in_row(key, error))?;
            stored.newest = stored.newest.max(claim.timestamp);
            let is_newer = stored.record_timestamp.is_none_or(|record| record <= claim.timestamp);
            match claim.state {
                State::Committed if is_newer => {
                    let (sketch, source) = (claim.sketch.clone(), claim.source.clone());
                    stored.live = Some(Record { sketch, timestamp: claim.timestamp, source });
                }
                State::Removed if is_newer => stored.live = None,
                _ => {}
            }
            stored.claim = Some(claim);
        }
        let is_live = |record: &Record| access.horizon.is_live(Timestamp::saturating(record.timestamp));
        if !stored.live.as_ref().is_some_and(is_live) {
            stored.expired = stored.live.take();
        }
        Ok(stored)
    }
}

/// What the seam says of a document that is there.
pub(super) fn to_stored_document(id: DocumentId, record: Record) -> StoredDocument {
    let Record { sketch, timestamp, source } = record;
    let inserted_at = Timestamp::saturating(timestamp);
    StoredDocument { document: Document { id, sketch, source }, inserted_at }
}

/// The rows of these documents, of those that have one.
pub(super) fn read<'a>(
    access: &Access<'_>,
    ids: impl Iterator<Item = &'a DocumentId>,
) -> Result<HashMap<&'a DocumentId, Stored>> {
    read_each(access, ids)?.into_iter().map(|(id, stored)| Ok((id, stored?))).collect()
}

/// As [`read`], where one that is damaged is no hindrance to the others.
pub(super) fn read_each<'a>(
    access: &Access<'_>,
    ids: impl Iterator<Item = &'a DocumentId>,
) -> Result<HashMap<&'a DocumentId, Result<Stored>>> {
    read_by(access, ids, |columns, keys| access.rows.get(Table::Documents, columns, keys))
}

fn read_by<'a>(
    access: &Access<'_>,
    ids: impl Iterator<Item = &'a DocumentId>,
    get: impl FnOnce(&[&[u8]], &[Vec<u8>]) -> Result<Vec<Vec<Cell>>>,
) -> Result<HashMap<&'a DocumentId, Result<Stored>>> {
    let ids: BTreeSet<_> = ids.collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let keys: Vec<_> = ids.iter().map(|id| document_row(id)).collect();
    let rows = get(&[RECORD_COLUMN, CLAIM_COLUMN], &keys)?;
    let mut documents = HashMap::with_capacity(ids.len());
    for ((id, cells), key) in ids.into_iter().zip(rows).zip(&keys) {
        if !cells.is_empty() {
            documents.insert(id, Stored::decode(key, &cells, access));
        }
    }
    Ok(documents)
}

/// What is there of these documents, for a caller that writes nothing by it.
pub(super) fn read_live<'a>(
    access: &Access<'_>,
    ids: impl Iterator<Item = &'a DocumentId>,
) -> Result<HashMap<DocumentId, Record>> {
    let documents =
        read_by(access, ids, |columns, keys| access.rows.get_to_read(Table::Documents, columns, keys))?;
    let live = |(id, stored): (&DocumentId, Result<Stored>)| match stored {
        Ok(stored) => stored.live.map(|record| Ok((id.clone(), record))),
        Err(error) => Some(Err(error)),
    };
    documents.into_iter().filter_map(live).collect()
}

/// The contract of [`Store::scan`](index::Store::scan), in the order of rows: that of a hash of the ids.
pub(super) fn scan(access: &Access<'_>, after: &Cursor, limit: usize) -> Result<Page> {
    let start = match after.bytes() {
        [] => Vec::new(),
        key if decode_document_row(key).is_ok() => successor(key),
        _ => return Err(Error::invalid("the cursor is another store's; start the scan anew")),
    };
    let mut left = Some(Span::new(&start, DOCUMENTS_END));
    let mut page = Page::default();
    let mut last = Vec::new();
    while let Some(span) = left.take() {
        let mut read: Vec<Row> = Vec::new();
        access.rows.scan(
            Table::Documents,
            DOCUMENT_FAMILY,
            std::slice::from_ref(&span),
            &mut |_, rows| {
                read = rows;
                Ok(())
            },
        )?;
        left = span.rest(&read);
        for row in read {
            let Some(record) = Stored::decode(&row.key, &row.cells, access)?.live else { continue };
            if page.documents.len() == limit {
                page.next = Some(Cursor::from_bytes(last));
                return Ok(page);
            }
            page.documents.push(to_stored_document(decode_document_row(&row.key)?, record));
            last = row.key;
        }
    }
    Ok(page)
}
