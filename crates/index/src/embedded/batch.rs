//! One batch inside one write transaction: what is committed, and on top of it what the batch has done so far.

use std::collections::HashSet;

use heed::{PutFlags, RwTxn};
use sha2::{Digest, Sha256};
use simhash::{Sketch, TableScheme};
use tables::Tables;

use super::environment::{Failure, Opened, explain};
use super::ram::REMOVALS_FLOOR_KEY;
use super::record::{self, Removal};
use super::{Limits, expiry};
use crate::retention::{Horizon, n_swept_max};
use crate::rule::Shelf;
use crate::{Document, DocumentId, Error, Match, Metadata, Result, StoredDocument, Timestamp, search};

/// LMDB's longest key.
const MAX_KEY_BYTES: usize = 511;

/// A batch that is being written. Dropping it without [`finish`](Self::finish) and a commit leaves no trace.
pub(super) struct Batch<'a, 'e> {
    opened: &'a Opened,
    txn: &'a mut RwTxn<'e>,
    scheme: &'a TableScheme,
    search: Option<Search<'a>>,
    /// The number of the last change, of the batch or before it.
    last: u64,
    n_removals: u64,
    /// What is there now.
    horizon: Horizon,
    /// Where the live documents begin.
    first_live: u64,
    /// The time of what it inserts: now, but never before that of the last document, so that those that have expired are
    /// the first of the log.
    inserted_at: Timestamp,
}

/// The tables as they would be after the batch: those of the last commit are never touched, so other threads go on
/// searching in them, and a batch that fails leaves nothing to undo.
struct Search<'a> {
    committed: &'a dyn Tables,
    /// The numbers in `committed` that the batch has removed.
    removed: HashSet<u64>,
    /// What the batch has inserted.
    inserted: Box<dyn Tables>,
}

impl<'a, 'e> Batch<'a, 'e> {
    /// An empty batch. `committed` are tables as of the last commit; a batch that never searches needs none.
    pub(super) fn new(
        opened: &'a Opened,
        txn: &'a mut RwTxn<'e>,
        metadata: &'a Metadata,
        committed: Option<&'a dyn Tables>,
        now: Timestamp,
    ) -> Result<Self, Failure> {
        let last = opened.last_change(txn)?;
        let horizon = Horizon::new(metadata.retain, now);
        let first_live = expiry::first_live(opened, txn, horizon, 0)?;
        let inserted_at = expiry::last_time(opened, txn)?.map_or(now, |last| last.max(now));
        let search = committed.map(|committed| Search {
            committed,
            removed: HashSet::new(),
            inserted: search::new_tables(),
        });
        let scheme = &metadata.scheme;
        Ok(Self { opened, txn, scheme, search, last, n_removals: 0, horizon, first_live, inserted_at })
    }

    /// Removes some of what has expired, the oldest first, in a batch of `n_items`. What is left is no match either, and
    /// goes with later batches.
    pub(super) fn sweep(&mut self, n_items: usize, limits: Limits) -> Result<(), Failure> {
        for _ in 0..n_swept_max(n_items, limits.swept_min) {
            let Some((number, bytes)) = self.opened.log.first(self.txn)? else { break };
            if number >= self.first_live {
                break;
            }
            let Document { id, sketch, .. } = record::decode_document(number, bytes, self.scheme)?.document;
            self.take(&id, number, &sketch)?;
        }
        Ok(())
    }

    /// Forgets the oldest removals above what is to be kept, but notes down the newest forgotten one: whoever has not
    /// seen that builds its tables anew. That is no more work than following as many removals as there are documents.
    pub(super) fn finish(self, limits: Limits) -> Result<(), Failure> {
        if self.n_removals == 0 {
            return Ok(());
        }
        let n_kept =
            self.opened.log.len(self.txn)?.max(limits.removals_kept_min).min(limits.removals_kept_max);
        let excess = self.opened.removals.len(self.txn)?.saturating_sub(n_kept);
        let mut floor = None;
        for _ in 0..excess {
            let Some((number, _)) = self.opened.removals.first(self.txn)? else { break };
            self.opened.removals.delete(self.txn, &number)?;
            floor = Some(number);
        }
        if let Some(floor) = floor {
            self.opened.meta.put(self.txn, REMOVALS_FLOOR_KEY, &record::encode_number(floor))?;
        }
        Ok(())
    }

