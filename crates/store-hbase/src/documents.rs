//! Reads the rows of documents.
//!
//! A row has two columns, and the newer one decides. Batches write `d:record` without a check;
//! claims are compared and set in `d:claim`, a column of their own, so that neither hides the
//! other. Texts have their own family and are read only where they are counted: together with the
//! columns that name them, as of one moment.

use std::collections::{BTreeSet, HashMap};

use crate::claims::{Claim, Entry, State};
use index::{Cursor, Document, DocumentId, Error, Page, Result, StoredDocument, Text, Timestamp};

use super::access::Access;
use super::layout::{
    CLAIM_COLUMN, DOCUMENT_FAMILY, DOCUMENTS_END, RECORD_COLUMN, Record, TEXT_COLUMNS, decode_claim,
    decode_document_row, decode_text, document_row, in_row, text_qualifier,
};
use super::rows::{Cell, Row, Span, Table, successor};

/// The number of documents whose texts are read together: some megabytes of typical texts.
pub(super) const TOLD_AT_ONCE: usize = 64;

/// The decoded row of a document.
#[derive(Clone, Debug, Default)]
pub(super) struct Stored {
    /// The record of the document, if the document is in the index.
    pub(super) live: Option<Record>,
    /// The record, if it has expired by the clock of this process and would be live otherwise.
    pub(super) expired: Option<Record>,
    /// The latest claim, in any state.
    pub(super) claim: Option<Claim>,
    /// The timestamp of the record, live or not.
    pub(super) record_timestamp: Option<i64>,
    /// The greatest timestamp that the document has had.
    pub(super) newest: i64,
}

impl Stored {
    /// Returns true if the live state is known from the claim alone.
    pub(super) fn is_claimed(&self) -> bool {
        let claim = self.claim.as_ref().filter(|claim| claim.state == State::Committed);
        claim.is_some_and(|claim| self.record_timestamp.is_none_or(|record| claim.timestamp > record))
    }

    /// Returns the row in the form that claimants read.
    pub(super) fn entry(&self) -> Entry {
        Entry {
            live: self.live.as_ref().map(|record| record.sketch.clone()),
            text: self.live.as_ref().and_then(|record| record.text),
            newest: self.newest,
            claim: self.claim.clone(),
        }
    }

    /// Adds the stored texts to the live record and to the pending claim, where these name one.
    /// `cells` are the cells of the row.
    fn told(mut self, key: &[u8], cells: &[Cell]) -> Result<Self> {
        let text = |timestamp: i64, digest: Option<u64>| {
            let Some(digest) = digest else { return Ok(None) };
            let qualifier = text_qualifier(timestamp, digest);
            let cell = cells.iter().find(|cell| cell.qualifier == qualifier);
            let text = cell.map(|cell| decode_text(&qualifier, &cell.value, digest)).transpose();
            text.map_err(|error| in_row(key, error))
        };
        if let Some(live) = &mut self.live {
            let text = text(live.timestamp, live.text)?;
            live.sketch = live.sketch.clone().with_text(text);
        }
        if let Some(claim) = self.claim.as_mut().filter(|claim| claim.state == State::Pending) {
            let text = text(claim.timestamp, claim.text)?;
            claim.sketch = claim.sketch.clone().with_text(text);
        }
        Ok(self)
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
                    let (timestamp, text) = (claim.timestamp, claim.text);
                    stored.live = Some(Record { sketch, timestamp, source, text });
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

/// Returns the document of a record, as `Store` returns documents.
pub(super) fn to_stored_document(id: DocumentId, record: Record) -> StoredDocument {
    let Record { sketch, timestamp, source, .. } = record;
    let sketch = sketch.with_text(None);
    let inserted_at = Timestamp::saturating(timestamp);
    StoredDocument { document: Document { id, sketch, source }, inserted_at }
}

/// The columns to read of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Columns {
    /// Record and claim.
    Words,
    /// Record, claim and all texts.
    WordsAndTexts,
}

impl Columns {
    fn names(self) -> &'static [&'static [u8]] {
        match self {
            Self::Words => &[RECORD_COLUMN, CLAIM_COLUMN],
            Self::WordsAndTexts => &[RECORD_COLUMN, CLAIM_COLUMN, TEXT_COLUMNS],
        }
    }
}

/// Reads cells of rows: [`Rows::get`](super::rows::Rows::get) or `Rows::get_to_read`.
type Get<'a> = &'a dyn Fn(&[&[u8]], &[Vec<u8>]) -> Result<Vec<Vec<Cell>>>;

/// Returns the rows of these documents; ids without a row are left out.
pub(super) fn read<'a>(
    access: &Access<'_>,
    ids: impl Iterator<Item = &'a DocumentId>,
) -> Result<HashMap<&'a DocumentId, Stored>> {
    read_each(access, ids)?.into_iter().map(|(id, stored)| Ok((id, stored?))).collect()
}

