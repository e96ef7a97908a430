//! A store in HBase, over the rows of any transport.

use std::sync::Arc;

use index::backend::{Horizon, check_batch, check_documents, not_created, page_len};
use index::{
    CellPage, Clock, Cursor, Document, DocumentId, Error, ErrorKind, Examined, Insertion, Metadata,
    NearDocuments, Neighbours, Page, Result, Rule, Segments, Selection, Sketch, Status, Store,
    StoredDocument, Text, TextKeeping, WriteMark,
};

use super::access::Access;
use super::counters::Counters;
use super::documents::{self, to_stored_document};
use super::layout::{METADATA_COLUMN, METADATA_ROW, RECORD_COLUMN, TEXT_FAMILY, in_row};
use super::outlook::Outlook;
use super::rows::{MasterWait, Rows, Swap, Swapped, Table};
use super::tier::{Keeper, Tier};
use super::uri::TierOptions;
use super::{cells, claiming, examine, marks, near, older, remove, retention, write};

/// A store in HBase.
///
/// Nothing is kept in this process: every process sees the writes of all others as soon as they are
/// acknowledged. A batch that fails may have been written in part; the error says which part.
///
/// Any number of processes may insert new documents at the same time: of near documents one is
/// kept. [`Store::insert`] makes no check: if it writes while another insertion is between its
/// search and its end, the other insertion does not notice.
pub struct HbaseStore {
    pub(super) rows: Arc<dyn Rows>,
    pub(super) clock: Clock,
    counters: Counters,
    pub(super) outlook: Outlook,
    pub(super) keeper: Option<Keeper>,
}

impl HbaseStore {
    pub(super) fn over(rows: Box<dyn Rows>, clock: Clock) -> Self {
        Self {
            rows: Arc::from(rows),
            clock,
            counters: Counters::default(),
            outlook: Outlook::default(),
            keeper: None,
        }
    }

    /// The same store, whose claimants search with a tier.
    pub(super) fn with_tier(self, options: Option<TierOptions>) -> Self {
        Self { keeper: options.map(Keeper::new), ..self }
    }

    pub(super) fn access(&self) -> Result<Access<'_>> {
        let Metadata { kind, retain, texts, .. } = self.created()?;
        let horizon = Horizon::new(*retain, self.clock.now());
        let keeps_texts = *texts != TextKeeping::None;
        Ok(Access { rows: &*self.rows, kind, clock: &self.clock, horizon, keeps_texts, tier: None })
    }

    /// Returns the tier, if there is one and no note has ended it.
    pub(super) fn tier(&self) -> Result<Option<Arc<Tier>>> {
        let Some(keeper) = &self.keeper else { return Ok(None) };
        let Some(tier) = keeper.tier(&self.rows, self.created()?, &self.clock) else { return Ok(None) };
        let notes = older::notes(&*self.rows)?;
        if notes.last != tier.note {
            keeper.ask();
            return Ok(None);
        }
        Ok((!notes.is_loading).then_some(tier))
    }

    fn created(&self) -> Result<&Metadata> {
        match self.rows.known().metadata() {
            Some(metadata) => Ok(metadata),
            None => self.find()?.ok_or_else(not_created),
        }
    }

    /// Reads the stored metadata, which must equal those seen first.
    fn find(&self) -> Result<Option<&Metadata>> {
        self.rows.known().find_in(|| self.stored())
    }

    /// Returns the metadata as they are stored.
    fn stored(&self) -> Result<Option<Vec<u8>>> {
        // HBase always reports a missing table or family on reads, and not on writes.
        for (table, column) in [(Table::Index, &b"f"[..]), (Table::Documents, RECORD_COLUMN)] {
            self.rows.get(table, &[column], &[METADATA_ROW.to_vec()])?;
        }
        let rows = self.rows.get(Table::Documents, &[METADATA_COLUMN], &[METADATA_ROW.to_vec()])?;
        let cell = rows.into_iter().flatten().next();
        if let Some(cell) = &cell {
            // Before the store is bound to the metadata: tables that do not fit may be altered and
            // tried again.
            let metadata = Metadata::decode(&cell.value).map_err(|error| in_row(METADATA_ROW, error))?;
            retention::check_opened(&*self.rows, &metadata)?;
        }
        Ok(cell.map(|cell| cell.value))
    }
}

impl Store for HbaseStore {
    fn metadata(&self) -> Result<Option<Metadata>> {
        Ok(self.find()?.cloned())
    }

