//! `memory:`: documents and tables in this process, gone when it ends. For tests, and for batch
//! jobs that need an index only while they run.

mod by_number;
mod held;
mod uri;
mod writer;

use std::borrow::Cow;
use std::sync::{RwLock, RwLockReadGuard};

use tables::Tables;

use self::held::{Held, HeldDocuments};
pub use self::uri::MemoryUri;
use self::writer::Writer;

use crate::backend::search::{self, Bounded, Documents};
use crate::backend::{LastWrite, Live, Runs, rule};
use crate::retention::{Horizon, SWEPT_MIN, n_swept_max};
use crate::store::{check_batch, check_documents, not_created, page_len};
use crate::text::TextsInMemory;
use crate::{
    Clock, Cursor, Document, DocumentId, Error, Examined, Features, Finding, Insertion, Metadata, Neighbours,
    Page, Result, Rule, Selection, Sketch, SketchKind, Status, Store, StoredDocument, Text, TextKeeping,
    TextPlace, Timestamp,
};

/// A store in memory.
pub struct MemoryStore {
    contents: RwLock<Contents>,
    clock: Clock,
}

struct Contents {
    metadata: Option<Metadata>,
    documents: HeldDocuments,
    /// The runs of numbers along each of which times never go back.
    runs: Runs,
    /// The last write, noted where documents expire.
    last_write: Option<LastWrite>,
    tables: Box<dyn Tables>,
    /// The texts, in an index that keeps them.
    texts: Box<dyn TextPlace>,
    bounded: Bounded,
    /// The number of the last document; numbers are never reused.
    last: u64,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// An empty store without metadata.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(Clock::system())
    }

    /// An empty store without metadata, which takes the time from `clock`.
    #[must_use]
    pub fn with_clock(clock: Clock) -> Self {
        Self::with_texts_in(Box::<TextsInMemory>::default(), clock)
    }

    /// An empty store without metadata, which keeps texts in a place of the caller's.
    #[must_use]
    pub fn with_texts_in(texts: Box<dyn TextPlace>, clock: Clock) -> Self {
        let contents = Contents {
            metadata: None,
            documents: HeldDocuments::default(),
            runs: Runs::default(),
            last_write: None,
            tables: search::new_tables(),
            texts,
            bounded: Bounded::default(),
            last: 0,
        };
        Self { contents: RwLock::new(contents), clock }
    }

    fn read(&self) -> Result<RwLockReadGuard<'_, Contents>> {
        self.contents.read().map_err(|_| Error::poisoned())
    }

    /// The contents, and the horizon of the live documents.
    fn read_created(&self) -> Result<(RwLockReadGuard<'_, Contents>, Horizon)> {
        let contents = self.read()?;
        let horizon = contents.horizon(self.clock.now()).ok_or_else(not_created)?;
        Ok((contents, horizon))
    }

    /// Sweeps some expired documents, then does `work` on `n_items` under the lock.
    fn write<T>(&self, n_items: usize, work: impl FnOnce(&mut Writer<'_>) -> Result<T>) -> Result<T> {
        let mut contents = self.contents.write().map_err(|_| Error::poisoned())?;
        let now = self.clock.now();
        let horizon = contents.horizon(now).ok_or_else(not_created)?;
        let mut swept = horizon;
        if let Some(retain) = contents.metadata.as_ref().and_then(|metadata| metadata.retain) {
            let (last_write, _) = LastWrite::next(contents.last_write, &self.clock, now)?;
            contents.last_write = Some(last_write);
            swept = Horizon::new(Some(retain), last_write.at);
        }
        let mut writer = Writer::new(&mut contents, horizon, now);
        writer.sweep(n_swept_max(n_items, SWEPT_MIN), swept)?;
        let answer = work(&mut writer);
        contents.join_runs()?;
        answer
    }
}

impl Contents {
    /// The horizon of the live documents; `None` before there is metadata.
    fn horizon(&self, now: Timestamp) -> Option<Horizon> {
        Some(Horizon::new(self.metadata.as_ref()?.retain, now))
    }