/// Reads as [`read`] does, with an error for each damaged row alone.
pub(super) fn read_each<'a>(
    access: &Access<'_>,
    ids: impl Iterator<Item = &'a DocumentId>,
) -> Result<HashMap<&'a DocumentId, Result<Stored>>> {
    let ids: Vec<_> = ids.collect::<BTreeSet<_>>().into_iter().collect();
    let get: Get<'_> = &|columns, keys| access.rows.get(Table::Documents, columns, keys);
    read_by(access, &ids, Columns::Words, get)
}

/// Returns the claims on these documents; ids without a claim are left out.
pub(super) fn read_claims<'a>(
    access: &Access<'_>,
    ids: impl Iterator<Item = &'a DocumentId>,
) -> Result<Vec<(&'a DocumentId, Claim)>> {
    let (ids, keys): (Vec<_>, Vec<_>) = ids.map(|id| (id, document_row(id))).unzip();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows = access.rows.get(Table::Documents, &[CLAIM_COLUMN], &keys)?;
    let claim = |((id, cells), key): ((&'a DocumentId, Vec<Cell>), &Vec<u8>)| {
        let claim = decode_claim(&cells.first()?.value, access.kind).map_err(|error| in_row(key, error));
        Some(claim.map(|claim| (id, claim)))
    };
    ids.into_iter().zip(rows).zip(&keys).filter_map(claim).collect()
}

/// Reads as [`read`] does, with the texts of live records and pending claims, each row as of one
/// moment.
pub(super) fn read_told<'a>(
    access: &Access<'_>,
    ids: impl Iterator<Item = &'a DocumentId>,
) -> Result<HashMap<&'a DocumentId, Stored>> {
    told_by(access, ids, &|columns, keys| access.rows.get(Table::Documents, columns, keys))
}

fn told_by<'a>(
    access: &Access<'_>,
    ids: impl Iterator<Item = &'a DocumentId>,
    get: Get<'_>,
) -> Result<HashMap<&'a DocumentId, Stored>> {
    let ids: Vec<_> = ids.collect::<BTreeSet<_>>().into_iter().collect();
    let mut documents = HashMap::with_capacity(ids.len());
    for ids in ids.chunks(TOLD_AT_ONCE) {
        for (id, stored) in read_by(access, ids, Columns::WordsAndTexts, get)? {
            documents.insert(id, stored?);
        }
    }
    Ok(documents)
}

/// Reads and decodes rows; `ids` has no duplicates.
fn read_by<'a>(
    access: &Access<'_>,
    ids: &[&'a DocumentId],
    columns: Columns,
    get: Get<'_>,
) -> Result<HashMap<&'a DocumentId, Result<Stored>>> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let keys: Vec<_> = ids.iter().map(|id| document_row(id)).collect();
    let rows = get(columns.names(), &keys)?;
    let decode = |key: &[u8], cells: &[Cell]| {
        let stored = Stored::decode(key, cells, access)?;
        if columns == Columns::WordsAndTexts { stored.told(key, cells) } else { Ok(stored) }
    };
    let mut documents = HashMap::with_capacity(ids.len());
    for ((id, cells), key) in ids.iter().zip(rows).zip(&keys) {
        if !cells.is_empty() {
            documents.insert(*id, decode(key, &cells));
        }
    }
    Ok(documents)
}

/// Returns the live records of these documents, for a caller that bases no write on them.
pub(super) fn read_live<'a>(
    access: &Access<'_>,
    ids: impl Iterator<Item = &'a DocumentId>,
) -> Result<HashMap<DocumentId, Record>> {
    let ids: Vec<_> = ids.collect::<BTreeSet<_>>().into_iter().collect();
    let get: Get<'_> = &|columns, keys| access.rows.get_to_read(Table::Documents, columns, keys);
    let live = |(id, stored): (&DocumentId, Result<Stored>)| match stored {
        Ok(stored) => stored.live.map(|record| Ok((id.clone(), record))),
        Err(error) => Some(Err(error)),
    };
    read_by(access, &ids, Columns::Words, get)?.into_iter().filter_map(live).collect()
}

/// Reads as [`read_live`] does, with the texts.
pub(super) fn read_live_told<'a>(
    access: &Access<'_>,
    ids: impl Iterator<Item = &'a DocumentId>,
) -> Result<HashMap<DocumentId, Record>> {
    let told =
        told_by(access, ids, &|columns, keys| access.rows.get_to_read(Table::Documents, columns, keys))?;
    Ok(told.into_iter().filter_map(|(id, stored)| Some((id.clone(), stored.live?))).collect())
}

/// Implements [`Store::texts`](index::Store::texts).
pub(super) fn texts(access: &Access<'_>, ids: &[DocumentId]) -> Result<Vec<Option<Text>>> {
    if !access.keeps_texts {
        return Ok(vec![None; ids.len()]);
    }
    let live = read_live_told(access, ids.iter())?;
    Ok(ids.iter().map(|id| live.get(id)?.sketch.text().cloned()).collect())
}

/// Implements [`Store::scan`](index::Store::scan) in the order of rows, which is the order of a
/// hash of the ids.
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