    fn create(&self, metadata: &Metadata) -> Result<Metadata> {
        if let Some(stored) = self.metadata()? {
            return Ok(stored);
        }
        retention::check_new(&*self.rows, metadata)?;
        let (row, column) = (METADATA_ROW.to_vec(), METADATA_COLUMN.to_vec());
        let record = metadata.encode()?;
        let put = Swap { row, column, from: None, to: record.clone(), time_to_live: None };
        let swapped = self.rows.swap(Table::Documents, &[put])?;
        if swapped == [Swapped::Done] {
            return Ok(self.rows.known().check(Some(&record))?.clone());
        }
        self.metadata()?.ok_or_else(|| match swapped[..] {
            [Swapped::Unknown] => {
                Error::new(ErrorKind::Unavailable, "the metadata was not written; try again")
            }
            _ => Error::corrupt("the metadata of the index was deleted while it was created"),
        })
    }

    fn has_room_for_texts(&self) -> Result<bool> {
        let has_family = self.rows.has_family(Table::Documents, TEXT_FAMILY, MasterWait::Whole)?;
        if !has_family {
            let name = self.rows.name(Table::Documents);
            tracing::warn!(
                "the new index keeps no texts, because {name} has no family for them, and estimates decide: schema/README.md \
                 tells how to add it"
            );
        }
        Ok(has_family)
    }

    fn prepare(&self) -> Result<()> {
        self.created()?;
        // Also if both tables were there before. Each call reads the documents' table as its
        // witness.
        self.rows.get(Table::Index, &[b"f"], &[METADATA_ROW.to_vec()]).map(drop)
    }

    fn insert(&self, documents: &[Document]) -> Result<Vec<Insertion>> {
        check_documents(documents)?;
        write::insert(&self.access()?, documents)
    }

    fn insert_if_new(&self, documents: &[Document], rule: &Rule) -> Result<Vec<Insertion>> {
        check_documents(documents)?;
        rule.check_similar_alone()?;
        let tier = || self.tier();
        let access = Access { tier: Some(&tier), ..self.access()? };
        claiming::insert_if_new(&access, documents, rule, &self.counters, &self.outlook)
    }

    fn remove_if(&self, ids: &[DocumentId], selection: &Selection) -> Result<Vec<bool>> {
        check_batch(ids.len())?;
        remove::remove_if(&self.access()?, ids, selection)
    }

    fn get(&self, ids: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>> {
        check_batch(ids.len())?;
        let records = documents::read_live(&self.access()?, ids.iter())?;
        let get = |id: &DocumentId| Some(to_stored_document(id.clone(), records.get(id)?.clone()));
        Ok(ids.iter().map(get).collect())
    }

    fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<Text>>> {
        check_batch(ids.len())?;
        documents::texts(&self.access()?, ids)
    }

    fn near(&self, queries: &[Sketch], rule: &Rule, limit: usize) -> Result<Vec<Neighbours>> {
        check_batch(queries.len())?;
        rule.check_similar_alone()?;
        near::near(&self.access()?, queries, rule, limit)
    }

    fn near_documents(&self, queries: &[Sketch], rule: &Rule, limit: usize) -> Result<Vec<NearDocuments>> {
        check_batch(queries.len())?;
        rule.check_similar_alone()?;
        near::near_documents(&self.access()?, queries, rule, limit)
    }

    fn scan(&self, after: Cursor, limit: usize) -> Result<Page> {
        let limit = page_len(limit)?;
        documents::scan(&self.access()?, &after, limit)
    }

    fn cells(&self, segments: Segments, after: &Cursor, limit: usize) -> Result<Option<CellPage>> {
        // Cells are small: a page of cells may be longer than a batch.
        page_len(limit)?;
        cells::cells(&self.access()?, segments, after, limit).map(Some)
    }

    fn examine(&self, mends: bool, report: &mut dyn FnMut(Examined)) -> Result<()> {
        examine::examine(&|| self.access(), mends, report)
    }

    fn mark(&self, counts: bool) -> Result<Option<WriteMark>> {
        self.created()?;
        if counts { marks::next(&*self.rows).map(Some) } else { marks::last(&*self.rows) }
    }

    fn has_written(&self, mark: &WriteMark) -> Result<bool> {
        self.created()?;
        marks::has(&*self.rows, mark)
    }

    /// HBase cannot count the rows of a table without reading them all; no count is given.
    fn status(&self) -> Result<Status> {
        Ok(Status {
            claims: Some(self.counters.read()),
            connections: Some(self.rows.connections()),
            ..Status::default()
        })
    }
}
