//! Reading documents together with their texts, for a count.

use index::{DocumentId, Neighbours, Result, Rule, Sketch, SketchKind, StoredDocument, Text};

use super::answers::Found;
use super::layout::{Content, TextDigest, damaged_text, decode_text, decode_told};
use super::store::RedisStore;

/// The texts read at a time: few, because they are in memory together.
pub(super) const AT_ONCE: usize = 64;

/// A document as stored, with its text in its sketch.
pub(super) struct Told {
    pub(super) stored: StoredDocument,
    /// The digest of the text; `None` where no text is kept.
    pub(super) text: Option<TextDigest>,
    pub(super) content: Option<Content>,
}

/// Reads the live documents among `ids`, each with its text, all as of one moment.
pub(super) fn read(store: &RedisStore, ids: &[DocumentId]) -> Result<Vec<Option<Told>>> {
    read_each(store, ids)?.into_iter().collect()
}

/// As [`read`], with an error for each damaged document.
pub(super) fn read_each(store: &RedisStore, ids: &[DocumentId]) -> Result<Vec<Result<Option<Told>>>> {
    let keys = ids.iter().flat_map(|id| [store.keys.document(id), store.keys.text(id)]);
    let values = store.values(keys.collect())?;
    let (horizon, kind) = (store.horizon()?, &store.known()?.kind);
    let to_told = |(id, pair): (&DocumentId, &[Option<Vec<u8>>])| match pair {
        [Some(record), text] => {
            let told = decode(id, record, text.as_deref(), kind)?;
            Ok(Some(told).filter(|told| horizon.is_live(told.stored.inserted_at)))
        }
        _ => Ok(None),
    };
    Ok(ids.iter().zip(values.chunks(2)).map(to_told).collect())
}

fn decode(id: &DocumentId, record: &[u8], text: Option<&[u8]>, kind: &SketchKind) -> Result<Told> {
    let (mut stored, digest) = decode_told(id, record, kind)?;
    let text = match (digest, text) {
        (None, _) => None,
        (Some(digest), Some(text)) => Some(decode_text(id, text, digest)?),
        (Some(_), None) => return Err(damaged_text(id, "it is missing")),
    };
    stored.document.sketch = stored.document.sketch.with_text(text);
    Ok(Told { stored, text: digest, content: Content::of(record, digest) })
}

/// The contract of [`Store::texts`](index::Store::texts), in an index that keeps them.
pub(super) fn texts(store: &RedisStore, ids: &[DocumentId]) -> Result<Vec<Option<Text>>> {
    let mut texts = Vec::with_capacity(ids.len());
    for ids in ids.chunks(AT_ONCE) {
        let text = |told: Told| told.stored.document.sketch.text().cloned();
        texts.extend(read(store, ids)?.into_iter().map(|told| told.and_then(text)));
    }
    Ok(texts)
}

/// Counts the documents found worth a count by searches. A document is judged as of the reading of
/// its text: one removed since the search is not near, and one replaced is near if it is now.
pub(super) fn count(
    store: &RedisStore,
    queries: &[Sketch],
    rule: &Rule,
    mut found: Vec<Found>,
) -> Result<Vec<Neighbours>> {
    let mut worth = Vec::new();
    for (number, found) in found.iter_mut().enumerate() {
        worth.extend(std::mem::take(&mut found.worth).into_iter().map(|id| (number, id)));
    }
    for worth in worth.chunks(AT_ONCE) {
        let ids: Vec<_> = worth.iter().map(|(_, id)| id.clone()).collect();
        for ((number, _), told) in worth.iter().zip(read(store, &ids)?) {
            if let Some(Told { stored, .. }) = told {
                found[*number].judge(&queries[*number], rule, stored.document);
            }
        }
    }
    Ok(found.into_iter().map(Found::into_neighbours).collect())
}