    fn kind(&self) -> Result<&SketchKind> {
        self.metadata.as_ref().map(|metadata| &metadata.kind).ok_or_else(not_created)
    }

    fn live(&self, horizon: Horizon) -> Result<Live> {
        self.runs.live(horizon, None, self.last, |number| Ok(self.first_from(number)))
    }

    /// The first document from a number on, with its time of insertion.
    fn first_from(&self, number: u64) -> Option<(u64, Timestamp)> {
        self.documents.range(number..).next().map(|(number, held)| (number, held.inserted_at))
    }

    /// Joins the runs that removals have made one.
    fn join_runs(&mut self) -> Result<()> {
        if self.runs.begins().is_empty() {
            return Ok(());
        }
        let mut runs = self.runs.clone();
        let below = |number| {
            let last = self.documents.last_below(number);
            Ok::<_, Error>(last.map(|(number, held)| (number, held.inserted_at)))
        };
        runs.join(below, |number| Ok(self.first_from(number)))?;
        self.runs = runs;
        Ok(())
    }

    fn document(&self, number: u64) -> Result<Held<'_>> {
        self.documents
            .get(number)
            .ok_or_else(|| Error::corrupt(format!("document number {number} is missing")))
    }

    fn keeps_texts(&self) -> bool {
        self.metadata.as_ref().is_some_and(|metadata| metadata.texts != TextKeeping::None)
    }
}

impl Documents for Contents {
    fn id(&self, number: u64) -> Result<DocumentId> {
        self.document(number)?.id()
    }

    fn features(&self, number: u64) -> Result<Cow<'_, Features>> {
        self.document(number)?.features().map(Cow::Owned)
    }

    fn signature_bytes(&self, number: u64) -> Result<Option<&[u8]>> {
        self.document(number)?.signature_bytes()
    }

    fn text(&self, number: u64) -> Result<Option<Text>> {
        self.texts.get(number)
    }
}

impl Store for MemoryStore {
    fn give_memory(&self, n_bytes: u64) {
        // A store that is poisoned says so in the next call.
        if let Ok(mut contents) = self.contents.write() {
            contents.texts.give_memory(n_bytes);
        }
    }

    fn leap_bytes(&self, n: usize) -> u64 {
        self.contents.read().map_or(0, |contents| contents.documents.leap_bytes(n))
    }

    fn metadata(&self) -> Result<Option<Metadata>> {
        Ok(self.read()?.metadata.clone())
    }

    fn create(&self, metadata: &Metadata) -> Result<Metadata> {
        let mut contents = self.contents.write().map_err(|_| Error::poisoned())?;
        Ok(contents.metadata.get_or_insert_with(|| metadata.clone()).clone())
    }

    fn prepare(&self) -> Result<()> {
        self.read_created().map(|_| ())
    }

    fn insert(&self, documents: &[Document]) -> Result<Vec<Insertion>> {
        check_documents(documents)?;
        self.write(documents.len(), |writer| {
            documents.iter().map(|document| rule::insert(writer, document, None)).collect()
        })
    }

    fn insert_if_new(&self, documents: &[Document], rule: &Rule) -> Result<Vec<Insertion>> {
        check_documents(documents)?;
        self.write(documents.len(), |writer| {
            documents.iter().map(|document| rule::insert(writer, document, Some(rule))).collect()
        })
    }

    fn remove_if(&self, ids: &[DocumentId], selection: &Selection) -> Result<Vec<bool>> {
        check_batch(ids.len())?;
        self.write(ids.len(), |writer| ids.iter().map(|id| rule::remove(writer, id, selection)).collect())
    }

