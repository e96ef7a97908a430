//! `embedded:PATH`: documents in LMDB in a directory of this machine, search tables in memory.
//!
//! A document costs one durable record, not one for each of its buckets. The tables are built from
//! the records at the first search, and follow the commits of all processes from then on. Every
//! change has a number, and a document's record stands under the number of its insertion: so a
//! follower reads the changes after the last number it knows. In an index with texts, the text of a
//! document stands under the same number, in a database of its own: searches read texts only where
//! they count.
//!
//! Locks are always taken in this order: the environment's gate, LMDB's write lock, the tables.

mod ahead;
mod backup;
mod batch;
mod directory;
mod environment;
mod errors;
mod examine;
mod expiry;
mod image;
mod imaging;
mod limits;
mod pages;
mod place;
mod ram;
mod record;
mod shared;
mod store;
#[cfg(test)]
mod tests;
mod texts;
mod times;
mod turns;
mod uri;

use std::time::Duration;

use index::backend::search::Documents;
use index::backend::{check_batch, check_documents, page_len};
use index::backend::{rule, search};
use index::{
    Cursor, Document, DocumentId, Error, Examined, ImageStatus, Insertion, Metadata, Neighbours, Page,
    Result, Rule, Selection, Sketch, Status, Store, StoredDocument, Text, WriteMark,
};

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use self::store::EmbeddedStore;
pub use self::uri::EmbeddedUri;

use self::environment::{METADATA_KEY, Opened};
use self::ram::Ram;

/// The time for which [`Store::ready`] waits for its turn to write: callers want an answer soon.
const READY_PATIENCE: Duration = Duration::from_secs(3);

impl Store for EmbeddedStore {
    fn metadata(&self) -> Result<Option<Metadata>> {
        self.shared.environment.with(|opened| Ok(self.shared.find_metadata(opened)?.cloned()))
    }

    fn create(&self, metadata: &Metadata) -> Result<Metadata> {
        let environment = &self.shared.environment;
        let stored = environment.with(|opened| {
            let mut txn = opened.write_txn()?;
            if let Some(stored) = self.shared.known.find(opened.metadata(&txn)?)? {
                return Ok(stored.clone());
            }
            let record = metadata.encode()?;
            opened.meta.put(&mut txn, METADATA_KEY, &record)?;
            txn.commit()?;
            Ok(self.shared.known.check(Some(&record))?.clone())
        })?;
        directory::sync(environment.directory())?;
        Ok(stored)
    }

    fn prepare(&self) -> Result<()> {
        self.shared.catch_up()
    }

    fn give_memory(&self, n_bytes: u64) {
        self.shared.terms.give_filters(n_bytes);
    }

    fn write_image(&self, progress: &mut dyn FnMut(f64)) -> Result<bool> {
        imaging::write(&self.shared, progress)
    }

    fn ready(&self) -> Result<()> {
        self.shared.catch_up()?;
        self.shared.environment.with(|opened| {
            opened.can_write(READY_PATIENCE)?;
            Ok(opened.can_grow()?)
        })
    }

    fn insert(&self, documents: &[Document]) -> Result<Vec<Insertion>> {
        check_documents(documents)?;
        if documents.is_empty() {
            return self.shared.nothing();
        }
        self.shared.write(&self.clock, documents.len(), false, |batch| {
            documents.iter().map(|document| rule::insert(batch, document, None)).collect()
        })
    }

    fn insert_if_new(&self, documents: &[Document], rule: &Rule) -> Result<Vec<Insertion>> {
        check_documents(documents)?;
        if documents.is_empty() {
            return self.shared.nothing();
        }
        self.shared.write(&self.clock, documents.len(), true, |batch| {
            batch.search_ahead(documents, rule, self.shared.limits);
            documents.iter().map(|document| rule::insert(batch, document, Some(rule))).collect()
        })
    }

    fn remove_if(&self, ids: &[DocumentId], selection: &Selection) -> Result<Vec<bool>> {
        check_batch(ids.len())?;
        if ids.is_empty() {
            return self.shared.nothing();
        }
        self.shared.write(&self.clock, ids.len(), false, |batch| {
            ids.iter().map(|id| rule::remove(batch, id, selection)).collect()
        })
    }

