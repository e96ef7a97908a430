//! Examines texts: each document must have the text that it names, and each text must belong to a
//! document.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::claims::{Claim, State};
use index::{DocumentId, FindingKind, Result, Timestamp};

use super::super::documents::{self, Stored};
use super::super::layout::{
    CLAIM_COLUMN, RECORD_COLUMN, Record, TEXT_COLUMNS, TEXT_FAMILY, decode_document_row, decode_text,
    decode_text_qualifier, document_row, text_qualifier,
};
use super::super::meet::{is_old, pending};
use super::super::remove::swap;
use super::super::rows::{Row, Span, Swapped, Table};
use super::super::write::Writes;
use super::Examination;

/// The name of a text: the timestamp of its version, and its digest.
type Name = (i64, u64);

/// The texts of each document, with the timestamps of their cells.
type Texts = BTreeMap<DocumentId, BTreeMap<Name, i64>>;

impl Examination<'_, '_> {
    /// Examines the texts in a span of rows; `documents` holds every document that was read there a
    /// moment ago.
    pub(super) fn texts(&mut self, span: &Span, documents: &[(DocumentId, Stored)]) -> Result<()> {
        let texts = self.texts_in(span)?;
        let known: HashMap<_, _> = documents.iter().map(|(id, stored)| (id, stored)).collect();
        let lacks = |(id, stored): &&(DocumentId, Stored)| {
            let name = stored.live.as_ref().filter(|live| self.stays(live)).and_then(text_of);
            name.is_some_and(|name| !texts.get(id).is_some_and(|there| there.contains_key(&name)))
        };
        let lacking: Vec<&DocumentId> = documents.iter().filter(lacks).map(|(id, _)| id).collect();
        self.missing(&lacking)?;
        let is_known = |id: &DocumentId, name| known.get(id).is_some_and(|stored| is_of(name, stored));
        let orphans =
            texts.iter().flat_map(|(id, there)| there.iter().map(move |(name, at)| (id, *name, *at)));
        let orphans: Vec<_> = orphans.filter(|(id, name, _)| !is_known(id, *name)).collect();
        self.orphans(&orphans)
    }

    /// Reads texts, and reports the damaged ones.
    fn texts_in(&mut self, span: &Span) -> Result<Texts> {
        let mut texts = Texts::new();
        let mut left = Some(Span { n_results: documents::TOLD_AT_ONCE, ..span.clone() });
        while let Some(span) = left.take() {
            let mut page: Vec<Row> = Vec::new();
            let spans = std::slice::from_ref(&span);
            self.access.rows.scan(Table::Documents, TEXT_FAMILY, spans, &mut |_, rows| {
                page = rows;
                Ok(())
            })?;
            left = span.rest(&page);
            for row in page {
                let id = decode_document_row(&row.key).ok();
                for cell in row.cells {
                    let name = decode_text_qualifier(&cell.qualifier);
                    let is_whole = name
                        .is_some_and(|(_, digest)| decode_text(&cell.qualifier, &cell.value, digest).is_ok());
                    if !is_whole {
                        let place = format!("{} t:{}", row.key.escape_ascii(), cell.qualifier.escape_ascii());
                        self.found(FindingKind::Damaged, &place, false);
                    }
                    if let Some((id, name)) = id.as_ref().zip(name) {
                        texts.entry(id.clone()).or_default().insert(name, cell.timestamp);
                    }
                }
            }
        }
        Ok(texts)
    }

