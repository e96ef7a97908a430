//! Names, keys and values of the two tables; `schema/README.md` draws them.

mod claim;
mod record;
mod text;

use index::{DocumentId, Error, Result, Segments};
use simhash::{BucketKey, ROW_KEY_LEN, RowKey};

pub(crate) use self::claim::{decode_claim, encode_claim};
pub(crate) use self::record::Record;
pub(crate) use self::text::{
    TEXT_COLUMNS, TEXT_FAMILY, decode_text, decode_text_qualifier, digest, encode_text, text_column,
    text_qualifier,
};

/// The family of the index table, with a cell for each document that is filed in a row.
pub(crate) const INDEX_FAMILY: u8 = b'f';

/// The family of the documents' records and claims.
pub(crate) const DOCUMENT_FAMILY: u8 = b'd';

/// The column of a document's record, which is written without a check.
pub(crate) const RECORD_COLUMN: &[u8] = b"d:record";

/// The column of the latest claim on a document, which is only ever compared and set.
pub(crate) const CLAIM_COLUMN: &[u8] = b"d:claim";

/// The row of the index's metadata, beyond all documents. Its family never has a time to live.
pub(crate) const METADATA_ROW: &[u8] = b"pigeonhole";

/// The family of the metadata row.
pub(crate) const METADATA_FAMILY: u8 = b'm';

/// The column of the index's metadata.
pub(crate) const METADATA_COLUMN: &[u8] = b"m:metadata";

/// The column of the last mark of a job, which is only ever compared and set.
pub(crate) const MARK_COLUMN: &[u8] = b"m:mark";

/// The column of the last note of documents with an old timestamp.
pub(crate) const OLDER_COLUMN: &[u8] = b"m:older";

/// The column that is written to learn the time of HBase.
pub(crate) const TIME_COLUMN: &[u8] = b"m:time";

/// The qualifier of a bulk load's mark, beside the metadata, before the timestamp of the load's
/// cells.
pub(crate) const LOAD_PREFIX: &str = "load.";

/// Beyond the last document's row, whose key starts with a hexadecimal digit.
pub(crate) const DOCUMENTS_END: &[u8] = b"g";

/// Returns the starts of parts of all documents, one for each first digit of a row key.
pub(crate) fn document_starts() -> Vec<Vec<u8>> {
    let mut starts: Vec<Vec<u8>> = b"0123456789abcdef".iter().map(|digit| vec![*digit]).collect();
    starts[0].clear();
    starts
}

/// Returns the column of a document in the rows of the index.
pub(crate) fn index_column(id: &DocumentId) -> Vec<u8> {
    [&[INDEX_FAMILY, b':'], id.as_str().as_bytes()].concat()
}

/// Returns the row of a document: the upper half of the id's CRC-32, which spreads ascending ids
/// over the regions, and the id.
pub(crate) fn document_row(id: &DocumentId) -> Vec<u8> {
    let id = id.as_str();
    format!("{:04x}:{id}", crc32fast::hash(id.as_bytes()) >> 16).into_bytes()
}

/// Reads the id in a cell of the index.
pub(crate) fn decode_id(bytes: &[u8]) -> Result<DocumentId> {
    let id = std::str::from_utf8(bytes).ok().and_then(|id| DocumentId::new(id).ok());
    id.ok_or_else(|| damaged("the column", bytes, "is not a document id"))
}

/// Reads as [`decode_id`] does, from owned bytes.
pub(crate) fn decode_owned_id(bytes: Vec<u8>) -> Result<DocumentId> {
    match String::from_utf8(bytes).map(DocumentId::new) {
        Ok(Ok(id)) => Ok(id),
        Ok(Err(why)) => Err(Error::corrupt(format!("{why}; another program has written to the table"))),
        Err(error) => decode_id(error.as_bytes()),
    }
}

/// Reads the id in the key of a document's row.
pub(crate) fn decode_document_row(key: &[u8]) -> Result<DocumentId> {
    let id = key.get(5..).map(decode_id).transpose()?;
    id.filter(|id| document_row(id) == key)
        .ok_or_else(|| damaged("the row", key, "does not begin with the hash of its id"))
}

/// Reads the key of an index row that was found in `bucket`.
pub(crate) fn decode_index_row(key: &[u8], bucket: BucketKey) -> Result<RowKey> {
    match RowKey::decode(key) {
        Ok(row) if row.bucket() == bucket => Ok(row),
        _ => Err(damaged("the row", key, "is not one of the bucket that it lies in")),
    }
}

/// Reads the key of an index row.
pub(crate) fn decode_row(key: &[u8]) -> Result<RowKey> {
    RowKey::decode(key).map_err(|error| {
        let why = "another program has written to the table: delete it in the HBase shell";
        in_row(key, Error::corrupt(format!("{error}; {why}")))
    })
}

/// Returns the first key of the index rows of some segments, and the first key after them.
pub(crate) fn bounds(segments: Segments) -> (Vec<u8>, Vec<u8>) {
    let end = segments.end().map_or_else(|| vec![0xff; ROW_KEY_LEN + 1], |end| end.to_be_bytes().to_vec());
    (segments.start().to_be_bytes().to_vec(), end)
}

/// Adds the row to an error that was met in it.
pub(crate) fn in_row(key: &[u8], error: Error) -> Error {
    Error::new(error.kind(), format!("failed to read the row {}", key.escape_ascii())).caused_by(error)
}

pub(crate) fn damaged(what: &str, bytes: &[u8], why: &str) -> Error {
    Error::corrupt(format!(
        "{what} {} {why}; another program has written to the table: delete it in the HBase shell",
        bytes.escape_ascii()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fixed bytes: a change here is a new format version.
    #[test]
    fn golden_rows() {
        let id = DocumentId::new("https://example.org/é").unwrap();
        assert_eq!(document_row(&id), "d6e2:https://example.org/é".as_bytes());
        assert_eq!(decode_document_row(&document_row(&id)).unwrap(), id);
        assert_eq!(index_column(&id), "f:https://example.org/é".as_bytes());
        for key in ["", "d6e2:", "d6e3:https://example.org/é", "D6E2:https://example.org/é", "pigeonhole"] {
            assert!(decode_document_row(key.as_bytes()).is_err(), "{key}");
        }
    }
}
