//! Reading documents' records.

use std::collections::{BTreeSet, HashMap};

use simhash::TableScheme;

use super::layout::{
    DOCUMENT_FAMILY, DOCUMENTS_END, RECORD_COLUMN, Record, State, decode_document_row, document_row, in_row,
};
use super::rows::{Row, Rows, Span, Table, successor};
use crate::{Cursor, Document, DocumentId, Error, Page, Result};

/// A record, and the timestamp of its cell.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) record: Record,
    pub(super) cell_timestamp: i64,
}

impl Stored {
    pub(super) fn is_live(&self) -> bool {
        self.record.state == State::Live
    }
}

/// The records of these documents, live or removed, of those that have one.
pub(super) fn read<'a>(
    rows: &dyn Rows,
    scheme: &TableScheme,
    ids: impl Iterator<Item = &'a DocumentId>,
) -> Result<HashMap<&'a DocumentId, Stored>> {
    let ids: BTreeSet<_> = ids.collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let keys: Vec<_> = ids.iter().map(|id| document_row(id)).collect();
    let cells = rows.get(Table::Documents, RECORD_COLUMN, &keys)?;
    let mut records = HashMap::with_capacity(ids.len());
    for ((id, cell), key) in ids.into_iter().zip(cells).zip(&keys) {
        if let Some(cell) = cell {
            let record = Record::decode(&cell.value, scheme).map_err(|error| in_row(key, error))?;
            records.insert(id, Stored { record, cell_timestamp: cell.timestamp });
        }
    }
    Ok(records)
}

/// The records of these documents, of those that are there.
pub(super) fn read_live<'a>(
    rows: &dyn Rows,
    scheme: &TableScheme,
    ids: impl Iterator<Item = &'a DocumentId>,
) -> Result<HashMap<DocumentId, Stored>> {
    let records = read(rows, scheme, ids)?;
    Ok(records
        .into_iter()
        .filter(|(_, stored)| stored.is_live())
        .map(|(id, stored)| (id.clone(), stored))
        .collect())
}

/// The contract of [`Store::scan`](crate::Store::scan), in the order of rows: that of a hash of the ids.
pub(super) fn scan(rows: &dyn Rows, scheme: &TableScheme, after: &Cursor, limit: usize) -> Result<Page> {
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
        rows.scan(Table::Documents, DOCUMENT_FAMILY, std::slice::from_ref(&span), &mut |_, rows| {
            read = rows;
            Ok(())
        })?;
        left = span.rest(&read);
        for row in read {
            let Some(cell) = row.cells.iter().find(|cell| cell.qualifier == b"record") else { continue };
            let record = Record::decode(&cell.value, scheme).map_err(|error| in_row(&row.key, error))?;
            if record.state != State::Live {
                continue;
            }
            if page.documents.len() == limit {
                page.next = Some(Cursor::from_bytes(last));
                return Ok(page);
            }
            page.documents.push(Document { id: decode_document_row(&row.key)?, sketch: record.sketch });
            last = row.key;
        }
    }
    Ok(page)
}