    /// Reads the documents that seemed to lack their texts again, each with its texts as of one
    /// moment, and reports each lack that is still there: some may have been replaced or removed.
    fn missing(&mut self, ids: &[&DocumentId]) -> Result<()> {
        for ids in ids.chunks(documents::TOLD_AT_ONCE) {
            let keys: Vec<_> = ids.iter().map(|id| document_row(id)).collect();
            let columns = [RECORD_COLUMN, CLAIM_COLUMN, TEXT_COLUMNS];
            let rows = self.access.rows.get(Table::Documents, &columns, &keys)?;
            let mut lost = Vec::new();
            for ((&id, key), cells) in ids.iter().zip(&keys).zip(rows) {
                let Ok(stored) = Stored::decode(key, &cells, self.access) else { continue };
                let name = stored.live.as_ref().and_then(text_of);
                let qualifier = name.map(|(timestamp, digest)| text_qualifier(timestamp, digest));
                let is_there = |qualifier: &Vec<u8>| cells.iter().any(|cell| cell.qualifier == *qualifier);
                if qualifier.is_some_and(|qualifier| !is_there(&qualifier)) {
                    lost.push((id, stored));
                }
            }
            let mended = if self.mends { self.forget_texts(&lost)? } else { HashSet::new() };
            for (id, _) in lost {
                self.found(FindingKind::TextLost, id.as_str(), mended.contains(id));
            }
        }
        Ok(())
    }

    /// Makes each of these documents one that came without a text: the same text, inserted again,
    /// is then kept. Returns the documents that are so now. One that is replaced or removed
    /// meanwhile has a record or a delete of a later timestamp, or another claim.
    fn forget_texts<'a>(&self, lost: &[(&'a DocumentId, Stored)]) -> Result<HashSet<&'a DocumentId>> {
        let mut records = Writes::new(Table::Documents);
        let (mut mended, mut claimed, mut swaps) = (HashSet::new(), Vec::new(), Vec::new());
        for (id, stored) in lost {
            let Some(live) = &stored.live else { continue };
            if stored.record_timestamp == Some(live.timestamp) {
                records.put_record(live.timestamp, id, &Record { text: None, ..live.clone() }, self.access);
            }
            let is_own =
                |claim: &&Claim| claim.state == State::Committed && claim.timestamp == live.timestamp;
            match stored.claim.as_ref().filter(is_own) {
                Some(claim) => {
                    swaps.push(swap(self.access, id, Some(claim), &Claim { text: None, ..claim.clone() }));
                    claimed.push(*id);
                }
                None => drop(mended.insert(*id)),
            }
        }
        records.apply(self.access)?;
        let swapped = self.access.rows.swap(Table::Documents, &swaps)?;
        let done = claimed.into_iter().zip(swapped).filter(|(_, swapped)| *swapped == Swapped::Done);
        mended.extend(done.map(|(id, _)| id));
        Ok(mended)
    }

    /// Reads the texts that seemed to belong to no document again; reports, and deletes, each that
    /// still has none. A young text may belong to a writer about to write its record, or to clean
    /// up.
    fn orphans(&mut self, texts: &[(&DocumentId, Name, i64)]) -> Result<()> {
        let now = documents::read_each(self.access, texts.iter().map(|(id, ..)| *id))?;
        let nowhere = Stored::default();
        let mut deletes = Writes::new(Table::Documents);
        let mut places = Vec::new();
        for &(id, name, timestamp) in texts {
            let stored = match now.get(id) {
                Some(Ok(stored)) => stored,
                Some(Err(_)) => continue,
                None => &nowhere,
            };
            let is_at_rest = is_old(self.access, timestamp.max(stored.newest));
            let stays = self.access.horizon.is_live(Timestamp::saturating(timestamp));
            if is_at_rest && stays && !is_of(name, stored) {
                deletes.delete_text(timestamp.max(name.0), id, name);
                places.push(format!("text of {id} from {}", Timestamp::saturating(name.0)));
            }
        }
        if self.mends {
            deletes.apply(self.access)?;
        }
        for place in places {
            self.found(FindingKind::Ghost, &place, self.mends);
        }
        Ok(())
    }
}

/// Returns the name of a document's text, if the document has one.
fn text_of(record: &Record) -> Option<Name> {
    record.text.map(|digest| (record.timestamp, digest))
}

/// Returns true if a text belongs to the live version of a document, to an expired one (another
/// clock may see it as live), or to a pending claim.
fn is_of(name: Name, stored: &Stored) -> bool {
    let there = stored.live.iter().chain(&stored.expired).filter_map(text_of);
    let claimed = pending(stored).and_then(|claim| claim.text.map(|digest| (claim.timestamp, digest)));
    there.chain(claimed).any(|known| known == name)
}