    fn get(&self, ids: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>> {
        check_batch(ids.len())?;
        self.shared.read(|opened, txn, metadata| {
            let horizon = self.shared.horizon(opened, txn, &self.clock)?;
            let get = |id| {
                let found = batch::find(opened, txn, &metadata.kind, id)?.map(|(_, stored)| stored);
                Ok(found.filter(|stored| horizon.is_live(stored.inserted_at)))
            };
            ids.iter().map(get).collect()
        })
    }

    fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<Text>>> {
        check_batch(ids.len())?;
        self.shared.read(|opened, txn, metadata| {
            let horizon = self.shared.horizon(opened, txn, &self.clock)?;
            let records = self.shared.records(opened, txn, metadata);
            let text = |id| match batch::find(opened, txn, &metadata.kind, id)? {
                Some((number, stored)) if horizon.is_live(stored.inserted_at) => Ok(records.text(number)?),
                _ => Ok(None),
            };
            ids.iter().map(text).collect()
        })
    }

    fn near(&self, queries: &[Sketch], rule: &Rule, limit: usize) -> Result<Vec<Neighbours>> {
        check_batch(queries.len())?;
        self.shared.search(|opened, txn, tables| {
            let records = self.shared.records(opened, txn, self.shared.metadata(opened, txn)?);
            let horizon = self.shared.horizon(opened, txn, &self.clock)?;
            let live = self.shared.seen.live(opened, txn, horizon)?;
            Ok(search::neighbours(tables, queries, rule, limit, &live, &records, &self.shared.bounded)?)
        })
    }

    fn scan(&self, after: Cursor, limit: usize) -> Result<Page> {
        let (after, len) = (after.number()?, page_len(limit)?);
        self.shared.environment.with(Opened::look_through)?;
        self.shared.read(|opened, txn, metadata| {
            let mut page = Page::default();
            let mut last = after;
            let horizon = self.shared.horizon(opened, txn, &self.clock)?;
            let live = self.shared.seen.live(opened, txn, horizon)?;
            for stretch in live.stretches(after.saturating_add(1)) {
                for entry in opened.log.range(txn, &stretch)? {
                    if page.documents.len() == len {
                        page.next = Some(Cursor::after(last));
                        return Ok(page);
                    }
                    let (number, bytes) = entry?;
                    page.documents.push(record::decode_document(number, bytes, &metadata.kind)?);
                    last = number;
                }
            }
            Ok(page)
        })
    }

    fn examine(&self, mends: bool, report: &mut dyn FnMut(Examined)) -> Result<()> {
        examine::examine(&self.shared, &self.clock, mends, report)
    }

    fn last_write(&self) -> Result<Option<WriteMark>> {
        self.shared.read(|opened, txn, _| {
            let number = opened.last_change(txn)?;
            Ok(Some(WriteMark { number, checksum: opened.checksum_of_change(txn, number)? }))
        })
    }

    fn has_written(&self, mark: &WriteMark) -> Result<bool> {
        self.shared.read(|opened, txn, _| {
            let there = opened.checksum_of_change(txn, mark.number)?;
            // A document inserted by this change may have been removed since.
            let is_same = there.zip(mark.checksum).is_none_or(|(there, then)| there == then);
            Ok(opened.last_change(txn)? >= mark.number && is_same)
        })
    }

    fn status(&self) -> Result<Status> {
        let (n_documents, image) = self.shared.environment.with(|opened| {
            if self.shared.find_metadata(opened)?.is_none() {
                return Ok((0, None));
            }
            opened.look_for_image()?;
            let txn = opened.read_txn()?;
            let horizon = self.shared.horizon(opened, &txn, &self.clock)?;
            let live = self.shared.seen.live(opened, &txn, horizon)?;
            let n_stored = opened.log.len(&txn)?;
            let image = image::find(opened, &txn, &self.shared.terms)?;
            let last_change = opened.last_change(&txn)?;
            let image = image.sound.last().map(|layer| ImageStatus { up_to: layer.up_to, last_change });
            Ok((n_stored - expiry::n_expired(opened, &txn, &live)?, image))
        })?;
        // Without this figure the others hold as well.
        let n_free_bytes = self.shared.environment.with(Opened::n_free_bytes).ok();
        let ram = self.shared.ram.read().map_err(|_| Error::poisoned())?;
        Ok(Status {
            n_documents: Some(n_documents),
            n_disk_bytes: Some(directory::data_bytes(self.shared.environment.directory())),
            n_free_bytes,
            n_table_bytes: ram.as_ref().map(Ram::heap_bytes),
            image,
            n_bounded: Some(self.shared.bounded.get()),
            ..Status::default()
        })
    }
}
