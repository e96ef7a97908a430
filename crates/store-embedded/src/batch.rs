//! A batch inside one write transaction: the committed state, and the changes of the batch on top.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use heed::{PutFlags, RwTxn};
use index::backend::LastWrite;
use index::backend::rule::Shelf;
use index::backend::search::{self, Bounded, Documents};
use index::backend::{Horizon, n_swept_max};
use index::backend::{Live, Oldest, Runs};
use index::{
    Clock, Document, DocumentId, Error, ErrorKind, Features, Match, Metadata, Result, Rule, Sketch,
    SketchKind, StoredDocument, Text, TextKeeping, Timestamp,
};
use tables::Tables;

use super::ahead::{Ahead, Committed};
use super::environment::Opened;
use super::errors::{Failure, explain};
use super::image::Terms;
use super::limits::Limits;
use super::ram::{REMOVALS_FLOOR_KEY, Ram};
use super::record::{self, Removal};
use super::texts::{self, Cache, Packer};
use super::{expiry, times};

/// A batch while it is written. Dropping it without [`finish`](Self::finish) and a commit leaves no
/// trace.
pub(super) struct Batch<'a, 'e> {
    opened: &'a Opened,
    txn: &'a mut RwTxn<'e>,
    kind: &'a SketchKind,
    search: Option<Search<'a>>,
    /// `None` in an index without texts.
    texts: Option<Texts<'a>>,
    /// The number of the last change, of the batch or before it.
    last: u64,
    n_removals: u64,
    /// Tells live documents from expired ones, by the time of the batch.
    horizon: Horizon,
    live: Live,
    now: Timestamp,
    /// The time of the batch's insertions, once there is one.
    inserted_at: Option<Timestamp>,
    /// `None` in an index without a retention.
    timed: Option<Timed>,
}

/// The index's notes of time after the batch.
struct Timed {
    runs: Runs,
    runs_changed: bool,
    /// The horizon of the sweep: documents expired by a trusted clock.
    swept: Horizon,
}

/// The texts after the batch.
struct Texts<'a> {
    committed: &'a Cache,
    /// Texts inserted by the batch. If it fails, other texts may get their numbers.
    inserted: HashMap<u64, Text>,
    packer: Packer,
}

/// The tables after the batch. The tables of the last commit are never touched, so other threads go
/// on searching in them, and a failed batch leaves nothing to undo.
struct Search<'a> {
    committed: &'a Ram,
    terms: &'a Terms,
    bounded: &'a Bounded,
    /// The answers of `committed`, as far as it was searched ahead.
    ahead: Ahead,
    /// The numbers in `committed` that the batch has removed.
    removed: HashSet<u64>,
    /// The documents inserted by the batch.
    inserted: Box<dyn Tables>,
}