    fn next_change(&mut self) -> Result<u64, Failure> {
        self.last =
            self.last.checked_add(1).ok_or_else(|| Error::corrupt("the change numbers are used up"))?;
        Ok(self.last)
    }
}

impl Shelf for Batch<'_, '_> {
    type Error = Failure;

    fn find(&self, id: &DocumentId) -> Result<Option<(u64, StoredDocument)>, Failure> {
        find(self.opened, self.txn, self.scheme, id)
    }

    fn is_live(&self, inserted_at: Timestamp) -> bool {
        self.horizon.is_live(inserted_at)
    }

    fn nearest(
        &self,
        sketch: &Sketch,
        max_distance: u32,
        except: Option<u64>,
    ) -> Result<Option<Match>, Failure> {
        let Some(Search { committed, removed, inserted }) = &self.search else { return Ok(None) };
        let counts =
            |number| number >= self.first_live && Some(number) != except && !removed.contains(&number);
        let id_of = |number| id_of(self.opened, self.txn, number);
        Ok(search::nearest(&[*committed, &**inserted], sketch, max_distance, &counts, &id_of)?)
    }

    fn put(&mut self, document: &Document) -> Result<(), Failure> {
        let number = self.next_change()?;
        let bytes = record::encode_document(number, document, self.inserted_at, self.scheme)?;
        // Numbers only grow, so the log is written page after page.
        self.opened.log.put_with_flags(self.txn, PutFlags::APPEND, &number, &bytes)?;
        self.opened.ids.put(self.txn, &id_key(&document.id), &number)?;
        if let Some(search) = &mut self.search {
            search.inserted.insert(&document.sketch, number);
        }
        Ok(())
    }

    fn take(&mut self, id: &DocumentId, number: u64, sketch: &Sketch) -> Result<(), Failure> {
        let change = self.next_change()?;
        let removal = Removal { number, sketch: sketch.clone() };
        let bytes = record::encode_removal(change, &removal, self.scheme)?;
        self.opened.removals.put_with_flags(self.txn, PutFlags::APPEND, &change, &bytes)?;
        self.opened.log.delete(self.txn, &number)?;
        self.opened.ids.delete(self.txn, &id_key(id))?;
        self.n_removals += 1;
        if let Some(search) = &mut self.search
            && !search.inserted.remove(sketch, number)
        {
            search.removed.insert(number);
        }
        Ok(())
    }
}

/// The number that `id` names and what is stored under it, expired or not.
pub(super) fn find(
    opened: &Opened,
    txn: &heed::RoTxn<'_>,
    scheme: &TableScheme,
    id: &DocumentId,
) -> Result<Option<(u64, StoredDocument)>, Failure> {
    let Some(number) = opened.ids.get(txn, &id_key(id))? else { return Ok(None) };
    let stored = record::decode_document(number, record_of(opened, txn, number)?, scheme)?;
    if stored.document.id != *id {
        return Err(Error::corrupt(format!("record {number} is of another document than its id says")).into());
    }
    Ok(Some((number, stored)))
}

/// The id of the document that is stored under `number`.
pub(super) fn id_of(opened: &Opened, txn: &heed::RoTxn<'_>, number: u64) -> Result<DocumentId> {
    record::decode_id(number, record_of(opened, txn, number)?)
}

fn record_of<'txn>(opened: &Opened, txn: &'txn heed::RoTxn<'_>, number: u64) -> Result<&'txn [u8]> {
    let found = opened.log.get(txn, &number).map_err(explain)?;
    found.ok_or_else(|| {
        Error::corrupt(format!(
            "record {number} is missing; restore the index from a backup or build it anew"
        ))
    })
}

/// An id is its own key where it fits. Where it does not, its SHA-256 is, after a byte that no id begins with.
pub(super) fn id_key(id: &DocumentId) -> Vec<u8> {
    let bytes = id.as_str().as_bytes();
    if bytes.len() <= MAX_KEY_BYTES {
        return bytes.to_vec();
    }
    let mut key = vec![0];
    key.extend_from_slice(&Sha256::digest(bytes));
    key
}