    fn get(&self, ids: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>> {
        check_batch(ids.len())?;
        let (contents, horizon) = self.read_created()?;
        let kind = contents.kind()?;
        let get = |id| {
            let Some(number) = contents.documents.number_of(id) else { return Ok(None) };
            let held = contents.document(number)?;
            horizon.is_live(held.inserted_at).then(|| held.stored(kind)).transpose()
        };
        ids.iter().map(get).collect()
    }

    fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<Text>>> {
        check_batch(ids.len())?;
        let (contents, horizon) = self.read_created()?;
        let text = |id| {
            let Some(number) = contents.documents.number_of(id) else { return Ok(None) };
            let is_live = horizon.is_live(contents.document(number)?.inserted_at);
            if is_live { contents.texts.get(number) } else { Ok(None) }
        };
        ids.iter().map(text).collect()
    }

    fn near(&self, queries: &[Sketch], rule: &Rule, limit: usize) -> Result<Vec<Neighbours>> {
        check_batch(queries.len())?;
        let (contents, horizon) = self.read_created()?;
        let live = contents.live(horizon)?;
        search::neighbours(&contents.tables, queries, rule, limit, &live, &*contents, &contents.bounded)
    }

    fn scan(&self, after: Cursor, limit: usize) -> Result<Page> {
        let (after, len) = (after.number()?, page_len(limit)?);
        let (contents, horizon) = self.read_created()?;
        let live = contents.live(horizon)?;
        let kind = contents.kind()?;
        let stretches = live.stretches(after.saturating_add(1));
        let mut rest = stretches.flat_map(|stretch| contents.documents.range(stretch)).peekable();
        let mut page = Page::default();
        let mut last = 0;
        while page.documents.len() < len
            && let Some((number, held)) = rest.next()
        {
            page.documents.push(held.stored(kind)?);
            last = number;
        }
        page.next = rest.peek().map(|_| Cursor::after(last));
        Ok(page)
    }

    fn examine(&self, _mends: bool, report: &mut dyn FnMut(Examined)) -> Result<()> {
        let (contents, _) = self.read_created()?;
        report(Examined::Items(contents.documents.len() as u64));
        for (_, held) in contents.documents.range(..) {
            if let Some(ahead) = Finding::of_ahead(&held.id()?, held.inserted_at, &self.clock) {
                report(Examined::Found(ahead));
            }
        }
        Ok(())
    }

    fn status(&self) -> Result<Status> {
        let contents = self.read()?;
        let n_expired = match contents.horizon(self.clock.now()) {
            Some(horizon) => {
                let live = contents.live(horizon)?;
                live.expired().map(|expired| contents.documents.range(expired).count()).sum()
            }
            None => 0,
        };
        Ok(Status {
            n_documents: Some((contents.documents.len() - n_expired) as u64),
            n_table_bytes: Some(contents.tables.heap_bytes() as u64),
            n_bounded: Some(contents.bounded.get()),
            ..Status::default()
        })
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::testsuite::{FakeClock, document, spread};
    use crate::{Identity, OpenOptions, Retention};

    /// Ten turn-overs hold no more than one does. After a long rest each write sweeps a bounded
    /// number of documents.
    #[test]
    fn what_expires_gives_its_room_back() {
        let clock = FakeClock::at(1_000_000);
        let store = MemoryStore::with_clock(clock.clock());
        let metadata = Metadata {
            retain: Retention::from_seconds(10),
            identity: Identity::new([1; 16]),
            ..OpenOptions::default().new_metadata().unwrap()
        };
        store.create(&metadata).unwrap();
        let held = || {
            let contents = store.read().unwrap();
            assert_eq!(contents.documents.len(), contents.documents.n_ids());
            assert_eq!(contents.documents.len(), contents.tables.n_postings());
            contents.documents.len()
        };
        for n in 0..100 {
            let documents: Vec<_> =
                (0..100).map(|k| document(&format!("{n} {k}"), spread(100 * n + k))).collect();
            store.insert(&documents).unwrap();
            assert!(held() <= 1_000, "{}", held());
            clock.advance_ms(1_000);
        }
        clock.advance_ms(10_000);
        let (mut n_expired, mut n_new) = (held(), 0);
        while n_expired > 0 {
            n_new += 1;
            store.insert(&[document(&format!("new {n_new}"), n_new as u64)]).unwrap();
            n_expired -= n_expired.min(SWEPT_MIN + 2);
            assert_eq!(held(), n_expired + n_new);
        }
        assert_eq!(n_new, 16);
    }
}