impl<'a, 'e> Batch<'a, 'e> {
    /// Returns an empty batch. `committed` holds the tables as of the last commit and the counter
    /// of bounded searches; a batch without searches needs none. `texts` caches committed texts.
    pub(super) fn new(
        opened: &'a Opened,
        txn: &'a mut RwTxn<'e>,
        metadata: &'a Metadata,
        committed: Option<(&'a Ram, &'a Terms, &'a Bounded)>,
        texts: &'a Cache,
        clock: &Clock,
    ) -> Result<Self, Failure> {
        let now = clock.now();
        let last = opened.last_change(txn)?;
        let horizon = Horizon::new(metadata.retain, now);
        let live = expiry::live(opened, txn, horizon, None)?;
        let timed = match metadata.retain {
            Some(retain) => {
                let (last_write, is_news) = LastWrite::next(times::last_write(opened, txn)?, clock, now)?;
                if is_news {
                    times::put_last_write(opened, txn, &last_write)?;
                }
                let runs = times::runs(opened, txn)?;
                let swept = Horizon::new(Some(retain), last_write.at);
                Some(Timed { runs, runs_changed: false, swept })
            }
            None => None,
        };
        let search = committed.map(|(committed, terms, bounded)| Search {
            committed,
            terms,
            bounded,
            ahead: Ahead::default(),
            removed: HashSet::new(),
            inserted: search::new_tables(),
        });
        let kind = &metadata.kind;
        let texts = (metadata.texts != TextKeeping::None).then(|| Texts {
            committed: texts,
            inserted: HashMap::new(),
            packer: Packer::default(),
        });
        let (n_removals, inserted_at) = (0, None);
        Ok(Self {
            opened,
            txn,
            kind,
            search,
            texts,
            last,
            n_removals,
            horizon,
            live,
            now,
            inserted_at,
            timed,
        })
    }

    /// Searches the committed documents for all of these on several threads, so that the decisions
    /// of the batch find the answers ready.
    pub(super) fn search_ahead(&mut self, documents: &[Document], rule: &Rule, limits: Limits) {
        let (opened, kind) = (self.opened, self.kind);
        if let Some(search) = &mut self.search {
            let committed = Committed { ram: search.committed, opened, kind, terms: search.terms };
            search.ahead = Ahead::search(documents, rule, committed, limits);
        }
    }

    /// Removes some expired documents, the oldest first, in a batch of `n_items`. Those left are no
    /// matches either, and go with later batches. A document expired only by a doubted clock stays
    /// until it has expired by a trusted one.
    pub(super) fn sweep(&mut self, n_items: usize, limits: Limits) -> Result<(), Failure> {
        let Some(Timed { swept, .. }) = self.timed else { return Ok(()) };
        let mut oldest = Oldest::default();
        for expired in self.live.expired() {
            oldest.push(times::first_from(self.opened, self.txn, expired.start)?, expired.end);
        }
        for _ in 0..n_swept_max(n_items, limits.swept_min) {
            let Some((number, end)) = oldest.pop() else { break };
            let stored =
                record::decode_document(number, record_of(self.opened, self.txn, number)?, self.kind)?;
            if swept.is_live(stored.inserted_at) {
                break;
            }
            let Document { id, sketch, .. } = stored.document;
            self.take(&id, number, &sketch)?;
            oldest.push(times::first_from(self.opened, self.txn, number + 1)?, end);
        }
        Ok(())
    }

    /// Forgets the oldest removals above the limit, and notes the number of the newest forgotten
    /// one: a follower that has not seen it builds its tables anew. Building is no more work than
    /// following as many removals as there are documents.
    pub(super) fn finish(mut self, limits: Limits) -> Result<(), Failure> {
        self.finish_runs()?;
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

    /// Joins runs between which removals have left no step back in time, and notes the beginnings
    /// of the others.
    fn finish_runs(&mut self) -> Result<(), Failure> {
        let Some(Timed { runs, runs_changed, .. }) = &mut self.timed else { return Ok(()) };
        if self.n_removals > 0 && !runs.begins().is_empty() {
            let below = |number| times::last_below(self.opened, self.txn, number);
            *runs_changed |= runs.join(below, |number| times::first_from(self.opened, self.txn, number))?;
        }
        if *runs_changed {
            times::put_runs(self.opened, self.txn, runs)?;
        }
        Ok(())
    }

    /// Returns the time of the insertions: now, but along a run never before the last document.
    fn inserted_at(&mut self, number: u64) -> Result<Timestamp, Failure> {
        if let Some(inserted_at) = self.inserted_at {
            return Ok(inserted_at);
        }
        let mut inserted_at = self.now;
        if let Some(Timed { runs, runs_changed, .. }) = &mut self.timed {
            let (at, begins) = runs.turn(times::last_time(self.opened, self.txn)?, self.now)?;
            if begins {
                runs.begin(number);
                *runs_changed = true;
            }
            inserted_at = at;
        }
        self.inserted_at = Some(inserted_at);
        Ok(inserted_at)
    }

    fn records(&self) -> Records<'_, '_> {
        let texts = self.texts.as_ref().map(|texts| (texts.committed, Some(&texts.inserted)));
        Records { opened: self.opened, txn: self.txn, texts }
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
        find(self.opened, self.txn, self.kind, id)
    }

    fn is_live(&self, inserted_at: Timestamp) -> bool {
        self.horizon.is_live(inserted_at)
    }

    fn nearest(&self, sketch: &Sketch, rule: &Rule, except: Option<u64>) -> Result<Option<Match>, Failure> {
        let Some(Search { committed, terms, ahead, removed, inserted, bounded }) = &self.search else {
            return Ok(None);
        };
        let counts =
            |number| self.live.contains(number) && Some(number) != except && !removed.contains(&number);
        let records = self.records();
        let committed = committed.imaged(self.opened, self.txn, self.kind, terms);
        let committed = ahead.before(&committed);
        Ok(search::nearest(&[&committed, inserted], sketch, rule, &counts, &records, bounded)?)
    }

    fn keeps_texts(&self) -> Result<bool, Failure> {
        Ok(self.texts.is_some())
    }

    /// A damaged or missing text counts as none, so the incoming document is stored in its place.
    fn text(&self, _: &DocumentId, number: u64) -> Result<Option<Text>, Failure> {
        match self.records().text(number) {
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
            found => Ok(found?),
        }
    }

    fn put(&mut self, document: &Document) -> Result<(), Failure> {
        let number = self.next_change()?;
        let inserted_at = self.inserted_at(number)?;
        let (document, text) = match (&mut self.texts, document.sketch.text()) {
            (Some(texts), Some(text)) => (Cow::Borrowed(document), Some((texts, text))),
            (None, Some(_)) => {
                let sketch = document.sketch.clone().with_text(None);
                (Cow::Owned(Document { sketch, ..document.clone() }), None)
            }
            (_, None) => (Cow::Borrowed(document), None),
        };
        let bytes = record::encode_document(number, &document, inserted_at, self.kind)?;
        // Numbers only grow, so the log is filled page after page.
        self.opened.log.put_with_flags(self.txn, PutFlags::APPEND, &number, &bytes)?;
        if let Some((texts, text)) = text {
            let bytes = texts.packer.encode(number, text)?;
            self.opened.texts()?.put_with_flags(self.txn, PutFlags::APPEND, &number, &bytes)?;
            texts.inserted.insert(number, text.clone());
        }
        self.opened.ids.put(self.txn, &record::id_key(&document.id), &number)?;
        if let Some(search) = &mut self.search {
            search::file(&mut *search.inserted, &document.sketch, number);
        }
        Ok(())
    }

    fn take(&mut self, id: &DocumentId, number: u64, sketch: &Sketch) -> Result<(), Failure> {
        let change = self.next_change()?;
        let removal = Removal { number, sketch: sketch.clone() };
        let bytes = record::encode_removal(change, &removal, self.kind)?;
        self.opened.removals.put_with_flags(self.txn, PutFlags::APPEND, &change, &bytes)?;
        self.opened.log.delete(self.txn, &number)?;
        self.opened.ids.delete(self.txn, &record::id_key(id))?;
        if let (Some(_), Some(texts)) = (&self.texts, self.opened.texts) {
            texts.delete(self.txn, &number)?;
        }
        self.n_removals += 1;
        if let Some(search) = &mut self.search
            && !search::unfile(&mut *search.inserted, sketch, number)
        {
            search.removed.insert(number);
        }
        Ok(())
    }
}

/// Finds the number of `id` and the document stored under it, expired or not.
pub(super) fn find(
    opened: &Opened,
    txn: &heed::RoTxn<'_>,
    kind: &SketchKind,
    id: &DocumentId,
) -> Result<Option<(u64, StoredDocument)>, Failure> {
    let Some(number) = opened.ids.get(txn, &record::id_key(id))? else { return Ok(None) };
    let stored = record::decode_document(number, record_of(opened, txn, number)?, kind)?;
    if stored.document.id != *id {
        return Err(Error::corrupt(format!("record {number} is of another document than its id says")).into());
    }
    Ok(Some((number, stored)))
}

/// The records by number, as a transaction sees them.
pub(super) struct Records<'a, 'txn> {
    pub(super) opened: &'a Opened,
    pub(super) txn: &'a heed::RoTxn<'txn>,
    /// The cache of committed texts and the texts inserted by a batch; `None` in an index without
    /// texts.
    pub(super) texts: Option<(&'a Cache, Option<&'a HashMap<u64, Text>>)>,
}

impl Documents for Records<'_, '_> {
    fn id(&self, number: u64) -> Result<DocumentId> {
        record::decode_id(number, record_of(self.opened, self.txn, number)?)
    }

    fn features(&self, number: u64) -> Result<Cow<'_, Features>> {
        record::decode_features(number, record_of(self.opened, self.txn, number)?).map(Cow::Owned)
    }

    fn signature_bytes(&self, number: u64) -> Result<Option<&[u8]>> {
        record::signature_bytes(number, record_of(self.opened, self.txn, number)?)
    }

    fn text(&self, number: u64) -> Result<Option<Text>> {
        let Some((committed, inserted)) = self.texts else { return Ok(None) };
        let inserted = inserted.and_then(|inserted| inserted.get(&number));
        if let Some(text) = inserted {
            return Ok(Some(text.clone()));
        }
        if let Some(text) = committed.get(number) {
            return Ok(Some(text));
        }
        if !record::decode_told(number, record_of(self.opened, self.txn, number)?)? {
            return Ok(None);
        }
        let text = texts::find(self.opened, self.txn, number)?;
        committed.put(number, &text);
        Ok(Some(text))
    }
}

fn record_of<'txn>(opened: &Opened, txn: &'txn heed::RoTxn<'_>, number: u64) -> Result<&'txn [u8]> {
    let found = opened.log.get(txn, &number).map_err(explain)?;
    found.ok_or_else(|| {
        Error::corrupt(format!(
            "record {number} is missing; restore the index from a backup or build it anew"
        ))
    })
}
